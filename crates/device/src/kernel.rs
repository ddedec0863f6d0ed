//! The arguments of the kernels in `kernels/move.cu`, and the choice of a kernel.

use towpath_datatype::device::MAX_LOOPS;

use crate::abi::Address;
use crate::kernel_names::Kernel;

/// Longest block in words that a kernel divides by; longer ones are split by a loop.
const LONGEST_BLOCK: usize = 1 << 30;
/// Messages of this many words and more need the kernels with 64-bit numbers.
const NARROW_WORDS: u64 = 1 << 31;
/// Largest word in bytes.
pub(crate) const LARGEST_WORD: u64 = 16;

/// Division by a constant, for numbers below 2^31: `n / divisor` is the high half of `n *
/// multiplier`, shifted (Granlund and Montgomery 1994). A multiplier of 0 stands for division by 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Divisor {
    divisor: u32,
    multiplier: u32,
    shift: u32,
    unused: u32,
}

impl Divisor {
    pub(crate) fn new(divisor: usize) -> Divisor {
        // A larger count is that of the outermost loop, by which nothing is divided
        // (`DevicePlacement::fits`).
        let divisor = u32::try_from(divisor).unwrap_or(u32::MAX).max(1);
        if divisor == 1 {
            return Divisor { divisor, ..Divisor::default() };
        }
        let bits = u32::BITS - (divisor - 1).leading_zeros();
        let multiplier = (1u64 << (31 + bits)).div_ceil(divisor.into()) as u32;
        Divisor { divisor, multiplier, shift: bits - 1, unused: 0 }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct KernelLoop {
    count: Divisor,
    stride: i64,
}

/// A layout in words of the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct KernelLayout {
    base: Address,
    offsets: Address,
    starts: Address,
    depth: u32,
    /// Bytes in a word.
    word: u32,
    block: Divisor,
    entries: Divisor,
    loops: [KernelLoop; MAX_LOOPS],
}

/// Where a kernel announces its end: it writes `value` to `flag`, in host memory. `count` is the
/// address of a word in the memory of the device, which is 0 before and after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct KernelEnd {
    pub(crate) flag: Address,
    pub(crate) count: Address,
    pub(crate) value: u32,
    pub(crate) unused: u32,
}

/// Arguments of a kernel: moves words `first..first + words` of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Move {
    from: KernelLayout,
    to: KernelLayout,
    first: u64,
    pub(crate) words: u64,
    pub(crate) end: KernelEnd,
}

/// Where the bytes of a message are in memory that a device can access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DevicePlacement {
    /// Address that all offsets are relative to.
    pub(crate) base: Address,
    /// Bytes in a block; in all blocks of the list, if they are unequal.
    pub(crate) block: usize,
    /// Address of the list of offsets, or 0.
    pub(crate) offsets: Address,
    /// Address of the list of packed positions if blocks are unequal, or 0.
    pub(crate) starts: Address,
    /// Number of entries of the lists.
    pub(crate) entries: usize,
    /// A number that every power of 2 that divides all lengths and offsets divides.
    pub(crate) alignment: u64,
    pub(crate) depth: usize,
    /// Count and stride of each loop, innermost first.
    pub(crate) loops: [(usize, i64); MAX_LOOPS],
}

impl DevicePlacement {
    /// `length` contiguous bytes.
    pub(crate) fn contiguous(base: Address, length: usize) -> DevicePlacement {
        DevicePlacement { base, block: length, ..DevicePlacement::default() }
    }

    /// Length if the bytes are contiguous.
    pub(crate) fn dense(&self) -> Option<usize> {
        (self.depth == 0 && self.offsets == 0).then_some(self.block)
    }

    /// True if the kernels can divide by all lengths and counts.
    pub(crate) fn fits(&self) -> bool {
        let inner = self.loops[..self.depth.max(1) - 1].iter().map(|(count, _)| *count);
        let block = if self.dense().is_some() { 0 } else { self.block };
        inner.chain([block, self.entries]).all(|number| u32::try_from(number).is_ok())
    }

    /// See [`KernelChoice::scattered`].
    fn is_scattered(&self) -> bool {
        let apart = self.loops[0].1.unsigned_abs() > SECTOR as u64;
        self.offsets == 0 && self.depth > 0 && self.block < SECTOR && apart
    }

    /// All alignments in one number.
    fn alignments(&self) -> u64 {
        // A dense block may end anywhere: only the range that is moved matters.
        let block = if self.dense().is_some() { 0 } else { self.block as u64 };
        let strides = self.loops[..self.depth].iter().map(|(_, stride)| stride.unsigned_abs());
        strides.fold(self.base | self.alignment | block, |all, stride| all | stride)
    }

