//! The receiving half of the wire: looks at hot rings and door-bells, and acts on what the entries
//! say.

use towpath_base::sync::{MappedWords, Ordering};

use super::division::RingShape;
use super::entry::{self, ASK, Control, INLINE_AT, Kind, PARTS, Read};
use super::grant::{Decision, Grant, Place};
use super::layout::LINE;
use super::pull::Begun;
use super::ring::{LINE_WORDS, RingReceiver};
use super::segment::Segment;
use super::slot::SlotReceiver;
use super::staging::IN_RING;
use super::window::{Window, WindowId};
use super::{HotRing, Shm};
use crate::arriving::Arriving;
use towpath_transport::ahead::PrefetchHint;
use towpath_transport::{Header, Sink};

/// With more rings than these no payload is prefetched: it would fill the first-level cache.
const FEW: usize = 8;
const _: () = assert!(IN_RING <= PrefetchHint::MOST);
/// Entries taken from one ring before the next one is looked at.
const BATCH: usize = 32;

/// The stream from one local rank, as its receiver sees it.
pub(super) struct Incoming {
    slot: SlotReceiver<MappedWords>,
    slot_line: *const u8,
    pub(super) decision: Decision,
}

impl Incoming {
    pub(super) fn new(segment: &Segment, from: usize) -> Incoming {
        let slot_at = segment.layout().slot(segment.own_rank(), from);
        Incoming {
            // SAFETY: the wire holds the segment and drops this before.
            slot: SlotReceiver::new(unsafe { segment.words(slot_at, LINE_WORDS) }),
            slot_line: segment.at(slot_at),
            decision: Decision::default(),
        }
    }
}

/// What is left to do once an entry is consumed.
enum Taken {
    /// Nothing; so many payload bytes, of the ring or staged, are free.
    Entry(usize),
    /// The stream moves to the place granted with this epoch.
    Marker(u64),
}

impl Shm {
    /// Takes what has arrived.
    #[inline]
    pub(super) fn receive(&mut self, sink: &mut impl Sink) -> bool {
        let mut moved = false;
        let mut index = 0;
        while index < self.hot.len() {
            moved |= self.take_from_ring(index, sink);
            index += 1;
        }
        for word in 0..self.doorbell_words {
            // SAFETY: the control page lies in the segment, which the wire holds; there are as many
            // words as that.
            let bits = unsafe { (*self.doorbell.add(word)).load(Ordering::Relaxed) };
            if bits != 0 {
                moved |= self.answer_doorbell(word, sink);
            }
        }
        moved
    }

    #[inline]
    fn take_from_ring(&mut self, index: usize, sink: &mut impl Sink) -> bool {
        let mut moved = false;
        for _ in 0..BATCH {
            let ring = &mut self.hot[index];
            let Some(line) = ring.receiver.ready() else {
                let hint = ring.hint;
                if ring.receiver.rest() {
                    self.outgoing[ring.from as usize].notify();
                }
                if self.hot.len() <= FEW {
                    hint.prefetch();
                }
                return moved;
            };
            moved = true;
            let from = ring.from as usize;
            let line = ring.lines.wrapping_add(line * LINE);
            // SAFETY: the line is full and ours until `advance`.
            let taken = unsafe { self.take_entry(from, line, sink) };
            match taken {
                Taken::Entry(bytes) => {
                    if (1..=IN_RING).contains(&bytes) {
                        // SAFETY: as above; the payload lies in the ring.
                        let (offset, _) = unsafe { entry::read_stored(line) };
                        let (payload, taken) = (self.segment.at(offset), bytes.next_multiple_of(LINE));
                        self.hot[index].hint = PrefetchHint::new(payload.wrapping_add(taken), bytes);
                    }
                    if self.hot[index].receiver.advance(bytes) {
                        self.outgoing[from].notify();
                    }
                }
                Taken::Marker(epoch) => {
                    self.move_stream(from, epoch);
                    return true;
                }
            }
        }
        moved
    }

    /// Looks at the slots whose bits are set in one word of the door-bell.
    #[cold]
    fn answer_doorbell(&mut self, word: usize, sink: &mut impl Sink) -> bool {
        let mut bits = self.segment.own_control().doorbell[word].swap(0, Ordering::AcqRel);
        let mut moved = false;
        while bits != 0 {
            let from = word * 64 + bits.trailing_zeros() as usize;
            bits &= bits - 1;
            // What stands in the slot while the stream is still read from a ring comes behind the
            // ring's marker.
            let in_slot = from < self.peers.len() && self.incoming[from].decision.current().is_none();
            if in_slot && self.incoming[from].slot.is_full() {
                moved = true;
                let line = self.incoming[from].slot_line;
                // SAFETY: the slot is full and ours until `advance`.
                let taken = unsafe { self.take_entry(from, line, sink) };
                self.incoming[from].slot.advance();
                // The sender may sleep until its slot is free.
                self.outgoing[from].notify();
                if let Taken::Marker(epoch) = taken {
                    self.move_stream(from, epoch);
                }
            }
        }
        moved
    }

