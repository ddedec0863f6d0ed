//! Lost peers: ends the operations that depend on a peer that failed or left
//! (`MPI_ERR_PROC_ABORTED`, MPI 5.0, 9.4).
//!
//! A receive that names the peer ends whether the peer failed or left MPI properly. A receive from
//! any source ends only when a process that may send to it fails: one that left properly had
//! nothing more to send, and others may still send.

use towpath_base::events::Subscriber;
use towpath_base::ids::{ContextId, PeerIndex};
use towpath_transport::JobWire;

use crate::Engine;
use crate::requests::{ANY_PEER, PendingWork};
use crate::state::{DeferredCall, IsMember, State};

impl<S: Subscriber> State<S> {
    /// Completes as lost every operation that needs the peer. Messages of it that have already
    /// arrived can still be received.
    #[cold]
    pub(crate) fn end_operations(&mut self, peer: PeerIndex) {
        self.peers.any_lost = true;
        let known = self.peers.at(peer);
        known.lost = true;
        let queue = std::mem::take(known.queue());
        self.active.drop_waiting(queue.iter());
        self.peers.drained(peer);
        self.forget_grants(peer);
        for index in self.requests.unfinished() {
            let slot = self.requests.slot(index);
            let has_arrived = matches!(slot.work, PendingWork::Unpacking(_));
            if slot.completion.peer != peer || has_arrived {
                continue;
            }
            slot.completion.lost = true;
            match std::mem::replace(&mut slot.work, PendingWork::None) {
                PendingWork::Posted { link, .. } => {
                    slot.completion.bytes = 0;
                    self.posted.remove(index, link);
                    self.requests.complete(index);
                    continue;
                }
                PendingWork::Published { key, .. } | PendingWork::Announced { key, .. } => {
                    self.actions.push(DeferredCall::Withdraw { to: peer, key });
                }
                PendingWork::Fetching(fetch) => self.drop_fetch(*fetch),
                _ => {}
            }
            self.finish(index);
        }
        // The peer's share of the memory is free for others.
        self.feed();
    }

    /// Completes as lost the any-source receives to which the failed peer could have sent.
    #[cold]
    pub(crate) fn end_wildcards(&mut self, peer: PeerIndex) {
        self.peers.failed.push(peer);
        for index in self.requests.unfinished() {
            let slot = self.requests.slot(index);
            let PendingWork::Posted { link, .. } = slot.work else { continue };
            if slot.completion.peer != ANY_PEER
                || !(self.is_member)(self.posted.context_of(index, link), peer)
            {
                continue;
            }
            (slot.completion.peer, slot.completion.bytes, slot.completion.lost) = (peer, 0, true);
            slot.work = PendingWork::None;
            self.posted.remove(index, link);
            self.requests.complete(index);
        }
    }

    /// The lost peer that makes a receive or probe without a match wait forever, if there is one.
    #[cold]
    pub(crate) fn lost_source(
        &self,
        from: Option<PeerIndex>,
        context: ContextId,
    ) -> Option<PeerIndex> {
        match from {
            Some(peer) => Some(peer).filter(|peer| self.peers.is_lost(*peer)),
            None => self.peers.failed.iter().copied().find(|peer| (self.is_member)(context, *peer)),
        }
    }
}

impl<W: JobWire, S: Subscriber> Engine<W, S> {
    /// Sets the function that tells whether a peer may send in a context. It is called only after a
    /// peer has failed, from inside progress, and must not call the engine.
    pub fn ask_members(&mut self, is_member: IsMember) {
        self.state.is_member = is_member;
    }
}
