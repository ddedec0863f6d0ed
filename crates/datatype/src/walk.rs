//! Moves any part of a plan's bytes between user memory and packed bytes.
//!
//! A walk starts at any packed position. It converts the position to loop indices once, moves the
//! rest of a block that the start divides, moves whole blocks by the plan's kernel, and moves the
//! beginning of a block that the end divides. Packing in pieces therefore costs the same as packing
//! at once. `PACK` selects the direction; both directions share all code.
//!
//! Invariant: exactly the bytes `skip..skip + limit` of the packed form are moved, and `skip +
//! limit <= size`.

use crate::copies::walk_copies;
use crate::kernel::{Grid, GridKernel, exchange};
use crate::plan::{LayoutPlan, Loop, MAX_LOOPS, Nest, PlanSequence, PlanShape, ScatteredCopies};

/// Moves the bytes `skip..skip + limit` of one element whose buffer starts at `user`.
///
/// # Safety
/// `skip + limit <= plan.size`. The parts of the plan's blocks, relative to `user`, that hold these
/// bytes must be valid, as must `limit` bytes at `packed`: readable on the source side and writable
/// on the destination side. The two sides must not overlap.
pub(crate) unsafe fn walk<const PACK: bool>(
    plan: &LayoutPlan,
    user: *mut u8,
    packed: *mut u8,
    skip: usize,
    limit: usize,
) {
    if limit == 0 {
        return;
    }
    let user = user.wrapping_offset(plan.offset as isize);
    // SAFETY: the contracts of the shapes are this function's own, with offsets relative to
    // `plan.offset`, which has been added to `user`; `limit > 0`, so the shape is not empty.
    unsafe {
        match &plan.shape {
            PlanShape::Nest(nest) => walk_nest::<PACK>(nest, user, packed, skip, limit),
            PlanShape::Repeat(repeat) => walk_repeat::<PACK>(&repeat.child, repeat.stride, user, packed, skip, limit),
            PlanShape::Blocks(blocks) => blocks.walk::<PACK>(user, packed, skip, limit),
            PlanShape::List(list) => list.walk::<PACK>(user, packed, skip, limit),
            PlanShape::Scatter(scatter) => walk_scatter::<PACK>(scatter, user, packed, skip, limit),
            PlanShape::Sequence(sequence) => walk_sequence::<PACK>(sequence, user, packed, skip, limit),
        }
    }
}

/// Moves a part of a nest whose first block is at `user`.
///
/// # Safety
/// See [`walk`].
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
        // SAFETY: the nest is one block, valid for bytes `skip..skip + limit` (this function's
        // contract).
        return unsafe { exchange::<PACK>(user.wrapping_add(skip), packed, limit) };
    }
    let (mut packed, mut limit) = (packed, limit);
    let (mut index, within) = if skip == 0 { (0, 0) } else { (skip / block, skip % block) };
    // SAFETY: the pieces partition the `limit` bytes from `skip` on, which are valid on both sides
    // (this function's contract).
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
            let moved = GridSides { user, packed, user_block: 0, packed_block: block as isize, far: nest.is_far() };
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

/// Maximum number of loops of a walker: those of a nest, and one over the parts of its blocks.
pub(crate) const WALKED_LOOPS: usize = MAX_LOOPS + 2;

/// A position in nested loops, which advances by blocks and rows.
pub(crate) struct Walker<'a> {
    loops: &'a [Loop],
    at: [usize; WALKED_LOOPS],
    pub(crate) address: *mut u8,
}

impl Walker<'_> {
    /// The position of block `index`, where block 0 is at `first`.
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

    /// Number of blocks left in this row.
    pub(crate) fn left(&self) -> usize {
        let inner = self.loops.len() - 1;
        self.loops[inner].count - self.at[inner]
    }

    /// If the position is at the beginning of a row: the distance between rows and the number of
    /// rows left in this grid.
    pub(crate) fn rows(&self) -> Option<(isize, usize)> {
        let level = self.loops.len().checked_sub(2)?;
        let outer = self.loops[level];
        (self.at[level + 1] == 0).then(|| (outer.stride, outer.count - self.at[level]))
    }

    /// Advances by `blocks` blocks, at most to the end of this row.
    pub(crate) fn skip_blocks(&mut self, blocks: usize) {
        self.advance(self.loops.len() - 1, blocks);
    }

    /// Advances by `rows` rows, at most to the end of this grid.
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

