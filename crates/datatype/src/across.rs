//! Copies any part of a message from one layout to another without packing, so that two processes
//! can share the work.
//!
//! Two nests with blocks of equal length, or with one block length a multiple of the other, are
//! copied block by block: both loops advance together, and a kernel moves the blocks up to the next
//! row of either. Other nests are copied through a buffer that stays in the L1 cache.
//!
//! A nest is passed to another process as the words of a [`Strides`]: the length of a block,
//! followed by count and stride of each loop, outermost first.

use std::mem::MaybeUninit;

use towpath_base::transfer::{Layout, STRIDES_WORDS, Strides};

use crate::kernel::{Grid, GridKernel, grid_kernel};
use crate::plan::{Loop, MAX_LOOPS, Nest};
use crate::walk::{WALKED_LOOPS, Walker, walk_nest};

/// Size of the buffer through which nests with unrelated block lengths are copied; it fits in the
/// L1 cache.
const BOUNCE_BYTES: usize = 8192;

/// A nest and the address of its first block.
#[derive(Clone, Copy)]
pub(crate) struct Placed<'a> {
    pub(crate) nest: &'a Nest,
    pub(crate) first: *mut u8,
}

impl Placed<'_> {
    /// Describes the nest for another process.
    pub(crate) fn layout(self) -> Option<Layout> {
        let (below, span) = extent(self.nest)?;
        let mut words = [0; STRIDES_WORDS];
        words[0] = self.nest.block as u64;
        for (pair, step) in words[1..].chunks_exact_mut(2).zip(self.nest.loops()) {
            pair.copy_from_slice(&[step.count as u64, step.stride as u64]);
        }
        Some(Layout { lowest: self.first.wrapping_sub(below), span, strides: Strides(words) })
    }
}

/// Distance in bytes from the lowest byte of a nest to its first block, and the span from the
/// lowest byte to the end of the highest one. `None` on overflow.
fn extent(nest: &Nest) -> Option<(usize, usize)> {
    let (mut below, mut above) = (0usize, nest.block);
    for step in nest.loops() {
        let distance = step.stride.unsigned_abs().checked_mul(step.count.checked_sub(1)?)?;
        let side = if step.stride < 0 { &mut below } else { &mut above };
        *side = side.checked_add(distance)?;
    }
    Some((below, below.checked_add(above)?))
}

/// Decodes the nest of a layout, and the distance from the lowest byte to its first block.
///
/// # Panics
/// If the nest does not have the span of the layout.
fn decoded(layout: &Layout) -> (Nest, usize) {
    let words = &layout.strides.0;
    if layout.strides == Strides::CONTIGUOUS {
        return (Nest::dense(layout.span), 0);
    }
    let mut nest = Some(Nest::dense(words[0] as usize));
    for pair in words[1..].chunks_exact(2).rev().filter(|pair| pair[0] > 0) {
        nest = nest.and_then(|nest| nest.repeated(pair[0] as usize, pair[1] as isize, MAX_LOOPS + 1));
    }
    let found = nest.and_then(|nest| Some((nest, extent(&nest)?)));
    match found {
        Some((nest, (below, span))) if nest.block > 0 && span == layout.span => (nest, below),
        _ => panic!("a layout from another process leaves its bounds: the segment is damaged"),
    }
}

/// Copies bytes `position..position + length` of a message from one layout to another; implements
/// [`CopyAcross`](towpath_base::transfer::CopyAcross).
///
/// # Safety
/// Same as for [`CopyAcross`](towpath_base::transfer::CopyAcross).
///
/// # Panics
/// If a layout is inconsistent or holds fewer than `position + length` bytes.
pub unsafe fn copy_across(from: &Layout, to: &Layout, position: usize, length: usize) {
    let ((from_nest, from_first), (to_nest, to_first)) = (decoded(from), decoded(to));
    let bytes = |nest: &Nest| nest.blocks().saturating_mul(nest.block);
    let end = position.saturating_add(length);
    assert!(end <= bytes(&from_nest) && end <= bytes(&to_nest), "a layout holds too little: the segment is damaged");
    let from = Placed { nest: &from_nest, first: from.lowest.wrapping_add(from_first) };
    let to = Placed { nest: &to_nest, first: to.lowest.wrapping_add(to_first) };
    // SAFETY: both nests span exactly their layouts, whose memory is valid and does not overlap
    // (this function's contract), and hold at least `end` bytes.
    unsafe { copy_nests(from, to, position, length) }
}

/// Copies packed bytes `position..position + length` of one nest to the same position of another.
///
/// # Safety
/// Both nests must hold `position + length` bytes; those of `from` must be readable, those of `to`
/// writable, and they must not overlap.
pub(crate) unsafe fn copy_nests(from: Placed, to: Placed, position: usize, length: usize) {
    if length == 0 {
        return;
    }
    // SAFETY: both nests hold the bytes `position..position + length`, which are readable in `from`
    // and writable in `to` (this function's contract). A packing walk only reads its user side, an
    // unpacking one only its packed side.
    unsafe {
        if to.nest.is_dense() {
            walk_nest::<true>(from.nest, from.first, to.first.wrapping_add(position), position, length);
        } else if from.nest.is_dense() {
            walk_nest::<false>(to.nest, to.first, from.first.wrapping_add(position), position, length);
        } else if let Some(pair) = NestPair::of(from, to) {
            pair.copy(position, length);
        } else {
            bounce(length, |buffer, done, piece| {
                walk_nest::<true>(from.nest, from.first, buffer, position + done, piece);
                walk_nest::<false>(to.nest, to.first, buffer, position + done, piece);
            });
        }
    }
}

