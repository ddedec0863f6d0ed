//! The receiving half of the wire: polls the hot rings and the doorbell, and acts on the entries.

use towpath_base::sync::{MappedWords, Ordering};

use super::bounce::{BounceBuffer, BounceId};
use super::division::RingShape;
use super::entry::{self, ASK, Control, INLINE_AT, Kind, PARTS, ReadLine};
use super::grant::{Grant, Place, ReceiverGrantState};
use super::layout::LINE;
use super::pull::PullStarted;
use super::ring::{LINE_WORDS, RingReceiver};
use super::segment::Segment;
use super::slot::SlotReceiver;
use super::staging::IN_RING;
use super::{HotRing, Shm};
use crate::arriving::Arriving;
use towpath_transport::ahead::PrefetchHint;
use towpath_transport::{Header, Sink};

/// With more rings than this, no payload is prefetched: it would fill the first-level cache.
const FEW: usize = 8;
const _: () = assert!(IN_RING <= PrefetchHint::MOST);
/// Entries taken from one ring before the next one is polled.
const BATCH: usize = 32;

/// The stream from one local rank, as seen by its receiver.
pub(super) struct IncomingStream {
    slot: SlotReceiver<MappedWords>,
    slot_line: *const u8,
    pub(super) decision: ReceiverGrantState,
}

impl IncomingStream {
    pub(super) fn new(segment: &Segment, from: usize) -> IncomingStream {
        let slot_at = segment.layout().slot(segment.own_rank(), from);
        IncomingStream {
            // SAFETY: the slot is in the segment and line-aligned. The wire holds the segment and
            // drops this stream before it.
            slot: SlotReceiver::new(unsafe { segment.words(slot_at, LINE_WORDS) }),
            slot_line: segment.at(slot_at),
            decision: ReceiverGrantState::default(),
        }
    }
}

/// What remains to be done once an entry is consumed.
enum EntryOutcome {
    /// Nothing more. This many payload bytes, in the ring or staged, can be freed.
    Entry(usize),
    /// The stream moves to the place that was granted with this number.
    Marker(u64),
}

impl Shm {
    /// Takes everything that has arrived.
    #[inline]
    pub(super) fn receive(&mut self, sink: &mut impl Sink) -> bool {
        let mut moved = false;
        let mut index = 0;
        while index < self.hot.len() {
            moved |= self.take_from_ring(index, sink);
            index += 1;
        }
        for word in 0..self.doorbell_words {
            // SAFETY: the doorbell of this rank's control page has `doorbell_words` words, and the
            // wire holds the segment that the page is in.
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
            // SAFETY: `ready` returned this line, so it is full, and it is not given back before
            // `advance`.
            let taken = unsafe { self.take_entry(from, line, sink) };
            match taken {
                EntryOutcome::Entry(bytes) => {
                    if (1..=IN_RING).contains(&bytes) {
                        // SAFETY: the line is full until `advance`. Its payload is outside the
                        // line, so it names a stored payload.
                        let (offset, _) = unsafe { entry::read_stored(line) };
                        let (payload, taken) =
                            (self.segment.at(offset), bytes.next_multiple_of(LINE));
                        self.hot[index].hint =
                            PrefetchHint::new(payload.wrapping_add(taken), bytes);
                    }
                    if self.hot[index].receiver.advance(bytes) {
                        self.outgoing[from].notify();
                    }
                }
                EntryOutcome::Marker(number) => {
                    self.move_stream(from, number);
                    return true;
                }
            }
        }
        moved
    }

    /// Polls the slots whose bits are set in one word of the doorbell.
    #[cold]
    fn answer_doorbell(&mut self, word: usize, sink: &mut impl Sink) -> bool {
        let mut bits = self.segment.own_control().doorbell[word].swap(0, Ordering::AcqRel);
        let mut moved = false;
        while bits != 0 {
            let from = word * 64 + bits.trailing_zeros() as usize;
            bits &= bits - 1;
            // While the stream is still read from a ring, an entry in the slot comes after the
            // ring's marker.
            let in_slot =
                from < self.peers.len() && self.incoming[from].decision.current().is_none();
            if in_slot && self.incoming[from].slot.is_full() {
                moved = true;
                let line = self.incoming[from].slot_line;
                // SAFETY: `is_full` returned true, and the slot is not given back before `advance`.
                let taken = unsafe { self.take_entry(from, line, sink) };
                self.incoming[from].slot.advance();
                // The sender may be asleep until its slot is free.
                self.outgoing[from].notify();
                if let EntryOutcome::Marker(number) = taken {
                    self.move_stream(from, number);
                }
            }
        }
        moved
    }

