//! Opening connections: attempts of this process, and strangers, which have connected and proved
//! nothing yet.
//!
//! Two processes may connect to each other at the same time. Then the connection that the process
//! with the smaller number opened is kept, once that process has sent its proof: it refuses the
//! other one, and the other process gives its own attempt up when it has proof of who connects.
//! Before its proof is out nobody can have taken its connection, so it rather takes the other one:
//! its own attempt may have come to a place where nobody ever answers. Whoever was refused waits
//! for the connection of the other side, and tries again if none comes.
//!
//! Strangers cost a bounded amount: a fixed buffer each, no answer without the key, no more than
//! [`STRANGERS`] beyond as many as the job has processes and those that have said a hello with the
//! key. A hello counts once, so one that was recorded takes one place however often it is said.
//! Where there are too many, those go first whose address has the most.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use super::hello::{self, CHALLENGE_BYTES, HELLO_BYTES, Hello, Key, Nonce, PROOF_BYTES, VERDICT_BYTES};
use super::poll::{Poll, Whose};
use super::socket::{self, Moved, STRANGERS};

/// How long an address may take to answer, and how long the system may refuse connections that wait
/// to be accepted.
const PATIENCE: Duration = Duration::from_secs(5);

/// A message of fixed length on its way in.
struct Message<const BYTES: usize> {
    bytes: [u8; BYTES],
    have: usize,
}

impl<const BYTES: usize> Message<BYTES> {
    const NEW: Message<BYTES> = Message { bytes: [0; BYTES], have: 0 };

