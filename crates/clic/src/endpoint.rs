//! A process: all its peers, its groups, and the credit that its pulls share. Dispatches frames to
//! peers and groups, and runs their timers.
//!
//! The timer table holds one entry per peer. An entry that turns out to be too early is corrected
//! when it expires, so a message usually does not touch the table.

#![forbid(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};

use super::credit::Credits;
use super::frame::{FrameHeader, HeaderBytes, Kind, Pair};
use super::io::{FrameBody, Io};
use super::multicast::{Member, MulticastGroup, Root, WINDOW};
use super::peer::{Concern, Own, Peer, PeerCard, SendError};
use super::refusal::{Refusal, Refusals};
use super::region::RegionName;
use super::timer::{MICROSECOND, sooner};
use super::{Settings, Time};

/// The endpoint number in frames to all members of a group.
pub const EVERYBODY: u16 = 0xffff;

/// Maximum number of groups for which early messages are recorded.
const EARLY: usize = 64;

/// Delay before a full interface is tried again.
const RETRY: Time = 20 * MICROSECOND;

#[derive(Debug)]
struct Entry {
    peer: Box<Peer>,
    /// The peer's key in the timer table.
    armed: Option<Time>,
}

/// All protocol state of a process.
#[derive(Debug)]
pub struct Endpoint {
    own: Own,
    settings: Settings,
    peers: Vec<Option<Entry>>,
    timers: BTreeSet<(Time, u32)>,
    credits: Credits,
    roots: BTreeMap<u32, Root>,
    /// By root and group number.
    members: BTreeMap<(u32, u32), Member>,
    /// Messages that arrived for groups that this process has not joined yet: bit i is message i.
    early: BTreeMap<(u32, u32), u32>,
    multicast_frames: u64,
    group_retry: Option<Time>,
    refusals: Refusals,
}

impl Endpoint {
    /// Creates the endpoint of this process, without peers.
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

    /// The rank of this process.
    pub fn rank(&self) -> u32 {
        self.own.rank
    }

    /// Adds a peer. Frames from unknown ranks are rejected.
    pub fn add(&mut self, card: &PeerCard) {
        let slot = card.rank as usize;
        if self.peers.len() <= slot {
            self.peers.resize_with(slot + 1, || None);
        }
        let peer = Box::new(Peer::new(self.own, card, self.settings));
        self.peers[slot] = Some(Entry { peer, armed: None });
    }

    /// The state of a peer, if it is known.
    pub fn peer(&self, rank: u32) -> Option<&Peer> {
        self.peers.get(rank as usize)?.as_ref().map(|entry| &*entry.peer)
    }

    /// The credit that all pulls share.
    pub fn credits(&self) -> &Credits {
        &self.credits
    }

    /// Counts of rejected frames, of all peers and of unknown senders.
    pub fn refusals(&self) -> Refusals {
        let mut all = self.refusals;
        self.peers.iter().flatten().for_each(|entry| all.add(entry.peer.refusals()));
        all
    }

    /// True while anything is pending.
    pub fn is_busy(&self) -> bool {
        // What a member waits for counts as pending with the peer that is the root.
        self.roots.values().any(|root| !root.is_idle())
            || self.peers.iter().flatten().any(|entry| entry.peer.is_busy())
    }

    /// See [`Peer::send`].
    ///
    /// # Errors
    /// See [`SendError`]; [`SendError::Lost`] if the peer is unknown.
    pub fn send(
        &mut self,
        now: Time,
        to: u32,
        buffer: u64,
        length: u32,
        io: &mut impl Io,
    ) -> Result<(), SendError> {
        self.with(to, |peer, _| peer.send(now, buffer, length, io)).unwrap_or(Err(SendError::Lost))
    }

    /// See [`Peer::publish`]; `None` if the peer is unknown.
    pub fn publish(&mut self, to: u32, token: u64, length: u64) -> Option<RegionName> {
        self.with(to, |peer, _| peer.publish(token, length))
    }

    /// See [`Peer::withdraw`].
    pub fn withdraw(&mut self, to: u32, key: RegionName) -> bool {
        self.with(to, |peer, _| peer.withdraw(key)).unwrap_or(false)
    }

    /// See [`Peer::pull`].
    pub fn pull(
        &mut self,
        now: Time,
        from: u32,
        key: RegionName,
        token: u64,
        wanted: u64,
        io: &mut impl Io,
    ) {
        self.with(from, |peer, credits| peer.pull(now, key, token, wanted, credits, io));
    }

