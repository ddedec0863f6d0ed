//! Where the bytes of one element of a datatype lie, in the order of its type map, in a form that
//! loops can run over.
//!
//! A plan is a nest of strided loops over a dense block wherever possible; lists of offsets and
//! sequences of plans for the rest. Plans are composed by three operations (repeat, index,
//! sequence), each of which merges what it can: adjacent blocks, loops of one, a loop whose stride
//! continues the loop inside it, index lists in arithmetic progression. Nothing is ever reordered,
//! so the packed bytes are those of the type map (MPI 5.0, section 5.1). Splitting a struct's small
//! members into blocks follows the idea of "dataloops" (Ross, Miller, Gropp 2003).
//!
//! Invariants: offsets are relative to the buffer's address; `size` is the number of bytes packed;
//! a shape that is not a nest is never empty. The caller has checked that all sizes and offsets fit
//! in `i64`.

use crate::kernel::{Block, Equal, FAR_BYTES, GridKernel, LINE, Unequal, grid_kernel};
use std::sync::Arc;

/// Loops a plan holds in a nest; one more may be added for the count of a call.
pub(crate) const MAX_LOOPS: usize = 4;

/// A child with at most so many blocks is split into them when it becomes part of a sequence.
const EXPANDED_BLOCKS: usize = 16;

/// Equal blocks are joined into unequal ones only if that leaves at most one in so many: a loop
/// over equal blocks is faster than one over a few less of any length.
const MERGE_FACTOR: usize = 4;

/// One loop of a nest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loop {
    pub(crate) count: usize,
    /// Bytes from one iteration to the next; any sign.
    pub(crate) stride: isize,
}

/// Up to `MAX_LOOPS + 1` loops, outermost first, over a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nest {
    pub(crate) block: usize,
    depth: usize,
    loops: [Loop; MAX_LOOPS + 1],
    pub(crate) kernel: GridKernel,
    /// Bytes of memory that come into the caches with the blocks.
    touched: usize,
}

/// `count` copies of a child that is not a nest, or of a nest that is full.
#[derive(Debug)]
pub(crate) struct Repeat {
    pub(crate) count: usize,
    pub(crate) stride: isize,
    pub(crate) child: Plan,
}

/// Equal copies of a child at any offsets.
#[derive(Debug)]
pub(crate) struct Scatter {
    pub(crate) offsets: Box<[i64]>,
    pub(crate) child: Plan,
}

/// Different plans one after the other.
#[derive(Debug)]
pub(crate) struct Sequence {
    pub(crate) parts: Box<[Plan]>,
    /// Packed position of every part.
    pub(crate) starts: Box<[usize]>,
}

/// The kinds of layout.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    Nest(Nest),
    Repeat(Arc<Repeat>),
    Blocks(Arc<Equal>),
    List(Arc<Unequal>),
    Scatter(Arc<Scatter>),
    Sequence(Arc<Sequence>),
}

/// Layout of the data of one element.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) offset: i64,
    pub(crate) size: usize,
    pub(crate) shape: Shape,
}

impl Nest {
    /// A dense block.
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

    /// Whether there is no loop.
    pub(crate) fn is_dense(&self) -> bool {
        self.depth == 0
    }

    /// Adds an outermost loop, or merges it; none if the nest is full. `limit` loops may be there
    /// afterwards.
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

    /// Whether the caches of a core cannot hold what is touched.
    #[inline]
    pub(crate) fn is_far(&self) -> bool {
        self.touched > FAR_BYTES
    }

    /// How many blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.loops().iter().map(|step| step.count).product()
    }
}

/// Whether a loop of `outer_stride` goes on where the loop inside it stops.
fn continues(inner_count: usize, inner_stride: isize, outer_stride: isize) -> bool {
    isize::try_from(inner_count).ok().and_then(|count| count.checked_mul(inner_stride)) == Some(outer_stride)
}

impl Plan {
    /// `length` bytes in a row at `offset`.
    pub(crate) fn dense(offset: i64, length: usize) -> Plan {
        Plan { offset, size: length, shape: Shape::Nest(Nest::dense(length)) }
    }

    /// No bytes at all.
    pub(crate) fn empty() -> Plan {
        Plan::dense(0, 0)
    }

    /// The length of the block, if this is one block.
    pub(crate) fn dense_length(&self) -> Option<usize> {
        match &self.shape {
            Shape::Nest(nest) if nest.is_dense() => Some(nest.block),
            _ => None,
        }
    }

    /// The same data `distance` bytes further.
    pub(crate) fn shifted(mut self, distance: i64) -> Plan {
        if self.size > 0 {
            self.offset += distance;
        }
        self
    }

    /// `count` copies, `stride` bytes apart.
    pub(crate) fn repeated(&self, count: usize, stride: isize) -> Plan {
        if count == 0 || self.size == 0 {
            return Plan::empty();
        }
        if count == 1 {
            return self.clone();
        }
        let size = self.size * count;
        let shape = match &self.shape {
            Shape::Nest(nest) => nest.repeated(count, stride, MAX_LOOPS).map(Shape::Nest),
            Shape::Repeat(inner) if continues(inner.count, inner.stride, stride) => {
                let child = inner.child.clone();
                Some(Shape::Repeat(Arc::new(Repeat { count: inner.count * count, stride: inner.stride, child })))
            }
            _ => None,
        };
        if let Some(shape) = shape {
            return Plan { offset: self.offset, size, shape };
        }
        let child = Plan { offset: 0, ..self.clone() };
        Plan { offset: self.offset, size, shape: Shape::Repeat(Arc::new(Repeat { count, stride, child })) }
    }

