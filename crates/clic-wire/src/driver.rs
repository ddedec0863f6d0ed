//! The driver of the protocol: turns its requests into frames on interfaces, and its events into
//! memory operations and reports. Consecutive frames are sent together as a super-frame: bulk to
//! one peer over one rail, and small messages.

use std::collections::BTreeMap;

use towpath_base::ids::PeerIndex;
use towpath_base::slab::{Slab, SlabKey};

use super::groups::Groups;
use super::memory::{At, FetchTarget, Origin, UnackedMessages};
use crate::port::{Interface, OutgoingFrame, PortOutput, Way};
use towpath_clic::frame::{HEADER_BYTES, HeaderBytes};
use towpath_clic::{FrameBody, Io, MessagePart};
use towpath_transport::{Header, Sink};

/// Length of the engine's header, which precedes the payload of a message.
pub(super) const HEAD_BYTES: usize = 17;

/// Encodes the engine's header.
pub(super) fn head(header: &Header) -> [u8; HEAD_BYTES] {
    let mut bytes = [0; HEAD_BYTES];
    bytes[0] = header.protocol;
    bytes[1..9].copy_from_slice(&header.words[0].to_le_bytes());
    bytes[9..17].copy_from_slice(&header.words[1].to_le_bytes());
    bytes
}

/// Splits a message into the engine's header and the payload; `None` if it is too short.
fn split(message: &[u8]) -> Option<(Header, &[u8])> {
    let (head, payload) = message.split_first_chunk::<HEAD_BYTES>()?;
    let word = |at: usize| head[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    Some((Header { protocol: head[0], words: [word(1), word(9)] }, payload))
}

/// A pending completion, reported by the next progress call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Released(u64),
    Pulled(u64),
    Lost(u32),
}

/// The sending side of all interfaces, and the paths to the peers.
pub(super) struct RailOutputs {
    outputs: Vec<PortOutput>,
    pub(super) ways: Ways,
    burst: Burst,
    /// Per interface, copies of the frames that it has rejected, to be sent again.
    kept: Vec<Vec<RetriedFrame>>,
}

/// The paths to peers and groups: which interface, and how.
pub(super) struct Ways {
    /// By rank and rail.
    pub(super) peers: Vec<Vec<(u8, Way)>>,
    /// By group number.
    pub(super) groups: BTreeMap<u32, (u8, Way)>,
}

impl Ways {
    fn peer(&self, rank: u32, rail: u8) -> Option<&(u8, Way)> {
        self.peers.get(rank as usize)?.get(usize::from(rail))
    }

    /// Number of rails to a rank.
    pub(super) fn count(&self, rank: u32) -> u8 {
        self.peers.get(rank as usize).map_or(0, |rails| rails.len() as u8)
    }

    /// The interface of a rail to a rank.
    pub(super) fn interface(&self, rank: u32, rail: u8) -> Option<usize> {
        self.peer(rank, rail).map(|(interface, _)| usize::from(*interface))
    }

    fn of(&self, to: To) -> Option<&(u8, Way)> {
        match to {
            To::Train(rank, rail) | To::Bulk(rank, rail) => self.peer(rank, rail),
            To::Group(number) => self.groups.get(&number),
        }
    }
}

/// Destination and class of a burst.
#[derive(Clone, Copy, PartialEq, Eq)]
enum To {
    /// Frames of messages to a rank over a rail, sent to the port where the receiver polls for
    /// small frames.
    Train(u32, u8),
    /// Frames of regions, sent to the port where the receiver scatters them.
    Bulk(u32, u8),
    /// To all members of a group.
    Group(u32),
}

impl To {
    /// Sends frames to this destination; returns how many the interface has accepted.
    ///
    /// # Safety
    /// The bodies must be readable, with at most [`Way::payload`] bytes each.
    unsafe fn send(self, output: &mut PortOutput, way: &Way, frames: &[OutgoingFrame]) -> usize {
        // SAFETY: the bodies of `frames` are readable, with at most `Way::payload` bytes each (this
        // function's contract).
        unsafe {
            match self {
                To::Train(..) => output.send_train(way, frames),
                To::Bulk(..) | To::Group(_) => output.send_bulk(way, frames),
            }
        }
    }
}

/// Frames that are collected to be sent together.
struct Burst {
    to: To,
    bytes: usize,
    frames: Vec<OutgoingFrame>,
    /// Buffer into which user memory is copied before it is sent, if enabled.
    copies: Option<Copies>,
}

/// The buffer of a wire that copies what it sends, see [`super::Clic::copying`].
struct Copies {
    room: Box<[u8]>,
    total: u64,
}

