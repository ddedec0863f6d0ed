//! A simulated machine of many ranks in one process and one thread. Every rank has its own mapping
//! of one memory file and its own wires. Messages carry their number, length and a pattern, so that
//! order and content are checked on arrival.

pub(crate) mod fabric;
pub(crate) mod network;

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use towpath_base::ids::PeerIndex;
use towpath_base::transfer::{Drain, Fill, MemorySpace, Source, Step, Target};
use towpath_machine::memory::create_file;
use towpath_shm::{Heap, Segment, Settings};
use towpath_strict as strict;
use towpath_transport::{Header, JobWire, Payload, RegionKey, SHORT_BYTES, Sink};
use towpath_wires::Wires;

const MESSAGE: u8 = 1;
const ANNOUNCEMENT: u8 = 2;

/// A seeded generator (xorshift).
pub(crate) struct Traffic(u64);

impl Traffic {
    pub(crate) fn new(seed: u64) -> Traffic {
        Traffic(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

/// Byte `index` of message `number` from `from` to `to`.
fn pattern(from: usize, to: usize, number: u64, index: usize) -> u8 {
    (index as u64 * 31 + number * 7 + from as u64 * 3 + to as u64 + (index as u64 >> 9)) as u8
}

fn bytes(from: usize, to: usize, number: u64, length: usize) -> Vec<u8> {
    (0..length).map(|index| pattern(from, to, number, index)).collect()
}

/// A packer that returns pieces of odd sizes and sometimes asks to be called again.
struct SlowPacker {
    bytes: Vec<u8>,
    at: usize,
    calls: usize,
}

// SAFETY: reads only its own vector and writes at most `capacity` bytes.
unsafe impl Fill for SlowPacker {
    unsafe fn fill(&mut self, into: *mut u8, capacity: usize) -> Step {
        self.calls += 1;
        if self.calls.is_multiple_of(3) {
            return Step::Pending;
        }
        let piece = capacity.min(self.bytes.len() - self.at).min(9_999);
        // SAFETY: the vector has `piece` bytes from `at` on, and `into` has room for them.
        unsafe { std::ptr::copy_nonoverlapping(self.bytes.as_ptr().add(self.at), into, piece) };
        self.at += piece;
        Step::Done(piece)
    }

    fn space(&self) -> MemorySpace {
        MemorySpace::Device
    }
}

struct SlowUnpacker {
    into: *mut u8,
    room: usize,
    calls: usize,
}

// SAFETY: writes at most `room` bytes to memory that the machine keeps until the pull is reported.
unsafe impl Drain for SlowUnpacker {
    unsafe fn drain(&mut self, from: *const u8, length: usize) -> Step {
        self.calls += 1;
        if self.calls.is_multiple_of(2) {
            return Step::Pending;
        }
        let piece = length.min(self.room);
        // SAFETY: `from` is readable for `piece` bytes, and `into` has room for them.
        unsafe {
            std::ptr::copy_nonoverlapping(from, self.into, piece);
            self.into = self.into.add(piece);
        }
        self.room -= piece;
        Step::Done(length)
    }

    fn space(&self) -> MemorySpace {
        MemorySpace::Device
    }
}

/// Memory of a message: private, or a block of a heap.
enum Memory {
    Own(Vec<u8>),
    Block(*mut u8, usize),
}

impl Memory {
    /// `length` zeroed bytes, from the heap if there is one with room for them.
    fn new(heap: &mut Option<Heap>, length: usize) -> Memory {
        let block = heap.as_mut().and_then(|heap| heap.allocate(length, 1));
        block.map_or_else(|| Memory::Own(vec![0; length]), |block| Memory::Block(block, length))
    }

    fn bytes(&mut self) -> &mut [u8] {
        match self {
            Memory::Own(bytes) => bytes,
            // SAFETY: the block has that length, and only this `Memory` refers to it.
            Memory::Block(block, length) => unsafe {
                std::slice::from_raw_parts_mut(*block, *length)
            },
        }
    }

    fn free(self, heap: &mut Option<Heap>) {
        if let (Memory::Block(block, _), Some(heap)) = (self, heap) {
            assert!(heap.free(block));
        }
    }
}

/// A message that waits to be sent.
struct Order {
    to: usize,
    number: u64,
    length: usize,
    wanted: usize,
    packed: bool,
    unpacked: bool,
}

struct Pulled {
    from: usize,
    number: u64,
    buffer: Memory,
}

#[derive(Default)]
struct Rank {
    outbox: VecDeque<Order>,
    numbers: HashMap<usize, u64>,
    expected: HashMap<usize, u64>,
    announced: Vec<(usize, u64, usize, bool, RegionKey)>,
    pulls: HashMap<u64, Pulled>,
    published: HashMap<u64, Memory>,
    heap: Option<Heap>,
    next_token: u64,
    arrived: usize,
    completed: usize,
    released: usize,
    lost: Vec<PeerIndex>,
}

struct Inbox<'a> {
    own: usize,
    rank: &'a mut Rank,
}

impl Sink for Inbox<'_> {
    fn arrived(&mut self, from: PeerIndex, header: &Header, payload: *const u8, length: usize) {
        let from = from.slot();
        let expected = self.rank.expected.entry(from).or_default();
        assert_eq!(header.words[0], *expected, "message out of order from {from} to {}", self.own);
        *expected += 1;
        self.rank.arrived += 1;
        // SAFETY: `payload` is readable for `length` bytes.
        let payload = unsafe { std::slice::from_raw_parts(payload, length) };
        if header.protocol == MESSAGE {
            assert_eq!(header.words[1], length as u64);
            let right = payload
                .iter()
                .enumerate()
                .all(|(i, b)| *b == pattern(from, self.own, header.words[0], i));
            assert!(right, "message {} from {from} to {} is damaged", header.words[0], self.own);
            self.rank.completed += 1;
        } else {
            assert_eq!(header.protocol, ANNOUNCEMENT);
            let word = |at: usize| u64::from_ne_bytes(payload[at..at + 8].try_into().unwrap());
            let key = RegionKey([word(0), word(8)]);
            let (wanted, packed) = (header.words[1] >> 1, header.words[1] & 1 == 1);
            self.rank.announced.push((from, header.words[0], wanted as usize, packed, key));
        }
    }
    fn arriving(&mut self, from: PeerIndex, header: &Header, payload: impl Payload) {
        let length = payload.length();
        let mut bytes = vec![0; length];
        // SAFETY: `bytes` has room for `length` bytes.
        unsafe { payload.copy_to(bytes.as_mut_ptr(), length) };
        self.arrived(from, header, bytes.as_ptr(), length);
    }
    fn released(&mut self, token: u64) {
        let memory = self
            .rank
            .published
            .remove(&token)
            .unwrap_or_else(|| panic!("token {token} released twice"));
        memory.free(&mut self.rank.heap);
        self.rank.released += 1;
    }
    fn pulled(&mut self, token: u64) {
        let mut pulled = self.rank.pulls.remove(&token).expect("pulled twice");
        let length = pulled.buffer.bytes().len();
        assert!(
            pulled.buffer.bytes() == bytes(pulled.from, self.own, pulled.number, length),
            "a pull is damaged"
        );
        pulled.buffer.free(&mut self.rank.heap);
        self.rank.completed += 1;
    }
    fn lost(&mut self, peer: PeerIndex) {
        self.rank.lost.push(peer);
    }
}

/// One rank with its wire.
pub(crate) struct Station<W> {
    own: usize,
    wire: W,
    rank: Rank,
    refusals: usize,
}

impl<W: JobWire> Station<W> {
    pub(crate) fn new(own: usize, wire: W) -> Station<W> {
        Station { own, wire, rank: Rank::default(), refusals: 0 }
    }

