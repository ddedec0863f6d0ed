//! CLIC as a wire: the engine's messages and regions on one side, frames on the other, the protocol
//! in between.
//!
//! ```text
//!  Clic       the wire: what the engine calls
//!   desk      what the protocol asks for and reports: frames out, messages in
//!   memory    messages that wait to be acknowledged, regions, targets
//!  groups     broadcasts: what is sent to all members of a group, and what came
//!  outage     ways that take no frame
//! periodic    what is done every second: keep-alive frames, a look at the interfaces
//!  card       on which interfaces a host is reached
//!  trial      which ways between hosts work
//! ```
//!
//! A message is copied once, behind its header of 17 bytes, and sent from there, again if need be;
//! what arrives is shown to the engine where it lies. The frames of one message go out as one
//! super-frame, and so do messages to a peer that has enough to do: from the seventeenth on that it
//! has not acknowledged they wait for each other, until the next call that looks for messages, or
//! sends to another peer, at the longest. Regions are sent from where they lie (but see
//! [`Clic::copying`]) and arrive where they go.
//!
//! The protocol moves when this process calls MPI: a lost frame waits for that, and a peer that
//! computes is not lost. Small path: one system call to send, none to receive.

mod bulk;
mod card;
mod desk;
mod groups;
mod memory;
mod outage;
mod periodic;
pub mod port;
mod trial;

pub use card::{Facing, HostCard, Ports};
pub use groups::Reach;
pub use trial::{Opposite, RAW, UDP, Verdicts, try_ways};

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::epoll;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use towpath_base::ids::PeerIndex;
use towpath_base::transfer::{Source, Target};

use crate::port::{Address, Input, Interface, Port, Way};
use bulk::Bulk;
use desk::{Desk, End, HEAD_BYTES, Holdings, Lines, head};
use memory::{Destination, Origin};
use towpath_clic::key::JobKey;
use towpath_clic::peer::Own;
use towpath_clic::rails::{Link, MOST_RAILS};
use towpath_clic::region::Key;
use towpath_clic::timer::MILLISECOND;
use towpath_clic::{Card, Endpoint, SendError, Settings, Time};
use towpath_transport::error::Error;
use towpath_transport::{Header, Losses, NoResource, RegionKey, Sink};

/// Bytes of the longest copied message, where that is not more than [`towpath_clic::FRAGMENTS`]
/// frames: beyond either a message is sooner there when its receiver asks for it (veth, eager
/// against pulled, us, 2026-11-22: 64 KiB at MTU 9000 25 against 53; at MTU 1500 16 KiB 20 against
/// 36, but 32 KiB only 0.75 of the messages a second).
const EAGER_BYTES: usize = 64 << 10;
/// Frames that are taken from a rail in one progress.
const FRAMES: usize = 64;
/// Calls of the system that receive bulk in one progress.
const BULKS: usize = 8;
/// Whoever spins looks at the clock every so many times: at least once a microsecond or so.
const SELDOM: u32 = 8;
/// Of interfaces that lead to nobody.
const NO_RAIL: u8 = u8::MAX;

/// A process on another host, as its card describes it.
#[derive(Clone, Debug)]
pub struct Contact {
    /// What it is called here and, as a number, in the whole job.
    pub peer: PeerIndex,
    /// The number that its host's filter looks for.
    pub endpoint: u16,
    /// Which life it lives.
    pub incarnation: u32,
    /// The rails to it, which both number alike: which of the own ports, its end, and whether
    /// frames go there below IP.
    pub rails: Vec<(usize, Address, bool)>,
}

/// Who this process is.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// What it is called.
    pub own: PeerIndex,
    /// The number that peers put into frames for it.
    pub endpoint: u16,
    /// Which life it lives.
    pub incarnation: u32,
    /// The secret of the job.
    pub key: JobKey,
    /// This process shares its core with others of the job.
    pub drowsy: bool,
}