/// The two sides of a grid: address, and distance between blocks.
#[derive(Clone, Copy)]
pub(crate) struct GridSides {
    pub(crate) user: *mut u8,
    pub(crate) packed: *mut u8,
    pub(crate) user_block: isize,
    pub(crate) packed_block: isize,
    pub(crate) far: bool,
}

impl GridSides {
    /// Runs the kernel over `rows` x `blocks` blocks; packed rows are adjacent.
    ///
    /// # Safety
    /// Every block of the grid must be valid on both sides, as in [`walk`], and the processor must
    /// support `kernel`.
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
        // SAFETY: every block of `grid` is valid on both sides and the processor supports `kernel`
        // (this function's contract).
        unsafe { kernel(&grid) }
    }
}

/// Moves `whole` whole blocks of a nest with at least one loop, starting with block `index`.
///
/// # Safety
/// Same as for [`walk`], for these blocks.
unsafe fn nest_blocks<const PACK: bool>(nest: &Nest, start: GridSides, index: usize, mut whole: usize) {
    let loops = nest.loops();
    let inner = loops[loops.len() - 1];
    let mut walker = Walker::new(loops, start.user, index);
    let mut moved = GridSides { user_block: inner.stride, ..start };
    while whole > 0 {
        moved.user = walker.address;
        let grid = walker.rows().filter(|_| whole >= inner.count);
        let done = if let Some((row, left)) = grid {
            let rows = (whole / inner.count).min(left);
            // SAFETY: `rows` rows are left in the grid and among the `whole` blocks, all of which
            // are valid (this function's contract).
            unsafe { moved.grid::<PACK>(nest.kernel, nest.block, inner.count, rows, row) };
            walker.skip_rows(rows);
            rows * inner.count
        } else {
            let blocks = whole.min(walker.left());
            // SAFETY: `blocks` blocks are left in the row and among the `whole` blocks, all of
            // which are valid (this function's contract).
            unsafe { moved.grid::<PACK>(nest.kernel, nest.block, blocks, 1, 0) };
            walker.skip_blocks(blocks);
            blocks
        };
        whole -= done;
        moved.packed = moved.packed.wrapping_offset(done as isize * moved.packed_block);
    }
}

/// Moves a part of consecutive copies of a plan, `stride` bytes apart.
///
/// # Safety
/// Same as for [`walk`]; the copies must hold `skip + limit` bytes, and `child.size` must not be 0.
pub(crate) unsafe fn walk_repeat<const PACK: bool>(
    child: &LayoutPlan,
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
    // SAFETY: the pieces partition the `limit` bytes from `skip` on, which are valid on both sides
    // (this function's contract), and each piece is inside its copy.
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
/// See [`walk`].
unsafe fn walk_scatter<const PACK: bool>(
    scatter: &ScatteredCopies,
    user: *mut u8,
    packed: *mut u8,
    skip: usize,
    limit: usize,
) {
    let size = scatter.child.size;
    let mut within = skip % size;
    let (mut packed, mut limit) = (packed, limit);
    for &offset in &scatter.offsets[skip / size..] {
        let piece = limit.min(size - within);
        // SAFETY: the piece is inside this copy and among the `limit` bytes, which are valid on
        // both sides (this function's contract).
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
/// See [`walk`].
unsafe fn walk_sequence<const PACK: bool>(
    sequence: &PlanSequence,
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
        // SAFETY: the piece is inside this part and among the `limit` bytes, which are valid on
        // both sides (this function's contract).
        unsafe { walk::<PACK>(part, user, packed, within, piece) };
        packed = packed.wrapping_add(piece);
        limit -= piece;
        within = 0;
        if limit == 0 {
            return;
        }
    }
}