    /// Reads on; `None` while it is not whole.
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

/// Writes a whole message to a socket that has not been written to much: it has room for it.
fn say(socket: &OwnedFd, bytes: &[u8]) -> io::Result<()> {
    match socket::write_bytes(socket, bytes) {
        Moved::Some(gone) if gone == bytes.len() => Ok(()),
        Moved::Broken(error) => Err(error),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

enum Stage {
    Connecting { since: Instant },
    Challenge(Message<CHALLENGE_BYTES>),
    Verdict(Message<VERDICT_BYTES>),
}

/// A connection that this process opens.
pub(super) struct Attempt {
    pub(super) socket: OwnedFd,
    pub(super) address: SocketAddr,
    hello: Hello,
    stage: Stage,
}

/// How an attempt stands.
pub(super) enum Progressed {
    /// As before.
    Nothing,
    /// A step further.
    Further,
    /// It is a connection.
    Open,
    /// The other side prefers the connection that it opens.
    Refused,
    /// It failed.
    Failed(io::Error),
}

impl Attempt {
    /// Begins one.
    pub(super) fn begin(address: SocketAddr, from: u32, to: u32, poll: &Poll, whose: Whose) -> io::Result<Attempt> {
        let hello = Hello { from, to, nonce: socket::nonce()? };
        let socket = socket::begin(address)?;
        poll.watch(&socket, whose, true)?;
        Ok(Attempt { socket, address, hello, stage: Stage::Connecting { since: Instant::now() } })
    }

    /// Whether the other side may have taken this connection: it has proof of who opens it.
    pub(super) fn has_proved(&self) -> bool {
        matches!(self.stage, Stage::Verdict(_))
    }

    /// Whether it failed without a word from the other side: nobody answered, or somebody closed at
    /// once.
    pub(super) fn came_to_silence(&self, error: &io::Error) -> bool {
        use io::ErrorKind::{ConnectionReset, TimedOut, UnexpectedEof};
        !self.has_proved() && matches!(error.kind(), TimedOut | UnexpectedEof | ConnectionReset)
    }

    /// Goes as far as it can.
    pub(super) fn progress(&mut self, key: &Key, poll: &Poll, whose: Whose) -> Progressed {
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

    fn step(&mut self, key: &Key, poll: &Poll, whose: Whose) -> io::Result<Progressed> {
        match &mut self.stage {
            Stage::Connecting { since } => match socket::connected(&self.socket) {
                None if since.elapsed() > PATIENCE => return Err(io::ErrorKind::TimedOut.into()),
                None => return Ok(Progressed::Nothing),
                Some(result) => {
                    result?;
                    poll.change(&self.socket, whose, false);
                    say(&self.socket, &self.hello.encode(key))?;
                    self.stage = Stage::Challenge(Message::NEW);
                }
            },
            Stage::Challenge(message) => {
                let Some(challenge) = message.read(&self.socket)? else { return Ok(Progressed::Nothing) };
                let proof = self.hello.proof(key, challenge).ok_or_else(|| {
                    io::Error::other("what answers there does not know the key of this job: another program?")
                })?;
                say(&self.socket, &proof)?;
                self.stage = Stage::Verdict(Message::NEW);
            }
            Stage::Verdict(message) => {
                let ended = |_| io::Error::other("it takes this process for lost, or has ended");
                let Some(said) = message.read(&self.socket).map_err(ended)? else { return Ok(Progressed::Nothing) };
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

enum Claim {
    Nothing(Message<HELLO_BYTES>),
    /// Has said a hello with the key, and was given this number.
    Hello(Hello, Nonce, Message<PROOF_BYTES>),
}

struct Stranger {
    socket: OwnedFd,
    address: Option<IpAddr>,
    claim: Claim,
}

/// A connection whose other end is proved to be a process of this job.
pub(super) struct Proved {
    pub(super) socket: OwnedFd,
    pub(super) from: u32,
}

/// All connections that others have opened and not proved.
#[derive(Default)]
pub(super) struct Strangers {
    all: BTreeMap<u32, Stranger>,
    next: u32,
    /// Since when the system refuses those that wait, and why.
    refused: Option<(Instant, io::Error)>,
}

impl Strangers {
    /// How many there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Takes in whoever has connected; `processes` is how many there are in the job.
    pub(super) fn admit(&mut self, listener: &OwnedFd, poll: &Poll, processes: usize) -> Vec<u32> {
        let mut new = Vec::new();
        while new.len() < STRANGERS {
            let (socket, address) = match socket::accept(listener) {
                Ok(Some(accepted)) => accepted,
                Ok(None) => break,
                // Those who say nothing make room for others.
                Err(_) if self.send_silent_away() => continue,
                Err(error) => {
                    self.refused.get_or_insert_with(|| (Instant::now(), error));
                    break;
                }
            };
            self.refused = None;
            let number = self.next;
            self.next = self.next.wrapping_add(1);
            if poll.watch(&socket, Whose::Stranger(number), false).is_ok() {
                self.all.insert(number, Stranger { socket, address, claim: Claim::Nothing(Message::NEW) });
                new.push(number);
            }
            self.limit(processes);
        }
        new
    }

    /// Why connections of others have been refused by the system for too long, if they have.
    pub(super) fn refusal(&self) -> Option<&io::Error> {
        self.refused.as_ref().filter(|(since, _)| since.elapsed() > PATIENCE).map(|(_, error)| error)
    }

    /// Sends one away where there are too many, best one who has said nothing.
    fn limit(&mut self, processes: usize) {
        let is_silent = |stranger: &&Stranger| matches!(stranger.claim, Claim::Nothing(_));
        if self.all.values().filter(is_silent).count() > STRANGERS + processes {
            self.send_silent_away();
        } else if self.all.len() > STRANGERS + 2 * processes {
            self.all.pop_first();
        }
    }

    /// Sends one of those away who have said nothing: the oldest from the address with the most of
    /// them, so that a flood from one host does not drive those of other hosts away. False when
    /// there is none.
    fn send_silent_away(&mut self) -> bool {
        // How many there are of each address, and the oldest.
        let mut silent: BTreeMap<Option<IpAddr>, (usize, u32)> = BTreeMap::new();
        for (number, stranger) in self.all.iter().filter(|(_, other)| matches!(other.claim, Claim::Nothing(_))) {
            silent.entry(stranger.address).or_insert((0, *number)).0 += 1;
        }
        let most = silent.into_values().max_by_key(|(count, _)| *count);
        most.is_some_and(|(_, oldest)| self.all.remove(&oldest).is_some())
    }

    /// Hears one stranger out; `None` while it is not proved who it is. Whoever says anything wrong
    /// is sent away.
    pub(super) fn hear(&mut self, number: u32, own: u32, key: &Key) -> Option<Proved> {
        let mut stranger = self.all.remove(&number)?;
        let was_said = |new: &Hello| {
            self.all.values().any(|other| matches!(&other.claim, Claim::Hello(hello, ..) if hello == new))
        };
        match stranger.hear(own, key, was_said) {
            Ok(None) => {
                self.all.insert(number, stranger);
                None
            }
            Ok(Some(from)) => Some(Proved { socket: stranger.socket, from }),
            Err(_) => None,
        }
    }
}

impl Stranger {
    fn hear(&mut self, own: u32, key: &Key, was_said: impl Fn(&Hello) -> bool) -> io::Result<Option<u32>> {
        let wrong = || io::Error::from(io::ErrorKind::InvalidData);
        if let Claim::Nothing(message) = &mut self.claim {
            let Some(said) = message.read(&self.socket)? else { return Ok(None) };
            let hello =
                Hello::decode(said, key).filter(|hello| hello.to == own && !was_said(hello)).ok_or_else(wrong)?;
            let nonce = socket::nonce()?;
            say(&self.socket, &hello.challenge(key, &nonce))?;
            self.claim = Claim::Hello(hello, nonce, Message::NEW);
        }
        let Claim::Hello(hello, nonce, message) = &mut self.claim else { return Ok(None) };
        let Some(proof) = message.read(&self.socket)? else { return Ok(None) };
        if hello.is_proved(key, nonce, proof) { Ok(Some(hello.from)) } else { Err(wrong()) }
    }
}

/// Tells the other side whether its connection is taken.
pub(super) fn answer(socket: &OwnedFd, accepted: bool) -> bool {
    say(socket, &hello::verdict(accepted)).is_ok()
}
