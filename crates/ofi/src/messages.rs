//! Sending and receiving messages. Fast path: a copy, a header with its authentication code, one
//! call of the provider.

use std::ffi::c_void;

use super::endpoint::{FabricCompletion, PostOutcome};
use super::frame::{FabricFrame, HEAD_BYTES, MessageWay, Sender};
use super::pool::{self, Kind, OperationTicket, Pool};
use super::{LARGE_BYTES, Ofi, OfiLink, SMALL_BYTES};
use towpath_transport::{Header, Sink};

/// Maximum distance of a message from the next expected one: a provider has at most this many
/// messages in flight.
const AHEAD: u64 = 4096;

impl Ofi {
    #[inline]
    fn pool_of(&mut self, kind: Kind) -> &mut Pool {
        if kind == Kind::Small { &mut self.small } else { &mut self.large }
    }

    /// Sends a message whose `length` bytes of payload `fill` writes; false if there is no buffer
    /// for it.
    #[inline]
    pub(super) fn send(
        &mut self,
        index: usize,
        frame: &FabricFrame,
        length: usize,
        fill: impl FnOnce(*mut u8),
    ) -> bool {
        let kind = if HEAD_BYTES + length <= SMALL_BYTES { Kind::Small } else { Kind::Large };
        let pool = if kind == Kind::Small { &mut self.small } else { &mut self.large };
        let Some(slot) = pool.take(&mut self.endpoint) else { return false };
        let at = pool.at(slot);
        fill(at.wrapping_add(HEAD_BYTES));
        let peer = &mut self.peers[index];
        let way = MessageWay { from: self.own, to: peer.contact.peer.0, number: peer.next_out };
        let head = frame.encode(&self.key, way);
        // SAFETY: the buffer is longer than a header, and taken for this message only.
        unsafe { std::ptr::copy_nonoverlapping(head.as_ptr(), at, HEAD_BYTES) };
        peer.next_out += 1;
        peer.under_way += 1;
        self.sending += 1;
        if !peer.pending.is_empty() || !self.post(index, (kind, slot, HEAD_BYTES + length)) {
            self.peers[index].pending.push_back((kind, slot, HEAD_BYTES + length));
            self.list(index);
        }
        true
    }

    /// Posts a message to the provider; false if it must be posted again later.
    #[inline]
    fn post(&mut self, index: usize, (kind, slot, length): (Kind, u32, usize)) -> bool {
        let Some(address) = self.peers[index].address.or_else(|| self.find(index)) else {
            self.forget(index, kind, slot);
            return true;
        };
        let pool = self.pool_of(kind);
        let (at, local, context) =
            (pool.at(slot), pool.local(slot), pool.context(slot, index as u32));
        // SAFETY: the buffer and its context stay reserved until the completion.
        match unsafe { self.endpoint.send(address, at, length, local, context) } {
            PostOutcome::Done => {
                self.meet(index);
                true
            }
            PostOutcome::Later => false,
            PostOutcome::Failed(code) => {
                self.forget(index, kind, slot);
                self.fail(index, code);
                true
            }
        }
    }

    /// Frees the buffer of a message that was sent or has failed.
    #[inline]
    pub(super) fn forget(&mut self, index: usize, kind: Kind, slot: u32) {
        self.pool_of(kind).give_back(slot);
        self.peers[index].under_way -= 1;
        self.sending -= 1;
    }

    /// Sends a header without payload, now or as soon as possible.
    pub(super) fn control(&mut self, index: usize, frame: FabricFrame) {
        let peer = &mut self.peers[index];
        if peer.link == OfiLink::Lost {
            return;
        }
        if !peer.controls.is_empty() || !self.send(index, &frame, 0, |_| {}) {
            self.peers[index].controls.push_back(frame);
            self.list(index);
        }
    }

    /// Lists a peer with pending messages.
    fn list(&mut self, index: usize) {
        if !self.peers[index].listed {
            self.peers[index].listed = true;
            self.writing.push(index as u32);
        }
    }

    /// Sends the pending messages of a peer; true if anything was sent.
    pub(super) fn flush(&mut self, index: usize) -> bool {
        let mut moved = false;
        while let Some(front) = self.peers[index].pending.pop_front() {
            if !self.post(index, front) {
                self.peers[index].pending.push_front(front);
                return moved;
            }
            moved = true;
        }
        while let Some(frame) = self.peers[index].controls.pop_front() {
            if !self.send(index, &frame, 0, |_| {}) {
                self.peers[index].controls.push_front(frame);
                return moved;
            }
            moved = true;
            if !self.peers[index].pending.is_empty() {
                return moved;
            }
        }
        self.peers[index].listed = false;
        self.writing.retain(|other| *other as usize != index);
        moved
    }

    /// Posts receive buffers to the provider.
    pub(super) fn lend(&mut self) {
        while let Some(slot) = self.unlent.pop() {
            let pool = &mut self.receives;
            let (at, local, context) = (pool.at(slot), pool.local(slot), pool.context(slot, 0));
            // SAFETY: the buffer and its context stay reserved until the completion.
            if unsafe { self.endpoint.receive(at, LARGE_BYTES, local, context) }
                != PostOutcome::Done
            {
                self.unlent.push(slot);
                return;
            }
        }
    }

