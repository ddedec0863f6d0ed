//! The loops that move bytes: a grid of equal blocks from one pair of strides to another, and an index list of equal
//! blocks to or from packed bytes. One routine for each common block length, chosen once for a plan, so that a block is
//! a few moves and not a call of `memcpy`.
//!
//! Invariant: nothing outside the blocks is read or written, whatever the length.

use std::hint::black_box;
use std::ptr::copy_nonoverlapping;

/// `rows` x `blocks` blocks of `length` bytes. Strides are in bytes and may be negative.
pub(crate) struct Grid {
    pub(crate) to: *mut u8,
    pub(crate) to_block: isize,
    pub(crate) to_row: isize,
    pub(crate) from: *const u8,
    pub(crate) from_block: isize,
    pub(crate) from_row: isize,
    pub(crate) blocks: usize,
    pub(crate) rows: usize,
    pub(crate) length: usize,
}

/// Moves a grid.
///
/// # Safety
/// Every block must be valid for reads at its source and for writes at its destination, and no destination may
/// overlap a source.
pub(crate) type GridKernel = unsafe fn(&Grid);

/// Moves `count` blocks of `length` bytes between `user + offsets[i]` and consecutive packed bytes.
///
/// # Safety
/// As [`GridKernel`]; `offsets` must hold `count` entries.
pub(crate) type ListKernel =
    unsafe fn(user: *mut u8, packed: *mut u8, offsets: *const i64, count: usize, length: usize);

macro_rules! by_length {
    ($length:expr, $fixed:ident, $other:expr $(, $pack:ident)?) => {
        match $length {
            1 => $fixed::<1 $(, $pack)?>,
            2 => $fixed::<2 $(, $pack)?>,
            4 => $fixed::<4 $(, $pack)?>,
            8 => $fixed::<8 $(, $pack)?>,
            12 => $fixed::<12 $(, $pack)?>,
            16 => $fixed::<16 $(, $pack)?>,
            24 => $fixed::<24 $(, $pack)?>,
            32 => $fixed::<32 $(, $pack)?>,
            48 => $fixed::<48 $(, $pack)?>,
            64 => $fixed::<64 $(, $pack)?>,
            _ => $other,
        }
    };
}

/// The grid routine for blocks of `length` bytes.
pub(crate) fn grid_kernel(length: usize) -> GridKernel {
    by_length!(length, grid_fixed, grid_any)
}

/// The list routine for blocks of `length` bytes.
pub(crate) fn list_kernel<const PACK: bool>(length: usize) -> ListKernel {
    by_length!(length, list_fixed, list_any::<PACK>, PACK)
}

/// Distances of the second to the fourth block of a round from its first, and to the next round.
///
/// Four blocks take their addresses from one addition instead of a chain of four, which would limit the loop to one
/// block a cycle. The compiler must not see that the distances are multiples, or it makes a chain of them again.
#[derive(Clone, Copy)]
struct Steps {
    second: isize,
    third: isize,
    fourth: isize,
    round: isize,
}

/// Blocks in a round.
const ROUND: usize = 4;

impl Steps {
    #[inline(always)]
    fn strided(block: isize) -> Steps {
        let (third, fourth) = (black_box(block.wrapping_mul(2)), black_box(block.wrapping_mul(3)));
        Steps { second: block, third, fourth, round: block.wrapping_mul(4) }
    }

    #[inline(always)]
    fn dense(block: isize) -> Steps {
        Steps { second: block, third: 2 * block, fourth: 3 * block, round: 4 * block }
    }
}

unsafe fn grid_fixed<const LENGTH: usize>(grid: &Grid) {
    let dense = Steps::dense(LENGTH as isize);
    // SAFETY: handed through. A dense side has distances that the compiler knows.
    unsafe {
        match (grid.to_block == dense.second, grid.from_block == dense.second) {
            (true, _) => grid_steps::<LENGTH>(grid, dense, Steps::strided(grid.from_block)),
            (_, true) => grid_steps::<LENGTH>(grid, Steps::strided(grid.to_block), dense),
            _ => grid_steps::<LENGTH>(grid, Steps::strided(grid.to_block), Steps::strided(grid.from_block)),
        }
    }
}

#[inline(always)]
unsafe fn grid_steps<const LENGTH: usize>(grid: &Grid, to_steps: Steps, from_steps: Steps) {
    for row in 0..grid.rows as isize {
        let mut to = grid.to.wrapping_offset(row.wrapping_mul(grid.to_row));
        let mut from = grid.from.wrapping_offset(row.wrapping_mul(grid.from_row));
        for _ in 0..grid.blocks / ROUND {
            let next = |step: fn(&Steps) -> isize| {
                (from.wrapping_offset(step(&from_steps)), to.wrapping_offset(step(&to_steps)))
            };
            let (second, third, fourth) = (next(|s| s.second), next(|s| s.third), next(|s| s.fourth));
            // SAFETY: the caller vouches for every block.
            unsafe {
                copy_nonoverlapping(from, to, LENGTH);
                copy_nonoverlapping(second.0, second.1, LENGTH);
                copy_nonoverlapping(third.0, third.1, LENGTH);
                copy_nonoverlapping(fourth.0, fourth.1, LENGTH);
            }
            (from, to) = next(|s| s.round);
        }
        for _ in 0..grid.blocks % ROUND {
            // SAFETY: as above.
            unsafe { copy_nonoverlapping(from, to, LENGTH) };
            to = to.wrapping_offset(to_steps.second);
            from = from.wrapping_offset(from_steps.second);
        }
    }
}