    /// Acts on one entry.
    ///
    /// # Safety
    /// `line` must be full (its flag read with acquire ordering) and must not be given back before
    /// this returns.
    #[inline(always)]
    unsafe fn take_entry(
        &mut self,
        from: usize,
        line: *const u8,
        sink: &mut impl Sink,
    ) -> EntryOutcome {
        // SAFETY: `line` is full and not given back (this function's contract).
        let read = unsafe { entry::read(line) };
        let peer = self.peers[from];
        if read.bits() & ASK != 0 {
            self.answer_question(from);
        }
        // One call for both kinds of message, so that the sink's code is inlined only once.
        // SAFETY: `line` is full and not given back (this function's contract); `read` was read
        // from it.
        let Some((payload, length, stored)) = (unsafe { self.payload(line, &read) }) else {
            if read.bits() & PARTS != 0 {
                // SAFETY: `line` is full and not given back (this function's contract), and its
                // bits say that it starts a message in parts.
                return unsafe { self.take_parts(from, line, &read.header(), sink) };
            }
            // SAFETY: `line` is full and not given back (this function's contract).
            let extra = unsafe { entry::read_extra(line) };
            return self.obey(from, read.kind(), read.header().words, extra, sink);
        };
        sink.arrived(peer, &read.header(), payload, length);
        EntryOutcome::Entry(stored)
    }

    /// The payload of an entry, its length, and how many bytes of it are outside the line. `None`
    /// for a control entry and for a message in parts.
    ///
    /// # Safety
    /// `line` must be full and must not be given back; `read` must have been read from it.
    #[inline(always)]
    pub(super) unsafe fn payload(
        &self,
        line: *const u8,
        read: &ReadLine,
    ) -> Option<(*const u8, usize, usize)> {
        if read.kind() == Kind::Inline as u8 {
            return Some((line.wrapping_add(INLINE_AT), read.inline(), 0));
        }
        if read.kind() != Kind::Stored as u8 || read.bits() & PARTS != 0 {
            return None;
        }
        // SAFETY: `line` is full and not given back (this function's contract).
        let (offset, length) = unsafe { entry::read_stored(line) };
        Some((self.segment.at(offset).cast_const(), length, length))
    }

    /// Acts on a message in parts. The entries of its other parts carry no further information.
    ///
    /// # Safety
    /// `line` must be full, must not be given back before this returns, and must hold an entry with
    /// [`PARTS`] set.
    #[inline(never)]
    unsafe fn take_parts(
        &mut self,
        from: usize,
        line: *const u8,
        header: &Header,
        sink: &mut impl Sink,
    ) -> EntryOutcome {
        // SAFETY: `line` is full and not given back (this function's contract).
        let (offset, length) = unsafe { entry::read_stored(line) };
        let pointer = self.segment.at(offset).cast_const();
        let ring = self.hot.iter().find(|ring| ring.from as usize == from);
        let follower = ring.expect("only rings carry messages in parts").receiver.follower();
        sink.arriving(self.peers[from], header, Arriving { pointer, length, follower });
        EntryOutcome::Entry(length)
    }

    /// Acts on a control entry.
    #[cold]
    #[inline(never)]
    fn obey(
        &mut self,
        from: usize,
        kind: u8,
        words: [u64; 2],
        extra: u64,
        sink: &mut impl Sink,
    ) -> EntryOutcome {
        match kind {
            kind if kind == Kind::Marker as u8 => return EntryOutcome::Marker(words[0]),
            kind if kind == Kind::Grant as u8 => self.granted(from, Grant::decode(words, extra)),
            kind if kind == Kind::Refuse as u8 => self.refused(from),
            kind if kind == Kind::Pull as u8 => self.serve(from, words[0], words[1], extra),
            kind if kind == Kind::Part as u8 || kind == Kind::Nothing as u8 => {}
            kind if kind == Kind::Release as u8 => {
                if let Some(token) = self.pushes.released(words[0]) {
                    sink.released(token);
                }
            }
            unknown => panic!(
                "local rank {from} wrote an entry of unknown kind {unknown}: the segment is damaged"
            ),
        }
        EntryOutcome::Entry(0)
    }

    /// The peer asks for a region to be copied into one of its bounce buffers.
    fn serve(&mut self, to: usize, name: u64, length: u64, extra: u64) {
        let (index, shape, start) = PullStarted::decode(extra);
        let bounce =
            BounceBuffer::new(&self.segment, BounceId { owner: to as u32, index }, shape, start);
        self.pushes.serve(to as u32, name, length, bounce);
    }

    /// The peer asks for a ring for its stream to this process.
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

    /// The old place of a stream is read to its end: continues with the new one.
    fn move_stream(&mut self, from: usize, number: u64) {
        let moved = self.incoming[from].decision.marker(number);
        self.hot.retain(|ring| ring.from as usize != from);
        if let Some(place) = moved.to {
            // SAFETY: the ring was allocated by this process in its own ring area, which is in the
            // segment, with line-aligned parts. The wire holds the segment and drops the ring
            // before it.
            let (lines, progress) = unsafe { self.segment.ring_words(&place) };
            let receiver = RingReceiver::new(lines, progress, &place);
            let (lines, hint) = (self.segment.at(place.lines_at()), PrefetchHint::NOTHING);
            self.hot.push(HotRing { from: from as u32, receiver, lines, seen: 0, hint });
        } else {
            // The sender may have rung the doorbell while the stream was in the ring.
            self.segment.own_control().doorbell[from / 64]
                .fetch_or(1 << (from % 64), Ordering::AcqRel);
        }
        self.take_back(moved.freed);
    }
}
