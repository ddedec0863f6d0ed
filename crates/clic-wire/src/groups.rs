//! Groups: broadcasts from one process to the processes of several other hosts at once, in frames
//! that the switch replicates.
//!
//! A group has a multicast address, which its members join, and one protocol root per sending
//! process. A member always has buffers posted for the next messages of each root: early messages
//! are kept, at most [`READY`] of [`LONGEST`] bytes, and the root sends no more until they are
//! consumed. A late member therefore costs neither repairs nor the root's time. The sender may
//! reuse its memory at once, because messages are copied on both sides.

#![forbid(unsafe_code)]

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::OwnedFd;

use rustix::event::epoll;
use towpath_base::ids::PeerIndex;
use towpath_base::slab::{Slab, SlabKey};

use super::driver::Driver;
use super::{Clic, ClicContact, Nobody};
use crate::port::{Carrier, GroupAddress, Port, PortInput};
use towpath_clic::key::FrameKey;
use towpath_clic::multicast::{MOST_PARTS, MulticastGroup, READY};

/// Longest message of a group in bytes, if parts are long enough. 64 KiB fit into one message;
/// longer broadcasts continue in messages of this length.
const LONGEST: usize = 68 << 10;
/// Messages of groups have no particular peer.
const NO_PEER: u32 = u32::MAX;

/// How a process reaches all other members of a group; all of them must agree on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// The interface of this process; other processes may number theirs differently.
    pub interface: u8,
    /// True for raw Ethernet frames, false for UDP.
    pub raw: bool,
    /// Length of a part, which every rail of every member can carry.
    pub chunk: u16,
}

impl Reach {
    /// The carriers that frames to a group may use, fastest first.
    pub fn carriers(&self) -> &'static [Carrier] {
        if self.raw { &[Carrier::Crafted, Carrier::Raw] } else { &[Carrier::Udp] }
    }
}

/// A buffer posted for a message; `length` is set when the message is complete.
#[derive(Debug)]
struct Early {
    bytes: Vec<u8>,
    length: Option<usize>,
}

/// How a peer is reached, and whether it shares the network of the first rail.
#[derive(Clone, Copy, Debug)]
struct SharedNetwork {
    reach: Reach,
    shared: bool,
}

/// The group state of a wire.
#[derive(Debug, Default)]
pub(super) struct Groups {
    job: u64,
    /// By rank.
    segments: Vec<Option<SharedNetwork>>,
    joined: BTreeMap<u32, Joined>,
    /// By root and group: handles of the next messages.
    ready: BTreeMap<(u32, u32), VecDeque<u64>>,
    messages: Slab<Early>,
    /// Groups that were left while a message of this process was in flight.
    leaving: Vec<u32>,
    /// The engine waits for a message.
    pub(super) awaited: bool,
}

#[derive(Debug)]
struct Joined {
    interface: usize,
    address: GroupAddress,
    by: Carrier,
}

impl Groups {
    pub(super) fn set_job(&mut self, key: &FrameKey) {
        // A tag over something that is not a frame identifies the job: it differs between jobs, and
        // reveals nothing about the key.
        self.job = u64::from(key.check(&[0; 32], b"groups"));
    }

    /// Records how a peer is reached.
    pub(super) fn know(&mut self, contact: &ClicContact, ports: &[Port]) {
        let slot = contact.peer.slot();
        if self.segments.len() <= slot {
            self.segments.resize(slot + 1, None);
        }
        let chunk = contact
            .rails
            .iter()
            .map(|(port, address, raw)| ports[*port].way(address, *raw).payload())
            .min();
        self.segments[slot] =
            contact.rails.first().zip(chunk).map(|((port, address, raw), chunk)| {
                let (own, theirs) = (ports[*port].interface().network, address.network);
                let apart = own.address != theirs.address && !theirs.address.is_loopback();
                let shared = apart
                    && theirs.address.is_ipv4()
                    && own.prefix == theirs.prefix
                    && own.holds(&theirs.address);
                SharedNetwork { reach: Reach { interface: *port as u8, raw: *raw, chunk }, shared }
            });
    }

    pub(super) fn part(&mut self, token: u64, offset: usize, bytes: &[u8]) {
        let Some(early) = self.messages.get_mut(SlabKey(token)) else { return };
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
        if let Some(early) = self.messages.get_mut(SlabKey(token)) {
            early.length = Some(length);
        }
    }
}

impl Clic {
    /// How frames reach all these processes at once; `None` if one of them does not share the
    /// network of the first rail.
    pub fn reach(&self, others: impl Iterator<Item = PeerIndex>) -> Option<Reach> {
        let mut common: Option<Reach> = None;
        for peer in others {
            let segment = (*self.holdings.groups.segments.get(peer.slot())?)?;
            let reach = segment.shared.then_some(segment.reach)?;
            let chunk = common.map_or(reach.chunk, |common| common.chunk.min(reach.chunk));
            if common.is_some_and(|common| {
                (common.interface, common.raw) != (reach.interface, reach.raw)
            }) {
                return None;
            }
            common = Some(Reach { chunk, ..reach });
        }
        common
    }

