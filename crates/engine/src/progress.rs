//! Progress: lets the wire report, then carries out what the reports asked for, then sends what
//! waited for room.

use towpath_base::ids::PeerIndex;
use towpath_transport::Wire;

use crate::Engine;
use crate::arrivals::Action;
use crate::peers::Waiting;
use crate::protocol;

impl<W: Wire> Engine<W> {
    /// Moves everything that can move. True when anything happened: callers spin on false.
    #[inline]
    pub fn progress(&mut self) -> bool {
        let moved = self.wire.progress(&mut self.state);
        if self.state.actions.is_empty() && self.state.peers.backlog.is_empty() {
            return moved;
        }
        self.send_waiting() | moved
    }

    #[cold]
    fn send_waiting(&mut self) -> bool {
        let moved = !self.state.actions.is_empty();
        self.act();
        let mut sent = false;
        for position in (0..self.state.peers.backlog.len()).rev() {
            let peer = self.state.peers.backlog[position];
            sent |= self.drain_queue(peer);
        }
        moved | sent
    }

    /// Sends from the queue of a peer until the wire refuses. True when anything was sent.
    fn drain_queue(&mut self, to: PeerIndex) -> bool {
        let mut sent = false;
        while let Some(waiting) = self.state.peers.at(to).queue().front().copied() {
            let outcome = match waiting {
                Waiting::Send(index) => self.transmit(index),
                // SAFETY: no payload.
                Waiting::Control(header) => unsafe { self.wire.short(to, &header, std::ptr::null(), 0) },
            };
            if outcome.is_err() {
                return sent;
            }
            self.state.peers.at(to).queue().pop_front();
            sent = true;
        }
        self.state.peers.drained(to);
        sent
    }

    /// Carries out the noted actions.
    #[inline]
    pub(crate) fn act(&mut self) {
        if !self.state.actions.is_empty() {
            self.act_all();
        }
    }

    #[cold]
    fn act_all(&mut self) {
        let Engine { wire, state } = self;
        for action in state.actions.drain(..) {
            match action {
                Action::Control { to, header } => {
                    let peer = state.peers.at(to);
                    if peer.lost || (state.flow.ended && protocol::is_credit(&header)) {
                        continue;
                    }
                    // SAFETY: no payload.
                    if peer.blocked || unsafe { wire.short(to, &header, std::ptr::null(), 0) }.is_err() {
                        state.peers.wait(to, Waiting::Control(header));
                    }
                }
                // SAFETY: whoever started the receive keeps its target alive until the request is
                // complete, and it is not complete before the wire reports the pull; a pull without
                // a request has no bytes to write.
                Action::Pull { from, key, token, target } => unsafe { wire.pull(from, key, token, target) },
                Action::Withdraw { to, key } => {
                    wire.withdraw(to, key);
                }
            }
        }
    }

    /// True while a send or a pull is not through, or the wire owes something: `MPI_Finalize` makes
    /// progress until it is false. Receives that nobody matched do not count.
    pub fn busy(&self) -> bool {
        let state = &self.state;
        state.under_way > 0 || !state.actions.is_empty() || !state.peers.backlog.is_empty() || self.wire.busy()
    }
}
