//! Which ranks have begun a call, as far as a step can know.

/// A set of ranks, as ascending ranges.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranks {
    ranges: Vec<(usize, usize)>,
}

impl Ranks {
    pub(super) fn of(rank: usize) -> Ranks {
        Ranks { ranges: vec![(rank, rank + 1)] }
    }

    pub(super) fn add(&mut self, other: &Ranks) {
        let mut all = std::mem::take(&mut self.ranges);
        all.extend(&other.ranges);
        all.sort_unstable();
        for (first, end) in all {
            match self.ranges.last_mut() {
                Some(last) if first <= last.1 => last.1 = last.1.max(end),
                _ => self.ranges.push((first, end)),
            }
        }
    }

    pub(super) fn are_all(&self, size: usize) -> bool {
        self.ranges == [(0, size)]
    }
}
