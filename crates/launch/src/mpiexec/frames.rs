//! What `mpiexec` and its proxy on a host say to each other over the proxy's input and output:
//! frames of a kind, a length, a body and a line feed. The line feed lets launchers that hand on
//! whole lines only (`srun`) hand on every frame.
//!
//! The proxy's output begins with [`PREAMBLE`]: whatever a login shell has printed before it is
//! skipped. Nothing is trusted: lengths are bounded, and a body that is too short or too long for
//! its kind is an error.
#![forbid(unsafe_code)]

use towpath_base::control::{BlockedCall, COMMUNICATOR};

use super::activity::Activity;

/// How a proxy's output begins.
pub(super) const PREAMBLE: &[u8] = b"\ntowpath-proxy 1\n";
/// Most bytes that may stand before the preamble.
const LONGEST_NOISE: usize = 1 << 20;
/// How much of it is kept for a message.
const LAST_NOISE: usize = 200;
/// Longest body in bytes: an environment is the longest thing that is sent.
const LONGEST_BODY: usize = 1 << 24;
/// Kind and length.
const HEAD: usize = 5;

/// What a proxy needs to know of its job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct JobText {
    /// Version of the program; both ends must be the same.
    pub(super) version: Vec<u8>,
    /// The secret of the job, which the proxy says back.
    pub(super) key: Vec<u8>,
    pub(super) nonce: u64,
    /// Number of this host.
    pub(super) host: u32,
    /// Hosts of all ranks, as a process mapping.
    pub(super) mapping: Vec<u8>,
    pub(super) folder: Vec<u8>,
    /// The command line of `mpiexec`.
    pub(super) arguments: Vec<Vec<u8>>,
    /// How many ranks each of its programs has.
    pub(super) ranks: Vec<u32>,
    /// Names and values in turn.
    pub(super) environment: Vec<Vec<u8>>,
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    // To the proxy.
    Job(Box<JobText>),
    /// A signal for all ranks of the host, or 0: kill everything and end.
    Signal(i32),
    /// The job ends: ranks are told in shared memory, then by this signal.
    End(i32),
    /// Answer of the PMI server.
    Answer {
        rank: u32,
        bytes: Vec<u8>,
    },
    /// Input of rank 0; nothing: it has ended.
    Input(Vec<u8>),
    /// So many bytes of output have been written.
    Taken {
        which: u8,
        count: u32,
    },
    /// Where are your ranks?
    Ask,
    // From the proxy.
    /// The job has been read; the secret as proof.
    Ready {
        key: Vec<u8>,
    },
    /// The ranks cannot be started.
    Refused {
        code: i32,
        sentence: Vec<u8>,
    },
    /// A rank was started, or not.
    Started {
        rank: u32,
        kind: u32,
        value: i32,
        pid: i32,
    },
    /// A rank has ended.
    Ended {
        rank: u32,
        status: i32,
        state: u32,
        last_call: u32,
        in_call: u32,
    },
    /// Whole requests to the PMI server, each with its line feed.
    Request {
        rank: u32,
        bytes: Vec<u8>,
    },
    /// What ranks have printed: whole lines, or what there is of one; `more`: the last one is long
    /// and goes on.
    Output {
        which: u8,
        more: bool,
        bytes: Vec<u8>,
    },
    /// So many bytes of input have been read.
    InputTaken {
        count: u32,
    },
    /// This rank is in MPI, while another of its host has ended without ever having been.
    Inside {
        rank: u32,
    },
    /// Where a rank is.
    Activity {
        rank: u32,
        activity: Activity,
    },
    /// That is where all ranks of this host are.
    Answered,
    /// Everything on this host has ended, and all output been sent.
    Done,
}

