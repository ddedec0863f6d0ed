//! Test frames with a number and a body derived from it.

use std::time::{Duration, Instant};

use towpath_clic::frame::{FrameHeader, HeaderBytes, Kind};
use towpath_clic::key::FrameKey;
use towpath_clic_wire::port::{Arrivals, OutgoingFrame, Places, Port, Way};

const KEY: FrameKey = FrameKey([5, 6]);
const WATCHDOG: Duration = Duration::from_secs(20);

/// Repeats `call` until it returns true.
pub(crate) fn until(what: &str, mut call: impl FnMut() -> bool) {
    let start = Instant::now();
    while !call() {
        assert!(start.elapsed() < WATCHDOG, "waited in vain: {what}");
    }
}

/// A seeded generator (xorshift).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number below the limit.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}

/// The body of a frame.
pub(crate) fn body(number: u32, length: usize) -> Vec<u8> {
    (0..length as u32)
        .map(|index| (index.wrapping_mul(31) ^ (index >> 8) ^ number.wrapping_mul(7)) as u8)
        .collect()
}

/// The header of a frame.
pub(crate) fn frame(endpoint: u16, kind: Kind, number: u32, length: usize) -> HeaderBytes {
    let header = FrameHeader {
        sequence: number,
        source: 1,
        endpoint,
        length: length as u16,
        kind,
        rail: 0,
        flags: 0,
        session: 9,
        acknowledged: 0,
        words: [77, number],
    };
    header.encode(&KEY, &[])
}

/// What has arrived.
#[derive(Clone, Default)]
pub(crate) struct Inbox {
    small: Vec<u32>,
}

impl Inbox {
    /// Records a small frame after checking its body.
    pub(crate) fn take_small(&mut self, bytes: &[u8]) {
        let (header, rest) = FrameHeader::decode(&KEY, bytes).unwrap();
        assert_eq!(rest, body(header.sequence, rest.len()));
        self.small.push(header.sequence);
    }

    /// Records a small frame without checking its body.
    pub(crate) fn note(&mut self, bytes: &[u8]) {
        let (header, _) = FrameHeader::decode(&KEY, bytes).unwrap();
        self.small.push(header.sequence);
    }

    /// The numbers of the small frames.
    pub(crate) fn numbers(&self) -> Vec<u32> {
        self.small.clone()
    }

    /// Those of `numbers` that have arrived, in order of arrival.
    pub(crate) fn among(&self, numbers: &[u32]) -> Vec<u32> {
        self.small.iter().copied().filter(|number| numbers.contains(number)).collect()
    }

    /// Sends frames of these lengths as a train, and receives each as a small frame.
    pub(crate) fn train(
        &mut self,
        sender: &mut Port,
        receiver: &mut Port,
        way: &Way,
        lengths: &[usize],
    ) {
        let bodies: Vec<Vec<u8>> =
            (0..).zip(lengths).map(|(number, length)| body(number, *length)).collect();
        let frames = (0..).zip(&bodies).map(|(number, body)| OutgoingFrame {
            header: frame(receiver.endpoint(), Kind::Eager, number, body.len()),
            body: body.as_ptr(),
            length: body.len(),
        });
        let (frames, mut sent) = (frames.collect::<Vec<OutgoingFrame>>(), 0);
        self.small.clear();
        until("a train arrives", || {
            if sent < frames.len() {
                // SAFETY: `bodies` outlives the call.
                sent += unsafe { sender.output().send_train(way, &frames[sent..]) };
            }
            receiver.receive(64, &mut |frame| self.take_small(frame));
            self.small.len() >= frames.len()
        });
        self.small.sort_unstable();
        assert_eq!(self.small, (0..lengths.len() as u32).collect::<Vec<u32>>());
    }

