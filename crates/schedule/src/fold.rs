//! Left folds over the ranks of a team: (v0 op v1) op v2, and so on, in rank order.
//!
//! An algorithm that combines partial results associates in its own way, and floating-point results
//! depend on that. Here all operands of an element meet on one rank, which folds them from the
//! lowest rank up, so that the result is the same whichever algorithm moves the operands: towards
//! one rank, to all, or a stripe of the vector to each. (A flat algorithm that is forced on several
//! hosts knows no hosts, and folds all ranks in their order.)

mod ready;
mod relayed;
mod striped;

use std::collections::VecDeque;
use std::ops::Range;

use crate::Call;
use crate::Placement;
use crate::allgather::{self, Allgather};
use crate::buffers::Blocks;
use crate::builder::{Builder, Mark};
use crate::operand::Operand;

pub(crate) use ready::Ready;
pub(crate) use relayed::fold_stripes;
pub(crate) use striped::{StripeFold, chunks};

/// Bytes of a vector that are sent and folded at a time.
const SEGMENT: i64 = 64 << 10;
/// The same if all vectors are in the memory of devices, which move several of these in the time of
/// a launch.
const DEVICE_SEGMENT: i64 = 8 << 20;
/// Maximum number of segments or chunks.
pub(crate) const SEGMENTS: i64 = 4096;
/// Segments or chunks that a rank receives while it folds another.
const WINDOW: usize = 4;

/// The operands of one fold, given one after the other.
struct Fold<'a> {
    operand: &'a Operand,
    range: Range<i64>,
    /// Where the result of a commutative operation is built.
    into: *mut u8,
    /// The operands so far, combined.
    sum: Option<*mut u8>,
    /// The step that combined them.
    last: Mark,
}

