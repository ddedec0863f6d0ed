//! The sending half of the wire: messages and control entries through slots and rings, and the move
//! from slot to ring.

use std::collections::VecDeque;

use towpath_base::control::ControlPage;
use towpath_base::sync::{MappedWords, Ordering};
use towpath_machine::wait;

use super::Shm;
use super::entry::{self, ASK, Control, INLINE_AT, Kind, PARTS};
use super::grant::{Grant, SenderGrantState};
use super::layout::{CELL_BYTES, CELLS, LINE, RingPlace};
use super::ring::{LINE_WORDS, RingClaim, RingSender};
use super::segment::Segment;
use super::slot::SlotSender;
use super::staging::{Entry, IN_RING, Staging};
use crate::arriving::{part, parts};
use crate::stores::Stores;
use towpath_transport::{Header, NoResource, SHORT_BYTES, copy};

/// The ring that a stream is sent through.
pub(super) struct OutRing {
    sender: RingSender<MappedWords>,
    place: RingPlace,
    lines: *mut u8,
}

/// The stream to one local rank, as seen by its sender.
pub(super) struct OutgoingStream {
    /// Set if the stream is sent through a ring.
    pub(super) ring: Option<Box<OutRing>>,
    page: *const ControlPage,
    slot_line: *mut u8,
    slot: SlotSender<MappedWords>,
    pub(super) limit: u32,
    /// Number of places that the stream had before this one, and the number of commits of the slot
    /// when it moved here.
    places: u32,
    slot_commits: u32,
    /// Set if something must be handled before the next entry: the backlog, a marker, or the loss
    /// of the peer.
    pub(super) detour: bool,
    pub(super) lost: bool,
    obedience: SenderGrantState,
    /// Control entries that wait for room.
    pub(super) backlog: VecDeque<Control>,
}

impl OutgoingStream {
    pub(super) fn new(segment: &Segment, to: usize, hot_sends: u32) -> OutgoingStream {
        let slot_at = segment.layout().slot(to, segment.own_rank());
        OutgoingStream {
            ring: None,
            page: segment.control(to),
            slot_line: segment.at(slot_at),
            // SAFETY: the slot is in the segment and line-aligned. The wire holds the segment and
            // drops this stream before it.
            slot: SlotSender::new(unsafe { segment.words(slot_at, LINE_WORDS) }),
            limit: CELL_BYTES as u32,
            places: 0,
            slot_commits: 0,
            detour: false,
            lost: false,
            obedience: SenderGrantState::new(hot_sends),
            backlog: VecDeque::new(),
        }
    }

    #[inline]
    fn page(&self) -> &ControlPage {
        // SAFETY: the page is in the segment, which the wire holds and drops after this stream, and
        // consists of atomics.
        unsafe { &*self.page }
    }

    /// True if the peer waits for a control entry that is still to be sent. It does not wait for
    /// grants and the like, and may have left MPI without reading those before.
    pub(super) fn keeps_busy(&self) -> bool {
        self.backlog.iter().any(|control| matches!(control.kind, Kind::Pull | Kind::Release))
    }

    /// Wakes the peer if it sleeps.
    #[inline]
    pub(super) fn notify(&self) {
        wait::notify(self.page());
    }

    /// Publishes the slot and rings the peer's doorbell.
    fn commit_slot(&mut self, own: usize) {
        self.slot.commit();
        self.page().doorbell[own / 64].fetch_or(1 << (own % 64), Ordering::AcqRel);
        self.notify();
    }

    /// True if the peer has consumed an entry, or is lost.
    fn has_consumed(&mut self, entry: Entry) -> bool {
        // A peer reads a place to its end before it continues with the next one.
        let earlier = entry.place != self.places;
        match &mut self.ring {
            _ if self.lost => true,
            Some(ring) if earlier => ring.sender.has_consumed_some(),
            Some(ring) => ring.sender.has_consumed(entry.number),
            None => earlier && self.slot.commits() != self.slot_commits && self.slot.is_free(),
        }
    }

