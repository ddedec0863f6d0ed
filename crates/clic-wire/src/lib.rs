//! CLIC as a wire: messages and regions of the engine on one side, frames on the other, and the
//! protocol in between.
//!
//! ```text
//!  Clic        the wire: what the engine calls
//!    driver      driver of the protocol: sends frames, delivers messages
//!    memory    unacknowledged messages, regions, pull targets
//!    bulk      reception of bulk directly into pull targets
//!    groups    broadcasts to all members of a group
//!    outage    paths that accept no frames
//!    periodic  work done every second: keep-alive frames, checks of the interfaces
//!  card        the interfaces on which a host is reached
//!  trial       tests which paths between hosts work
//!  port        the sockets of one interface
//! ```
//!
//! A message is copied once, behind its header of 17 bytes, and sent and retransmitted from there;
//! received messages are passed to the engine in place. The frames of one message are sent as one
//! super-frame. So are messages to a busy peer: from the seventeenth unacknowledged frame on, they
//! are held back for each other until the next call that polls for messages or sends to another
//! peer. Regions are sent from user memory (but see [`Clic::copying`]) and received at their
//! destination.
//!
//! The protocol advances only when this process calls MPI: retransmissions wait for that, and a
//! peer that computes does not count as lost. Fast path: one system call to send, none to receive.

mod bulk;
mod card;
mod driver;
mod groups;
mod memory;
mod outage;
mod periodic;
pub mod port;
mod trial;
mod wire;

pub use card::{Facing, HostCard, Ports};
pub use groups::Reach;
pub use trial::{Opposite, RAW, TrialTerms, UDP, Verdicts, try_ways};

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::epoll;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use towpath_base::ids::PeerIndex;

use crate::port::{Address, Interface, Port, PortInput, Way};
use bulk::BulkReader;
use driver::{Driver, Ended, HEAD_BYTES, Holdings, RailOutputs};
use towpath_clic::key::FrameKey;
use towpath_clic::peer::Own;
use towpath_clic::rails::{MOST_RAILS, RailLink};
use towpath_clic::region::RegionName;
use towpath_clic::timer::MILLISECOND;
use towpath_clic::{Endpoint, PeerCard, Settings, Time};
use towpath_transport::error::Error;
use towpath_transport::{Header, Losses, Sink};

/// Longest copied message in bytes; less if [`towpath_clic::FRAGMENTS`] frames carry less. Beyond
/// either limit, a pulled message arrives sooner (eager versus pulled over veth in us, 2026-11-22:
/// 64 KiB at MTU 9000, 25 versus 53; 16 KiB at MTU 1500, 20 versus 36; but at 32 KiB, eager
/// messages reach only 0.75 of the message rate).
const EAGER_BYTES: usize = 64 << 10;
/// Maximum number of frames received from a rail in one progress call.
const FRAMES: usize = 64;
/// Maximum number of system calls that receive bulk in one progress call.
const BULKS: usize = 8;
/// A spinning process reads the clock once per this many polls, that is, about once a microsecond
/// or more often.
const SELDOM: u32 = 8;
/// No rail: an interface that does not lead to the peer.
const NO_RAIL: u8 = u8::MAX;

/// A process on another host, as described by its card.
#[derive(Clone, Debug)]
pub struct ClicContact {
    /// Its index on this side and its rank in the job.
    pub peer: PeerIndex,
    /// The endpoint number that its host's packet filter matches.
    pub endpoint: u16,
    /// Its incarnation.
    pub incarnation: u32,
    /// The rails to it, numbered alike on both sides: index of the local port, remote address, and
    /// whether raw Ethernet frames are used.
    pub rails: Vec<(usize, Address, bool)>,
}

/// The identity of this process.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// Its rank in the job.
    pub own: PeerIndex,
    /// The endpoint number in frames to it.
    pub endpoint: u16,
    /// Its incarnation.
    pub incarnation: u32,
    /// The secret of the job.
    pub key: FrameKey,
    /// This process shares its core with others of the job.
    pub drowsy: bool,
}

