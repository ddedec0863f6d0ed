//! Calls that are over, kept for calls that repeat them: programs call the same collective on the
//! same buffers in a loop. To plan a call of a few bytes takes longer than to execute it.
//!
//! Each rank decides for itself what it keeps, since a call sends the same messages either way.

use std::fmt;

use towpath_schedule::Operation;

use crate::board::QueueOwner;
use crate::collective_run::CollectiveRun;

/// Calls to keep.
const MOST: usize = 4;
/// Maximum size of a call to keep, in bytes. It takes little time to plan a longer one, compared
/// to what it moves.
const LARGEST: usize = 64 << 10;

/// The calls that a communicator keeps, the latest one last. None of them accesses memory.
pub struct KeptCalls<O> {
    calls: Vec<(Operation, CollectiveRun<O>)>,
}

// SAFETY: the pointers of an operation are not dereferenced here, only compared.
unsafe impl<O: Send> Send for KeptCalls<O> {}

impl<O> Default for KeptCalls<O> {
    fn default() -> KeptCalls<O> {
        KeptCalls { calls: Vec::new() }
    }
}

impl<O> fmt::Debug for KeptCalls<O> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "KeptCalls({})", self.calls.len())
    }
}

impl<O: QueueOwner> KeptCalls<O> {
    /// Takes out the call that `operation` repeats, to be [renewed](CollectiveRun::renew); `None`
    /// if there is none.
    pub fn take(&mut self, operation: &Operation) -> Option<CollectiveRun<O>> {
        let repeated = self.calls.iter().rposition(|(earlier, _)| operation.repeats(earlier))?;
        Some(self.calls.remove(repeated).1)
    }

    /// Keeps a call that is over and has not failed, and forgets the one that was kept longest.
    /// Calls that nothing repeats are not kept, nor large ones.
    pub fn keep(&mut self, operation: Operation, call: CollectiveRun<O>) {
        if !operation.repeats(&operation) || call.bytes() > LARGEST {
            return;
        }
        if self.calls.len() == MOST {
            self.calls.remove(0);
        }
        self.calls.push((operation, call));
    }

    /// Forgets all calls.
    pub fn clear(&mut self) {
        self.calls.clear();
    }
}
