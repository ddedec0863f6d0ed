//! A machine of many ranks in one process and one thread: every rank has its own mapping of one memory file and its
//! own wires. Messages carry their number, length and a pattern, so that order and content are checked on arrival.

use std::collections::{HashMap, VecDeque};

use towpath_base::ids::PeerIndex;
use towpath_base::transfer::{Drain, Fill, Source, Step, Target};
use towpath_machine::memory::create_file;
use towpath_transport::shm::Settings;
use towpath_transport::{Header, RegionKey, SHORT_BYTES, Segment, Sink, Wire, Wires};

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

/// A packer that hands out odd pieces and now and then asks to be called again.
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
        // SAFETY: `piece` bytes are left, and fit.
        unsafe { std::ptr::copy_nonoverlapping(self.bytes.as_ptr().add(self.at), into, piece) };
        self.at += piece;
        Step::Done(piece)
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
        // SAFETY: `piece` bytes fit.
        unsafe {
            std::ptr::copy_nonoverlapping(from, self.into, piece);
            self.into = self.into.add(piece);
        }
        self.room -= piece;
        Step::Done(length)
    }
}

/// One message that waits to be sent.
struct Order {
    to: usize,
    number: u64,
    length: usize,
    wanted: usize,
    packed: bool,
}

struct Pulled {
    from: usize,
    number: u64,
    buffer: Vec<u8>,
}

#[derive(Default)]
struct Rank {
    outbox: VecDeque<Order>,
    numbers: HashMap<usize, u64>,
    expected: HashMap<usize, u64>,
    announced: Vec<(usize, u64, usize, bool, RegionKey)>,
    pulls: HashMap<u64, Pulled>,
    published: HashMap<u64, Vec<u8>>,
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
        // SAFETY: the wire lends `length` readable bytes.
        let payload = unsafe { std::slice::from_raw_parts(payload, length) };
        if header.protocol == MESSAGE {
            assert_eq!(header.words[1], length as u64);
            let right = payload.iter().enumerate().all(|(i, b)| *b == pattern(from, self.own, header.words[0], i));
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
    fn released(&mut self, token: u64) {
        assert!(self.rank.published.remove(&token).is_some(), "token {token} released twice");
        self.rank.released += 1;
    }
    fn pulled(&mut self, token: u64) {
        let pulled = self.rank.pulls.remove(&token).expect("pulled twice");
        assert_eq!(pulled.buffer, bytes(pulled.from, self.own, pulled.number, pulled.buffer.len()));
        self.rank.completed += 1;
    }
    fn lost(&mut self, peer: PeerIndex) {
        self.rank.lost.push(peer);
    }
}

/// All ranks, with their wires.
pub(crate) struct Machine {
    wires: Vec<Wires>,
    ranks: Vec<Rank>,
    sent: usize,
    refusals: usize,
}

impl Machine {
    pub(crate) fn new(ranks: usize, settings: Settings) -> Machine {
        let file = create_file("towpath-conformance").unwrap();
        let wire = |own| Wires::with_settings(Segment::map(&file, ranks, own).unwrap(), settings);
        Machine {
            wires: (0..ranks).map(wire).collect(),
            ranks: (0..ranks).map(|_| Rank::default()).collect(),
            sent: 0,
            refusals: 0,
        }
    }

    pub(crate) fn wire(&mut self, rank: usize) -> &mut Wires {
        &mut self.wires[rank]
    }

    pub(crate) fn refusals(&self) -> usize {
        self.refusals
    }

    pub(crate) fn send(&mut self, from: usize, to: usize, length: usize) {
        self.order(from, to, length, length, false);
    }

    /// Publishes `length` bytes of which the receiver wants only some.
    pub(crate) fn send_cut(&mut self, from: usize, to: usize, length: usize, wanted: usize) {
        self.order(from, to, length, wanted, false);
    }

    pub(crate) fn send_packed(&mut self, from: usize, to: usize, length: usize) {
        self.order(from, to, length, length, true);
    }

    fn order(&mut self, from: usize, to: usize, length: usize, wanted: usize, packed: bool) {
        let number = self.ranks[from].numbers.entry(to).or_default();
        let order = Order { to, number: *number, length, wanted, packed };
        *number += 1;
        self.ranks[from].outbox.push_back(order);
        self.sent += 1;
        self.push_out(from);
    }

    pub(crate) fn withdraw_at_once(&mut self, from: usize, to: usize) -> bool {
        let peer = PeerIndex(to as u32);
        let bytes = vec![1; 100_000];
        // More regions than there are windows.
        (0..20).all(|_| {
            let source = Source::Bytes { pointer: bytes.as_ptr(), length: bytes.len() };
            // SAFETY: the bytes live until the region is withdrawn.
            let key = unsafe { self.wires[from].publish(peer, 0, source) };
            self.turn(from);
            let first = self.wires[from].withdraw(peer, key);
            first && !self.wires[from].withdraw(peer, key)
        })
    }