/// The wire to processes of other hosts over CLIC. Its public interface identifies a peer by its
/// index in this wire, the implementation by its rank.
pub struct Clic {
    endpoint: Endpoint,
    inputs: Vec<PortInput>,
    lines: RailOutputs,
    holdings: Holdings,
    ranks: Vec<u32>,
    /// By rank: maximum message length in bytes.
    limits: Vec<usize>,
    /// By rank: bandwidth of all rails together, in MB/s.
    speeds: Vec<u32>,
    /// By rank and interface: the rail to this peer.
    rails: Vec<[u8; MOST_RAILS]>,
    /// The peer that most recently sent bulk data; more is expected from it.
    bulk_from: u32,
    began: Instant,
    epoll: OwnedFd,
    timer: OwnedFd,
    asleep: bool,
    drowsy: bool,
    /// Number of progress calls.
    looks: u32,
    interfaces: Vec<Interface>,
    periodic: periodic::Periodic,
    outages: outage::Outages,
    losses: Losses,
    /// All processes of the job reach all other hosts by CLIC.
    everywhere: bool,
}

/// The sink of calls that cannot deliver messages, such as sends.
struct Nobody;

impl Sink for Nobody {
    fn arrived(&mut self, _: PeerIndex, _: &Header, _: *const u8, _: usize) {
        debug_assert!(false, "messages come by progress only");
    }
    fn released(&mut self, _: u64) {}
    fn pulled(&mut self, _: u64) {}
    fn lost(&mut self, _: PeerIndex) {}
}

/// The reason for the loss of a peer that ended the session itself.
fn given_up(rank: u32) -> String {
    format!(
        "rank {rank} has given up on this rank: its host cannot reach this one any more, \
         or believes that this rank has ended"
    )
}

/// What the wire knows of the links to each peer, by the slot of the peer's index.
#[derive(Default)]
struct Routes {
    ways: Vec<Vec<(u8, Way)>>,
    limits: Vec<usize>,
    speeds: Vec<u32>,
    rails: Vec<[u8; MOST_RAILS]>,
}

impl Routes {
    /// Adds the links to a peer by its rails, and returns them as the protocol sees them. The
    /// caller sets the peer's limit.
    fn add(&mut self, contact: &ClicContact, ports: &[Port]) -> Vec<RailLink> {
        let slot = contact.peer.slot();
        if self.ways.len() <= slot {
            self.ways.resize_with(slot + 1, Vec::new);
            self.limits.resize(slot + 1, 0);
            self.speeds.resize(slot + 1, 0);
            self.rails.resize(slot + 1, [NO_RAIL; MOST_RAILS]);
        }
        let (mut links, mut ways) = (Vec::new(), Vec::new());
        for (port, address, raw) in contact.rails.iter().take(MOST_RAILS) {
            let way = ports[*port].way(address, *raw);
            self.rails[slot][*port] = links.len() as u8;
            self.speeds[slot] += address.speed / 8;
            let speed = u64::from(address.speed) * 125_000;
            links.push(RailLink { payload: way.payload(), speed });
            ways.push((*port as u8, way));
        }
        self.ways[slot] = ways;
        links
    }
}