/// The wire to processes of other hosts, by frames. Peers are named by place outside, by rank
/// inside.
pub struct Clic {
    endpoint: Endpoint,
    inputs: Vec<Input>,
    lines: Lines,
    holdings: Holdings,
    ranks: Vec<u32>,
    /// By rank: longest message in bytes.
    limits: Vec<usize>,
    /// By rank and interface: the rail to this peer.
    rails: Vec<[u8; MOST_RAILS]>,
    /// The peer from which bulk came last: more is expected.
    bulk_from: u32,
    began: Instant,
    epoll: OwnedFd,
    timer: OwnedFd,
    asleep: bool,
    drowsy: bool,
    /// How often something has been looked for.
    looks: u32,
    interfaces: Vec<Interface>,
    periodic: periodic::Periodic,
    outages: outage::Outages,
    losses: Losses,
    /// All processes of the job on other hosts reach all of each other by frames.
    everywhere: bool,
}

/// Nobody hears of messages while something is sent.
struct Nobody;

impl Sink for Nobody {
    fn arrived(&mut self, _: PeerIndex, _: &Header, _: *const u8, _: usize) {
        debug_assert!(false, "messages come by progress only");
    }
    fn released(&mut self, _: u64) {}
    fn pulled(&mut self, _: u64) {}
    fn lost(&mut self, _: PeerIndex) {}
}

/// Why a peer is lost that has ended the session itself.
fn given_up(rank: u32) -> String {
    format!(
        "rank {rank} has given up on this rank: its host cannot reach this one any more, \
         or believes that this rank has ended"
    )
}

impl Clic {
    /// The wire of this process to these others, over its ports, each of which is a rail.
    ///
    /// # Errors
    /// [`Error::Network`] when the system refuses a descriptor.
    pub fn new(identity: Identity, ports: Vec<Port>, contacts: &[Contact]) -> Result<Clic, Error> {
        let own = Own {
            key: identity.key,
            rank: identity.own.0,
            endpoint: identity.endpoint,
            incarnation: identity.incarnation,
        };
        // A process that computes answers nobody, and sends nothing that was held back.
        let settings = Settings { silence: None, gathers: false, drowsy: identity.drowsy, ..Settings::default() };
        let mut endpoint = Endpoint::new(own, settings);
        let mut holdings = Holdings::default();
        holdings.groups.set_job(&identity.key);
        let (mut ways, mut limits, mut rails) = (Vec::new(), Vec::new(), Vec::new());
        for contact in contacts {
            let (rank, slot) = (contact.peer.0, contact.peer.slot());
            if ways.len() <= slot {
                ways.resize_with(slot + 1, Vec::new);
                limits.resize(slot + 1, 0);
                rails.resize(slot + 1, [NO_RAIL; MOST_RAILS]);
            }
            holdings.groups.know(contact, &ports);
            let (mut links, mut to_peer): (Vec<Link>, Vec<(u8, Way)>) = (Vec::new(), Vec::new());
            for (port, address, raw) in contact.rails.iter().take(MOST_RAILS) {
                let way = ports[*port].way(address, *raw);
                rails[slot][*port] = links.len() as u8;
                links.push(Link { payload: way.payload(), speed: u64::from(address.speed) * 125_000 });
                to_peer.push((*port as u8, way));
            }
            endpoint.add(&Card { rank, endpoint: contact.endpoint, incarnation: Some(contact.incarnation), links });
            let longest = endpoint.peer(rank).map_or(0, towpath_clic::Peer::eager_limit);
            limits[slot] = longest.saturating_sub(HEAD_BYTES).min(EAGER_BYTES);
            ways[slot] = to_peer;
        }
        let interfaces: Vec<Interface> = ports.iter().map(|port| port.interface().clone()).collect();
        let (outputs, inputs): (Vec<_>, Vec<_>) = ports.into_iter().map(Port::split).unzip();
        let (epoll, timer) = watch(&inputs).map_err(|error| Error::network("watch interfaces", &error.into()))?;
        Ok(Clic {
            endpoint,
            inputs,
            lines: Lines::new(outputs, ways),
            holdings,
            ranks: contacts.iter().map(|contact| contact.peer.0).collect(),
            limits,
            rails,
            bulk_from: 0,
            began: Instant::now(),
            epoll,
            timer,
            asleep: false,
            drowsy: identity.drowsy,
            looks: 0,
            outages: outage::Outages::default(),
            periodic: periodic::Periodic::new(interfaces.len()),
            interfaces,
            losses: Losses::default(),
            everywhere: false,
        })
    }

