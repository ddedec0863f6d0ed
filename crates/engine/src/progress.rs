//! The progress engine: polls the wire, polls the devices that were busy, carries out the deferred
//! calls, and retries the sends that waited for room.

use towpath_base::events::Subscriber;
use towpath_base::ids::PeerIndex;
use towpath_transport::JobWire;

use crate::Engine;
use crate::peers::WaitingSend;
use crate::protocol;
use crate::state::DeferredCall;

impl<W: JobWire, S: Subscriber> Engine<W, S> {
    /// Advances everything that can advance. True if anything happened; callers spin on false. A
    /// device that is still busy does not count: see [`Engine::is_device_busy`].
    #[inline]
    pub fn progress(&mut self) -> bool {
        let moved = self.wire.progress(&mut self.state);
        let state = &self.state;
        if state.actions.is_empty() && state.peers.backlog.is_empty() && state.on_device.is_empty()
        {
            return moved;
        }
        self.follow_up() | moved
    }

    /// Sets the function that launches what devices have been given. Each round of progress in
    /// which something waits for a device calls it at its end, so that the device works on until
    /// the next one.
    pub fn launch_by(&mut self, launch: fn()) {
        self.state.launch = launch;
    }

    #[cold]
    fn follow_up(&mut self) -> bool {
        let completed = self.state.poll_devices();
        let moved = completed || !self.state.actions.is_empty();
        self.act();
        let mut sent = false;
        for position in (0..self.state.peers.backlog.len()).rev() {
            let peer = self.state.peers.backlog[position];
            sent |= self.drain_queue(peer);
        }
        moved | sent
    }

    /// Sends from a peer's queue until the wire refuses. True if anything was sent.
    fn drain_queue(&mut self, to: PeerIndex) -> bool {
        let mut sent = false;
        while let Some(waiting) = self.state.peers.at(to).queue().front().copied() {
            let outcome = match waiting {
                WaitingSend::Send(index) => self.transmit(index),
                // SAFETY: a payload of length 0 is not read.
                WaitingSend::Control(header) => unsafe {
                    self.wire.short(to, &header, std::ptr::null(), 0)
                },
                WaitingSend::Active(key) => self.transmit_active(to, key),
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

    /// Carries out the deferred calls.
    #[inline]
    pub(crate) fn act(&mut self) {
        if !self.state.actions.is_empty() {
            self.act_all();
        }
    }

    #[cold]
    fn act_all(&mut self) {
        let Engine { wire, state } = self;
        let mut actions = std::mem::take(&mut state.actions);
        for action in actions.drain(..) {
            match action {
                DeferredCall::Control { to, header } => {
                    let peer = state.peers.at(to);
                    if peer.lost || (state.flow.ended && protocol::is_credit(&header)) {
                        continue;
                    }
                    // SAFETY: a payload of length 0 is not read.
                    let mut send = || unsafe { wire.short(to, &header, std::ptr::null(), 0) };
                    if peer.blocked || send().is_err() {
                        state.peers.wait(to, WaitingSend::Control(header));
                    }
                }
                DeferredCall::Active { to, header, payload } => {
                    state.active.send_or_wait(wire, &mut state.peers, to, header, payload);
                }
                // SAFETY: the target is valid until the wire reports the pull or the loss of the
                // peer: the request behind `token` is incomplete until then (contract of `irecv`),
                // and a fetch keeps its buffer. Wires drop a pull from a peer whose loss they have
                // reported. A pull without a request has length 0 and writes nothing.
                DeferredCall::Pull { from, key, token, target } => unsafe {
                    wire.pull(from, key, token, target)
                },
                DeferredCall::Withdraw { to, key } => {
                    wire.withdraw(to, key);
                }
            }
        }
        actions.append(&mut state.actions);
        state.actions = actions;
    }

    /// True while a send or pull is incomplete, or the wire has work pending. `MPI_Finalize` makes
    /// progress until it is false. Unmatched receives do not count.
    pub fn busy(&self) -> bool {
        let state = &self.state;
        state.under_way > 0
            || !state.actions.is_empty()
            || !state.peers.backlog.is_empty()
            || self.wire.busy()
    }

    /// True while a receive is posted, or the engine is [`Engine::busy`]: it needs the messages of
    /// others.
    pub fn expects_messages(&self) -> bool {
        self.state.posted.is_any() || self.busy()
    }

    /// True while an operation waits for a device, or a message in the memory of one for a receive.
    /// A device that completes wakes no thread, so a caller that waits must continue to make
    /// progress and must not sleep.
    pub fn is_device_busy(&self) -> bool {
        !self.state.on_device.is_empty()
    }
}