    /// Writes one control entry if there is room.
    fn try_control(&mut self, own: usize, control: &Control) -> bool {
        if let Some(ring) = &mut self.ring {
            let Some(claim) = ring.sender.claim(0) else { return false };
            // SAFETY: the receiver does not access a claimed line before it is committed.
            unsafe { entry::write_control(ring.lines.add(claim.line * LINE), control) };
            ring.sender.commit();
            self.notify();
        } else {
            if !self.slot.is_free() {
                return false;
            }
            // SAFETY: the receiver does not access a free slot before it is committed.
            unsafe { entry::write_control(self.slot_line, control) };
            self.commit_slot(own);
        }
        true
    }

    /// Writes a message with an inline payload into the ring or the slot.
    ///
    /// # Safety
    /// `payload` must be readable for `length` bytes, and `length` at most [`SHORT_BYTES`].
    #[inline(always)]
    pub(super) unsafe fn short(
        &mut self,
        own: usize,
        header: &Header,
        payload: *const u8,
        length: usize,
    ) -> Result<(), NoResource> {
        let Some(ring) = &mut self.ring else {
            // SAFETY: `payload` is readable for `length` bytes, at most `SHORT_BYTES` (this
            // function's contract).
            return unsafe { self.short_by_slot(own, header, payload, length) };
        };
        let claim = ring.sender.claim(0).ok_or(NoResource)?;
        // SAFETY: the receiver does not access a claimed line before it is committed. `payload` is
        // readable for `length` bytes, which fit into the line (this function's contract).
        unsafe {
            let line = ring.lines.add(claim.line * LINE);
            entry::write(line, Kind::Inline, 0, length, header);
            copy::short(payload, line.add(INLINE_AT), length);
        }
        ring.sender.commit();
        self.notify();
        Ok(())
    }

    /// Like [`OutgoingStream::short`], through the slot.
    ///
    /// # Safety
    /// `payload` must be readable for `length` bytes, and `length` at most [`SHORT_BYTES`].
    #[inline(never)]
    unsafe fn short_by_slot(
        &mut self,
        own: usize,
        header: &Header,
        payload: *const u8,
        length: usize,
    ) -> Result<(), NoResource> {
        if !self.slot.is_free() {
            return Err(NoResource);
        }
        let bits = self.bits();
        // SAFETY: the receiver does not access a free slot before it is committed. `payload` is
        // readable for `length` bytes, which fit into the line (this function's contract).
        unsafe {
            entry::write(self.slot_line, Kind::Inline, bits, length, header);
            copy::short(payload, self.slot_line.add(INLINE_AT), length);
        }
        self.commit_slot(own);
        Ok(())
    }

    /// Counts the next entry through the slot and returns its bits.
    #[inline]
    fn bits(&mut self) -> u8 {
        if self.obedience.count() { ASK } else { 0 }
    }
}

impl Shm {
    /// Slow path of `short`: something must be handled before the message.
    ///
    /// # Safety
    /// `payload` must be readable for `length` bytes, and `length` at most [`SHORT_BYTES`].
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn short_by_detour(
        &mut self,
        to: usize,
        header: &Header,
        payload: *const u8,
        length: usize,
    ) -> Result<(), NoResource> {
        if self.detour(to)? {
            return Ok(());
        }
        // SAFETY: `payload` is readable for `length` bytes, at most `SHORT_BYTES` (this function's
        // contract).
        unsafe { self.outgoing[to].short(self.own, header, payload, length) }
    }

