//! The TCP wire: one connection between each pair of processes on different hosts, opened when the
//! first of them sends something.
//!
//! A connection carries frames (`frame`) in the order of the calls. A message is written at once,
//! its payload gathered from user memory. A large message is requested by its receiver, written
//! from the sender's memory and read into the receiver's. Nothing is parsed before both ends have
//! proved that they know the same key (`hello`): that of the job, or the one given for the peers of
//! another job, which are added when the jobs connect. A connection that breaks before anything was
//! sent over it is reopened; after that the peer is lost, and [`Tcp::losses`] tells why.
//!
//! Fast path: a message is one write on one side and one read on the other. The sockets are read
//! directly while the process has only a few; with more, an epoll descriptor tells which ones to
//! read.

mod card;
mod frame;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod hello;
mod input;
mod lifecycle;
mod opening;
mod output;
mod poll;
mod socket;
#[cfg(test)]
mod tests;
mod transfers;
mod wire;

pub use card::HostAddresses;
pub use frame::{ASK_BYTES, PullRequest};
pub use hello::ConnectionKey;

use std::collections::VecDeque;
use std::collections::btree_map::{BTreeMap, Entry};
use std::net::SocketAddr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use towpath_base::ids::{PeerIndex, ProcessId};
use towpath_base::transfer::Target;

use frame::Frame;
use input::{Input, ReadBuffers, ReadContext, ReadOutcome};
use opening::{Attempt, PendingConnections};
use output::Output;
use poll::{Poll, Whose};
use socket::Moved;
use towpath_transport::error::Error;
use towpath_transport::regions::{Published, Regions};
use towpath_transport::ticks::ticks;
use towpath_transport::{Losses, NoResource, RegionKey, Sink};
use transfers::{TcpPulls, TcpPush};

/// Largest copied message in bytes: above it, the two copies of a message cost more than a
/// rendezvous.
pub const COPIED_LIMIT: usize = 64 * 1024;
/// Up to this many connections are read directly; with more, epoll tells which ones to read.
const FEW: usize = 2;
/// With few connections, everything else (new connections and attempts) is polled only once in this
/// many progress calls.
const LOOKS: u32 = 32;
/// Everything is also polled once this many processor ticks (about a millisecond) have passed: a
/// program that mostly computes makes few progress calls.
const LONG: u64 = 1 << 21;
/// Reads from one connection in one progress call.
const READS: usize = 8;
/// Reads without a sleep in between after which one of few connections is removed from the epoll
/// set: while it is in the set, every packet costs its sender more.
const READS_AWAKE: u32 = 32;

/// A listening socket through which processes of other hosts reach this one.
#[derive(Debug)]
pub struct Listener {
    socket: OwnedFd,
    port: u16,
}

impl Listener {
    /// Opens one, on a port that the system chooses.
    ///
    /// # Errors
    /// [`Error::Network`] if the system refuses the socket.
    pub fn open() -> Result<Listener, Error> {
        let (socket, port) =
            socket::listener().map_err(|error| Error::network("listen for connections", &error))?;
        Ok(Listener { socket, port })
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }
}

/// A process on another host or of another job, as described to this one.
#[derive(Clone, Debug)]
pub struct TcpContact {
    /// Its index in this process.
    pub peer: PeerIndex,
    /// Its identity, the same in all processes.
    pub process: ProcessId,
    /// Its addresses, the best one first.
    pub places: Vec<SocketAddr>,
}

/// An open connection.
struct Connection {
    socket: OwnedFd,
    input: Input,
    /// True while the socket is in the epoll set.
    watched: bool,
    /// Reads that returned data since it was added to the epoll set for a sleep.
    reads: u32,
    /// The socket is polled for room to write as well.
    awaits_room: bool,
    /// This side has sent its goodbye.
    farewell: bool,
}

/// The connection state of a peer.
enum Link {
    /// Not connected.
    None,
    /// This process is opening a connection.
    Opening(Box<Attempt>),
    /// The next attempt starts at this time, unless the peer connects first.
    Later(Instant),
    /// Connected.
    Open(Box<Connection>),
    /// The peer has left MPI.
    Left,
    /// The peer is lost.
    Lost,
}

