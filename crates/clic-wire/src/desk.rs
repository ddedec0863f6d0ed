//! What the protocol asks for and reports, done with frames and memory. Frames that follow each
//! other go out together, as a super-frame: those of bulk to one peer over one rail, and those of
//! messages.

use std::collections::BTreeMap;

use towpath_base::ids::PeerIndex;

use super::groups::Groups;
use super::memory::{At, Destination, Messages, Origin, Table};
use crate::port::{Frame, Interface, Output, Way};
use towpath_clic::frame::HEADER_BYTES;
use towpath_clic::{Body, Outlet, Part};
use towpath_transport::{Header, Sink};

/// Bytes in front of the payload of a message: the engine's header.
pub(super) const HEAD_BYTES: usize = 17;

/// The engine's header as bytes.
pub(super) fn head(header: &Header) -> [u8; HEAD_BYTES] {
    let mut bytes = [0; HEAD_BYTES];
    bytes[0] = header.protocol;
    bytes[1..9].copy_from_slice(&header.words[0].to_le_bytes());
    bytes[9..17].copy_from_slice(&header.words[1].to_le_bytes());
    bytes
}

/// The header and the payload of a message; `None` when it is too short to be one.
fn split(message: &[u8]) -> Option<(Header, &[u8])> {
    let (head, payload) = message.split_first_chunk::<HEAD_BYTES>()?;
    let word = |at: usize| head[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    Some((Header { protocol: head[0], words: [word(1), word(9)] }, payload))
}

/// What ended, to be reported at the next progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Released(u64),
    Pulled(u64),
    Lost(u32),
}

/// The sending sides of the rails, and the ways to the peers.
pub(super) struct Lines {
    outputs: Vec<Output>,
    pub(super) ways: Ways,
    burst: Burst,
    /// By interface: frames that were taken and that the interface did not take after all.
    kept: Vec<Vec<Kept>>,
}

/// Over which of the interfaces frames go somewhere, and how.
pub(super) struct Ways {
    /// By rank and rail.
    pub(super) peers: Vec<Vec<(u8, Way)>>,
    /// By number.
    pub(super) groups: BTreeMap<u32, (u8, Way)>,
}

impl Ways {
    fn peer(&self, rank: u32, rail: u8) -> Option<&(u8, Way)> {
        self.peers.get(rank as usize)?.get(usize::from(rail))
    }

    /// How many rails lead to a rank.
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

/// Where frames that go out together go, and as what.
#[derive(Clone, Copy, PartialEq, Eq)]
enum To {
    /// Frames of messages to a rank, over a rail: to where the receiver looks for small frames.
    Train(u32, u8),
    /// Frames of regions, to where it scatters them.
    Bulk(u32, u8),
    /// To all members of a group.
    Group(u32),
}

impl To {
    /// Sends frames that go there; says how many the interface has taken.
    ///
    /// # Safety
    /// As [`Output::send_bulk`].
    unsafe fn send(self, output: &mut Output, way: &Way, frames: &[Frame]) -> usize {
        // SAFETY: promised by the caller.
        unsafe {
            match self {
                To::Train(..) => output.send_train(way, frames),
                To::Bulk(..) | To::Group(_) => output.send_bulk(way, frames),
            }
        }
    }
}

/// Frames on their way out together.
struct Burst {
    to: To,
    bytes: usize,
    frames: Vec<Frame>,
    /// Where bytes of user memory are copied to before they go out, if they are.
    copies: Option<Copies>,
}

/// The buffer of a wire that copies what it sends, see [`super::Clic::copying`].
struct Copies {
    room: Box<[u8]>,
    total: u64,
}

struct Kept {
    to: To,
    way: Way,
    header: [u8; HEADER_BYTES],
    body: Box<[u8]>,
}

/// Bytes that go out at a time.
const BURST_BYTES: usize = 60 << 10;
/// While so many frames to a peer are not acknowledged, it has enough to do: messages wait for
/// others until there are so many, or until the next call.
const TRAIN: usize = 16;

impl Lines {
    pub(super) fn new(mut outputs: Vec<Output>, ways: Vec<Vec<(u8, Way)>>) -> Lines {
        outputs.iter_mut().for_each(Output::permit_fragments);
        let kept = outputs.iter().map(|_| Vec::new()).collect();
        let burst = Burst { to: To::Group(0), bytes: 0, frames: Vec::new(), copies: None };
        Lines { outputs, ways: Ways { peers: ways, groups: BTreeMap::new() }, burst, kept }
    }

    /// Whether some interface refuses frames to somebody.
    pub(super) fn has_faults(&self) -> bool {
        self.outputs.iter().any(Output::has_faults)
    }

