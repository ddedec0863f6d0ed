//! libfabric between hosts: one endpoint for reliable datagrams in each process, on the provider
//! that drives the fabric.
//!
//! Messages are copied into registered memory and carry a head with a check (`frame`). A large
//! message is asked for by its receiver; its sender registers its memory, grants it, and takes the
//! registration back when the receiver has read it. What is no row goes through pieces of memory on
//! that side. Messages of a pair are numbered, so that what a provider completes out of order is
//! taken in order, and what was recorded is refused.
//!
//! Small path: a message is one copy and one send; its arrival is one completion. Memory is
//! bounded: pieces come from pools, and what finds none is refused or waits.

mod abi;
mod card;
mod choice;
mod endpoint;
mod frame;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod library;
mod messages;
mod pool;
mod pulling;
mod settle;
mod stalled;
mod survey;
#[cfg(test)]
mod tests;
mod transfers;

pub use card::Card;
pub use choice::{Choice, Description, choose, choose_from};
pub use frame::Key;
pub use survey::{Found, Offered, Survey, Use, survey};

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::epoll;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use towpath_base::ids::PeerIndex;
use towpath_base::transfer::{Source, Target};

use abi::cap;
use endpoint::{Completion, Endpoint};
use frame::{Frame, HEAD_BYTES};
use pool::{Kind, Pool};
use stalled::Wait;
use towpath_transport::error::Error;
use towpath_transport::regions::{Published, Regions};
use towpath_transport::{Header, Losses, NoResource, RegionKey, SHORT_BYTES, Sink};
use transfers::{Pull, Pulls, Push, Read};

/// Largest copied message in bytes.
pub const COPIED_LIMIT: usize = 16 * 1024;
/// Pieces of memory lent to the provider for arrivals.
const RECEIVES: u32 = 64;
const SMALL_BYTES: usize = 128;
const LARGE_BYTES: usize = COPIED_LIMIT + 64;
/// Pieces of each size that may be under way: half a MiB and 4 MiB.
const SMALL_PIECES: u32 = 4096;
const LARGE_PIECES: u32 = 256;
/// Messages to one peer under way at most.
const UNDER_WAY: u32 = 64;
/// Bytes that pass through a piece at a time where source or target is no row; 2 MiB in all on each
/// way.
const BOUNCE_BYTES: usize = 64 * 1024;
const BOUNCES: u32 = 32;
/// Reads under way.
const READS: u32 = 256;
/// Bytes of a read into a row, where the provider reads as much at a time: more begin while the
/// last ones end.
const READ_BYTES: usize = 4 << 20;
/// Completions taken in one progress.
const BATCH: usize = 16;
/// The shortest and the longest sleep where the provider has a descriptor, which may miss what it
/// promises.
const TOLD_SLEEPS: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(80));
/// The same where it tells nothing of what is waited for.
const UNTOLD_SLEEPS: (Duration, Duration) = (Duration::from_micros(500), Duration::from_millis(5));
/// In between, a sleep is this part of the time in which nothing has happened: so much later may
/// what comes be seen.
const SLEEP_PART: u32 = 16;

const _: () = assert!(HEAD_BYTES + SHORT_BYTES <= SMALL_BYTES && HEAD_BYTES + COPIED_LIMIT <= LARGE_BYTES);

/// An endpoint that has an address and is not used yet.
pub struct Port {
    endpoint: Endpoint,
    provider: String,
    key: Key,
}

impl Port {
    /// Opens one, for a job with this key and that many processes.
    ///
    /// # Errors
    /// [`Error::Fabric`] with what the provider refuses.
    pub fn open(choice: &Choice, key: Key, peers: usize) -> Result<Port, Error> {
        let failed = |reason: String| Error::Fabric(format!("provider {}: {reason}", choice.offer.provider()));
        let (start, mut count) = (u64::from(std::process::id()), 0);
        let keys = move || {
            count += 1;
            key.number(start, count)
        };
        let endpoint = Endpoint::open(&choice.offer, peers, Box::new(keys)).map_err(failed)?;
        if endpoint.most() < LARGE_BYTES {
            return Err(failed(format!("its messages have {} bytes at most", endpoint.most())));
        }
        Ok(Port { endpoint, provider: choice.offer.provider(), key })
    }

