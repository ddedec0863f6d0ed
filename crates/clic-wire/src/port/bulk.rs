//! Scattered reception of bulk: the kernel writes headers to a local buffer and bodies directly to
//! their expected destinations.
//!
//! One call receives headers and bodies alternately: header, destination, header, destination, ...,
//! and after the last destination any remaining bytes. Destinations are a prediction. A frame was
//! predicted if its header contains the words that its destination was registered with, and its
//! body fits. From the first frame on for which that is not true, bodies may be at wrong
//! destinations, and moving one to its own destination could overwrite the next. So all of those
//! are first copied to a buffer.

use super::Counters;
use super::system::iovec;
use towpath_clic::frame::{HEADER_BYTES, HeaderBytes};

/// Maximum number of bodies that can be expected at a time.
pub const MOST_PLACES: usize = 64;

/// Maximum length of a super-frame in bytes, headers included.
pub(super) const LONGEST_SUPER: usize = 64 << 10;

/// The destination of an expected body.
#[derive(Clone, Copy, Debug)]
struct ExpectedBody {
    at: *mut u8,
    length: usize,
    words: [u32; 2],
}

/// The destinations of the next bodies, in the order of the requests.
#[derive(Debug)]
pub struct Places {
    places: Vec<ExpectedBody>,
    bytes: usize,
    most: usize,
    longest: usize,
}

impl Places {
    /// At most `most` destinations, of at most `longest` bytes each.
    fn new(most: usize, longest: usize) -> Places {
        Places { places: Vec::with_capacity(most), bytes: 0, most, longest }
    }

    fn clear(&mut self) {
        self.places.clear();
        self.bytes = 0;
    }

    /// Registers `at` as the destination of a body of `length` bytes whose header has these words.
    /// Returns false if there are enough destinations for one call, or no frame can be this long.
    ///
    /// # Safety
    /// `at` must stay writable for `length` bytes until [`super::Port::receive_bulk`] returns or
    /// calls [`Arrivals::predict`] again, and no reference to this memory may be used meanwhile.
    /// Afterwards its contents are unspecified, unless [`Arrivals::take`] was called with it.
    #[inline]
    pub unsafe fn expect(&mut self, at: *mut u8, length: usize, words: [u32; 2]) -> bool {
        let bytes = self.bytes + HEADER_BYTES + length;
        if self.places.len() == self.most || length > self.longest || bytes > LONGEST_SUPER {
            return false;
        }
        self.bytes = bytes;
        self.places.push(ExpectedBody { at, length, words });
        true
    }
}

/// The consumer of bulk.
pub trait Arrivals {
    /// Registers the destinations of the next bodies ([`Places::expect`]). A body without a
    /// destination is delivered in a buffer, to be copied. Destinations of earlier calls are no
    /// longer written to.
    fn predict(&mut self, places: &mut Places);

    /// Consumes a frame of any kind and sender; it has not been validated. `body` is readable for
    /// `length` bytes during the call: at most as many as the header declares, fewer if the frame
    /// was truncated. It is the registered destination if the frame was predicted; otherwise it is
    /// separate memory.
    fn take(&mut self, header: &HeaderBytes, body: *const u8, length: usize);
}

/// The length of the body that a header declares, limited to the `received` bytes that follow it.
fn body_length(header: &HeaderBytes, received: usize) -> usize {
    received.min(usize::from(u16::from_le_bytes([header[14], header[15]])))
}

/// True if a frame with `received` bytes after the header is the one that belongs at `place`.
fn is_expected(place: &ExpectedBody, header: &HeaderBytes, received: usize) -> bool {
    let [one, other] = place.words.map(u32::to_le_bytes);
    header[24..28] == one
        && header[28..32] == other
        && body_length(header, received) <= place.length
}

/// Receives super-frames: one call for all datagrams of a super-frame.
#[derive(Debug)]
pub(super) struct ScatterReceiver {
    headers: Vec<HeaderBytes>,
    places: Places,
    iovecs: Vec<libc::iovec>,
    /// First room for bodies that are moved, then for bytes after the last destination. Both
    /// together are contiguous.
    buffer: Vec<u8>,
}