    /// Sends a block of frames of `length` bytes, the last one of `last`, and receives it at
    /// predicted destinations.
    pub(crate) fn bulk(
        &mut self,
        sender: &mut Port,
        receiver: &mut Port,
        way: &Way,
        count: usize,
        length: usize,
        last: usize,
    ) {
        let bodies: Vec<Vec<u8>> = (0..count)
            .map(|index| body(index as u32, if index + 1 == count { last } else { length }))
            .collect();
        let frames = bodies.iter().enumerate().map(|(index, body)| OutgoingFrame {
            header: frame(receiver.endpoint(), Kind::Data, index as u32, body.len()),
            body: body.as_ptr(),
            length: body.len(),
        });
        let frames: Vec<OutgoingFrame> = frames.collect();
        let mut block = Block::new(bodies.iter().map(Vec::len).collect(), length);
        let mut sent = 0;
        until("a block arrives", || {
            if sent < count {
                // SAFETY: `bodies` outlives the call.
                sent += unsafe { sender.output().send_bulk(way, &frames[sent..]) };
            }
            receiver.receive_bulk(1, &mut block);
            block.missing.is_empty()
        });
        assert!(block.is_whole(), "wrong bytes");
    }
}

/// A block being received: body `index` belongs at `index * length`.
pub(crate) struct Block {
    lengths: Vec<usize>,
    length: usize,
    memory: Vec<u8>,
    pub(crate) missing: Vec<u32>,
    /// Number of bodies that arrived in place, that had to be copied, and that were duplicates.
    pub(crate) in_place: usize,
    pub(crate) moved: usize,
    pub(crate) again: usize,
    /// Frames that are not inspected.
    pub(crate) strange: usize,
    /// How wrong the predictions are: 0 correct, 1 wrong order, 2 wrong lengths, 3 no predictions.
    pub(crate) astray: usize,
    pub(crate) random: Random,
}

impl Block {
    pub(crate) fn new(lengths: Vec<usize>, length: usize) -> Block {
        let missing = (0..lengths.len() as u32).collect();
        let memory = vec![0; lengths.len() * length];
        let (in_place, moved, again, strange, astray) = (0, 0, 0, 0, 0);
        Block {
            memory,
            lengths,
            length,
            missing,
            in_place,
            moved,
            again,
            strange,
            astray,
            random: Random(1),
        }
    }

    /// Accepts any frame without inspecting it.
    pub(crate) fn careless() -> Block {
        Block::new(Vec::new(), 0)
    }

    /// True if every body is where it belongs.
    pub(crate) fn is_whole(&self) -> bool {
        let right = |(index, length): (usize, &usize)| {
            self.memory[index * self.length..][..*length] == body(index as u32, *length)[..]
        };
        self.missing.is_empty() && self.lengths.iter().enumerate().all(right)
    }

    fn place(&mut self, index: u32) -> *mut u8 {
        self.memory[index as usize * self.length..].as_mut_ptr()
    }
}

impl Arrivals for Block {
    fn predict(&mut self, places: &mut Places) {
        let mut guesses = self.missing.clone();
        if self.astray == 1 {
            for _ in 0..3 {
                let [one, other] =
                    [(); 2].map(|()| self.random.below(guesses.len().max(1) as u64) as usize);
                if one < guesses.len() {
                    guesses.swap(one, other);
                }
            }
        }
        for index in guesses {
            let (place, mut length) = (self.place(index), self.lengths[index as usize]);
            if self.astray == 2 && self.random.below(8) == 0 {
                length = self.random.below(length as u64 + 1) as usize;
            }
            // SAFETY: `place` has room for `length` bytes in `memory`, which outlives the
            // reception, and `self` holds the only reference to it.
            if self.astray == 3 || !unsafe { places.expect(place, length, [77, index]) } {
                break;
            }
        }
    }

    fn take(&mut self, header: &HeaderBytes, bytes: *const u8, length: usize) {
        if self.lengths.is_empty() {
            self.strange += 1;
            return;
        }
        let (header, _) =
            FrameHeader::decode(&KEY, &[&header[..], &vec![0; length]].concat()).unwrap();
        let index = header.words[1];
        assert_eq!(length, self.lengths[index as usize]);
        // SAFETY: `bytes` is readable for `length` bytes during this call (contract of
        // `Arrivals::take`).
        let came = unsafe { std::slice::from_raw_parts(bytes, length) };
        assert!(came == body(index, length), "body {index} is not what was sent");
        let place = self.place(index);
        let Some(at) = self.missing.iter().position(|missing| *missing == index) else {
            self.again += 1;
            return;
        };
        self.missing.remove(at);
        if place.cast_const() == bytes {
            self.in_place += 1;
        } else {
            self.moved += 1;
            // SAFETY: `bytes` is readable for `length` bytes (contract of `Arrivals::take`), and
            // `place` has room for a body of that length.
            unsafe { std::ptr::copy(bytes, place, length) };
        }
    }
}
