//! A wire for tests: any number of processes in one thread, connected by queues and deterministic
//! for a given seed.
//!
//! It provides no more than the contract of [`Wire`] guarantees: it refuses sends at random,
//! delivers late (but each pair in order), pulls regions in odd pieces, and can lose a peer.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use towpath_base::ids::PeerIndex;
use towpath_base::transfer::{Source, Step, Target};
use towpath_transport::{
    Choice, Cost, Header, JobWire, MemoryWire, MessageWire, NoResource, RegionKey, RegionWire,
    SHORT_BYTES, Sink, Wire,
};

/// A small deterministic generator (splitmix64, Steele, Lea and Flood 2014).
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which must not be 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.bits() % bound
    }

    /// True with a probability of `percent` percent.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// Behaviour of a network of test wires.
#[derive(Clone, Copy, Debug)]
pub struct Manners {
    /// Seed of all random decisions.
    pub seed: u64,
    /// Number of messages that fit between two processes.
    pub capacity: usize,
    /// Percentage of sends that are refused although there is room.
    pub refuse: u64,
    /// Percentage of opportunities to deliver a message that are skipped.
    pub delay: u64,
    /// Largest copied message in bytes.
    pub copied_limit: usize,
    /// Largest piece of a pull in bytes.
    pub piece: usize,
}

impl Manners {
    /// Large queues, no refusals, no delays.
    pub const PLAIN: Manners = Manners {
        seed: 1,
        capacity: 1 << 20,
        refuse: 0,
        delay: 0,
        copied_limit: 4096,
        piece: usize::MAX,
    };
    /// Small queues, refusals, delays, odd pieces.
    pub const ROUGH: Manners =
        Manners { seed: 1, capacity: 7, refuse: 20, delay: 30, copied_limit: 900, piece: 10_007 };
}

/// Header and payload in flight.
type Packet = (Header, Vec<u8>);

struct TestRegion {
    source: Source,
    token: u64,
    pulling: bool,
}

struct Shared {
    size: usize,
    manners: Manners,
    random: Random,
    /// Indexed by receiver, then by sender.
    queues: Vec<Vec<VecDeque<Packet>>>,
    regions: Vec<HashMap<u64, TestRegion>>,
    released: Vec<Vec<u64>>,
    /// Peers that are gone, and whether each left properly.
    gone: Vec<Vec<(PeerIndex, bool)>>,
    next_key: u64,
}

/// The network behind a set of test wires.
#[derive(Clone)]
pub struct TestNetwork(Rc<RefCell<Shared>>);

impl TestNetwork {
    /// Creates a network of `size` processes.
    pub fn new(size: usize, manners: Manners) -> TestNetwork {
        TestNetwork(Rc::new(RefCell::new(Shared {
            size,
            manners,
            random: Random(manners.seed),
            queues: (0..size).map(|_| (0..size).map(|_| VecDeque::new()).collect()).collect(),
            regions: (0..size).map(|_| HashMap::new()).collect(),
            released: vec![Vec::new(); size],
            gone: vec![Vec::new(); size],
            next_key: 1,
        })))
    }

    /// The wire of process `me`.
    pub fn wire(&self, me: usize) -> TestWire {
        TestWire { me, network: self.clone(), pulls: Vec::new() }
    }

    /// Makes process `gone` fail: what it has sent still arrives, then the others are notified.
    pub fn lose(&self, gone: usize) {
        self.end(gone, false);
    }

    /// Like [`TestNetwork::lose`], for a process that leaves properly.
    pub fn leave(&self, gone: usize) {
        self.end(gone, true);
    }

    fn end(&self, process: usize, in_order: bool) {
        let shared = &mut *self.0.borrow_mut();
        for (_, gone) in shared.gone.iter_mut().enumerate().filter(|(me, _)| *me != process) {
            gone.push((PeerIndex(process as u32), in_order));
        }
    }
}

struct TestPull {
    from: PeerIndex,
    key: u64,
    token: u64,
    target: Target,
    /// Bytes that the target has not accepted yet.
    held: Vec<u8>,
}