// SAFETY: the raw pointers in `places` and `iovecs` are used only from `prepare` to the end of the
// matching `hand_out`; between receptions they are stale and never dereferenced.
unsafe impl Send for ScatterReceiver {}

impl ScatterReceiver {
    pub(super) fn new() -> ScatterReceiver {
        ScatterReceiver {
            headers: vec![[0; HEADER_BYTES]; MOST_PLACES],
            places: Places::new(MOST_PLACES, LONGEST_SUPER),
            iovecs: Vec::with_capacity(2 * MOST_PLACES + 1),
            buffer: vec![0; 2 * LONGEST_SUPER],
        }
    }

    /// Collects the destinations of the next bodies; returns the buffers to receive into.
    pub(super) fn prepare(&mut self, arrivals: &mut impl Arrivals) -> &mut [libc::iovec] {
        self.places.clear();
        arrivals.predict(&mut self.places);
        self.iovecs.clear();
        for (place, header) in self.places.places.iter().zip(&mut self.headers) {
            self.iovecs
                .extend([iovec(header.as_mut_ptr(), HEADER_BYTES), iovec(place.at, place.length)]);
        }
        self.iovecs.push(iovec(self.buffer[LONGEST_SUPER..].as_mut_ptr(), LONGEST_SUPER));
        &mut self.iovecs
    }

    /// Delivers what was received: `total` bytes in frames of `segment` bytes each, the last one
    /// possibly shorter; 0 if it is a single frame.
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
        for (index, (place, header)) in
            self.places.places[..right].iter().zip(&self.headers).enumerate()
        {
            let received = segment.min(total - index * segment) - HEADER_BYTES;
            arrivals.take(header, place.at, body_length(header, received));
        }
        let start = LONGEST_SUPER + from - self.places.bytes;
        let mut moved = &self.buffer[start..][..total - from];
        while !moved.is_empty() {
            let (frame, rest) = moved.split_at(segment.min(moved.len()));
            match frame.split_first_chunk::<HEADER_BYTES>() {
                Some((header, body)) => {
                    arrivals.take(header, body.as_ptr(), body_length(header, body.len()))
                }
                None => counters.truncated += 1,
            }
            moved = rest;
        }
    }

    /// The number of frames that were predicted, and the sum of their lengths.
    fn right(&self, total: usize, segment: usize) -> (usize, usize) {
        let (mut from, mut predicted) = (0, 0);
        for (index, (place, header)) in self.places.places.iter().zip(&self.headers).enumerate() {
            let length = segment.min(total - from);
            if from != predicted
                || length < HEADER_BYTES
                || !is_expected(place, header, length - HEADER_BYTES)
            {
                return (index, from);
            }
            from += length;
            predicted += HEADER_BYTES + place.length;
        }
        (self.places.places.len(), from)
    }

    /// Copies the received bytes from `from` on that are in headers and destinations to the buffer,
    /// directly before those that arrived after all destinations.
    fn move_away(&mut self, from: usize, total: usize) {
        let start = LONGEST_SUPER + from - self.places.bytes;
        let mut at = 0;
        for vector in self.iovecs.iter().take(2 * self.places.places.len()) {
            let end = (at + vector.iov_len).min(total);
            let skipped = from.max(at);
            if skipped < end {
                let into = &mut self.buffer[start + (skipped - from)..][..end - skipped];
                // SAFETY: the kernel has written these bytes of `vector`. `into` is in `buffer`,
                // which overlaps neither headers nor destinations.
                unsafe {
                    let first = vector.iov_base.cast::<u8>().add(skipped - at);
                    std::ptr::copy_nonoverlapping(first, into.as_mut_ptr(), into.len());
                }
            }
            at += vector.iov_len;
        }
    }
}

