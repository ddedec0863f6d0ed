//! Folds in stripes: each rank folds one part of all vectors, so that nobody has to receive all of
//! them.

use std::collections::VecDeque;
use std::ops::Range;

use super::{Fold, Ready, SEGMENT, SEGMENTS, WINDOW, longest};
use crate::Placement;
use crate::builder::{Builder, Mark};
use crate::cost::Picoseconds;
use crate::operand::Operand;

/// Bytes of a chunk of stripes where a link is slow.
pub(super) const CHUNK: i64 = 128 << 10;
/// Most chunks of a vector that becomes ready in segments.
const CHUNKS: i64 = 16;
/// A stripe of such a chunk keeps the slowest link busy for at least so long, several times what
/// its messages cost the processors.
const LEAST_TIME: Picoseconds = 40_000_000;

/// The stripes of a vector, chunk by chunk. Several chunks use both directions of a slow link at
/// the same time, and while one moves, a vector that becomes ready in segments has time for the
/// next; otherwise a vector is one chunk.
pub(crate) fn chunks(
    placement: &Placement,
    operand: &Operand,
    ready: &Ready,
) -> impl Iterator<Item = Vec<i64>> {
    let (count, size) = (operand.count, operand.element.size.max(1));
    let stripes = placement.hosts() as i64;
    let most = if placement.has_leaves() {
        (CHUNK / size).max((count / SEGMENTS).saturating_mul(stripes).saturating_add(1))
    } else if ready.is_in_segments() {
        // Whole segments.
        let (segment, gap) = (longest(operand), placement.ring_costs().gap_per_byte);
        let stripe = (LEAST_TIME / gap.max(1)) as i64 / SEGMENT + 1;
        (count / CHUNKS / segment + 1).max(stripes * stripe).saturating_mul(segment)
    } else {
        count.max(1)
    };
    operand.ranges(most).map(|range| placement.stripes(range.start, range.end))
}

/// A fold in stripes, chunk by chunk.
pub(crate) struct StripeFold<'a> {
    operand: &'a Operand,
    /// The vector of MPI_IN_PLACE.
    own: *mut u8,
    into: *mut u8,
    ready: &'a Ready,
    /// Memory for the stripes of a few chunks, used in turn, with the step after which it is free.
    used: VecDeque<(Vec<*mut u8>, Mark)>,
}

/// The steps of a fold in stripes for which others may wait.
pub(crate) struct StripeMarks {
    /// The end of sending to each rank.
    pub(crate) sent: Vec<Mark>,
    /// The end of this rank's fold.
    pub(crate) folded: Mark,
}

impl<'a> StripeFold<'a> {
    /// Folds into `into`. The vector of MPI_IN_PLACE is at `own`.
    pub(crate) fn new(
        operand: &'a Operand,
        own: *mut u8,
        into: *mut u8,
        ready: &'a Ready,
    ) -> StripeFold<'a> {
        StripeFold { operand, own, into, ready, used: VecDeque::new() }
    }

    /// Memory for a vector of `count` elements from each rank, and the step after which it is free.
    /// No chunk may have longer stripes than the first.
    fn memory(&mut self, builder: &mut Builder, count: i64) -> (Vec<*mut u8>, Mark) {
        if self.used.len() == WINDOW
            && let Some(oldest) = self.used.pop_front()
        {
            return oldest;
        }
        let (size, element) = (builder.size(), &self.operand.element);
        ((0..size).map(|_| builder.scratch(count, element)).collect(), None)
    }

    /// Rank p folds the elements from `starts[p]` to `starts[p + 1]` of all vectors, into the same
    /// elements of `into`. If the vector is in place, nothing is written to these elements before
    /// all of them are sent.
    pub(crate) fn append(
        &mut self,
        builder: &mut Builder,
        starts: &[i64],
        turn: usize,
    ) -> StripeMarks {
        self.append_some(builder, &|rank| starts[rank]..starts[rank + 1], turn)
    }

    /// The same for other stripes, which need not follow each other.
    pub(super) fn append_some(
        &mut self,
        builder: &mut Builder,
        range: &dyn Fn(usize) -> Range<i64>,
        turn: usize,
    ) -> StripeMarks {
        let StripeFold { operand, own, into, ready, .. } = *self;
        builder.reduce_with(&operand.reducer);
        let (rank, size) = (builder.rank(), builder.size());
        let vector = operand.send.unwrap_or(own);
        let mine = range(rank);
        let mut sent = vec![None; size];
        if size == 1 {
            let is_ready = ready.of(builder, &mine);
            let copied = builder.copy(operand.piece(vector, &mine), operand.piece(into, &mine));
            builder.after(copied, is_ready);
            return StripeMarks { sent, folded: copied.or(is_ready) };
        }
        let mut send = |builder: &mut Builder| {
            // Stripes that leave as they become ready would all go to the same rank at a time.
            let is_ready = ready.of(builder, &(range(0).start..range(size - 1).end));
            for step in 1..size {
                let to = (rank + step) % size;
                sent[to] = builder.send(to, turn, operand.piece(vector, &range(to)));
                builder.after(sent[to], is_ready);
            }
            is_ready
        };
        if mine.is_empty() {
            send(builder);
            return StripeMarks { sent, folded: None };
        }
        let (buffers, free) = self.memory(builder, mine.end - mine.start);
        // The vectors of all ranks, each with the step that brings it. Element `mine.start` is the
        // first of its memory.
        let place = |rank: usize| operand.element.at(buffers[rank], -mine.start);
        let mut vectors: Vec<(*mut u8, Mark)> = (0..size).map(|rank| (place(rank), None)).collect();
        for step in 1..size {
            let from = (rank + size - step) % size;
            let (memory, arrived) = &mut vectors[from];
            *arrived = builder.receive(from, turn, operand.piece(*memory, &mine));
            builder.after(*arrived, free);
        }
        let is_ready = send(builder);
        let (own_copy, copied) = &mut vectors[rank];
        *copied = builder.copy(operand.piece(vector, &mine), operand.piece(*own_copy, &mine));
        builder.after(*copied, free);
        builder.after(*copied, is_ready);
        let before: Vec<Mark> = match operand.send {
            Some(_) => Vec::new(),
            None => sent.iter().copied().chain([*copied]).collect(),
        };
        let mut fold = Fold::new(operand, mine, into);
        for (number, (memory, arrived)) in vectors.into_iter().enumerate() {
            let step = fold.add(builder, memory, arrived);
            if number == 0 {
                before.iter().for_each(|&earlier| builder.after(step, earlier));
            }
        }
        let folded = fold.finish(builder, &before);
        self.used.push_back((buffers, folded));
        StripeMarks { sent, folded }
    }
}