impl Frame {
    /// The frame as it is sent.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut body = Writer(vec![0; HEAD]);
        let kind = match self {
            Frame::Job(job) => {
                body.bytes(&job.version).bytes(&job.key).number(job.nonce as u32).number((job.nonce >> 32) as u32);
                body.number(job.host).bytes(&job.mapping).bytes(&job.folder);
                body.list(&job.arguments).numbers(&job.ranks).list(&job.environment);
                1
            }
            Frame::Signal(signal) => body.number(*signal as u32).kind(2),
            Frame::End(signal) => body.number(*signal as u32).kind(3),
            Frame::Answer { rank, bytes } => body.number(*rank).bytes(bytes).kind(4),
            Frame::Input(bytes) => body.bytes(bytes).kind(5),
            Frame::Taken { which, count } => body.number(u32::from(*which)).number(*count).kind(6),
            Frame::Ask => 7,
            Frame::Ready { key } => body.bytes(key).kind(16),
            Frame::Refused { code, sentence } => body.number(*code as u32).bytes(sentence).kind(17),
            Frame::Started { rank, kind, value, pid } => {
                body.number(*rank).number(*kind).number(*value as u32).number(*pid as u32).kind(18)
            }
            Frame::Ended { rank, status, state, last_call, in_call } => {
                body.number(*rank).number(*status as u32).number(*state).number(*last_call).number(*in_call).kind(19)
            }
            Frame::Request { rank, bytes } => body.number(*rank).bytes(bytes).kind(20),
            Frame::Output { which, more, bytes } => {
                body.number(u32::from(*which)).number(u32::from(*more)).bytes(bytes).kind(21)
            }
            Frame::InputTaken { count } => body.number(*count).kind(22),
            Frame::Done => 23,
            Frame::Inside { rank } => body.number(*rank).kind(24),
            Frame::Activity { rank, activity } => body.number(*rank).activity(activity).kind(25),
            Frame::Answered => 26,
        };
        let mut bytes = body.0;
        let length = (bytes.len() - HEAD) as u32;
        bytes[0] = kind;
        bytes[1..HEAD].copy_from_slice(&length.to_le_bytes());
        bytes.push(b'\n');
        bytes
    }

    fn parse(kind: u8, body: &[u8]) -> Option<Frame> {
        let mut body = Reader(body);
        let frame = match kind {
            1 => Frame::Job(Box::new(JobText {
                version: body.bytes()?,
                key: body.bytes()?,
                nonce: u64::from(body.number()?) | u64::from(body.number()?) << 32,
                host: body.number()?,
                mapping: body.bytes()?,
                folder: body.bytes()?,
                arguments: body.list()?,
                ranks: body.numbers()?,
                environment: body.list()?,
            })),
            2 => Frame::Signal(body.number()? as i32),
            3 => Frame::End(body.number()? as i32),
            4 => Frame::Answer { rank: body.number()?, bytes: body.bytes()? },
            5 => Frame::Input(body.bytes()?),
            6 => Frame::Taken { which: body.stream()?, count: body.number()? },
            7 => Frame::Ask,
            16 => Frame::Ready { key: body.bytes()? },
            17 => Frame::Refused { code: body.number()? as i32, sentence: body.bytes()? },
            18 => Frame::Started {
                rank: body.number()?,
                kind: body.number()?,
                value: body.number()? as i32,
                pid: body.number()? as i32,
            },
            19 => Frame::Ended {
                rank: body.number()?,
                status: body.number()? as i32,
                state: body.number()?,
                last_call: body.number()?,
                in_call: body.number()?,
            },
            20 => Frame::Request { rank: body.number()?, bytes: body.bytes()? },
            21 => Frame::Output { which: body.stream()?, more: body.stream()? == 1, bytes: body.bytes()? },
            22 => Frame::InputTaken { count: body.number()? },
            23 => Frame::Done,
            24 => Frame::Inside { rank: body.number()? },
            25 => Frame::Activity { rank: body.number()?, activity: body.activity()? },
            26 => Frame::Answered,
            _ => return None,
        };
        body.0.is_empty().then_some(frame)
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, number: u32) -> &mut Writer {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Writer {
        self.number(bytes.len() as u32).0.extend_from_slice(bytes);
        self
    }

    fn list(&mut self, list: &[Vec<u8>]) -> &mut Writer {
        self.number(list.len() as u32);
        for bytes in list {
            self.bytes(bytes);
        }
        self
    }

    fn numbers(&mut self, numbers: &[u32]) -> &mut Writer {
        self.number(numbers.len() as u32);
        for number in numbers {
            self.number(*number);
        }
        self
    }

    fn activity(&mut self, activity: &Activity) -> &mut Writer {
        self.number(activity.state).number(activity.last_call).number(activity.in_call);
        self.number(u32::from(activity.blocked.is_some()));
        if let Some((blocked, seconds)) = &activity.blocked {
            self.number(blocked.call).number(blocked.awaited).number(blocked.peer as u32).number(blocked.tag as u32);
            self.number(*seconds).bytes(&blocked.communicator);
        }
        self
    }

    fn kind(&mut self, kind: u8) -> u8 {
        kind
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn number(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*number))
    }

    /// Number of a stream (0 stdout, 1 stderr), or a truth value.
    fn stream(&mut self) -> Option<u8> {
        self.number().and_then(|which| u8::try_from(which).ok()).filter(|&which| which < 2)
    }

    fn bytes(&mut self) -> Option<Vec<u8>> {
        let length = self.number()? as usize;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes.to_vec())
    }

    fn list(&mut self) -> Option<Vec<Vec<u8>>> {
        let count = self.number()?;
        // Each entry takes four bytes at least, so a wrong count ends soon.
        (0..count).map(|_| self.bytes()).collect()
    }

    fn numbers(&mut self) -> Option<Vec<u32>> {
        let count = self.number()?;
        (0..count).map(|_| self.number()).collect()
    }
}