/// One process of another host or job.
struct TcpPeer {
    contact: TcpContact,
    /// The key that both know.
    key: ConnectionKey,
    link: Link,
    output: Output,
    /// `output` is not empty, and the peer is in `Tcp::writing`.
    listed: bool,
    /// Connection attempts so far, and the last error of each address.
    attempts: usize,
    refusals: Vec<String>,
    /// Since when attempts have failed without any answer: no refusal, not one byte.
    silent: Option<Instant>,
    /// True if an attempt of the last round failed without any answer.
    was_silent: bool,
    /// It has sent its goodbye.
    has_left: bool,
}

impl TcpPeer {
    fn new(contact: TcpContact, key: ConnectionKey) -> TcpPeer {
        TcpPeer {
            contact,
            key,
            link: Link::None,
            output: Output::default(),
            listed: false,
            attempts: 0,
            refusals: Vec::new(),
            silent: None,
            was_silent: false,
            has_left: false,
        }
    }
}

/// A request of a peer.
enum PeerRequest {
    Pull { index: u32, number: u32, name: u64, wanted: u64 },
    Release { index: u32, name: u64 },
}

/// The wire to the processes of other hosts. Internally, peers are named by their index in `peers`;
/// the [`Sink`] gets [`PeerIndex`].
pub struct Tcp {
    own: ProcessId,
    /// The listening socket; `None` after the system has refused connections for too long.
    listener: Option<OwnedFd>,
    poll: Poll,
    peers: Vec<TcpPeer>,
    /// The index of each peer in `peers`.
    indices: BTreeMap<ProcessId, u32>,
    /// Peers with a connection.
    open: Vec<u32>,
    /// Peers with pending output.
    writing: Vec<u32>,
    /// Connections with bytes that have been read and wait for a device. No event tells when it is
    /// ready.
    stalled: Vec<u32>,
    /// Peers to which a connection is being opened.
    opening: Vec<u32>,
    pending: PendingConnections,
    regions: Regions,
    pulls: TcpPulls,
    buffers: ReadBuffers,
    events: Vec<Whose>,
    requests: Vec<PeerRequest>,
    /// Regions that are sent completely, and pulls of length 0, to be reported.
    released: Vec<u64>,
    finished: Vec<u64>,
    /// Peers found dead, to be reported.
    dead: VecDeque<u32>,
    /// Connections to lost peers that stay open for a while, and since when.
    lingering: Vec<(Instant, OwnedFd)>,
    looks: u32,
    /// Time of the last poll of everything, in processor ticks.
    looked: u64,
    /// True if, at the last progress call, the last poll of everything was long ago.
    late: bool,
    losses: Losses,
    /// How long the peer's host may leave sent data unacknowledged.
    timeout: Duration,
    /// This process is leaving MPI.
    leaving: bool,
}

impl Tcp {
    /// The wire of process `own` to the processes `contacts`, all of its job, which has this key.
    ///
    /// # Errors
    /// [`Error::Network`] if the system refuses a descriptor.
    pub fn new(
        listener: Listener,
        own: ProcessId,
        key: ConnectionKey,
        contacts: Vec<TcpContact>,
    ) -> Result<Tcp, Error> {
        let refused = |error: std::io::Error| Error::network("watch connections", &error);
        let poll = Poll::new().map_err(refused)?;
        poll.watch(&listener.socket, Whose::Listener, false).map_err(refused)?;
        let mut tcp = Tcp {
            own,
            listener: Some(listener.socket),
            poll,
            peers: Vec::new(),
            indices: BTreeMap::new(),
            open: Vec::new(),
            writing: Vec::new(),
            stalled: Vec::new(),
            opening: Vec::new(),
            pending: PendingConnections::default(),
            regions: Regions::default(),
            pulls: TcpPulls::default(),
            buffers: ReadBuffers::default(),
            events: Vec::new(),
            requests: Vec::new(),
            released: Vec::new(),
            finished: Vec::new(),
            dead: VecDeque::new(),
            lingering: Vec::new(),
            looks: 0,
            looked: ticks(),
            late: false,
            losses: Losses::default(),
            timeout: socket::TIMEOUT,
            leaving: false,
        };
        tcp.add_peers(contacts, &key);
        Ok(tcp)
    }