    /// Joins a group, whose number must be unique in the job. Returns false if the system does not
    /// allow it.
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

    /// Leaves a group. Messages of this process in flight are still repaired.
    pub fn leave_group(&mut self, group: u32) {
        let groups = &mut self.holdings.groups;
        if let Some(joined) = groups.joined.get(&group) {
            self.inputs[joined.interface].leave(&joined.address, joined.by);
        }
        groups.ready.retain(|(_, number), names| {
            if *number == group {
                names.drain(..).for_each(|name| drop(groups.messages.remove(SlabKey(name))));
            }
            *number != group
        });
        self.endpoint.remove_members(group);
        groups.leaving.push(group);
        self.sweep_groups();
    }

    /// Removes groups that have been left and have no messages in flight.
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

    /// Longest message of a group whose parts have this length.
    pub fn longest_broadcast(chunk: u16) -> usize {
        LONGEST.min(usize::from(chunk) * MOST_PARTS as usize)
    }

    /// Makes this process a root of a group that it has joined.
    pub fn send_to_group(&mut self, group: u32, chunk: u16, receivers: &[PeerIndex]) {
        let receivers: Vec<u32> = receivers.iter().map(|peer| peer.0).collect();
        let root = self.endpoint.rank();
        self.endpoint.add_root(
            MulticastGroup { number: group, session: session_of(group), root, chunk },
            &receivers,
        );
    }

    /// Makes this process a member that receives from this root.
    pub fn listen_to(&mut self, root: PeerIndex, group: u32, chunk: u16) {
        let place = (root.0, group);
        if self.holdings.groups.ready.contains_key(&place) {
            return;
        }
        self.endpoint.add_member(
            MulticastGroup { number: group, session: session_of(group), root: root.0, chunk },
            true,
        );
        self.holdings.groups.ready.insert(place, VecDeque::new());
        for _ in 0..READY {
            self.stand_ready(place, chunk, Vec::new());
        }
    }

    /// Posts a buffer for one more message of a root, reusing the memory of an earlier one.
    fn stand_ready(&mut self, place: (u32, u32), chunk: u16, mut bytes: Vec<u8>) {
        bytes.clear();
        let name = self.holdings.groups.messages.insert(Early { bytes, length: None }).0;
        let capacity = Clic::longest_broadcast(chunk) as u32;
        if self.call(|endpoint, now, driver| endpoint.expect(now, place, name, capacity, driver)) {
            self.holdings.groups.ready.entry(place).or_default().push_back(name);
        } else {
            self.holdings.groups.messages.remove(SlabKey(name));
        }
    }

    /// Sends a message of at most [`Clic::longest_broadcast`] bytes, which `fill` writes, to all
    /// members. Returns false if too many messages are in flight; the call then has no effect, and
    /// progress makes room.
    pub fn broadcast(&mut self, group: u32, length: usize, fill: impl FnOnce(*mut u8)) -> bool {
        if !self.endpoint.has_room(group) {
            return false;
        }
        let (name, bytes) = self.holdings.messages.begin(NO_PEER, length);
        fill(bytes);
        let started = self.call(|endpoint, now, driver: &mut Driver<'_, Nobody>| {
            endpoint.broadcast(now, group, name, length as u32, driver)
        });
        if !started {
            self.holdings.messages.end(name);
        }
        started
    }

    /// Passes the next message of a root, truncated to the length of its buffer, to `take` and
    /// removes it, if it has arrived.
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
        groups.messages.get(SlabKey(name))?.length?;
        groups.awaited = false;
        queue.pop_front();
        let early = groups.messages.remove(SlabKey(name))?;
        let length = early.length.unwrap_or(0).min(early.bytes.len());
        let taken = take(&early.bytes[..length]);
        self.stand_ready((root.0, group), chunk, early.bytes);
        Some(taken)
    }

    /// True if more messages of this root may arrive.
    pub fn hears(&self, root: PeerIndex) -> bool {
        self.endpoint.peer(root.0).is_some_and(|peer| !peer.is_lost())
    }

    /// Number of frames received so far through the address of a group.
    pub fn frames_of_groups(&self) -> u64 {
        self.endpoint.multicast_frames()
    }
}

/// Adds the group socket to the epoll set, so that a frame to a group wakes this process. Returns
/// false if the system refuses.
fn watched(epoll: &OwnedFd, input: &PortInput) -> bool {
    let Some(descriptor) = input.group_descriptor() else { return true };
    let added = epoll::add(epoll, descriptor, epoll::EventData::new_u64(0), epoll::EventFlags::IN);
    matches!(added, Ok(()) | Err(rustix::io::Errno::EXIST))
}

/// The session in the frames of a group. It need not be unique: group numbers repeat only after
/// 2^32 groups, and the authentication tag rejects frames of other jobs.
fn session_of(group: u32) -> u16 {
    (group ^ group >> 16) as u16
}