impl<'a> Fold<'a> {
    fn new(operand: &'a Operand, range: Range<i64>, into: *mut u8) -> Fold<'a> {
        Fold { operand, range, into, sum: None, last: None }
    }

    /// Adds a vector, available after `ready`. All of a commutative operation may be read only; of
    /// any other they must be memory of the plan. Returns the step after which the vector before
    /// this one is free, or this one itself if the operation commutes.
    fn add(&mut self, builder: &mut Builder, vector: *mut u8, ready: Mark) -> Mark {
        let Fold { operand, ref range, into, sum, last } = *self;
        let element = &operand.element;
        let step = match sum {
            None if operand.reducer.is_commutative() => {
                self.sum = Some(into);
                builder.copy(operand.piece(vector, range), operand.piece(into, range))
            }
            None => {
                self.sum = Some(vector);
                self.last = ready;
                return None;
            }
            // For a commutative operation the order of operands is the same here and on boards.
            Some(sum) if operand.reducer.is_commutative() => {
                builder.reduce(vector, sum, range.clone(), element)
            }
            Some(sum) => {
                self.sum = Some(vector);
                builder.reduce(sum, vector, range.clone(), element)
            }
        };
        builder.after(step, ready);
        builder.after(step, last);
        self.last = step.or(ready).or(last);
        step
    }

    /// Moves the result to its place, after the steps `before`. Returns the last step.
    fn finish(self, builder: &mut Builder, before: &[Mark]) -> Mark {
        let sum = self.sum?;
        let (operand, range) = (self.operand, &self.range);
        let moved = builder.copy(operand.piece(sum, range), operand.piece(self.into, range));
        builder.after(moved, self.last);
        before.iter().for_each(|&earlier| builder.after(moved, earlier));
        moved.or(self.last)
    }
}

/// Elements of a segment: as many as fit into [`SEGMENT`] bytes, or more if there would be too many
/// segments.
fn longest(operand: &Operand) -> i64 {
    let segment = if operand.spread().is_some() { DEVICE_SEGMENT } else { SEGMENT };
    let fitting = segment / operand.element.size.max(1);
    fitting.max(operand.count / SEGMENTS + 1)
}

/// The elements of each segment.
fn segments(operand: &Operand) -> impl Iterator<Item = Range<i64>> + use<> {
    operand.ranges(longest(operand))
}

/// Where a fold into `into` may use this rank's vector, if it would disturb it otherwise: a copy.
/// `is_first` if the fold begins with it.
fn copy_of_own(
    builder: &mut Builder,
    operand: &Operand,
    into: *mut u8,
    is_first: bool,
) -> Option<*mut u8> {
    // The first operand of a commutative operation is moved to `into` first of all.
    let is_apart = operand.send.is_some_and(|vector| vector != into);
    let stays = operand.reducer.is_commutative() && (is_apart || is_first);
    let needs_copy = !stays && builder.size() > 1;
    needs_copy.then(|| builder.scratch(operand.count, &operand.element))
}

/// Folds the vectors of all ranks at `collector`, into `into`, which is unused elsewhere, as they
/// become `ready`. Returns when `into`, or the vector elsewhere, may be used again.
pub(crate) fn at(
    builder: &mut Builder,
    operand: &Operand,
    collector: usize,
    into: *mut u8,
    ready: &Ready,
) -> Ready {
    builder.reduce_with(&operand.reducer);
    let (rank, size) = (builder.rank(), builder.size());
    match rank == collector {
        true => collect(builder, operand, 0..size, (into, None), ready),
        false => pass_up(builder, operand, collector, into, ready),
    }
}

/// Sends the vector of this rank to the one that folds, segment by segment.
fn pass_up(
    builder: &mut Builder,
    operand: &Operand,
    collector: usize,
    own: *mut u8,
    ready: &Ready,
) -> Ready {
    let vector = operand.send.unwrap_or(own);
    let mut done = Ready::in_segments();
    for (turn, range) in segments(operand).enumerate() {
        let is_ready = ready.of(builder, &range);
        let sent = builder.send(collector, turn, operand.piece(vector, &range));
        builder.after(sent, is_ready);
        done.push(range.end, sent);
    }
    done
}

/// Folds the vectors of `sources`, in this order, into `into` at this rank, which is one of them,
/// and passes each segment of the result on to the rank `next`, if there is one.
fn collect(
    builder: &mut Builder,
    operand: &Operand,
    sources: impl ExactSizeIterator<Item = usize> + Clone,
    (into, next): (*mut u8, Option<usize>),
    ready: &Ready,
) -> Ready {
    let rank = builder.rank();
    let vector = operand.send.unwrap_or(into);
    let copy = copy_of_own(builder, operand, into, sources.clone().next() == Some(rank));
    let mut done = Ready::in_segments();
    // Memory for operands that arrive, with the step after which it is free.
    let mut free: VecDeque<(*mut u8, Mark)> = VecDeque::new();
    for _ in 0..WINDOW.min(sources.len() - 1) {
        free.push_back((
            builder.scratch(operand.count.min(longest(operand)), &operand.element),
            None,
        ));
    }
    for (turn, range) in segments(operand).enumerate() {
        // Element `range.start` of a received vector is the first of its memory.
        let shifted = |memory: *mut u8| operand.element.at(memory, -range.start);
        let mut fold = Fold::new(operand, range.clone(), into);
        let mut is_ready = ready.of(builder, &range);
        if let Some(copy) = copy {
            let copied = builder.copy(operand.piece(vector, &range), operand.piece(copy, &range));
            builder.after(copied, is_ready);
            // Only now may the fold write to `into`.
            (is_ready, fold.last) = (copied, copied);
        }
        let mut held: Option<*mut u8> = None;
        for from in sources.clone() {
            if from == rank {
                let step = fold.add(builder, copy.unwrap_or(vector), is_ready);
                // The sum of an operation that does not commute is now in the vector itself.
                if !operand.reducer.is_commutative()
                    && let Some(memory) = held.take()
                {
                    free.push_back((memory, step));
                }
                continue;
            }
            let (memory, available) = free.pop_front().expect("each step frees what it has read");
            let arrived = builder.receive(from, turn, operand.piece(shifted(memory), &range));
            builder.after(arrived, available);
            let step = fold.add(builder, shifted(memory), arrived);
            if operand.reducer.is_commutative() {
                free.push_back((memory, step));
            } else if let Some(before) = held.replace(memory) {
                free.push_back((before, step));
            }
        }
        let end = fold.finish(builder, &[]);
        if let Some(memory) = held {
            free.push_back((memory, end));
        }
        if let Some(next) = next {
            let sent = builder.send(next, turn, operand.piece(into, &range));
            builder.after(sent, end);
        }
        done.push(range.end, end);
    }
    done
}

/// The sections of a team by which a fold passes from group to group, and the rank that folds in
/// each.
pub(crate) struct GroupFold {
    /// Of each section, the first rank and the one that folds.
    sections: Vec<(usize, usize)>,
    size: usize,
}

impl GroupFold {
    /// The sections of a team whose ranks have a host each and whose groups are consecutive. `root`
    /// folds in its section, unless its host is a leaf.
    pub(crate) fn new(placement: &Placement, root: Option<usize>) -> GroupFold {
        let (starts, size) = (&placement.group_costs().sections, placement.hosts());
        let ends = starts.iter().skip(1).copied().chain([size]);
        let section = |(&first, end): (&usize, usize)| {
            let passes_on = |rank: &usize| !placement.is_leaf(*rank);
            let own = root.filter(|root| (first..end).contains(root)).filter(passes_on);
            (first, own.or((first..end).find(passes_on)).unwrap_or(first))
        };
        GroupFold { sections: starts.iter().zip(ends).map(section).collect(), size }
    }

