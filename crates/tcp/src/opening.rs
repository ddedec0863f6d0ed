//! Opening connections: attempts of this process, and pending connections, whose other end has
//! connected but not yet proved its identity.
//!
//! Two processes may connect to each other at the same time. Then the connection that the process
//! with the smaller [`ProcessId`] opened wins, once that process has sent its proof: it refuses the
//! other one, and the other process abandons its own attempt when it has the proof. Before the
//! proof is sent, the peer cannot have accepted the connection, so the process with the smaller
//! identifier accepts the peer's instead: its own attempt may have reached an address where no
//! process ever answers. A process that was refused waits for the connection of the other side, and
//! retries if none comes.
//!
//! Pending connections cost a bounded amount: each has a fixed-size buffer, and none gets an answer
//! without a valid hello. Their number is at most [`MAX_PENDING`], plus the number of peers, plus
//! those that have sent a valid hello. Equal hellos count once, so that replays of one take only
//! one slot. When there are too many silent ones, the oldest from the address with the most of them
//! is dropped.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use towpath_base::ids::ProcessId;

use super::hello::{
    self, CHALLENGE_BYTES, ConnectionKey, HELLO_BYTES, Hello, Nonce, PROOF_BYTES, VERDICT_BYTES,
};
use super::poll::{Poll, Whose};
use super::socket::{self, MAX_PENDING, Moved};

/// How long an address may take to answer, and how long the system may refuse to accept connections
/// from the backlog.
const PATIENCE: Duration = Duration::from_secs(5);

/// A message of fixed length that is being received.
struct FixedMessage<const BYTES: usize> {
    bytes: [u8; BYTES],
    have: usize,
}

impl<const BYTES: usize> FixedMessage<BYTES> {
    const NEW: FixedMessage<BYTES> = FixedMessage { bytes: [0; BYTES], have: 0 };

    /// Continues to read; `None` while the message is incomplete.
    fn read(&mut self, socket: &OwnedFd) -> io::Result<Option<&[u8; BYTES]>> {
        while self.have < BYTES {
            match socket::read_bytes(socket, &mut self.bytes[self.have..]) {
                Moved::Some(got) => self.have += got,
                Moved::None => return Ok(None),
                Moved::End => return Err(io::ErrorKind::UnexpectedEof.into()),
                Moved::Broken(error) => return Err(error),
            }
        }
        Ok(Some(&self.bytes))
    }
}