    /// Copies at the given offsets.
    pub(crate) fn indexed(&self, offsets: &[i64]) -> Plan {
        if offsets.is_empty() || self.size == 0 {
            return Plan::empty();
        }
        if let Some(stride) = progression(offsets) {
            return self.repeated(offsets.len(), stride).shifted(offsets[0]);
        }
        if let Some(length) = self.dense_length() {
            let touching = offsets.windows(2).filter(|pair| pair[0] + length as i64 == pair[1]).count();
            if touching * MERGE_FACTOR < offsets.len() * (MERGE_FACTOR - 1) {
                return equal_blocks(length, offsets).shifted(self.offset);
            }
            let mut parts = Gather::with_capacity(offsets.len());
            offsets.iter().for_each(|offset| parts.block(offset + self.offset, length));
            return parts.finish();
        }
        if self.block_count().saturating_mul(offsets.len()) <= EXPANDED_BLOCKS {
            let mut parts = Gather::default();
            offsets.iter().for_each(|&offset| parts.plan(&self.clone().shifted(offset)));
            return parts.finish();
        }
        let child = self.clone();
        let size = self.size * offsets.len();
        Plan { offset: 0, size, shape: Shape::Scatter(Arc::new(Scatter { offsets: offsets.into(), child })) }
    }

    /// One plan after the other.
    pub(crate) fn sequence(parts: impl Iterator<Item = Plan>) -> Plan {
        let parts: Vec<Plan> = parts.filter(|part| part.size > 0).collect();
        if let [only] = &parts[..] {
            return only.clone();
        }
        let mut gathered = Gather::default();
        parts.iter().for_each(|part| gathered.plan(part));
        gathered.finish()
    }

    /// Number of blocks; `usize::MAX` stands for "many" where counting would take long.
    fn block_count(&self) -> usize {
        match &self.shape {
            Shape::Nest(nest) => nest.blocks(),
            Shape::Blocks(blocks) => blocks.len(),
            Shape::List(list) => list.len(),
            Shape::Repeat(_) | Shape::Scatter(_) | Shape::Sequence(_) => usize::MAX,
        }
    }
}

/// The common difference of the offsets, if there is one.
fn progression(offsets: &[i64]) -> Option<isize> {
    let stride = match offsets {
        [first, second, ..] => second.checked_sub(*first)?,
        _ => 0,
    };
    let even = offsets.windows(2).all(|pair| pair[1].checked_sub(pair[0]) == Some(stride));
    even.then_some(stride as isize)
}

/// Collects blocks and plans in type-map order and joins adjacent blocks.
#[derive(Default)]
pub(crate) struct Gather {
    blocks: Vec<Block>,
    parts: Vec<Plan>,
}

impl Gather {
    /// Makes room for so many blocks.
    pub(crate) fn with_capacity(blocks: usize) -> Gather {
        Gather { blocks: Vec::with_capacity(blocks), parts: Vec::new() }
    }

    /// Appends one block.
    pub(crate) fn block(&mut self, offset: i64, length: usize) {
        if length == 0 {
            return;
        }
        match self.blocks.last_mut() {
            Some(last) if last.offset + last.length as i64 == offset => last.length += length,
            _ => self.blocks.push(Block { offset, length }),
        }
    }

    /// Appends a plan; one with few blocks is split into them.
    pub(crate) fn plan(&mut self, plan: &Plan) {
        if plan.block_count() > EXPANDED_BLOCKS {
            self.flush();
            self.parts.push(plan.clone());
            return;
        }
        match &plan.shape {
            Shape::Nest(nest) => self.nest(plan.offset, nest.block, nest.loops()),
            Shape::Blocks(blocks) => {
                blocks.offsets().for_each(|offset| self.block(plan.offset + offset, blocks.length()));
            }
            Shape::List(list) => {
                list.blocks().for_each(|block| self.block(plan.offset + block.offset, block.length));
            }
            Shape::Repeat(_) | Shape::Scatter(_) | Shape::Sequence(_) => {}
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

    /// The plan of everything appended.
    pub(crate) fn finish(mut self) -> Plan {
        self.flush();
        if self.parts.len() < 2 {
            return self.parts.pop().unwrap_or_else(Plan::empty);
        }
        let mut size = 0;
        let start = |part: &Plan| {
            let start = size;
            size += part.size;
            start
        };
        let starts = self.parts.iter().map(start).collect();
        let parts = self.parts.into();
        Plan { offset: 0, size, shape: Shape::Sequence(Arc::new(Sequence { parts, starts })) }
    }
}

/// The plan of equal blocks that are not in arithmetic progression.
fn equal_blocks(length: usize, offsets: &[i64]) -> Plan {
    let size = offsets.len() * length;
    Plan { offset: 0, size, shape: Shape::Blocks(Arc::new(Equal::new(length, offsets))) }
}

/// The plan of blocks of which no two neighbours touch.
fn from_blocks(blocks: Vec<Block>) -> Plan {
    let Block { offset, length } = blocks[0];
    if blocks.len() == 1 {
        return Plan::dense(offset, length);
    }
    if blocks.iter().all(|block| block.length == length) {
        let offsets: Vec<i64> = blocks.iter().map(|block| block.offset).collect();
        if let Some(stride) = progression(&offsets) {
            return Plan::dense(offset, length).repeated(offsets.len(), stride);
        }
        return equal_blocks(length, &offsets);
    }
    let list = Unequal::new(blocks);
    Plan { offset: 0, size: list.size(), shape: Shape::List(Arc::new(list)) }
}
