//! The decoders of TCP, each fed with any bytes: for `make fuzz`, and in short runs as tests of this crate. What a decoder
//! must keep to is asserted here.

use std::cell::Cell;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::rc::Rc;

use towpath_base::ids::PeerIndex;
use towpath_base::transfer::{Drain, Step, Target};

use super::hello::{self, CHALLENGE_BYTES, HELLO_BYTES, Hello};
use super::input::{Buffers, Desk, Input, Read};
use super::transfers::Pulls;
use super::{COPIED_LIMIT, Card, Key, Network, Request};
use crate::{Header, Sink};

/// The text of a card: what is one means the same when it is written again.
pub fn card(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Some(card) = Card::parse(&text) else { return };
    assert_eq!(Card::parse(&card.to_text()).as_ref(), Some(&card));
    let own = [Network { address: [10, 0, 0, 1].into(), prefix: 8 }];
    for rank in [0, 1, usize::MAX] {
        assert!(card.places(rank, &own).len() <= card.networks.len());
    }
}

/// The messages with which a connection opens. Nobody finds a right hash by chance, so each comes with it as well.
pub fn hello(bytes: &[u8]) {
    let key = Key::of_secret(b"fuzz");
    let mut message = [0; HELLO_BYTES];
    message.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    assert_eq!(Hello::decode(&message, &key), None, "a hash by chance");
    let number = |at: usize| u32::from_le_bytes([message[at], message[at + 1], message[at + 2], message[at + 3]]);
    let mut nonce = [0; 16];
    nonce.copy_from_slice(&message[16..32]);
    let said = Hello { from: number(8), to: number(12), nonce };
    assert_eq!(Hello::decode(&said.encode(&key), &key), Some(said));
    let mut challenge = [0; CHALLENGE_BYTES];
    challenge.copy_from_slice(&message[16..]);
    assert_eq!(said.proof(&key, &challenge), None, "a hash by chance");
    assert!(said.proof(&key, &said.challenge(&key, &nonce)).is_some());
    let verdict = [0, 1, 2, 3, 4, 5, 6, 7].map(|at| message[at]);
    assert!(hello::read_verdict(&verdict).is_none_or(|accepted| hello::verdict(accepted) == verdict));
}

/// Sizes of the two pulls that wait for their data, the second into an unpacker.
const ROW: usize = 48;
const UNPACKED: usize = 40;
/// Bytes of memory around the first that must stay as they are.
const GUARD: usize = 64;

/// An unpacker that is busy every other time, and counts what it has been given.
struct Unpacker {
    taken: Rc<Cell<usize>>,
    busy: bool,
}

// SAFETY: touches no memory but its own.
unsafe impl Drain for Unpacker {
    unsafe fn drain(&mut self, _from: *const u8, length: usize) -> Step {
        self.busy = !self.busy;
        if self.busy {
            return Step::Pending;
        }
        self.taken.set(self.taken.get() + length);
        Step::Done(length)
    }
}

#[derive(Default)]
struct Seen {
    pulled: Vec<u64>,
}

impl Sink for Seen {
    fn arrived(&mut self, _from: PeerIndex, _header: &Header, payload: *const u8, length: usize) {
        assert!(length <= COPIED_LIMIT);
        // SAFETY: so many bytes are lent for this call.
        let payload = unsafe { std::slice::from_raw_parts(payload, length) };
        std::hint::black_box(payload.iter().fold(0u8, |all, byte| all ^ byte));
    }
    fn released(&mut self, _token: u64) {}
    fn pulled(&mut self, token: u64) {
        assert!(!self.pulled.contains(&token), "a pull is complete once");
        self.pulled.push(token);
    }
    fn lost(&mut self, _peer: PeerIndex) {}
}

/// A whole connection after its proof, told anything in any pieces (a byte of length, the bytes): it must not panic, not
/// write beside the memory of a pull, and end at the first thing that makes no sense.
pub fn input(bytes: &[u8]) {
    let Ok((own, mut peer)) = UnixStream::pair() else { return };
    if own.set_nonblocking(true).and_then(|()| peer.set_nonblocking(true)).is_err() {
        return;
    }
    let (own, mut memory) = (OwnedFd::from(own), [0xa5u8; ROW + 2 * GUARD]);
    let taken = Rc::new(Cell::new(0));
    let (mut pulls, mut input, mut seen) = (Pulls::default(), Input::default(), Seen::default());
    let row = Target::Bytes { pointer: memory[GUARD..].as_mut_ptr(), length: ROW };
    let unpacker = Box::new(Unpacker { taken: taken.clone(), busy: false });
    for (token, target) in [(70, row), (80, Target::Unpacker { drain: unpacker, length: UNPACKED })] {
        input.expect(pulls.begin(0, token, target));
    }
    let (mut buffers, mut requests, mut rest) = (Buffers::default(), Vec::<Request>::new(), bytes);
    'all: while let [length, more @ ..] = rest {
        let (piece, behind) = more.split_at(usize::from(*length).min(more.len()));
        rest = behind;
        if peer.write_all(piece).is_err() {
            break;
        }
        // Twice nothing: the unpacker is busy at most once in a row.
        let mut nothing = 0;
        while nothing < 2 {
            let from = PeerIndex(1);
            let (pulls, buffers, requests) = (&mut pulls, &mut buffers, &mut requests);
            match input.read(&own, &mut Desk { from, place: 0, pulls, buffers, requests, sink: &mut seen }) {
                Read::Nothing => nothing += 1,
                Read::Some | Read::More => nothing = 0,
                Read::Goodbye => break 'all,
                Read::Lost(reason) => {
                    assert!(reason.starts_with("it sent "), "{reason}");
                    break 'all;
                }
            }
        }
    }
    let guards = memory[..GUARD].iter().chain(&memory[GUARD + ROW..]);
    assert!(guards.copied().all(|byte| byte == 0xa5), "beside the memory of a pull");
    assert!(taken.get() <= UNPACKED);
    assert!(requests.len() * super::frame::HEAD_BYTES <= bytes.len());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::frame::Frame;

    /// Bytes in which frames are common, cut in any way.
    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let data = (0u32..3, 0u64..50, 0u64..60).prop_map(|(number, offset, length)| {
            let mut bytes = Frame::Data { number, offset, length }.encode().to_vec();
            bytes.resize(bytes.len() + length as usize, 8);
            bytes
        });
        let message = (0u32..300, any::<[u64; 2]>()).prop_map(|(length, words)| {
            let mut bytes = Frame::Message { protocol: 1, length, words }.encode().to_vec();
            bytes.resize(bytes.len() + length as usize, 9);
            bytes
        });
        let end = (0u32..3).prop_map(|number| Frame::End { number }.encode().to_vec());
        let pull = any::<(u32, u64, u64)>()
            .prop_map(|(number, name, wanted)| Frame::Pull { number, name, wanted }.encode().to_vec());
        let noise = proptest::collection::vec(any::<u8>(), 0..40);
        let frames =
            proptest::collection::vec(prop_oneof![4 => data, 3 => message, 1 => end, 1 => pull, 1 => noise], 0..12);
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
        fn hellos(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            super::hello(&bytes);
        }

        #[test]
        fn inputs(bytes in stream()) {
            super::input(&bytes);
        }
    }
}
