//! Compares every routine of every instruction set with a bytewise implementation.

use super::*;

/// Moves a grid byte by byte.
fn naive(grid: &Grid) {
    for row in 0..grid.rows as isize {
        for block in 0..grid.blocks as isize {
            for byte in 0..grid.length as isize {
                let from = grid.from.wrapping_offset(row * grid.from_row + block * grid.from_block + byte);
                let to = grid.to.wrapping_offset(row * grid.to_row + block * grid.to_block + byte);
                // SAFETY: the tests construct only grids that are inside their memory.
                unsafe { *to = *from };
            }
        }
    }
}

const ROOM: usize = 1 << 17;

/// Runs a grid with every instruction set and compares all of the memory with the result of
/// `naive`.
fn check(blocks: usize, rows: usize, length: usize, strides: [isize; 4]) {
    check_in(ROOM, blocks, rows, length, strides);
}

/// Like [`check`], in `room` bytes of memory.
fn check_in(
    room: usize,
    blocks: usize,
    rows: usize,
    length: usize,
    [to_block, to_row, from_block, from_row]: [isize; 4],
) {
    let from: Vec<u8> = (0..room).map(|at| (at * 31 + at / 251) as u8 | 1).collect();
    let run = |work: &dyn Fn(&Grid)| {
        let mut to = vec![0u8; room];
        // Far from the ends, for negative strides, and never at the beginning of a line.
        let (middle, far) = (room / 2 + 3, blocks % 2 == 1);
        let start = |stride: isize| if stride < 0 { middle } else { 101 };
        let grid = Grid {
            to: to.as_mut_ptr().wrapping_add(start(to_block)),
            to_block,
            to_row,
            from: from.as_ptr().wrapping_add(start(from_block)),
            from_block,
            from_row,
            blocks,
            rows,
            length,
            far,
        };
        work(&grid);
        to
    };
    let expected = run(&naive);
    for level in SimdLevel::usable() {
        // SAFETY: the grid is inside both vectors, and this processor supports `level`.
        let found = run(&|grid| unsafe { grid::kernel(level, length)(grid) });
        assert!(found == expected, "{level:?}: {rows} x {blocks} of {length}, {to_block} {from_block}");
    }
}

#[test]
fn grids_of_every_length_agree() {
    for length in (1..70).chain([96, 100, 128, 512, 600]) {
        let dense = length as isize;
        for blocks in [1, 3, 8, 14, 29] {
            for stride in [2 * dense, dense + 4, -dense - 1, 700] {
                let row = blocks as isize * stride.abs() + 11;
                check(blocks, 2, length, [dense, blocks as isize * dense, stride, row]);
                check(blocks, 2, length, [stride, row, dense, blocks as isize * dense]);
                check(blocks, 1, length, [stride, row, stride + stride.signum() * 5, row]);
            }
        }
    }
}

#[test]
fn long_rows_of_short_blocks_agree() {
    for length in 1..25 {
        for stride in [2 * length, 16, 3 * length + 1] {
            if stride > length {
                let (dense, stride) = (length as isize, stride as isize);
                check(500, 2, length, [dense, 500 * dense, stride, 500 * stride + 7]);
            }
        }
    }
}

#[test]
fn grids_on_pages_of_their_own_agree() {
    for length in [3, 8, 12, 16, 24, 32, 48, 512, 700, 2048] {
        for blocks in [1, 2, 10, 15] {
            for stride in [4096, 32768, -33000] {
                let (dense, rows) = (length as isize, 2);
                let row = blocks as isize * stride + 8;
                let room = rows * (blocks + 1) * stride.unsigned_abs() * if stride < 0 { 2 } else { 1 } + (1 << 15);
                check_in(room, blocks, rows, length, [dense, blocks as isize * dense, stride, row]);
                check_in(room, blocks, rows, length, [stride, row, dense, blocks as isize * dense]);
                check_in(room, blocks, rows, length, [stride, row, stride, row]);
            }
        }
    }
}

/// Unpacks two rows with every instruction set, starting at every position in a cache line.
fn check_spread(length: usize, stride: usize, blocks: usize, far: bool) {
    let from: Vec<u8> = (0..2 * blocks * length).map(|at| (at * 31 + at / 251) as u8 | 1).collect();
    let (dense, rows) = (blocks * length, blocks * stride + 5);
    for shift in 0..LINE {
        let run = |work: &dyn Fn(&Grid)| {
            let mut to = vec![0u8; 2 * rows + 3 * LINE];
            let begin = (to.as_ptr() as usize).wrapping_neg() % LINE;
            let grid = Grid {
                to: to[begin + LINE + shift..].as_mut_ptr(),
                to_block: stride as isize,
                to_row: rows as isize,
                from: from.as_ptr(),
                from_block: length as isize,
                from_row: dense as isize,
                blocks,
                rows: 2,
                length,
                far,
            };
            work(&grid);
            to[begin..begin + 2 * rows + 2 * LINE].to_vec()
        };
        let expected = run(&naive);
        for level in SimdLevel::usable() {
            // SAFETY: the grid is inside both vectors, and this processor supports `level`.
            let found = run(&|grid| unsafe { grid::kernel(level, length)(grid) });
            assert!(found == expected, "{level:?}: {blocks} of {length}, {shift} after a line");
        }
    }
}