    pub(crate) fn publish_and_lose(&mut self, from: usize, to: usize) {
        let peer = PeerIndex(to as u32);
        self.ranks[from].published.insert(1 << 40, Vec::new());
        let source = Source::Bytes { pointer: std::ptr::null(), length: 0 };
        // SAFETY: nothing lies behind the source.
        unsafe { self.wires[from].publish(peer, 1 << 40, source) };
        self.wires[from].mark_lost(peer);
        self.turn(from);
        assert_eq!((self.ranks[from].released, &self.ranks[from].lost[..]), (1, &[peer][..]));
    }

    /// Sends what the wire takes.
    fn push_out(&mut self, from: usize) {
        let (rank, wire) = (&mut self.ranks[from], &mut self.wires[from]);
        let mut blocked: Vec<usize> = Vec::new();
        let mut kept = VecDeque::new();
        while let Some(order) = rank.outbox.pop_front() {
            if blocked.contains(&order.to) || !send_one(wire, rank, from, &order) {
                self.refusals += usize::from(!blocked.contains(&order.to));
                blocked.push(order.to);
                kept.push_back(order);
            }
        }
        rank.outbox = kept;
    }

    /// One turn of a rank: progress, pulls of what was announced, sends. True when something happened.
    pub(crate) fn turn(&mut self, own: usize) -> bool {
        let mut moved = self.wires[own].progress(&mut Inbox { own, rank: &mut self.ranks[own] });
        let (rank, wire) = (&mut self.ranks[own], &mut self.wires[own]);
        for (from, number, wanted, packed, key) in std::mem::take(&mut rank.announced) {
            let token = rank.next_token;
            rank.next_token += 1;
            let mut buffer = vec![0; wanted];
            let pointer = buffer.as_mut_ptr();
            let target = if packed {
                let drain = Box::new(SlowUnpacker { into: pointer, room: wanted, calls: 0 });
                Target::Unpacker { drain, length: wanted }
            } else {
                Target::Bytes { pointer, length: wanted }
            };
            rank.pulls.insert(token, Pulled { from, number, buffer });
            // SAFETY: the buffer lives in `pulls` until reported.
            unsafe { wire.pull(PeerIndex(from as u32), key, token, target) };
            moved = true;
        }
        let waiting = self.ranks[own].outbox.len();
        self.push_out(own);
        moved | (self.ranks[own].outbox.len() < waiting)
    }

    /// Turns all ranks until everything sent is received; fails when nothing moves any more.
    pub(crate) fn finish(&mut self, name: &str) {
        let mut still = 0;
        while still < 20 {
            let moved = (0..self.ranks.len()).fold(false, |moved, rank| self.turn(rank) | moved);
            still = if moved { 0 } else { still + 1 };
        }
        let completed: usize = self.ranks.iter().map(|rank| rank.completed).sum();
        assert_eq!(completed, self.sent, "{name}: messages are missing");
        for (own, rank) in self.ranks.iter().enumerate() {
            assert!(rank.published.is_empty(), "{name}: rank {own} waits for {} releases", rank.published.len());
            assert!(!self.wires[own].busy(), "{name}: the wire of rank {own} is busy after everything is done");
        }
    }
}

fn send_one(wire: &mut Wires, rank: &mut Rank, from: usize, order: &Order) -> bool {
    let to = PeerIndex(order.to as u32);
    let content = bytes(from, order.to, order.number, order.length);
    let whole = order.wanted == order.length && !order.packed;
    let header = Header { protocol: MESSAGE, words: [order.number, order.length as u64] };
    if whole && order.length <= SHORT_BYTES {
        // SAFETY: the payload lives during the call.
        return unsafe { wire.short(to, &header, content.as_ptr(), content.len()) }.is_ok();
    }
    if whole && order.length <= wire.copied_limit(to) {
        // SAFETY: the wire lends that many bytes.
        let fill = |slot: *mut u8| unsafe { std::ptr::copy_nonoverlapping(content.as_ptr(), slot, content.len()) };
        return wire.copied(to, &header, order.length, fill).is_ok();
    }
    let token = rank.next_token;
    let source = if order.packed {
        Source::Packer { fill: Box::new(SlowPacker { bytes: content.clone(), at: 0, calls: 0 }), length: order.length }
    } else {
        Source::Bytes { pointer: content.as_ptr(), length: order.length }
    };
    // SAFETY: the content lives in `published` until released; a vector's bytes stay where they are.
    let key = unsafe { wire.publish(to, token, source) };
    let words = [order.number, (order.wanted as u64) << 1 | u64::from(order.packed)];
    let announcement = Header { protocol: ANNOUNCEMENT, words };
    // SAFETY: the key lives during the call.
    if unsafe { wire.short(to, &announcement, key.0.as_ptr().cast(), 16) }.is_err() {
        assert!(wire.withdraw(to, key), "nobody can have pulled a region that was not announced");
        return false;
    }
    rank.next_token += 1;
    rank.published.insert(token, content);
    true
}
