//! Groups: what one process sends to the processes of several other hosts at once, by frames that
//! the switch copies.
//!
//! A group has an address, which members join, and for each of its processes that sends a root of
//! the protocol. A member always stands ready for the next messages of a root: what comes before
//! anybody asks is kept, [`READY`] messages of [`LONGEST`] bytes at most, and the root sends no
//! more before they have been taken. So a member that is late costs neither a repair nor the root's
//! time. Whoever sends may use its memory again at once: messages are copied, on both sides.

#![forbid(unsafe_code)]

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::OwnedFd;

use rustix::event::epoll;
use towpath_base::ids::PeerIndex;

use super::desk::Desk;
use super::memory::Table;
use super::{Clic, Contact, Nobody};
use crate::port::{Carrier, GroupAddress, Input, Port};
use towpath_clic::key::JobKey;
use towpath_clic::multicast::{Group, MOST_PARTS, READY};

/// Longest message of a group in bytes, where parts are long enough: 64 KiB are one message, and
/// more follows what is this long.
const LONGEST: usize = 68 << 10;
/// Messages of groups are for no peer in particular.
const NO_PEER: u32 = u32::MAX;

/// How a process reaches all others of a group; all of them must agree on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Which interface of this process; others may number theirs differently.
    pub interface: u8,
    /// Frames go below IP, else by UDP.
    pub raw: bool,
    /// Bytes of a part that every rail of every member carries.
    pub chunk: u16,
}

impl Reach {
    /// By what frames to a group may go, the fastest first.
    pub fn carriers(&self) -> &'static [Carrier] {
        if self.raw { &[Carrier::Crafted, Carrier::Raw] } else { &[Carrier::Udp] }
    }
}

/// A message that stands ready to be received, or has come.
#[derive(Debug)]
struct Early {
    bytes: Vec<u8>,
    length: Option<usize>,
}

/// How the network of the first rail is shared with a peer.
#[derive(Clone, Copy, Debug)]
struct Segment {
    reach: Reach,
    shared: bool,
}

/// What a wire knows of groups.
#[derive(Debug, Default)]
pub(super) struct Groups {
    job: u64,
    /// By rank.
    segments: Vec<Option<Segment>>,
    joined: BTreeMap<u32, Joined>,
    /// By root and group: names of the next messages.
    ready: BTreeMap<(u32, u32), VecDeque<u64>>,
    messages: Table<Early>,
    /// Groups that were left while something of this root was under way.
    leaving: Vec<u32>,
    /// Somebody waits for a message.
    pub(super) awaited: bool,
}

#[derive(Debug)]
struct Joined {
    interface: usize,
    address: GroupAddress,
    by: Carrier,
}

impl Groups {
    pub(super) fn set_job(&mut self, key: &JobKey) {
        // A check of something that is no frame: it tells nobody anything, and others have another
        // one.
        self.job = u64::from(key.check(&[0; 32], b"groups"));
    }

    /// Notes how a peer is reached.
    pub(super) fn know(&mut self, contact: &Contact, ports: &[Port]) {
        let slot = contact.peer.slot();
        if self.segments.len() <= slot {
            self.segments.resize(slot + 1, None);
        }
        let chunk = contact.rails.iter().map(|(port, address, raw)| ports[*port].way(address, *raw).payload()).min();
        self.segments[slot] = contact.rails.first().zip(chunk).map(|((port, address, raw), chunk)| {
            let (own, theirs) = (ports[*port].interface().network, address.network);
            let apart = own.address != theirs.address && !theirs.address.is_loopback();
            let shared = apart && theirs.address.is_ipv4() && own.prefix == theirs.prefix && own.holds(&theirs.address);
            Segment { reach: Reach { interface: *port as u8, raw: *raw, chunk }, shared }
        });
    }

    pub(super) fn part(&mut self, token: u64, offset: usize, bytes: &[u8]) {
        let Some(early) = self.messages.of(token) else { return };
        let end = offset + bytes.len();
        if early.bytes.len() == offset {
            return early.bytes.extend_from_slice(bytes);
        }
        if early.bytes.len() < end {
            early.bytes.resize(end, 0);
        }
        early.bytes[offset..end].copy_from_slice(bytes);
    }

    pub(super) fn done(&mut self, token: u64, length: usize) {
        if let Some(early) = self.messages.of(token) {
            early.length = Some(length);
        }
    }
}

impl Clic {
    /// How frames reach all these processes at once; `None` when one of them does not share the
    /// network of the first rail.
    pub fn reach(&self, others: impl Iterator<Item = PeerIndex>) -> Option<Reach> {
        let mut common: Option<Reach> = None;
        for peer in others {
            let segment = (*self.holdings.groups.segments.get(peer.slot())?)?;
            let reach = segment.shared.then_some(segment.reach)?;
            let chunk = common.map_or(reach.chunk, |common| common.chunk.min(reach.chunk));
            if common.is_some_and(|common| (common.interface, common.raw) != (reach.interface, reach.raw)) {
                return None;
            }
            common = Some(Reach { chunk, ..reach });
        }
        common
    }

    /// Joins a group, whose number no other group of the job has. False when the system does not
    /// let it.
    pub fn join(&mut self, group: u32, reach: Reach, by: Carrier) -> bool {
        self.sweep_groups();
        let interface = usize::from(reach.interface);
        let address = GroupAddress::new(self.holdings.groups.job, group);
        let input = &mut self.inputs[interface];
        if input.join(&address, by).is_err() || !watched(&self.epoll, input) {
            return false;
        }
        let way = self.lines.output(interface).group_way(&address, by);
        self.lines.ways.groups.insert(group, (reach.interface, way));
        self.holdings.groups.joined.insert(group, Joined { interface, address, by });
        true
    }