    pub(crate) fn wire(&mut self) -> &mut W {
        &mut self.wire
    }

    /// Number of completely received messages.
    pub(crate) fn completed(&self) -> usize {
        self.rank.completed
    }

    /// True if everything that this rank has sent is transferred.
    pub(crate) fn is_through(&self) -> bool {
        self.rank.outbox.is_empty() && self.rank.published.is_empty() && !self.wire.busy()
    }

    pub(crate) fn send(&mut self, to: usize, length: usize) {
        self.order(to, length, length, false);
    }

    fn order(&mut self, to: usize, length: usize, wanted: usize, packed: bool) {
        let number = self.rank.numbers.entry(to).or_default();
        let order = Order { to, number: *number, length, wanted, packed, unpacked: packed };
        *number += 1;
        self.rank.outbox.push_back(order);
        self.push_out();
    }

    fn order_unpacked(&mut self, to: usize, length: usize) {
        let number = self.rank.numbers.entry(to).or_default();
        self.rank.outbox.push_back(Order {
            to,
            number: *number,
            length,
            wanted: length,
            packed: false,
            unpacked: true,
        });
        *number += 1;
        self.push_out();
    }

    /// Sends what the wire accepts, until it has refused a message to each destination.
    fn push_out(&mut self) {
        let mut blocked: Vec<usize> = Vec::new();
        let mut kept = Vec::new();
        while blocked.len() < self.rank.numbers.len() {
            let Some(order) = self.rank.outbox.pop_front() else { break };
            let refused = blocked.contains(&order.to);
            if refused || !send_one(&mut self.wire, &mut self.rank, self.own, &order) {
                self.refusals += usize::from(!refused);
                blocked.extend((!refused).then_some(order.to));
                kept.push(order);
            }
        }
        for order in kept.into_iter().rev() {
            self.rank.outbox.push_front(order);
        }
    }

