//! Folds in stripes: each rank folds one part of all vectors, so that nobody has to receive all of
//! them.

use std::collections::VecDeque;

use super::{Fold, SEGMENTS, WINDOW};
use crate::Placement;
use crate::builder::{Builder, Mark};
use crate::operand::Operand;

/// Bytes of a chunk of stripes where a link is slow.
const CHUNK: i64 = 128 << 10;

/// The stripes of a vector, chunk by chunk. Several chunks use both directions of a slow link at
/// the same time; otherwise a vector is one chunk.
pub(crate) fn chunks(placement: &Placement, operand: &Operand) -> impl Iterator<Item = Vec<i64>> {
    let (count, size) = (operand.count, operand.element.size.max(1));
    let stripes = placement.hosts() as i64;
    let most = match placement.has_leaves() {
        true => (CHUNK / size).max((count / SEGMENTS).saturating_mul(stripes).saturating_add(1)),
        false => count.max(1),
    };
    let starts = (0..count).step_by(most as usize);
    starts.map(move |first| placement.stripes(first, count.min(first.saturating_add(most))))
}

/// Memory for the stripes of a few chunks, used in turn, with the step after which it is free.
#[derive(Default)]
pub(crate) struct StripeMemory {
    used: VecDeque<(Vec<*mut u8>, Mark)>,
}

impl StripeMemory {
    /// Memory for a vector of `count` elements from each rank, and the step after which it is free.
    /// No chunk may have longer stripes than the first.
    fn take(
        &mut self,
        builder: &mut Builder,
        operand: &Operand,
        count: i64,
    ) -> (Vec<*mut u8>, Mark) {
        if self.used.len() == WINDOW
            && let Some(oldest) = self.used.pop_front()
        {
            return oldest;
        }
        let size = builder.size();
        ((0..size).map(|_| builder.scratch(count, &operand.element)).collect(), None)
    }
}

/// The steps of a fold in stripes for which others may wait.
pub(crate) struct StripeMarks {
    /// The end of sending to each rank.
    pub(crate) sent: Vec<Mark>,
    /// The end of this rank's fold.
    pub(crate) folded: Mark,
}

/// Rank p folds the elements from `starts[p]` to `starts[p + 1]` of all vectors, into the same
/// elements of `into`. The vector of MPI_IN_PLACE is at `own`; nothing is written to these elements
/// then before all of them are sent.
pub(crate) fn stripes(
    builder: &mut Builder,
    operand: &Operand,
    starts: &[i64],
    own: *mut u8,
    into: *mut u8,
    turn: usize,
    memory: &mut StripeMemory,
) -> StripeMarks {
    builder.reduce_with(&operand.reducer);
    let (rank, size) = (builder.rank(), builder.size());
    let vector = operand.send.unwrap_or(own);
    let mine = starts[rank]..starts[rank + 1];
    let mut sent = vec![None; size];
    if size == 1 {
        let folded = builder.copy(operand.piece(vector, &mine), operand.piece(into, &mine));
        return StripeMarks { sent, folded };
    }
    let (buffers, free) = memory.take(builder, operand, mine.end - mine.start);
    // The vectors of all ranks, each with the step that brings it. Element `mine.start` is the
    // first of its memory.
    let place = |rank: usize| operand.element.at(buffers[rank], -mine.start);
    let mut vectors: Vec<(*mut u8, Mark)> = (0..size).map(|rank| (place(rank), None)).collect();
    for step in 1..size {
        let from = (rank + size - step) % size;
        let (memory, ready) = &mut vectors[from];
        *ready = builder.receive(from, turn, operand.piece(*memory, &mine));
        builder.after(*ready, free);
    }
    for step in 1..size {
        let to = (rank + step) % size;
        sent[to] = builder.send(to, turn, operand.piece(vector, &(starts[to]..starts[to + 1])));
    }
    let (own_copy, ready) = &mut vectors[rank];
    *ready = builder.copy(operand.piece(vector, &mine), operand.piece(*own_copy, &mine));
    builder.after(*ready, free);
    let before: Vec<Mark> = match operand.send {
        Some(_) => Vec::new(),
        None => sent.iter().copied().chain([*ready]).collect(),
    };
    let mut fold = Fold::new(operand, mine, into);
    for (number, (memory, ready)) in vectors.into_iter().enumerate() {
        let step = fold.add(builder, memory, ready);
        if number == 0 {
            before.iter().for_each(|&earlier| builder.after(step, earlier));
        }
    }
    let folded = fold.finish(builder, &before);
    memory.used.push_back((buffers, folded));
    StripeMarks { sent, folded }
}