/// Receives raw frames: one call for several packets.
#[derive(Debug)]
pub(super) struct Batch {
    headers: Vec<HeaderBytes>,
    places: Places,
    iovecs: Vec<[libc::iovec; 3]>,
    messages: Vec<libc::mmsghdr>,
    /// For each packet, room for a body that is moved and for bytes that do not fit into its
    /// destination.
    buffer: Vec<u8>,
    longest: usize,
}

// SAFETY: the raw pointers in `places`, `iovecs` and `messages` are used only from `prepare` to the
// end of the matching `hand_out`; between receptions they are stale and never dereferenced.
unsafe impl Send for Batch {}

/// Maximum number of packets per call.
const BATCH: usize = 32;

impl Batch {
    /// Creates a receiver for packets of at most `longest` bytes.
    pub(super) fn new(longest: usize) -> Batch {
        // SAFETY: an all-zero `mmsghdr` is valid.
        let empty: libc::mmsghdr = unsafe { std::mem::zeroed() };
        Batch {
            headers: vec![[0; HEADER_BYTES]; BATCH],
            places: Places::new(BATCH, longest),
            iovecs: vec![[iovec(std::ptr::null(), 0); 3]; BATCH],
            messages: vec![empty; BATCH],
            buffer: vec![0; 2 * longest * BATCH],
            longest,
        }
    }

    /// Collects the destinations of the next bodies; returns the messages to receive, at most
    /// `most`.
    pub(super) fn prepare(
        &mut self,
        most: usize,
        arrivals: &mut impl Arrivals,
    ) -> &mut [libc::mmsghdr] {
        self.places.clear();
        arrivals.predict(&mut self.places);
        let most = most.min(BATCH);
        let rooms = self.buffer.chunks_exact_mut(2 * self.longest);
        for (index, ((iovecs, header), room)) in
            self.iovecs.iter_mut().zip(&mut self.headers).zip(rooms).take(most).enumerate()
        {
            let place = self.places.places.get(index);
            let place =
                place.map_or(iovec(std::ptr::null(), 0), |place| iovec(place.at, place.length));
            *iovecs = [
                iovec(header.as_mut_ptr(), HEADER_BYTES),
                place,
                iovec(room[self.longest..].as_mut_ptr(), self.longest),
            ];
            let message = &mut self.messages[index].msg_hdr;
            message.msg_iov = iovecs.as_mut_ptr();
            message.msg_iovlen = iovecs.len() as _;
        }
        &mut self.messages[..most]
    }

    /// Delivers what was received.
    pub(super) fn hand_out(
        &mut self,
        count: usize,
        counters: &mut Counters,
        arrivals: &mut impl Arrivals,
    ) {
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
            let [_, place, room] = &self.iovecs[index];
            let body = if index < right { place.iov_base } else { room.iov_base };
            arrivals.take(header, body.cast(), body_length(header, received));
        }
    }

    fn is_right(&self, index: usize) -> bool {
        let received = (self.messages[index].msg_len as usize).checked_sub(HEADER_BYTES);
        let place = self.places.places.get(index);
        place
            .zip(received)
            .is_some_and(|(place, received)| is_expected(place, &self.headers[index], received))
    }

    /// Copies the part of a body that is in the registered destination to the buffer, directly
    /// before the part that is not.
    fn move_away(&mut self, index: usize) {
        let received = (self.messages[index].msg_len as usize).saturating_sub(HEADER_BYTES);
        let [_, place, room] = &mut self.iovecs[index];
        let moved = place.iov_len.min(received);
        // SAFETY: the kernel has written `moved` bytes to the destination `place`. `moved` is at
        // most `longest`, and `room` begins `longest` bytes into its part of `buffer`, which does
        // not overlap the destination.
        unsafe {
            let start = room.iov_base.cast::<u8>().sub(moved);
            std::ptr::copy_nonoverlapping(place.iov_base.cast::<u8>(), start, moved);
            room.iov_base = start.cast();
        }
    }
}