    /// Makes progress, pulls announced regions, sends. True if anything happened.
    pub(crate) fn turn(&mut self) -> bool {
        let mut moved = self.wire.progress(&mut Inbox { own: self.own, rank: &mut self.rank });
        for (from, number, wanted, packed, key) in std::mem::take(&mut self.rank.announced) {
            let token = self.rank.next_token;
            self.rank.next_token += 1;
            let mut buffer = Memory::new(&mut self.rank.heap, wanted);
            let pointer = buffer.bytes().as_mut_ptr();
            let target = if packed {
                let drain = Box::new(SlowUnpacker { into: pointer, room: wanted, calls: 0 });
                Target::Unpacker { drain, length: wanted }
            } else {
                Target::Bytes { pointer, length: wanted }
            };
            self.rank.pulls.insert(token, Pulled { from, number, buffer });
            // SAFETY: the buffer stays in `pulls` until the pull is reported.
            unsafe { self.wire.pull(PeerIndex(from as u32), key, token, target) };
            moved = true;
        }
        let waiting = self.rank.outbox.len();
        self.push_out();
        moved | (self.rank.outbox.len() < waiting)
    }
}

/// All ranks, with their wires, in one thread.
pub(crate) struct Machine<W> {
    stations: Vec<Station<W>>,
    sent: usize,
    /// The number of idle rounds after which missing messages count as lost, and the length of an
    /// idle round.
    patience: (u32, Duration),
}

/// For wires on which everything sent arrives at once.
const AT_ONCE: (u32, Duration) = (20, Duration::ZERO);
/// For wires on which the kernel delivers it later.
const IN_TIME: (u32, Duration) = (30_000, Duration::from_millis(1));

/// The wires of `ranks` ranks, each with its own mapping of one memory file.
pub(crate) fn wires(ranks: usize, settings: Settings) -> Vec<Wires> {
    let file = create_file("towpath-conformance").unwrap();
    let wire = |own| Wires::with_settings(Segment::map(&file, ranks, own).unwrap(), settings);
    (0..ranks).map(wire).collect()
}

/// Like [`wires`], in the strict mode.
pub(crate) fn strict_wires(ranks: usize, settings: &strict::Settings) -> Vec<Wires> {
    let file = create_file("towpath-conformance").unwrap();
    (0..ranks)
        .map(|own| Wires::strict(Segment::map(&file, ranks, own).unwrap(), settings).unwrap())
        .collect()
}

impl<W: JobWire> Machine<W> {
    /// Allocates large messages of these ranks in heaps.
    pub(crate) fn use_heaps(&mut self, heaps: impl IntoIterator<Item = Option<Heap>>) {
        for (station, heap) in self.stations.iter_mut().zip(heaps) {
            station.rank.heap = heap;
        }
    }

