//! The libfabric wire between hosts: one endpoint for reliable datagrams (`FI_EP_RDM`) per process,
//! on the provider that drives the fabric.
//!
//! Messages are copied into registered memory and have a header with an authentication code
//! (`frame`). A large message is requested by its receiver. Its sender registers the memory, grants
//! it, and deregisters it when the receiver has read it. A side whose memory is not contiguous goes
//! through bounce buffers. The messages of a pair are numbered, so that completions out of order
//! are processed in order, and replayed messages are refused.
//!
//! Fast path: a message is one copy and one send; its arrival is one completion. Memory is bounded:
//! buffers come from pools, and an operation without a buffer is refused or waits.

mod abi;
mod card;
mod choice;
mod endpoint;
mod frame;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod library;
mod lifecycle;
mod messages;
mod pool;
mod pulling;
mod stalled;
mod survey;
#[cfg(test)]
mod tests;
mod transfers;
mod wire;

pub use card::FabricCard;
pub use choice::{ProviderChoice, ProviderDescription, choose, choose_from};
pub use frame::FabricKey;
pub use survey::{FoundLibrary, Offered, Survey, Use, survey};

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::epoll;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use towpath_base::ids::PeerIndex;

use abi::cap;
use endpoint::{FabricCompletion, FabricEndpoint};
use frame::{FabricFrame, HEAD_BYTES};
use pool::{Kind, Pool};
use stalled::Wait;
use towpath_transport::error::Error;
use towpath_transport::regions::Regions;
use towpath_transport::{Losses, SHORT_BYTES, Sink};
use transfers::{FabricRead, OfiPulls, OfiPush};

/// Largest copied message in bytes.
pub const COPIED_LIMIT: usize = 16 * 1024;
/// Receive buffers posted to the provider.
const RECEIVES: u32 = 64;
const SMALL_BYTES: usize = 128;
const LARGE_BYTES: usize = COPIED_LIMIT + 64;
/// Buffers of each size that may be in flight: half a MiB and 4 MiB.
const SMALL_PIECES: u32 = 4096;
const LARGE_PIECES: u32 = 256;
/// Maximum number of messages in flight to one peer.
const UNDER_WAY: u32 = 64;
/// Size of a bounce buffer, for a source or target that is not contiguous; 2 MiB in all in each
/// direction.
const BOUNCE_BYTES: usize = 64 * 1024;
const BOUNCES: u32 = 32;
/// Maximum number of reads in flight.
const READS: u32 = 256;
/// Longest read into contiguous memory, unless the provider's limit is lower: the next reads start
/// while the last ones complete.
const READ_BYTES: usize = 4 << 20;
/// Completions processed in one progress call.
const BATCH: usize = 16;
/// The shortest and the longest sleep if the provider has a descriptor; bounded, because it may
/// miss events.
const TOLD_SLEEPS: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(80));
/// The same if the provider gives no event for what is pending.
const UNTOLD_SLEEPS: (Duration, Duration) = (Duration::from_micros(500), Duration::from_millis(5));
/// In between, a sleep lasts this fraction of the time in which nothing has happened, which bounds
/// the relative delay of what arrives.
const SLEEP_PART: u32 = 16;

const _: () =
    assert!(HEAD_BYTES + SHORT_BYTES <= SMALL_BYTES && HEAD_BYTES + COPIED_LIMIT <= LARGE_BYTES);

/// An endpoint that has an address and is not in use yet.
pub struct BoundEndpoint {
    endpoint: FabricEndpoint,
    provider: String,
    key: FabricKey,
}

impl BoundEndpoint {
    /// Opens one, for a job with this key and `peers` processes.
    ///
    /// # Errors
    /// [`Error::Fabric`] with the provider's reason.
    pub fn open(
        choice: &ProviderChoice,
        key: FabricKey,
        peers: usize,
    ) -> Result<BoundEndpoint, Error> {
        let failed = |reason: String| {
            Error::Fabric(format!("provider {}: {reason}", choice.offer.provider()))
        };
        let (start, mut count) = (u64::from(std::process::id()), 0);
        let keys = move || {
            count += 1;
            key.number(start, count)
        };
        let endpoint =
            FabricEndpoint::open(&choice.offer, peers, Box::new(keys)).map_err(failed)?;
        if endpoint.most() < LARGE_BYTES {
            return Err(failed(format!("its messages have {} bytes at most", endpoint.most())));
        }
        Ok(BoundEndpoint { endpoint, provider: choice.offer.provider(), key })
    }