/// Moves `length` bytes through a buffer. `carry` receives the buffer's address, the number of
/// bytes already moved and the size of the next piece, and copies that piece into and out of the
/// buffer.
pub(crate) fn bounce(length: usize, carry: impl Fn(*mut u8, usize, usize)) {
    let mut buffer = [MaybeUninit::<u8>::uninit(); BOUNCE_BYTES];
    for done in (0..length).step_by(BOUNCE_BYTES) {
        carry(buffer.as_mut_ptr().cast(), done, BOUNCE_BYTES.min(length - done));
    }
}

/// The loops of a nest over its blocks or over equal parts of them.
struct Loops {
    first: *mut u8,
    depth: usize,
    loops: [Loop; WALKED_LOOPS],
}

impl Loops {
    /// The loops over blocks of `block` bytes; the nest's block length must be a multiple of it.
    fn cut(placed: Placed, block: usize) -> Loops {
        let own = placed.nest.loops();
        let mut loops = [Loop { count: 1, stride: 0 }; WALKED_LOOPS];
        loops[..own.len()].copy_from_slice(own);
        let parts = placed.nest.block / block;
        let depth = own.len() + usize::from(parts > 1);
        if parts > 1 {
            loops[own.len()] = Loop { count: parts, stride: block as isize };
        }
        Loops { first: placed.first, depth, loops }
    }

    fn block(&self, index: usize) -> Walker<'_> {
        Walker::new(&self.loops[..self.depth], self.first, index)
    }

    fn inner(&self) -> Loop {
        self.loops[self.depth - 1]
    }
}

/// Two nests as loops over blocks of the same length.
struct NestPair {
    from: Loops,
    to: Loops,
    block: usize,
    kernel: GridKernel,
    far: bool,
}

impl NestPair {
    /// Returns `None` if neither block length is a multiple of the other.
    fn of(from: Placed, to: Placed) -> Option<NestPair> {
        let block = from.nest.block.min(to.nest.block);
        if !from.nest.block.is_multiple_of(block) || !to.nest.block.is_multiple_of(block) {
            return None;
        }
        let far = from.nest.is_far() || to.nest.is_far();
        Some(NestPair {
            from: Loops::cut(from, block),
            to: Loops::cut(to, block),
            block,
            kernel: grid_kernel(block),
            far,
        })
    }

    /// Copies packed bytes `position..position + length`: the rest of a divided block, whole
    /// blocks, and the beginning of a block.
    ///
    /// # Safety
    /// See [`copy_nests`].
    unsafe fn copy(&self, position: usize, length: usize) {
        let (mut index, within) = (position / self.block, position % self.block);
        let mut left = length;
        // SAFETY: the pieces partition the bytes `position..position + length`, which are valid on
        // both sides (this function's contract).
        unsafe {
            if within > 0 {
                let piece = left.min(self.block - within);
                self.part(index, within, piece);
                left -= piece;
                index += 1;
            }
            let whole = left / self.block;
            self.whole(index, whole);
            self.part(index + whole, 0, left % self.block);
        }
    }

    /// Copies a part of one block.
    ///
    /// # Safety
    /// Bytes `within..within + length` of block `index` must be valid on both sides, as in
    /// [`copy_nests`].
    unsafe fn part(&self, index: usize, within: usize, length: usize) {
        if length == 0 {
            return;
        }
        let at = |loops: &Loops| loops.block(index).address.wrapping_add(within);
        // SAFETY: these bytes of block `index` are readable in `from` and writable in `to` (this
        // function's contract).
        unsafe { towpath_base::copy::contiguous(at(&self.from), at(&self.to), length) }
    }

    /// Copies `left` whole blocks, starting with block `index`.
    ///
    /// # Safety
    /// The blocks must be valid on both sides, as in [`copy_nests`].
    unsafe fn whole(&self, index: usize, mut left: usize) {
        let (mut from, mut to) = (self.from.block(index), self.to.block(index));
        let (from_inner, to_inner) = (self.from.inner(), self.to.inner());
        let same_rows = from_inner.count == to_inner.count;
        while left > 0 {
            let rows = match (from.rows(), to.rows()) {
                (Some(of_from), Some(of_to)) if same_rows && left >= from_inner.count => Some((of_from, of_to)),
                _ => None,
            };
            let mut grid = Grid {
                to: to.address,
                to_block: to_inner.stride,
                to_row: 0,
                from: from.address,
                from_block: from_inner.stride,
                from_row: 0,
                blocks: from.left().min(to.left()).min(left),
                rows: 1,
                length: self.block,
                far: self.far,
            };
            if let Some(((from_row, from_rows), (to_row, to_rows))) = rows {
                grid.rows = from_rows.min(to_rows).min(left / from_inner.count);
                (grid.from_row, grid.to_row) = (from_row, to_row);
            }
            // SAFETY: `grid.blocks` blocks and `grid.rows` rows are left on both sides and within
            // `left`, and are valid (this function's contract); the kernel was chosen for this
            // processor.
            unsafe { (self.kernel)(&grid) };
            left -= grid.rows * grid.blocks;
            match rows {
                Some(_) => {
                    from.skip_rows(grid.rows);
                    to.skip_rows(grid.rows);
                }
                None => {
                    from.skip_blocks(grid.blocks);
                    to.skip_blocks(grid.blocks);
                }
            }
        }
    }
}