struct RetriedFrame {
    to: To,
    way: Way,
    header: HeaderBytes,
    body: Box<[u8]>,
}

/// Maximum size of a burst.
const BURST_BYTES: usize = 60 << 10;
/// While this many frames to a peer are unacknowledged, further messages to it are queued and sent
/// together: once this many frames are queued, or in the next call.
const TRAIN: usize = 16;

impl RailOutputs {
    pub(super) fn new(mut outputs: Vec<PortOutput>, ways: Vec<Vec<(u8, Way)>>) -> RailOutputs {
        outputs.iter_mut().for_each(PortOutput::permit_fragments);
        let kept = outputs.iter().map(|_| Vec::new()).collect();
        let burst = Burst { to: To::Group(0), bytes: 0, frames: Vec::new(), copies: None };
        RailOutputs { outputs, ways: Ways { peers: ways, groups: BTreeMap::new() }, burst, kept }
    }

    /// True if any interface rejects frames to some peer.
    pub(super) fn has_faults(&self) -> bool {
        self.outputs.iter().any(PortOutput::has_faults)
    }

    /// The error with which a rail to a peer rejects frames, if it does, and the number of rejected
    /// frames.
    pub(super) fn fault(&self, rank: u32, rail: u8) -> Option<(i32, u64)> {
        let (interface, way) = self.ways.peer(rank, rail)?;
        self.outputs[usize::from(*interface)].fault(way)
    }

    /// True if a frame is retained that the protocol considers sent.
    pub(super) fn is_busy(&self) -> bool {
        self.kept.iter().any(|kept| !kept.is_empty())
    }

    /// Sends one frame.
    ///
    /// # Safety
    /// `body` must be readable for `length` bytes, at most [`Way::payload`].
    #[inline]
    unsafe fn send(
        &mut self,
        to: u32,
        rail: u8,
        header: &HeaderBytes,
        body: *const u8,
        length: usize,
    ) -> bool {
        let Some((interface, way)) = self.ways.peer(to, rail) else { return true };
        let interface = usize::from(*interface);
        // SAFETY: `body` is readable for `length` bytes, at most `Way::payload` (this function's
        // contract).
        self.kept[interface].is_empty()
            && unsafe { self.outputs[interface].send(way, header, body, length) }
    }

    /// Checks an interface again; see [`PortOutput::look`].
    pub(super) fn look(&mut self, number: usize, interface: &Interface) -> Option<String> {
        self.outputs[number].look(interface)
    }

    /// The sending side of an interface.
    pub(super) fn output(&self, interface: usize) -> &PortOutput {
        &self.outputs[interface]
    }

    /// From now on, copies bulk from user memory before it is sent.
    pub(super) fn copy_first(&mut self) {
        // A burst can exceed `BURST_BYTES` if it is a single frame.
        let room = vec![0; BURST_BYTES + usize::from(u16::MAX)].into();
        self.burst.copies.get_or_insert(Copies { room, total: 0 });
    }

    /// Bytes of user memory that were copied before they were sent.
    pub(super) fn copied(&self) -> u64 {
        self.burst.copies.as_ref().map_or(0, |copies| copies.total)
    }

    /// Queues a frame to be sent with others of the same destination. With `users`, the body is
    /// user memory, and is copied if [`RailOutputs::copy_first`] was called. Returns false if the
    /// interface is full.
    ///
    /// # Safety
    /// Until the next [`RailOutputs::flush`], `body` must stay readable for `length` bytes, at most
    /// [`Way::payload`].
    #[inline]
    unsafe fn gather(
        &mut self,
        to: To,
        header: &HeaderBytes,
        (mut body, length): (*const u8, usize),
        users: bool,
    ) -> bool {
        let Some((interface, _)) = self.ways.of(to) else { return true };
        if !self.kept[usize::from(*interface)].is_empty() {
            return false;
        }
        let burst = &self.burst;
        let joins = burst.to == to && burst.bytes + length <= BURST_BYTES;
        if !burst.frames.is_empty() && !joins {
            self.flush();
        }
        let burst = &mut self.burst;
        if let Some(copies) = burst.copies.as_mut().filter(|_| users) {
            let room = &mut copies.room[burst.bytes..][..length];
            // SAFETY: `body` is readable for `length` bytes (this function's contract), and does
            // not overlap `room`, which belongs to this burst alone.
            unsafe { std::ptr::copy_nonoverlapping(body, room.as_mut_ptr(), length) };
            (body, copies.total) = (room.as_ptr(), copies.total + length as u64);
        }
        burst.to = to;
        burst.bytes += HEADER_BYTES + length;
        burst.frames.push(OutgoingFrame { header: *header, body, length });
        true
    }