    /// Like `copied`; `fill` also gets the method by which payload for this rank is stored.
    #[inline]
    pub(super) fn stored(
        &mut self,
        to: usize,
        header: &Header,
        length: usize,
        fill: impl FnOnce(*mut u8, &mut Stores),
    ) -> Result<(), NoResource> {
        if self.outgoing[to].detour && self.detour(to)? {
            return Ok(());
        }
        let stored = if length > SHORT_BYTES { length } else { 0 };
        let staged = if self.outgoing[to].ring.is_some() { self.stage(stored) } else { None };
        let out = &mut self.outgoing[to];
        if staged.is_none() && length > out.limit as usize {
            return Err(NoResource);
        }
        if out.ring.is_none() {
            return self.copied_by_slot(to, header, length, fill);
        }
        let (ring, claim) = out.claim(&self.segment, if staged.is_some() { 0 } else { stored })?;
        let stores = &mut self.stores;
        // SAFETY: the receiver accesses neither the claimed line nor the claimed or staged payload
        // bytes before the line is committed. There is room for `length` bytes.
        unsafe {
            let line = ring.lines.add(claim.line * LINE);
            if stored == 0 {
                entry::write(line, Kind::Inline, 0, length, header);
                fill(line.add(INLINE_AT), stores);
            } else {
                let offset =
                    staged.map_or(ring.place.payload_at() + claim.payload, |staged| staged.offset);
                fill(self.segment.at(offset), stores);
                entry::write(line, Kind::Stored, 0, 0, header);
                entry::write_stored(line, offset, length);
            }
        }
        ring.sender.commit();
        if let Some(staged) = staged {
            staged.commit(&mut self.staging, out.last_entry(to));
        }
        out.notify();
        Ok(())
    }

    /// Claims a block of the staging area if the payload is long enough for it and a block is free.
    #[inline]
    pub(super) fn stage(&mut self, bytes: usize) -> Option<Staged> {
        if bytes <= IN_RING {
            return None;
        }
        let outgoing = &mut self.outgoing;
        let begin =
            self.staging.claim(bytes, |entry| outgoing[entry.peer as usize].has_consumed(entry))?;
        Some(Staged { offset: self.segment.layout().staging(self.own) + begin, begin, bytes })
    }

    fn copied_by_slot(
        &mut self,
        to: usize,
        header: &Header,
        length: usize,
        fill: impl FnOnce(*mut u8, &mut Stores),
    ) -> Result<(), NoResource> {
        if !self.outgoing[to].slot.is_free() {
            return Err(NoResource);
        }
        let cell = if length > SHORT_BYTES { Some(self.take_cell(to)?) } else { None };
        let out = &mut self.outgoing[to];
        let bits = out.bits();
        let stores = &mut self.stores;
        // SAFETY: the receiver accesses neither the free slot nor the cell before the slot is
        // committed. A cell has room for `length` bytes, and `SHORT_BYTES` bytes fit into the line.
        unsafe {
            if let Some(offset) = cell {
                fill(self.segment.at(offset), stores);
                entry::write(out.slot_line, Kind::Stored, bits, 0, header);
                entry::write_stored(out.slot_line, offset, length);
            } else {
                entry::write(out.slot_line, Kind::Inline, bits, length, header);
                fill(out.slot_line.add(INLINE_AT), stores);
            }
        }
        out.commit_slot(self.own);
        Ok(())
    }

    /// Claims a cell and returns its offset; its page is populated.
    fn take_cell(&mut self, to: usize) -> Result<usize, NoResource> {
        let outgoing = &self.outgoing;
        let cell = self
            .cells
            .take(to as u32, |peer| outgoing[peer as usize].slot.is_free())
            .ok_or(NoResource)?;
        let offset = self.segment.layout().cell(self.own, cell);
        if cell >= self.cells.provided {
            debug_assert!(cell < CELLS);
            if !self.segment.populate(offset, CELL_BYTES) {
                // The first cell is always populated, so a retry succeeds once that one is free.
                self.cells.give(cell);
                return Err(NoResource);
            }
            self.cells.provided = cell + 1;
        }
        Ok(offset)
    }

