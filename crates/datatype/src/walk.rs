//! Moves any part of a plan's bytes between the program's memory and packed bytes.
//!
//! A walk starts at any packed position: the position is turned into loop indices once, a block cut by the start is
//! finished, whole blocks go through the plan's kernel, and a block cut by the end is begun. So packing in pieces
//! costs what packing at once costs. `PACK` tells the direction; both directions share every line.
//!
//! Invariant: exactly the bytes `skip..skip + limit` of the packed form are moved, and `skip + limit <= size`.

use crate::copies::walk_copies;
use crate::kernel::{Grid, GridKernel, exchange};
use crate::plan::{MAX_LOOPS, Nest, Plan, Scatter, Sequence, Shape};

/// Moves the bytes `skip..skip + limit` of one element whose buffer starts at `user`.
///
/// # Safety
/// `skip + limit <= plan.size`; the plan's blocks around `user` that hold these bytes, and `limit` bytes at `packed`,
/// must be valid and not overlap.
pub(crate) unsafe fn walk<const PACK: bool>(plan: &Plan, user: *mut u8, packed: *mut u8, skip: usize, limit: usize) {
    if limit == 0 {
        return;
    }
    let user = user.wrapping_offset(plan.offset as isize);
    // SAFETY: the shape's blocks are those of the plan, from its offset on.
    unsafe {
        match &plan.shape {
            Shape::Nest(nest) => walk_nest::<PACK>(nest, user, packed, skip, limit),
            Shape::Repeat(repeat) => walk_repeat::<PACK>(&repeat.child, repeat.stride, user, packed, skip, limit),
            Shape::Blocks(blocks) => blocks.walk::<PACK>(user, packed, skip, limit),
            Shape::List(list) => list.walk::<PACK>(user, packed, skip, limit),
            Shape::Scatter(scatter) => walk_scatter::<PACK>(scatter, user, packed, skip, limit),
            Shape::Sequence(sequence) => walk_sequence::<PACK>(sequence, user, packed, skip, limit),
        }
    }
}

/// Moves a part of a nest whose first block is at `user`.
///
/// # Safety
/// As [`walk`].
#[inline]
pub(crate) unsafe fn walk_nest<const PACK: bool>(
    nest: &Nest,
    user: *mut u8,
    packed: *mut u8,
    skip: usize,
    limit: usize,
) {
    let block = nest.block;
    if nest.is_dense() {
        // SAFETY: the block holds `skip + limit` bytes.
        return unsafe { exchange::<PACK>(user.wrapping_add(skip), packed, limit) };
    }
    let (mut packed, mut limit) = (packed, limit);
    let (mut index, within) = if skip == 0 { (0, 0) } else { (skip / block, skip % block) };
    // SAFETY: the pieces together are the `limit` bytes from `skip` on.
    unsafe {
        if within > 0 {
            let piece = limit.min(block - within);
            exchange::<PACK>(nest_block(nest, user, index).wrapping_add(within), packed, piece);
            packed = packed.wrapping_add(piece);
            limit -= piece;
            index += 1;
        }
        let whole = limit / block;
        if whole > 0 {
            let moved = Moved { user, packed, user_block: 0, packed_block: block as isize, far: nest.is_far() };
            nest_blocks::<PACK>(nest, moved, index, whole);
            packed = packed.wrapping_add(whole * block);
        }
        let rest = limit % block;
        if rest > 0 {
            exchange::<PACK>(nest_block(nest, user, index + whole), packed, rest);
        }
    }
}

/// Address of block `index` of a nest.
fn nest_block(nest: &Nest, user: *mut u8, mut index: usize) -> *mut u8 {
    let mut distance = 0isize;
    for step in nest.loops().iter().rev() {
        distance = distance.wrapping_add((index % step.count) as isize * step.stride);
        index /= step.count;
    }
    user.wrapping_offset(distance)
}

/// The two sides of a grid: addresses and distance from block to block.
#[derive(Clone, Copy)]
pub(crate) struct Moved {
    pub(crate) user: *mut u8,
    pub(crate) packed: *mut u8,
    pub(crate) user_block: isize,
    pub(crate) packed_block: isize,
    pub(crate) far: bool,
}

impl Moved {
    /// Runs the kernel over `rows` x `blocks` blocks; packed rows follow each other.
    ///
    /// # Safety
    /// As [`walk`], for these blocks.
    #[inline(always)]
    pub(crate) unsafe fn grid<const PACK: bool>(
        self,
        kernel: GridKernel,
        length: usize,
        blocks: usize,
        rows: usize,
        user_row: isize,
    ) {
        let packed_row = blocks as isize * self.packed_block;
        let grid = if PACK {
            Grid {
                to: self.packed,
                to_block: self.packed_block,
                to_row: packed_row,
                from: self.user,
                from_block: self.user_block,
                from_row: user_row,
                blocks,
                rows,
                length,
                far: self.far,
            }
        } else {
            Grid {
                to: self.user,
                to_block: self.user_block,
                to_row: user_row,
                from: self.packed,
                from_block: self.packed_block,
                from_row: packed_row,
                blocks,
                rows,
                length,
                far: self.far,
            }
        };
        // SAFETY: handed through.
        unsafe { kernel(&grid) }
    }
}

