//! Processes on a [`Wire`], and the model of their transport's guarantees: messages arrive once and
//! in order, pulls return the right bytes, publications are released once and not read afterwards,
//! broadcasts reach all members, losses are reported once.

use std::collections::{HashMap, VecDeque};

use towpath_clic::credit;
use towpath_clic::frame::{self, HeaderBytes};
use towpath_clic::key::FrameKey;
use towpath_clic::multicast::MulticastGroup;
use towpath_clic::peer::Own;
use towpath_clic::rails::RailLink;
use towpath_clic::refusal::Refusals;
use towpath_clic::region::RegionName;
use towpath_clic::timer::{MICROSECOND, SECOND};
use towpath_clic::{Endpoint, FrameBody, Io, MessagePart, PeerCard, SendError, Settings, Time};

use crate::wire::{Random, Temper, Wire};

pub(crate) const KEY: FrameKey = FrameKey([0x1234_5678, 0x9abc_def0]);

const LONGEST_BROADCAST: u64 = 60_000;

/// Parameters of a world.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) ranks: usize,
    pub(crate) payloads: Vec<u16>,
    pub(crate) temper: Temper,
    pub(crate) seed: u64,
    /// Rails fail and recover.
    pub(crate) dying: bool,
    /// Processes know each other's incarnations in advance.
    pub(crate) known: bool,
    /// Some processes sleep now and then.
    pub(crate) sleepy: bool,
    /// Members of groups pre-post buffers before there are any broadcasts.
    pub(crate) ready: bool,
    /// Longest region in bytes.
    pub(crate) longest: u64,
    /// Average time between two actions.
    pub(crate) pace: Time,
}

struct Region {
    to: usize,
    bytes: Vec<u8>,
    pulled: bool,
}

struct Pull {
    from: usize,
    region: u64,
    target: Vec<u8>,
    wanted: usize,
}

/// What a process holds outside the state machines.
#[derive(Default)]
struct Side {
    /// Contents of messages, their receiver, and their number among the messages to it.
    buffers: HashMap<u64, (usize, u64, Vec<u8>)>,
    regions: HashMap<u64, Region>,
    /// Regions of earlier incarnations of the process.
    former_regions: HashMap<u64, Region>,
    pulls: HashMap<u64, Pull>,
    /// Announced regions that will be pulled later: when, from which peer, key, name of the region,
    /// wanted bytes.
    announced: VecDeque<(Time, usize, RegionName, u64, u64)>,
    /// By sender.
    assembling: HashMap<usize, Vec<u8>>,
    lost: HashMap<usize, usize>,
    expected_broadcasts: HashMap<u64, Vec<u8>>,
    asleep: bool,
}

/// Messages in flight, with the incarnation of their sender.
type Undelivered = VecDeque<(u32, Vec<u8>)>;

/// The expected behaviour of all processes.
#[derive(Default)]
struct Model {
    /// By sender and receiver.
    messages: HashMap<(usize, usize), Undelivered>,
    delivered: HashMap<(usize, usize), u64>,
    sent: HashMap<(usize, usize), u64>,
    broadcasts: HashMap<(u32, u64), Vec<u8>>,
    /// Members that a broadcast has not reached.
    awaited: HashMap<(u32, u64), usize>,
    names: u64,
    lives: Vec<u32>,
    done: Done,
}

/// Statistics of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Done {
    pub(crate) messages: u64,
    pub(crate) pulls: u64,
    pub(crate) pulled_bytes: u64,
    pub(crate) releases: u64,
    pub(crate) withdrawn: u64,
    pub(crate) broadcasts: u64,
    pub(crate) losses: u64,
    pub(crate) steps: u64,
}

pub(crate) struct World {
    pub(crate) now: Time,
    pub(crate) shape: Shape,
    pub(crate) wire: Wire,
    pub(crate) endpoints: Vec<Endpoint>,
    sides: Vec<Side>,
    model: Model,
    random: Random,
    /// The switch drops multicast frames.
    pub(crate) deaf: bool,
    next_action: Time,
    next_rail_change: Time,
    started: [Vec<u64>; 2],
}