    /// The rank that has the result.
    pub(crate) fn last(&self) -> usize {
        self.sections.last().map_or(0, |section| section.1)
    }

    /// True if a rank folds.
    pub(crate) fn collects(&self, rank: usize) -> bool {
        self.sections.iter().any(|section| section.1 == rank)
    }

    /// Folds the vectors of all ranks: in each section the vectors there are added to the sum of
    /// the sections below. `into` is unused at ranks that do not fold.
    pub(crate) fn append(
        &self,
        builder: &mut Builder,
        operand: &Operand,
        into: *mut u8,
        ready: &Ready,
    ) {
        builder.reduce_with(&operand.reducer);
        let rank = builder.rank();
        let own = self.sections.partition_point(|section| section.0 <= rank) - 1;
        let (first, collector) = self.sections[own];
        if rank != collector {
            pass_up(builder, operand, collector, into, ready);
            return;
        }
        let next = self.sections.get(own + 1).copied();
        let end = next.map_or(self.size, |section| section.0);
        let below = own.checked_sub(1).map(|below| self.sections[below].1);
        let sources: Vec<usize> = below.into_iter().chain(first..end).collect();
        let next = next.map(|section| section.1);
        collect(builder, operand, sources.into_iter(), (into, next), ready);
    }
}

/// Gives every rank the vectors of all, in memory of the plan. Ends a phase.
pub(crate) fn exchange(
    builder: &mut Builder,
    call: &Call,
    operand: &Operand,
    own: *mut u8,
) -> Vec<*mut u8> {
    builder.reduce_with(&operand.reducer);
    let (rank, size) = (builder.rank(), builder.size());
    let count = operand.count;
    let pointer = builder.scratch(count.saturating_mul(size as i64), &operand.element);
    let vector = |rank: usize| operand.element.at(pointer, count.wrapping_mul(rank as i64));
    builder.copy(operand.whole(operand.send.unwrap_or(own)), operand.whole(vector(rank)));
    builder.phase();
    let receive = Blocks::Equal { pointer, count, element: operand.element.clone() };
    allgather::append(builder, call, &Allgather { send: None, receive });
    (0..size).map(vector).collect()
}

/// Folds elements `range` of vectors in memory of the plan into `into`. Ends a phase.
pub(crate) fn all(
    builder: &mut Builder,
    operand: &Operand,
    vectors: &[*mut u8],
    range: Range<i64>,
    into: *mut u8,
) {
    let mut fold = Fold::new(operand, range, into);
    for &vector in vectors {
        fold.add(builder, vector, None);
    }
    fold.finish(builder, &[]);
    builder.phase();
}

/// Gives `receive` the fold of the vectors up to this rank's own, or of those below it if
/// `exclusive`, along a chain of the ranks.
pub(crate) fn chain(builder: &mut Builder, operand: &Operand, receive: *mut u8, exclusive: bool) {
    builder.reduce_with(&operand.reducer);
    let (rank, size) = (builder.rank(), builder.size());
    let mut own = operand.send.unwrap_or(receive);
    // The first operand of a fold is not written.
    if rank > 0 && (own == receive || !operand.reducer.is_commutative()) {
        let copy = builder.scratch(operand.count, &operand.element);
        builder.copy(operand.whole(own), operand.whole(copy));
        builder.phase();
        own = copy;
    }
    let needs_spare = if exclusive { rank + 1 < size } else { rank > 0 };
    let spare = match needs_spare {
        true => builder.scratch(operand.count, &operand.element),
        false => std::ptr::dangling_mut(),
    };
    // The fold of the vectors below this rank's, and the one that includes it.
    let (below, total) = if exclusive { (receive, spare) } else { (spare, receive) };
    for (turn, range) in segments(operand).enumerate() {
        let arrived = match rank {
            0 => None,
            _ => builder.receive(rank - 1, turn, operand.piece(below, &range)),
        };
        if exclusive && rank + 1 == size {
            continue;
        }
        let mut fold = Fold::new(operand, range.clone(), total);
        if rank > 0 {
            fold.add(builder, below, arrived);
        }
        fold.add(builder, own, None);
        let end = fold.finish(builder, &[]);
        if rank + 1 < size {
            let sent = builder.send(rank + 1, turn, operand.piece(total, &range));
            builder.after(sent, end);
        }
    }
}