/// Moves `whole` whole blocks of a nest with at least one loop, from block `index` on.
///
/// # Safety
/// As [`walk`], for these blocks.
unsafe fn nest_blocks<const PACK: bool>(nest: &Nest, start: Moved, mut index: usize, mut whole: usize) {
    let loops = nest.loops();
    let last = loops.len() - 1;
    let inner = loops[last];
    let mut at = [0usize; MAX_LOOPS + 1];
    let mut distance = 0isize;
    if index > 0 {
        for level in (0..=last).rev() {
            at[level] = index % loops[level].count;
            index /= loops[level].count;
            distance = distance.wrapping_add(at[level] as isize * loops[level].stride);
        }
    }
    let mut moved = Moved { user_block: inner.stride, ..start };
    loop {
        moved.user = start.user.wrapping_offset(distance);
        let (mut level, advance) = if last > 0 && at[last] == 0 && whole >= inner.count {
            let outer = loops[last - 1];
            let rows = (whole / inner.count).min(outer.count - at[last - 1]);
            // SAFETY: `rows` whole rows are left of the blocks the caller vouches for.
            unsafe { moved.grid::<PACK>(nest.kernel, nest.block, inner.count, rows, outer.stride) };
            whole -= rows * inner.count;
            moved.packed = moved.packed.wrapping_offset((rows * inner.count) as isize * moved.packed_block);
            (last - 1, rows)
        } else {
            let blocks = whole.min(inner.count - at[last]);
            // SAFETY: the rest of this row, or less.
            unsafe { moved.grid::<PACK>(nest.kernel, nest.block, blocks, 1, 0) };
            whole -= blocks;
            moved.packed = moved.packed.wrapping_offset(blocks as isize * moved.packed_block);
            (last, blocks)
        };
        if whole == 0 {
            return;
        }
        at[level] += advance;
        distance = distance.wrapping_add((advance as isize).wrapping_mul(loops[level].stride));
        while at[level] == loops[level].count && level > 0 {
            distance = distance.wrapping_sub((at[level] as isize).wrapping_mul(loops[level].stride));
            at[level] = 0;
            level -= 1;
            at[level] += 1;
            distance = distance.wrapping_add(loops[level].stride);
        }
    }
}

/// Moves a part of copies of a plan, `stride` bytes apart.
///
/// # Safety
/// As [`walk`]; there must be enough copies for `skip + limit` bytes, and `child.size` must not be 0.
pub(crate) unsafe fn walk_repeat<const PACK: bool>(
    child: &Plan,
    stride: isize,
    user: *mut u8,
    packed: *mut u8,
    skip: usize,
    limit: usize,
) {
    let size = child.size;
    let (mut packed, mut limit) = (packed, limit);
    let within = skip % size;
    let mut user = user.wrapping_offset((skip / size) as isize * stride);
    // SAFETY: the pieces together are the `limit` bytes from `skip` on, each inside its copy.
    unsafe {
        if within > 0 {
            let piece = limit.min(size - within);
            walk::<PACK>(child, user, packed, within, piece);
            packed = packed.wrapping_add(piece);
            limit -= piece;
            user = user.wrapping_offset(stride);
        }
        let copies = limit / size;
        walk_copies::<PACK>(child, copies, stride, user, packed);
        let done = copies * size;
        user = user.wrapping_offset((copies as isize).wrapping_mul(stride));
        walk::<PACK>(child, user, packed.wrapping_add(done), 0, limit - done);
    }
}

/// Moves a part of scattered copies.
///
/// # Safety
/// As [`walk`].
unsafe fn walk_scatter<const PACK: bool>(scatter: &Scatter, user: *mut u8, packed: *mut u8, skip: usize, limit: usize) {
    let size = scatter.child.size;
    let mut within = skip % size;
    let (mut packed, mut limit) = (packed, limit);
    for &offset in &scatter.offsets[skip / size..] {
        let piece = limit.min(size - within);
        // SAFETY: the piece lies in this copy and among the `limit` bytes.
        unsafe { walk::<PACK>(&scatter.child, user.wrapping_offset(offset as isize), packed, within, piece) };
        packed = packed.wrapping_add(piece);
        limit -= piece;
        within = 0;
        if limit == 0 {
            return;
        }
    }
}

/// Moves a part of a sequence.
///
/// # Safety
/// As [`walk`].
unsafe fn walk_sequence<const PACK: bool>(
    sequence: &Sequence,
    user: *mut u8,
    packed: *mut u8,
    skip: usize,
    limit: usize,
) {
    let first = sequence.starts.partition_point(|&start| start <= skip) - 1;
    let mut within = skip - sequence.starts[first];
    let (mut packed, mut limit) = (packed, limit);
    for part in &sequence.parts[first..] {
        let piece = limit.min(part.size - within);
        // SAFETY: the piece lies in this part and among the `limit` bytes.
        unsafe { walk::<PACK>(part, user, packed, within, piece) };
        packed = packed.wrapping_add(piece);
        limit -= piece;
        within = 0;
        if limit == 0 {
            return;
        }
    }
}
