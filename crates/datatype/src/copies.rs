//! Whole copies of a plan one after the other: most of all arrays of structures.
//!
//! Copies of a short list are not moved copy by copy but, with AVX-512, several at once by a
//! permutation, and else one block of many copies after the other: each is then a strided loop for
//! a kernel.

use crate::kernel::grid_kernel;
#[cfg(target_arch = "x86_64")]
use crate::kernel::{Level, Pattern, pack_records};
use crate::plan::{Plan, Shape};
use crate::walk::{Moved, walk};

/// Short lists repeated often are moved block by block over a batch of copies of about this many
/// packed bytes.
const BATCH_BYTES: usize = 8192;

/// Lists of at most so many blocks are treated that way.
const BATCH_BLOCKS: usize = 16;

/// A permutation takes a moment to make, which pays for so many copies.
#[cfg(target_arch = "x86_64")]
const PERMUTED_COPIES: usize = 16;

/// Packs copies of a short list by permutations, and answers how many: none where that does not
/// work.
///
/// # Safety
/// As [`walk_copies`]; `user` is the address of the list's offset 0 in the first copy.
#[cfg(target_arch = "x86_64")]
unsafe fn pack_permuted(child: &Plan, copies: usize, stride: isize, user: *mut u8, packed: *mut u8) -> usize {
    let Ok(stride) = usize::try_from(stride) else { return 0 };
    if copies < PERMUTED_COPIES || stride > child.size + 64 || Level::best() != Level::Avx512 {
        return 0;
    }
    let made = match &child.shape {
        Shape::Blocks(blocks) if blocks.len() <= BATCH_BLOCKS => {
            pattern(blocks.offsets().map(|offset| (offset, blocks.length())), stride)
        }
        Shape::List(list) if list.len() <= BATCH_BLOCKS => {
            pattern(list.blocks().map(|block| (block.offset, block.length)), stride)
        }
        _ => None,
    };
    let Some((pattern, low, span)) = made else { return 0 };
    let from = user.wrapping_offset(low as isize);
    // SAFETY: from the lowest block of the first copy to the end of the last copy there is a block
    // on every page, since copies are less than a page apart; the packed bytes are those of the
    // copies. The level was asked for.
    unsafe { pack_records(&pattern, from, (copies - 1) * stride + span, packed, copies * child.size) }
}

#[cfg(not(target_arch = "x86_64"))]
unsafe fn pack_permuted(_: &Plan, _: usize, _: isize, _: *mut u8, _: *mut u8) -> usize {
    0
}

/// The permutation of records of these blocks, where the lowest lies and how far they span.
#[cfg(target_arch = "x86_64")]
fn pattern(blocks: impl Iterator<Item = (i64, usize)> + Clone, stride: usize) -> Option<(Pattern, i64, usize)> {
    let low = blocks.clone().map(|block| block.0).min()?;
    let high = blocks.clone().map(|block| block.0 + block.1 as i64).max()?;
    let span = usize::try_from(high.checked_sub(low)?).ok()?;
    let within = blocks.map(|(offset, length)| ((offset - low) as usize, length));
    Some((Pattern::of_records(within, span, stride)?, low, span))
}

/// Moves `copies` whole copies of a plan.
///
/// # Safety
/// As [`walk_repeat`].
pub(crate) unsafe fn walk_copies<const PACK: bool>(
    child: &Plan,
    copies: usize,
    stride: isize,
    user: *mut u8,
    packed: *mut u8,
) {
    let size = child.size;
    let batch = BATCH_BYTES / size;
    let origin = user.wrapping_offset(child.offset as isize);
    // SAFETY: handed through.
    let mut done = if PACK { unsafe { pack_permuted(child, copies, stride, origin, packed) } } else { 0 };
    if batch >= 4 && copies - done >= 4 {
        while done < copies {
            let count = batch.min(copies - done);
            let user = origin.wrapping_offset(done as isize * stride);
            // SAFETY: `count` whole copies from copy `done` on.
            if !unsafe { short_list::<PACK>(child, count, stride, user, packed.wrapping_add(done * size)) } {
                break;
            }
            done += count;
        }
    }
    for copy in done..copies {
        // SAFETY: copy number `copy`.
        unsafe {
            let user = user.wrapping_offset(copy as isize * stride);
            walk::<PACK>(child, user, packed.wrapping_add(copy * size), 0, size);
        }
    }
}

/// Moves copies of a short list, one block of all copies after the other: each is a strided loop
/// for a kernel. Answers false if the plan is not a short list.
///
/// # Safety
/// As [`walk_repeat`]; `user` is the address of the list's offset 0 in the first copy.
unsafe fn short_list<const PACK: bool>(
    child: &Plan,
    copies: usize,
    stride: isize,
    user: *mut u8,
    packed: *mut u8,
) -> bool {
    let mut moved = Moved { user, packed, user_block: stride, packed_block: child.size as isize, far: false };
    let mut block = |offset: i64, length: usize| {
        moved.user = user.wrapping_offset(offset as isize);
        // SAFETY: one block in each of the copies the caller vouches for.
        unsafe { moved.grid::<PACK>(grid_kernel(length), length, copies, 1, 0) };
        moved.packed = moved.packed.wrapping_add(length);
    };
    match &child.shape {
        Shape::Blocks(blocks) if blocks.len() <= BATCH_BLOCKS => {
            blocks.offsets().for_each(|offset| block(offset, blocks.length()));
            true
        }
        Shape::List(list) if list.len() <= BATCH_BLOCKS => {
            list.blocks().for_each(|each| block(each.offset, each.length));
            true
        }
        _ => false,
    }
}