    /// The error with which frames to a peer are refused over a rail, if they are, and how many
    /// have been.
    pub(super) fn fault(&self, rank: u32, rail: u8) -> Option<(i32, u64)> {
        let (interface, way) = self.ways.peer(rank, rail)?;
        self.outputs[usize::from(*interface)].fault(way)
    }

    /// True when a frame waits that the protocol believes to be out.
    pub(super) fn is_busy(&self) -> bool {
        self.kept.iter().any(|kept| !kept.is_empty())
    }

    /// Sends one frame.
    ///
    /// # Safety
    /// `body` must be readable for `length` bytes.
    #[inline]
    unsafe fn send(&mut self, to: u32, rail: u8, header: &[u8; HEADER_BYTES], body: *const u8, length: usize) -> bool {
        let Some((interface, way)) = self.ways.peer(to, rail) else { return true };
        let interface = usize::from(*interface);
        // SAFETY: handed through.
        self.kept[interface].is_empty() && unsafe { self.outputs[interface].send(way, header, body, length) }
    }

    /// Looks at an interface again: as [`Output::look`].
    pub(super) fn look(&mut self, number: usize, interface: &Interface) -> Option<String> {
        self.outputs[number].look(interface)
    }

    /// The sending side of an interface.
    pub(super) fn output(&self, interface: usize) -> &Output {
        &self.outputs[interface]
    }

    /// From now on bulk from user memory is copied before it goes out.
    pub(super) fn copy_first(&mut self) {
        // A burst is longer when it is one frame only.
        let room = vec![0; BURST_BYTES + usize::from(u16::MAX)].into();
        self.burst.copies.get_or_insert(Copies { room, total: 0 });
    }

    /// Bytes of user memory that were copied before they went out.
    pub(super) fn copied(&self) -> u64 {
        self.burst.copies.as_ref().map_or(0, |copies| copies.total)
    }

    /// Sends a frame, with others of its sort. The body must stay where it is until
    /// [`Lines::flush`]; if it is `users`, it is copied where the wire was told to.
    ///
    /// # Safety
    /// `body` must be readable for `length` bytes, at most `u16::MAX`.
    #[inline]
    unsafe fn gather(
        &mut self,
        to: To,
        header: &[u8; HEADER_BYTES],
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
            // SAFETY: readable, as promised; nobody but this burst has the room.
            unsafe { std::ptr::copy_nonoverlapping(body, room.as_mut_ptr(), length) };
            (body, copies.total) = (room.as_ptr(), copies.total + length as u64);
        }
        burst.to = to;
        burst.bytes += HEADER_BYTES + length;
        burst.frames.push(Frame { header: *header, body, length });
        true
    }

    /// Whether messages that have been gathered may wait for others, if `under_way` frames to their
    /// peer are not acknowledged.
    #[inline]
    pub(super) fn may_wait(&self, under_way: usize) -> bool {
        let gathered = self.burst.frames.len();
        gathered < TRAIN && under_way >= TRAIN + gathered
    }

    /// Sends what has been gathered. What the interface does not take is kept as a copy, and goes
    /// before anything else.
    #[inline]
    pub(super) fn flush(&mut self) {
        if !self.burst.frames.is_empty() {
            self.flush_some();
        }
    }

    fn flush_some(&mut self) {
        let Burst { to, frames, .. } = &mut self.burst;
        if let Some((interface, way)) = self.ways.of(*to) {
            let (output, kept) = (&mut self.outputs[usize::from(*interface)], &mut self.kept[usize::from(*interface)]);
            // SAFETY: bodies lie in regions and messages that have not ended since they were
            // gathered: `Desk` flushes before.
            let taken = unsafe { to.send(output, way, frames) };
            kept.extend(frames[taken..].iter().map(|frame| {
                // SAFETY: as above.
                let body = unsafe { std::slice::from_raw_parts(frame.body, frame.length) };
                Kept { to: *to, way: *way, header: frame.header, body: body.into() }
            }));
        }
        frames.clear();
        self.burst.bytes = 0;
    }