    fn in_words(&self, word: usize) -> KernelLayout {
        let mut layout = KernelLayout {
            base: self.base,
            offsets: self.offsets,
            starts: self.starts,
            word: word as u32,
            entries: Divisor::new(self.entries),
            ..KernelLayout::default()
        };
        let mut block = self.block / word;
        let mut loops = self.loops;
        let mut depth = self.depth;
        if self.dense().is_some() && block > LONGEST_BLOCK {
            loops[0] = (block.div_ceil(LONGEST_BLOCK), (LONGEST_BLOCK * word) as i64);
            (block, depth) = (LONGEST_BLOCK, 1);
        }
        layout.block = Divisor::new(block);
        layout.depth = depth as u32;
        for (to, (count, stride)) in layout.loops.iter_mut().zip(&loops[..depth]) {
            *to = KernelLoop { count: Divisor::new(*count), stride: *stride };
        }
        layout
    }
}

/// The choice of a kernel that moves words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KernelChoice {
    /// Bytes in a word: 1, 2, 4, 8 or 16.
    pub(crate) word: usize,
    /// True for 64-bit numbers.
    pub(crate) wide: bool,
    /// True if most stores go to a sector of their own. Then it is faster to run the blocks of
    /// threads in order, each with few words, than to let each go through the whole message: 64 MB
    /// to words of 8 bytes, 64 bytes apart, take 162 us instead of 197 on an H200, while contiguous
    /// stores take 55 us instead of 39.
    pub(crate) scattered: bool,
}

impl KernelChoice {
    /// The kernel.
    pub(crate) fn kernel(self) -> Kernel {
        if self.wide { Kernel::MoveWide } else { Kernel::Move { word: self.word } }
    }
}

/// Bytes that device memory moves at least.
const SECTOR: usize = 32;

/// Arguments and kernel that move bytes `position..position + length` of a message, with the
/// largest word that fits both layouts.
pub(crate) fn arguments(
    from: &DevicePlacement,
    to: &DevicePlacement,
    position: usize,
    length: usize,
) -> (KernelChoice, Move) {
    let all = from.alignments() | to.alignments() | (position | length) as u64 | LARGEST_WORD;
    let word = 1usize << all.trailing_zeros();
    let (first, words) = ((position / word) as u64, (length / word) as u64);
    let moved = Move {
        from: from.in_words(word),
        to: to.in_words(word),
        first,
        words,
        end: KernelEnd::default(),
    };
    let wide = first + words >= NARROW_WORDS;
    (KernelChoice { word, wide, scattered: to.is_scattered() }, moved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_is_exact_below_2_to_31() {
        let mut number = 12345u64;
        for divisor in
            (1..2000).chain([1 << 16, (1 << 16) + 1, (1 << 30) - 1, 1 << 30, (1 << 31) - 1])
        {
            let by = Divisor::new(divisor);
            for _ in 0..200 {
                number = number.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let near = (number >> 33) / divisor as u64 * divisor as u64;
                for n in [number >> 33, near, near.saturating_sub(1), (1 << 31) - 1] {
                    let high = (n * u64::from(by.multiplier)) >> 32;
                    let quotient = if by.multiplier == 0 { n } else { high >> by.shift };
                    assert_eq!(quotient, n / divisor as u64, "{n} / {divisor}");
                }
            }
        }
    }

    #[test]
    fn the_largest_common_word_is_chosen() {
        let mut columns = DevicePlacement::contiguous(0x1000, 8);
        (columns.loops[0], columns.depth) = ((100, 64), 1);
        let packed = DevicePlacement::contiguous(0x2000, 800);
        let word = |from: &DevicePlacement, position, length| {
            arguments(from, &packed, position, length).0.word
        };
        assert_eq!(word(&columns, 0, 800), 8);
        assert_eq!(word(&columns, 4, 8), 4);
        assert_eq!(word(&DevicePlacement::contiguous(0x1000, 800), 0, 800), 16);
        assert_eq!(word(&DevicePlacement::contiguous(0x1002, 800), 0, 800), 2);
        assert_eq!(word(&DevicePlacement::contiguous(0x1000, 799), 0, 799), 1);
    }

    #[test]
    fn what_kernels_cannot_divide_by_does_not_fit() {
        let long = 1usize << 33;
        assert!(DevicePlacement::contiguous(0, long).fits());
        let mut nest = DevicePlacement::contiguous(0, 8);
        (nest.loops[0], nest.loops[1], nest.depth) = ((3, 16), (long, 100), 2);
        assert!(nest.fits());
        nest.loops[0].0 = long;
        assert!(!nest.fits());
        let list = DevicePlacement {
            offsets: 1,
            starts: 1,
            entries: 2,
            ..DevicePlacement::contiguous(0, long)
        };
        assert!(!list.fits() && DevicePlacement { block: 64, ..list }.fits());
    }

    #[test]
    fn structures_have_the_sizes_of_the_source() {
        assert_eq!((size_of::<KernelLayout>(), size_of::<Move>()), (208, 456));
    }
}