struct Driver<'a> {
    me: usize,
    now: Time,
    ranks: usize,
    sides: &'a mut [Side],
    wire: &'a mut Wire,
    model: &'a mut Model,
    deaf: bool,
}

impl Io for Driver<'_> {
    fn send(&mut self, to: u32, rail: u8, header: &HeaderBytes, body: FrameBody<'_>) -> bool {
        let bytes = self.frame(header, body);
        self.wire.send(self.now, self.me, to as usize, rail, bytes)
    }

    fn broadcast(&mut self, _group: u32, header: &HeaderBytes, body: FrameBody<'_>) -> bool {
        let bytes = self.frame(header, body);
        for to in (0..self.ranks).filter(|to| *to != self.me && !self.deaf) {
            // What one port rejects is lost there, as in a switch.
            self.wire.send(self.now, self.me, to, 0, bytes.clone());
        }
        true
    }

    fn message(&mut self, from: u32, part: MessagePart<'_>) {
        let from = from as usize;
        let whole = self.sides[self.me].assembling.entry(from).or_default();
        assert_eq!(whole.len(), part.offset as usize, "parts come in order");
        whole.extend_from_slice(part.bytes);
        if whole.len() == part.total as usize {
            let whole = self.sides[self.me].assembling.remove(&from).unwrap();
            self.delivered(from, whole);
        }
    }

    fn sent(&mut self, to: u32, buffer: u64) {
        let (wanted, number, _) =
            self.sides[self.me].buffers.remove(&buffer).expect("a buffer is free once");
        assert_eq!(wanted, to as usize);
        let delivered = self.model.delivered.get(&(self.me, wanted)).copied().unwrap_or(0);
        assert!(delivered > number, "a buffer is not free before its message is there");
    }

    fn bulk(&mut self, from: u32, token: u64, offset: u64, bytes: &[u8]) {
        let pull =
            self.sides[self.me].pulls.get_mut(&token).expect("bytes of a pull that is under way");
        assert_eq!(pull.from, from as usize);
        pull.target[offset as usize..offset as usize + bytes.len()].copy_from_slice(bytes);
    }

    fn pulled(&mut self, from: u32, token: u64) {
        let pull = self.sides[self.me].pulls.remove(&token).expect("a pull is complete once");
        let side = &mut self.sides[from as usize];
        let region = side
            .regions
            .get_mut(&pull.region)
            .or_else(|| side.former_regions.get_mut(&pull.region));
        let region = region.expect(
            "the region is still there, or its last bytes were on the wire when its owner died",
        );
        assert!(pull.target[..] == region.bytes[..pull.wanted], "wrong bytes");
        region.pulled = true;
        self.model.done.pulls += 1;
        self.model.done.pulled_bytes += pull.wanted as u64;
    }

    fn released(&mut self, to: u32, token: u64) {
        let region = self.sides[self.me].regions.remove(&token).expect("a region is released once");
        assert!(region.to == to as usize && region.pulled, "released before it was pulled");
        self.model.done.releases += 1;
    }

    fn broadcast_part(&mut self, _group: u32, token: u64, offset: u32, bytes: &[u8]) {
        let target =
            self.sides[self.me].expected_broadcasts.get_mut(&token).expect("an expected broadcast");
        target[offset as usize..offset as usize + bytes.len()].copy_from_slice(bytes);
    }

    fn broadcast_done(&mut self, group: u32, token: u64, length: u32) {
        let target = self.sides[self.me]
            .expected_broadcasts
            .remove(&token)
            .expect("a broadcast is complete once");
        let number = token & 0xffff_ffff;
        assert!(
            target[..length as usize] == self.model.broadcasts[&(group, number)][..],
            "wrong bytes"
        );
        *self.model.awaited.get_mut(&(group, number)).unwrap() -= 1;
        self.model.done.broadcasts += 1;
    }

    fn broadcast_sent(&mut self, group: u32, buffer: u64) {
        let missing = self.model.awaited.remove(&(group, buffer)).expect("a buffer is free once");
        assert!(missing <= self.wire.dead.len(), "all have it who live");
    }

    fn lost(&mut self, peer: u32) {
        let peer = peer as usize;
        let side = &mut self.sides[self.me];
        *side.lost.entry(peer).or_default() += 1;
        side.buffers.retain(|_, (to, _, _)| *to != peer);
        side.regions.retain(|_, region| region.to != peer);
        side.pulls.retain(|_, pull| pull.from != peer);
        side.announced.retain(|announced| announced.1 != peer);
        side.assembling.remove(&peer);
        side.expected_broadcasts.retain(|token, _| token >> 32 != peer as u64);
        self.model.done.losses += 1;
        // Nothing that was sent before the loss arrives after it.
        self.model.messages.entry((self.me, peer)).or_default().clear();
        let life = self.model.lives[peer];
        self.model.messages.entry((peer, self.me)).or_default().retain(|message| message.0 == life);
    }
}