impl Reader<'_> {
    fn activity(&mut self) -> Option<Activity> {
        let (state, last_call, in_call) = (self.number()?, self.number()?, self.number()?);
        let blocked = match self.number()? {
            0 => None,
            1 => Some(self.blocked()?),
            _ => return None,
        };
        Some(Activity { state, last_call, in_call, blocked })
    }

    fn blocked(&mut self) -> Option<(BlockedCall, u32)> {
        let (call, awaited) = (self.number()?, self.number()?);
        let (peer, tag) = (self.number()? as i32, self.number()? as i32);
        let seconds = self.number()?;
        let communicator = self.bytes().filter(|bytes| bytes.len() <= COMMUNICATOR)?;
        Some((BlockedCall { call, awaited, peer, tag, communicator, since: 0 }, seconds))
    }
}

/// Cuts a stream of bytes into frames.
#[derive(Debug)]
pub(super) struct FrameReader {
    held: Vec<u8>,
    /// The preamble has not come yet.
    expects_preamble: bool,
    /// Bytes that came before it, and the last of them.
    noise: usize,
    last_noise: Vec<u8>,
}

impl FrameReader {
    /// A reader of what a proxy prints (`from_proxy`), or of what it is told.
    pub(super) fn new(from_proxy: bool) -> FrameReader {
        FrameReader { held: Vec::new(), expects_preamble: from_proxy, noise: 0, last_noise: Vec::new() }
    }

    /// Takes bytes as they arrive.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
    }

    /// The next whole frame; `Ok(None)` when more bytes are needed.
    ///
    /// # Errors
    /// What is wrong with the stream.
    pub(super) fn next_frame(&mut self) -> Result<Option<Frame>, String> {
        if self.expects_preamble && !self.skip_noise()? {
            return Ok(None);
        }
        let Some((head, rest)) = self.held.split_first_chunk::<HEAD>() else { return Ok(None) };
        let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
        if length > LONGEST_BODY {
            return Err(format!("a frame of {length} bytes was announced"));
        }
        let Some((body, end)) = rest.split_at_checked(length).filter(|(_, end)| !end.is_empty()) else {
            return Ok(None);
        };
        let frame = Frame::parse(head[0], body).filter(|_| end[0] == b'\n');
        let frame = frame.ok_or_else(|| format!("a frame of kind {} cannot be read", head[0]))?;
        self.held.drain(..HEAD + length + 1);
        Ok(Some(frame))
    }

    /// The last line of what came instead of a proxy's output, safe to print; empty when nothing
    /// did.
    pub(super) fn last_line(&self) -> String {
        if !self.expects_preamble {
            return String::new();
        }
        let noise = [&self.last_noise[..], &self.held[..]].concat();
        let text = String::from_utf8_lossy(&noise).into_owned();
        let line = text.trim_end().lines().last().unwrap_or_default();
        line.chars().map(|sign| if sign.is_control() { '?' } else { sign }).collect()
    }

    fn skip_noise(&mut self) -> Result<bool, String> {
        match self.held.windows(PREAMBLE.len()).position(|part| part == PREAMBLE) {
            Some(at) => {
                self.held.drain(..at + PREAMBLE.len());
                self.expects_preamble = false;
                Ok(true)
            }
            None => {
                // What may be the beginning of the preamble stays.
                let past = self.held.len().saturating_sub(PREAMBLE.len() - 1);
                self.last_noise.extend(self.held.drain(..past));
                let old = self.last_noise.len().saturating_sub(LAST_NOISE);
                self.last_noise.drain(..old);
                self.noise += past;
                if self.noise > LONGEST_NOISE {
                    return Err("it prints something else than a proxy".to_owned());
                }
                Ok(false)
            }
        }
    }
}

