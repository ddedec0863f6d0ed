//! A process: all its peers, its groups, and the credit that its pulls share. Finds whom a frame
//! concerns, and whose time has come.
//!
//! The table of times holds one entry for each peer: an entry that turns out to be too early is put
//! right when it comes up, so that a message costs no work on the table as a rule.

#![forbid(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};

use super::credit::Credits;
use super::frame::{HEADER_BYTES, Header, Kind, Pair};
use super::multicast::{Group, Member, Root, WINDOW};
use super::outlet::{Body, Outlet};
use super::peer::{Card, Concern, Own, Peer, SendError};
use super::refusal::{Refusal, Refusals};
use super::region::Key;
use super::timer::{MICROSECOND, sooner};
use super::{Settings, Time};

/// The endpoint number in frames for all members of a group.
pub const EVERYBODY: u16 = 0xffff;

/// Groups of which early messages are noted.
const EARLY: usize = 64;

/// When a full interface is tried again.
const RETRY: Time = 20 * MICROSECOND;

#[derive(Debug)]
struct Entry {
    peer: Box<Peer>,
    /// The time under which the peer stands in the table.
    armed: Option<Time>,
}

/// The state.
#[derive(Debug)]
pub struct Endpoint {
    own: Own,
    settings: Settings,
    peers: Vec<Option<Entry>>,
    timers: BTreeSet<(Time, u32)>,
    credits: Credits,
    roots: BTreeMap<u32, Root>,
    /// By root and number.
    members: BTreeMap<(u32, u32), Member>,
    /// Messages of groups that this process is not a member of yet: bit i is message i.
    early: BTreeMap<(u32, u32), u32>,
    multicast_frames: u64,
    group_retry: Option<Time>,
    refusals: Refusals,
}

impl Endpoint {
    /// Of this process.
    pub fn new(own: Own, settings: Settings) -> Endpoint {
        Endpoint {
            own,
            settings,
            peers: Vec::new(),
            timers: BTreeSet::new(),
            credits: Credits::default(),
            roots: BTreeMap::new(),
            members: BTreeMap::new(),
            early: BTreeMap::new(),
            multicast_frames: 0,
            group_retry: None,
            refusals: Refusals::default(),
        }
    }

    /// The number of this process.
    pub fn rank(&self) -> u32 {
        self.own.rank
    }

    /// Gets to know a peer. Frames of others are refused.
    pub fn add(&mut self, card: &Card) {
        let slot = card.rank as usize;
        if self.peers.len() <= slot {
            self.peers.resize_with(slot + 1, || None);
        }
        let peer = Box::new(Peer::new(self.own, card, self.settings));
        self.peers[slot] = Some(Entry { peer, armed: None });
    }

    /// The state towards a peer, if it is known.
    pub fn peer(&self, rank: u32) -> Option<&Peer> {
        self.peers.get(rank as usize)?.as_ref().map(|entry| &*entry.peer)
    }

    /// The credit that all pulls share.
    pub fn credits(&self) -> &Credits {
        &self.credits
    }

    /// Frames that were not believed, or not needed, of all peers and of strangers.
    pub fn refusals(&self) -> Refusals {
        let mut all = self.refusals;
        self.peers.iter().flatten().for_each(|entry| all.add(entry.peer.refusals()));
        all
    }

    /// True while something is under way.
    pub fn is_busy(&self) -> bool {
        // What members wait for is counted with the roots that owe it.
        self.roots.values().any(|root| !root.is_idle()) || self.peers.iter().flatten().any(|entry| entry.peer.is_busy())
    }

    /// As [`Peer::send`].
    pub fn send(
        &mut self,
        now: Time,
        to: u32,
        buffer: u64,
        length: u32,
        outlet: &mut impl Outlet,
    ) -> Result<(), SendError> {
        self.with(to, |peer, _| peer.send(now, buffer, length, outlet)).unwrap_or(Err(SendError::Lost))
    }

    /// As [`Peer::publish`]; `None` for a peer that is not known.
    pub fn publish(&mut self, to: u32, token: u64, length: u64) -> Option<Key> {
        self.with(to, |peer, _| peer.publish(token, length))
    }

