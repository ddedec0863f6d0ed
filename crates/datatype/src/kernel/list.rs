//! Blocks of equal length at listed offsets. Reading the offsets may cost as much as reading the
//! data, so they are stored in 32 bits if possible.

use super::block::{copy, exchange};
use super::{FAR_BYTES, LINE, SimdLevel, by_length, prefetch};
use std::ptr::copy_nonoverlapping;

/// Number of entries between a block and the one that is prefetched with it.
const AHEAD: usize = 32;

/// A list of blocks of one length at arbitrary offsets.
#[derive(Debug)]
pub(crate) struct Equal {
    length: usize,
    offsets: Offsets,
    far: bool,
    pack: Kernel,
    unpack: Kernel,
}

#[derive(Debug)]
enum Offsets {
    Narrow(Box<[i32]>),
    Wide(Box<[i64]>),
}

/// Part of a list, with the addresses of both sides.
struct ListPart<'list> {
    user: *mut u8,
    packed: *mut u8,
    /// From the part's first entry to the list's last.
    offsets: &'list [i32],
    /// Number of entries in the part.
    count: usize,
    length: usize,
    far: bool,
}

/// Moves a part of a list.
///
/// # Safety
/// For `count` entries, the blocks and the packed bytes must be valid, readable on the source side
/// and writable on the destination side, and must not overlap. The processor must support the
/// instruction set for which the routine was chosen.
type Kernel = unsafe fn(&ListPart);

/// The list kernel for blocks of `length` bytes.
fn kernel<const PACK: bool>(level: SimdLevel, length: usize) -> Kernel {
    match level {
        SimdLevel::Plain => by_length!(length, plain::fixed, plain::any::<PACK>, PACK),
        // Scattered stores are fastest with 256 bits, dense ones with 512 (see `grid`).
        #[cfg(target_arch = "x86_64")]
        SimdLevel::Avx512 if PACK => by_length!(length, avx512::fixed, avx512::any::<PACK>, PACK),
        #[cfg(target_arch = "x86_64")]
        SimdLevel::Avx2 | SimdLevel::Avx512 => {
            by_length!(length, avx2::fixed, avx2::any::<PACK>, PACK)
        }
    }
}

