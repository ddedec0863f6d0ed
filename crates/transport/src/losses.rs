//! Why peers on other hosts are lost. A wire (connections, frames, libfabric) notes it when it
//! happens; whoever reports the error to the program asks later, when the wire itself may be in
//! use. Wires that lead to the same peers share one list.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use towpath_base::ids::PeerIndex;

/// The reasons, shared by all clones.
#[derive(Clone, Debug, Default)]
pub struct Losses(Arc<Mutex<BTreeMap<PeerIndex, String>>>);

impl Losses {
    /// Notes why a peer is lost. The first reason stays: what other wires to the peer find follows
    /// from it.
    pub fn note(&self, peer: PeerIndex, reason: &str) {
        let mut reasons = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reasons.entry(peer).or_insert_with(|| reason.to_owned());
    }

    /// Why a peer is lost, in words; `None` when it is not, or when no wire has noted why (the
    /// launcher says that its process has ended).
    pub fn of(&self, peer: PeerIndex) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&peer).cloned()
    }
}