    /// As [`Peer::withdraw`].
    pub fn withdraw(&mut self, to: u32, key: Key) -> bool {
        self.with(to, |peer, _| peer.withdraw(key)).unwrap_or(false)
    }

    /// As [`Peer::pull`].
    pub fn pull(&mut self, now: Time, from: u32, key: Key, token: u64, wanted: u64, outlet: &mut impl Outlet) {
        self.with(from, |peer, credits| peer.pull(now, key, token, wanted, credits, outlet));
    }

    /// As [`Peer::set_asleep`], towards all peers.
    pub fn set_asleep(&mut self, now: Time, asleep: bool, outlet: &mut impl Outlet) {
        for rank in 0..self.peers.len() as u32 {
            self.with(rank, |peer, _| peer.set_asleep(now, asleep, outlet));
        }
    }

    /// The process behind this rank is gone, as somebody else knows: the launcher, say.
    pub fn give_up(&mut self, now: Time, rank: u32, outlet: &mut impl Outlet) {
        self.with(rank, |peer, credits| {
            if !peer.is_lost() {
                peer.end(credits, outlet);
            }
        });
        self.settle(now, rank, outlet);
    }

    /// The interface of a rail to this process refuses all frames: others are used, if there are
    /// any.
    pub fn rail_fails(&mut self, now: Time, rank: u32, rail: u8) {
        self.with(rank, |peer, _| peer.rail_fails(rail, now));
    }

    /// Sends a keep-alive frame to a peer, over each rail.
    pub fn keep_alive(&mut self, now: Time, rank: u32, outlet: &mut impl Outlet) {
        self.with(rank, |peer, _| peer.keep_alive(now, outlet));
    }

    /// This process leaves: says so to all peers that it has to do with. Nothing may be sent
    /// afterwards; when [`Endpoint::is_busy`] is false nobody needs it any more.
    pub fn leave(&mut self, now: Time, outlet: &mut impl Outlet) {
        for rank in 0..self.peers.len() as u32 {
            self.with(rank, |peer, _| peer.leave(now, outlet));
        }
    }

    /// A frame came over a rail.
    pub fn arrived(&mut self, now: Time, rail: u8, frame: &[u8], outlet: &mut impl Outlet) {
        match frame.split_first_chunk() {
            Some((header, rest)) => self.arrived_apart(now, rail, header, rest, outlet),
            None => self.refusals.count(Refusal::Short),
        }
    }

    /// As [`Endpoint::arrived`], for a frame whose header and body do not lie in a row.
    pub fn arrived_apart(
        &mut self,
        now: Time,
        rail: u8,
        header: &[u8; HEADER_BYTES],
        rest: &[u8],
        outlet: &mut impl Outlet,
    ) {
        let taken = Header::decode_apart(&self.own.key, header, rest).and_then(|(header, body)| {
            let everybody = header.kind == Kind::Broadcast && header.endpoint == EVERYBODY;
            if header.endpoint != self.own.endpoint && !everybody {
                return Err(Refusal::Endpoint);
            }
            if header.source == self.own.rank {
                return Err(Refusal::Source);
            }
            if header.kind == Kind::Broadcast {
                return self.broadcast_arrived(now, &header, body, outlet);
            }
            let source = header.source;
            let known = self.with(source, |peer, credits| peer.arrived(now, rail, &header, body, credits, outlet));
            known.ok_or(Refusal::Source)?;
            self.settle(now, source, outlet);
            Ok(())
        });
        if let Err(why) = taken {
            self.refusals.count(why);
        }
    }

    /// After a peer has been at work: what it said about groups, what its loss means for them, and
    /// whose turn it is for credit.
    fn settle(&mut self, now: Time, rank: u32, outlet: &mut impl Outlet) {
        let Some(Some(entry)) = self.peers.get_mut(rank as usize) else { return };
        let concerns = entry.peer.take_concerns();
        self.notice_loss(rank, outlet);
        if !concerns.is_empty() {
            for concern in concerns {
                if let Err(why) = self.concern(rank, concern, outlet) {
                    self.refusals.count(why);
                }
            }
            self.groups(now, outlet);
        }
        for _ in 0..self.credits.queue() {
            let Some(waiting) = self.credits.call() else { break };
            self.with(waiting, |peer, credits| peer.called(now, credits, outlet));
            self.notice_loss(waiting, outlet);
        }
    }

