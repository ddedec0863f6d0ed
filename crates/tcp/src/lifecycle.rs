//! The life cycle of connections: opening, accepting, leaving, losing. Not on the fast path.

use std::time::{Duration, Instant};

use super::frame::Frame;
use super::hello::Hello;
use super::input::Input;
use super::opening::{self, Attempt, Progressed, Proved};
use super::poll::Whose;
use super::socket;
use super::{Connection, FEW, Link, Output, Tcp};
use towpath_transport::Sink;

/// Pause between two rounds over the addresses of a peer.
const PAUSE: Duration = Duration::from_millis(200);
/// Attempts at each address of a peer.
const ROUNDS: usize = 5;
/// How long to retry a peer that does not answer. While a process computes, its kernel queues only
/// a limited number of connections and ignores more; and a process that many peers connect to drops
/// the connections that have been silent for the longest time.
const SILENCE: Duration = Duration::from_secs(60);
/// How long a connection stays open after another transport or the launcher has found the peer
/// lost. To the peer, a closed connection means that this process has ended. If its report reaches
/// the launcher before that of this process, the user sees a consequence instead of the cause. A
/// process that survives the loss but calls no MPI function keeps the connection open until it
/// does.
const LINGER: Duration = Duration::from_secs(2);

impl Tcp {
    /// Starts to connect to a peer, at its next address.
    pub(super) fn connect(&mut self, index: usize) {
        let peer = &mut self.peers[index];
        let to = peer.contact.process;
        let places = &peer.contact.places;
        let waits_longer = peer.silent.is_some_and(|since| since.elapsed() < SILENCE);
        if peer.attempts >= ROUNDS * places.len() && !waits_longer {
            let tried = peer.refusals.join(", ");
            let nowhere = "its host has published no address that is reachable from this one";
            let why = if tried.is_empty() { nowhere } else { &tried };
            let reason = format!("{} cannot be reached: {why}", to.in_words(self.own.job));
            return self.lose(index, &reason);
        }
        let address = places[peer.attempts % places.len()];
        peer.attempts += 1;
        if peer.attempts % places.len() == 1 || places.len() == 1 {
            peer.refusals.clear();
            if !std::mem::take(&mut peer.was_silent) {
                peer.silent = None;
            }
        }
        match Attempt::begin(address, self.own, to, &self.poll, Whose::Peer(index as u32)) {
            Ok(attempt) => {
                peer.link = Link::Opening(Box::new(attempt));
                self.list_opening(index);
            }
            Err(error) => {
                let reason = socket::refusal(&error, self.peers.len());
                self.peers[index].refusals.push(format!("{address} ({reason})"));
                self.try_again(index);
            }
        }
    }

    /// Lists a peer whose connection is being opened.
    fn list_opening(&mut self, index: usize) {
        if !self.opening.contains(&(index as u32)) {
            self.opening.push(index as u32);
        }
    }

    /// Schedules the next attempt after a failed one: at the next address immediately, or after a
    /// pause when all addresses have been tried.
    fn try_again(&mut self, index: usize) {
        let peer = &mut self.peers[index];
        let round_is_over = peer.attempts.is_multiple_of(peer.contact.places.len().max(1));
        let pause = if round_is_over { PAUSE } else { Duration::ZERO };
        peer.link = Link::Later(Instant::now() + pause);
        self.list_opening(index);
    }

    /// Handles all socket events. If `few`, the caller has already read from every connection, so
    /// the events of connections are skipped.
    pub(super) fn look(&mut self, few: bool, sink: &mut impl Sink) -> bool {
        let mut moved = false;
        let mut events = std::mem::take(&mut self.events);
        self.poll.look(&mut events);
        for whose in events.drain(..) {
            match whose {
                Whose::Listener => {
                    let Some(listener) = &self.listener else { continue };
                    let new = self.pending.admit(listener, &self.poll, self.peers.len());
                    // The hello has often arrived by now.
                    new.into_iter().for_each(|number| self.hear(number));
                    self.lose_refused();
                    moved = true;
                }
                Whose::PendingConnection(number) => {
                    self.hear(number);
                    moved = true;
                }
                Whose::Peer(index) if !few => moved |= self.read(index, sink),
                Whose::Peer(_) => {}
            }
        }
        self.events = events;
        for index in (0..self.opening.len()).rev() {
            moved |= self.go_on(self.opening[index] as usize);
        }
        self.lingering.retain(|(since, socket)| {
            let stays = since.elapsed() < LINGER;
            if !stays {
                socket::shut(socket);
            }
            stays
        });
        moved
    }

