//! The protocol between `mpiexec` and its proxy on a host, over the proxy's stdin and stdout. A
//! frame is a kind, a length, a body and a line feed. The line feed makes launchers that forward
//! whole lines only (`srun`) forward every frame.
//!
//! The proxy's output begins with [`PREAMBLE`]; anything that a login shell prints before it is
//! skipped. Received data is not trusted: lengths are bounded, and a body that is too short or too
//! long for its kind is an error.
#![forbid(unsafe_code)]

use towpath_base::control::{BlockedCall, COMMUNICATOR};
use towpath_base::ids::JobId;

use super::activity::Activity;

/// Marks the beginning of the frames in a proxy's output.
pub(super) const PREAMBLE: &[u8] = b"\ntowpath-proxy 1\n";
/// Maximum number of bytes accepted before the preamble.
const LONGEST_NOISE: usize = 1 << 20;
/// How many of them are kept for an error message.
const LAST_NOISE: usize = 200;
/// Longest body in bytes; environments are the longest data sent.
const LONGEST_BODY: usize = 1 << 24;
/// Size in bytes of kind and length.
const HEAD: usize = 5;

/// The description of a job for a proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JobText {
    /// Version of Towpath, which must be the same at both ends.
    pub(super) version: Vec<u8>,
    /// The secret of the job, which the proxy returns as proof.
    pub(super) key: Vec<u8>,
    pub(super) id: JobId,
    /// Number of the proxy's host.
    pub(super) host: u32,
    /// Hosts of all ranks, as a process mapping.
    pub(super) mapping: Vec<u8>,
    pub(super) directory: Vec<u8>,
    /// The command line of `mpiexec`.
    pub(super) arguments: Vec<Vec<u8>>,
    /// Number of ranks of each of its programs.
    pub(super) ranks: Vec<u32>,
    /// Names and values in turn.
    pub(super) environment: Vec<Vec<u8>>,
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ProxyFrame {
    // Frames to the proxy.
    Job(Box<JobText>),
    /// A signal for all ranks of the host, or 0 to kill everything and exit.
    Signal(i32),
    /// The job ends: the ranks are notified in shared memory, then by this signal.
    End(i32),
    /// Answer of the PMI server.
    Answer {
        rank: u32,
        bytes: Vec<u8>,
    },
    /// Input for rank 0; empty at the end of the input.
    Input(Vec<u8>),
    /// This many bytes of output have been written.
    Taken {
        which: u8,
        count: u32,
    },
    /// Asks what the ranks of the host are doing.
    Ask,
    // Frames from the proxy.
    /// The job description has been read; the secret is the proof.
    Ready {
        key: Vec<u8>,
    },
    /// The ranks cannot be started.
    Refused {
        code: i32,
        sentence: Vec<u8>,
    },
    /// A rank was started or failed to start, or the guardian cannot wait for ranks any more.
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
    /// Complete requests to the PMI server, each with its line feed.
    Request {
        rank: u32,
        bytes: Vec<u8>,
    },
    /// Output of ranks: whole lines, or the available part of one. `more`: the last line is long
    /// and continues in the next frame.
    Output {
        which: u8,
        more: bool,
        bytes: Vec<u8>,
    },
    /// This many bytes of input have been consumed.
    InputTaken {
        count: u32,
    },
    /// This rank is in MPI, while another rank of its host has ended without calling MPI_Init.
    Inside {
        rank: u32,
    },
    /// What a rank is doing.
    Activity {
        rank: u32,
        activity: Activity,
    },
    /// All ranks of this host have been reported.
    Answered,
    /// Everything on this host has ended, and all output has been sent.
    Done,
}