    fn concern(&mut self, rank: u32, concern: Concern, outlet: &mut impl Outlet) -> Result<(), Refusal> {
        match concern {
            Concern::Complete(Pair(group, message)) => {
                let root = self.roots.get_mut(&group).ok_or(Refusal::Unknown)?;
                root.complete(rank, message, &mut |buffer| outlet.broadcast_sent(group, buffer))?;
                self.with(rank, |peer, _| peer.owe(-1));
                Ok(())
            }
            Concern::Repair([group, message], Pair(first, bitmap)) => {
                self.roots.get_mut(&group).ok_or(Refusal::Unknown)?.repair(rank, message, first, bitmap)
            }
        }
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Time, outlet: &mut impl Outlet) {
        while let Some((at, rank)) = self.timers.first().copied().filter(|(at, _)| *at <= now) {
            self.timers.remove(&(at, rank));
            if let Some(Some(entry)) = self.peers.get_mut(rank as usize) {
                entry.armed = None;
            }
            self.with(rank, |peer, credits| {
                if peer.deadline().is_some_and(|at| at <= now) {
                    peer.tick(now, credits, outlet);
                }
            });
            self.settle(now, rank, outlet);
            if self.timers.first().is_some_and(|first| *first == (now, rank)) {
                // It has more to do than fits into one go: others first.
                break;
            }
        }
        self.groups(now, outlet);
    }

    /// When [`Endpoint::tick`] must be called at the latest.
    pub fn deadline(&self) -> Option<Time> {
        let peers = self.timers.first().map(|(at, _)| *at);
        if self.group_retry.is_some() {
            return sooner(peers, self.group_retry);
        }
        let roots = self.roots.values().filter_map(Root::deadline);
        let members = self.members.values().filter_map(Member::deadline);
        roots.chain(members).fold(peers, |next, at| sooner(next, Some(at)))
    }

    /// Calls a peer, and puts its time into the table.
    fn with<T>(&mut self, rank: u32, call: impl FnOnce(&mut Peer, &mut Credits) -> T) -> Option<T> {
        let entry = self.peers.get_mut(rank as usize)?.as_mut()?;
        let outcome = call(&mut entry.peer, &mut self.credits);
        if let Some(at) = entry.peer.deadline()
            && entry.armed.is_none_or(|armed| at < armed)
        {
            if let Some(armed) = entry.armed.replace(at) {
                self.timers.remove(&(armed, rank));
            }
            self.timers.insert((at, rank));
        }
        Some(outcome)
    }
}

/// Groups.
impl Endpoint {
    /// Makes a group of which this process is the root. Receivers that are lost are left out.
    pub fn add_root(&mut self, group: Group, receivers: &[u32]) {
        let alive = |rank: &&u32| self.peer(**rank).is_some_and(|peer| !peer.is_lost());
        let receivers: Vec<u32> = receivers.iter().filter(alive).copied().collect();
        self.roots.insert(group.number, Root::new(group, &receivers));
    }

    /// Makes a group of which this process is a member. Groups of several roots may have the same
    /// number. A member that `stands ready` expects messages that may never come: nobody waits for
    /// it, and it is no reason to stay. It should expect [`READY`](super::multicast::READY)
    /// messages: the root is told of one while there is a place for all that it may send then.
    pub fn add_member(&mut self, group: Group, stands_ready: bool) {
        let missed = self.early.remove(&(group.root, group.number)).unwrap_or(0);
        self.members.insert((group.root, group.number), Member::new(group, stands_ready, missed));
    }

    /// This process is a member of the groups of this number no longer.
    pub fn remove_members(&mut self, group: u32) {
        self.members.retain(|(_, number), _| *number != group);
        self.early.retain(|(_, number), _| *number != group);
    }

    /// True when a group of which this process is the root has nothing under way, or is not known.
    pub fn is_group_idle(&self, group: u32) -> bool {
        self.roots.get(&group).is_none_or(Root::is_idle)
    }

    /// True when [`Endpoint::broadcast`] may start another message in this group.
    pub fn has_room(&self, group: u32) -> bool {
        self.roots.get(&group).is_some_and(Root::has_room)
    }

