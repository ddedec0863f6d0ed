//! Blocks of any length at listed offsets.
//!
//! Branches on the length of the next block would be mispredicted most of the time. Short blocks of
//! all lengths are therefore moved by the same instructions: with AVX-512 by a masked move,
//! otherwise, when packing, by a copy of fixed length whose excess bytes the next blocks overwrite.

use super::block::exchange;
use super::{FAR_BYTES, LINE, SimdLevel, prefetch};
use std::ptr::copy_nonoverlapping;

/// Every `MARK_DISTANCE`-th entry of a list has its packed position recorded.
const MARK_DISTANCE: usize = 32;

/// Blocks of at most this length are packed by a single copy of this many bytes.
const SHORT: usize = 64;

/// Smallest page size: memory is mapped in units of at least this many bytes.
const PAGE: usize = 4096;

/// Number of entries between a block and the one that is prefetched with it.
const AHEAD: usize = 32;

/// A block of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListBlock {
    pub(crate) offset: i64,
    pub(crate) length: usize,
}

/// A block with 32-bit fields, in half the space.
#[derive(Clone, Copy, Debug)]
struct Narrow {
    offset: i32,
    length: u32,
}

/// A list entry of either width.
trait Entry: Copy {
    fn block(self) -> ListBlock;
}

impl Entry for ListBlock {
    #[inline(always)]
    fn block(self) -> ListBlock {
        self
    }
}

impl Entry for Narrow {
    #[inline(always)]
    fn block(self) -> ListBlock {
        ListBlock { offset: self.offset.into(), length: self.length as usize }
    }
}

#[derive(Debug)]
enum Entries {
    Narrow(Box<[Narrow]>),
    Wide(Box<[ListBlock]>),
}

/// A list of blocks of any length.
#[derive(Debug)]
pub(crate) struct Unequal {
    entries: Entries,
    /// Packed position of every `MARK_DISTANCE`-th block.
    marks: Box<[usize]>,
    size: usize,
    /// End of the block that extends furthest.
    end: i64,
    far: bool,
    level: SimdLevel,
}

/// Part of a list: the packed bytes `skip..skip + limit` of its entries.
struct UnequalPart<'list, E> {
    entries: &'list [E],
    user: *mut u8,
    packed: *mut u8,
    skip: usize,
    limit: usize,
    end: i64,
    far: bool,
}

impl Unequal {
    /// A list of the given blocks, none of which is empty.
    pub(crate) fn new(blocks: Vec<ListBlock>) -> Unequal {
        let (mut size, mut low, mut end) = (0, i64::MAX, i64::MIN);
        let mut marks = Vec::with_capacity(blocks.len() / MARK_DISTANCE + 1);
        let (mut touched, mut narrow) = (0u128, true);
        for (index, block) in blocks.iter().enumerate() {
            if index % MARK_DISTANCE == 0 {
                marks.push(size);
            }
            size += block.length;
            low = low.min(block.offset);
            end = end.max(block.offset + block.length as i64);
            touched += block.length.max(LINE) as u128;
            narrow &= i32::try_from(block.offset).is_ok() && u32::try_from(block.length).is_ok();
        }
        let far = touched.min((end as i128 - low as i128).unsigned_abs()) > FAR_BYTES as u128;
        let narrowed = |block: &ListBlock| Narrow { offset: block.offset as i32, length: block.length as u32 };
        let entries = match narrow {
            true => Entries::Narrow(blocks.iter().map(narrowed).collect()),
            false => Entries::Wide(blocks.into()),
        };
        Unequal { entries, marks: marks.into(), size, end, far, level: SimdLevel::best() }
    }

    /// Total size of the blocks in bytes.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Number of blocks.
    pub(crate) fn len(&self) -> usize {
        match &self.entries {
            Entries::Narrow(entries) => entries.len(),
            Entries::Wide(entries) => entries.len(),
        }
    }

