//! Memory barriers in *other* processes, paid for by the process that issues them (membarrier(2),
//! global expedited).
//!
//! A process that is about to sleep sets its sleep word, issues the barrier and polls once more.
//! Every other registered process has then either seen the word or made its earlier writes visible,
//! so posters need no fence.

use rustix::thread::{MembarrierCommand, membarrier};

/// Registers this process as a target of global barriers; false if the kernel or a sandbox refuses.
///
/// Idempotent. After a refusal no barrier reaches this process, so all others must be told
/// (`SegmentHead::unregistered`).
pub fn register() -> bool {
    membarrier(MembarrierCommand::RegisterGlobalExpedited).is_ok()
}

/// Issues a full memory barrier in every running thread of every registered process; false if
/// refused.
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