    /// Leaves a group. Messages of this process that are under way are still repaired.
    pub fn leave_group(&mut self, group: u32) {
        let groups = &mut self.holdings.groups;
        if let Some(joined) = groups.joined.get(&group) {
            self.inputs[joined.interface].leave(&joined.address, joined.by);
        }
        groups.ready.retain(|(_, number), names| {
            if *number == group {
                names.drain(..).for_each(|name| drop(groups.messages.take(name)));
            }
            *number != group
        });
        self.endpoint.remove_members(group);
        groups.leaving.push(group);
        self.sweep_groups();
    }

    /// Forgets groups that have been left and owe nobody anything.
    fn sweep_groups(&mut self) {
        let Clic { endpoint, holdings, lines, .. } = self;
        let groups = &mut holdings.groups;
        groups.leaving.retain(|group| {
            let idle = endpoint.is_group_idle(*group);
            if idle {
                endpoint.remove_root(*group);
                groups.joined.remove(group);
                lines.ways.groups.remove(group);
            }
            !idle
        });
    }

    /// Longest message of a group whose parts are so long.
    pub fn longest_broadcast(chunk: u16) -> usize {
        LONGEST.min(usize::from(chunk) * MOST_PARTS as usize)
    }

    /// Makes this process a root of a group that it has joined.
    pub fn send_to_group(&mut self, group: u32, chunk: u16, receivers: &[PeerIndex]) {
        let receivers: Vec<u32> = receivers.iter().map(|peer| peer.0).collect();
        let root = self.endpoint.rank();
        self.endpoint.add_root(Group { number: group, session: session_of(group), root, chunk }, &receivers);
    }

    /// Makes this process a member that hears of this root.
    pub fn listen_to(&mut self, root: PeerIndex, group: u32, chunk: u16) {
        let place = (root.0, group);
        if self.holdings.groups.ready.contains_key(&place) {
            return;
        }
        self.endpoint.add_member(Group { number: group, session: session_of(group), root: root.0, chunk }, true);
        self.holdings.groups.ready.insert(place, VecDeque::new());
        for _ in 0..READY {
            self.stand_ready(place, chunk, Vec::new());
        }
    }

    /// Makes room for one more message of a root, in the memory of an earlier one.
    fn stand_ready(&mut self, place: (u32, u32), chunk: u16, mut bytes: Vec<u8>) {
        bytes.clear();
        let name = self.holdings.groups.messages.add(Early { bytes, length: None });
        let capacity = Clic::longest_broadcast(chunk) as u32;
        if self.call(|endpoint, now, desk| endpoint.expect(now, place, name, capacity, desk)) {
            self.holdings.groups.ready.entry(place).or_default().push_back(name);
        } else {
            self.holdings.groups.messages.take(name);
        }
    }

    /// Sends a message to all members, of at most [`Clic::longest_broadcast`] bytes, which `fill`
    /// writes. False when too many are under way: then nothing has happened, and progress helps.
    pub fn broadcast(&mut self, group: u32, length: usize, fill: impl FnOnce(*mut u8)) -> bool {
        if !self.endpoint.has_room(group) {
            return false;
        }
        let (name, bytes) = self.holdings.messages.begin(NO_PEER, length);
        fill(bytes);
        let started = self.call(|endpoint, now, desk: &mut Desk<'_, Nobody>| {
            endpoint.broadcast(now, group, name, length as u32, desk)
        });
        if !started {
            self.holdings.messages.end(name);
        }
        started
    }

    /// Shows the next message of a root to `take`, if it is here: its bytes, as far as they fit.
    /// Then it is gone.
    pub fn take_broadcast<R>(
        &mut self,
        root: PeerIndex,
        group: u32,
        chunk: u16,
        take: impl FnOnce(&[u8]) -> R,
    ) -> Option<R> {
        let groups = &mut self.holdings.groups;
        groups.awaited = true;
        let queue = groups.ready.get_mut(&(root.0, group))?;
        let name = *queue.front()?;
        groups.messages.of(name)?.length?;
        groups.awaited = false;
        queue.pop_front();
        let early = groups.messages.take(name)?;
        let length = early.length.unwrap_or(0).min(early.bytes.len());
        let taken = take(&early.bytes[..length]);
        self.stand_ready((root.0, group), chunk, early.bytes);
        Some(taken)
    }

    /// Whether messages of this root can still come.
    pub fn hears(&self, root: PeerIndex) -> bool {
        self.endpoint.peer(root.0).is_some_and(|peer| !peer.is_lost())
    }

    /// Frames that came by a group's address so far.
    pub fn frames_of_groups(&self) -> u64 {
        self.endpoint.multicast_frames()
    }
}

/// Lets frames to groups wake a sleeper. False when the system does not.
fn watched(epoll: &OwnedFd, input: &Input) -> bool {
    let Some(descriptor) = input.group_descriptor() else { return true };
    let added = epoll::add(epoll, descriptor, epoll::EventData::new_u64(0), epoll::EventFlags::IN);
    matches!(added, Ok(()) | Err(rustix::io::Errno::EXIST))
}

/// Numbers come round after 2^32 groups, so this only has to differ from what a stranger sends by
/// chance.
fn session_of(group: u32) -> u16 {
    (group ^ group >> 16) as u16
}