    /// All blocks.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = ListBlock> + Clone + '_ {
        (0..self.len()).map(|index| match &self.entries {
            Entries::Narrow(entries) => entries[index].block(),
            Entries::Wide(entries) => entries[index],
        })
    }

    /// Moves the packed bytes `skip..skip + limit`.
    ///
    /// # Safety
    /// `limit` must not be 0, and the list must hold `skip + limit` bytes. The blocks, relative to
    /// `user`, that hold the bytes must be valid, as must `limit` bytes at `packed`: readable on
    /// the source side and writable on the destination side. The two sides must not overlap.
    pub(crate) unsafe fn walk<const PACK: bool>(&self, user: *mut u8, packed: *mut u8, skip: usize, limit: usize) {
        let mark = if skip == 0 { 0 } else { self.marks.partition_point(|&start| start <= skip) - 1 };
        let skip = skip - self.marks[mark];
        let first = mark * MARK_DISTANCE;
        let (end, far) = (self.end, self.far);
        // SAFETY: the blocks and packed bytes of the part are valid (this function's contract), and
        // `self.level` is supported by this processor.
        unsafe {
            match &self.entries {
                Entries::Narrow(entries) => {
                    let part = UnequalPart { entries: &entries[first..], user, packed, skip, limit, end, far };
                    match self.level {
                        #[cfg(target_arch = "x86_64")]
                        SimdLevel::Avx512 => avx512::<Narrow, PACK>(part),
                        _ => plain::<Narrow, PACK>(part),
                    }
                }
                Entries::Wide(entries) => {
                    plain::<ListBlock, PACK>(UnequalPart {
                        entries: &entries[first..],
                        user,
                        packed,
                        skip,
                        limit,
                        end,
                        far,
                    });
                }
            }
        }
    }
}

/// True if `SHORT` bytes may be read at the address of a shorter block: they do not extend beyond
/// the furthest block, and are on the same page as this block, so they are mapped.
#[inline(always)]
fn may_overrun<E>(part: &UnequalPart<E>, offset: i64, address: *mut u8) -> bool {
    offset + SHORT as i64 <= part.end && address as usize % PAGE <= PAGE - SHORT
}

/// Moves a part with baseline instructions.
///
/// # Safety
/// Same as for [`Unequal::walk`], for this part.
unsafe fn plain<E: Entry, const PACK: bool>(part: UnequalPart<E>) {
    let one = |block: ListBlock, address: *mut u8, packed: *mut u8, limit: usize| {
        // SAFETY: the block and its packed bytes are valid. A copy of `SHORT` bytes stays on the
        // page of the block (`may_overrun`) and within the `limit` writable bytes at `packed`.
        unsafe {
            if PACK && block.length <= SHORT && limit >= SHORT && may_overrun(&part, block.offset, address) {
                copy_nonoverlapping(address, packed, SHORT);
            } else {
                exchange::<PACK>(address, packed, block.length);
            }
        }
    };
    // SAFETY: the blocks and packed bytes of the part are valid (this function's contract).
    unsafe { blocks::<E, PACK>(&part, one) }
}

/// Moves a part, with masked moves for short blocks.
///
/// # Safety
/// Same as for [`Unequal::walk`], for this part; the processor must support AVX-512 and BMI2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2")]
unsafe fn avx512<E: Entry, const PACK: bool>(part: UnequalPart<E>) {
    use std::arch::x86_64::{
        __m512i, _mm512_loadu_si512, _mm512_mask_storeu_epi8, _mm512_maskz_loadu_epi8, _mm512_storeu_si512,
    };
    let one = |block: ListBlock, address: *mut u8, packed: *mut u8, limit: usize| {
        // SAFETY: masked moves access only the block's `length` bytes at `address`. `SHORT` bytes
        // at `packed` are valid, because `limit >= SHORT`; the excess bytes of a store are
        // overwritten by the next blocks.
        unsafe {
            if block.length <= SHORT && limit >= SHORT {
                let mask = u64::MAX >> (SHORT - block.length);
                if PACK {
                    let bytes = _mm512_maskz_loadu_epi8(mask, address.cast());
                    _mm512_storeu_si512(packed.cast::<__m512i>(), bytes);
                } else {
                    let bytes = _mm512_loadu_si512(packed.cast::<__m512i>());
                    _mm512_mask_storeu_epi8(address.cast(), mask, bytes);
                }
            } else {
                exchange::<PACK>(address, packed, block.length);
            }
        }
    };
    // SAFETY: the blocks and packed bytes of the part are valid (this function's contract).
    unsafe { blocks::<E, PACK>(&part, one) }
}

