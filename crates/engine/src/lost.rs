//! Peers from which nothing comes any more: what needs them ends (`MPI_ERR_PROC_ABORTED`,
//! MPI 5.0, 9.4).
//!
//! A receive that names the peer ends whether the peer has failed or left MPI in order. One that
//! accepts any source ends only when a process that may send to it has failed: whoever has left
//! owed it nothing, and others may still send.

use towpath_base::ids::{ContextId, PeerIndex};
use towpath_transport::Wire;

use crate::Engine;
use crate::arrivals::{Action, IsMember, State};
use crate::receive::ANY_PEER;
use crate::requests::Work;

impl State {
    /// Completes as lost every operation that needs the peer; messages of it that are here already
    /// can still be received.
    #[cold]
    pub(crate) fn end_operations(&mut self, peer: PeerIndex) {
        self.peers.any_lost = true;
        let known = self.peers.at(peer);
        known.lost = true;
        known.queue().clear();
        self.peers.drained(peer);
        self.forget_grants(peer);
        for index in self.requests.unfinished() {
            let slot = self.requests.slot(index);
            if slot.completion.peer != peer {
                continue;
            }
            slot.completion.lost = true;
            match std::mem::replace(&mut slot.work, Work::None) {
                Work::Posted { link, .. } => {
                    slot.completion.bytes = 0;
                    self.posted.remove(index, link);
                    self.requests.complete(index);
                    continue;
                }
                Work::Published { key, .. } | Work::Announced { key, .. } => {
                    self.actions.push(Action::Withdraw { to: peer, key });
                }
                Work::Fetching(fetch) => self.drop_fetch(*fetch),
                _ => {}
            }
            self.finish(index);
        }
        // What the peer had is free for others.
        self.feed();
    }

    /// Completes as lost the receives from any source that the failed peer might have sent to.
    #[cold]
    pub(crate) fn end_wildcards(&mut self, peer: PeerIndex) {
        self.peers.failed.push(peer);
        for index in self.requests.unfinished() {
            let slot = self.requests.slot(index);
            let Work::Posted { link, .. } = slot.work else { continue };
            if slot.completion.peer != ANY_PEER || !(self.is_member)(self.posted.context_of(index, link), peer) {
                continue;
            }
            (slot.completion.peer, slot.completion.bytes, slot.completion.lost) = (peer, 0, true);
            slot.work = Work::None;
            self.posted.remove(index, link);
            self.requests.complete(index);
        }
    }

    /// The lost peer because of which a receive or probe that finds nothing now waits in vain.
    #[cold]
    pub(crate) fn lost_source(&self, from: Option<PeerIndex>, context: ContextId) -> Option<PeerIndex> {
        match from {
            Some(peer) => Some(peer).filter(|peer| self.peers.is_lost(*peer)),
            None => self.peers.failed.iter().copied().find(|peer| (self.is_member)(context, *peer)),
        }
    }
}

impl<W: Wire> Engine<W> {
    /// Says how to find out who may send in a context. Asked only after a peer has failed, from
    /// inside progress: `is_member` must not come back to the engine.
    pub fn ask_members(&mut self, is_member: IsMember) {
        self.state.is_member = is_member;
    }
}