unsafe fn grid_any(grid: &Grid) {
    for row in 0..grid.rows as isize {
        let mut to = grid.to.wrapping_offset(row.wrapping_mul(grid.to_row));
        let mut from = grid.from.wrapping_offset(row.wrapping_mul(grid.from_row));
        for _ in 0..grid.blocks {
            // SAFETY: the caller vouches for every block.
            unsafe { copy(from, to, grid.length) };
            to = to.wrapping_offset(grid.to_block);
            from = from.wrapping_offset(grid.from_block);
        }
    }
}

unsafe fn list_fixed<const LENGTH: usize, const PACK: bool>(
    user: *mut u8,
    packed: *mut u8,
    offsets: *const i64,
    count: usize,
    _length: usize,
) {
    for index in 0..count {
        // SAFETY: the caller vouches for `count` offsets, the blocks behind them and the packed bytes.
        unsafe {
            let block = user.wrapping_offset(*offsets.add(index) as isize);
            let packed = packed.wrapping_add(index * LENGTH);
            let (from, to) = if PACK { (block, packed) } else { (packed, block) };
            copy_nonoverlapping(from, to, LENGTH);
        }
    }
}

unsafe fn list_any<const PACK: bool>(user: *mut u8, packed: *mut u8, offsets: *const i64, count: usize, length: usize) {
    for index in 0..count {
        // SAFETY: as in `list_fixed`.
        unsafe {
            let block = user.wrapping_offset(*offsets.add(index) as isize);
            exchange::<PACK>(block, packed.wrapping_add(index * length), length);
        }
    }
}

/// Packs (`user` to `packed`) or unpacks (`packed` to `user`) one block.
///
/// # Safety
/// Both must be valid for `length` bytes and not overlap.
#[inline(always)]
pub(crate) unsafe fn exchange<const PACK: bool>(user: *mut u8, packed: *mut u8, length: usize) {
    // SAFETY: handed through.
    unsafe { if PACK { copy(user, packed, length) } else { copy(packed, user, length) } }
}

/// Copies one block of any length; short ones by two overlapping moves, which is cheaper than calling `memcpy`.
///
/// # Safety
/// Both must be valid for `length` bytes and not overlap.
#[inline(always)]
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: every branch stays inside the `length` bytes.
    unsafe {
        match length {
            0 => {}
            1 => *to = *from,
            2..4 => ends::<2>(from, to, length),
            4..8 => ends::<4>(from, to, length),
            8..=16 => ends::<8>(from, to, length),
            17..=32 => ends::<16>(from, to, length),
            33..=64 => ends::<32>(from, to, length),
            65..=256 => {
                let mut done = 0;
                while done + 64 < length {
                    to.add(done).cast::<[u8; 64]>().write_unaligned(from.add(done).cast::<[u8; 64]>().read_unaligned());
                    done += 64;
                }
                let last = length - 64;
                to.add(last).cast::<[u8; 64]>().write_unaligned(from.add(last).cast::<[u8; 64]>().read_unaligned());
            }
            _ => copy_nonoverlapping(from, to, length),
        }
    }
}

/// Copies the first and the last `HALF` bytes, which may overlap each other.
///
/// # Safety
/// `length` is between `HALF` and twice that; both must be valid for `length` bytes and not overlap.
#[inline(always)]
unsafe fn ends<const HALF: usize>(from: *const u8, to: *mut u8, length: usize) {
    let last = length - HALF;
    // SAFETY: both pieces lie inside the `length` bytes.
    unsafe {
        let head = from.cast::<[u8; HALF]>().read_unaligned();
        let tail = from.add(last).cast::<[u8; HALF]>().read_unaligned();
        to.cast::<[u8; HALF]>().write_unaligned(head);
        to.add(last).cast::<[u8; HALF]>().write_unaligned(tail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_every_length_and_nothing_else() {
        let from: Vec<u8> = (0..1200).map(|byte| byte as u8 | 1).collect();
        for length in 0..600 {
            let mut to = vec![0u8; 602];
            // SAFETY: both vectors are longer than `length + 1`.
            unsafe { copy(from.as_ptr().add(3), to.as_mut_ptr().add(1), length) };
            assert_eq!(to[0], 0);
            assert_eq!(&to[1..=length], &from[3..3 + length]);
            assert!(to[length + 1..].iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn grids_of_every_length_agree() {
        let from: Vec<u8> = (0..4000u32).map(|byte| (byte * 7) as u8).collect();
        for length in 1..70 {
            let mut to = vec![0u8; 9 * 70];
            let grid = Grid {
                to: to.as_mut_ptr(),
                to_block: length as isize,
                to_row: 3 * length as isize,
                from: from.as_ptr().wrapping_add(3000),
                from_block: -100,
                from_row: 333,
                blocks: 3,
                rows: 3,
                length,
            };
            // SAFETY: the blocks lie between 2800 and 3736 + 70 of the source and in the first 9 * 70 bytes of the target.
            unsafe { grid_kernel(length)(&grid) };
            for row in 0..3 {
                for block in 0..3 {
                    let start = 3000 + row * 333 - block * 100;
                    let packed = (row * 3 + block) * length;
                    assert_eq!(to[packed..packed + length], from[start..start + length], "length {length}");
                }
            }
        }
    }
}
