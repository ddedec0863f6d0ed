//! Layout plans: where the bytes of one element of a datatype are, in type-map order, in a form
//! that loops can execute.
//!
//! A plan is a nest of strided loops over a contiguous block if possible; otherwise lists of
//! offsets and sequences of plans. Plans are composed by three operations (repeat, index,
//! sequence), each of which simplifies the result: it merges adjacent blocks, removes loops of one
//! iteration, merges a loop whose stride continues the loop inside it, and turns index lists in
//! arithmetic progression into loops. Nothing is reordered, so the packed bytes are those of the
//! type map (MPI 5.0, section 5.1). Splitting the small members of a struct into blocks follows
//! "dataloops" (Ross, Miller, Gropp 2003).
//!
//! Invariants: offsets are relative to the buffer's address; `size` is the number of packed bytes;
//! a shape that is not a nest is never empty. The caller has checked that all sizes and offsets fit
//! in `i64`.

use crate::kernel::{Equal, FAR_BYTES, GridKernel, LINE, ListBlock, Unequal, grid_kernel};
use std::sync::Arc;

/// Maximum number of loops of a nest in a plan; a call may add one more for its count.
pub(crate) const MAX_LOOPS: usize = 4;

/// A child with at most this many blocks is split into them when it becomes part of a sequence.
const EXPANDED_BLOCKS: usize = 16;

/// Equal blocks are merged into unequal ones only if this divides their number by at least this
/// factor: a loop over equal blocks is faster than one over slightly fewer unequal ones.
const MERGE_FACTOR: usize = 4;

/// One loop of a nest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loop {
    pub(crate) count: usize,
    /// Distance between consecutive iterations in bytes, of either sign.
    pub(crate) stride: isize,
}

/// Up to `MAX_LOOPS + 1` loops over a block, outermost first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nest {
    pub(crate) block: usize,
    depth: usize,
    loops: [Loop; MAX_LOOPS + 1],
    pub(crate) kernel: GridKernel,
    /// Estimate of the bytes that accessing the blocks brings into the caches.
    touched: usize,
}

/// `count` copies of a child that is not a nest, or is a nest with the maximum number of loops.
#[derive(Debug)]
pub(crate) struct Repeat {
    pub(crate) count: usize,
    pub(crate) stride: isize,
    pub(crate) child: LayoutPlan,
}

/// Copies of a child at arbitrary offsets.
#[derive(Debug)]
pub(crate) struct ScatteredCopies {
    pub(crate) offsets: Box<[i64]>,
    pub(crate) child: LayoutPlan,
}

/// Different plans in sequence.
#[derive(Debug)]
pub(crate) struct PlanSequence {
    pub(crate) parts: Box<[LayoutPlan]>,
    /// Packed position of each part.
    pub(crate) starts: Box<[usize]>,
}

/// The forms of a layout.
#[derive(Clone, Debug)]
pub(crate) enum PlanShape {
    Nest(Nest),
    Repeat(Arc<Repeat>),
    Blocks(Arc<Equal>),
    List(Arc<Unequal>),
    Scatter(Arc<ScatteredCopies>),
    Sequence(Arc<PlanSequence>),
}

/// The layout of one element's data.
#[derive(Clone, Debug)]
pub(crate) struct LayoutPlan {
    pub(crate) offset: i64,
    pub(crate) size: usize,
    pub(crate) shape: PlanShape,
}

impl Nest {
    /// A contiguous block.
    pub(crate) fn dense(block: usize) -> Nest {
        Nest {
            block,
            depth: 0,
            loops: [Loop { count: 0, stride: 0 }; MAX_LOOPS + 1],
            kernel: grid_kernel(block),
            touched: block,
        }
    }

    /// The loops, outermost first.
    pub(crate) fn loops(&self) -> &[Loop] {
        &self.loops[..self.depth]
    }

    /// True if the nest is a single block.
    pub(crate) fn is_dense(&self) -> bool {
        self.depth == 0
    }

    /// Adds an outermost loop, merging it if possible. `None` if the nest would have more than
    /// `limit` loops.
    pub(crate) fn repeated(&self, count: usize, stride: isize, limit: usize) -> Option<Nest> {
        let mut nest = *self;
        if count == 1 || self.block == 0 {
            return Some(nest);
        }
        if self.depth == 0 && stride == self.block as isize {
            return Some(Nest::dense(self.block * count));
        }
        nest.touched = stride.unsigned_abs().min(self.touched.max(LINE)).saturating_mul(count);
        let outer = self.loops[0];
        if self.depth > 0 && continues(outer.count, outer.stride, stride) {
            nest.loops[0].count = outer.count * count;
            return Some(nest);
        }
        if self.depth == limit {
            return None;
        }
        nest.loops.copy_within(..self.depth, 1);
        nest.loops[0] = Loop { count, stride };
        nest.depth += 1;
        Some(nest)
    }

