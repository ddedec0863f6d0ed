//! Fuzz targets for the decoders of TCP: for `make fuzz`, and in short runs as tests of this crate.
//! The properties that each decoder must have are asserted here.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use towpath_base::ids::PeerIndex;
use towpath_base::sync::{AtomicUsize, Ordering};
use towpath_base::transfer::{Drain, MemorySpace, Step, Target};
use towpath_machine::network::Network;
use towpath_transport::{Header, Sink};

use super::frame::{Frame, HEAD_BYTES, front};
use super::hello::{self, CHALLENGE_BYTES, HELLO_BYTES, Hello};
use super::input::{Input, ReadBuffers, ReadContext, ReadOutcome};
use super::transfers::TcpPulls;
use super::{COPIED_LIMIT, ConnectionKey, HostAddresses, PeerRequest};

/// The text of a card: one that decodes must survive encoding.
pub fn card(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Some(card) = HostAddresses::parse(&text) else { return };
    assert_eq!(HostAddresses::parse(&card.to_text()).as_ref(), Some(&card));
    let networks = vec![Network::new([10, 0, 0, 1].into(), 8)];
    let own = HostAddresses { networks, machine: card.machine.clone(), ..HostAddresses::default() };
    for rank in [0, 1, usize::MAX] {
        assert!(card.places(rank, &own).len() <= card.networks.len());
    }
}

/// Removes the next message from the front of an input, padded with zeros if the input is too
/// short.
fn next_message<const BYTES: usize>(bytes: &mut &[u8]) -> [u8; BYTES] {
    let (message, rest) = bytes.split_at(BYTES.min(bytes.len()));
    *bytes = rest;
    std::array::from_fn(|at| message.get(at).copied().unwrap_or(0))
}

/// The messages of the handshake: hello, challenge, proof and verdict, one after the other. No
/// input contains a valid hash by chance, so each message is also tried with the right one, and
/// with that of another key.
pub fn hello(mut bytes: &[u8]) {
    let [key, other] = [b"fuzz", b"Fuzz"].map(|secret| ConnectionKey::of_secret(secret));
    let decoded = |message: &[u8; HELLO_BYTES]| {
        let (hello, checked) = Hello::decode(message, |_| Some(&key))?;
        assert!(std::ptr::eq(checked, &key));
        Some(hello)
    };
    let message: [u8; HELLO_BYTES] = next_message(&mut bytes);
    assert_eq!(decoded(&message), None, "a hash by chance");
    let said = Hello::parse(message.first_chunk().expect("a hello is longer than what it says"));
    assert_eq!(decoded(&said.encode(&key)), Some(said));
    assert_eq!(decoded(&said.encode(&other)), None);
    assert_eq!(Hello::decode(&said.encode(&key), |_| None).map(|(hello, _)| hello), None);

    let challenge: [u8; CHALLENGE_BYTES] = next_message(&mut bytes);
    assert_eq!(said.proof(&key, &challenge), None, "a hash by chance");
    let nonce = challenge.first_chunk().expect("a challenge begins with a nonce");
    assert_eq!(said.proof(&key, &said.challenge(&other, nonce)), None);
    let proof = said.proof(&key, &said.challenge(&key, nonce)).expect("it is answered");

    assert!(!said.is_proved(&key, nonce, &next_message(&mut bytes)), "a hash by chance");
    assert!(said.is_proved(&key, nonce, &proof) && !said.is_proved(&other, nonce, &proof));

    let verdict = next_message(&mut bytes);
    assert!(
        hello::read_verdict(&verdict).is_none_or(|accepted| hello::verdict(accepted) == verdict)
    );
}

/// Sizes of the two pulls that wait for data, the second one into an unpacker.
const CONTIGUOUS: usize = 3048;
const UNPACKED: usize = 40;
const TOKENS: [u64; 2] = [70, 80];
/// Bytes around the memory of the first pull that must not change.
const GUARD: usize = 64;

/// An unpacker that is busy every other time, and counts the bytes that it gets.
struct Unpacker {
    taken: Arc<AtomicUsize>,
    busy: bool,
}

// SAFETY: `drain` accesses only its own fields.
unsafe impl Drain for Unpacker {
    unsafe fn drain(&mut self, _from: *const u8, length: usize) -> Step {
        self.busy = !self.busy;
        if self.busy {
            return Step::Pending;
        }
        self.taken.fetch_add(length, Ordering::Relaxed);
        Step::Done(length)
    }

