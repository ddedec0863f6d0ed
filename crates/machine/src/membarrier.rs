//! A memory barrier in *other* processes, paid by the one that asks (membarrier(2), global
//! expedited).
//!
//! A process that is about to sleep writes "I sleep", asks for the barrier, and looks once more:
//! every other registered process has then either seen the word or shown what it wrote before. So
//! posters need no fence of their own.

use rustix::thread::{MembarrierCommand, membarrier};

/// Registers this process as a target of global barriers; false where the kernel or a sandbox
/// refuses.
///
/// Idempotent. A refusal means that no barrier reaches this process, so all others must know
/// (`SegmentHead::unregistered`).
pub fn register() -> bool {
    membarrier(MembarrierCommand::RegisterGlobalExpedited).is_ok()
}

/// A full memory barrier in every running thread of every registered process; false where refused.
pub fn global() -> bool {
    membarrier(MembarrierCommand::GlobalExpedited).is_ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn registering_twice_changes_nothing() {
        let first = super::register();
        assert_eq!(first, super::register());
        if first {
            assert!(super::global());
        }
    }
}
