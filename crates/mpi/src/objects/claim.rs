//! The claim of a topology on the shared-memory channel. `chapters::topologies::declaration` makes
//! it.

use std::sync::Mutex;

use towpath_base::sync::{AtomicU64, Ordering};

/// A topology's claim on the channel; dropping it ends the claim.
#[derive(Debug)]
pub(crate) struct ChannelClaim {
    key: u64,
}

static KEYS: AtomicU64 = AtomicU64::new(0);
/// Claims that have ended but are not yet withdrawn from the wire.
static ENDED: Mutex<Vec<u64>> = Mutex::new(Vec::new());

impl ChannelClaim {
    /// The claim that the wire knows by `key`, which comes from [`new_key`].
    pub(crate) fn new(key: u64) -> ChannelClaim {
        ChannelClaim { key }
    }
}

impl Drop for ChannelClaim {
    fn drop(&mut self) {
        ENDED.lock().unwrap().push(self.key);
    }
}

/// A key that no claim of this process has had.
pub(crate) fn new_key() -> u64 {
    KEYS.fetch_add(1, Ordering::Relaxed)
}

/// The keys of claims that have ended since the last call. The last reference may be dropped
/// anywhere, so the wire is told at the next opportunity.
pub(crate) fn take_ended() -> Vec<u64> {
    std::mem::take(&mut *ENDED.lock().unwrap())
}