    /// Ends listening and loses all peers that would have to connect, if the system has refused to
    /// accept connections for too long.
    pub(super) fn lose_refused(&mut self) {
        if self.pending.refusal().is_some() {
            // Closing the listener tells those in the backlog that they will not be accepted.
            self.listener = None;
            self.lose_unconnected(0);
        }
    }

    /// Loses the peers from index `first` on that would have to connect, after the end of
    /// listening.
    pub(super) fn lose_unconnected(&mut self, first: usize) {
        let Some(error) = self.pending.refusal() else { return };
        let reason = socket::refusal(error, self.peers.len());
        for index in first..self.peers.len() {
            if matches!(self.peers[index].link, Link::None | Link::Later(_)) {
                self.lose(index, &format!("{} cannot connect: {reason}", self.name_of(index)));
            }
        }
    }

    /// Continues to open a connection.
    fn go_on(&mut self, index: usize) -> bool {
        let whose = Whose::Peer(index as u32);
        let peer = &mut self.peers[index];
        match &mut peer.link {
            Link::Opening(attempt) => match attempt.progress(&peer.key, &self.poll, whose) {
                Progressed::Nothing => false,
                Progressed::Further => true,
                Progressed::Open => {
                    let link = std::mem::replace(&mut self.peers[index].link, Link::None);
                    if let Link::Opening(attempt) = link {
                        self.join(index, attempt.socket);
                    }
                    true
                }
                Progressed::Refused => {
                    let peer = &mut self.peers[index];
                    // The peer exists and knows the key, so this is not a failure.
                    (peer.attempts, peer.silent) = (0, None);
                    peer.link = Link::Later(Instant::now() + PAUSE);
                    true
                }
                Progressed::Failed(error) => {
                    let refusal = format!("{} ({error})", attempt.address);
                    let is_silence = attempt.came_to_silence(&error);
                    let peer = &mut self.peers[index];
                    peer.refusals.push(refusal);
                    if is_silence {
                        peer.was_silent = true;
                        peer.silent.get_or_insert_with(Instant::now);
                    }
                    self.try_again(index);
                    true
                }
            },
            Link::Later(time) if Instant::now() >= *time => {
                self.connect(index);
                true
            }
            Link::Later(_) => false,
            _ => {
                self.opening.retain(|other| *other as usize != index);
                true
            }
        }
    }

    /// Reads from a pending connection; accepts it if it is from a peer and no other connection is
    /// preferred.
    fn hear(&mut self, number: u32) {
        let index_of = |process| self.indices.get(&process).map(|index| *index as usize);
        let key_of = |hello: &Hello| {
            let index = index_of(hello.from).filter(|_| hello.to == self.own)?;
            Some(&self.peers[index].key)
        };
        let Some(Proved { socket, from }) = self.pending.hear(number, key_of) else { return };
        let Some(index) = index_of(from) else { return };
        let takes = match &self.peers[index].link {
            // Closing without a verdict is an answer too: the attempt fails.
            Link::Lost => return,
            Link::None | Link::Later(_) => true,
            // Both sides are opening a connection: that of the smaller identifier wins, if the
            // other side may already have accepted it.
            Link::Opening(attempt) => from < self.own || !attempt.has_proved(),
            Link::Open(_) | Link::Left => false,
        };
        if opening::answer(&socket, takes)
            && takes
            && self.poll.watch_again(&socket, Whose::Peer(index as u32))
        {
            self.join(index, socket);
        }
    }

    /// Starts to use an open, authenticated connection.
    fn join(&mut self, index: usize, socket: std::os::fd::OwnedFd) {
        socket::set_timeout(&socket, self.timeout);
        let peer = &mut self.peers[index];
        peer.output.written = 0;
        peer.refusals.clear();
        peer.silent = None;
        let (watched, awaits_room, farewell) = (true, false, self.leaving);
        let connection = Connection {
            socket,
            input: Input::default(),
            watched,
            awaits_room,
            reads: 0,
            farewell,
        };
        peer.link = Link::Open(Box::new(connection));
        self.opening.retain(|other| *other as usize != index);
        self.open.push(index as u32);
        if self.open.len() == FEW + 1 {
            self.watch_all();
        }
        if self.leaving {
            self.peers[index].output.keep(&Frame::Goodbye, 0, |_| {});
            self.list(index);
        }
        self.write(index);
    }