    /// Adds peers, which share this key with this process. Their indices follow those of the
    /// existing peers. A process that is already a peer is not changed. After the system has
    /// refused connections for too long, new peers are lost at once, since they could not connect.
    pub fn add_peers(&mut self, contacts: Vec<TcpContact>, key: &ConnectionKey) {
        let known = self.peers.len();
        socket::raise_limit(contacts.len());
        for contact in contacts {
            if let Entry::Vacant(vacant) = self.indices.entry(contact.process) {
                vacant.insert(self.peers.len() as u32);
                self.peers.push(TcpPeer::new(contact, key.clone()));
            }
        }
        if self.listener.is_none() {
            self.lose_unconnected(known);
        }
    }

    /// The name of a peer in a sentence for the user.
    fn name_of(&self, index: usize) -> String {
        self.peers[index].contact.process.in_words(self.own.job)
    }

    /// Sets how long a peer's host may leave sent data unacknowledged before the peer is lost. The
    /// default is two minutes.
    pub fn with_timeout(mut self, timeout: Duration) -> Tcp {
        self.timeout = timeout;
        self
    }

    /// A descriptor that becomes readable when `progress` may find something. Call
    /// [`Tcp::watch_all`] before sleeping on it. Some waits of this wire are timed, so the sleeper
    /// must call progress again after a tenth of a second.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.poll.descriptor()
    }

    /// The peers, in the order of their indices.
    pub fn reached(&self) -> Vec<PeerIndex> {
        self.peers.iter().map(|peer| peer.contact.peer).collect()
    }

    /// Why peers are lost.
    pub fn losses(&self) -> Losses {
        self.losses.clone()
    }

    /// Enqueues a message, if there is room.
    fn wait(
        &mut self,
        index: usize,
        frame: &Frame,
        length: usize,
        fill: impl FnOnce(*mut u8),
    ) -> Result<(), NoResource> {
        if self.peers[index].output.is_full() {
            return Err(NoResource);
        }
        self.keep(index, frame, length, fill);
        Ok(())
    }

    /// Enqueues a frame.
    fn keep(&mut self, index: usize, frame: &Frame, length: usize, fill: impl FnOnce(*mut u8)) {
        let peer = &mut self.peers[index];
        if matches!(peer.link, Link::Left | Link::Lost) {
            return;
        }
        peer.output.keep(frame, length, fill);
        self.list(index);
    }

    /// Puts a peer with pending output into the list, and connects to it if necessary.
    #[inline]
    fn list(&mut self, index: usize) {
        let peer = &mut self.peers[index];
        if peer.listed || peer.output.is_empty() {
            return;
        }
        peer.listed = true;
        self.writing.push(index as u32);
        if matches!(peer.link, Link::None) {
            self.connect(index);
        }
    }

    /// [`towpath_transport::RegionWire::pull`] from the peer at `index`. The request is sent over
    /// the connection, unless `otherwise` returns true: it has then delivered the request by other
    /// means, and the peer passes it to [`Tcp::asked`].
    ///
    /// # Safety
    /// The memory behind `target` must live until `pulled`.
    pub unsafe fn pull_asking(
        &mut self,
        index: usize,
        key: RegionKey,
        token: u64,
        target: Target,
        otherwise: impl FnOnce(&PullRequest) -> bool,
    ) {
        if matches!(self.peers[index].link, Link::Left | Link::Lost) {
            return;
        }
        let name = key.0[0];
        let wanted = target.length() as u64;
        if wanted == 0 {
            self.finished.push(token);
            self.keep(index, &Frame::Release { name }, 0, |_| {});
        } else {
            let number = self.pulls.begin(index as u32, token, target);
            let mut is_lasting = false;
            if let Link::Open(connection) = &mut self.peers[index].link {
                connection.input.expect(number);
                is_lasting = connection.input.read > 0;
            }
            // Until something has arrived over the connection, the peer may not know that it is
            // open.
            if is_lasting && otherwise(&PullRequest { number, name, wanted }) {
                return;
            }
            self.keep(index, &Frame::Pull { number, name, wanted }, 0, |_| {});
        }
        self.write(index);
    }

    /// Handles a region request of a peer that did not come over its connection.
    pub fn asked(&mut self, index: usize, ask: &PullRequest) {
        let PullRequest { number, name, wanted } = *ask;
        self.requests.push(PeerRequest::Pull { index: index as u32, number, name, wanted });
        self.answer_requests();
        self.write(index);
    }

    /// True if, at the last progress call, the last poll of everything was long ago: the program
    /// rarely calls MPI.
    #[inline]
    pub fn was_late(&self) -> bool {
        self.late
    }

    /// Reports regions, pulls and peers that ended other than while a socket was read.
    fn report(&mut self, sink: &mut impl Sink) -> bool {
        let moved = !(self.released.is_empty() && self.finished.is_empty() && self.dead.is_empty());
        self.released.drain(..).for_each(|token| sink.released(token));
        self.finished.drain(..).for_each(|token| sink.pulled(token));
        while let Some(index) = self.dead.pop_front() {
            self.drop_peer(index, sink);
        }
        moved
    }

    /// Reads what a peer has sent.
    fn read(&mut self, index: u32, sink: &mut impl Sink) -> bool {
        let moved = self.read_some(index, sink);
        if let Link::Open(connection) = &self.peers[index as usize].link
            && connection.input.waits_for_device()
            && !self.stalled.contains(&index)
        {
            self.stalled.push(index);
        }
        moved
    }

    /// Goes on with the connections whose bytes waited for a device.
    fn read_stalled(&mut self, sink: &mut impl Sink) -> bool {
        let stalled = std::mem::take(&mut self.stalled);
        stalled.into_iter().fold(false, |moved, index| self.read(index, sink) | moved)
    }

    fn read_some(&mut self, index: u32, sink: &mut impl Sink) -> bool {
        let mut moved = false;
        for _ in 0..READS {
            let peer = &mut self.peers[index as usize];
            let Link::Open(connection) = &mut peer.link else { return moved };
            let (from, pulls, buffers) = (peer.contact.peer, &mut self.pulls, &mut self.buffers);
            let mut context = ReadContext {
                from,
                index,
                pulls,
                buffers,
                requests: &mut self.requests,
                sink: &mut *sink,
            };
            match connection.input.read(&connection.socket, &mut context) {
                ReadOutcome::Nothing => return moved,
                ReadOutcome::Some => {
                    connection.reads += 1;
                    if connection.watched && connection.reads > READS_AWAKE {
                        self.leave_alone(index as usize);
                    }
                    return true;
                }
                ReadOutcome::More => moved = true,
                ReadOutcome::Goodbye => {
                    self.part(index as usize);
                    return true;
                }
                ReadOutcome::Lost(reason) => {
                    self.broke(index as usize, &reason);
                    return true;
                }
            }
        }
        moved
    }

    /// Serves the requests of peers.
    fn answer_requests(&mut self) {
        for request in std::mem::take(&mut self.requests) {
            match request {
                PeerRequest::Release { index, name } => {
                    if let Some(region) = self.taken(index, name) {
                        self.released.push(region.token);
                    }
                }
                // A peer that is gone gets nothing; `drop_peer` withdraws what was published to it.
                // But the regions that it released before it left are free.
                PeerRequest::Pull { index, .. }
                    if !matches!(self.peers[index as usize].link, Link::Open(_)) => {}
                PeerRequest::Pull { index, number, name, wanted } => {
                    match self.taken(index, name) {
                        Some(region) => {
                            let push = TcpPush::new(number, region.token, region.source, wanted);
                            self.peers[index as usize].output.push(push);
                            self.list(index as usize);
                        }
                        None => self.keep(index as usize, &Frame::End { number }, 0, |_| {}),
                    }
                }
            }
        }
    }

    /// Removes a region that this peer may pull; `None` if it is published to another one.
    fn taken(&mut self, index: u32, name: u64) -> Option<Published> {
        if self.regions.is_for(name, index) { self.regions.take(name) } else { None }
    }

    /// Writes a peer's pending output, as far as its socket accepts it.
    fn write(&mut self, index: usize) -> bool {
        let peer = &mut self.peers[index];
        let Link::Open(connection) = &peer.link else { return false };
        let moved = peer.output.flush(&connection.socket, &mut self.released);
        if let Moved::Broken(error) = moved {
            self.broke(index, &error.to_string());
            return true;
        }
        if peer.output.is_empty() && peer.listed {
            peer.listed = false;
            self.writing.retain(|other| *other as usize != index);
        }
        matches!(moved, Moved::Some(_))
    }
}

// SAFETY: the raw pointers in outputs and pulls point to memory that lives until the region is
// released or the pull is reported (the contracts of `publish` and `pull`), on whichever thread
// that happens. Nothing in the wire is bound to a thread.
unsafe impl Send for Tcp {}