    /// True if the queued messages may wait for more, given that their peer has not acknowledged
    /// `under_way` frames yet.
    #[inline]
    pub(super) fn may_wait(&self, under_way: usize) -> bool {
        let gathered = self.burst.frames.len();
        gathered < TRAIN && under_way >= TRAIN + gathered
    }

    /// Sends the queued frames. Frames that the interface rejects are copied, and sent before any
    /// others.
    #[inline]
    pub(super) fn flush(&mut self) {
        if !self.burst.frames.is_empty() {
            self.flush_some();
        }
    }

    fn flush_some(&mut self) {
        let Burst { to, frames, .. } = &mut self.burst;
        if let Some((interface, way)) = self.ways.of(*to) {
            let (output, kept) = (
                &mut self.outputs[usize::from(*interface)],
                &mut self.kept[usize::from(*interface)],
            );
            // SAFETY: every queued body is readable for its length (contract of `gather`): `Driver`
            // flushes before a message or region ends and before packed bytes move.
            let taken = unsafe { to.send(output, way, frames) };
            kept.extend(frames[taken..].iter().map(|frame| {
                // SAFETY: `frame.body` is readable for `frame.length` bytes until this flush ends
                // (contract of `gather`).
                let body = unsafe { std::slice::from_raw_parts(frame.body, frame.length) };
                RetriedFrame { to: *to, way: *way, header: frame.header, body: body.into() }
            }));
        }
        frames.clear();
        self.burst.bytes = 0;
    }

    /// Retries the retained frames. True if any of them was sent.
    pub(super) fn retry(&mut self) -> bool {
        let mut moved = false;
        for (output, kept) in self.outputs.iter_mut().zip(&mut self.kept) {
            let mut gone = 0;
            for RetriedFrame { to, way, header, body } in kept.iter() {
                let frame =
                    [OutgoingFrame { header: *header, body: body.as_ptr(), length: body.len() }];
                // SAFETY: the body is `body`, a live slice that `gather` limited to `Way::payload`
                // bytes.
                if unsafe { to.send(output, way, &frame) } == 0 {
                    break;
                }
                gone += 1;
            }
            kept.drain(..gone);
            moved |= gone > 0;
        }
        moved
    }
}

/// The memory behind the handles that the protocol knows.
#[derive(Default)]
pub(super) struct Holdings {
    pub(super) messages: UnackedMessages,
    pub(super) origins: Slab<Origin>,
    pub(super) destinations: Slab<FetchTarget>,
    /// By rank: a message whose first fragments have arrived.
    pub(super) parts: Vec<Vec<u8>>,
    pub(super) ends: Vec<Ended>,
    /// Targets whose bytes have all arrived but that wait for a device.
    pub(super) awaiting_device: Vec<u64>,
    pub(super) groups: Groups,
}

impl Holdings {
    fn complete(&mut self, name: u64) {
        let Some(destination) = self.destinations.get_mut(SlabKey(name)) else { return };
        // SAFETY: the entry is still in `destinations`, so its end has not been reported and the
        // target is valid (contract of `Clic::pull`).
        if !unsafe { destination.unpack_early() } {
            self.awaiting_device.push(name);
        } else if let Some(destination) = self.destinations.remove(SlabKey(name)) {
            self.ends.push(Ended::Pulled(destination.token));
        }
    }

    /// Polls the devices again.
    pub(super) fn poll_devices(&mut self) {
        for name in std::mem::take(&mut self.awaiting_device) {
            self.complete(name);
        }
    }

    /// Ends everything pending with a peer, without reporting it.
    fn forget(&mut self, peer: u32) {
        self.messages.forget(peer);
        self.origins.remove_where(|origin| origin.to == peer);
        self.awaiting_device.retain(|name| {
            self.destinations
                .get(SlabKey(*name))
                .is_some_and(|destination| destination.from != peer)
        });
        self.destinations.remove_where(|destination| destination.from == peer);
        if let Some(parts) = self.parts.get_mut(peer as usize) {
            parts.clear();
        }
    }
}

/// The context of one call of the protocol: where frames are sent, and what receives messages.
pub(super) struct Driver<'a, S> {
    pub(super) lines: &'a mut RailOutputs,
    pub(super) holdings: &'a mut Holdings,
    pub(super) sink: &'a mut S,
}

impl<S: Sink> Driver<'_, S> {
    fn arrived(&mut self, from: u32, message: &[u8]) {
        if let Some((header, payload)) = split(message) {
            self.sink.arrived(PeerIndex(from), &header, payload.as_ptr(), payload.len());
        }
    }
}