    /// Adds all connections to the epoll set, those with pending output for room to write as well.
    /// Must be called before sleeping on the descriptor.
    pub fn watch_all(&mut self) {
        for index in &self.open {
            let peer = &mut self.peers[*index as usize];
            let Link::Open(connection) = &mut peer.link else { continue };
            let (whose, writing) = (Whose::Peer(*index), !peer.output.is_empty());
            if !connection.watched {
                connection.watched = self.poll.watch(&connection.socket, whose, writing).is_ok();
            } else if connection.awaits_room != writing {
                self.poll.change(&connection.socket, whose, writing);
            }
            connection.awaits_room = writing;
            connection.reads = 0;
        }
    }

    /// Removes a connection that is read all the time from the epoll set, unless there are so many
    /// that epoll tells which ones to read.
    pub(super) fn leave_alone(&mut self, index: usize) {
        let few = self.open.len() <= FEW;
        if let Link::Open(connection) = &mut self.peers[index].link {
            connection.reads = 0;
            if few {
                self.poll.forget(&connection.socket);
                connection.watched = false;
            }
        }
    }

    /// The peer has left MPI. It expects nothing more; the end of the connection acknowledges its
    /// goodbye.
    pub(super) fn part(&mut self, index: usize) {
        self.peers[index].has_left = true;
        let reason = format!("{} has left MPI", self.name_of(index));
        self.end(index, &reason);
    }

    /// The connection to a peer is broken.
    pub(super) fn broke(&mut self, index: usize, reason: &str) {
        let peer = &self.peers[index];
        let Link::Open(connection) = &peer.link else { return };
        if peer.output.written == 0 && connection.input.read == 0 && !self.leaving {
            // Nothing is lost, so open another connection. If the other side disagrees, it closes
            // that one without a verdict.
            self.close(index);
            self.peers[index].listed = false;
            self.list(index);
            if matches!(self.peers[index].link, Link::None) {
                self.connect(index);
            }
            return;
        }
        let reason = format!("the connection to {} is broken: {reason}", self.name_of(index));
        self.end(index, &reason);
    }

    /// Ends a connection. The peer is lost, unless this process is leaving too.
    fn end(&mut self, index: usize, reason: &str) {
        if !self.leaving {
            return self.lose(index, reason);
        }
        self.close(index);
        let peer = &mut self.peers[index];
        (peer.link, peer.output, peer.listed) = (Link::Left, Output::default(), false);
    }

    /// Closes the connection of a peer, even if a process that the program has forked holds a copy
    /// of its socket.
    fn close(&mut self, index: usize) {
        if let Link::Open(connection) = &self.peers[index].link {
            self.poll.forget(&connection.socket);
            socket::shut(&connection.socket);
        }
        self.peers[index].link = Link::None;
        self.open.retain(|other| *other as usize != index);
        self.opening.retain(|other| *other as usize != index);
        self.writing.retain(|other| *other as usize != index);
    }

    /// Marks a peer as lost; [`Sink::lost`] follows.
    pub(super) fn lose(&mut self, index: usize, reason: &str) {
        if matches!(self.peers[index].link, Link::Lost) {
            return;
        }
        self.close(index);
        let peer = &mut self.peers[index];
        peer.link = Link::Lost;
        self.losses.note(peer.contact.peer, reason);
        self.dead.push_back(index as u32);
    }

    /// True if the peer is lost.
    pub fn is_lost(&self, index: usize) -> bool {
        matches!(self.peers[index].link, Link::Lost)
    }

    /// True if the peer has sent its goodbye.
    pub fn has_left(&self, index: usize) -> bool {
        self.peers[index].has_left
    }

    /// Ends all regions published to a peer and all pulls from it.
    pub(super) fn drop_peer(&mut self, index: u32, sink: &mut impl Sink) {
        self.regions.take_all_of(index);
        self.pulls.drop_peer(index);
        let peer = &mut self.peers[index as usize];
        peer.output = Output::default();
        peer.listed = false;
        if peer.has_left { sink.left(peer.contact.peer) } else { sink.lost(peer.contact.peer) }
    }

    /// Sends a goodbye to all peers: `busy` is true until they have sent theirs. Must be
    /// called when nothing else is in flight; nothing may be sent afterwards.
    pub fn leave(&mut self) {
        self.leaving = true;
        self.lingering.drain(..).for_each(|(_, socket)| socket::shut(&socket));
        for at in 0..self.open.len() {
            let index = self.open[at] as usize;
            if let Link::Open(connection) = &mut self.peers[index].link
                && !connection.farewell
            {
                connection.farewell = true;
                self.keep(index, &Frame::Goodbye, 0, |_| {});
            }
        }
        for index in (0..self.writing.len()).rev() {
            self.write(self.writing[index] as usize);
        }
    }
}