    /// How others reach it.
    ///
    /// # Errors
    /// [`Error::Fabric`] when the provider gives no address.
    pub fn card(&self) -> Result<Card, Error> {
        let address = self.endpoint.name().map_err(Error::Fabric)?;
        Ok(Card { provider: self.provider.clone(), address })
    }
}

/// A process on another host.
#[derive(Clone, Debug)]
pub struct Contact {
    /// What it is called here and, as a number, in the whole job.
    pub peer: PeerIndex,
    /// Its address, as its card says.
    pub address: Vec<u8>,
}

/// How far a peer is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    /// Nothing went to it or came from it.
    Quiet,
    Known,
    Lost,
}

/// One process of another host.
struct Peer {
    contact: Contact,
    /// What the provider calls it, once something went to it.
    address: Option<u64>,
    link: Link,
    /// The numbers of the next message to it and from it.
    next_out: u64,
    next_in: u64,
    /// Messages whose sends are not complete, those included that the provider has not taken.
    under_way: u32,
    /// Pieces with whole messages that the provider has not taken, in order.
    pending: VecDeque<(Kind, u32, usize)>,
    /// Heads without payload that have no piece yet.
    controls: VecDeque<Frame>,
    /// Messages that came before their turn: their pieces and lengths.
    held: BTreeMap<u64, (u32, usize)>,
    /// Reads of its memory under way, and how long they have been waited for.
    reading: u32,
    wait: Wait,
    /// Signs of life that it was asked for.
    probes: u32,
    /// Something waits to be sent, and the peer is in the list.
    listed: bool,
    /// Goodbye was said to it, and by it.
    told: bool,
    parted: bool,
}

/// A peer that was found dead.
struct Dead {
    place: u32,
    since: Instant,
}

/// The wire to the processes of other hosts. Peers are named by place inside, by [`PeerIndex`] to
/// the [`Sink`].
pub struct Ofi {
    own: u32,
    key: Key,
    // Pools lend memory to the endpoint, regions belong to it: `close` sees to the order.
    receives: Pool,
    small: Pool,
    large: Pool,
    /// Pieces that peers read, and pieces that reads go to.
    outgoing: Pool,
    incoming: Pool,
    read_contexts: Pool,
    reads: Vec<Read>,
    /// Most bytes of a read.
    longest_read: usize,
    peers: Vec<Peer>,
    /// The places of peers by their numbers in the job.
    places: BTreeMap<u32, u32>,
    /// Peers for whom something waits.
    writing: Vec<u32>,
    /// Peers whose memory is being read.
    awaited: Vec<u32>,
    /// When a read ended last, how long reads are waited for, and how often nobody has looked
    /// whether it was too long.
    last_end: Instant,
    patience: Duration,
    looks: u32,
    regions: Regions,
    /// Regions that peers have asked for, by name; and those that can go on.
    pushes: BTreeMap<u64, Push>,
    filling: Vec<u64>,
    pulls: Pulls,
    working: Vec<u32>,
    /// Pieces that could not be lent for arrivals.
    unlent: Vec<u32>,
    /// Sends under way.
    sending: usize,
    completions: Vec<Completion>,
    released: Vec<u64>,
    finished: Vec<u64>,
    dead: VecDeque<Dead>,
    losses: Losses,
    /// This process leaves MPI: until when it waits for others.
    leaving: Option<Instant>,
    closed: bool,
    /// Messages that no process of the job has sent.
    refused: u64,
    /// When somebody first wanted to sleep since anything happened.
    quiet: Option<Instant>,
    /// Watches the timer, and the provider's descriptor where there is one.
    watch: OwnedFd,
    timer: OwnedFd,
    endpoint: Endpoint,
}