    /// Processes a completion.
    #[inline]
    pub(super) fn complete(&mut self, completion: FabricCompletion, sink: &mut impl Sink) {
        let FabricCompletion { context, length, error } = completion;
        if context.is_null() {
            return;
        }
        // SAFETY: all contexts come from the pools, which live as long as the endpoint.
        let OperationTicket { kind, slot, peer: index } =
            unsafe { pool::ticket(context.cast::<c_void>()) };
        match kind {
            Kind::Receive if error == 0 => self.arrive(slot, length, sink),
            // Longer than any message of the job, or its sender has ended in the middle of it
            // (which rxm of libfabric 1.17 reports as cancelled).
            Kind::Receive => {
                self.refused += 1;
                self.unlent.push(slot);
            }
            Kind::Small | Kind::Large => {
                self.forget(index as usize, kind, slot);
                if error != 0 {
                    self.fail(index as usize, error);
                }
            }
            Kind::Read => {
                self.has_read(slot, index, error != 0);
                if error != 0 {
                    self.fail(index as usize, error);
                }
            }
            Kind::Bounce => {}
        }
    }

    /// Processes a message that has arrived in a receive buffer.
    fn arrive(&mut self, slot: u32, length: usize, sink: &mut impl Sink) {
        let Some(index) = self.sender(slot, length) else {
            self.refused += 1;
            return self.unlent.push(slot);
        };
        let number = self.number(slot, index);
        let peer = &mut self.peers[index];
        if number != peer.next_in {
            // It has overtaken another message, or is a duplicate.
            if number > peer.next_in
                && number - peer.next_in < AHEAD
                && !peer.held.contains_key(&number)
            {
                peer.held.insert(number, (slot, length));
            } else {
                self.refused += 1;
                self.unlent.push(slot);
            }
            return;
        }
        self.take(index, slot, length, sink);
        while !self.peers[index].held.is_empty() {
            let next = self.peers[index].next_in;
            let Some((slot, length)) = self.peers[index].held.remove(&next) else { return };
            self.take(index, slot, length, sink);
        }
    }

    #[inline]
    fn head(&self, slot: u32) -> [u8; HEAD_BYTES] {
        // SAFETY: receive buffers are longer than a header, and the provider does not write to this
        // one any more.
        unsafe { self.receives.at(slot).cast::<[u8; HEAD_BYTES]>().read() }
    }

    /// The complete number of a message that claims to be from the peer at `index`.
    fn number(&self, slot: u32, index: usize) -> u64 {
        Sender::of(&self.head(slot)).number(self.peers[index].next_in)
    }

    /// The sender of the message in a buffer; `None` if it is not a process of the job.
    fn sender(&self, slot: u32, length: usize) -> Option<usize> {
        if length < HEAD_BYTES {
            return None;
        }
        let head = self.head(slot);
        let from = Sender::of(&head).from;
        let index = *self.indices.get(&from)? as usize;
        let way = MessageWay { from, to: self.own, number: self.number(slot, index) };
        FabricFrame::is_genuine(&self.key, way, &head).then_some(index)
    }

    /// Processes the next message in order.
    fn take(&mut self, index: usize, slot: u32, length: usize, sink: &mut impl Sink) {
        self.peers[index].next_in += 1;
        self.meet(index);
        let payload = length - HEAD_BYTES;
        match FabricFrame::decode(&self.head(slot)) {
            _ if self.peers[index].link == OfiLink::Lost => {}
            Ok(FabricFrame::Message { protocol, length, words }) if length as usize == payload => {
                let from = self.peers[index].contact.peer;
                let at = self.receives.at(slot).wrapping_add(HEAD_BYTES);
                sink.arrived(from, &Header { protocol, words }, at, payload);
            }
            Ok(frame) if payload == 0 && self.obey(index, frame) => {}
            _ => {
                let rank = self.peers[index].contact.peer.0;
                self.lose(
                    index,
                    &format!("rank {rank} sent a message that no process of this job would send"),
                );
            }
        }
        self.unlent.push(slot);
    }

    /// Handles a control message of a peer; false if it is invalid.
    fn obey(&mut self, index: usize, frame: FabricFrame) -> bool {
        match frame {
            FabricFrame::Message { .. } => return false,
            FabricFrame::Pull { number, name, wanted } => self.asked(index, number, name, wanted),
            FabricFrame::Release { name } => {
                if let Some(region) = self.published(index, name) {
                    self.released.push(region.token);
                }
            }
            FabricFrame::Grant { number, last, address, key, length } => {
                let Some(pull) = self.pulls.at(number).filter(|pull| pull.from as usize == index)
                else {
                    return false;
                };
                if !pull.grant(address, key, length, last) {
                    return false;
                }
                self.go_on(number);
            }
            FabricFrame::Done { name } => return self.has_been_read(index, name),
            FabricFrame::Probe { number } => self.control(index, FabricFrame::Echo { number }),
            FabricFrame::Echo { number } => self.has_answered(index, number),
            FabricFrame::Goodbye => self.part(index),
        }
        true
    }
}