    /// This wire, for measurements; if `copies`, what it sends is copied once by the sender: from
    /// user memory to a buffer of the wire, and on to the interface. That is the "1-copy" of the
    /// original, whose slides ("CLIC on Gigabit Ethernet (I)" and "(II)", University of Granada,
    /// 2003) tell kinds apart by what the sender does. Its "0-copy", from user memory to the
    /// interface, is what this wire does else. There the receiver makes one copy in both kinds;
    /// here that is the kernel's, to where the bytes go. Messages that are not fetched, and packed
    /// ones, are copied once in any case, and not once more.
    pub fn copying(mut self, copies: bool) -> Clic {
        if copies {
            self.lines.copy_first();
        }
        self
    }

    /// Bytes that were copied because of [`Clic::copying`].
    pub fn copied_before_sending(&self) -> u64 {
        self.lines.copied()
    }

    /// Reasons for losses are noted there.
    pub fn noting_in(mut self, losses: Losses) -> Clic {
        self.losses = losses;
        self
    }

    /// This wire; if `everywhere`, each host of the job reaches each other one by frames.
    pub fn reaching_all(mut self, everywhere: bool) -> Clic {
        self.everywhere = everywhere;
        self
    }

    /// Whether all processes of the job have such a wire, to all other hosts: only then they may
    /// agree to use it together.
    pub fn reaches_all(&self) -> bool {
        self.everywhere
    }

    /// The peers, in the order of their places.
    pub fn reached(&self) -> Vec<PeerIndex> {
        self.ranks.iter().map(|rank| PeerIndex(*rank)).collect()
    }