impl Ofi {
    /// The wire of the process `own` to these processes.
    ///
    /// # Errors
    /// [`Error::Fabric`] when the provider takes no memory for arrivals, [`Error::Network`] when
    /// the system refuses a timer.
    pub fn new(port: Port, own: PeerIndex, contacts: Vec<Contact>) -> Result<Ofi, Error> {
        let Port { endpoint, key, .. } = port;
        let local = |access: u64| if endpoint.registers_local() { access } else { 0 };
        let pool = |kind, stride, per_slab, pieces, access| Pool::new(kind, stride, per_slab, pieces, access);
        let (watch, timer) = watch(&endpoint).map_err(|error| Error::network("make a timer", &error.into()))?;
        let now = Instant::now();
        let peer = |contact| Peer {
            contact,
            address: None,
            link: Link::Quiet,
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
            receives: pool(Kind::Receive, LARGE_BYTES, RECEIVES, RECEIVES, local(cap::RECV)),
            small: pool(Kind::Small, SMALL_BYTES, 256, SMALL_PIECES, local(cap::SEND)),
            large: pool(Kind::Large, LARGE_BYTES, 32, LARGE_PIECES, local(cap::SEND)),
            outgoing: pool(Kind::Bounce, BOUNCE_BYTES, 8, BOUNCES, cap::REMOTE_READ),
            incoming: pool(Kind::Bounce, BOUNCE_BYTES, 8, BOUNCES, local(cap::READ)),
            read_contexts: pool(Kind::Read, 0, READS, READS, 0),
            reads: vec![Read::default(); READS as usize],
            longest_read: READ_BYTES.min(endpoint.most()),
            places: (0..).zip(&contacts).map(|(place, contact)| (contact.peer.0, place)).collect(),
            peers: contacts.into_iter().map(peer).collect(),
            writing: Vec::new(),
            awaited: Vec::new(),
            last_end: now,
            patience: stalled::PATIENCE,
            looks: 0,
            regions: Regions::default(),
            pushes: BTreeMap::new(),
            filling: Vec::new(),
            pulls: Pulls::default(),
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

    /// The peers, in the order of their places.
    pub fn reached(&self) -> Vec<PeerIndex> {
        self.peers.iter().map(|peer| peer.contact.peer).collect()
    }

    /// Why peers are lost, for whoever has to say so.
    pub fn losses(&self) -> Losses {
        self.losses.clone()
    }

    /// Messages that were refused, because no process of the job has sent them.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// A descriptor that is readable when [`Ofi::progress`] may find something, for whoever sleeps
    /// and was allowed to by [`Ofi::may_sleep`].
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.watch.as_fd()
    }

    /// Whether whoever has just found nothing may sleep on [`Ofi::descriptor`]. The sleep ends by
    /// time too, the later the longer nothing has happened; soon where the provider has no
    /// descriptor, or something waits that the provider tells nothing of.
    pub fn may_sleep(&mut self) -> bool {
        if self.closed {
            return false;
        }
        // A provider that takes nothing now does not say when it does: with a peer that has not yet
        // accepted a connection that may be long, and whoever polled meanwhile could keep that very
        // peer from its core.
        let waits = !self.writing.is_empty() || !self.working.is_empty() || !self.filling.is_empty();
        let by_time = waits || !self.dead.is_empty() || self.leaving.is_some() || self.endpoint.descriptor().is_none();
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

    /// As [`towpath_transport::Wire::copied`], to the peer at `place`; short messages too.
    #[inline]
    pub fn copied(
        &mut self,
        place: usize,
        header: &Header,
        length: usize,
        fill: impl FnOnce(*mut u8),
    ) -> Result<(), NoResource> {
        if length > COPIED_LIMIT || self.peers[place].under_way >= UNDER_WAY {
            return Err(NoResource);
        }
        if self.peers[place].link == Link::Lost {
            return Ok(());
        }
        let frame = Frame::Message { protocol: header.protocol, length: length as u32, words: header.words };
        if self.send(place, &frame, length, fill) { Ok(()) } else { Err(NoResource) }
    }

    /// As [`towpath_transport::Wire::publish`], to the peer at `place`.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn publish(&mut self, place: usize, token: u64, source: Source) -> RegionKey {
        RegionKey([self.regions.publish(Published { to: place as u32, token, source }), 0])
    }

    /// As [`towpath_transport::Wire::withdraw`].
    pub fn withdraw(&mut self, key: RegionKey) -> bool {
        self.regions.take(key.0[0]).is_some()
    }

    /// As [`towpath_transport::Wire::pull`], from the peer at `place`.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn pull(&mut self, place: usize, key: RegionKey, token: u64, target: Target) {
        if self.peers[place].link != Link::Known {
            return;
        }
        let (name, wanted) = (key.0[0], target.length() as u64);
        let frame = if wanted == 0 {
            self.finished.push(token);
            Frame::Release { name }
        } else {
            let number = self.pulls.begin(Pull::new(place as u32, name, token, target));
            Frame::Pull { number, name, wanted }
        };
        self.control(place, frame);
    }