impl ProxyFrame {
    /// Encodes the frame.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut body = FrameWriter(vec![0; HEAD]);
        let kind = match self {
            ProxyFrame::Job(job) => {
                body.bytes(&job.version).bytes(&job.key).job(job.id);
                body.number(job.host).bytes(&job.mapping).bytes(&job.directory);
                body.list(&job.arguments).numbers(&job.ranks).list(&job.environment);
                1
            }
            ProxyFrame::Signal(signal) => body.number(*signal as u32).kind(2),
            ProxyFrame::End(signal) => body.number(*signal as u32).kind(3),
            ProxyFrame::Answer { rank, bytes } => body.number(*rank).bytes(bytes).kind(4),
            ProxyFrame::Input(bytes) => body.bytes(bytes).kind(5),
            ProxyFrame::Taken { which, count } => {
                body.number(u32::from(*which)).number(*count).kind(6)
            }
            ProxyFrame::Ask => 7,
            ProxyFrame::Ready { key } => body.bytes(key).kind(16),
            ProxyFrame::Refused { code, sentence } => {
                body.number(*code as u32).bytes(sentence).kind(17)
            }
            ProxyFrame::Started { rank, kind, value, pid } => {
                body.number(*rank).number(*kind).number(*value as u32).number(*pid as u32).kind(18)
            }
            ProxyFrame::Ended { rank, status, state, last_call, in_call } => body
                .number(*rank)
                .number(*status as u32)
                .number(*state)
                .number(*last_call)
                .number(*in_call)
                .kind(19),
            ProxyFrame::Request { rank, bytes } => body.number(*rank).bytes(bytes).kind(20),
            ProxyFrame::Output { which, more, bytes } => {
                body.number(u32::from(*which)).number(u32::from(*more)).bytes(bytes).kind(21)
            }
            ProxyFrame::InputTaken { count } => body.number(*count).kind(22),
            ProxyFrame::Done => 23,
            ProxyFrame::Inside { rank } => body.number(*rank).kind(24),
            ProxyFrame::Activity { rank, activity } => {
                body.number(*rank).activity(activity).kind(25)
            }
            ProxyFrame::Answered => 26,
        };
        let mut bytes = body.0;
        let length = (bytes.len() - HEAD) as u32;
        bytes[0] = kind;
        bytes[1..HEAD].copy_from_slice(&length.to_le_bytes());
        bytes.push(b'\n');
        bytes
    }

    fn parse(kind: u8, body: &[u8]) -> Option<ProxyFrame> {
        let mut body = BodyReader(body);
        let frame = match kind {
            1 => ProxyFrame::Job(Box::new(JobText {
                version: body.bytes()?,
                key: body.bytes()?,
                id: body.job()?,
                host: body.number()?,
                mapping: body.bytes()?,
                directory: body.bytes()?,
                arguments: body.list()?,
                ranks: body.numbers()?,
                environment: body.list()?,
            })),
            2 => ProxyFrame::Signal(body.number()? as i32),
            3 => ProxyFrame::End(body.number()? as i32),
            4 => ProxyFrame::Answer { rank: body.number()?, bytes: body.bytes()? },
            5 => ProxyFrame::Input(body.bytes()?),
            6 => ProxyFrame::Taken { which: body.stream()?, count: body.number()? },
            7 => ProxyFrame::Ask,
            16 => ProxyFrame::Ready { key: body.bytes()? },
            17 => ProxyFrame::Refused { code: body.number()? as i32, sentence: body.bytes()? },
            18 => ProxyFrame::Started {
                rank: body.number()?,
                kind: body.number()?,
                value: body.number()? as i32,
                pid: body.number()? as i32,
            },
            19 => ProxyFrame::Ended {
                rank: body.number()?,
                status: body.number()? as i32,
                state: body.number()?,
                last_call: body.number()?,
                in_call: body.number()?,
            },
            20 => ProxyFrame::Request { rank: body.number()?, bytes: body.bytes()? },
            21 => ProxyFrame::Output {
                which: body.stream()?,
                more: body.stream()? == 1,
                bytes: body.bytes()?,
            },
            22 => ProxyFrame::InputTaken { count: body.number()? },
            23 => ProxyFrame::Done,
            24 => ProxyFrame::Inside { rank: body.number()? },
            25 => ProxyFrame::Activity { rank: body.number()?, activity: body.activity()? },
            26 => ProxyFrame::Answered,
            _ => return None,
        };
        body.0.is_empty().then_some(frame)
    }
}