#[test]
fn blocks_are_spread_over_lines() {
    for (length, stride) in [(1, 2), (2, 4), (4, 8), (8, 16), (12, 16), (16, 32)] {
        for blocks in [1, 5, 6, 16, 67, 150] {
            check_spread(length, stride, blocks, false);
            check_spread(length, stride, blocks, true);
        }
    }
}

/// Packs and unpacks a grid of words by the non-temporal routines, whatever its size, at a packed
/// address `shift` bytes after a line boundary.
#[cfg(target_arch = "x86_64")]
fn check_streamed(blocks: usize, rows: usize, stride: isize, shift: usize) {
    let length = words::WORD;
    #[repr(align(64))]
    struct Room([u8; ROOM]);
    let from = Room(std::array::from_fn(|at| (at * 31 + at / 251) as u8 | 1));
    let dense = [length as isize, (blocks * length) as isize];
    let spread = [stride, blocks as isize * stride.abs() + 16];
    let start = if stride < 0 { ROOM / 2 } else { 128 };
    let run = |packing: bool, work: &dyn Fn(&Grid)| {
        let mut to = Box::new(Room([0; ROOM]));
        let ([to_block, to_row], [from_block, from_row]) = if packing { (dense, spread) } else { (spread, dense) };
        let (to_start, from_start) = if packing { (64 + shift, start) } else { (start, 64 + shift) };
        let (to_at, from_at) = (to.0.as_mut_ptr().wrapping_add(to_start), from.0.as_ptr().wrapping_add(from_start));
        let grid =
            Grid { to: to_at, to_block, to_row, from: from_at, from_block, from_row, blocks, rows, length, far: true };
        work(&grid);
        to
    };
    // SAFETY: the grids are inside both arrays, and the processor's level has been checked.
    unsafe {
        if shift.is_multiple_of(length) {
            let found = run(true, &|grid| stream::pack_words(grid));
            assert!(run(true, &naive).0 == found.0, "{blocks} {stride} {shift}");
        }
        let found = run(false, &|grid| stream::unpack_words(grid));
        assert!(run(false, &naive).0 == found.0, "{blocks} {stride} {shift}");
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn streamed_grids_agree() {
    if SimdLevel::best() != SimdLevel::Avx512 {
        return;
    }
    for blocks in [1, 7, 8, 9, 23, 64] {
        for shift in [0, 8, 56, 3] {
            for stride in [128, -136, 1000] {
                check_streamed(blocks, 1, stride, shift);
                check_streamed(blocks, 2, stride / 8, shift);
            }
        }
    }
}

/// Long messages use the non-temporal routines.
#[cfg(target_arch = "x86_64")]
#[test]
fn long_grids_agree() {
    for (length, stride) in [(8usize, 72usize), (16, 144)] {
        let blocks = (4 << 20) / length;
        let user: Vec<u8> = (0..blocks * stride).map(|at| (at * 31 + at / 251) as u8 | 1).collect();
        let (mut packed, mut back) = (vec![0u8; blocks * length], vec![0u8; blocks * stride]);
        let dense = (length as isize, (blocks * length) as isize);
        let spread = (stride as isize, (blocks * stride) as isize);
        let mut grid = Grid {
            to: packed.as_mut_ptr(),
            to_block: dense.0,
            to_row: dense.1,
            from: user.as_ptr(),
            from_block: spread.0,
            from_row: spread.1,
            blocks,
            rows: 1,
            length,
            far: true,
        };
        // SAFETY: both vectors hold the grid.
        unsafe { grid_kernel(length)(&grid) };
        (grid.to, grid.to_block, grid.to_row) = (back.as_mut_ptr(), spread.0, spread.1);
        (grid.from, grid.from_block, grid.from_row) = (packed.as_ptr(), dense.0, dense.1);
        // SAFETY: both vectors hold the grid.
        unsafe { grid_kernel(length)(&grid) };
        for block in 0..blocks {
            let at = block * stride;
            assert_eq!(packed[block * length..][..length], user[at..at + length]);
            assert_eq!(back[at..at + length], user[at..at + length]);
            assert!(back[at + length..at + stride].iter().all(|&byte| byte == 0));
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn patterns_pack_records_of_any_blocks() {
    if SimdLevel::best() != SimdLevel::Avx512 {
        return;
    }
    let memory: Vec<u8> = (0..9000).map(|at| (at * 13 + at / 255) as u8).collect();
    for stride in 1..=64usize {
        for blocks in
            [vec![(0, 1)], vec![(0, 4), (8, 8)], vec![(20, 3), (0, 5), (7, 6)], vec![(40, 8), (0, 8), (40, 8)]]
        {
            let span = blocks.iter().map(|block| block.0 + block.1).max().unwrap_or(0);
            let Some(pattern) = RecordPattern::of_records(blocks.iter().copied(), span, stride) else {
                continue;
            };
            let all: Vec<u8> = (0..100)
                .flat_map(|record| {
                    blocks.iter().flat_map(move |&(at, length)| record * stride + at..record * stride + at + length)
                })
                .map(|at| memory[at])
                .collect();
            let mut packed = vec![0u8; all.len() + 1];
            // SAFETY: `memory` holds 100 records, and `packed` has room for their data.
            let done =
                unsafe { pack_records(&pattern, memory.as_ptr(), 99 * stride + span, packed.as_mut_ptr(), all.len()) };
            let size = all.len() / 100;
            assert!(done > 0 && done <= 100);
            assert_eq!(packed[..done * size], all[..done * size], "stride {stride} {blocks:?}");
            assert_eq!(packed[all.len()], 0);
        }
    }
}