/// Writes a whole handshake message. So little has been written to the socket before that it has
/// room.
fn say(socket: &OwnedFd, bytes: &[u8]) -> io::Result<()> {
    match socket::write_bytes(socket, bytes) {
        Moved::Some(gone) if gone == bytes.len() => Ok(()),
        Moved::Broken(error) => Err(error),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

enum Stage {
    Connecting { since: Instant },
    Challenge(FixedMessage<CHALLENGE_BYTES>),
    Verdict(FixedMessage<VERDICT_BYTES>),
}

/// A connection that this process is opening.
pub(super) struct Attempt {
    pub(super) socket: OwnedFd,
    pub(super) address: SocketAddr,
    hello: Hello,
    stage: Stage,
}

/// The result of a step of an attempt.
pub(super) enum Progressed {
    /// No change.
    Nothing,
    /// One step further.
    Further,
    /// The connection is open.
    Open,
    /// The other side prefers the connection that it is opening itself.
    Refused,
    /// The attempt failed.
    Failed(io::Error),
}

impl Attempt {
    /// Starts to connect to `address`.
    pub(super) fn begin(
        address: SocketAddr,
        from: ProcessId,
        to: ProcessId,
        poll: &Poll,
        whose: Whose,
    ) -> io::Result<Attempt> {
        let hello = Hello { from, to, nonce: socket::nonce()? };
        let socket = socket::begin(address)?;
        poll.watch(&socket, whose, true)?;
        Ok(Attempt { socket, address, hello, stage: Stage::Connecting { since: Instant::now() } })
    }

    /// True if the other side may have accepted this connection: it has the proof.
    pub(super) fn has_proved(&self) -> bool {
        matches!(self.stage, Stage::Verdict(_))
    }

    /// True if the attempt failed without an answer from the other side: a timeout, or the
    /// connection was closed at once.
    pub(super) fn came_to_silence(&self, error: &io::Error) -> bool {
        use io::ErrorKind::{ConnectionReset, TimedOut, UnexpectedEof};
        !self.has_proved() && matches!(error.kind(), TimedOut | UnexpectedEof | ConnectionReset)
    }

    /// Progresses as far as possible.
    pub(super) fn progress(
        &mut self,
        key: &ConnectionKey,
        poll: &Poll,
        whose: Whose,
    ) -> Progressed {
        let mut moved = false;
        loop {
            match self.step(key, poll, whose) {
                Ok(Progressed::Further) => moved = true,
                Ok(Progressed::Nothing) if moved => return Progressed::Further,
                Ok(other) => return other,
                Err(error) => return Progressed::Failed(error),
            }
        }
    }

    fn step(&mut self, key: &ConnectionKey, poll: &Poll, whose: Whose) -> io::Result<Progressed> {
        match &mut self.stage {
            Stage::Connecting { since } => match socket::connected(&self.socket) {
                None if since.elapsed() > PATIENCE => return Err(io::ErrorKind::TimedOut.into()),
                None => return Ok(Progressed::Nothing),
                Some(result) => {
                    result?;
                    poll.change(&self.socket, whose, false);
                    say(&self.socket, &self.hello.encode(key))?;
                    self.stage = Stage::Challenge(FixedMessage::NEW);
                }
            },
            Stage::Challenge(message) => {
                let Some(challenge) = message.read(&self.socket)? else {
                    return Ok(Progressed::Nothing);
                };
                let proof = self.hello.proof(key, challenge).ok_or_else(|| {
                    io::Error::other("the program at this address does not have the same key")
                })?;
                say(&self.socket, &proof)?;
                self.stage = Stage::Verdict(FixedMessage::NEW);
            }
            Stage::Verdict(message) => {
                let ended = |_| io::Error::other("it considers this process lost, or has ended");
                let Some(said) = message.read(&self.socket).map_err(ended)? else {
                    return Ok(Progressed::Nothing);
                };
                return match hello::read_verdict(said) {
                    Some(true) => Ok(Progressed::Open),
                    Some(false) => Ok(Progressed::Refused),
                    None => Err(io::ErrorKind::InvalidData.into()),
                };
            }
        }
        Ok(Progressed::Further)
    }
}

enum OpeningClaim {
    Nothing(FixedMessage<HELLO_BYTES>),
    /// Has sent a valid hello under this key, and got a challenge with this nonce.
    Hello(Hello, ConnectionKey, Nonce, FixedMessage<PROOF_BYTES>),
}

struct PendingConnection {
    socket: OwnedFd,
    address: Option<IpAddr>,
    claim: OpeningClaim,
}

/// A connection whose other end has proved which peer it is.
pub(super) struct Proved {
    pub(super) socket: OwnedFd,
    pub(super) from: ProcessId,
}

/// All incoming connections that are not authenticated yet.
#[derive(Default)]
pub(super) struct PendingConnections {
    all: BTreeMap<u32, PendingConnection>,
    next: u32,
    /// Since when the system has refused to accept connections, and why.
    refused: Option<(Instant, io::Error)>,
}

impl PendingConnections {
    /// Number of pending connections.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Accepts new connections and returns their numbers; `processes` is the number of peers on
    /// other hosts.
    pub(super) fn admit(&mut self, listener: &OwnedFd, poll: &Poll, processes: usize) -> Vec<u32> {
        let mut new = Vec::new();
        while new.len() < MAX_PENDING {
            let (socket, address) = match socket::accept(listener) {
                Ok(Some(accepted)) => accepted,
                Ok(None) => break,
                // Drop a silent connection to make room.
                Err(_) if self.send_silent_away() => continue,
                Err(error) => {
                    self.refused.get_or_insert_with(|| (Instant::now(), error));
                    break;
                }
            };
            self.refused = None;
            let number = self.next;
            self.next = self.next.wrapping_add(1);
            if poll.watch(&socket, Whose::PendingConnection(number), false).is_ok() {
                self.all.insert(
                    number,
                    PendingConnection {
                        socket,
                        address,
                        claim: OpeningClaim::Nothing(FixedMessage::NEW),
                    },
                );
                new.push(number);
            }
            self.limit(processes);
        }
        new
    }

    /// Why the system has refused to accept connections for too long, if it has.
    pub(super) fn refusal(&self) -> Option<&io::Error> {
        self.refused
            .as_ref()
            .filter(|(since, _)| since.elapsed() > PATIENCE)
            .map(|(_, error)| error)
    }

    /// Pretends that the system has refused to accept connections for too long.
    #[cfg(test)]
    pub(super) fn refuse_long_ago(&mut self, error: io::Error) {
        self.refused = Some((Instant::now() - 2 * PATIENCE, error));
    }

    /// Drops one connection if there are too many: a silent one if too many are silent, otherwise
    /// the oldest.
    fn limit(&mut self, processes: usize) {
        let is_silent =
            |pending: &&PendingConnection| matches!(pending.claim, OpeningClaim::Nothing(_));
        if self.all.values().filter(is_silent).count() > MAX_PENDING + processes {
            self.send_silent_away();
        } else if self.all.len() > MAX_PENDING + 2 * processes {
            self.all.pop_first();
        }
    }

    /// Drops a silent connection: the oldest one of the address with the most silent ones, so that
    /// a flood from one host does not displace connections of other hosts. False if there is none.
    fn send_silent_away(&mut self) -> bool {
        // The number of silent connections per address, and the oldest one.
        let mut silent: BTreeMap<Option<IpAddr>, (usize, u32)> = BTreeMap::new();
        for (number, pending) in
            self.all.iter().filter(|(_, other)| matches!(other.claim, OpeningClaim::Nothing(_)))
        {
            silent.entry(pending.address).or_insert((0, *number)).0 += 1;
        }
        let most = silent.into_values().max_by_key(|(count, _)| *count);
        most.is_some_and(|(_, oldest)| self.all.remove(&oldest).is_some())
    }

    /// Reads from one pending connection; `None` while it is not authenticated. An invalid message
    /// closes it. `key_of` returns the key for a hello of a peer to this process.
    pub(super) fn hear<'a>(
        &mut self,
        number: u32,
        key_of: impl FnOnce(&Hello) -> Option<&'a ConnectionKey>,
    ) -> Option<Proved> {
        let mut pending = self.all.remove(&number)?;
        let was_said = |new: &Hello| {
            self.all
                .values()
                .any(|other| matches!(&other.claim, OpeningClaim::Hello(hello, ..) if hello == new))
        };
        match pending.hear(key_of, was_said) {
            Ok(None) => {
                self.all.insert(number, pending);
                None
            }
            Ok(Some(from)) => Some(Proved { socket: pending.socket, from }),
            Err(_) => None,
        }
    }
}

impl PendingConnection {
    fn hear<'a>(
        &mut self,
        key_of: impl FnOnce(&Hello) -> Option<&'a ConnectionKey>,
        was_said: impl Fn(&Hello) -> bool,
    ) -> io::Result<Option<ProcessId>> {
        let wrong = || io::Error::from(io::ErrorKind::InvalidData);
        if let OpeningClaim::Nothing(message) = &mut self.claim {
            let Some(said) = message.read(&self.socket)? else { return Ok(None) };
            let (hello, key) = Hello::decode(said, key_of)
                .filter(|(hello, _)| !was_said(hello))
                .ok_or_else(wrong)?;
            let nonce = socket::nonce()?;
            say(&self.socket, &hello.challenge(key, &nonce))?;
            self.claim = OpeningClaim::Hello(hello, key.clone(), nonce, FixedMessage::NEW);
        }
        let OpeningClaim::Hello(hello, key, nonce, message) = &mut self.claim else {
            return Ok(None);
        };
        let Some(proof) = message.read(&self.socket)? else { return Ok(None) };
        if hello.is_proved(key, nonce, proof) { Ok(Some(hello.from)) } else { Err(wrong()) }
    }
}

/// Sends the verdict to the other side.
pub(super) fn answer(socket: &OwnedFd, accepted: bool) -> bool {
    say(socket, &hello::verdict(accepted)).is_ok()
}
