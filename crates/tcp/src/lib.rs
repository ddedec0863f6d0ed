//! TCP between hosts: one connection for each pair of processes, opened when the first of them has
//! something to say.
//!
//! A connection carries frames (`frame`) in the order of the calls. Messages go out at once with
//! their payload gathered from where it lies; a large message is asked for by its receiver, written
//! from the sender's memory and read into the receiver's. Nothing is parsed before both ends have
//! proved that they know the key of the job (`hello`). A connection that breaks before anything
//! went over it is opened again; after that the peer is lost, and [`Tcp::losses`] say why.
//!
//! Small path: a message is one write on one side and one read on the other, on the sockets
//! themselves while the process has only a few; with more, an epoll descriptor says which to read.

mod card;
mod frame;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod hello;
mod input;
mod opening;
mod output;
mod poll;
mod settle;
mod socket;
#[cfg(test)]
mod tests;
mod transfers;

pub use card::Card;
pub use frame::{ASK_BYTES, Ask};
pub use hello::Key;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use towpath_base::ids::PeerIndex;
use towpath_base::transfer::{Source, Target};

use frame::Frame;
use input::{Buffers, Desk, Input, Read};
use opening::{Attempt, Strangers};
use output::Output;
use poll::{Poll, Whose};
use socket::Moved;
use towpath_transport::error::Error;
use towpath_transport::regions::{Published, Regions};
use towpath_transport::ticks::ticks;
use towpath_transport::{Header, Losses, NoResource, RegionKey, Sink};
use transfers::{Pulls, Push};

/// Largest copied message in bytes: beyond it the two copies that a message takes cost more than to
/// ask for it.
pub const COPIED_LIMIT: usize = 64 * 1024;
/// Up to so many connections are looked at one by one; more are asked for all at once.
const FEW: usize = 2;
/// Looks at few connections between two looks at everything else (who wants to connect, what is
/// being opened).
const LOOKS: u32 = 32;
/// Everything is looked at after so many ticks of the processor too, about a millisecond: for
/// whoever computes most of the time.
const LONG: u64 = 1 << 21;
/// Reads of one connection in one progress.
const READS: usize = 8;
/// Reads without a sleep in between after which a connection among few is not watched any more:
/// every packet costs its sender more while somebody watches.
const READS_AWAKE: u32 = 32;

/// A socket on which the processes of other hosts reach this one.
#[derive(Debug)]
pub struct Listener {
    socket: OwnedFd,
    port: u16,
}

impl Listener {
    /// Opens one, on a port that the system chooses.
    ///
    /// # Errors
    /// [`Error::Network`] when the system gives none.
    pub fn open() -> Result<Listener, Error> {
        let (socket, port) = socket::listener().map_err(|error| Error::network("listen for connections", &error))?;
        Ok(Listener { socket, port })
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }
}

/// A process on another host.
#[derive(Clone, Debug)]
pub struct Contact {
    /// What it is called here and, as a number, in the whole job.
    pub peer: PeerIndex,
    /// Where it can be reached, the best place first.
    pub places: Vec<SocketAddr>,
}

/// A connection.
struct Connection {
    socket: OwnedFd,
    input: Input,
    /// Whether the descriptor of all watches it.
    watched: bool,
    /// Reads that found something since it was watched for a sleep.
    reads: u32,
    /// It is watched for room to write too.
    awaits_room: bool,
    /// This side has said that it leaves.
    farewell: bool,
}

/// How a peer is connected.
enum Link {
    /// Not at all.
    None,
    /// This process is opening a connection.
    Opening(Box<Attempt>),
    /// A connection is to be opened at that time, if the peer does not come first.
    Later(Instant),
    /// By this connection.
    Open(Box<Connection>),
    /// The peer has left MPI.
    Left,
    /// The peer is lost.
    Lost,
}

/// One process of another host.
struct Peer {
    contact: Contact,
    link: Link,
    output: Output,
    /// Something waits in `output`, and the peer is in the list.
    listed: bool,
    /// Attempts at connecting so far, and what the last one at each place came to.
    attempts: usize,
    refusals: Vec<String>,
    /// Since when attempts at some place have come to silence: nobody refused them, nobody said a
    /// word.
    silent: Option<Instant>,
    /// One of the last round did.
    was_silent: bool,
    /// It has said that it leaves.
    has_left: bool,
}