    /// See [`Peer::set_asleep`]; applies to all peers.
    pub fn set_asleep(&mut self, now: Time, asleep: bool, io: &mut impl Io) {
        for rank in 0..self.peers.len() as u32 {
            self.with(rank, |peer, _| peer.set_asleep(now, asleep, io));
        }
    }

    /// Declares a peer dead because of information from outside the protocol, such as a report of
    /// the launcher.
    pub fn give_up(&mut self, now: Time, rank: u32, io: &mut impl Io) {
        self.with(rank, |peer, credits| {
            if !peer.is_lost() {
                peer.end(credits, io);
            }
        });
        self.after_call(now, rank, io);
    }

    /// The interface of a rail to this process rejects all frames: use the others, if there are
    /// any.
    pub fn rail_fails(&mut self, now: Time, rank: u32, rail: u8) {
        self.with(rank, |peer, _| peer.rail_fails(rail, now));
    }

    /// Sends a keep-alive frame to a peer, over each rail.
    pub fn keep_alive(&mut self, now: Time, rank: u32, io: &mut impl Io) {
        self.with(rank, |peer, _| peer.keep_alive(now, io));
    }

    /// This process leaves the job: says goodbye to all peers that it has communicated with.
    /// Nothing may be sent afterwards. Once [`Endpoint::is_busy`] is false, no peer needs this
    /// process any more.
    pub fn leave(&mut self, now: Time, io: &mut impl Io) {
        for rank in 0..self.peers.len() as u32 {
            self.with(rank, |peer, _| peer.leave(now, io));
        }
    }

    /// Handles a frame that arrived over a rail.
    pub fn arrived(&mut self, now: Time, rail: u8, frame: &[u8], io: &mut impl Io) {
        match frame.split_first_chunk() {
            Some((header, rest)) => self.arrived_apart(now, rail, header, rest, io),
            None => self.refusals.count(Refusal::Short),
        }
    }

    /// Like [`Endpoint::arrived`], for a frame whose header and body are not contiguous.
    pub fn arrived_apart(
        &mut self,
        now: Time,
        rail: u8,
        header: &HeaderBytes,
        rest: &[u8],
        io: &mut impl Io,
    ) {
        let taken =
            FrameHeader::decode_apart(&self.own.key, header, rest).and_then(|(header, body)| {
                let everybody = header.kind == Kind::Broadcast && header.endpoint == EVERYBODY;
                if header.endpoint != self.own.endpoint && !everybody {
                    return Err(Refusal::Endpoint);
                }
                if header.source == self.own.rank {
                    return Err(Refusal::Source);
                }
                if header.kind == Kind::Broadcast {
                    return self.broadcast_arrived(now, &header, body, io);
                }
                let source = header.source;
                let known = self.with(source, |peer, credits| {
                    peer.arrived(now, rail, &header, body, credits, io)
                });
                known.ok_or(Refusal::Source)?;
                self.after_call(now, source, io);
                Ok(())
            });
        if let Err(why) = taken {
            self.refusals.count(why);
        }
    }

    /// To be called after any call of a peer: processes the peer's group-related events, the effect
    /// of its loss on groups, and the credit queue.
    fn after_call(&mut self, now: Time, rank: u32, io: &mut impl Io) {
        let Some(Some(entry)) = self.peers.get_mut(rank as usize) else { return };
        let concerns = entry.peer.take_concerns();
        self.notice_loss(rank, io);
        if !concerns.is_empty() {
            for concern in concerns {
                if let Err(why) = self.concern(rank, concern, io) {
                    self.refusals.count(why);
                }
            }
            self.groups(now, io);
        }
        for _ in 0..self.credits.queue() {
            let Some(waiting) = self.credits.call() else { break };
            self.with(waiting, |peer, credits| peer.called(now, credits, io));
            self.notice_loss(waiting, io);
        }
    }

    fn concern(&mut self, rank: u32, concern: Concern, io: &mut impl Io) -> Result<(), Refusal> {
        match concern {
            Concern::Complete(Pair(group, message)) => {
                let root = self.roots.get_mut(&group).ok_or(Refusal::Unknown)?;
                root.complete(rank, message, &mut |buffer| io.broadcast_sent(group, buffer))?;
                self.with(rank, |peer, _| peer.owe(-1));
                Ok(())
            }
            Concern::Repair([group, message], Pair(first, bitmap)) => self
                .roots
                .get_mut(&group)
                .ok_or(Refusal::Unknown)?
                .repair(rank, message, first, bitmap),
        }
    }