    /// As [`towpath_transport::Wire::progress`].
    pub fn progress(&mut self, sink: &mut impl Sink) -> bool {
        if self.closed {
            return false;
        }
        if self.endpoint.is_closed() {
            return self.report(sink);
        }
        let mut completions = std::mem::take(&mut self.completions);
        self.endpoint.completions(&mut completions, BATCH);
        let mut moved = !completions.is_empty();
        for completion in completions.drain(..) {
            self.complete(completion, sink);
        }
        self.completions = completions;
        if !self.unlent.is_empty() {
            self.lend();
        }
        for index in (0..self.filling.len()).rev() {
            moved |= self.fill(self.filling[index]);
        }
        for index in (0..self.working.len()).rev() {
            moved |= self.work(self.working[index]);
        }
        for index in (0..self.writing.len()).rev() {
            moved |= self.flush(self.writing[index] as usize);
        }
        if !self.awaited.is_empty() {
            self.watch_reads();
        }
        moved |= self.report(sink);
        if moved {
            self.quiet = None;
        }
        moved
    }

    /// Reports what ended outside of a completion.
    fn report(&mut self, sink: &mut impl Sink) -> bool {
        let mut moved = !(self.released.is_empty() && self.finished.is_empty());
        self.released.drain(..).for_each(|token| sink.released(token));
        self.finished.drain(..).for_each(|token| sink.pulled(token));
        if !self.dead.is_empty() {
            moved |= self.bury_dead(sink);
        }
        moved
    }

    /// Closes the endpoint, which may have files or devices that only this frees; to be called
    /// after [`Ofi::leave`], when the wire is not busy any more. Nothing happens afterwards.
    pub fn close(&mut self) {
        if std::mem::replace(&mut self.closed, true) {
            return;
        }
        self.pushes.clear();
        self.pulls = Pulls::default();
        if self.endpoint.closes_amid_messages() || !self.may_hear_more() {
            return self.close_endpoint();
        }
        self.pools().into_iter().for_each(Pool::abandon);
        self.endpoint.abandon();
    }

    /// Closes the endpoint, with all registrations but those of regions and pulls. They end before
    /// the endpoint that they may be bound to; the memory that the provider knows stays for longer.
    fn close_endpoint(&mut self) {
        self.pools().into_iter().for_each(Pool::unregister);
        self.endpoint.close();
    }

    fn pools(&mut self) -> [&mut Pool; 6] {
        let Ofi { receives, small, large, outgoing, incoming, read_contexts, .. } = self;
        [receives, small, large, outgoing, incoming, read_contexts]
    }

    /// Whether somebody has spoken who has not said goodbye: a stranger, or a peer that was lost or
    /// is late.
    fn may_hear_more(&self) -> bool {
        self.refused > 0 || self.peers.iter().any(|peer| peer.link != Link::Quiet && !peer.parted)
    }

    /// As [`towpath_transport::Wire::busy`].
    pub fn busy(&self) -> bool {
        let done = self.regions.is_empty()
            && self.pushes.is_empty()
            && self.pulls.is_empty()
            && self.writing.is_empty()
            && self.sending == 0
            && self.released.is_empty()
            && self.finished.is_empty()
            && self.dead.is_empty();
        !done || self.waits_for_farewells()
    }
}

/// A timer, and what watches it beside the provider's descriptor.
fn watch(endpoint: &Endpoint) -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
    let watch = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let nobody = epoll::EventData::new_u64(0);
    epoll::add(&watch, &timer, nobody, epoll::EventFlags::IN)?;
    if let Some(descriptor) = endpoint.descriptor() {
        // SAFETY: the queue's descriptor is open as long as the endpoint.
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

// SAFETY: the raw pointers in pushes and pulls lead to memory that `publish` and `pull` were
// promised to live, the others to objects of the provider, which the wire alone uses, under the
// lock of its lane.
unsafe impl Send for Ofi {}
// SAFETY: as above; a choice and a port are used by one thread.
unsafe impl Send for Port {}