    /// The card by which other processes reach it.
    ///
    /// # Errors
    /// [`Error::Fabric`] if the provider gives no address.
    pub fn card(&self) -> Result<FabricCard, Error> {
        let address = self.endpoint.name().map_err(Error::Fabric)?;
        Ok(FabricCard { provider: self.provider.clone(), address })
    }
}

/// A process on another host, as the launcher announces it.
#[derive(Clone, Debug)]
pub struct OfiContact {
    /// Its index in this process, and its number in the whole job.
    pub peer: PeerIndex,
    /// Its address, from its card.
    pub address: Vec<u8>,
}

/// The state of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OfiLink {
    /// Nothing has been sent to it or received from it.
    Quiet,
    Known,
    Lost,
}

/// One process of another host.
struct OfiPeer {
    contact: OfiContact,
    /// The provider's handle for its address, once something has been sent to it.
    address: Option<u64>,
    link: OfiLink,
    /// The numbers of the next message to it and from it.
    next_out: u64,
    next_in: u64,
    /// Messages whose sends are incomplete, including those that the provider has not accepted yet.
    under_way: u32,
    /// Buffers with complete messages that the provider has not accepted yet, in order.
    pending: VecDeque<(Kind, u32, usize)>,
    /// Headers without payload that have no buffer yet.
    controls: VecDeque<FabricFrame>,
    /// Messages that arrived out of order: their buffers and lengths.
    held: BTreeMap<u64, (u32, usize)>,
    /// Reads of its memory in flight, and how long they have been waited for.
    reading: u32,
    wait: Wait,
    /// Probes that were sent to it.
    probes: u32,
    /// Something is pending, and the peer is in `Ofi::writing`.
    listed: bool,
    /// A goodbye was sent to it.
    told: bool,
    /// It has sent its goodbye, or has left before it could receive ours.
    parted: bool,
}

/// A peer that was found dead.
struct Dead {
    peer: u32,
    since: Instant,
}

/// The wire to the processes of other hosts. Internally, peers are named by their index in `peers`;
/// the [`Sink`] gets [`PeerIndex`].
pub struct Ofi {
    own: u32,
    key: FabricKey,
    // The endpoint uses memory of the pools, and their registrations belong to it: `close` tears
    // them down in the right order.
    receives: Pool,
    small: Pool,
    large: Pool,
    /// Bounce buffers that peers read, and bounce buffers that reads go to.
    outgoing: Pool,
    incoming: Pool,
    read_contexts: Pool,
    reads: Vec<FabricRead>,
    /// Longest read in bytes.
    longest_read: usize,
    peers: Vec<OfiPeer>,
    /// The indices of peers by their numbers in the job.
    indices: BTreeMap<u32, u32>,
    /// Peers with pending messages.
    writing: Vec<u32>,
    /// Peers whose memory is being read.
    awaited: Vec<u32>,
    /// When a read last ended, how long reads are waited for, and the number of progress calls
    /// since the last check of that.
    last_end: Instant,
    patience: Duration,
    looks: u32,
    regions: Regions,
    /// Regions that peers have requested, by name; and those of which more can be granted.
    pushes: BTreeMap<u64, OfiPush>,
    filling: Vec<u64>,
    pulls: OfiPulls,
    working: Vec<u32>,
    /// Receive buffers that are not posted.
    unlent: Vec<u32>,
    /// Sends in flight.
    sending: usize,
    completions: Vec<FabricCompletion>,
    released: Vec<u64>,
    finished: Vec<u64>,
    dead: VecDeque<Dead>,
    losses: Losses,
    /// Set when this process leaves MPI: until when it waits for the others.
    leaving: Option<Instant>,
    closed: bool,
    /// Number of messages that were refused because no process of the job has sent them.
    refused: u64,
    /// When the caller first asked to sleep since anything happened.
    quiet: Option<Instant>,
    /// An epoll descriptor for the timer and, if there is one, the provider's descriptor.
    watch: OwnedFd,
    timer: OwnedFd,
    endpoint: FabricEndpoint,
}

