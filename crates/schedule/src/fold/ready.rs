//! Vectors that become complete segment by segment.

use std::ops::Range;

use crate::builder::{Builder, Mark};

/// The steps after which the elements of a vector may be read, if another algorithm writes it, or
/// be overwritten, if another one sends it.
#[derive(Default)]
pub(crate) struct Ready {
    /// The ends of consecutive segments, with the step that each waits for. What is in none of them
    /// is ready when the phase begins.
    ends: Vec<(i64, Mark)>,
    /// True if the vectors of some ranks of the team become ready in segments; the same on all.
    in_segments: bool,
}

impl Ready {
    /// To be filled in, on all ranks of the team.
    pub(crate) fn in_segments() -> Ready {
        Ready { ends: Vec::new(), in_segments: true }
    }

    /// True if the vectors of some ranks of the team become ready in segments.
    pub(crate) fn is_in_segments(&self) -> bool {
        self.in_segments
    }

    /// Adds the segment that ends before the element `end`.
    pub(crate) fn push(&mut self, end: i64, step: Mark) {
        self.ends.push((end, step));
    }

    /// The step after which all elements of `range` are ready.
    pub(crate) fn of(&self, builder: &mut Builder, range: &Range<i64>) -> Mark {
        if range.is_empty() {
            return None;
        }
        let first = self.ends.partition_point(|segment| segment.0 <= range.start);
        let last = self.ends.partition_point(|segment| segment.0 < range.end);
        let segments = self.ends.get(first..=last).or(self.ends.get(first..));
        builder.join(segments.unwrap_or_default().iter().map(|segment| segment.1))
    }

    /// Waits for the whole vector, for algorithms that need it: ends a phase.
    pub(crate) fn wait(&self, builder: &mut Builder) {
        if !self.ends.is_empty() {
            builder.phase();
        }
    }
}