/// One process's end of a [`TestNetwork`].
pub struct TestWire {
    me: usize,
    network: TestNetwork,
    pulls: Vec<TestPull>,
}

impl TestWire {
    fn send(
        &self,
        to: PeerIndex,
        header: &Header,
        fill: impl FnOnce() -> Vec<u8>,
    ) -> Result<(), NoResource> {
        let shared = &mut *self.network.0.borrow_mut();
        let refuse = shared.manners.refuse;
        if shared.queues[to.slot()][self.me].len() >= shared.manners.capacity
            || refuse > 0 && shared.random.chance(refuse)
        {
            return Err(NoResource);
        }
        shared.queues[to.slot()][self.me].push_back((*header, fill()));
        Ok(())
    }

    /// The next message to deliver, from a process chosen at random.
    fn next(&self) -> Option<(PeerIndex, Header, Vec<u8>)> {
        let shared = &mut *self.network.0.borrow_mut();
        let start = if shared.manners.delay > 0 {
            shared.random.below(shared.size as u64) as usize
        } else {
            0
        };
        for step in 0..shared.size {
            let from = (start + step) % shared.size;
            if shared.queues[self.me][from].is_empty()
                || shared.manners.delay > 0 && shared.random.chance(shared.manners.delay)
            {
                continue;
            }
            let (header, payload) = shared.queues[self.me][from].pop_front()?;
            return Some((PeerIndex(from as u32), header, payload));
        }
        None
    }

    /// Moves a piece of one pull. Returns whether anything moved, and whether the pull is complete.
    fn pull_piece(&mut self, which: usize) -> (bool, bool) {
        let shared = &mut *self.network.0.borrow_mut();
        let pull = &mut self.pulls[which];
        let Some(region) = shared.regions[pull.from.slot()].get_mut(&pull.key) else {
            return (true, true);
        };
        region.pulling = true;
        let wanted = pull.target.length().min(shared.manners.piece).min(1 << 16);
        let wanted = if shared.manners.delay > 0 && wanted > 0 {
            1 + shared.random.below(wanted as u64) as usize
        } else {
            wanted
        };
        let mut moved = 0;
        while moved < wanted {
            if pull.held.is_empty() {
                pull.held.resize(wanted - moved, 0);
                // SAFETY: `held` has room for that many bytes. The region is not released, so its
                // memory is still valid.
                let step = unsafe { region.source.fill(pull.held.as_mut_ptr(), wanted - moved) };
                assert_ne!(step, Step::Done(0), "a source ended before its length");
                pull.held.truncate(if let Step::Done(filled) = step { filled } else { 0 });
            }
            let length = pull.held.len();
            // SAFETY: `held` is readable for its length. The pull is not reported, so the memory
            // behind its target is still valid.
            let mut drain = || unsafe { pull.target.drain(pull.held.as_ptr(), length) };
            if length == 0 || drain() == Step::Pending {
                break;
            }
            pull.held.clear();
            moved += length;
        }
        if pull.target.length() > 0 {
            return (moved > 0, false);
        }
        if let Some(region) = shared.regions[pull.from.slot()].remove(&pull.key) {
            shared.released[pull.from.slot()].push(region.token);
        }
        (true, true)
    }
}

impl Wire for TestWire {
    type Peer = PeerIndex;

    fn cost(&self, to: PeerIndex) -> Cost {
        Cost { latency_ns: 1000, bandwidth: 1000, eager_limit: self.copied_limit(to) }
    }

    fn mark_lost(&mut self, peer: PeerIndex) {
        self.network.0.borrow_mut().gone[self.me].push((peer, false));
    }

