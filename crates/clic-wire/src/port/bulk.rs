//! Receiving bulk: the kernel writes headers here and bodies straight to where they are expected.
//!
//! One call receives headers and bodies in turn: header, place, header, place, ..., and behind the
//! last place whatever else there is. Places are a guess. A frame whose header has the words that
//! its place was named with, and whose body fits, lies where it belongs. From the first frame on of
//! which that is not true, bodies may lie in each other's places, so that writing one to its place
//! could destroy the next: all of them are moved away first.

use super::Counters;
use super::system::row;
use towpath_clic::frame::HEADER_BYTES;

/// Most bodies that can be expected at a time.
pub const MOST_PLACES: usize = 64;

/// The bytes that a super-frame has at most, headers included.
pub(super) const LONGEST_SUPER: usize = 64 << 10;

/// Where a body is expected.
#[derive(Clone, Copy, Debug)]
struct Place {
    at: *mut u8,
    length: usize,
    words: [u32; 2],
}

/// Where the next bodies are expected, in the order in which they were asked for.
#[derive(Debug)]
pub struct Places {
    places: Vec<Place>,
    bytes: usize,
    most: usize,
    longest: usize,
}

impl Places {
    /// At most `most` places, of `longest` bytes at most.
    fn new(most: usize, longest: usize) -> Places {
        Places { places: Vec::with_capacity(most), bytes: 0, most, longest }
    }

    fn clear(&mut self) {
        self.places.clear();
        self.bytes = 0;
    }

    /// Expects a body of `length` bytes, whose header has these words, at `at`. False when there
    /// are places enough for one call, or no frame is so long.
    ///
    /// # Safety
    /// The place must be writable until [`super::Port::receive_bulk`] has returned or predicts
    /// again, whatever comes: it may contain anything then, unless [`Arrivals::take`] was called
    /// with it.
    #[inline]
    pub unsafe fn expect(&mut self, at: *mut u8, length: usize, words: [u32; 2]) -> bool {
        let bytes = self.bytes + HEADER_BYTES + length;
        if self.places.len() == self.most || length > self.longest || bytes > LONGEST_SUPER {
            return false;
        }
        self.bytes = bytes;
        self.places.push(Place { at, length, words });
        true
    }
}

/// Who is waiting for bulk.
pub trait Arrivals {
    /// Says where the next bodies are expected ([`Places::expect`]); nowhere, where they are to be
    /// copied instead. Places of which earlier calls spoke are not written to any more.
    fn predict(&mut self, places: &mut Places);

    /// A frame came, of whatever kind, from whomever: nothing of it has been checked. `body` is
    /// readable for `length` bytes during the call: no more than the header says, fewer when the
    /// frame was cut off. It is the predicted place if the frame is the one that was predicted,
    /// else memory that is in nobody's way.
    fn take(&mut self, header: &[u8; HEADER_BYTES], body: *const u8, length: usize);
}

/// How long the body is that a header speaks of, if `received` bytes came behind it.
fn body_length(header: &[u8; HEADER_BYTES], received: usize) -> usize {
    received.min(usize::from(u16::from_le_bytes([header[14], header[15]])))
}

/// Whether a frame, of which `received` bytes came behind the header, lies where it belongs.
fn is_expected(place: &Place, header: &[u8; HEADER_BYTES], received: usize) -> bool {
    let [one, other] = place.words.map(u32::to_le_bytes);
    header[24..28] == one && header[28..32] == other && body_length(header, received) <= place.length
}

/// Receives super-frames: one call for all the datagrams that a super-frame consists of.
#[derive(Debug)]
pub(super) struct Scatter {
    headers: Vec<[u8; HEADER_BYTES]>,
    places: Places,
    rows: Vec<libc::iovec>,
    /// First room for what must be moved away, then for what comes behind the last place: together
    /// a row without a gap.
    buffer: Vec<u8>,
}

// SAFETY: pointers are kept from one call to the next only as worn-out room.
unsafe impl Send for Scatter {}

impl Scatter {
    pub(super) fn new() -> Scatter {
        Scatter {
            headers: vec![[0; HEADER_BYTES]; MOST_PLACES],
            places: Places::new(MOST_PLACES, LONGEST_SUPER),
            rows: Vec::with_capacity(2 * MOST_PLACES + 1),
            buffer: vec![0; 2 * LONGEST_SUPER],
        }
    }

    /// Asks where the next bodies are expected: the rows to receive into.
    pub(super) fn prepare(&mut self, arrivals: &mut impl Arrivals) -> &mut [libc::iovec] {
        self.places.clear();
        arrivals.predict(&mut self.places);
        self.rows.clear();
        for (place, header) in self.places.places.iter().zip(&mut self.headers) {
            self.rows.extend([row(header.as_mut_ptr(), HEADER_BYTES), row(place.at, place.length)]);
        }
        self.rows.push(row(self.buffer[LONGEST_SUPER..].as_mut_ptr(), LONGEST_SUPER));
        &mut self.rows
    }

    /// Hands out what was received: `total` bytes in frames of `segment` bytes, but for the last; 0
    /// if it is one frame.
    pub(super) fn hand_out(
        &mut self,
        total: usize,
        segment: usize,
        counters: &mut Counters,
        arrivals: &mut impl Arrivals,
    ) {
        let segment = if segment == 0 { total } else { segment };
        let (right, from) = self.right(total, segment);
        self.move_away(from, total);
        for (index, (place, header)) in self.places.places[..right].iter().zip(&self.headers).enumerate() {
            let received = segment.min(total - index * segment) - HEADER_BYTES;
            arrivals.take(header, place.at, body_length(header, received));
        }
        let start = LONGEST_SUPER + from - self.places.bytes;
        let mut moved = &self.buffer[start..][..total - from];
        while !moved.is_empty() {
            let (frame, rest) = moved.split_at(segment.min(moved.len()));
            match frame.split_first_chunk::<HEADER_BYTES>() {
                Some((header, body)) => arrivals.take(header, body.as_ptr(), body_length(header, body.len())),
                None => counters.truncated += 1,
            }
            moved = rest;
        }
    }