/// The two routines, compiled for the given instruction set.
macro_rules! level {
    ($level:ident $(, $features:literal)?) => {
        mod $level {
            use super::*;

            $(#[target_feature(enable = $features)])?
            pub(super) unsafe fn fixed<const LENGTH: usize, const PACK: bool>(part: &ListPart) {
                // SAFETY: the blocks of `part` are valid on both sides (contract of [`Kernel`]);
                // the closure moves `LENGTH` bytes, which is `part.length`.
                unsafe { blocks::<PACK>(part, LENGTH, |from, to| copy_nonoverlapping(from, to, LENGTH)) }
            }

            $(#[target_feature(enable = $features)])?
            pub(super) unsafe fn any<const PACK: bool>(part: &ListPart) {
                // SAFETY: the blocks of `part` are valid on both sides (contract of [`Kernel`]);
                // the closure moves `part.length` bytes.
                unsafe { blocks::<PACK>(part, part.length, |from, to| copy(from, to, part.length)) }
            }
        }
    };
}

level!(plain);
#[cfg(target_arch = "x86_64")]
level!(avx2, "avx2");
#[cfg(target_arch = "x86_64")]
level!(avx512, "avx512f,avx512bw,avx512vl");

/// Moves the blocks of a part with `move_one`.
///
/// # Safety
/// Same as for [`Kernel`]; `move_one` must move `length` bytes.
#[inline(always)]
unsafe fn blocks<const PACK: bool>(part: &ListPart, length: usize, move_one: impl Fn(*const u8, *mut u8)) {
    let known = part.offsets.len();
    for (index, &offset) in part.offsets[..part.count].iter().enumerate() {
        if part.far && index + AHEAD < known {
            prefetch(part.user.wrapping_offset(part.offsets[index + AHEAD] as isize));
        }
        let block = part.user.wrapping_offset(offset as isize);
        let packed = part.packed.wrapping_add(index * length);
        if PACK { move_one(block, packed) } else { move_one(packed, block) }
    }
}

impl Equal {
    /// Blocks of `length` bytes at the given offsets.
    pub(crate) fn new(length: usize, offsets: &[i64]) -> Equal {
        Equal::at_level(SimdLevel::best(), length, offsets)
    }

    fn at_level(level: SimdLevel, length: usize, offsets: &[i64]) -> Equal {
        let (low, high) = offsets.iter().fold((i64::MAX, i64::MIN), |(low, high), &at| (low.min(at), high.max(at)));
        let span = (high as i128 - low as i128).unsigned_abs();
        // Blocks near each other form a stream, which the hardware prefetches by itself.
        let (count, touched) = (offsets.len() as u128, offsets.len() as u128 * length.max(LINE) as u128);
        let far = touched > FAR_BYTES as u128 && span > count * 2 * LINE as u128;
        let narrow = i32::try_from(low).is_ok() && i32::try_from(high).is_ok();
        let offsets = match narrow {
            true => Offsets::Narrow(offsets.iter().map(|&offset| offset as i32).collect()),
            false => Offsets::Wide(offsets.into()),
        };
        let (pack, unpack) = (kernel::<true>(level, length), kernel::<false>(level, length));
        Equal { length, offsets, far, pack, unpack }
    }

    /// Number of blocks.
    pub(crate) fn len(&self) -> usize {
        match &self.offsets {
            Offsets::Narrow(offsets) => offsets.len(),
            Offsets::Wide(offsets) => offsets.len(),
        }
    }

    /// Length of a block in bytes.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Offset of block `index`.
    #[inline]
    pub(crate) fn offset(&self, index: usize) -> i64 {
        match &self.offsets {
            Offsets::Narrow(offsets) => offsets[index].into(),
            Offsets::Wide(offsets) => offsets[index],
        }
    }

    /// All offsets.
    pub(crate) fn offsets(&self) -> impl Iterator<Item = i64> + Clone + '_ {
        (0..self.len()).map(|index| self.offset(index))
    }

    /// Moves the packed bytes `skip..skip + limit`.
    ///
    /// # Safety
    /// The list must hold `skip + limit` bytes. The blocks, relative to `user`, that hold the bytes
    /// must be valid, as must `limit` bytes at `packed`: readable on the source side and writable
    /// on the destination side. The two sides must not overlap.
    pub(crate) unsafe fn walk<const PACK: bool>(&self, user: *mut u8, packed: *mut u8, skip: usize, limit: usize) {
        let length = self.length;
        let (mut packed, mut limit) = (packed, limit);
        let (mut index, within) = if skip == 0 { (0, 0) } else { (skip / length, skip % length) };
        let address = |index: usize| user.wrapping_offset(self.offset(index) as isize);
        // SAFETY: the pieces partition the `limit` bytes from `skip` on, which are valid on both
        // sides (this function's contract).
        unsafe {
            if within > 0 {
                let piece = limit.min(length - within);
                exchange::<PACK>(address(index).wrapping_add(within), packed, piece);
                packed = packed.wrapping_add(piece);
                limit -= piece;
                index += 1;
            }
            let whole = limit / length;
            if whole > 0 {
                self.whole::<PACK>(user, packed, index, whole);
            }
            let done = whole * length;
            if limit > done {
                exchange::<PACK>(address(index + whole), packed.wrapping_add(done), limit - done);
            }
        }
    }

    /// Moves `count` whole blocks, starting with block `first`.
    ///
    /// # Safety
    /// Same as for [`Equal::walk`], for these blocks.
    unsafe fn whole<const PACK: bool>(&self, user: *mut u8, packed: *mut u8, first: usize, count: usize) {
        match &self.offsets {
            Offsets::Narrow(offsets) => {
                let offsets = &offsets[first..];
                let part = ListPart { user, packed, offsets, count, length: self.length, far: self.far };
                let kernel = if PACK { self.pack } else { self.unpack };
                // SAFETY: the `count` blocks are valid on both sides (this function's contract),
                // and the kernel was chosen for this processor.
                unsafe { kernel(&part) }
            }
            Offsets::Wide(offsets) => {
                for (index, &offset) in offsets[first..first + count].iter().enumerate() {
                    let packed = packed.wrapping_add(index * self.length);
                    // SAFETY: block `first + index` is one of the `count` blocks, which are valid
                    // on both sides (this function's contract).
                    unsafe { exchange::<PACK>(user.wrapping_offset(offset as isize), packed, self.length) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packs and unpacks a list byte by byte and by the routine of every instruction set.
    fn check(length: usize, offsets: &[i64], far: bool) {
        let end = offsets.iter().max().expect("a list with entries") + length as i64;
        let user: Vec<u8> = (0..end).map(|at| (at * 37 + at / 256) as u8).collect();
        let bytes: Vec<usize> = offsets.iter().flat_map(|&at| at as usize..at as usize + length).collect();
        let expected: Vec<u8> = bytes.iter().map(|&at| user[at]).collect();
        for level in SimdLevel::usable() {
            let list = Equal { far, ..Equal::at_level(level, length, offsets) };
            for skip in [0, 1, length, 3 * length + length / 2] {
                let limit = expected.len() - skip - length / 3;
                let mut packed = vec![0u8; expected.len() + 1];
                let mut back = vec![0u8; user.len()];
                // SAFETY: `user`, `packed` and `back` hold all bytes of the list; a packing walk
                // only reads `user`.
                unsafe {
                    list.walk::<true>(user.as_ptr().cast_mut(), packed.as_mut_ptr(), skip, limit);
                    list.walk::<false>(back.as_mut_ptr(), packed.as_mut_ptr(), skip, limit);
                }
                assert_eq!(packed[..limit], expected[skip..skip + limit], "{level:?} {length} {skip}");
                assert!(packed[limit..].iter().all(|&byte| byte == 0));
                let mut put = vec![0u8; user.len()];
                bytes[skip..skip + limit].iter().for_each(|&at| put[at] = user[at]);
                assert!(back == put, "{level:?} {length} {skip}");
            }
        }
    }

    #[test]
    fn every_level_moves_every_length() {
        for length in (1..70).chain([96, 128, 200, 512, 3000]) {
            let offsets: Vec<i64> =
                (0..90).map(|index| index * (length as i64 + 5) + index * index % 5).rev().collect();
            check(length, &offsets, false);
            check(length, &offsets, true);
        }
    }

    #[test]
    fn offsets_beyond_32_bits_are_kept() {
        let offsets = [1i64 << 40, 0, -(1 << 35)];
        let list = Equal::new(4, &offsets);
        assert_eq!(list.offsets().collect::<Vec<_>>(), offsets);
        let user = [7u32, 1, 2];
        let base = user.as_ptr().cast::<u8>().cast_mut();
        let mut packed = [0u32; 2];
        // SAFETY: packed bytes 4 to 7 are the second block, which is the first word of `user`; no
        // other block is accessed.
        unsafe { list.walk::<true>(base, packed.as_mut_ptr().cast(), 4, 4) };
        assert_eq!(packed, [7, 0]);
    }
}
