//! Cancelling (MPI 5.0, 3.8.4): an operation either is undone entirely, or completes as if the
//! cancel had not been requested.
//!
//! An unmatched receive is removed from the posted queue, and a send that still waits for the wire
//! from its peer's queue. For a message in flight, the sender asks the receiver, which drops the
//! message if no receive has matched it, and answers. The sender gets the answer through progress,
//! unless it is itself the receiver.

use towpath_base::events::Subscriber;
use towpath_base::ids::PeerIndex;
use towpath_transport::JobWire;

use crate::Engine;
use crate::eager::Sent;
use crate::peers::WaitingSend;
use crate::protocol;
use crate::requests::{Completion, PendingWork, RequestId, UNNUMBERED};
use crate::state::{DeferredCall, State};
use crate::unexpected::MessageBytes;

impl<W: JobWire, S: Subscriber> Engine<W, S> {
    /// Requests cancellation of the operation; its completion tells whether it succeeded. No effect
    /// on a complete receive or a stale id. A finished eager send becomes incomplete again until
    /// its receiver has answered.
    pub fn cancel(&mut self, request: RequestId) {
        let Some(index) = self.state.requests.find(request) else { return };
        let slot = self.state.requests.slot(index);
        let to = slot.completion.peer;
        match slot.work {
            PendingWork::Posted { link, .. } => {
                slot.completion.cancelled = true;
                self.state.posted.remove(index, link);
                self.state.requests.complete(index);
            }
            PendingWork::Queued { .. } | PendingWork::Published { .. } => {
                self.cancel_queued(index, to)
            }
            PendingWork::Announced { .. } | PendingWork::Unacknowledged => self.ask_back(index, to),
            PendingWork::None
                if slot.complete
                    && slot.sequence != UNNUMBERED
                    && !self.state.peers.is_lost(to) =>
            {
                let slot = self.state.requests.slot(index);
                slot.complete = false;
                slot.work = PendingWork::Cancelling;
                self.state.under_way += 1;
                self.ask_back(index, to);
            }
            PendingWork::None
            | PendingWork::Pulling
            | PendingWork::Fetching(_)
            | PendingWork::Unpacking(_)
            | PendingWork::Cancelling => {}
        }
    }

    /// Cancels a message that was sent without a request. The completion of the returned request
    /// tells whether it succeeded.
    pub fn call_back(&mut self, sent: Sent) -> RequestId {
        let request = self.request_of(&sent, Completion::of(sent.to, 0, 0, 0));
        self.cancel(request);
        request
    }

    fn cancel_queued(&mut self, index: u32, to: PeerIndex) {
        let Engine { wire, state } = self;
        let slot = state.requests.slot(index);
        slot.completion.cancelled = true;
        if let PendingWork::Published { key, .. } = slot.work {
            wire.withdraw(to, key);
        }
        state.finish(index);
        let queue = state.peers.at(to).queue();
        queue.retain(|waiting| *waiting != WaitingSend::Send(index));
        if queue.is_empty() {
            state.peers.drained(to);
        }
    }

    /// Sends a cancel request, at most once for a message. A message to this process that is in the
    /// unexpected queue is cancelled directly.
    fn ask_back(&mut self, index: u32, to: PeerIndex) {
        let slot = self.state.requests.slot(index);
        let number = std::mem::replace(&mut slot.sequence, UNNUMBERED);
        if number == UNNUMBERED {
            return;
        }
        let words = [number, self.state.requests.id(index).0];
        if to == self.state.own && self.state.unexpected.find_sequence(to, number).is_some() {
            self.state.cancel_wanted(to, &words);
        } else {
            self.state.control(to, protocol::CANCEL, words);
        }
        self.act();
    }
}

impl<S: Subscriber> State<S> {
    /// Handles a cancel request from a sender.
    pub(crate) fn cancel_wanted(&mut self, from: PeerIndex, words: &[u64; 2]) {
        // A message that was fetched counts as delivered: its sender learns that it is complete, so
        // it cannot be cancelled.
        let found = self
            .unexpected
            .find_sequence(from, words[0])
            .filter(|at| !self.unexpected.is_through(*at));
        let taken = u64::from(found.is_some());
        if let Some(at) = found {
            let message = self.unexpected.take(at);
            if !matches!(message.body, MessageBytes::Announced(_)) {
                self.matched(from, message.length as usize, None, message.body);
            }
        }
        let answer = [words[1], taken];
        if from == self.own {
            self.cancel_answered(&answer);
        } else {
            self.control(from, protocol::CANCELLED, answer);
        }
    }

    /// Handles the answer of a receiver.
    pub(crate) fn cancel_answered(&mut self, words: &[u64; 2]) {
        let Some(index) = self.requests.find(RequestId(words[0])) else { return };
        let taken = words[1] == 1;
        let slot = self.requests.slot(index);
        let peer = slot.completion.peer;
        match slot.work {
            PendingWork::Announced { key, .. } if taken => {
                self.actions.push(DeferredCall::Withdraw { to: peer, key })
            }
            PendingWork::Unacknowledged if taken => {}
            PendingWork::Cancelling => {}
            _ => return,
        }
        slot.completion.cancelled = taken;
        self.finish(index);
    }
}
