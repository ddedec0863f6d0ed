//! Moves consecutive whole copies of a plan, typically an array of structures.
//!
//! Copies of a short list are not moved one at a time. With AVX-512, several are packed at once by
//! a byte permutation; otherwise the same block of many copies is moved before the next block, so
//! that each is a strided loop for a grid kernel.

use crate::kernel::grid_kernel;
#[cfg(target_arch = "x86_64")]
use crate::kernel::{RecordPattern, SimdLevel, pack_records};
use crate::plan::{LayoutPlan, PlanShape};
use crate::walk::{GridSides, walk};

/// Copies of short lists are moved block by block in batches of about this many packed bytes.
const BATCH_BYTES: usize = 8192;

/// Lists of at most this many blocks are moved block by block.
const BATCH_BLOCKS: usize = 16;

/// Minimum number of copies for which it pays to construct a permutation.
#[cfg(target_arch = "x86_64")]
const PERMUTED_COPIES: usize = 16;

/// Packs copies of a short list by permutations and returns how many; 0 if permutations cannot be
/// used.
///
/// # Safety
/// See [`walk_copies`]; `user` is the address of the list's offset 0 in the first copy.
#[cfg(target_arch = "x86_64")]
unsafe fn pack_permuted(child: &LayoutPlan, copies: usize, stride: isize, user: *mut u8, packed: *mut u8) -> usize {
    let Ok(stride) = usize::try_from(stride) else { return 0 };
    if copies < PERMUTED_COPIES || stride > child.size + 64 || SimdLevel::best() != SimdLevel::Avx512 {
        return 0;
    }
    let made = match &child.shape {
        PlanShape::Blocks(blocks) if blocks.len() <= BATCH_BLOCKS => {
            pattern(blocks.offsets().map(|offset| (offset, blocks.length())), stride)
        }
        PlanShape::List(list) if list.len() <= BATCH_BLOCKS => {
            pattern(list.blocks().map(|block| (block.offset, block.length)), stride)
        }
        _ => None,
    };
    let Some((pattern, low, span)) = made else { return 0 };
    let from = user.wrapping_offset(low as isize);
    // SAFETY: `SimdLevel::best` has returned AVX-512. Copies are less than a page apart, so from
    // the lowest block of the first copy to the end of the last copy every page holds a block and
    // is readable. `packed` is writable for `copies * child.size` bytes (this function's contract).
    unsafe { pack_records(&pattern, from, (copies - 1) * stride + span, packed, copies * child.size) }
}

#[cfg(not(target_arch = "x86_64"))]
unsafe fn pack_permuted(_: &LayoutPlan, _: usize, _: isize, _: *mut u8, _: *mut u8) -> usize {
    0
}

/// The permutation for records of these blocks, the offset of the lowest block, and the span of a
/// record.
#[cfg(target_arch = "x86_64")]
fn pattern(blocks: impl Iterator<Item = (i64, usize)> + Clone, stride: usize) -> Option<(RecordPattern, i64, usize)> {
    let low = blocks.clone().map(|block| block.0).min()?;
    let high = blocks.clone().map(|block| block.0 + block.1 as i64).max()?;
    let span = usize::try_from(high.checked_sub(low)?).ok()?;
    let within = blocks.map(|(offset, length)| ((offset - low) as usize, length));
    Some((RecordPattern::of_records(within, span, stride)?, low, span))
}

/// Moves `copies` whole copies of a plan.
///
/// # Safety
/// All `copies` copies, `stride` bytes apart from `user` on, and `copies * child.size` bytes at
/// `packed` must be valid and must not overlap; `child.size` must not be 0.
pub(crate) unsafe fn walk_copies<const PACK: bool>(
    child: &LayoutPlan,
    copies: usize,
    stride: isize,
    user: *mut u8,
    packed: *mut u8,
) {
    let size = child.size;
    let batch = BATCH_BYTES / size;
    let origin = user.wrapping_offset(child.offset as isize);
    // SAFETY: all copies and their packed bytes are valid (this function's contract), and `origin`
    // is offset 0 of the list in the first copy.
    let mut done = if PACK { unsafe { pack_permuted(child, copies, stride, origin, packed) } } else { 0 };
    if batch >= 4 && copies - done >= 4 {
        while done < copies {
            let count = batch.min(copies - done);
            let user = origin.wrapping_offset(done as isize * stride);
            // SAFETY: `done + count <= copies`, so the `count` copies from copy `done` on and their
            // packed bytes are valid.
            if !unsafe { short_list::<PACK>(child, count, stride, user, packed.wrapping_add(done * size)) } {
                break;
            }
            done += count;
        }
    }
    for copy in done..copies {
        // SAFETY: `copy < copies`, so this copy and its `size` packed bytes are valid.
        unsafe {
            let user = user.wrapping_offset(copy as isize * stride);
            walk::<PACK>(child, user, packed.wrapping_add(copy * size), 0, size);
        }
    }
}

/// Moves copies of a short list, each block in all copies before the next block, as a strided loop
/// for a grid kernel. Returns false if the plan is not a short list.
///
/// # Safety
/// See [`walk_copies`]; `user` is the address of the list's offset 0 in the first copy.
unsafe fn short_list<const PACK: bool>(
    child: &LayoutPlan,
    copies: usize,
    stride: isize,
    user: *mut u8,
    packed: *mut u8,
) -> bool {
    let mut moved = GridSides { user, packed, user_block: stride, packed_block: child.size as isize, far: false };
    let mut block = |offset: i64, length: usize| {
        moved.user = user.wrapping_offset(offset as isize);
        // SAFETY: the grid is this block in each of the `copies` copies and its packed bytes, which
        // are valid (this function's contract).
        unsafe { moved.grid::<PACK>(grid_kernel(length), length, copies, 1, 0) };
        moved.packed = moved.packed.wrapping_add(length);
    };
    match &child.shape {
        PlanShape::Blocks(blocks) if blocks.len() <= BATCH_BLOCKS => {
            blocks.offsets().for_each(|offset| block(offset, blocks.length()));
            true
        }
        PlanShape::List(list) if list.len() <= BATCH_BLOCKS => {
            list.blocks().for_each(|each| block(each.offset, each.length));
            true
        }
        _ => false,
    }
}