    /// The root gives up a group; what is under way in it is forgotten.
    pub fn remove_root(&mut self, group: u32) {
        self.roots.remove(&group);
    }

    /// Parts of broadcasts that came by multicast, and not in repair to this process alone.
    pub fn multicast_frames(&self) -> u64 {
        self.multicast_frames
    }

    /// Sends `length` bytes, which the caller calls `buffer`, to all members of a group;
    /// [`Outlet::broadcast_sent`] reports it. False when the group has its window full, or the
    /// message is too long.
    pub fn broadcast(&mut self, now: Time, group: u32, buffer: u64, length: u32, outlet: &mut impl Outlet) -> bool {
        let Some(root) = self.roots.get_mut(&group) else { return false };
        if root.start(now, buffer, length).is_none() {
            return false;
        }
        for rank in root.receivers().to_vec() {
            self.with(rank, |peer, _| peer.owe(1));
        }
        self.groups(now, outlet);
        true
    }

    /// Expects the next message of a group (root and number), of at most `capacity` bytes. False
    /// when the group has its window full.
    pub fn expect(
        &mut self,
        now: Time,
        group: (u32, u32),
        token: u64,
        capacity: u32,
        outlet: &mut impl Outlet,
    ) -> bool {
        let Some(member) = self.members.get_mut(&group) else { return false };
        if member.expect(now, token, capacity).is_none() {
            return false;
        }
        let (stands_ready, late) = (member.stands_ready(), member.late());
        self.with(group.0, |peer, _| {
            peer.owe(i32::from(!stands_ready));
            if let Some(late) = late {
                peer.complete(now, group.1, late, outlet);
            }
        });
        self.groups(now, outlet);
        true
    }

    fn broadcast_arrived(
        &mut self,
        now: Time,
        header: &Header,
        body: &[u8],
        outlet: &mut impl Outlet,
    ) -> Result<(), Refusal> {
        let [group, index] = header.words;
        let root = header.source;
        self.multicast_frames += u64::from(header.endpoint == EVERYBODY);
        let Some(member) = self.members.get_mut(&(root, group)) else {
            self.note_early(header);
            return Err(Refusal::Unknown);
        };
        if header.session != member.group().session {
            return Err(Refusal::Stale);
        }
        let (number, total) = (header.sequence, header.acknowledged);
        let (placed, owes) = (member.place(number, total, index, body.len())?, !member.stands_ready());
        outlet.broadcast_part(group, placed.token, placed.offset, &body[..placed.keep]);
        if let Some(finished) = member.placed(number, total, index, now) {
            let is_through = member.is_through(finished.number);
            outlet.broadcast_done(group, finished.token, finished.length);
            self.with(root, |peer, _| {
                peer.owe(if owes { -1 } else { 0 });
                if is_through {
                    peer.complete(now, group, finished.number, outlet);
                }
            });
        }
        Ok(())
    }

    /// A broadcast of a group that this process may become a member of: what it missed is asked for
    /// then. Bounded: what does not fit is sent again by the root after a while.
    fn note_early(&mut self, header: &Header) {
        let place = (header.source, header.words[0]);
        let known = self.peer(header.source).is_some_and(|peer| !peer.is_lost());
        if known && header.sequence < WINDOW as u32 && (self.early.len() < EARLY || self.early.contains_key(&place)) {
            *self.early.entry(place).or_default() |= 1 << header.sequence;
        }
    }

