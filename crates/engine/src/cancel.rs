//! Cancelling (MPI 5.0, 3.8.4): either the operation is taken back entirely or it ends as if nobody
//! had asked.
//!
//! A receive that is not matched leaves the posted queue. A send that still waits for the wire
//! leaves its queue. A message under way is called back by asking its receiver, which drops it if
//! no receive has taken it, and answers; the sender hears of it by progress, unless it is the
//! receiver itself.

use towpath_base::ids::PeerIndex;
use towpath_transport::Wire;

use crate::Engine;
use crate::arrivals::{Action, State};
use crate::eager::Sent;
use crate::peers::Waiting;
use crate::protocol;
use crate::requests::{Completion, RequestId, UNNUMBERED, Work};
use crate::unexpected::Body;

impl<W: Wire> Engine<W> {
    /// Asks for the operation to be cancelled; its completion says whether it was. A complete
    /// receive and a stale name are left alone. A finished eager send becomes incomplete again
    /// until its receiver has answered.
    pub fn cancel(&mut self, request: RequestId) {
        let Some(index) = self.state.requests.find(request) else { return };
        let slot = self.state.requests.slot(index);
        let to = slot.completion.peer;
        match slot.work {
            Work::Posted { link, .. } => {
                slot.completion.cancelled = true;
                self.state.posted.remove(index, link);
                self.state.requests.complete(index);
            }
            Work::Queued { .. } | Work::Published { .. } => self.cancel_queued(index, to),
            Work::Announced { .. } | Work::Unacknowledged => self.ask_back(index, to),
            Work::None if slot.complete && slot.sequence != UNNUMBERED && !self.state.peers.is_lost(to) => {
                let slot = self.state.requests.slot(index);
                slot.complete = false;
                slot.work = Work::Cancelling;
                self.state.under_way += 1;
                self.ask_back(index, to);
            }
            Work::None | Work::Pulling | Work::Fetching(_) | Work::Cancelling => {}
        }
    }

    /// Asks for a message back that needed no request. The request that this makes says whether it
    /// came.
    pub fn call_back(&mut self, sent: Sent) -> RequestId {
        let request = self.request_of(&sent, Completion::of(sent.to, 0, 0, 0));
        self.cancel(request);
        request
    }

    fn cancel_queued(&mut self, index: u32, to: PeerIndex) {
        let Engine { wire, state } = self;
        let slot = state.requests.slot(index);
        slot.completion.cancelled = true;
        if let Work::Published { key, .. } = slot.work {
            wire.withdraw(to, key);
        }
        state.finish(index);
        let queue = state.peers.at(to).queue();
        queue.retain(|waiting| *waiting != Waiting::Send(index));
        if queue.is_empty() {
            state.peers.drained(to);
        }
    }

    /// Asks the receiver, once. A message to this process is here already, unless the wire still
    /// has it.
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

impl State {
    /// A sender wants a message back.
    pub(crate) fn cancel_wanted(&mut self, from: PeerIndex, words: &[u64; 2]) {
        // The sender of a message that was fetched hears that it is through, whatever it is told
        // now.
        let found = self.unexpected.find_sequence(from, words[0]).filter(|at| !self.unexpected.is_through(*at));
        let taken = u64::from(found.is_some());
        if let Some(at) = found {
            let message = self.unexpected.take(at);
            if !matches!(message.body, Body::Announced(_)) {
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

    /// A receiver has answered.
    pub(crate) fn cancel_answered(&mut self, words: &[u64; 2]) {
        let Some(index) = self.requests.find(RequestId(words[0])) else { return };
        let taken = words[1] == 1;
        let slot = self.requests.slot(index);
        let peer = slot.completion.peer;
        match slot.work {
            Work::Announced { key, .. } if taken => self.actions.push(Action::Withdraw { to: peer, key }),
            Work::Unacknowledged if taken => {}
            Work::Cancelling => {}
            _ => return,
        }
        slot.completion.cancelled = taken;
        self.finish(index);
    }
}