struct FrameWriter(Vec<u8>);

impl FrameWriter {
    fn number(&mut self, number: u32) -> &mut FrameWriter {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    fn job(&mut self, id: JobId) -> &mut FrameWriter {
        self.0.extend_from_slice(&id.0.to_le_bytes());
        self
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut FrameWriter {
        self.number(bytes.len() as u32).0.extend_from_slice(bytes);
        self
    }

    fn list(&mut self, list: &[Vec<u8>]) -> &mut FrameWriter {
        self.number(list.len() as u32);
        for bytes in list {
            self.bytes(bytes);
        }
        self
    }

    fn numbers(&mut self, numbers: &[u32]) -> &mut FrameWriter {
        self.number(numbers.len() as u32);
        for number in numbers {
            self.number(*number);
        }
        self
    }

    fn activity(&mut self, activity: &Activity) -> &mut FrameWriter {
        self.number(activity.state).number(activity.last_call).number(activity.in_call);
        self.number(u32::from(activity.blocked.is_some()));
        if let Some((blocked, seconds)) = &activity.blocked {
            self.number(blocked.call)
                .number(blocked.awaited)
                .number(blocked.peer as u32)
                .number(blocked.tag as u32);
            self.number(*seconds).bytes(&blocked.communicator);
        }
        self
    }

    fn kind(&mut self, kind: u8) -> u8 {
        kind
    }
}

struct BodyReader<'a>(&'a [u8]);

impl BodyReader<'_> {
    fn number(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*number))
    }

    fn job(&mut self) -> Option<JobId> {
        let (id, rest) = self.0.split_first_chunk::<16>()?;
        self.0 = rest;
        Some(JobId(u128::from_le_bytes(*id)))
    }

    /// Number of a stream (0 stdout, 1 stderr), or a Boolean.
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
        // Each entry takes at least four bytes, so a wrong count fails soon.
        (0..count).map(|_| self.bytes()).collect()
    }

    fn numbers(&mut self) -> Option<Vec<u32>> {
        let count = self.number()?;
        (0..count).map(|_| self.number()).collect()
    }
}

impl BodyReader<'_> {
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
        Some((
            BlockedCall { call, awaited, peer, tag, communicator, ..BlockedCall::default() },
            seconds,
        ))
    }
}

/// Splits a byte stream into frames.
#[derive(Debug)]
pub(super) struct FrameReader {
    held: Vec<u8>,
    /// The preamble has not arrived yet.
    expects_preamble: bool,
    /// Number of bytes before the preamble, and the last of them.
    noise: usize,
    last_noise: Vec<u8>,
}

impl FrameReader {
    /// A reader for the output of a proxy (`from_proxy`), or for its input.
    pub(super) fn new(from_proxy: bool) -> FrameReader {
        FrameReader {
            held: Vec::new(),
            expects_preamble: from_proxy,
            noise: 0,
            last_noise: Vec::new(),
        }
    }

    /// Appends received bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
    }

    /// The next complete frame; `Ok(None)` if more bytes are needed.
    ///
    /// # Errors
    /// A description of what is wrong with the stream.
    pub(super) fn next_frame(&mut self) -> Result<Option<ProxyFrame>, String> {
        if self.expects_preamble && !self.skip_noise()? {
            return Ok(None);
        }
        let Some((head, rest)) = self.held.split_first_chunk::<HEAD>() else { return Ok(None) };
        let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
        if length > LONGEST_BODY {
            return Err(format!("a frame of {length} bytes was announced"));
        }
        let Some((body, end)) = rest.split_at_checked(length).filter(|(_, end)| !end.is_empty())
        else {
            return Ok(None);
        };
        let frame = ProxyFrame::parse(head[0], body).filter(|_| end[0] == b'\n');
        let frame = frame.ok_or_else(|| format!("a frame of kind {} cannot be read", head[0]))?;
        self.held.drain(..HEAD + length + 1);
        Ok(Some(frame))
    }

    /// The last line of what arrived instead of a proxy's output, safe to print; empty if nothing
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
                // Keep what may be the beginning of the preamble.
                let past = self.held.len().saturating_sub(PREAMBLE.len() - 1);
                self.last_noise.extend(self.held.drain(..past));
                let old = self.last_noise.len().saturating_sub(LAST_NOISE);
                self.last_noise.drain(..old);
                self.noise += past;
                if self.noise > LONGEST_NOISE {
                    return Err("it prints something other than the output of a proxy".to_owned());
                }
                Ok(false)
            }
        }
    }
}

