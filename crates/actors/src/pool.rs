//! Memory of messages and arrays, which is used again while it is warm: fresh pages cost several
//! times as much as the copy into them. Every thread has a pool of its own. On the path of every
//! message.

use std::cell::RefCell;

/// Memory is aligned for every type of C, and its length is a multiple of this.
pub(crate) type Block = u128;
const BLOCK: usize = size_of::<Block>();
/// Lengths are powers of two from this many bytes on.
const SHORTEST: usize = 128;
/// A power of two above this one is not kept.
const CLASSES: usize = 21;
/// Bytes of one length that are kept, at most, unless one message has more.
const KEPT: usize = 8 << 20;

/// What the pool keeps: memory of a length.
pub(crate) trait PooledMemory: Sized {
    /// Fresh memory of so many bytes, with arbitrary content.
    fn fresh(bytes: usize) -> Self;

    /// How many bytes it has.
    fn bytes(&self) -> usize;
}

impl PooledMemory for Vec<Block> {
    fn fresh(bytes: usize) -> Vec<Block> {
        vec![0; bytes.div_ceil(BLOCK)]
    }

    fn bytes(&self) -> usize {
        self.len() * BLOCK
    }
}

/// Free memory by its length, the smallest first.
pub(crate) struct MemoryPool<M>([Vec<M>; CLASSES]);

impl<M: PooledMemory> MemoryPool<M> {
    /// A pool without memory.
    pub(crate) const fn new() -> MemoryPool<M> {
        MemoryPool([const { Vec::new() }; CLASSES])
    }

    /// Memory for so many bytes at least, with arbitrary content.
    #[inline]
    pub(crate) fn take(&mut self, bytes: usize) -> M {
        let class = class(bytes);
        let pooled = self.0.get_mut(class).and_then(Vec::pop);
        // Longer memory is not rounded up, because nobody uses it again.
        let fresh = if class < CLASSES { SHORTEST << class } else { bytes };
        pooled.unwrap_or_else(|| M::fresh(fresh))
    }

    /// Keeps memory that `take` gave.
    #[inline]
    pub(crate) fn give(&mut self, memory: M) {
        let bytes = memory.bytes();
        if let Some(free) = self.0.get_mut(class(bytes))
            && free.len() * bytes < KEPT
        {
            free.push(memory);
        }
    }
}

thread_local! {
    static POOL: RefCell<MemoryPool<Vec<Block>>> = const { RefCell::new(MemoryPool::new()) };
}

/// Which length holds so many bytes.
#[inline]
fn class(bytes: usize) -> usize {
    (bytes.max(SHORTEST).next_power_of_two() / SHORTEST).trailing_zeros() as usize
}

/// Memory for so many bytes at least, with arbitrary content.
pub(crate) fn take(bytes: usize) -> Vec<Block> {
    POOL.with_borrow_mut(|pool| pool.take(bytes))
}

/// Keeps memory that `take` gave.
pub(crate) fn give(memory: Vec<Block>) {
    // The pool of a thread that ends may be gone.
    let _ = POOL.try_with(|pool| pool.borrow_mut().give(memory));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_by_messages_of_about_the_same_length() {
        let first = take(5000);
        assert_eq!(first.len() * BLOCK, 8192);
        let address = first.as_ptr();
        give(first);
        let shorter = take(4000);
        let again = take(8192);
        let other = take(8192);
        assert_eq!(again.as_ptr(), address);
        assert!(shorter.as_ptr() != address && other.as_ptr() != address);
    }

    #[test]
    fn very_long_memory_is_not_kept() {
        let bytes = (SHORTEST << (CLASSES - 1)) + 1;
        assert_eq!((class(bytes), class(bytes - 1)), (CLASSES, CLASSES - 1));
        let memory = take(bytes);
        assert_eq!(memory.len(), bytes.div_ceil(BLOCK), "it is not rounded up");
        give(memory);
        assert!(POOL.with_borrow(|pool| pool.0.iter().all(Vec::is_empty)));
    }
}
