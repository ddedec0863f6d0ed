//! Why peers on other hosts are lost. A wire (TCP, CLIC, libfabric) records the reason when it
//! detects the loss. The code that reports the error to the program reads it later, when the wire
//! itself may be locked. Wires that reach the same peers share one list.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use towpath_base::ids::PeerIndex;

/// The reasons, shared by all clones.
#[derive(Clone, Debug, Default)]
pub struct Losses(Arc<Mutex<BTreeMap<PeerIndex, String>>>);

impl Losses {
    /// Records why a peer is lost. The first reason is kept: what other wires to the peer detect is
    /// a consequence of it.
    pub fn note(&self, peer: PeerIndex, reason: &str) {
        let mut reasons = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reasons.entry(peer).or_insert_with(|| reason.to_owned());
    }

    /// Why a peer is lost, as text; `None` if it is not lost, or if no wire has recorded a reason
    /// (for example when the launcher reported that the process has ended).
    pub fn of(&self, peer: PeerIndex) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&peer).cloned()
    }
}