impl Clic {
    /// Creates the wire of this process to `contacts`, over its ports, each of which is a rail.
    ///
    /// # Errors
    /// [`Error::Network`] if the system provides no descriptor.
    pub fn new(
        identity: Identity,
        ports: Vec<Port>,
        contacts: &[ClicContact],
    ) -> Result<Clic, Error> {
        let own = Own {
            key: identity.key,
            rank: identity.own.0,
            endpoint: identity.endpoint,
            incarnation: identity.incarnation,
        };
        // A process that computes does not respond, and does not send frames that were held back.
        let settings = Settings {
            silence: None,
            gathers: false,
            drowsy: identity.drowsy,
            ..Settings::default()
        };
        let mut endpoint = Endpoint::new(own, settings);
        let mut holdings = Holdings::default();
        holdings.groups.set_job(&identity.key);
        let mut routes = Routes::default();
        for contact in contacts {
            let rank = contact.peer.0;
            holdings.groups.know(contact, &ports);
            endpoint.add(&PeerCard {
                rank,
                endpoint: contact.endpoint,
                incarnation: Some(contact.incarnation),
                links: routes.add(contact, &ports),
            });
            let longest = endpoint.peer(rank).map_or(0, towpath_clic::Peer::eager_limit);
            let limit = longest.saturating_sub(HEAD_BYTES).min(EAGER_BYTES);
            routes.limits[contact.peer.slot()] = limit;
        }
        let interfaces: Vec<Interface> =
            ports.iter().map(|port| port.interface().clone()).collect();
        let (outputs, inputs): (Vec<_>, Vec<_>) = ports.into_iter().map(Port::split).unzip();
        let (epoll, timer) =
            watch(&inputs).map_err(|error| Error::network("watch interfaces", &error.into()))?;
        Ok(Clic {
            endpoint,
            inputs,
            lines: RailOutputs::new(outputs, routes.ways),
            holdings,
            ranks: contacts.iter().map(|contact| contact.peer.0).collect(),
            limits: routes.limits,
            speeds: routes.speeds,
            rails: routes.rails,
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

    /// Configures the sender-side copy, for measurements. With `copies`, the sender copies
    /// everything once, from user memory to a buffer of the wire, before it is passed to the
    /// interface. That is the "1-copy" of the original CLIC, whose slides ("CLIC on Gigabit
    /// Ethernet (I)" and "(II)", University of Granada, 2003) classify variants by what the sender
    /// does. Its "0-copy", from user memory to the interface, is the default of this wire. In the
    /// original, the receiver makes one copy in both variants; here that copy is the kernel's,
    /// directly to the destination. Eager messages and packed ones are always copied once, and not
    /// a second time.
    pub fn copying(mut self, copies: bool) -> Clic {
        if copies {
            self.lines.copy_first();
        }
        self
    }

    /// Number of bytes that were copied because of [`Clic::copying`].
    pub fn copied_before_sending(&self) -> u64 {
        self.lines.copied()
    }

    /// Sets where the reasons for losses are recorded.
    pub fn noting_in(mut self, losses: Losses) -> Clic {
        self.losses = losses;
        self
    }

    /// Sets whether every host of the job reaches every other one by CLIC.
    pub fn reaching_all(mut self, everywhere: bool) -> Clic {
        self.everywhere = everywhere;
        self
    }

    /// True if all processes of the job have such a wire to all other hosts: only then may they
    /// agree to use it together.
    pub fn reaches_all(&self) -> bool {
        self.everywhere
    }

    /// The peers, in the order of their indices in this wire.
    pub fn reached(&self) -> Vec<PeerIndex> {
        self.ranks.iter().map(|rank| PeerIndex(*rank)).collect()
    }

    /// A descriptor that is readable when `progress` may find something, for a process that
    /// sleeps after a call of [`Clic::fall_asleep`].
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    /// The protocol's state, for diagnostics.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    fn now(&self) -> Time {
        self.began.elapsed().as_nanos() as Time
    }

    /// Calls the protocol in a context in which no message can arrive.
    #[inline]
    fn call<T>(
        &mut self,
        call: impl FnOnce(&mut Endpoint, Time, &mut Driver<'_, Nobody>) -> T,
    ) -> T {
        let now = self.now();
        let mut driver =
            Driver { lines: &mut self.lines, holdings: &mut self.holdings, sink: &mut Nobody };
        let outcome = call(&mut self.endpoint, now, &mut driver);
        self.lines.flush();
        outcome
    }

    /// The next `progress` polls all sockets, including those that are rarely used.
    pub fn look_everywhere(&mut self) {
        self.inputs.iter_mut().for_each(PortInput::look_everywhere);
    }

    /// Reports pending completions to the sink.
    fn report(&mut self, sink: &mut impl Sink) -> bool {
        if self.holdings.ends.is_empty() {
            return false;
        }
        for end in self.holdings.ends.drain(..) {
            match end {
                Ended::Released(token) => sink.released(token),
                Ended::Pulled(token) => sink.pulled(token),
                Ended::Lost(rank)
                    if self.endpoint.peer(rank).is_some_and(towpath_clic::Peer::has_left) =>
                {
                    sink.left(PeerIndex(rank));
                }
                Ended::Lost(rank) => {
                    // The peer's own report may come too late: this process may end the job first.
                    if self.endpoint.peer(rank).is_some_and(towpath_clic::Peer::has_given_up) {
                        self.losses.note(PeerIndex(rank), &given_up(rank));
                    }
                    sink.lost(PeerIndex(rank));
                }
            }
        }
        true
    }

    /// Prepares to sleep: notifies the peers, and arms the descriptor so that it becomes readable
    /// when a timer expires.
    pub fn fall_asleep(&mut self) {
        if self.asleep {
            return;
        }
        self.lines.flush();
        self.drain();
        if !self.drowsy {
            self.call(|endpoint, now, driver| endpoint.set_asleep(now, true, driver));
        }
        self.asleep = true;
        let wait = self.endpoint.deadline().map_or(Duration::ZERO, |at| {
            // Zero would disarm the timer.
            Duration::from_nanos(at.saturating_sub(self.now()).clamp(1_000, 100 * MILLISECOND))
        });
        let wait = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: wait };
        // If this fails, the cost is a tenth of a second at most: no process sleeps longer.
        let _ = timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once);
    }

    /// Drains bulk that no pull expects (duplicates or late frames) from the sockets, because it
    /// would wake a sleeping process at once.
    fn drain(&mut self) {
        if !self.holdings.destinations.is_empty() {
            return;
        }
        let Clic { endpoint, inputs, lines, holdings, rails, bulk_from: from, began, .. } = self;
        for (interface, input) in inputs.iter_mut().enumerate() {
            let driver = Driver { lines: &mut *lines, holdings: &mut *holdings, sink: &mut Nobody };
            input.receive_bulk(
                FRAMES,
                &mut BulkReader {
                    endpoint,
                    driver,
                    rails,
                    from,
                    interface,
                    began: *began,
                    in_place: false,
                },
            );
        }
    }

    /// True if the peer at `index` is lost.
    pub fn is_lost(&self, index: usize) -> bool {
        self.endpoint.peer(self.ranks[index]).is_none_or(towpath_clic::Peer::is_lost)
    }

    /// True if the peer at `index` is lost because it left in an orderly way.
    pub fn has_left(&self, index: usize) -> bool {
        self.endpoint.peer(self.ranks[index]).is_some_and(towpath_clic::Peer::has_left)
    }

    /// This process leaves MPI: notifies the peers. Afterwards `busy` is true until no peer
    /// needs this process any more. Nothing may be sent afterwards.
    pub fn leave(&mut self) {
        self.call(|endpoint, now, driver| endpoint.leave(now, driver));
    }
}

/// Creates an epoll descriptor that is readable when a frame has arrived or the timer has expired,
/// and that timer.
fn watch(inputs: &[PortInput]) -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let timer =
        timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
    for descriptor in inputs.iter().flat_map(PortInput::descriptors).chain([timer.as_fd()]) {
        epoll::add(&epoll, descriptor, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
    }
    Ok((epoll, timer))
}

/// The rail to its sender over which a frame claims to have arrived on this interface; the frame is
/// not validated.
fn rail_of(rails: &[[u8; MOST_RAILS]], frame: &[u8], interface: usize) -> u8 {
    let source =
        frame.get(8..12).and_then(|bytes| bytes.first_chunk().copied()).map(u32::from_le_bytes);
    source.and_then(|rank| rails.get(rank as usize)).map_or(NO_RAIL, |rails| rails[interface])
}

/// Decodes the name of a region. Only its owner knows its length; for the receiver, it is the
/// length that it wants.
fn key_of(region: u64, length: u64) -> RegionName {
    RegionName { slot: region as u32, generation: (region >> 32) as u32, length }
}

// SAFETY: the raw pointers refer to sources and targets, which are `Send` and stay valid until
// their ends are reported (contracts of `publish` and `pull`). Every other field is `Send`.
unsafe impl Send for Clic {}
