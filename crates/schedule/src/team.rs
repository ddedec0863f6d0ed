//! The members among which a collective call runs.

use std::sync::Arc;

use towpath_base::ids::{ContextId, PeerIndex};

/// A communicator as schedules see it: its members in rank order, and the context.
#[derive(Clone, Debug)]
pub struct Team {
    /// Context of the plane in use (already `on(Plane::Collective)` for collectives).
    pub context: ContextId,
    /// This process's rank in the team.
    pub rank: usize,
    /// The members by rank.
    pub peers: Arc<[PeerIndex]>,
}

impl Team {
    /// Number of members.
    pub fn size(&self) -> usize {
        self.peers.len()
    }
}