impl Ofi {
    /// The wire of process `own` to the processes `contacts`.
    ///
    /// # Errors
    /// [`Error::Fabric`] if the provider accepts no receive buffers, [`Error::Network`] if the
    /// system refuses a timer.
    pub fn new(
        port: BoundEndpoint,
        own: PeerIndex,
        contacts: Vec<OfiContact>,
    ) -> Result<Ofi, Error> {
        let BoundEndpoint { endpoint, key, .. } = port;
        let local = |access: u64| if endpoint.registers_local() { access } else { 0 };
        let (watch, timer) =
            watch(&endpoint).map_err(|error| Error::network("make a timer", &error.into()))?;
        let now = Instant::now();
        let peer = |contact| OfiPeer {
            contact,
            address: None,
            link: OfiLink::Quiet,
            next_out: 0,
            next_in: 0,
            under_way: 0,
            pending: VecDeque::new(),
            controls: VecDeque::new(),
            held: BTreeMap::new(),
            reading: 0,
            wait: Wait::Since(now),
            probes: 0,
            listed: false,
            told: false,
            parted: false,
        };
        let mut wire = Ofi {
            own: own.0,
            key,
            receives: Pool::new(Kind::Receive, LARGE_BYTES, RECEIVES, RECEIVES, local(cap::RECV)),
            small: Pool::new(Kind::Small, SMALL_BYTES, 256, SMALL_PIECES, local(cap::SEND)),
            large: Pool::new(Kind::Large, LARGE_BYTES, 32, LARGE_PIECES, local(cap::SEND)),
            outgoing: Pool::new(Kind::Bounce, BOUNCE_BYTES, 8, BOUNCES, cap::REMOTE_READ),
            incoming: Pool::new(Kind::Bounce, BOUNCE_BYTES, 8, BOUNCES, local(cap::READ)),
            read_contexts: Pool::new(Kind::Read, 0, READS, READS, 0),
            reads: vec![FabricRead::default(); READS as usize],
            longest_read: READ_BYTES.min(endpoint.most()),
            indices: (0..).zip(&contacts).map(|(index, contact)| (contact.peer.0, index)).collect(),
            peers: contacts.into_iter().map(peer).collect(),
            writing: Vec::new(),
            awaited: Vec::new(),
            last_end: now,
            patience: stalled::PATIENCE,
            looks: 0,
            regions: Regions::default(),
            pushes: BTreeMap::new(),
            filling: Vec::new(),
            pulls: OfiPulls::default(),
            working: Vec::new(),
            unlent: Vec::new(),
            sending: 0,
            completions: Vec::with_capacity(BATCH),
            released: Vec::new(),
            finished: Vec::new(),
            dead: VecDeque::new(),
            losses: Losses::default(),
            leaving: None,
            closed: false,
            refused: 0,
            quiet: None,
            watch,
            timer,
            endpoint,
        };
        while let Some(slot) = wire.receives.take(&mut wire.endpoint) {
            wire.unlent.push(slot);
        }
        wire.lend();
        if wire.unlent.len() == RECEIVES as usize || wire.receives.is_empty() {
            return Err(Error::Fabric("the provider takes no memory for arrivals".to_owned()));
        }
        Ok(wire)
    }

    /// The peers, in the order of their indices.
    pub fn reached(&self) -> Vec<PeerIndex> {
        self.peers.iter().map(|peer| peer.contact.peer).collect()
    }

    /// Why peers are lost.
    pub fn losses(&self) -> Losses {
        self.losses.clone()
    }

