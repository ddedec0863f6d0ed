//! Memory of messages, which is used again while it is warm: fresh pages cost several times as much
//! as the copy into them. Every thread has a pool of its own. On the path of every message.

use std::cell::RefCell;

/// Memory is aligned for every type of C, and its length is a multiple of this.
pub type Block = u128;
const BLOCK: usize = size_of::<Block>();
/// Lengths are powers of two from this many bytes on.
const SHORTEST: usize = 128;
/// A power of two above this one is not kept.
const CLASSES: usize = 21;
/// Bytes of one length that are kept, at most, unless one message has more.
const KEPT: usize = 8 << 20;

/// Free memory by its length, the smallest first.
struct Pool([Vec<Vec<Block>>; CLASSES]);

thread_local! {
    static POOL: RefCell<Pool> = const { RefCell::new(Pool([const { Vec::new() }; CLASSES])) };
}

/// Which length holds so many bytes.
fn class(bytes: usize) -> usize {
    (bytes.max(SHORTEST).next_power_of_two() / SHORTEST).trailing_zeros() as usize
}

/// Memory for so many bytes at least, with arbitrary content.
pub(crate) fn take(bytes: usize) -> Vec<Block> {
    let class = class(bytes);
    let pooled = || POOL.with_borrow_mut(|pool| pool.0.get_mut(class)?.pop());
    // Longer memory is not rounded up, because nobody uses it again.
    let fresh = if class < CLASSES { SHORTEST << class } else { bytes };
    pooled().unwrap_or_else(|| vec![0; fresh.div_ceil(BLOCK)])
}

/// Keeps memory that `take` gave; nothing is left of a message that was taken apart.
pub(crate) fn give(memory: Vec<Block>) {
    if memory.is_empty() {
        return;
    }
    let bytes = memory.len() * BLOCK;
    let class = class(bytes);
    // The pool of a thread that ends may be gone.
    let _ = POOL.try_with(|pool| {
        if let Some(free) = pool.borrow_mut().0.get_mut(class)
            && free.len() * bytes < KEPT
        {
            free.push(memory);
        }
    });
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
    fn no_memory_is_not_kept() {
        give(Vec::new());
        assert!(POOL.with_borrow(|pool| pool.0.iter().all(Vec::is_empty)));
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