    fn space(&self) -> MemorySpace {
        MemorySpace::Device
    }
}

/// The effects of a stream of frames.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    arrived: Vec<([u64; 2], Vec<u8>)>,
    pulled: Vec<u64>,
    requests: usize,
    /// The stream has ended: by a goodbye (true), or by a malformed frame.
    ended: Option<bool>,
    /// The bytes of the first pull.
    contiguous: Vec<u8>,
    unpacked: usize,
}

impl Seen {
    /// The expected effects, from a simple decoder of one frame after the other.
    fn expected(mut bytes: &[u8]) -> Seen {
        let mut seen = Seen::default();
        let mut over = [false; 2];
        let mut end = |seen: &mut Seen, pull: usize| {
            if !std::mem::replace(&mut over[pull], true) {
                seen.pulled.push(TOKENS[pull]);
            }
        };
        while let Some(frame) = Frame::at_front(bytes) {
            let whole = bytes;
            bytes = &bytes[HEAD_BYTES..];
            match frame {
                Ok(Frame::Message { length, words, .. }) => {
                    let Some(payload) = whole.get(front(u64::from(length))..) else { break };
                    let Some((payload, rest)) = payload.split_at_checked(length as usize) else {
                        break;
                    };
                    seen.arrived.push((words, payload.to_vec()));
                    bytes = rest;
                }
                Ok(Frame::Data { number, offset, length }) => {
                    let (have, all) = if number == 0 {
                        (seen.contiguous.len(), CONTIGUOUS)
                    } else {
                        (seen.unpacked, UNPACKED)
                    };
                    let pull = number as usize;
                    let fits = pull < 2 && offset == have as u64 && length <= (all - have) as u64;
                    if !fits || seen.pulled.contains(&TOKENS[pull]) {
                        seen.ended = Some(false);
                        break;
                    }
                    let Some(data) = whole.get(front(length)..) else { break };
                    let (data, rest) = data.split_at(data.len().min(length as usize));
                    bytes = rest;
                    match pull {
                        0 => seen.contiguous.extend_from_slice(data),
                        _ => seen.unpacked += data.len(),
                    }
                    if have + data.len() == all {
                        end(&mut seen, pull);
                    }
                }
                Ok(Frame::End { number }) if number < 2 => end(&mut seen, number as usize),
                Ok(Frame::End { .. }) => {}
                Ok(Frame::Pull { .. } | Frame::Release { .. }) => seen.requests += 1,
                Ok(Frame::Goodbye) => {
                    seen.ended = Some(true);
                    break;
                }
                Err(_) => {
                    seen.ended = Some(false);
                    break;
                }
            }
        }
        seen
    }
}

impl Sink for Seen {
    fn arrived(&mut self, _from: PeerIndex, header: &Header, payload: *const u8, length: usize) {
        assert!(length <= COPIED_LIMIT);
        // SAFETY: `payload` is readable for `length` bytes during this call.
        self.arrived
            .push((header.words, unsafe { std::slice::from_raw_parts(payload, length) }.to_vec()));
    }
    fn released(&mut self, _token: u64) {}
    fn pulled(&mut self, token: u64) {
        self.pulled.push(token);
    }
    fn lost(&mut self, _peer: PeerIndex) {}
}