    pub(crate) fn turns(&mut self, rank: usize, count: usize) {
        for _ in 0..count {
            self.turn(rank);
        }
    }

    /// Completely received messages of all ranks.
    pub(crate) fn completed(&self) -> usize {
        self.stations.iter().map(Station::completed).sum()
    }

    /// Number of regions of a rank that are not released.
    pub(crate) fn published(&self, rank: usize) -> usize {
        self.stations[rank].rank.published.len()
    }

    pub(crate) fn new(wires: impl IntoIterator<Item = W>) -> Machine<W> {
        let stations =
            wires.into_iter().enumerate().map(|(own, wire)| Station::new(own, wire)).collect();
        Machine { stations, sent: 0, patience: AT_ONCE }
    }

    /// For wires that use sockets.
    pub(crate) fn over_sockets(mut self) -> Machine<W> {
        self.patience = IN_TIME;
        self
    }

    pub(crate) fn wire(&mut self, rank: usize) -> &mut W {
        self.stations[rank].wire()
    }

    pub(crate) fn refusals(&self) -> usize {
        self.stations.iter().map(|station| station.refusals).sum()
    }

    pub(crate) fn send(&mut self, from: usize, to: usize, length: usize) {
        self.sent += 1;
        self.stations[from].send(to, length);
    }

    /// Publishes `length` bytes, of which the receiver wants only `wanted`.
    pub(crate) fn send_cut(&mut self, from: usize, to: usize, length: usize, wanted: usize) {
        self.sent += 1;
        self.stations[from].order(to, length, wanted, false);
    }

    pub(crate) fn send_packed(&mut self, from: usize, to: usize, length: usize) {
        self.sent += 1;
        self.stations[from].order(to, length, length, true);
    }

    /// Sends contiguous bytes to an unpacker.
    pub(crate) fn send_unpacked(&mut self, from: usize, to: usize, length: usize) {
        self.sent += 1;
        self.stations[from].order_unpacked(to, length);
    }

    pub(crate) fn withdraw_at_once(&mut self, from: usize, to: usize) -> bool {
        let peer = PeerIndex(to as u32);
        let heap = &mut self.stations[from].rank.heap;
        let mut memory = Memory::new(heap, 200_000);
        let (pointer, length) = (memory.bytes().as_ptr(), 200_000);
        // More regions than there are bounce buffers and lines for split copies.
        let all = (0..100).all(|_| {
            let source = Source::Bytes { pointer, length };
            // SAFETY: `memory` lives until the region is withdrawn.
            let key = unsafe { self.wire(from).publish(peer, 0, source) };
            self.turn(from);
            let first = self.wire(from).withdraw(peer, key);
            first && !self.wire(from).withdraw(peer, key)
        });
        memory.free(&mut self.stations[from].rank.heap);
        all
    }

    pub(crate) fn publish_and_lose(
        &mut self,
        from: usize,
        to: usize,
        lose: impl Fn(&mut W, PeerIndex),
    ) {
        let peer = PeerIndex(to as u32);
        let bytes = vec![1; 100_000];
        for token in 0..10 {
            self.stations[from].rank.published.insert(1 << 40 | token, Memory::Own(Vec::new()));
            let source = Source::Bytes { pointer: bytes.as_ptr(), length: bytes.len() };
            // SAFETY: `bytes` lives until the loss has ended the region.
            unsafe { self.wire(from).publish(peer, 1 << 40 | token, source) };
        }
        self.turn(from);
        lose(self.wire(from), peer);
        self.turn(from);
        let rank = &mut self.stations[from].rank;
        rank.published.clear();
        assert_eq!(&rank.lost[..], &[peer]);
        assert_eq!(rank.released, 0, "regions for a dead peer ended as if it had taken them");
        assert!(!self.wire(from).busy(), "something is still promised to the dead peer");
    }

