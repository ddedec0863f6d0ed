//! The receiving half of the wire for those who know what they wait for: messages at the front of
//! the rings, nothing else.
//!
//! What is not wanted stays where it is, in order, until [`Shm::progress`] takes it: no door-bell
//! is answered, no control entry obeyed. Performance grade: small path.

use towpath_base::ids::PeerIndex;
use towpath_base::sync::Ordering;

use super::Shm;
use super::entry::{self, PARTS, Read};
use super::layout::LINE;
use crate::arriving::Arriving;
use crate::arriving::parts;
use towpath_transport::{Choice, Header, Payload};

impl Shm {
    /// As [`towpath_transport::Wire::sift`].
    #[inline(always)]
    pub fn sift(&mut self, mut take: impl FnMut(PeerIndex, &Header, *const u8, usize) -> Choice) -> bool {
        // SAFETY: the control page lies in the segment, which the wire holds; there are as many
        // words as that.
        let rung = |word: usize| unsafe { (*self.doorbell.add(word)).load(Ordering::Relaxed) != 0 };
        let mut beyond = (0..self.doorbell_words).any(rung);
        let mut index = 0;
        while index < self.hot.len() {
            match self.sift_ring(index, &mut take) {
                Some(Choice::Done) => return beyond,
                Some(_) => {}
                None => beyond = true,
            }
            index += 1;
        }
        beyond
    }

    /// Offers what stands at the front of one ring; the last choice. `None` when a control entry
    /// does.
    #[inline(always)]
    fn sift_ring(
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
            // SAFETY: the line is full and ours until `advance`.
            let read = unsafe { entry::read(line) };
            // SAFETY: as above.
            let (payload, length, stored, further) = match unsafe { self.payload(line, &read) } {
                Some((payload, length, stored)) => (payload, length, stored, 0),
                // SAFETY: as above.
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

    /// A message in parts at the front of ring `index`, once all are there: its payload and length,
    /// how many bytes lie outside the line, and how many further entries belong to it. `None` for a
    /// control entry.
    ///
    /// # Safety
    /// As [`Shm::payload`].
    #[inline(never)]
    unsafe fn whole_parts(&self, index: usize, line: *const u8, read: &Read) -> Option<(*const u8, usize, usize, u32)> {
        if read.bits() & PARTS == 0 {
            return None;
        }
        // SAFETY: handed through.
        let (offset, length) = unsafe { entry::read_stored(line) };
        let pointer = self.segment.at(offset).cast_const();
        let arriving = Arriving { pointer, length, follower: self.hot[index].receiver.follower() };
        Some((arriving.whole(), length, length, parts(length) - 1))
    }
}