    /// Tries again what was kept. True when something went.
    pub(super) fn retry(&mut self) -> bool {
        let mut moved = false;
        for (output, kept) in self.outputs.iter_mut().zip(&mut self.kept) {
            let mut gone = 0;
            for Kept { to, way, header, body } in kept.iter() {
                let frame = [Frame { header: *header, body: body.as_ptr(), length: body.len() }];
                // SAFETY: the body is a slice.
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

/// Everything that the protocol's names stand for.
#[derive(Default)]
pub(super) struct Holdings {
    pub(super) messages: Messages,
    pub(super) origins: Table<Origin>,
    pub(super) destinations: Table<Destination>,
    /// By rank: a message of which the first parts are here.
    pub(super) parts: Vec<Vec<u8>>,
    pub(super) ends: Vec<End>,
    /// Targets that have everything and wait for a device.
    pub(super) unsettled: Vec<u64>,
    pub(super) groups: Groups,
}

impl Holdings {
    fn complete(&mut self, name: u64) {
        let Some(destination) = self.destinations.of(name) else { return };
        // SAFETY: the target lives until its end has been reported.
        if !unsafe { destination.settle() } {
            self.unsettled.push(name);
        } else if let Some(destination) = self.destinations.take(name) {
            self.ends.push(End::Pulled(destination.token));
        }
    }

    /// Asks devices again.
    pub(super) fn settle(&mut self) {
        for name in std::mem::take(&mut self.unsettled) {
            self.complete(name);
        }
    }

    /// All that has to do with a peer ends, without a report.
    fn forget(&mut self, peer: u32) {
        self.messages.forget(peer);
        self.origins.take_all(|origin| origin.to == peer);
        self.unsettled.retain(|name| self.destinations.of(*name).is_some_and(|destination| destination.from != peer));
        self.destinations.take_all(|destination| destination.from == peer);
        if let Some(parts) = self.parts.get_mut(peer as usize) {
            parts.clear();
        }
    }
}

/// One call of the protocol: where its frames go and who hears of messages.
pub(super) struct Desk<'a, S> {
    pub(super) lines: &'a mut Lines,
    pub(super) holdings: &'a mut Holdings,
    pub(super) sink: &'a mut S,
}

impl<S: Sink> Desk<'_, S> {
    fn arrived(&mut self, from: u32, message: &[u8]) {
        if let Some((header, payload)) = split(message) {
            self.sink.arrived(PeerIndex(from), &header, payload.as_ptr(), payload.len());
        }
    }
}

impl<S: Sink> Outlet for Desk<'_, S> {
    #[inline]
    fn send(&mut self, to: u32, rail: u8, header: &[u8; HEADER_BYTES], body: Body<'_>) -> bool {
        let (pointer, length) = match body {
            Body::Own(bytes) => (bytes.as_ptr(), bytes.len()),
            Body::Message { buffer, offset, length } => {
                let body = self.holdings.messages.at(buffer).wrapping_add(offset as usize);
                // SAFETY: a part of a message whose memory is not used again before `Outlet::sent`,
                // which flushes.
                return unsafe { self.lines.gather(To::Train(to, rail), header, (body, usize::from(length)), false) };
            }
            Body::Region { token, offset, length } => {
                let Some(origin) = self.holdings.origins.of(token) else { return true };
                let length = usize::from(length);
                // Making bytes may move those that wait to go out.
                if origin.must_make(offset, length) {
                    self.lines.flush();
                }
                // SAFETY: whoever published the region keeps it alive until its end is reported.
                return match unsafe { origin.at(offset, length) } {
                    At::Here(pointer) => {
                        let users = origin.is_users();
                        // SAFETY: so many bytes of the region lie there; the length came as 16
                        // bits.
                        unsafe { self.lines.gather(To::Bulk(to, rail), header, (pointer, length), users) }
                    }
                    At::Later => false,
                    At::Never => true,
                };
            }
        };
        // SAFETY: a slice, or a part of a message that waits to be acknowledged.
        unsafe { self.lines.send(to, rail, header, pointer, length) }
    }

    fn broadcast(&mut self, group: u32, header: &[u8; HEADER_BYTES], body: Body<'_>) -> bool {
        let Body::Message { buffer, offset, length } = body else { return true };
        let pointer = self.holdings.messages.at(buffer).wrapping_add(offset as usize);
        // SAFETY: a part of a message that waits for its members.
        unsafe { self.lines.gather(To::Group(group), header, (pointer, usize::from(length)), false) }
    }

    #[inline]
    fn message(&mut self, from: u32, part: Part<'_>) {
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
        // A frame that goes out again may have been answered already.
        self.lines.flush();
        self.holdings.messages.end(buffer);
    }

    fn bulk(&mut self, _from: u32, token: u64, offset: u64, bytes: &[u8]) {
        if let Some(destination) = self.holdings.destinations.of(token) {
            // SAFETY: whoever started the pull keeps its target alive until its end is reported.
            unsafe { destination.put(offset, bytes) };
        }
    }

    fn pulled(&mut self, _from: u32, token: u64) {
        self.holdings.complete(token);
    }

    fn released(&mut self, _to: u32, token: u64) {
        self.lines.flush();
        if let Some(origin) = self.holdings.origins.take(token) {
            self.holdings.ends.push(End::Released(origin.token));
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
        self.holdings.ends.push(End::Lost(peer));
    }
}