impl<S: Sink> Io for Driver<'_, S> {
    #[inline]
    fn send(&mut self, to: u32, rail: u8, header: &HeaderBytes, body: FrameBody<'_>) -> bool {
        let (pointer, length) = match body {
            FrameBody::Own(bytes) => (bytes.as_ptr(), bytes.len()),
            FrameBody::Message { buffer, offset, length } => {
                let body = self.holdings.messages.at(buffer).wrapping_add(offset as usize);
                // SAFETY: `body` points to a fragment of `length` bytes, at most the payload of the
                // rail, in a message that stays allocated until `Io::sent`, which flushes first.
                return unsafe {
                    self.lines.gather(
                        To::Train(to, rail),
                        header,
                        (body, usize::from(length)),
                        false,
                    )
                };
            }
            FrameBody::Region { token, offset, length } => {
                let Some(origin) = self.holdings.origins.get_mut(SlabKey(token)) else {
                    return true;
                };
                let length = usize::from(length);
                // Packing may move bytes that queued frames still point to, so send those first.
                if origin.must_make(offset, length) {
                    self.lines.flush();
                }
                // SAFETY: the region is still in `origins`, so its end has not been reported and
                // its memory is valid (contract of `Clic::publish`).
                return match unsafe { origin.at(offset, length) } {
                    At::Here(pointer) => {
                        let users = origin.is_users();
                        // SAFETY: `origin.at` returned a pointer to `length` readable bytes, and
                        // the protocol limits a chunk to the payload of the rail. They stay valid
                        // until the region ends or bytes are packed, and both flush first.
                        unsafe {
                            self.lines.gather(To::Bulk(to, rail), header, (pointer, length), users)
                        }
                    }
                    At::Later => false,
                    At::Never => true,
                };
            }
        };
        // SAFETY: `pointer` and `length` describe a slice that outlives the call.
        unsafe { self.lines.send(to, rail, header, pointer, length) }
    }

    fn broadcast(&mut self, group: u32, header: &HeaderBytes, body: FrameBody<'_>) -> bool {
        let FrameBody::Message { buffer, offset, length } = body else { return true };
        let pointer = self.holdings.messages.at(buffer).wrapping_add(offset as usize);
        // SAFETY: `pointer` points to a part of `length` bytes, at most the chunk size of the
        // group, in a message that stays allocated until `Io::broadcast_sent`, which flushes first.
        unsafe {
            self.lines.gather(To::Group(group), header, (pointer, usize::from(length)), false)
        }
    }

    #[inline]
    fn message(&mut self, from: u32, part: MessagePart<'_>) {
        if part.bytes.len() == part.total as usize {
            return self.arrived(from, part.bytes);
        }
        let slot = from as usize;
        if self.holdings.parts.len() <= slot {
            self.holdings.parts.resize_with(slot + 1, Vec::new);
        }
        let mut whole = std::mem::take(&mut self.holdings.parts[slot]);
        if part.offset == 0 {
            whole.clear();
            whole.reserve(part.total as usize);
        }
        whole.extend_from_slice(part.bytes);
        if whole.len() == part.total as usize {
            self.arrived(from, &whole);
        }
        self.holdings.parts[slot] = whole;
    }

    #[inline]
    fn sent(&mut self, _to: u32, buffer: u64) {
        // A retransmission may still be queued although the message is acknowledged.
        self.lines.flush();
        self.holdings.messages.end(buffer);
    }

    fn bulk(&mut self, _from: u32, token: u64, offset: u64, bytes: &[u8]) {
        if let Some(destination) = self.holdings.destinations.get_mut(SlabKey(token)) {
            // SAFETY: the entry is still in `destinations`, so its end has not been reported and
            // the target is valid (contract of `Clic::pull`).
            unsafe { destination.put(offset, bytes) };
        }
    }

    fn pulled(&mut self, _from: u32, token: u64) {
        self.holdings.complete(token);
    }

    fn released(&mut self, _to: u32, token: u64) {
        self.lines.flush();
        if let Some(origin) = self.holdings.origins.remove(SlabKey(token)) {
            self.holdings.ends.push(Ended::Released(origin.token));
        }
    }

    fn broadcast_part(&mut self, _group: u32, token: u64, offset: u32, bytes: &[u8]) {
        self.holdings.groups.part(token, offset as usize, bytes);
    }

    fn broadcast_done(&mut self, _group: u32, token: u64, length: u32) {
        self.holdings.groups.done(token, length as usize);
    }

    fn broadcast_sent(&mut self, _group: u32, buffer: u64) {
        self.lines.flush();
        self.holdings.messages.end(buffer);
    }

    fn lost(&mut self, peer: u32) {
        self.lines.flush();
        self.holdings.forget(peer);
        self.holdings.ends.push(Ended::Lost(peer));
    }
}