    /// Runs the timers that have expired by `now`.
    pub fn tick(&mut self, now: Time, io: &mut impl Io) {
        while let Some((at, rank)) = self.timers.first().copied().filter(|(at, _)| *at <= now) {
            self.timers.remove(&(at, rank));
            if let Some(Some(entry)) = self.peers.get_mut(rank as usize) {
                entry.armed = None;
            }
            self.with(rank, |peer, credits| {
                if peer.deadline().is_some_and(|at| at <= now) {
                    peer.tick(now, credits, io);
                }
            });
            self.after_call(now, rank, io);
            if self.timers.first().is_some_and(|first| *first == (now, rank)) {
                // The peer has more work due than fits into one call: let the caller do other work
                // first.
                break;
            }
        }
        self.groups(now, io);
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

    /// Calls `call` on a peer, and updates the timer table.
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

/// Multicast groups.
impl Endpoint {
    /// Creates a group with this process as the root. Lost receivers are left out.
    pub fn add_root(&mut self, group: MulticastGroup, receivers: &[u32]) {
        let alive = |rank: &&u32| self.peer(**rank).is_some_and(|peer| !peer.is_lost());
        let receivers: Vec<u32> = receivers.iter().filter(alive).copied().collect();
        self.roots.insert(group.number, Root::new(group, &receivers));
    }

    /// Joins a group as a member. Groups of different roots may have the same number. With
    /// `stands_ready`, the member pre-posts buffers for messages that may never come; such messages
    /// do not make the endpoint busy. It should expect [`READY`](super::multicast::READY) messages:
    /// a completion is reported to the root only while there is a buffer for everything that the
    /// root may send next.
    pub fn add_member(&mut self, group: MulticastGroup, stands_ready: bool) {
        let missed = self.early.remove(&(group.root, group.number)).unwrap_or(0);
        self.members.insert((group.root, group.number), Member::new(group, stands_ready, missed));
    }

    /// Leaves all groups of this number.
    pub fn remove_members(&mut self, group: u32) {
        self.members.retain(|(_, number), _| *number != group);
        self.early.retain(|(_, number), _| *number != group);
    }

    /// True if a group with this process as the root has no messages in flight, or is unknown.
    pub fn is_group_idle(&self, group: u32) -> bool {
        self.roots.get(&group).is_none_or(Root::is_idle)
    }

    /// True if [`Endpoint::broadcast`] may start another message in this group.
    pub fn has_room(&self, group: u32) -> bool {
        self.roots.get(&group).is_some_and(Root::has_room)
    }

    /// Removes a group with this process as the root; its messages in flight are dropped.
    pub fn remove_root(&mut self, group: u32) {
        self.roots.remove(&group);
    }

    /// Number of broadcast frames received by multicast, excluding unicast repairs.
    pub fn multicast_frames(&self) -> u64 {
        self.multicast_frames
    }

    /// Sends `length` bytes, which the caller calls `buffer`, to all members of a group;
    /// [`Io::broadcast_sent`] reports completion. Returns false if the group's window is full or
    /// the message is too long.
    pub fn broadcast(
        &mut self,
        now: Time,
        group: u32,
        buffer: u64,
        length: u32,
        io: &mut impl Io,
    ) -> bool {
        let Some(root) = self.roots.get_mut(&group) else { return false };
        if root.start(now, buffer, length).is_none() {
            return false;
        }
        for rank in root.receivers().to_vec() {
            self.with(rank, |peer, _| peer.owe(1));
        }
        self.groups(now, io);
        true
    }

    /// Expects the next message of a group (root and number), of at most `capacity` bytes. Returns
    /// false if the group's window is full or the group is unknown.
    pub fn expect(
        &mut self,
        now: Time,
        group: (u32, u32),
        token: u64,
        capacity: u32,
        io: &mut impl Io,
    ) -> bool {
        let Some(member) = self.members.get_mut(&group) else { return false };
        if member.expect(now, token, capacity).is_none() {
            return false;
        }
        let (stands_ready, late) = (member.stands_ready(), member.late());
        self.with(group.0, |peer, _| {
            peer.owe(i32::from(!stands_ready));
            if let Some(late) = late {
                peer.complete(now, group.1, late, io);
            }
        });
        self.groups(now, io);
        true
    }

    fn broadcast_arrived(
        &mut self,
        now: Time,
        header: &FrameHeader,
        body: &[u8],
        io: &mut impl Io,
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
        let (placed, owes) =
            (member.place(number, total, index, body.len())?, !member.stands_ready());
        io.broadcast_part(group, placed.token, placed.offset, &body[..placed.keep]);
        if let Some(finished) = member.placed(number, total, index, now) {
            let is_through = member.is_through(finished.number);
            io.broadcast_done(group, finished.token, finished.length);
            self.with(root, |peer, _| {
                peer.owe(if owes { -1 } else { 0 });
                if is_through {
                    peer.complete(now, group, finished.number, io);
                }
            });
        }
        Ok(())
    }

    /// Records a broadcast of a group that this process may join later, so that it can request the
    /// missed parts then. Bounded: what is not recorded is retransmitted by the root after a
    /// timeout.
    fn note_early(&mut self, header: &FrameHeader) {
        let place = (header.source, header.words[0]);
        let known = self.peer(header.source).is_some_and(|peer| !peer.is_lost());
        if known
            && header.sequence < WINDOW as u32
            && (self.early.len() < EARLY || self.early.contains_key(&place))
        {
            *self.early.entry(place).or_default() |= 1 << header.sequence;
        }
    }

    /// Sends whatever the groups have to send now.
    fn groups(&mut self, now: Time, io: &mut impl Io) {
        if self.roots.is_empty() && self.members.is_empty() {
            return;
        }
        self.group_retry = None;
        for (number, root) in &mut self.roots {
            root.expire(now);
            while let Some(part) = root.next() {
                let endpoint = match part.to {
                    None => EVERYBODY,
                    Some(rank) => self.peers[rank as usize]
                        .as_ref()
                        .map_or(EVERYBODY, |entry| entry.peer.endpoint()),
                };
                let header = FrameHeader {
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
                let body = FrameBody::Message {
                    buffer: part.buffer,
                    offset: part.offset,
                    length: part.length,
                };
                let taken = match part.to {
                    None => io.broadcast(*number, &header, body),
                    Some(rank) => {
                        let peer = self.peers[rank as usize].as_ref();
                        let rail = peer.map_or(0, |entry| entry.peer.rails().best());
                        io.send(rank, rail, &header, body)
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
                    // Without a session, or with a full interface, this still counts as an attempt.
                    entry.peer.ask_repair(now, words, pair, io);
                }
                member.asked(&missing, now);
            }
        }
    }

    /// If the peer is lost, removes it from all groups.
    fn notice_loss(&mut self, rank: u32, io: &mut impl Io) {
        let entry = self.peers.get_mut(rank as usize).and_then(Option::as_mut);
        if !entry.is_some_and(|entry| entry.peer.take_loss()) {
            return;
        }
        for (number, root) in &mut self.roots {
            root.forget(rank, &mut |buffer| io.broadcast_sent(*number, buffer));
        }
        self.members.retain(|(root, _), _| *root != rank);
        self.early.retain(|(root, _), _| *root != rank);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::FrameKey;
    use crate::rails::RailLink;

    fn early(endpoint: &Endpoint, root: u32, group: u32) -> Option<u32> {
        endpoint.early.get(&(root, group)).copied()
    }

    #[test]
    fn what_groups_say_early_is_noted_boundedly() {
        let link = RailLink { payload: 1400, speed: 0 };
        let key = FrameKey::of_secret(&[7; 32]);
        let mut endpoint =
            Endpoint::new(Own { key, rank: 0, endpoint: 7, incarnation: 1 }, Settings::default());
        endpoint.add(&PeerCard { rank: 1, endpoint: 8, incarnation: Some(1), links: vec![link] });
        let mut note = |source, group, sequence| {
            let header = FrameHeader {
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
        // A group that is already recorded still has room.
        note(1, 100, 1);
        assert_eq!(
            early(&endpoint, 1, 5),
            Some((1 << WINDOW) - 1),
            "what the root may send before it hears of it"
        );
        assert_eq!(early(&endpoint, 2, 5), None, "a stranger");
        assert_eq!((endpoint.early.len(), early(&endpoint, 1, 100)), (EARLY, Some(0b11)));

        // A process that joins requests the missed message at once, and only once.
        endpoint.add_member(MulticastGroup { number: 5, session: 1, root: 1, chunk: 100 }, true);
        assert_eq!(early(&endpoint, 1, 5), None);
        let member = endpoint.members.get_mut(&(1, 5)).unwrap();
        for number in 0..WINDOW as u32 {
            assert_eq!(member.expect(50, 70, 1000), Some(number));
            let missing = member.missing(50).unwrap();
            assert_eq!((missing.message, missing.first, missing.bitmap), (number, 0, u32::MAX));
            member.asked(&missing, 50);
        }
        assert_eq!((member.expect(50, 70, 1000), member.missing(50)), (Some(WINDOW as u32), None));

        // After the group is left, or its root is lost, nothing is recorded any more.
        endpoint.remove_members(100);
        assert_eq!(early(&endpoint, 1, 100), None);
    }
}