/// For [`crate::fuzz`]: what is a frame means the same when it is written again, and nothing more
/// is kept than came.
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzz(bytes: &[u8]) {
    let Some((&first, stream)) = bytes.split_first() else { return };
    let mut reader = FrameReader::new(first & 1 == 1);
    for piece in stream.chunks(usize::from(first / 2).max(1)) {
        reader.push(piece);
        while let Ok(Some(frame)) = reader.next_frame() {
            let mut again = FrameReader::new(false);
            again.push(&frame.to_bytes());
            assert_eq!(again.next_frame(), Ok(Some(frame)));
        }
        assert!(reader.held.len() <= stream.len());
    }
    let _ = Frame::parse(first, stream);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all_kinds() -> Vec<Frame> {
        let communicator = b"\"row\"".to_vec();
        let blocked = Some((BlockedCall { call: 2, awaited: 1, peer: -1, tag: 5, communicator, since: 0 }, 12));
        vec![
            Frame::Job(Box::new(JobText {
                version: b"1".to_vec(),
                key: vec![7; 32],
                nonce: u64::MAX - 5,
                host: 3,
                mapping: b"(vector,(0,1,2))".to_vec(),
                folder: b"/tmp".to_vec(),
                arguments: vec![b"-n".to_vec(), Vec::new()],
                ranks: vec![1, u32::MAX],
                environment: vec![b"A".to_vec(), b"\n\0".to_vec()],
            })),
            Frame::Signal(15),
            Frame::End(-1),
            Frame::Answer { rank: 9, bytes: b"x\n".to_vec() },
            Frame::Input(Vec::new()),
            Frame::Taken { which: 1, count: 70_000 },
            Frame::Ready { key: vec![1, 2] },
            Frame::Refused { code: 127, sentence: b"No.".to_vec() },
            Frame::Started { rank: 1, kind: 2, value: -3, pid: 4 },
            Frame::Ended { rank: 1, status: 9, state: 2, last_call: 3, in_call: 1 },
            Frame::Request { rank: 0, bytes: b"cmd=init\n".to_vec() },
            Frame::Output { which: 0, more: true, bytes: vec![0; 300] },
            Frame::InputTaken { count: 5 },
            Frame::Inside { rank: 2 },
            Frame::Ask,
            Frame::Activity { rank: 3, activity: Activity { state: 1, last_call: 2, in_call: 0, blocked: None } },
            Frame::Activity { rank: 4, activity: Activity { state: 1, last_call: 2, in_call: 1, blocked } },
            Frame::Answered,
            Frame::Done,
        ]
    }

    #[test]
    fn every_kind_survives_behind_noise_in_any_pieces() {
        for cut in [1, 7, 4096] {
            let mut reader = FrameReader::new(true);
            let mut bytes = b"Welcome!\ntowpath-proxy\n".to_vec();
            bytes.extend_from_slice(PREAMBLE);
            bytes.extend(all_kinds().iter().flat_map(Frame::to_bytes));
            let mut seen = Vec::new();
            for piece in bytes.chunks(cut) {
                reader.push(piece);
                while let Some(frame) = reader.next_frame().unwrap() {
                    seen.push(frame);
                }
            }
            assert_eq!(seen, all_kinds());
        }
    }

    #[test]
    fn what_is_no_frame_is_an_error() {
        for bytes in
            [&[99, 0, 0, 0, 0, b'\n'][..], &[2, 1, 0, 0, 0, 0, b'\n'], &[23, 0, 0, 0, 0, b'x'], &[5, 0, 0, 0, 9]]
        {
            let mut reader = FrameReader::new(false);
            reader.push(bytes);
            assert!(reader.next_frame().is_err(), "{bytes:?}");
        }
        let mut other = FrameReader::new(true);
        other.push(b"Welcome!\nno such \x1bcommand\n");
        assert_eq!((other.next_frame(), other.last_line().as_str()), (Ok(None), "no such ?command"));
        let mut endless = FrameReader::new(true);
        endless.push(&vec![b'x'; LONGEST_NOISE + PREAMBLE.len()]);
        assert!(endless.next_frame().is_err());
    }

    proptest! {
        #[test]
        fn garbage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300), kind in 0u8..30) {
            let mut reader = FrameReader::new(false);
            reader.push(&bytes);
            while let Ok(Some(_)) = reader.next_frame() {}
            let _ = Frame::parse(kind, &bytes);
        }
    }
}