    /// How many frames lie where they belong, and how many bytes they have.
    fn right(&self, total: usize, segment: usize) -> (usize, usize) {
        let (mut from, mut row_from) = (0, 0);
        for (index, (place, header)) in self.places.places.iter().zip(&self.headers).enumerate() {
            let length = segment.min(total - from);
            if from != row_from || length < HEADER_BYTES || !is_expected(place, header, length - HEADER_BYTES) {
                return (index, from);
            }
            from += length;
            row_from += HEADER_BYTES + place.length;
        }
        (self.places.places.len(), from)
    }

    /// Moves the received bytes from `from` on that lie in places in front of those that lie behind
    /// all places.
    fn move_away(&mut self, from: usize, total: usize) {
        let start = LONGEST_SUPER + from - self.places.bytes;
        let mut at = 0;
        for row in self.rows.iter().take(2 * self.places.places.len()) {
            let end = (at + row.iov_len).min(total);
            let skipped = from.max(at);
            if skipped < end {
                let into = &mut self.buffer[start + (skipped - from)..][..end - skipped];
                // SAFETY: the kernel has just written these bytes of the row; headers and places
                // are apart from the buffer.
                unsafe {
                    let first = row.iov_base.cast::<u8>().add(skipped - at);
                    std::ptr::copy_nonoverlapping(first, into.as_mut_ptr(), into.len());
                }
            }
            at += row.iov_len;
        }
    }
}

/// Receives frames: one call for several packets.
#[derive(Debug)]
pub(super) struct Batch {
    headers: Vec<[u8; HEADER_BYTES]>,
    places: Places,
    rows: Vec<[libc::iovec; 3]>,
    messages: Vec<libc::mmsghdr>,
    /// For each packet, room for what must be moved away and for what does not fit into its place.
    buffer: Vec<u8>,
    longest: usize,
}

// SAFETY: pointers are kept from one call to the next only as worn-out room.
unsafe impl Send for Batch {}

/// Packets of a batch.
const BATCH: usize = 32;

impl Batch {
    /// For packets of `longest` bytes at most.
    pub(super) fn new(longest: usize) -> Batch {
        // SAFETY: a message header of zeros is empty.
        let empty: libc::mmsghdr = unsafe { std::mem::zeroed() };
        Batch {
            headers: vec![[0; HEADER_BYTES]; BATCH],
            places: Places::new(BATCH, longest),
            rows: vec![[row(std::ptr::null(), 0); 3]; BATCH],
            messages: vec![empty; BATCH],
            buffer: vec![0; 2 * longest * BATCH],
            longest,
        }
    }

    /// Asks where the next bodies are expected: the messages to receive, at most so many.
    pub(super) fn prepare(&mut self, most: usize, arrivals: &mut impl Arrivals) -> &mut [libc::mmsghdr] {
        self.places.clear();
        arrivals.predict(&mut self.places);
        let most = most.min(BATCH);
        let rooms = self.buffer.chunks_exact_mut(2 * self.longest);
        for (index, ((rows, header), room)) in
            self.rows.iter_mut().zip(&mut self.headers).zip(rooms).take(most).enumerate()
        {
            let place = self.places.places.get(index);
            let place = place.map_or(row(std::ptr::null(), 0), |place| row(place.at, place.length));
            *rows =
                [row(header.as_mut_ptr(), HEADER_BYTES), place, row(room[self.longest..].as_mut_ptr(), self.longest)];
            let message = &mut self.messages[index].msg_hdr;
            message.msg_iov = rows.as_mut_ptr();
            message.msg_iovlen = rows.len() as _;
        }
        &mut self.messages[..most]
    }

    /// Hands out what was received.
    pub(super) fn hand_out(&mut self, count: usize, counters: &mut Counters, arrivals: &mut impl Arrivals) {
        let right = (0..count).find(|index| !self.is_right(*index)).unwrap_or(count);
        for index in right..count {
            self.move_away(index);
        }
        for index in 0..count {
            let (received, header) = (self.messages[index].msg_len as usize, &self.headers[index]);
            let is_whole = self.messages[index].msg_hdr.msg_flags & libc::MSG_TRUNC == 0;
            let Some(received) = received.checked_sub(HEADER_BYTES).filter(|_| is_whole) else {
                counters.truncated += 1;
                continue;
            };
            let [_, place, room] = &self.rows[index];
            let body = if index < right { place.iov_base } else { room.iov_base };
            arrivals.take(header, body.cast(), body_length(header, received));
        }
    }

    fn is_right(&self, index: usize) -> bool {
        let received = (self.messages[index].msg_len as usize).checked_sub(HEADER_BYTES);
        let place = self.places.places.get(index);
        place.zip(received).is_some_and(|(place, received)| is_expected(place, &self.headers[index], received))
    }

    /// Moves the part of a body that lies in its place in front of the part that does not.
    fn move_away(&mut self, index: usize) {
        let received = (self.messages[index].msg_len as usize).saturating_sub(HEADER_BYTES);
        let [_, place, room] = &mut self.rows[index];
        let moved = place.iov_len.min(received);
        // SAFETY: in front of this room is as much again as the longest place, and the kernel has
        // written so many bytes to this one.
        unsafe {
            let start = room.iov_base.cast::<u8>().sub(moved);
            std::ptr::copy_nonoverlapping(place.iov_base.cast::<u8>(), start, moved);
            room.iov_base = start.cast();
        }
    }
}