    /// Acts on one entry.
    ///
    /// # Safety
    /// `line` must be full and not be given back before this returns.
    #[inline(always)]
    unsafe fn take_entry(&mut self, from: usize, line: *const u8, sink: &mut impl Sink) -> Taken {
        // SAFETY: the caller vouches for the line.
        let read = unsafe { entry::read(line) };
        let peer = self.peers[from];
        if read.bits() & ASK != 0 {
            self.answer_question(from);
        }
        // One call for both kinds of message, so that the sink's code is here only once.
        // SAFETY: as above.
        let Some((payload, length, stored)) = (unsafe { self.payload(line, &read) }) else {
            if read.bits() & PARTS != 0 {
                // SAFETY: as above.
                return unsafe { self.take_parts(from, line, &read.header(), sink) };
            }
            // SAFETY: as above.
            let extra = unsafe { entry::read_extra(line) };
            return self.obey(from, read.kind(), read.header().words, extra, sink);
        };
        sink.arrived(peer, &read.header(), payload, length);
        Taken::Entry(stored)
    }

    /// The payload of an entry, its length and how many bytes of it lie outside the line; `None`
    /// for a control entry and for a message in parts.
    ///
    /// # Safety
    /// As [`Shm::take_entry`]; `read` is what the line says.
    #[inline(always)]
    pub(super) unsafe fn payload(&self, line: *const u8, read: &Read) -> Option<(*const u8, usize, usize)> {
        if read.kind() == Kind::Inline as u8 {
            return Some((line.wrapping_add(INLINE_AT), read.inline(), 0));
        }
        if read.kind() != Kind::Stored as u8 || read.bits() & PARTS != 0 {
            return None;
        }
        // SAFETY: handed through.
        let (offset, length) = unsafe { entry::read_stored(line) };
        Some((self.segment.at(offset).cast_const(), length, length))
    }

    /// Acts on a message in parts; the entries of the other parts say nothing more.
    ///
    /// # Safety
    /// As [`Shm::take_entry`].
    #[inline(never)]
    unsafe fn take_parts(&mut self, from: usize, line: *const u8, header: &Header, sink: &mut impl Sink) -> Taken {
        // SAFETY: handed through.
        let (offset, length) = unsafe { entry::read_stored(line) };
        let pointer = self.segment.at(offset).cast_const();
        let ring = self.hot.iter().find(|ring| ring.from as usize == from);
        let follower = ring.expect("only rings carry messages in parts").receiver.follower();
        sink.arriving(self.peers[from], header, Arriving { pointer, length, follower });
        Taken::Entry(length)
    }

    /// Acts on a control entry.
    #[cold]
    #[inline(never)]
    fn obey(&mut self, from: usize, kind: u8, words: [u64; 2], extra: u64, sink: &mut impl Sink) -> Taken {
        match kind {
            kind if kind == Kind::Marker as u8 => return Taken::Marker(words[0]),
            kind if kind == Kind::Grant as u8 => self.granted(from, Grant::decode(words, extra)),
            kind if kind == Kind::Refuse as u8 => self.refused(from),
            kind if kind == Kind::Pull as u8 => self.serve(from, words[0], words[1], extra),
            kind if kind == Kind::Part as u8 || kind == Kind::Nothing as u8 => {}
            kind if kind == Kind::Release as u8 => {
                if let Some(token) = self.pushes.released(words[0]) {
                    sink.released(token);
                }
            }
            unknown => panic!("local rank {from} wrote an entry of unknown kind {unknown}: the segment is damaged"),
        }
        Taken::Entry(0)
    }

    /// The peer wants a region in one of its windows.
    fn serve(&mut self, to: usize, name: u64, length: u64, extra: u64) {
        let (index, shape, start) = Begun::decode(extra);
        let window = Window::new(&self.segment, WindowId { owner: to as u32, index }, shape, start);
        self.pushes.serve(to as u32, name, length, window);
    }

    /// The peer asks for a ring for its stream to us.
    #[cold]
    #[inline(never)]
    fn answer_question(&mut self, from: usize) {
        if !self.incoming[from].decision.is_cold() {
            return;
        }
        let shape = RingShape { lines: self.settings.ring_lines, bytes: self.settings.ring_bytes };
        match self.make_ring(shape, false) {
            Some(place) => self.grant(from, Some(place)),
            None => {
                self.revoke_idle(shape.total());
                self.post_control(from, Control { kind: Kind::Refuse, words: [0, 0], extra: 0 });
            }
        }
    }

    /// Grants a place for the stream from a peer: a ring, or the slot again.
    pub(super) fn grant(&mut self, from: usize, place: Place) {
        let (words, extra) = self.incoming[from].decision.grant(place).encode();
        self.publish_share(from);
        self.post_control(from, Control { kind: Kind::Grant, words, extra });
    }

    /// The old place of a stream is read to its end.
    fn move_stream(&mut self, from: usize, epoch: u64) {
        let moved = self.incoming[from].decision.marker(epoch);
        self.hot.retain(|ring| ring.from as usize != from);
        if let Some(place) = moved.to {
            // SAFETY: the wire holds the segment and drops this before.
            let (lines, progress) = unsafe {
                let words = self.segment.words(place.lines_at(), place.lines as usize * LINE_WORDS);
                (words, self.segment.words(place.offset as usize, 1))
            };
            let receiver = RingReceiver::new(lines, progress, place.lines, place.bytes, place.provided);
            let (lines, hint) = (self.segment.at(place.lines_at()), PrefetchHint::NOTHING);
            self.hot.push(HotRing { from: from as u32, receiver, lines, seen: 0, hint });
        } else {
            // The sender may have rung while the stream was in the ring.
            self.segment.own_control().doorbell[from / 64].fetch_or(1 << (from % 64), Ordering::AcqRel);
        }
        self.take_back(moved.freed);
    }
}