/// What a peer asks for.
enum Request {
    Pull { place: u32, number: u32, name: u64, wanted: u64 },
    Release { place: u32, name: u64 },
}

/// The wire to the processes of other hosts. Peers are named by place inside, by [`PeerIndex`] to
/// the [`Sink`].
pub struct Tcp {
    own: u32,
    key: Key,
    /// Where others connect; none any more where the system had no room for them.
    listener: Option<OwnedFd>,
    poll: Poll,
    peers: Vec<Peer>,
    /// Peers with a connection.
    open: Vec<u32>,
    /// Peers with something to write.
    writing: Vec<u32>,
    /// Peers whose connection is being opened.
    opening: Vec<u32>,
    strangers: Strangers,
    regions: Regions,
    pulls: Pulls,
    buffers: Buffers,
    events: Vec<Whose>,
    requests: Vec<Request>,
    /// Regions that are out, and pulls of length 0: to be reported.
    released: Vec<u64>,
    finished: Vec<u64>,
    /// Peers found dead, to be reported.
    dead: VecDeque<u32>,
    looks: u32,
    /// Time of the last look at everything, in ticks of the processor.
    looked: u64,
    /// It was long ago when progress was made last.
    late: bool,
    losses: Losses,
    /// How long the other end of a connection may leave everything unanswered.
    timeout: Duration,
    /// This process leaves MPI.
    leaving: bool,
}

impl Tcp {
    /// The wire of the process `own` to these processes, all of a job with this key.
    ///
    /// # Errors
    /// [`Error::Network`] when the system refuses a descriptor.
    pub fn new(listener: Listener, own: PeerIndex, key: Key, contacts: Vec<Contact>) -> Result<Tcp, Error> {
        socket::raise_limit(contacts.len());
        let refused = |error: std::io::Error| Error::network("watch connections", &error);
        let poll = Poll::new().map_err(refused)?;
        poll.watch(&listener.socket, Whose::Listener, false).map_err(refused)?;
        let peer = |contact| Peer {
            contact,
            link: Link::None,
            output: Output::default(),
            listed: false,
            attempts: 0,
            refusals: Vec::new(),
            silent: None,
            was_silent: false,
            has_left: false,
        };
        Ok(Tcp {
            own: own.0,
            key,
            listener: Some(listener.socket),
            poll,
            peers: contacts.into_iter().map(peer).collect(),
            open: Vec::new(),
            writing: Vec::new(),
            opening: Vec::new(),
            strangers: Strangers::default(),
            regions: Regions::default(),
            pulls: Pulls::default(),
            buffers: Buffers::default(),
            events: Vec::new(),
            requests: Vec::new(),
            released: Vec::new(),
            finished: Vec::new(),
            dead: VecDeque::new(),
            looks: 0,
            looked: ticks(),
            late: false,
            losses: Losses::default(),
            timeout: socket::TIMEOUT,
            leaving: false,
        })
    }

    /// This wire; a peer whose host leaves everything unanswered for so long is lost. Not set: two
    /// minutes.
    pub fn with_timeout(mut self, timeout: Duration) -> Tcp {
        self.timeout = timeout;
        self
    }

