//! The receiving half of the wire for callers that wait for specific messages: it only takes
//! messages at the front of the rings.
//!
//! Everything else stays where it is, in order, until `progress` takes it: no doorbell is
//! answered and no control entry is obeyed. Performance grade: fast path.

use towpath_base::ids::PeerIndex;

use super::Shm;
use super::entry::{self, PARTS, ReadLine};
use super::layout::LINE;
use crate::arriving::{Arriving, parts};
use towpath_transport::{Choice, Header, Payload};

impl Shm {
    /// Offers the entries at the front of one ring and returns the last choice. `None` if a control
    /// entry is at the front.
    #[inline(always)]
    pub(super) fn poll_front_of(
        &mut self,
        index: usize,
        take: &mut impl FnMut(PeerIndex, &Header, *const u8, usize) -> Choice,
    ) -> Option<Choice> {
        loop {
            let ring = &mut self.hot[index];
            let from = ring.from as usize;
            let Some(line) = ring.receiver.ready() else {
                if ring.receiver.rest() {
                    self.outgoing[from].notify();
                }
                return Some(Choice::Leave);
            };
            let line = ring.lines.wrapping_add(line * LINE);
            // SAFETY: `ready` returned this line, so it is full, and it is not given back before
            // `advance`.
            let read = unsafe { entry::read(line) };
            // SAFETY: the line is full until `advance`, and `read` was read from it.
            let (payload, length, stored, further) = match unsafe { self.payload(line, &read) } {
                Some((payload, length, stored)) => (payload, length, stored, 0),
                // SAFETY: the line is full until `advance`, and `read` was read from it.
                None => unsafe { self.whole_parts(index, line, &read) }?,
            };
            let choice = take(self.peers[from], &read.header(), payload, length);
            if choice == Choice::Leave {
                return Some(choice);
            }
            let receiver = &mut self.hot[index].receiver;
            let mut published = receiver.advance(stored);
            for _ in 0..further {
                published |= receiver.advance(0);
            }
            if published {
                self.outgoing[from].notify();
            }
            if choice != Choice::More {
                return Some(choice);
            }
        }
    }

    /// A message in parts at the front of ring `index`, once all parts have arrived: its payload
    /// and length, how many of its bytes are outside the line, and how many further entries belong
    /// to it. `None` for a control entry.
    ///
    /// # Safety
    /// `line` must be full and must not be given back; `read` must have been read from it.
    #[inline(never)]
    unsafe fn whole_parts(
        &self,
        index: usize,
        line: *const u8,
        read: &ReadLine,
    ) -> Option<(*const u8, usize, usize, u32)> {
        if read.bits() & PARTS == 0 {
            return None;
        }
        // SAFETY: `line` is full and not given back (this function's contract).
        let (offset, length) = unsafe { entry::read_stored(line) };
        let pointer = self.segment.at(offset).cast_const();
        let arriving = Arriving { pointer, length, follower: self.hot[index].receiver.follower() };
        Some((arriving.whole(), length, length, parts(length) - 1))
    }
}
