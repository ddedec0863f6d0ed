//! Free blocks of device memory, which are kept because the driver takes longer to allocate and
//! free memory than most reductions take, and waits for all work of the context when it frees.

use crate::abi::Address;

/// Bytes of free blocks that are kept for each context.
const MOST_KEPT: usize = 64 << 20;
/// A block of device memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub(crate) address: Address,
    pub(crate) bytes: usize,
}

/// Free blocks of a context, the one that was freed last at the end.
#[derive(Debug, Default)]
pub(crate) struct FreeBlocks(Vec<Block>);

impl FreeBlocks {
    /// Takes a block of at least `bytes` bytes, and at most twice as many.
    pub(crate) fn take(&mut self, bytes: usize) -> Option<Block> {
        let fits = |block: &Block| (bytes..=bytes.saturating_mul(2)).contains(&block.bytes);
        self.0.iter().rposition(fits).map(|index| self.0.remove(index))
    }

    /// Keeps a block. Returns those that must be freed instead.
    pub(crate) fn keep(&mut self, block: Block) -> Vec<Block> {
        self.0.push(block);
        let mut total: usize = self.0.iter().map(|block| block.bytes).sum();
        let excess = self.0.iter().take_while(|block| {
            let is_excess = total > MOST_KEPT;
            total -= if is_excess { block.bytes } else { 0 };
            is_excess
        });
        let number = excess.count();
        self.0.drain(..number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_used_again_if_they_fit_and_the_oldest_are_freed() {
        let mut free = FreeBlocks::default();
        let block = |megabytes: usize| Block { address: megabytes as u64, bytes: megabytes << 20 };
        for megabytes in [4, 16, 40] {
            assert!(free.keep(block(megabytes)).is_empty());
        }
        assert!(free.take(1 << 20).is_none(), "a block of 4 MiB is too long for 1 MiB");
        let freed = free.keep(block(12));
        assert_eq!(freed.iter().map(|block| block.address).collect::<Vec<_>>(), [4, 16]);
        assert_eq!(free.take(10 << 20).map(|block| block.address), Some(12));
        assert_eq!(free.take(40 << 20).map(|block| block.address), Some(40));
        assert!(free.take(1).is_none());
    }
}
