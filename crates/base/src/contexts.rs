//! Allocates the contexts that this process proposes for new communicators (see [`ContextId`]).
//!
//! A counter numbers them. It wraps around after 2^30 proposals, which a program that keeps
//! creating communicators reaches within days; it then skips the contexts of communicators that
//! still exist. The process that proposed a context is a member of its communicator, so it knows
//! them.

use crate::ids::{CONTEXTS, ContextId};
use crate::sync::{AtomicU64, Ordering};

/// The first counter values belong to MPI_COMM_WORLD and MPI_COMM_SELF.
const FIRST: u64 = 2;

/// The counter, and the process number that all its contexts share.
#[derive(Debug)]
pub struct Contexts {
    creator: u32,
    next: AtomicU64,
}

impl Contexts {
    /// Creates the allocator of the process with this number.
    pub fn new(creator: u32) -> Contexts {
        Contexts { creator, next: AtomicU64::new(FIRST) }
    }

    /// The number of this process.
    pub fn creator(&self) -> u32 {
        self.creator
    }

    /// Allocates a context that no communicator has.
    pub fn propose(&self, is_taken: impl Fn(ContextId) -> bool) -> ContextId {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let counter = number % u64::from(CONTEXTS);
            let context = ContextId::new(self.creator, counter as u32);
            if number == counter || counter >= FIRST && !is_taken(context) {
                return context;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_begins_anew_and_leaves_out_what_is_taken() {
        let contexts = Contexts::new(7);
        let named = |counter| ContextId::new(7, counter);
        let old = contexts.propose(|_| panic!("nothing is taken before the counter begins anew"));
        assert_eq!(old, named(2));
        contexts.next.store(u64::from(CONTEXTS) - 1, Ordering::Relaxed);
        assert_eq!(contexts.propose(|_| true), named(CONTEXTS - 1));
        let is_taken = |context| context == old || context == named(4);
        assert_eq!([(); 3].map(|()| contexts.propose(is_taken)), [named(3), named(5), named(6)]);
    }
}