    fn progress(&mut self, sink: &mut impl Sink) -> bool {
        let mut moved = false;
        let tokens = std::mem::take(&mut self.network.0.borrow_mut().released[self.me]);
        for token in tokens {
            sink.released(token);
            moved = true;
        }
        while let Some((from, header, payload)) = self.next() {
            sink.arrived(from, &header, payload.as_ptr(), payload.len());
            moved = true;
        }
        for which in (0..self.pulls.len()).rev() {
            let (some, all) = self.pull_piece(which);
            moved |= some;
            if all {
                sink.pulled(self.pulls.swap_remove(which).token);
            }
        }
        let gone = std::mem::take(&mut self.network.0.borrow_mut().gone[self.me]);
        for (peer, in_order) in gone {
            if self.network.0.borrow().queues[self.me][peer.slot()].is_empty() {
                self.pulls.retain(|pull| pull.from != peer);
                if in_order { sink.left(peer) } else { sink.lost(peer) }
            } else {
                self.network.0.borrow_mut().gone[self.me].push((peer, in_order));
            }
            moved = true;
        }
        moved
    }

    fn busy(&self) -> bool {
        !self.pulls.is_empty() || !self.network.0.borrow().regions[self.me].is_empty()
    }
}

impl MessageWire for TestWire {
    unsafe fn short(
        &mut self,
        to: PeerIndex,
        header: &Header,
        payload: *const u8,
        length: usize,
    ) -> Result<(), NoResource> {
        assert!(length <= SHORT_BYTES);
        let mut bytes = vec![0; length];
        // SAFETY: `payload` is readable for `length` bytes (this function's contract), and `bytes`
        // has room for them.
        unsafe { std::ptr::copy_nonoverlapping(payload, bytes.as_mut_ptr(), length) };
        self.send(to, header, || bytes)
    }

    fn copied_limit(&self, _to: PeerIndex) -> usize {
        self.network.0.borrow().manners.copied_limit
    }

    fn copied(
        &mut self,
        to: PeerIndex,
        header: &Header,
        length: usize,
        fill: impl FnOnce(*mut u8),
    ) -> Result<(), NoResource> {
        assert!(length <= self.copied_limit(to));
        self.send(to, header, || {
            let mut bytes = vec![0; length];
            fill(bytes.as_mut_ptr());
            bytes
        })
    }

    fn poll_front(
        &mut self,
        mut take: impl FnMut(PeerIndex, &Header, *const u8, usize) -> Choice,
    ) -> bool {
        let shared = &mut *self.network.0.borrow_mut();
        for from in 0..shared.size {
            let queue = &mut shared.queues[self.me][from];
            while let Some((header, payload)) = queue.front() {
                let choice = take(PeerIndex(from as u32), header, payload.as_ptr(), payload.len());
                if choice == Choice::Leave {
                    break;
                }
                queue.pop_front();
                match choice {
                    Choice::Done => return false,
                    Choice::More => {}
                    _ => break,
                }
            }
        }
        // Sometimes true without reason, which callers must tolerate.
        shared.manners.delay > 0 && shared.random.chance(shared.manners.delay)
    }
}

/// Without registered memory.
impl MemoryWire for TestWire {}

impl RegionWire for TestWire {
    unsafe fn publish(&mut self, _to: PeerIndex, token: u64, source: Source) -> RegionKey {
        let shared = &mut *self.network.0.borrow_mut();
        let key = shared.next_key;
        shared.next_key += 1;
        shared.regions[self.me].insert(key, TestRegion { source, token, pulling: false });
        RegionKey([self.me as u64, key])
    }

    fn withdraw(&mut self, _to: PeerIndex, key: RegionKey) -> bool {
        let shared = &mut *self.network.0.borrow_mut();
        let idle = shared.regions[self.me].get(&key.0[1]).is_some_and(|region| !region.pulling);
        if idle {
            shared.regions[self.me].remove(&key.0[1]);
        }
        idle
    }

    unsafe fn pull(&mut self, from: PeerIndex, key: RegionKey, token: u64, target: Target) {
        assert_eq!(key.0[0], u64::from(from.0), "a key of another peer");
        self.pulls.push(TestPull { from, key: key.0[1], token, target, held: Vec::new() });
    }
}

impl JobWire for TestWire {
    fn own(&self) -> PeerIndex {
        PeerIndex(self.me as u32)
    }
}