    /// A descriptor that is readable when [`Clic::progress`] may find something, for whoever sleeps
    /// and has called [`Clic::fall_asleep`] before.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    /// The protocol's state, for reports.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    fn now(&self) -> Time {
        self.began.elapsed().as_nanos() as Time
    }

    /// Calls the protocol, while no message can come.
    #[inline]
    fn call<T>(&mut self, call: impl FnOnce(&mut Endpoint, Time, &mut Desk<'_, Nobody>) -> T) -> T {
        let now = self.now();
        let mut desk = Desk { lines: &mut self.lines, holdings: &mut self.holdings, sink: &mut Nobody };
        let outcome = call(&mut self.endpoint, now, &mut desk);
        self.lines.flush();
        outcome
    }

    /// Largest copied message towards the peer at `place`, in bytes.
    #[inline]
    pub fn copied_limit(&self, place: usize) -> usize {
        self.limits[self.ranks[place] as usize]
    }

    /// As [`towpath_transport::Wire::copied`], to the peer at `place`; short messages too.
    #[inline]
    pub fn copied(
        &mut self,
        place: usize,
        header: &Header,
        length: usize,
        fill: impl FnOnce(*mut u8),
    ) -> Result<(), NoResource> {
        let rank = self.ranks[place];
        if length > self.limits[rank as usize] {
            return Err(NoResource);
        }
        let whole = (HEAD_BYTES + length) as u32;
        let Some(peer) = self.endpoint.peer(rank) else { return Ok(()) };
        // Who is refused must not have filled anything: it may have nothing left to fill the next
        // time.
        match peer.takes(whole) {
            Ok(()) => {}
            Err(SendError::Lost) => return Ok(()),
            Err(SendError::Full | SendError::Long) => return Err(NoResource),
        }
        let under_way = peer.under_way();
        let (name, bytes) = self.holdings.messages.begin(rank, HEAD_BYTES + length);
        // SAFETY: there is room for the header and `length` bytes.
        unsafe { bytes.cast::<[u8; HEAD_BYTES]>().write_unaligned(head(header)) };
        fill(bytes.wrapping_add(HEAD_BYTES));
        let now = self.now();
        let mut desk = Desk { lines: &mut self.lines, holdings: &mut self.holdings, sink: &mut Nobody };
        let sent = self.endpoint.send(now, rank, name, whole, &mut desk);
        debug_assert_eq!(sent, Ok(()), "the peer takes it");
        if !self.lines.may_wait(under_way) {
            self.lines.flush();
        }
        Ok(())
    }

    /// As [`towpath_transport::Wire::publish`], to the peer at `place`.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn publish(&mut self, place: usize, token: u64, source: Source) -> RegionKey {
        let rank = self.ranks[place];
        let length = source.length() as u64;
        let name = self.holdings.origins.add(Origin::new(rank, token, source));
        let Some(key) = self.endpoint.publish(rank, name, length) else { return RegionKey([0; 2]) };
        RegionKey([u64::from(key.slot) | u64::from(key.generation) << 32, name])
    }

    /// As [`towpath_transport::Wire::withdraw`], to the peer at `place`.
    pub fn withdraw(&mut self, place: usize, key: RegionKey) -> bool {
        let [region, name] = key.0;
        let withdrawn = self.endpoint.withdraw(self.ranks[place], key_of(region, 0));
        if withdrawn {
            self.holdings.origins.take(name);
        }
        withdrawn
    }

    /// As [`towpath_transport::Wire::pull`], from the peer at `place`.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn pull(&mut self, place: usize, key: RegionKey, token: u64, target: Target) {
        if self.is_lost(place) {
            return;
        }
        let rank = self.ranks[place];
        let wanted = target.length() as u64;
        let name = self.holdings.destinations.add(Destination::new(rank, token, target));
        let key = key_of(key.0[0], wanted);
        self.call(|endpoint, now, desk| endpoint.pull(now, rank, key, name, wanted, desk));
    }

    /// As [`towpath_transport::Wire::progress`].
    pub fn progress(&mut self, sink: &mut impl Sink) -> bool {
        self.lines.flush();
        let (began, mut clock) = (self.began, None);
        let mut now = || *clock.get_or_insert_with(|| began.elapsed().as_nanos() as Time);
        self.looks = self.looks.wrapping_add(1);
        let mut is_due = self.asleep || self.drowsy || self.looks.is_multiple_of(SELDOM);
        // Who slept may have been woken by frames to a group.
        let groups = self.asleep || self.holdings.groups.awaited;
        if self.asleep {
            self.asleep = false;
            self.look_everywhere();
            if !self.drowsy {
                self.call(|endpoint, now, desk| endpoint.set_asleep(now, false, desk));
            }
        }
        let mut moved = self.lines.is_busy() && self.lines.retry();
        let Clic { endpoint, inputs, lines, holdings, rails, bulk_from, .. } = self;
        for (interface, input) in inputs.iter_mut().enumerate() {
            let mut desk = Desk { lines: &mut *lines, holdings: &mut *holdings, sink: &mut *sink };
            let mut take = |frame: &[u8]| {
                endpoint.arrived(now(), rail_of(rails, frame, interface), frame, &mut desk);
                desk.lines.flush();
            };
            moved |= input.receive(FRAMES, &mut take);
            if groups {
                moved |= input.receive_groups(FRAMES, &mut take);
            }
            if !desk.holdings.destinations.is_empty() {
                let from = &mut *bulk_from;
                let mut bulk = Bulk { endpoint, desk, rails, from, interface, began, in_place: true };
                moved |= input.receive_bulk(BULKS, &mut bulk);
            }
        }
        is_due |= moved;
        if is_due && self.periodic.may_be_due() {
            self.do_periodic_work();
        }
        if is_due && self.endpoint.deadline().is_some_and(|at| at <= now()) {
            let now = now();
            let mut desk = Desk { lines: &mut self.lines, holdings: &mut self.holdings, sink: &mut *sink };
            self.endpoint.tick(now, &mut desk);
            self.lines.flush();
            self.mind_outages(now);
        }
        if !self.holdings.unsettled.is_empty() {
            self.holdings.settle();
        }
        moved | self.report(sink)
    }

    /// The next [`Clic::progress`] looks at all sockets, also those by which something comes
    /// seldom.
    pub fn look_everywhere(&mut self) {
        self.inputs.iter_mut().for_each(Input::look_everywhere);
    }

    /// Reports what ended.
    fn report(&mut self, sink: &mut impl Sink) -> bool {
        if self.holdings.ends.is_empty() {
            return false;
        }
        for end in self.holdings.ends.drain(..) {
            match end {
                End::Released(token) => sink.released(token),
                End::Pulled(token) => sink.pulled(token),
                End::Lost(rank) if self.endpoint.peer(rank).is_some_and(towpath_clic::Peer::has_left) => {
                    sink.left(PeerIndex(rank));
                }
                End::Lost(rank) => {
                    // Its own sentence may come too late: this process may end the job first.
                    if self.endpoint.peer(rank).is_some_and(towpath_clic::Peer::has_given_up) {
                        self.losses.note(PeerIndex(rank), &given_up(rank));
                    }
                    sink.lost(PeerIndex(rank));
                }
            }
        }
        true
    }

    /// The last look before a sleep: peers are told, and the descriptor will be readable when the
    /// time for something has come.
    pub fn fall_asleep(&mut self) {
        if self.asleep {
            return;
        }
        self.lines.flush();
        self.drain();
        if !self.drowsy {
            self.call(|endpoint, now, desk| endpoint.set_asleep(now, true, desk));
        }
        self.asleep = true;
        let wait = self.endpoint.deadline().map_or(Duration::ZERO, |at| {
            // Zero would mean never.
            Duration::from_nanos(at.saturating_sub(self.now()).clamp(1_000, 100 * MILLISECOND))
        });
        let wait = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: wait };
        // Refused, it costs a tenth of a second at most: nobody sleeps longer.
        let _ = timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once);
    }

    /// Takes bulk that nobody waits for (it came twice, or too late) out of the sockets, which
    /// would wake whoever sleeps at once.
    fn drain(&mut self) {
        if !self.holdings.destinations.is_empty() {
            return;
        }
        let Clic { endpoint, inputs, lines, holdings, rails, bulk_from: from, began, .. } = self;
        for (interface, input) in inputs.iter_mut().enumerate() {
            let desk = Desk { lines: &mut *lines, holdings: &mut *holdings, sink: &mut Nobody };
            input.receive_bulk(
                FRAMES,
                &mut Bulk { endpoint, desk, rails, from, interface, began: *began, in_place: false },
            );
        }
    }

    /// Whether the peer at `place` is lost.
    pub fn is_lost(&self, place: usize) -> bool {
        self.endpoint.peer(self.ranks[place]).is_none_or(towpath_clic::Peer::is_lost)
    }

    /// Whether the peer at `place` is lost because it has left in order.
    pub fn has_left(&self, place: usize) -> bool {
        self.endpoint.peer(self.ranks[place]).is_some_and(towpath_clic::Peer::has_left)
    }

    /// The peer at `place` is gone, as somebody else knows.
    pub fn mark_lost(&mut self, place: usize) {
        let rank = self.ranks[place];
        self.call(|endpoint, now, desk| endpoint.give_up(now, rank, desk));
    }

    /// This process leaves MPI: peers are told. Then [`Clic::busy`] until they need it no more.
    /// Nothing may be sent afterwards.
    pub fn leave(&mut self) {
        self.call(|endpoint, now, desk| endpoint.leave(now, desk));
    }

    /// As [`towpath_transport::Wire::busy`].
    pub fn busy(&self) -> bool {
        self.endpoint.is_busy()
            || self.lines.is_busy()
            || !self.holdings.ends.is_empty()
            || !self.holdings.destinations.is_empty()
    }
}

/// What is readable when something has come or a timer has run out, and that timer.
fn watch(inputs: &[Input]) -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
    for descriptor in inputs.iter().flat_map(Input::descriptors).chain([timer.as_fd()]) {
        epoll::add(&epoll, descriptor, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
    }
    Ok((epoll, timer))
}

/// Which of the rails to its sender the frame came over, as an interface has it; nothing is
/// checked.
fn rail_of(rails: &[[u8; MOST_RAILS]], frame: &[u8], interface: usize) -> u8 {
    let source = frame.get(8..12).and_then(|bytes| bytes.first_chunk().copied()).map(u32::from_le_bytes);
    source.and_then(|rank| rails.get(rank as usize)).map_or(NO_RAIL, |rails| rails[interface])
}

/// The protocol's name of a region. Its length is known to its owner; for a receiver it is as long
/// as what it wants.
fn key_of(region: u64, length: u64) -> Key {
    Key { slot: region as u32, generation: (region >> 32) as u32, length }
}

// SAFETY: the raw pointers in regions and targets lead to memory that `publish` and `pull` were
// promised to live; the wire is used under the lock of its lane.
unsafe impl Send for Clic {}