    /// Handles what must precede the next entry. True if the entry need not be sent at all, because
    /// the peer is lost and everything sent to it is discarded.
    #[cold]
    fn detour(&mut self, to: usize) -> Result<bool, NoResource> {
        if self.outgoing[to].lost {
            return Ok(true);
        }
        self.flush_pending(to);
        if self.outgoing[to].backlog.is_empty() { Ok(false) } else { Err(NoResource) }
    }

    /// Sends a control entry, now or as soon as there is room.
    pub(super) fn post_control(&mut self, to: usize, control: Control) {
        let out = &mut self.outgoing[to];
        if out.lost || (out.backlog.is_empty() && out.try_control(self.own, &control)) {
            return;
        }
        out.backlog.push_back(control);
        self.attend(to);
    }

    /// The peer grants a place for the stream to it.
    pub(super) fn granted(&mut self, to: usize, grant: Grant) {
        self.outgoing[to].obedience.granted(grant);
        self.attend(to);
        self.flush_pending(to);
    }

    /// The peer has no ring for the stream to it at the moment.
    pub(super) fn refused(&mut self, to: usize) {
        self.outgoing[to].obedience.refused();
    }

    fn attend(&mut self, to: usize) {
        let out = &mut self.outgoing[to];
        if !out.detour {
            out.detour = true;
            self.attention.push(to as u32);
        }
    }

    /// Writes the marker and the pending control entries as far as there is room. Returns whether
    /// nothing is left, and whether anything was written.
    pub(super) fn flush_pending(&mut self, to: usize) -> (bool, bool) {
        let out = &mut self.outgoing[to];
        if out.lost {
            out.backlog.clear();
            return (true, false);
        }
        let mut moved = false;
        if let Some(grant) = out.obedience.pending() {
            let marker = Control { kind: Kind::Marker, words: [grant.number, 0], extra: 0 };
            if out.try_control(self.own, &marker) {
                out.obedience.obeyed();
                let in_slot = out.ring.is_none() && grant.place.is_none();
                out.move_to(&self.segment, grant);
                // Once this entry, or the marker in the slot, is consumed, the payload that was
                // staged in earlier places is known to be read.
                if !in_slot && self.staging.holds_for(to as u32) {
                    out.backlog.push_front(Control {
                        kind: Kind::Nothing,
                        words: [0, 0],
                        extra: 0,
                    });
                }
                moved = true;
            }
        }
        while let Some(control) = out.backlog.front() {
            let control = *control;
            if !out.try_control(self.own, &control) {
                break;
            }
            out.backlog.pop_front();
            moved = true;
        }
        let is_flushed = out.backlog.is_empty() && out.obedience.pending().is_none();
        out.detour = !is_flushed;
        (is_flushed, moved)
    }
}

/// A block of the staging area that no entry names yet.
#[derive(Clone, Copy)]
pub(super) struct Staged {
    /// Offset of its first byte in the segment.
    offset: usize,
    begin: usize,
    bytes: usize,
}

impl Staged {
    #[inline]
    pub(super) fn commit(self, staging: &mut Staging, entry: Entry) {
        staging.commit(self.begin, self.bytes, entry);
    }
}

impl OutgoingStream {
    /// True if a message of `length` bytes can be sent through the ring in parts now.
    #[inline]
    pub(super) fn has_lines(&mut self, length: usize) -> bool {
        !self.detour && self.ring.as_mut().is_some_and(|ring| ring.sender.has_lines(parts(length)))
    }

    /// The entry that was committed last, through the ring to local rank `to`.
    #[inline]
    pub(super) fn last_entry(&self, to: usize) -> Entry {
        let number = self.ring.as_ref().map_or(0, |ring| ring.sender.committed());
        Entry { peer: to as u32, place: self.places, number }
    }

    /// The entry that will be committed next, through the ring to local rank `to`.
    pub(super) fn next_entry(&self, to: usize) -> Entry {
        let last = self.last_entry(to);
        Entry { number: last.number.wrapping_add(1), ..last }
    }

