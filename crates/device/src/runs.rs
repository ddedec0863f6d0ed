//! Copies block by block, by the driver: slow, but they need no kernel, and blocks may be in any
//! memory, pageable host memory included.

use crate::abi::{Address, StreamHandle};
use crate::driver::{Driver, Result};
use crate::kernel::DevicePlacement;
use crate::tables::PlacedElements;

impl DevicePlacement {
    /// The address of packed byte `position`, and how many bytes follow there without a gap.
    /// `words` are the lists that the placement names.
    fn run(&self, position: usize, words: &[u64]) -> (Address, usize) {
        let (mut rest, within) = (position / self.block, position % self.block);
        let (offset, left) = if self.starts != 0 {
            let (offsets, starts) = words.split_at(self.entries);
            let entry = starts.partition_point(|&start| start <= within as u64) - 1;
            let end = starts.get(entry + 1).map_or(self.block, |&start| start as usize);
            (offsets[entry].wrapping_sub(starts[entry]), end - within)
        } else if self.offsets != 0 {
            let entry = rest % self.entries;
            rest /= self.entries;
            (words[entry], self.block - within)
        } else {
            (0, self.block - within)
        };
        let mut address = self.base.wrapping_add(offset).wrapping_add(within as Address);
        for (count, stride) in &self.loops[..self.depth] {
            address = address.wrapping_add_signed((rest % count) as i64 * stride);
            rest /= count;
        }
        (address, left)
    }
}

impl PlacedElements {
    /// The lists of the placement, in host memory; empty if it has none, or another process has
    /// made it.
    fn words(&self) -> &[u64] {
        self.lists.as_ref().map_or(&[], |lists| &lists.words)
    }

    /// True if the blocks can be listed by the processor.
    pub(crate) fn is_listed(&self) -> bool {
        self.placement.offsets == 0 || self.lists.is_some()
    }
}

/// Starts to copy bytes `position..position + length` of a message. The context must be current.
///
/// # Safety
/// Both sides must hold these bytes, in memory that the driver knows or the processor can access,
/// until the copies have completed, and must be [`PlacedElements::is_listed`].
pub(crate) unsafe fn copy(
    driver: &Driver,
    stream: StreamHandle,
    (from, to): (&PlacedElements, &PlacedElements),
    (position, length): (usize, usize),
) -> Result<()> {
    let mut done = 0;
    while done < length {
        let (source, readable) = from.placement.run(position + done, from.words());
        let (target, writable) = to.placement.run(position + done, to.words());
        let bytes = readable.min(writable).min(length - done);
        // SAFETY: `bytes` bytes follow without a gap on both sides, which are valid until the
        // copies have completed (this function's contract).
        unsafe { driver.copy("copy a block of device memory", (target, source), bytes, stream)? };
        done += bytes;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_follow_blocks_lists_and_loops() {
        let mut columns = DevicePlacement::contiguous(1000, 8);
        (columns.loops[0], columns.loops[1], columns.depth) = ((3, 100), (2, -1000), 2);
        assert_eq!(columns.run(0, &[]), (1000, 8));
        assert_eq!(columns.run(21, &[]), (1205, 3));
        assert_eq!(columns.run(24, &[]), (0, 8));
        let equal = DevicePlacement { offsets: 1, entries: 2, ..columns };
        assert_eq!(equal.run(8, &[5, 50]), (1050, 8));
        assert_eq!(equal.run(17, &[5, 50]), (1106, 7));
        let unequal = DevicePlacement { offsets: 1, starts: 1, entries: 2, ..columns };
        let lists = [5, (-40i64) as u64, 0, 3];
        assert_eq!(unequal.run(2, &lists), (1007, 1));
        assert_eq!(unequal.run(4, &lists), (961, 4));
        assert_eq!(unequal.run(11, &lists), (1060, 5));
    }
}