impl Driver<'_> {
    fn frame(&self, header: &HeaderBytes, body: FrameBody<'_>) -> Vec<u8> {
        let side = &self.sides[self.me];
        let range = |bytes: &[u8], offset: usize, length: u16| {
            [&header[..], &bytes[offset..offset + usize::from(length)]].concat()
        };
        match body {
            FrameBody::Own(bytes) => [&header[..], bytes].concat(),
            FrameBody::Message { buffer, offset, length } => match side.buffers.get(&buffer) {
                Some((_, _, bytes)) => range(bytes, offset as usize, length),
                None => {
                    let bytes = &self.model.broadcasts[&(self.me as u32, buffer)];
                    assert!(
                        self.model.awaited.contains_key(&(self.me as u32, buffer)),
                        "read after it was free"
                    );
                    range(bytes, offset as usize, length)
                }
            },
            FrameBody::Region { token, offset, length } => range(
                &side.regions.get(&token).expect("a region that lives").bytes,
                offset as usize,
                length,
            ),
        }
    }

    fn delivered(&mut self, from: usize, bytes: Vec<u8>) {
        let queue = self.model.messages.entry((from, self.me)).or_default();
        let (_, wanted) = queue.pop_front().expect("a message that was sent");
        assert!(wanted == bytes, "{from} -> {}: another message than the next in order", self.me);
        *self.model.delivered.entry((from, self.me)).or_default() += 1;
        self.model.done.messages += 1;
        if bytes.first() == Some(&1) && bytes.len() == 41 {
            let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
            let key =
                RegionName { slot: word(1) as u32, generation: word(9) as u32, length: word(17) };
            // Some receivers are slow.
            let at = if word(33) & 1 == 0 {
                self.now
            } else {
                self.now + word(33) % (500 * MICROSECOND)
            };
            self.sides[self.me].announced.push_back((at, from, key, word(25), word(33)));
        }
    }
}