/// An authenticated connection that receives arbitrary bytes in arbitrary pieces (each a length
/// byte, then the bytes). The effects must be those of the simple decoder, and nothing may be
/// written outside the memory of a pull.
pub fn input(bytes: &[u8]) {
    let Ok((own, mut peer)) = UnixStream::pair() else { return };
    if own.set_nonblocking(true).and_then(|()| peer.set_nonblocking(true)).is_err() {
        return;
    }
    let (own, mut memory) = (OwnedFd::from(own), [0xa5u8; CONTIGUOUS + 2 * GUARD]);
    let taken = Arc::new(AtomicUsize::new(0));
    let (mut pulls, mut input, mut seen) = (TcpPulls::default(), Input::default(), Seen::default());
    let contiguous = Target::Bytes { pointer: memory[GUARD..].as_mut_ptr(), length: CONTIGUOUS };
    let unpacker = Box::new(Unpacker { taken: taken.clone(), busy: false });
    for (token, target) in
        TOKENS.into_iter().zip([contiguous, Target::Unpacker { drain: unpacker, length: UNPACKED }])
    {
        input.expect(pulls.begin(0, token, target));
    }
    let (mut buffers, mut requests, mut rest) =
        (ReadBuffers::default(), Vec::<PeerRequest>::new(), bytes);
    let mut said = Vec::new();
    'all: while let [length, more @ ..] = rest {
        let (piece, behind) = more.split_at(usize::from(*length).min(more.len()));
        rest = behind;
        said.extend_from_slice(piece);
        if peer.write_all(piece).is_err() {
            break;
        }
        // Two empty reads in a row mean the end: the unpacker is never busy twice in a row.
        let mut nothing = 0;
        while nothing < 2 {
            let from = PeerIndex(1);
            let (pulls, buffers, requests) = (&mut pulls, &mut buffers, &mut requests);
            match input.read(
                &own,
                &mut ReadContext { from, index: 0, pulls, buffers, requests, sink: &mut seen },
            ) {
                ReadOutcome::Nothing => nothing += 1,
                ReadOutcome::Some | ReadOutcome::More => nothing = 0,
                ReadOutcome::Goodbye => {
                    seen.ended = Some(true);
                    break 'all;
                }
                ReadOutcome::Lost(reason) => {
                    assert!(reason.starts_with("it sent "), "{reason}");
                    seen.ended = Some(false);
                    break 'all;
                }
            }
        }
    }
    let guards = memory[..GUARD].iter().chain(&memory[GUARD + CONTIGUOUS..]);
    assert!(guards.copied().all(|byte| byte == 0xa5), "beside the memory of a pull");
    let expected = Seen::expected(&said);
    (seen.requests, seen.unpacked) = (requests.len(), taken.load(Ordering::Relaxed));
    seen.contiguous = memory[GUARD..GUARD + expected.contiguous.len()].to_vec();
    assert_eq!(seen, expected);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::frame::{Frame, front};
    use super::super::hello::{CHALLENGE_BYTES, HELLO_BYTES, PROOF_BYTES, VERDICT_BYTES};

    /// Length of the four messages of the handshake.
    const HANDSHAKE_BYTES: usize = HELLO_BYTES + CHALLENGE_BYTES + PROOF_BYTES + VERDICT_BYTES;

    /// A frame with `length` bytes of payload.
    fn with_payload(frame: Frame, length: usize, byte: u8) -> Vec<u8> {
        let mut bytes = frame.encode().to_vec();
        bytes.resize(front(length as u64), 0);
        bytes.resize(bytes.len() + length, byte);
        bytes
    }

    /// Bytes with many valid frames, cut into arbitrary pieces.
    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let offset = prop_oneof![3 => Just(0), 1 => 0u64..50];
        let lengths = || prop_oneof![3 => 0u64..60, 1 => 1000u64..1100];
        let data = (prop_oneof![2 => Just(0), 1 => 0u32..3], offset, lengths()).prop_map(
            |(number, offset, length)| {
                with_payload(Frame::Data { number, offset, length }, length as usize, 8)
            },
        );
        let message = (lengths(), any::<[u64; 2]>()).prop_map(|(length, words)| {
            with_payload(
                Frame::Message { protocol: 1, length: length as u32, words },
                length as usize,
                9,
            )
        });
        let end = (0u32..3).prop_map(|number| Frame::End { number }.encode().to_vec());
        let pull = any::<(u32, u64, u64)>().prop_map(|(number, name, wanted)| {
            Frame::Pull { number, name, wanted }.encode().to_vec()
        });
        let noise = proptest::collection::vec(any::<u8>(), 0..40);
        let frames = proptest::collection::vec(
            prop_oneof![4 => data, 3 => message, 1 => end, 1 => pull, 1 => noise],
            0..12,
        );
        (frames, 1usize..200).prop_map(|(frames, cut)| {
            frames
                .concat()
                .chunks(cut)
                .flat_map(|piece| std::iter::once(piece.len() as u8).chain(piece.iter().copied()))
                .collect()
        })
    }

    proptest! {
        #[test]
        fn cards(text in "[0-9a-f.:/,;]{0,60}", bytes in any::<Vec<u8>>()) {
            super::card(text.as_bytes());
            super::card(&bytes);
        }

        #[test]
        fn handshakes(bytes in proptest::collection::vec(any::<u8>(), 0..=HANDSHAKE_BYTES)) {
            super::hello(&bytes);
        }

        #[test]
        fn inputs(bytes in stream()) {
            super::input(&bytes);
        }
    }
}