    pub(crate) fn turn(&mut self, own: usize) -> bool {
        self.stations[own].turn()
    }

    /// True if everything sent is received and no rank has work left.
    fn is_through(&self) -> bool {
        self.completed() == self.sent && self.stations.iter().all(Station::is_through)
    }

    /// Runs all ranks until everything sent is received; fails if there is no progress any more.
    pub(crate) fn finish(&mut self, name: &str) {
        let (most, pause) = self.patience;
        let mut still = 0;
        while still < most && !(pause > Duration::ZERO && self.is_through()) {
            let moved = (0..self.stations.len()).fold(false, |moved, rank| self.turn(rank) | moved);
            still = if moved { 0 } else { still + 1 };
            if !moved {
                std::thread::sleep(pause);
            }
        }
        let completed: usize = self.stations.iter().map(Station::completed).sum();
        assert_eq!(completed, self.sent, "{name}: messages are missing");
        for station in &self.stations {
            assert!(
                station.is_through(),
                "{name}: rank {} owes something after everything is done",
                station.own
            );
        }
    }
}

fn send_one(wire: &mut impl JobWire, rank: &mut Rank, from: usize, order: &Order) -> bool {
    let to = PeerIndex(order.to as u32);
    let content = bytes(from, order.to, order.number, order.length);
    let whole = order.wanted == order.length && !order.unpacked;
    let header = Header { protocol: MESSAGE, words: [order.number, order.length as u64] };
    if whole && order.length <= SHORT_BYTES {
        // SAFETY: `content` lives during the call.
        return unsafe { wire.short(to, &header, content.as_ptr(), content.len()) }.is_ok();
    }
    if whole && order.number.is_multiple_of(2) && order.length <= wire.copied_contiguous_limit(to) {
        // SAFETY: `content` lives during the call.
        let taken =
            unsafe { wire.copied_contiguous(to, &header, content.as_ptr(), content.len()) }.is_ok();
        // A message longer than the other limit may be refused forever.
        if taken || order.length <= wire.copied_limit(to) {
            return taken;
        }
    }
    if whole && order.length <= wire.copied_limit(to) {
        // SAFETY: `slot` has room for `order.length` bytes, which is the length of `content`.
        let fill = |slot: *mut u8| unsafe {
            std::ptr::copy_nonoverlapping(content.as_ptr(), slot, content.len())
        };
        return wire.copied(to, &header, order.length, fill).is_ok();
    }
    let token = rank.next_token;
    let mut memory = Memory::new(&mut rank.heap, content.len());
    memory.bytes().copy_from_slice(&content);
    let source = if order.packed {
        Source::Packer {
            fill: Box::new(SlowPacker { bytes: content.clone(), at: 0, calls: 0 }),
            length: order.length,
        }
    } else {
        Source::Bytes { pointer: memory.bytes().as_ptr(), length: order.length }
    };
    // SAFETY: the memory stays in `published` until it is released, and moving a vector does not
    // move its bytes.
    let key = unsafe { wire.publish(to, token, source) };
    let words = [order.number, (order.wanted as u64) << 1 | u64::from(order.unpacked)];
    let announcement = Header { protocol: ANNOUNCEMENT, words };
    // SAFETY: `key` lives during the call and has 16 bytes.
    if unsafe { wire.short(to, &announcement, key.0.as_ptr().cast(), 16) }.is_err() {
        assert!(wire.withdraw(to, key), "nobody can have pulled a region that was not announced");
        memory.free(&mut rank.heap);
        return false;
    }
    rank.next_token += 1;
    rank.published.insert(token, memory);
    true
}