fn content(seed: u64, length: usize) -> Vec<u8> {
    let mut random = Random(seed);
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        bytes.extend_from_slice(&random.next().to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

impl World {
    pub(crate) fn new(shape: Shape) -> World {
        let ranks = shape.ranks;
        let mut model = Model { lives: vec![1000; ranks], ..Model::default() };
        model.names = 1 << 32;
        let mut world = World {
            now: 1,
            wire: Wire::new(shape.temper, shape.seed),
            endpoints: vec![],
            sides: (0..ranks).map(|_| Side::default()).collect(),
            model,
            random: Random(shape.seed ^ 0xabcd),
            deaf: false,
            next_action: 1,
            next_rail_change: 1,
            started: [vec![0; ranks], vec![0; ranks * ranks]],
            shape,
        };
        world.endpoints = (0..ranks).map(|rank| world.endpoint(rank)).collect();
        if ranks > 2 {
            world.make_groups();
        }
        world
    }

    fn endpoint(&self, rank: usize) -> Endpoint {
        let lives = &self.model.lives;
        let own = Own {
            key: KEY,
            rank: rank as u32,
            endpoint: rank as u16 + 7,
            incarnation: lives[rank],
        };
        let mut endpoint = Endpoint::new(own, Settings::default());
        for peer in (0..self.shape.ranks).filter(|peer| *peer != rank) {
            let links = self
                .shape
                .payloads
                .iter()
                .map(|payload| RailLink { payload: *payload, speed: 0 })
                .collect();
            let incarnation = self.shape.known.then_some(lives[peer]);
            endpoint.add(&PeerCard {
                rank: peer as u32,
                endpoint: peer as u16 + 7,
                incarnation,
                links,
            });
        }
        endpoint
    }

    fn make_groups(&mut self) {
        let chunk = *self.shape.payloads.iter().min().unwrap();
        for root in 0..self.shape.ranks as u32 {
            let group = MulticastGroup { number: root, session: 99, root, chunk };
            let others: Vec<u32> =
                (0..self.shape.ranks as u32).filter(|rank| *rank != root).collect();
            self.endpoints[root as usize].add_root(group, &others);
            others.iter().for_each(|other| {
                self.endpoints[*other as usize].add_member(group, self.shape.ready)
            });
        }
    }

    fn call<T>(
        &mut self,
        me: usize,
        call: impl FnOnce(&mut Endpoint, Time, &mut Driver<'_>) -> T,
    ) -> T {
        let World { now, shape, wire, endpoints, sides, model, deaf, .. } = self;
        let mut driver =
            Driver { me, now: *now, ranks: shape.ranks, sides, wire, model, deaf: *deaf };
        call(&mut endpoints[me], *now, &mut driver)
    }

    fn name(&mut self) -> u64 {
        self.model.names += 1;
        self.model.names
    }

    /// Sends a message; false if there is no room.
    pub(crate) fn send(&mut self, from: usize, to: usize, bytes: Vec<u8>) -> bool {
        let (name, length) = (self.name(), bytes.len() as u32);
        let number = *self.model.sent.entry((from, to)).or_default();
        let life = self.model.lives[from];
        // The model must contain the message before anything arrives, and drops it if the send is
        // rejected.
        self.sides[from].buffers.insert(name, (to, number, bytes.clone()));
        self.model.messages.entry((from, to)).or_default().push_back((life, bytes));
        match self
            .call(from, |endpoint, now, driver| endpoint.send(now, to as u32, name, length, driver))
        {
            Ok(()) => {
                *self.model.sent.entry((from, to)).or_default() += 1;
                true
            }
            Err(why) => {
                assert_ne!(why, SendError::Long);
                self.sides[from].buffers.remove(&name);
                self.model.messages.get_mut(&(from, to)).unwrap().pop_back();
                false
            }
        }
    }

    /// Publishes a region and announces it.
    pub(crate) fn publish(&mut self, from: usize, to: usize, length: u64) {
        let (token, mut choice) = (self.name(), self.random.next());
        let Some(key) = self.endpoints[from].publish(to as u32, token, length) else { return };
        let bytes = content(token, length as usize);
        self.sides[from].regions.insert(token, Region { to, bytes, pulled: false });
        if self.random.chance(30) {
            // Withdraws it at once.
            assert!(self.endpoints[from].withdraw(to as u32, key));
            self.sides[from].regions.remove(&token);
            self.model.done.withdrawn += 1;
            return;
        }
        choice = if self.shape.dying { choice & !1 } else { choice };
        let words = [u64::from(key.slot), u64::from(key.generation), key.length, token, choice];
        let mut message = vec![1];
        words.iter().for_each(|word| message.extend_from_slice(&word.to_le_bytes()));
        if !self.send(from, to, message) {
            assert!(self.endpoints[from].withdraw(to as u32, key));
            self.sides[from].regions.remove(&token);
        }
    }

    fn pull_announced(&mut self, me: usize) -> bool {
        let now = self.now;
        let Some(place) = self.sides[me].announced.iter().position(|announced| announced.0 <= now)
        else {
            return false;
        };
        let (_, from, key, region, choice) = self.sides[me].announced.remove(place).unwrap();
        // All of it, a part, or nothing.
        let wanted = match choice >> 1 & 15 {
            0 => 0,
            1 | 2 => choice >> 8 & 0xffff,
            _ => key.length,
        }
        .min(key.length);
        let token = self.name();
        let target = vec![0; key.length as usize];
        let pull = Pull {
            from,
            region,
            target: target[..wanted as usize].to_vec(),
            wanted: wanted as usize,
        };
        self.sides[me].pulls.insert(token, pull);
        self.call(me, |endpoint, now, driver| {
            endpoint.pull(now, from as u32, key, token, wanted, driver)
        });
        true
    }

    /// Starts a broadcast, unless too many are in flight; returns its length.
    pub(crate) fn broadcast(&mut self, root: usize) -> u64 {
        let (number, group) = (self.started[0][root], root as u32);
        let length = match self.random.below(4) {
            0 => self.random.below(2),
            1 => self.random.below(LONGEST_BROADCAST),
            _ => self.random.below(5_000),
        };
        self.model.broadcasts.insert((group, number), content(number + 77, length as usize));
        self.model.awaited.insert((group, number), self.shape.ranks - 1);
        if self.call(root, |endpoint, now, driver| {
            endpoint.broadcast(now, group, number, length as u32, driver)
        }) {
            self.started[0][root] += 1;
        } else {
            self.model.awaited.remove(&(group, number));
        }
        length
    }

    /// A member expects the next broadcast of a root that has started it, or that will start it if
    /// members pre-post buffers.
    fn expect(&mut self, me: usize, root: usize) {
        let place = root * self.shape.ranks + me;
        let number = self.started[1][place];
        if number >= self.started[0][root] && !self.shape.ready {
            return;
        }
        let token = (root as u64) << 32 | number;
        let known = self.model.broadcasts.get(&(root as u32, number)).filter(|_| !self.shape.ready);
        let capacity = known.map_or(LONGEST_BROADCAST, |bytes| bytes.len() as u64) as u32 + 10;
        self.sides[me].expected_broadcasts.insert(token, vec![0; capacity as usize]);
        if self.call(me, |endpoint, now, driver| {
            endpoint.expect(now, (root as u32, root as u32), token, capacity, driver)
        }) {
            self.started[1][place] += 1;
        } else {
            self.sides[me].expected_broadcasts.remove(&token);
        }
    }

    fn act(&mut self) {
        let ranks = self.shape.ranks as u64;
        let me = self.random.below(ranks) as usize;
        let other = (me + 1 + self.random.below(ranks - 1) as usize) % ranks as usize;
        if self.wire.dead.contains(&me) {
            return;
        }
        match self.random.below(20) {
            0 if self.shape.sleepy => {
                let asleep = !self.sides[me].asleep;
                self.sides[me].asleep = asleep;
                self.call(me, |endpoint, now, driver| endpoint.set_asleep(now, asleep, driver));
            }
            1..4 => {
                let length = match self.random.below(4) {
                    0 => self.random.below(100),
                    1 => self.random.below(self.shape.longest + 1),
                    _ => self.random.below(self.shape.longest.min(20_000) + 1),
                };
                self.publish(me, other, length);
            }
            4..6 if ranks > 2 => _ = self.broadcast(me),
            6..10 if ranks > 2 => self.expect(me, other),
            10 => {
                let limit = self.endpoints[me].peer(other as u32).unwrap().eager_limit() as u64;
                let length = self.random.below(limit + 1);
                self.plain(me, other, length);
            }
            11 => (0..self.random.below(200)).for_each(|_| self.plain(me, other, 20)),
            _ => {
                let length = self.random.below(300);
                self.plain(me, other, length);
            }
        }
    }

    /// Sends a message whose first byte marks it as not being an announcement.
    pub(crate) fn plain(&mut self, from: usize, to: usize, length: u64) {
        let mut bytes = content(self.random.next(), length as usize);
        if let Some(first) = bytes.first_mut() {
            *first = 0;
        }
        self.send(from, to, bytes);
    }

    fn change_rails(&mut self) {
        let rails = self.shape.payloads.len() as u64;
        self.next_rail_change = self.now + self.random.below(SECOND);
        let rail = self.random.below(rails) as usize;
        self.wire.down[rail] = !self.wire.down[rail];
        if self.wire.down[..rails as usize].iter().all(|down| *down) {
            // At least one rail always works.
            self.wire.down[(rail + 1) % rails as usize] = false;
        }
    }

    /// Processes the next event; returns false if there is none.
    pub(crate) fn step(&mut self, active: bool) -> bool {
        let alive = |rank: &usize| !self.wire.dead.contains(rank);
        let deadline =
            |rank: usize| self.endpoints[rank].deadline().map(|at| (at.max(self.now), rank));
        let timer = (0..self.shape.ranks).filter(alive).filter_map(deadline).min();
        let pulls = (0..self.shape.ranks).filter(alive);
        let announced = pulls
            .filter_map(|rank| self.sides[rank].announced.iter().map(|pull| (pull.0, rank)).min())
            .min();
        let action = active.then_some(self.next_action);
        let frame = self.wire.next();
        let first = [frame, timer.map(|timer| timer.0), announced.map(|pull| pull.0), action]
            .into_iter()
            .flatten()
            .min();
        let Some(first) = first else { return false };
        self.now = self.now.max(first);
        self.model.done.steps += 1;
        if active && self.shape.dying && self.now >= self.next_rail_change {
            self.change_rails();
        }
        if frame == Some(first) {
            let (_, to, rail, bytes) = self.wire.take().unwrap();
            if !self.wire.dead.contains(&to) {
                self.call(to, |endpoint, now, driver| endpoint.arrived(now, rail, &bytes, driver));
                self.check_bounds(to);
            }
        } else if announced.is_some_and(|(at, _)| at == first) {
            self.pull_announced(announced.unwrap().1);
        } else if let Some((_, rank)) = timer.filter(|timer| timer.0 == first) {
            self.call(rank, |endpoint, now, driver| endpoint.tick(now, driver));
        } else {
            self.next_action = self.now + self.random.below(2 * self.shape.pace);
            self.act();
        }
        true
    }

    fn check_bounds(&self, rank: usize) {
        assert!(self.endpoints[rank].credits().used() <= credit::CEILING);
        let kept = |peer: u32| self.endpoints[rank].peer(peer).map_or(0, |peer| peer.kept_bytes());
        assert!(
            (0..self.shape.ranks as u32).all(|peer| kept(peer) <= Settings::default().early_bytes)
        );
    }

    /// Runs for this many steps, then lets everything complete.
    pub(crate) fn run(&mut self, steps: u64) -> Done {
        for _ in 0..steps {
            assert!(self.step(true));
        }
        self.finish();
        self.leave();
        self.model.done
    }

    /// All processes leave, in random order, and exit as soon as no peer needs them. Returns how
    /// long that took after the last one started to leave.
    pub(crate) fn leave(&mut self) -> Time {
        for rank in
            (0..self.shape.ranks).filter(|rank| !self.wire.dead.contains(rank)).collect::<Vec<_>>()
        {
            self.call(rank, |endpoint, now, driver| endpoint.leave(now, driver));
            (0..self.random.below(20)).for_each(|_| {
                self.step(false);
            });
        }
        let begin = self.now;
        loop {
            let here = (0..self.shape.ranks).filter(|rank| !self.wire.dead.contains(rank));
            let (busy, idle): (Vec<usize>, Vec<usize>) =
                here.partition(|rank| self.endpoints[*rank].is_busy());
            self.wire.dead.extend(idle);
            if busy.is_empty() {
                return self.now - begin;
            }
            assert!(self.step(false), "{busy:?} wait for nothing");
            assert!(self.now < begin + 10 * SECOND, "{busy:?} cannot leave: {}", self.state());
        }
    }

    /// Runs until nothing is in flight, and checks that the model is empty too.
    pub(crate) fn finish(&mut self) {
        self.wire.down = [false; 3];
        for me in 0..self.shape.ranks {
            if self.sides[me].asleep {
                self.sides[me].asleep = false;
                self.call(me, |endpoint, now, driver| endpoint.set_asleep(now, false, driver));
            }
        }
        let mut left = 3_000_000u64;
        loop {
            let ranks = self.shape.ranks;
            for (me, root) in (0..ranks * ranks)
                .map(|place| (place / ranks, place % ranks))
                .filter(|(me, root)| me != root)
            {
                if ranks > 2 && !self.wire.dead.contains(&me) && !self.wire.dead.contains(&root) {
                    self.expect(me, root);
                }
            }
            let alive: Vec<usize> =
                (0..ranks).filter(|rank| !self.wire.dead.contains(rank)).collect();
            let busy = alive.iter().any(|rank| {
                self.endpoints[*rank].is_busy() || !self.sides[*rank].announced.is_empty()
            });
            if !busy && self.all_expected() {
                break;
            }
            for _ in 0..20 {
                self.step(false);
                left = left
                    .checked_sub(1)
                    .unwrap_or_else(|| panic!("it does not end: {:?}", self.state()));
            }
        }
        self.check_end();
    }

    fn all_expected(&self) -> bool {
        let ranks = self.shape.ranks;
        let through = |place: usize| {
            let (root, member) = (place / ranks, place % ranks);
            let gone = self.wire.dead.contains(&root) || self.wire.dead.contains(&member);
            root == member || gone || self.started[1][place] == self.started[0][root]
        };
        ranks == 2 || self.shape.ready || (0..ranks * ranks).all(through)
    }

    fn check_end(&self) {
        for ((from, to), queue) in &self.model.messages {
            let gone = self.wire.dead.contains(from) || self.wire.dead.contains(to);
            assert!(
                gone || queue.is_empty(),
                "{from} -> {to}: {} messages never arrived",
                queue.len()
            );
        }
        for (rank, side) in
            self.sides.iter().enumerate().filter(|(rank, _)| !self.wire.dead.contains(rank))
        {
            let broadcasts = if self.shape.ready { 0 } else { side.expected_broadcasts.len() };
            let left = [side.buffers.len(), side.regions.len(), side.pulls.len(), broadcasts];
            assert_eq!(left, [0; 4], "rank {rank}: buffers, regions, pulls, broadcasts");
            assert_eq!(self.endpoints[rank].credits().used(), 0);
        }
        assert!(
            self.model.awaited.keys().all(|(root, _)| self.wire.dead.contains(&(*root as usize)))
        );
    }

    fn state(&self) -> String {
        format!("{:?} {:?} {:#?}", self.model.done, self.shape, self.endpoints)
    }

    /// The process crashes and restarts with empty state.
    pub(crate) fn restart(&mut self, rank: usize) {
        self.model.lives[rank] += 1;
        let Side { regions, mut former_regions, .. } = std::mem::take(&mut self.sides[rank]);
        former_regions.extend(regions);
        self.sides[rank].former_regions = former_regions;
        let known = std::mem::replace(&mut self.shape.known, false);
        self.endpoints[rank] = self.endpoint(rank);
        self.shape.known = known;
        for other in (0..self.shape.ranks).filter(|other| *other != rank) {
            // Messages of the old incarnation may still arrive, up to some point; messages sent to
            // it never arrive.
            self.model.messages.entry((other, rank)).or_default().clear();
            self.model.delivered.insert((rank, other), u64::MAX / 2);
            self.model.delivered.insert((other, rank), u64::MAX / 2);
        }
    }

    /// The process goes to sleep.
    pub(crate) fn sleep(&mut self, me: usize) {
        self.sides[me].asleep = true;
        self.call(me, |endpoint, now, driver| endpoint.set_asleep(now, true, driver));
    }

    /// The process wakes up and sleeps again.
    pub(crate) fn turn(&mut self, me: usize) {
        for asleep in [false, true] {
            self.call(me, |endpoint, now, driver| endpoint.set_asleep(now, asleep, driver));
        }
    }

    /// Number of losses of `peer` that `rank` has reported.
    pub(crate) fn losses(&self, rank: usize, peer: usize) -> usize {
        self.sides[rank].lost.get(&peer).copied().unwrap_or(0)
    }

    pub(crate) fn done(&self) -> Done {
        self.model.done
    }

    pub(crate) fn refusals(&self) -> Refusals {
        let mut all = Refusals::default();
        self.endpoints.iter().for_each(|endpoint| all.add(&endpoint.refusals()));
        all
    }

    /// Injects a forged frame.
    pub(crate) fn inject(&mut self, to: usize, rail: u8, frame: &[u8]) {
        self.call(to, |endpoint, now, driver| endpoint.arrived(now, rail, frame, driver));
    }
}

/// The header of a frame from `from` to `to`.
pub(crate) fn header(
    kind: frame::Kind,
    from: usize,
    to: usize,
    length: usize,
) -> frame::FrameHeader {
    frame::FrameHeader {
        sequence: 0,
        source: from as u32,
        endpoint: to as u16 + 7,
        length: length as u16,
        kind,
        rail: 0,
        flags: 0,
        session: 0,
        acknowledged: 0,
        words: [0; 2],
    }
}
