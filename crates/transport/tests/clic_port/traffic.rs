//! Frames with a number and a body that follows from it.

use std::time::{Duration, Instant};

use towpath_transport::clic::frame::{HEADER_BYTES, Header, Kind};
use towpath_transport::clic::key::JobKey;
use towpath_transport::clic::port::{Arrivals, Frame, Places, Port, Way};

const KEY: JobKey = JobKey([5, 6]);
const WATCHDOG: Duration = Duration::from_secs(20);

/// Calls until it is so.
pub(crate) fn until(what: &str, mut call: impl FnMut() -> bool) {
    let start = Instant::now();
    while !call() {
        assert!(start.elapsed() < WATCHDOG, "waited in vain: {what}");
    }
}

/// The body of a frame.
pub(crate) fn body(number: u32, length: usize) -> Vec<u8> {
    (0..length as u32).map(|index| (index.wrapping_mul(31) ^ (index >> 8) ^ number.wrapping_mul(7)) as u8).collect()
}

/// The header of a frame.
pub(crate) fn frame(endpoint: u16, kind: Kind, number: u32, length: usize) -> [u8; HEADER_BYTES] {
    let header = Header {
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

/// What arrived.
#[derive(Clone, Default)]
pub(crate) struct Inbox {
    small: Vec<u32>,
}

impl Inbox {
    /// A small frame came.
    pub(crate) fn take_small(&mut self, bytes: &[u8]) {
        let (header, rest) = Header::decode(&KEY, bytes).unwrap();
        assert_eq!(rest, body(header.sequence, rest.len()));
        self.small.push(header.sequence);
    }

    /// The numbers of the small frames.
    pub(crate) fn numbers(&self) -> Vec<u32> {
        self.small.clone()
    }

    /// Those of the numbers that came, in their order.
    pub(crate) fn among(&self, numbers: &[u32]) -> Vec<u32> {
        self.small.iter().copied().filter(|number| numbers.contains(number)).collect()
    }

    /// Sends a block of frames of `length` bytes, the last one of `last`, and receives it where it is expected.
    pub(crate) fn bulk(
        &mut self,
        sender: &mut Port,
        receiver: &mut Port,
        way: &Way,
        count: usize,
        length: usize,
        last: usize,
    ) {
        let bodies: Vec<Vec<u8>> =
            (0..count).map(|index| body(index as u32, if index + 1 == count { last } else { length })).collect();
        let frames = bodies.iter().enumerate().map(|(index, body)| Frame {
            header: frame(receiver.endpoint(), Kind::Data, index as u32, body.len()),
            body: body.as_ptr(),
            length: body.len(),
        });
        let frames: Vec<Frame> = frames.collect();
        let mut block = Block::new(bodies.iter().map(Vec::len).collect(), length);
        let mut sent = 0;
        until("a block arrives", || {
            if sent < count {
                // SAFETY: the bodies live.
                sent += unsafe { sender.send_bulk(way, &frames[sent..]) };
            }
            receiver.receive_bulk(1, &mut block);
            block.missing.is_empty()
        });
        let wanted: Vec<u8> = bodies.concat();
        assert!(block.memory[..wanted.len()] == wanted[..], "wrong bytes");
    }
}

/// A block that is received: bodies of `length` bytes one behind the other.
pub(crate) struct Block {
    pub(crate) lengths: Vec<usize>,
    length: usize,
    pub(crate) memory: Vec<u8>,
    pub(crate) missing: Vec<u32>,
    pub(crate) in_place: usize,
}

impl Block {
    pub(crate) fn new(lengths: Vec<usize>, length: usize) -> Block {
        let missing = (0..lengths.len() as u32).collect();
        Block { memory: vec![0; lengths.len() * length], lengths, length, missing, in_place: 0 }
    }

    fn place(&mut self, index: u32) -> *mut u8 {
        self.memory[index as usize * self.length..].as_mut_ptr()
    }
}

impl Arrivals for Block {
    fn predict(&mut self, places: &mut Places) {
        for index in self.missing.clone() {
            let (place, length) = (self.place(index), self.lengths[index as usize]);
            // SAFETY: the memory lives, and nobody else looks at what is missing.
            if !unsafe { places.expect(place, length, [77, index]) } {
                break;
            }
        }
    }

    fn take(&mut self, header: &[u8; HEADER_BYTES], body: *const u8, length: usize) {
        let (header, _) = Header::decode(&KEY, &[&header[..], &vec![0; length]].concat()).unwrap();
        let index = header.words[1];
        let at = self.missing.iter().position(|missing| *missing == index).unwrap();
        self.missing.remove(at);
        assert_eq!(length, self.lengths[index as usize]);
        let place = self.place(index);
        if place.cast_const() == body {
            self.in_place += 1;
        } else {
            // SAFETY: the body is lent, and the place is ours.
            unsafe { std::ptr::copy(body, place, length) };
        }
    }
}
