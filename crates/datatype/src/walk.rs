//! Moves any part of a plan's bytes between the program's memory and packed bytes.
//!
//! A walk starts at any packed position: the position is turned into loop indices once, a block cut
//! by the start is finished, whole blocks go through the plan's kernel, and a block cut by the end
//! is begun. So packing in pieces costs what packing at once costs. `PACK` tells the direction;
//! both directions share every line.
//!
//! Invariant: exactly the bytes `skip..skip + limit` of the packed form are moved, and `skip +
//! limit <= size`.

use crate::copies::walk_copies;
use crate::kernel::{Grid, GridKernel, exchange};
use crate::plan::{Loop, MAX_LOOPS, Nest, Plan, Scatter, Sequence, Shape};

/// Moves the bytes `skip..skip + limit` of one element whose buffer starts at `user`.
///
/// # Safety
/// `skip + limit <= plan.size`; the plan's blocks around `user` that hold these bytes, and `limit`
/// bytes at `packed`, must be valid and not overlap.
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
fn nest_block(nest: &Nest, user: *mut u8, index: usize) -> *mut u8 {
    Walker::new(nest.loops(), user, index).address
}

/// Loops of a walker: those of a nest, and one into which its blocks may be cut.
pub(crate) const WALKED_LOOPS: usize = MAX_LOOPS + 2;

/// One block of nested loops, from which it is gone on by blocks and rows.
pub(crate) struct Walker<'a> {
    loops: &'a [Loop],
    at: [usize; WALKED_LOOPS],
    pub(crate) address: *mut u8,
}

impl Walker<'_> {
    /// Block `index`, where the first one is at `first`.
    pub(crate) fn new(loops: &[Loop], first: *mut u8, mut index: usize) -> Walker<'_> {
        let (mut at, mut distance) = ([0; WALKED_LOOPS], 0isize);
        for (step, at) in loops.iter().zip(&mut at).rev() {
            if index == 0 {
                break;
            }
            *at = index % step.count;
            index /= step.count;
            distance = distance.wrapping_add((*at as isize).wrapping_mul(step.stride));
        }
        Walker { loops, at, address: first.wrapping_offset(distance) }
    }

    /// Blocks that are left in this row.
    pub(crate) fn left(&self) -> usize {
        let inner = self.loops.len() - 1;
        self.loops[inner].count - self.at[inner]
    }

    /// The rows of a grid that begins here: the distance between two and how many are left.
    pub(crate) fn rows(&self) -> Option<(isize, usize)> {
        let level = self.loops.len().checked_sub(2)?;
        let outer = self.loops[level];
        (self.at[level + 1] == 0).then(|| (outer.stride, outer.count - self.at[level]))
    }

    /// Goes on by some blocks of this row, no further than to its end.
    pub(crate) fn skip_blocks(&mut self, blocks: usize) {
        self.advance(self.loops.len() - 1, blocks);
    }

    /// Goes on by some rows of this grid, no further than to its end.
    pub(crate) fn skip_rows(&mut self, rows: usize) {
        self.advance(self.loops.len() - 2, rows);
    }

    fn advance(&mut self, mut level: usize, steps: usize) {
        let go = |address: *mut u8, steps: usize, stride: isize| {
            address.wrapping_offset((steps as isize).wrapping_mul(stride))
        };
        self.at[level] += steps;
        self.address = go(self.address, steps, self.loops[level].stride);
        while self.at[level] == self.loops[level].count && level > 0 {
            self.address = go(self.address, self.at[level], self.loops[level].stride.wrapping_neg());
            self.at[level] = 0;
            level -= 1;
            self.at[level] += 1;
            self.address = go(self.address, 1, self.loops[level].stride);
        }
    }
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
unsafe fn nest_blocks<const PACK: bool>(nest: &Nest, start: Moved, index: usize, mut whole: usize) {
    let loops = nest.loops();
    let inner = loops[loops.len() - 1];
    let mut walker = Walker::new(loops, start.user, index);
    let mut moved = Moved { user_block: inner.stride, ..start };
    while whole > 0 {
        moved.user = walker.address;
        let grid = walker.rows().filter(|_| whole >= inner.count);
        let done = if let Some((row, left)) = grid {
            let rows = (whole / inner.count).min(left);
            // SAFETY: `rows` whole rows are left of the blocks the caller vouches for.
            unsafe { moved.grid::<PACK>(nest.kernel, nest.block, inner.count, rows, row) };
            walker.skip_rows(rows);
            rows * inner.count
        } else {
            let blocks = whole.min(walker.left());
            // SAFETY: the rest of this row, or less.
            unsafe { moved.grid::<PACK>(nest.kernel, nest.block, blocks, 1, 0) };
            walker.skip_blocks(blocks);
            blocks
        };
        whole -= done;
        moved.packed = moved.packed.wrapping_offset(done as isize * moved.packed_block);
    }
}

/// Moves a part of copies of a plan, `stride` bytes apart.
///
/// # Safety
/// As [`walk`]; there must be enough copies for `skip + limit` bytes, and `child.size` must not be
/// 0.
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