    /// Sends what the groups have to send now.
    fn groups(&mut self, now: Time, outlet: &mut impl Outlet) {
        if self.roots.is_empty() && self.members.is_empty() {
            return;
        }
        self.group_retry = None;
        for (number, root) in &mut self.roots {
            root.expire(now);
            while let Some(part) = root.next() {
                let endpoint = match part.to {
                    None => EVERYBODY,
                    Some(rank) => self.peers[rank as usize].as_ref().map_or(EVERYBODY, |entry| entry.peer.endpoint()),
                };
                let header = Header {
                    sequence: part.message,
                    source: self.own.rank,
                    endpoint,
                    length: part.length,
                    kind: Kind::Broadcast,
                    rail: 0,
                    flags: 0,
                    session: root.group().session,
                    acknowledged: part.total,
                    words: [*number, part.index],
                };
                let header = header.encode(&self.own.key, &[]);
                let body = Body::Message { buffer: part.buffer, offset: part.offset, length: part.length };
                let taken = match part.to {
                    None => outlet.broadcast(*number, &header, body),
                    Some(rank) => {
                        let peer = self.peers[rank as usize].as_ref();
                        let rail = peer.map_or(0, |entry| entry.peer.rails().best());
                        outlet.send(rank, rail, &header, body)
                    }
                };
                if !taken {
                    self.group_retry = Some(now + RETRY);
                    break;
                }
                root.sent(&part, now);
            }
        }
        for ((root, number), member) in &mut self.members {
            while let Some(missing) = member.missing(now) {
                let words = [*number, missing.message];
                let pair = Pair(missing.first, missing.bitmap);
                if let Some(Some(entry)) = self.peers.get_mut(*root as usize) {
                    // Without a session, or with a full interface, this attempt counts all the
                    // same.
                    entry.peer.ask_repair(now, words, pair, outlet);
                }
                member.asked(&missing, now);
            }
        }
    }

    /// A lost peer is missed in no group.
    fn notice_loss(&mut self, rank: u32, outlet: &mut impl Outlet) {
        let entry = self.peers.get_mut(rank as usize).and_then(Option::as_mut);
        if !entry.is_some_and(|entry| entry.peer.take_loss()) {
            return;
        }
        for (number, root) in &mut self.roots {
            root.forget(rank, &mut |buffer| outlet.broadcast_sent(*number, buffer));
        }
        self.members.retain(|(root, _), _| *root != rank);
        self.early.retain(|(root, _), _| *root != rank);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::JobKey;
    use crate::rails::Link;

    fn early(endpoint: &Endpoint, root: u32, group: u32) -> Option<u32> {
        endpoint.early.get(&(root, group)).copied()
    }

    #[test]
    fn what_groups_say_early_is_noted_boundedly() {
        let link = Link { payload: 1400, speed: 0 };
        let key = JobKey::of_secret(&[7; 32]);
        let mut endpoint = Endpoint::new(Own { key, rank: 0, endpoint: 7, incarnation: 1 }, Settings::default());
        endpoint.add(&Card { rank: 1, endpoint: 8, incarnation: Some(1), links: vec![link] });
        let mut note = |source, group, sequence| {
            let header = Header {
                sequence,
                source,
                endpoint: EVERYBODY,
                length: 0,
                kind: Kind::Broadcast,
                rail: 0,
                flags: 0,
                session: 0,
                acknowledged: 0,
                words: [group, 0],
            };
            endpoint.note_early(&header);
        };
        (0..WINDOW as u32 + 1).for_each(|sequence| note(1, 5, sequence));
        note(2, 5, 0);
        (100..100 + 2 * EARLY as u32).for_each(|group| note(1, group, 0));
        // A group that is noted already has room.
        note(1, 100, 1);
        assert_eq!(early(&endpoint, 1, 5), Some((1 << WINDOW) - 1), "what the root may send before it hears of it");
        assert_eq!(early(&endpoint, 2, 5), None, "a stranger");
        assert_eq!((endpoint.early.len(), early(&endpoint, 1, 100)), (EARLY, Some(0b11)));

        // Whoever joins asks for it at once, and only once.
        endpoint.add_member(Group { number: 5, session: 1, root: 1, chunk: 100 }, true);
        assert_eq!(early(&endpoint, 1, 5), None);
        let member = endpoint.members.get_mut(&(1, 5)).unwrap();
        for number in 0..WINDOW as u32 {
            assert_eq!(member.expect(50, 70, 1000), Some(number));
            let missing = member.missing(50).unwrap();
            assert_eq!((missing.message, missing.first, missing.bitmap), (number, 0, u32::MAX));
            member.asked(&missing, 50);
        }
        assert_eq!((member.expect(50, 70, 1000), member.missing(50)), (Some(WINDOW as u32), None));

        // Who has left the group, or lost its root, remembers nothing.
        endpoint.remove_members(100);
        assert_eq!(early(&endpoint, 1, 100), None);
    }
}