    /// True if the memory touched exceeds the caches of a core.
    #[inline]
    pub(crate) fn is_far(&self) -> bool {
        self.touched > FAR_BYTES
    }

    /// Number of blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.loops().iter().map(|step| step.count).product()
    }
}

/// True if a loop of `outer_stride` continues where the loop inside it ends.
fn continues(inner_count: usize, inner_stride: isize, outer_stride: isize) -> bool {
    isize::try_from(inner_count).ok().and_then(|count| count.checked_mul(inner_stride)) == Some(outer_stride)
}

impl LayoutPlan {
    /// `length` contiguous bytes at `offset`.
    pub(crate) fn dense(offset: i64, length: usize) -> LayoutPlan {
        LayoutPlan { offset, size: length, shape: PlanShape::Nest(Nest::dense(length)) }
    }

    /// The plan of a layout without bytes.
    pub(crate) fn empty() -> LayoutPlan {
        LayoutPlan::dense(0, 0)
    }

    /// Length of the block, if the plan is a single block.
    pub(crate) fn dense_length(&self) -> Option<usize> {
        match &self.shape {
            PlanShape::Nest(nest) if nest.is_dense() => Some(nest.block),
            _ => None,
        }
    }

    /// The same layout, moved by `distance` bytes.
    pub(crate) fn shifted(mut self, distance: i64) -> LayoutPlan {
        if self.size > 0 {
            self.offset += distance;
        }
        self
    }

    /// `count` copies, `stride` bytes apart.
    pub(crate) fn repeated(&self, count: usize, stride: isize) -> LayoutPlan {
        if count == 0 || self.size == 0 {
            return LayoutPlan::empty();
        }
        if count == 1 {
            return self.clone();
        }
        let size = self.size * count;
        let shape = match &self.shape {
            PlanShape::Nest(nest) => nest.repeated(count, stride, MAX_LOOPS).map(PlanShape::Nest),
            PlanShape::Repeat(inner) if continues(inner.count, inner.stride, stride) => {
                let child = inner.child.clone();
                Some(PlanShape::Repeat(Arc::new(Repeat { count: inner.count * count, stride: inner.stride, child })))
            }
            _ => None,
        };
        if let Some(shape) = shape {
            return LayoutPlan { offset: self.offset, size, shape };
        }
        let child = LayoutPlan { offset: 0, ..self.clone() };
        LayoutPlan { offset: self.offset, size, shape: PlanShape::Repeat(Arc::new(Repeat { count, stride, child })) }
    }

    /// Copies at the given offsets.
    pub(crate) fn indexed(&self, offsets: &[i64]) -> LayoutPlan {
        if offsets.is_empty() || self.size == 0 {
            return LayoutPlan::empty();
        }
        if let Some(stride) = progression(offsets) {
            return self.repeated(offsets.len(), stride).shifted(offsets[0]);
        }
        if let Some(length) = self.dense_length() {
            let touching = offsets.windows(2).filter(|pair| pair[0] + length as i64 == pair[1]).count();
            if touching * MERGE_FACTOR < offsets.len() * (MERGE_FACTOR - 1) {
                return equal_blocks(length, offsets).shifted(self.offset);
            }
            let mut parts = PlanBuilder::with_capacity(offsets.len());
            offsets.iter().for_each(|offset| parts.block(offset + self.offset, length));
            return parts.finish();
        }
        if self.block_count().saturating_mul(offsets.len()) <= EXPANDED_BLOCKS {
            let mut parts = PlanBuilder::default();
            offsets.iter().for_each(|&offset| parts.plan(&self.clone().shifted(offset)));
            return parts.finish();
        }
        let child = self.clone();
        let size = self.size * offsets.len();
        LayoutPlan {
            offset: 0,
            size,
            shape: PlanShape::Scatter(Arc::new(ScatteredCopies { offsets: offsets.into(), child })),
        }
    }

    /// The given plans in sequence.
    pub(crate) fn sequence(parts: impl Iterator<Item = LayoutPlan>) -> LayoutPlan {
        let parts: Vec<LayoutPlan> = parts.filter(|part| part.size > 0).collect();
        if let [only] = &parts[..] {
            return only.clone();
        }
        let mut gathered = PlanBuilder::default();
        parts.iter().for_each(|part| gathered.plan(part));
        gathered.finish()
    }