/// For [`crate::fuzz`]: a decoded frame survives encoding and decoding, and the reader buffers no
/// more than it received.
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
    let _ = ProxyFrame::parse(first, stream);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all_kinds() -> Vec<ProxyFrame> {
        let communicator = b"\"row\"".to_vec();
        let blocked = Some((
            BlockedCall {
                call: 2,
                awaited: 1,
                peer: -1,
                tag: 5,
                communicator,
                ..BlockedCall::default()
            },
            12,
        ));
        vec![
            ProxyFrame::Job(Box::new(JobText {
                version: b"1".to_vec(),
                key: vec![7; 32],
                id: JobId(u128::MAX - 5),
                host: 3,
                mapping: b"(vector,(0,1,2))".to_vec(),
                directory: b"/tmp".to_vec(),
                arguments: vec![b"-n".to_vec(), Vec::new()],
                ranks: vec![1, u32::MAX],
                environment: vec![b"A".to_vec(), b"\n\0".to_vec()],
            })),
            ProxyFrame::Signal(15),
            ProxyFrame::End(-1),
            ProxyFrame::Answer { rank: 9, bytes: b"x\n".to_vec() },
            ProxyFrame::Input(Vec::new()),
            ProxyFrame::Taken { which: 1, count: 70_000 },
            ProxyFrame::Ready { key: vec![1, 2] },
            ProxyFrame::Refused { code: 127, sentence: b"No.".to_vec() },
            ProxyFrame::Started { rank: 1, kind: 2, value: -3, pid: 4 },
            ProxyFrame::Ended { rank: 1, status: 9, state: 2, last_call: 3, in_call: 1 },
            ProxyFrame::Request { rank: 0, bytes: b"cmd=init\n".to_vec() },
            ProxyFrame::Output { which: 0, more: true, bytes: vec![0; 300] },
            ProxyFrame::InputTaken { count: 5 },
            ProxyFrame::Inside { rank: 2 },
            ProxyFrame::Ask,
            ProxyFrame::Activity {
                rank: 3,
                activity: Activity { state: 1, last_call: 2, in_call: 0, blocked: None },
            },
            ProxyFrame::Activity {
                rank: 4,
                activity: Activity { state: 1, last_call: 2, in_call: 1, blocked },
            },
            ProxyFrame::Answered,
            ProxyFrame::Done,
        ]
    }

    #[test]
    fn every_kind_survives_behind_noise_in_any_pieces() {
        for cut in [1, 7, 4096] {
            let mut reader = FrameReader::new(true);
            let mut bytes = b"Welcome!\ntowpath-proxy\n".to_vec();
            bytes.extend_from_slice(PREAMBLE);
            bytes.extend(all_kinds().iter().flat_map(ProxyFrame::to_bytes));
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
        for bytes in [
            &[99, 0, 0, 0, 0, b'\n'][..],
            &[2, 1, 0, 0, 0, 0, b'\n'],
            &[23, 0, 0, 0, 0, b'x'],
            &[5, 0, 0, 0, 9],
        ] {
            let mut reader = FrameReader::new(false);
            reader.push(bytes);
            assert!(reader.next_frame().is_err(), "{bytes:?}");
        }
        let mut other = FrameReader::new(true);
        other.push(b"Welcome!\nno such \x1bcommand\n");
        assert_eq!(
            (other.next_frame(), other.last_line().as_str()),
            (Ok(None), "no such ?command")
        );
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
            let _ = ProxyFrame::parse(kind, &bytes);
        }
    }
}