/// Moves the blocks of a part. Whole blocks are moved by `one`, whose arguments are the block, its
/// address, its packed address and the number of valid packed bytes from there.
///
/// # Safety
/// Same as for [`Unequal::walk`], for this part.
#[inline(always)]
unsafe fn blocks<E: Entry, const PACK: bool>(part: &UnequalPart<E>, one: impl Fn(ListBlock, *mut u8, *mut u8, usize)) {
    let (entries, user, far) = (part.entries, part.user, part.far);
    let (mut index, mut within, mut packed, mut limit) = (0, part.skip, part.packed, part.limit);
    while within >= entries[index].block().length {
        within -= entries[index].block().length;
        index += 1;
    }
    let address = |block: ListBlock| user.wrapping_offset(block.offset as isize);
    if within > 0 {
        let block = entries[index].block();
        let length = limit.min(block.length - within);
        // SAFETY: these are at most the remaining bytes of the first block, and at most `limit`,
        // so they are valid on both sides (this function's contract).
        unsafe { exchange::<PACK>(address(block).wrapping_add(within), packed, length) };
        packed = packed.wrapping_add(length);
        limit -= length;
        index += 1;
    }
    let known = entries.len();
    for (index, entry) in entries.iter().enumerate().skip(index) {
        let block = entry.block();
        if block.length > limit {
            // SAFETY: `limit` is less than the length of the block and may be 0; these bytes are
            // valid on both sides (this function's contract).
            unsafe { exchange::<PACK>(address(block), packed, limit) };
            return;
        }
        if far && index + AHEAD < known {
            prefetch(address(entries[index + AHEAD].block()));
        }
        one(block, address(block), packed, limit);
        packed = packed.wrapping_add(block.length);
        limit -= block.length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of 1 to `longest` bytes with gaps, the second half in memory before the first.
    fn some_blocks(longest: usize) -> Vec<ListBlock> {
        let mut blocks = Vec::new();
        let mut offset = 0;
        for index in 0..150 {
            let length = 1 + index * 7 % longest;
            blocks.push(ListBlock { offset, length });
            offset += (length + 1 + index * 5 % 9) as i64;
        }
        blocks.rotate_left(75);
        blocks
    }

    fn check(list: &Unequal) {
        let user: Vec<u8> = (0..list.end).map(|at| (at * 37 + at / 256) as u8).collect();
        let bytes: Vec<usize> =
            list.blocks().flat_map(|block| block.offset as usize..block.offset as usize + block.length).collect();
        for (skip, cut) in [(0, 0), (1, 1), (63, 100), (201, 0), (bytes.len() - 5, 2)] {
            let limit = bytes.len() - skip - cut;
            let mut packed = vec![0u8; bytes.len() + 1];
            let mut back = vec![0u8; user.len()];
            // SAFETY: `user`, `packed` and `back` hold all bytes of the list; a packing walk only
            // reads `user`.
            unsafe {
                list.walk::<true>(user.as_ptr().cast_mut(), packed.as_mut_ptr(), skip, limit);
                list.walk::<false>(back.as_mut_ptr(), packed.as_mut_ptr(), skip, limit);
            }
            let range = &bytes[skip..skip + limit];
            assert!(range.iter().zip(&packed).all(|(&at, &byte)| user[at] == byte), "{:?} {skip}", list.level);
            assert!(packed[limit..].iter().all(|&byte| byte == 0), "{:?} {skip}", list.level);
            let mut put = vec![0u8; user.len()];
            range.iter().for_each(|&at| put[at] = user[at]);
            assert!(back == put, "{:?} {skip}", list.level);
        }
    }

    #[test]
    fn every_level_moves_every_length() {
        for longest in [2, 9, 64, 65, 200] {
            for level in SimdLevel::usable() {
                for far in [false, true] {
                    check(&Unequal { level, far, ..Unequal::new(some_blocks(longest)) });
                }
            }
        }
    }

    #[test]
    fn wide_entries_are_kept() {
        let far = ListBlock { offset: 1 << 40, length: 8 };
        let list = Unequal::new(vec![far, ListBlock { offset: 0, length: 3 }]);
        assert!(matches!(list.entries, Entries::Wide(_)));
        assert_eq!(list.blocks().next(), Some(far));
        assert_eq!(list.size(), 11);
        let mut packed = [0u8; 4];
        // SAFETY: packed bytes 8 to 10 are the second block, which is the whole array; the first
        // block is not accessed.
        unsafe { list.walk::<true>([1u8, 2, 3].as_mut_ptr(), packed.as_mut_ptr(), 8, 3) };
        assert_eq!(packed, [1, 2, 3, 0]);
    }
}