    /// A descriptor that is readable when [`Tcp::progress`] may find something, for whoever sleeps
    /// and has called [`Tcp::watch_all`] before. Waits of this wire end by time too: whoever sleeps
    /// looks again after a tenth of a second.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.poll.descriptor()
    }

    /// The peers, in the order of their places.
    pub fn reached(&self) -> Vec<PeerIndex> {
        self.peers.iter().map(|peer| peer.contact.peer).collect()
    }

    /// Why peers are lost, for whoever has to say so.
    pub fn losses(&self) -> Losses {
        self.losses.clone()
    }

    /// As [`towpath_transport::Wire::copied_row`] and [`towpath_transport::Wire::short`], to the
    /// peer at `place`.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn row(
        &mut self,
        place: usize,
        header: &Header,
        payload: *const u8,
        length: usize,
    ) -> Result<(), NoResource> {
        if length > COPIED_LIMIT {
            return Err(NoResource);
        }
        let frame = Frame::Message { protocol: header.protocol, length: length as u32, words: header.words };
        let peer = &mut self.peers[place];
        if let Link::Open(connection) = &peer.link
            && peer.output.lets_pass()
        {
            // SAFETY: the caller lends the payload.
            let moved = unsafe { peer.output.write(&connection.socket, &frame.encode(), payload, length) };
            if let Moved::Broken(error) = moved {
                self.broke(place, &error.to_string());
            } else {
                self.list(place);
            }
            return Ok(());
        }
        // SAFETY: the output lends `length` bytes; the caller vouches for the payload.
        self.wait(place, &frame, length, |into| unsafe { std::ptr::copy_nonoverlapping(payload, into, length) })
    }

    /// As [`towpath_transport::Wire::copied`], to the peer at `place`.
    pub fn copied(
        &mut self,
        place: usize,
        header: &Header,
        length: usize,
        fill: impl FnOnce(*mut u8),
    ) -> Result<(), NoResource> {
        if length > COPIED_LIMIT {
            return Err(NoResource);
        }
        let frame = Frame::Message { protocol: header.protocol, length: length as u32, words: header.words };
        self.wait(place, &frame, length, fill)?;
        self.write(place);
        Ok(())
    }

    /// Keeps a message until it can be written, if there is room.
    fn wait(
        &mut self,
        place: usize,
        frame: &Frame,
        length: usize,
        fill: impl FnOnce(*mut u8),
    ) -> Result<(), NoResource> {
        if self.peers[place].output.is_full() {
            return Err(NoResource);
        }
        self.keep(place, frame, length, fill);
        Ok(())
    }

    /// Keeps a frame until it can be written.
    fn keep(&mut self, place: usize, frame: &Frame, length: usize, fill: impl FnOnce(*mut u8)) {
        let peer = &mut self.peers[place];
        if matches!(peer.link, Link::Left | Link::Lost) {
            return;
        }
        peer.output.keep(frame, length, fill);
        self.list(place);
    }

    /// Lists a peer for whom something waits, and sees to a connection.
    #[inline]
    fn list(&mut self, place: usize) {
        let peer = &mut self.peers[place];
        if peer.listed || peer.output.is_empty() {
            return;
        }
        peer.listed = true;
        self.writing.push(place as u32);
        if matches!(peer.link, Link::None) {
            self.connect(place);
        }
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

    /// As [`towpath_transport::Wire::pull`], from the peer at `place`. It is asked by the
    /// connection, unless this process may do so `otherwise`, in such a way that [`Tcp::asked`] is
    /// called there, and has done so.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn pull(
        &mut self,
        place: usize,
        key: RegionKey,
        token: u64,
        target: Target,
        otherwise: impl FnOnce(&Ask) -> bool,
    ) {
        if matches!(self.peers[place].link, Link::Left | Link::Lost) {
            return;
        }
        let name = key.0[0];
        let wanted = target.length() as u64;
        if wanted == 0 {
            self.finished.push(token);
            self.keep(place, &Frame::Release { name }, 0, |_| {});
        } else {
            let number = self.pulls.begin(place as u32, token, target);
            let mut is_lasting = false;
            if let Link::Open(connection) = &mut self.peers[place].link {
                connection.input.expect(number);
                is_lasting = connection.input.read > 0;
            }
            // Before something has come over a connection the peer may know nothing of it.
            if is_lasting && otherwise(&Ask { number, name, wanted }) {
                return;
            }
            self.keep(place, &Frame::Pull { number, name, wanted }, 0, |_| {});
        }
        self.write(place);
    }

    /// A peer asks for a region, by another way than its connection.
    pub fn asked(&mut self, place: usize, ask: &Ask) {
        let Ask { number, name, wanted } = *ask;
        self.requests.push(Request::Pull { place: place as u32, number, name, wanted });
        self.answer_requests();
        self.write(place);
    }

    /// As [`towpath_transport::Wire::progress`].
    pub fn progress(&mut self, sink: &mut impl Sink) -> bool {
        let few = self.open.len() <= FEW;
        let mut moved = false;
        if few {
            for index in (0..self.open.len()).rev() {
                moved |= self.read(self.open[index], sink);
            }
        }
        self.looks = self.looks.wrapping_add(1);
        let now = ticks();
        self.late = now.wrapping_sub(self.looked) > LONG;
        if !few || !self.opening.is_empty() || self.looks.is_multiple_of(LOOKS) || self.late {
            self.looked = now;
            moved |= self.look(few, sink);
        }
        if !self.requests.is_empty() {
            self.answer_requests();
        }
        for index in (0..self.writing.len()).rev() {
            moved |= self.write(self.writing[index] as usize);
        }
        moved | self.report(sink)
    }

    /// Whether nobody had looked at everything for long before the last progress: the program asks
    /// seldom.
    #[inline]
    pub fn was_late(&self) -> bool {
        self.late
    }

    /// Reports what ended outside of a read.
    fn report(&mut self, sink: &mut impl Sink) -> bool {
        let moved = !(self.released.is_empty() && self.finished.is_empty() && self.dead.is_empty());
        self.released.drain(..).for_each(|token| sink.released(token));
        self.finished.drain(..).for_each(|token| sink.pulled(token));
        while let Some(place) = self.dead.pop_front() {
            self.bury(place, sink);
        }
        moved
    }

    /// Reads what a peer has sent.
    fn read(&mut self, place: u32, sink: &mut impl Sink) -> bool {
        let mut moved = false;
        for _ in 0..READS {
            let peer = &mut self.peers[place as usize];
            let Link::Open(connection) = &mut peer.link else { return moved };
            let (from, pulls, buffers) = (peer.contact.peer, &mut self.pulls, &mut self.buffers);
            let mut desk = Desk { from, place, pulls, buffers, requests: &mut self.requests, sink: &mut *sink };
            match connection.input.read(&connection.socket, &mut desk) {
                Read::Nothing => return moved,
                Read::Some => {
                    connection.reads += 1;
                    if connection.watched && connection.reads > READS_AWAKE {
                        self.leave_alone(place as usize);
                    }
                    return true;
                }
                Read::More => moved = true,
                Read::Goodbye => {
                    self.part(place as usize);
                    return true;
                }
                Read::Lost(reason) => {
                    self.broke(place as usize, &reason);
                    return true;
                }
            }
        }
        moved
    }

    /// Does what peers have asked for.
    fn answer_requests(&mut self) {
        for request in std::mem::take(&mut self.requests) {
            match request {
                Request::Release { place, name } => {
                    if let Some(region) = self.taken(place, name) {
                        self.released.push(region.token);
                    }
                }
                // Who has gone since gets nothing; what it could have is taken back when that is
                // reported. But what it gave back before it left is free.
                Request::Pull { place, .. } if !matches!(self.peers[place as usize].link, Link::Open(_)) => {}
                Request::Pull { place, number, name, wanted } => match self.taken(place, name) {
                    Some(region) => {
                        let push = Push::new(number, region.token, region.source, wanted);
                        self.peers[place as usize].output.push(push);
                        self.list(place as usize);
                    }
                    None => self.keep(place as usize, &Frame::End { number }, 0, |_| {}),
                },
            }
        }
    }

    /// Takes a region out that this peer may have; another one's stays.
    fn taken(&mut self, place: u32, name: u64) -> Option<Published> {
        if self.regions.is_for(name, place) { self.regions.take(name) } else { None }
    }

    /// Writes what waits for a peer, as far as its socket takes it.
    fn write(&mut self, place: usize) -> bool {
        let peer = &mut self.peers[place];
        let Link::Open(connection) = &peer.link else { return false };
        let moved = peer.output.flush(&connection.socket, &mut self.released);
        if let Moved::Broken(error) = moved {
            self.broke(place, &error.to_string());
            return true;
        }
        if peer.output.is_empty() && peer.listed {
            peer.listed = false;
            self.writing.retain(|other| *other as usize != place);
        }
        matches!(moved, Moved::Some(_))
    }

    /// As [`towpath_transport::Wire::busy`].
    pub fn busy(&self) -> bool {
        let waits = |peer: &Peer| match &peer.link {
            Link::Open(connection) => connection.farewell,
            _ => false,
        };
        !(self.regions.is_empty()
            && self.pulls.is_empty()
            && self.writing.is_empty()
            && self.released.is_empty()
            && self.finished.is_empty()
            && self.dead.is_empty())
            || self.open.iter().any(|place| waits(&self.peers[*place as usize]))
    }
}

// SAFETY: the raw pointers in outputs and pulls lead to memory that `publish` and `pull` were
// promised to live; the wire is used under the lock of its lane.
unsafe impl Send for Tcp {}