    /// Number of blocks; `usize::MAX` if counting them would take too long.
    fn block_count(&self) -> usize {
        match &self.shape {
            PlanShape::Nest(nest) => nest.blocks(),
            PlanShape::Blocks(blocks) => blocks.len(),
            PlanShape::List(list) => list.len(),
            PlanShape::Repeat(_) | PlanShape::Scatter(_) | PlanShape::Sequence(_) => usize::MAX,
        }
    }
}

/// The common difference of the offsets, if they have one.
fn progression(offsets: &[i64]) -> Option<isize> {
    let stride = match offsets {
        [first, second, ..] => second.checked_sub(*first)?,
        _ => 0,
    };
    let even = offsets.windows(2).all(|pair| pair[1].checked_sub(pair[0]) == Some(stride));
    even.then_some(stride as isize)
}

/// Collects blocks and plans in type-map order and merges adjacent blocks.
#[derive(Default)]
pub(crate) struct PlanBuilder {
    blocks: Vec<ListBlock>,
    parts: Vec<LayoutPlan>,
}

impl PlanBuilder {
    /// Reserves room for this many blocks.
    pub(crate) fn with_capacity(blocks: usize) -> PlanBuilder {
        PlanBuilder { blocks: Vec::with_capacity(blocks), parts: Vec::new() }
    }

    /// Appends a block.
    pub(crate) fn block(&mut self, offset: i64, length: usize) {
        if length == 0 {
            return;
        }
        match self.blocks.last_mut() {
            Some(last) if last.offset + last.length as i64 == offset => last.length += length,
            _ => self.blocks.push(ListBlock { offset, length }),
        }
    }

    /// Appends a plan; a plan with few blocks is split into them.
    pub(crate) fn plan(&mut self, plan: &LayoutPlan) {
        if plan.block_count() > EXPANDED_BLOCKS {
            self.flush();
            self.parts.push(plan.clone());
            return;
        }
        match &plan.shape {
            PlanShape::Nest(nest) => self.nest(plan.offset, nest.block, nest.loops()),
            PlanShape::Blocks(blocks) => {
                blocks.offsets().for_each(|offset| self.block(plan.offset + offset, blocks.length()));
            }
            PlanShape::List(list) => {
                list.blocks().for_each(|block| self.block(plan.offset + block.offset, block.length));
            }
            PlanShape::Repeat(_) | PlanShape::Scatter(_) | PlanShape::Sequence(_) => {}
        }
    }

    fn nest(&mut self, offset: i64, block: usize, loops: &[Loop]) {
        let Some((outer, inner)) = loops.split_first() else {
            return self.block(offset, block);
        };
        for index in 0..outer.count {
            self.nest(offset + index as i64 * outer.stride as i64, block, inner);
        }
    }

    fn flush(&mut self) {
        if !self.blocks.is_empty() {
            let blocks = std::mem::take(&mut self.blocks);
            self.parts.push(from_blocks(blocks));
        }
    }

    /// Returns the plan of everything appended.
    pub(crate) fn finish(mut self) -> LayoutPlan {
        self.flush();
        if self.parts.len() < 2 {
            return self.parts.pop().unwrap_or_else(LayoutPlan::empty);
        }
        let mut size = 0;
        let start = |part: &LayoutPlan| {
            let start = size;
            size += part.size;
            start
        };
        let starts = self.parts.iter().map(start).collect();
        let parts = self.parts.into();
        LayoutPlan { offset: 0, size, shape: PlanShape::Sequence(Arc::new(PlanSequence { parts, starts })) }
    }
}

/// The plan of equal blocks whose offsets are not in arithmetic progression.
fn equal_blocks(length: usize, offsets: &[i64]) -> LayoutPlan {
    let size = offsets.len() * length;
    LayoutPlan { offset: 0, size, shape: PlanShape::Blocks(Arc::new(Equal::new(length, offsets))) }
}

/// The plan of a list of blocks, no two neighbours of which are adjacent in memory.
fn from_blocks(blocks: Vec<ListBlock>) -> LayoutPlan {
    let ListBlock { offset, length } = blocks[0];
    if blocks.len() == 1 {
        return LayoutPlan::dense(offset, length);
    }
    if blocks.iter().all(|block| block.length == length) {
        let offsets: Vec<i64> = blocks.iter().map(|block| block.offset).collect();
        if let Some(stride) = progression(&offsets) {
            return LayoutPlan::dense(offset, length).repeated(offsets.len(), stride);
        }
        return equal_blocks(length, &offsets);
    }
    let list = Unequal::new(blocks);
    LayoutPlan { offset: 0, size: list.size(), shape: PlanShape::List(Arc::new(list)) }
}