    /// Claims a line of the ring and `bytes` of its payload, with populated pages.
    #[inline]
    fn claim(
        &mut self,
        segment: &Segment,
        bytes: usize,
    ) -> Result<(&mut OutRing, RingClaim), NoResource> {
        let ring = self.ring.as_mut().ok_or(NoResource)?;
        let claim = ring.sender.claim(bytes).ok_or(NoResource)?;
        if let Some(grown) = ring.sender.grown() {
            let provided = grown.0 as u32;
            if let Err(shortage) = provide(segment, ring, grown) {
                // A message that is longer than what the ring has now would never find room. With
                // the lower limit it uses a bounce buffer instead.
                self.limit = self.limit.min(provided);
                return Err(shortage);
            }
        }
        Ok((ring, claim))
    }

    /// Writes a message into the ring in parts, each with an entry of its own, so that the receiver
    /// copies the first part while this side writes the next one. The payload is in the staged
    /// block, if there is one, otherwise in the ring.
    ///
    /// # Safety
    /// `payload` must be readable for `length` bytes, and the ring must have as many free lines as
    /// the message has parts.
    pub(super) unsafe fn in_parts(
        &mut self,
        segment: &Segment,
        stores: &mut Stores,
        to: usize,
        header: &Header,
        payload: *const u8,
        length: usize,
        staged: Option<Staged>,
    ) -> Result<(), NoResource> {
        let (ring, mut claim) = self.claim(segment, if staged.is_some() { 0 } else { length })?;
        let offset = staged.map_or(ring.place.payload_at() + claim.payload, |staged| staged.offset);
        for number in 0..parts(length) {
            if number > 0 {
                claim = ring.sender.claim(0).expect("the lines were counted");
            }
            let part = part(length, number);
            // SAFETY: the receiver accesses neither the claimed line nor this part of the payload
            // memory before the line is committed. `payload` is readable for `length` bytes (this
            // function's contract), which `part` stays inside.
            unsafe {
                let line = ring.lines.add(claim.line * LINE);
                stores.copy(
                    to,
                    payload.add(part.start),
                    segment.at(offset + part.start),
                    part.len(),
                );
                if number == 0 {
                    entry::write(line, Kind::Stored, PARTS, 0, header);
                    entry::write_stored(line, offset, length);
                } else {
                    entry::write_control(
                        line,
                        &Control { kind: Kind::Part, words: [0, 0], extra: 0 },
                    );
                }
            }
            ring.sender.commit();
        }
        // A receiver that is woken for the first part does not sleep while it waits for the others.
        self.notify();
        Ok(())
    }

    /// The marker is written: the stream continues in the granted place.
    fn move_to(&mut self, segment: &Segment, grant: Grant) {
        let stays = self.ring.is_none() && grant.place.is_none();
        self.ring = grant.place.map(|place| {
            // SAFETY: the peer granted a ring in its ring area, which is in the segment, with
            // line-aligned parts. The wire holds the segment and drops the ring before it.
            let (lines, progress) = unsafe { segment.ring_words(&place) };
            segment.map_in(
                place.offset as usize,
                place.payload_at() + place.provided as usize - place.offset as usize,
            );
            let sender = RingSender::new(lines, progress, &place);
            Box::new(OutRing { sender, place, lines: segment.at(place.lines_at()) })
        });
        self.places = self.places.wrapping_add(1);
        if !stays {
            self.slot_commits = self.slot.commits();
        }
        self.limit = self.ring.as_ref().map_or(CELL_BYTES, |ring| ring.place.copied_limit()) as u32;
    }
}

/// Populates payload pages that a ring has not used before. If memory is short, the ring keeps its
/// current size.
#[cold]
fn provide(
    segment: &Segment,
    ring: &mut OutRing,
    (from, to): (usize, usize),
) -> Result<(), NoResource> {
    if segment.populate(ring.place.payload_at() + from, to - from) {
        return Ok(());
    }
    ring.sender.shrink(from);
    Err(NoResource)
}
