//! Copies from one layout to another without packed bytes in between, for any part of a message, so
//! that two processes may share the work.
//!
//! Two nests whose blocks have the same length, or of which one's are a multiple of the other's,
//! are copied block to block: both walk their loops, and as far as neither begins a new row a
//! kernel moves what lies between. Other blocks go through a buffer that stays in the first-level
//! cache.
//!
//! A nest travels to another process as the words of a [`Strides`]: the length of a block, and
//! count and stride of each loop, the outermost first.

use std::mem::MaybeUninit;

use towpath_base::transfer::{Layout, STRIDES_WORDS, Strides};

use crate::kernel::{Grid, GridKernel, grid_kernel};
use crate::plan::{Loop, MAX_LOOPS, Nest};
use crate::walk::{WALKED_LOOPS, Walker, walk_nest};

/// Different blocks are copied through a buffer of this many bytes, which stays in the first-level
/// cache.
const BOUNCE_BYTES: usize = 8192;

/// A nest whose first block is at an address.
#[derive(Clone, Copy)]
pub(crate) struct Placed<'a> {
    pub(crate) nest: &'a Nest,
    pub(crate) first: *mut u8,
}

impl Placed<'_> {
    /// Where it is, for another process.
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

/// Bytes from the lowest byte of a nest to its first block, and to behind its highest byte; `None`
/// beyond all memory.
fn extent(nest: &Nest) -> Option<(usize, usize)> {
    let (mut below, mut above) = (0usize, nest.block);
    for step in nest.loops() {
        let distance = step.stride.unsigned_abs().checked_mul(step.count.checked_sub(1)?)?;
        let side = if step.stride < 0 { &mut below } else { &mut above };
        *side = side.checked_add(distance)?;
    }
    Some((below, below.checked_add(above)?))
}

/// The nest that a layout describes, and how far behind the lowest byte it begins.
///
/// # Panics
/// When it leaves its span.
fn decoded(layout: &Layout) -> (Nest, usize) {
    let words = &layout.strides.0;
    if layout.strides == Strides::ROW {
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

/// Copies bytes `position..position + length` of a message from one layout to another; see
/// [`CopyAcross`](towpath_base::transfer::CopyAcross).
///
/// # Safety
/// As there.
///
/// # Panics
/// As there.
pub unsafe fn copy_across(from: &Layout, to: &Layout, position: usize, length: usize) {
    let ((from_nest, from_first), (to_nest, to_first)) = (decoded(from), decoded(to));
    let bytes = |nest: &Nest| nest.blocks().saturating_mul(nest.block);
    let end = position.saturating_add(length);
    assert!(end <= bytes(&from_nest) && end <= bytes(&to_nest), "a layout holds too little: the segment is damaged");
    let from = Placed { nest: &from_nest, first: from.lowest.wrapping_add(from_first) };
    let to = Placed { nest: &to_nest, first: to.lowest.wrapping_add(to_first) };
    // SAFETY: the caller vouches for both layouts.
    unsafe { copy_nests(from, to, position, length) }
}

/// Copies packed bytes `position..position + length` of one nest to the same place of another.
///
/// # Safety
/// Both nests hold that many bytes; those of `from` must be readable, those of `to` writable, and
/// they must not overlap.
pub(crate) unsafe fn copy_nests(from: Placed, to: Placed, position: usize, length: usize) {
    if length == 0 {
        return;
    }
    // SAFETY: the bytes that the caller vouches for; a packing walk only reads from its user side,
    // an unpacking one from its packed side.
    unsafe {
        if to.nest.is_dense() {
            walk_nest::<true>(from.nest, from.first, to.first.wrapping_add(position), position, length);
        } else if from.nest.is_dense() {
            walk_nest::<false>(to.nest, to.first, from.first.wrapping_add(position), position, length);
        } else if let Some(pair) = Pair::of(from, to) {
            pair.copy(position, length);
        } else {
            bounce(length, |buffer, done, piece| {
                walk_nest::<true>(from.nest, from.first, buffer, position + done, piece);
                walk_nest::<false>(to.nest, to.first, buffer, position + done, piece);
            });
        }
    }
}

/// Moves `length` bytes through a buffer: `carry` gets its address, how many bytes are done, and
/// how many come next, which it brings there and takes from there.
pub(crate) fn bounce(length: usize, carry: impl Fn(*mut u8, usize, usize)) {
    let mut buffer = [MaybeUninit::<u8>::uninit(); BOUNCE_BYTES];
    for done in (0..length).step_by(BOUNCE_BYTES) {
        carry(buffer.as_mut_ptr().cast(), done, BOUNCE_BYTES.min(length - done));
    }
}

/// The loops of a nest over blocks that may be parts of its own.
struct Loops {
    first: *mut u8,
    depth: usize,
    loops: [Loop; WALKED_LOOPS],
}

impl Loops {
    /// Those of a nest over blocks of `block` bytes, of which its own are a multiple.
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
struct Pair {
    from: Loops,
    to: Loops,
    block: usize,
    kernel: GridKernel,
    far: bool,
}

impl Pair {
    /// `None` where the blocks of neither are a multiple of the other's.
    fn of(from: Placed, to: Placed) -> Option<Pair> {
        let block = from.nest.block.min(to.nest.block);
        if !from.nest.block.is_multiple_of(block) || !to.nest.block.is_multiple_of(block) {
            return None;
        }
        let far = from.nest.is_far() || to.nest.is_far();
        Some(Pair { from: Loops::cut(from, block), to: Loops::cut(to, block), block, kernel: grid_kernel(block), far })
    }

    /// Copies packed bytes `position..position + length`: what is left of a cut block, whole ones,
    /// and the beginning of one.
    ///
    /// # Safety
    /// As [`copy_nests`].
    unsafe fn copy(&self, position: usize, length: usize) {
        let (mut index, within) = (position / self.block, position % self.block);
        let mut left = length;
        // SAFETY: the pieces together are the bytes that the caller vouches for.
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
    /// As [`copy_nests`].
    unsafe fn part(&self, index: usize, within: usize, length: usize) {
        if length == 0 {
            return;
        }
        let at = |loops: &Loops| loops.block(index).address.wrapping_add(within);
        // SAFETY: the bytes lie in block `index` of both.
        unsafe { towpath_base::copy::row(at(&self.from), at(&self.to), length) }
    }

    /// Copies whole blocks.
    ///
    /// # Safety
    /// As [`copy_nests`].
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
            // SAFETY: so many blocks and rows are left of both.
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