    /// Number of messages that were refused because no process of the job has sent them.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// A descriptor that becomes readable when `progress` may find something. Sleep on it
    /// only after [`Ofi::may_sleep`] has returned true.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.watch.as_fd()
    }

    /// To be called when progress has found nothing: arms the timer, and returns true if the caller
    /// may sleep on [`Ofi::descriptor`]. The timer ends the sleep too: after a time that grows
    /// while nothing happens, or soon if the provider has no descriptor or gives no event for what
    /// is pending.
    pub fn may_sleep(&mut self) -> bool {
        if self.closed {
            return false;
        }
        // A provider that refuses operations (FI_EAGAIN) gives no event when it accepts them again,
        // so sleep for a limited time. Do not poll until then: while a peer has not accepted a
        // connection that may take long, and polling could keep that peer off its core.
        let waits =
            !self.writing.is_empty() || !self.working.is_empty() || !self.filling.is_empty();
        let by_time = waits
            || !self.dead.is_empty()
            || self.leaving.is_some()
            || self.endpoint.descriptor().is_none();
        let (shortest, longest) = if by_time { UNTOLD_SLEEPS } else { TOLD_SLEEPS };
        let quiet = self.quiet.get_or_insert_with(Instant::now).elapsed();
        let sleep = (quiet / SLEEP_PART).clamp(shortest, longest);
        let once = Itimerspec {
            it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: Timespec { tv_sec: 0, tv_nsec: i64::from(sleep.subsec_nanos()) },
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once).is_ok()
            && (self.endpoint.is_closed() || self.endpoint.may_sleep())
    }

    /// Reports everything that ended outside of a completion.
    fn report(&mut self, sink: &mut impl Sink) -> bool {
        let mut moved = !(self.released.is_empty() && self.finished.is_empty());
        self.released.drain(..).for_each(|token| sink.released(token));
        self.finished.drain(..).for_each(|token| sink.pulled(token));
        if !self.dead.is_empty() {
            moved |= self.drop_lost_peers(sink);
        }
        moved
    }

    /// Closes the endpoint, which may hold files or devices that nothing else frees. Must be called
    /// after [`Ofi::leave`], when the wire is not busy any more. The wire does nothing afterwards.
    pub fn close(&mut self) {
        if std::mem::replace(&mut self.closed, true) {
            return;
        }
        self.pushes.clear();
        self.pulls = OfiPulls::default();
        if self.endpoint.closes_amid_messages() || !self.may_hear_more() {
            return self.close_endpoint();
        }
        self.pools().into_iter().for_each(Pool::abandon);
        self.endpoint.abandon();
    }

    /// Closes the endpoint, after all registrations of the pools, which may be bound to it; those
    /// of regions and pulls have ended before. The memory itself is freed later.
    fn close_endpoint(&mut self) {
        self.pools().into_iter().for_each(Pool::unregister);
        self.endpoint.close();
    }

    fn pools(&mut self) -> [&mut Pool; 6] {
        let Ofi { receives, small, large, outgoing, incoming, read_contexts, .. } = self;
        [receives, small, large, outgoing, incoming, read_contexts]
    }

    /// True if a message may still come from a process that has not sent its goodbye: a stranger,
    /// or a peer that is lost or late.
    fn may_hear_more(&self) -> bool {
        self.refused > 0
            || self.peers.iter().any(|peer| peer.link != OfiLink::Quiet && !peer.parted)
    }
}

/// An epoll descriptor for a new timer and the provider's descriptor, and the timer.
fn watch(endpoint: &FabricEndpoint) -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    let timer =
        timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
    let watch = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let nobody = epoll::EventData::new_u64(0);
    epoll::add(&watch, &timer, nobody, epoll::EventFlags::IN)?;
    if let Some(descriptor) = endpoint.descriptor() {
        // SAFETY: the queue's descriptor is open as long as the endpoint is.
        let descriptor = unsafe { BorrowedFd::borrow_raw(descriptor) };
        epoll::add(&watch, descriptor, nobody, epoll::EventFlags::IN)?;
    }
    Ok((watch, timer))
}

impl Drop for Ofi {
    fn drop(&mut self) {
        self.close();
    }
}

// SAFETY: the raw pointers in pushes and pulls point to memory that lives until the region is
// released or the pull is reported (the contracts of `publish` and `pull`). The others point to
// provider objects that only this wire uses, and FI_THREAD_DOMAIN permits calls from any thread,
// one at a time.
unsafe impl Send for Ofi {}
// SAFETY: the raw pointers point to provider objects that only this endpoint uses, and
// FI_THREAD_DOMAIN permits calls from any thread, one at a time.
unsafe impl Send for BoundEndpoint {}
