//! Blocks of shared memory that nobody uses: fresh pages cost several times as much as the copy
//! into them.

/// Bytes that are kept, at most, unless one block has more.
const KEPT: usize = 64 << 20;
/// Blocks that are kept, at most.
const BLOCKS: usize = 32;

/// Blocks as their addresses and lengths, the one that was freed first in front.
#[derive(Debug, Default)]
pub(crate) struct SpareBlocks(Vec<(*mut u8, usize)>);

impl SpareBlocks {
    /// The warmest block of about so many bytes.
    pub(crate) fn take(&mut self, bytes: usize) -> Option<(*mut u8, usize)> {
        let fits = |(_, capacity): &(*mut u8, usize)| (capacity / 2..=*capacity).contains(&bytes);
        let place = self.0.iter().rposition(fits)?;
        Some(self.0.remove(place))
    }

    pub(crate) fn give(&mut self, at: *mut u8, capacity: usize) {
        self.0.push((at, capacity));
    }

    /// A block for which there is no room.
    pub(crate) fn take_excess(&mut self) -> Option<(*mut u8, usize)> {
        let bytes: usize = self.0.iter().map(|(_, capacity)| capacity).sum();
        let is_excess = self.0.len() > BLOCKS || (bytes > KEPT && self.0.len() > 1);
        is_excess.then(|| self.0.remove(0))
    }

    pub(crate) fn into_all(self) -> Vec<(*mut u8, usize)> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;

    fn spare(lengths: &[usize]) -> SpareBlocks {
        let mut blocks = SpareBlocks::default();
        for length in lengths {
            blocks.give(ptr::without_provenance_mut(*length), *length);
        }
        blocks
    }

    fn length(block: Option<(*mut u8, usize)>) -> Option<usize> {
        block.map(|(_, length)| length)
    }

    #[test]
    fn a_block_serves_lengths_down_to_half_of_its_own() {
        let mut blocks = spare(&[1000, 3000, 2000]);
        assert_eq!(length(blocks.take(1500)), Some(2000), "the warmest that fits");
        assert_eq!(length(blocks.take(1500)), Some(3000));
        assert_eq!(length(blocks.take(1500)), None);
        assert_eq!(length(blocks.take(499)), None);
        assert_eq!(length(blocks.take(500)), Some(1000));
    }

    #[test]
    fn the_oldest_blocks_go_first() {
        let mut blocks = spare(&[KEPT / 2, KEPT / 4, KEPT / 2]);
        assert_eq!(length(blocks.take_excess()), Some(KEPT / 2));
        assert_eq!(length(blocks.take_excess()), None);
        assert_eq!(blocks.into_all().len(), 2);
        assert_eq!(length(spare(&[2 * KEPT]).take_excess()), None);
        assert_eq!(length(spare(&[1; BLOCKS + 1]).take_excess()), Some(1));
    }
}
