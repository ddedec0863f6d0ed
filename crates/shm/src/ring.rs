//! The ring of a hot pair: many entries in flight, payload in a separate contiguous buffer.
//!
//! The flag of a line is its entry's number + 1, so a line of an earlier lap never looks full. The
//! receiver publishes its progress in one word on a line of its own, in batches and when it finds
//! the ring empty. The sender allocates payload bytes in FIFO order, keeps the bookkeeping private,
//! and restarts at offset 0 whenever everything is consumed, so only the bytes in flight are
//! touched. No read-modify-write, no fence, no system call.

use towpath_base::sync::Words;

use super::layout::{LINE, RingPlace};

/// A pair touches the memory of this many messages of more than `LONG` bytes before it checks for
/// freed memory.
const WALK: u32 = 4;
const LONG: u32 = 8192;

/// Messages up to this many bytes stay within the populated payload if that is at least a lap long.
const SHORT: u32 = 2048;
const LAP: u32 = 16 * 1024;

/// The part of a ring's lines whose progress wakes no sender.
const FEW: u32 = 4;

/// Words of a line.
pub(crate) const LINE_WORDS: usize = LINE / 4;

/// Where the next entry is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RingClaim {
    /// Index of the header line.
    pub(crate) line: usize,
    /// First payload byte, relative to the ring's payload.
    pub(crate) payload: usize,
}

/// The sender's end.
pub(crate) struct RingSender<W> {
    lines: W,
    progress: W,
    mask: u32,
    next: u32,
    consumed: u32,
    payload: PayloadAllocator,
}

impl<W: Words> RingSender<W> {
    /// `lines` holds 16 words per header line of the ring at `place`, `progress` the receiver's
    /// word.
    pub(crate) fn new(lines: W, progress: W, place: &RingPlace) -> RingSender<W> {
        assert!(place.lines.is_power_of_two(), "a ring has a power of two of lines");
        let payload = PayloadAllocator::new(place.lines, place.bytes, place.provided);
        RingSender { lines, progress, mask: place.lines - 1, next: 0, consumed: 0, payload }
    }

    /// Claims a line and `bytes` of payload (0: none); `None` if the receiver must consume
    /// something first.
    #[inline(always)]
    pub(crate) fn claim(&mut self, bytes: usize) -> Option<RingClaim> {
        if self.next.wrapping_sub(self.consumed) > self.mask {
            self.look();
            if self.next.wrapping_sub(self.consumed) > self.mask {
                return None;
            }
        }
        let line = (self.next & self.mask) as usize;
        if bytes == 0 {
            return Some(RingClaim { line, payload: 0 });
        }
        let bytes = (bytes as u32).next_multiple_of(LINE as u32);
        let walk = if bytes > LONG { WALK * bytes } else { 0 };
        let payload = match self.payload.find_room(bytes) {
            // Before touching fresh pages, check whether used ones are free again. Longer messages
            // do not check: it costs a cache line from the other core, and the lines of the used
            // pages have already left that core's cache.
            Some(offset) if offset + bytes <= self.payload.touched.max(walk) => offset,
            first => {
                self.look();
                self.payload.find_room_again(bytes).or(first)?
            }
        };
        self.payload.take(payload, bytes);
        Some(RingClaim { line, payload: payload as usize })
    }

    /// Number of committed entries, modulo 2^32.
    #[inline]
    pub(crate) fn committed(&self) -> u32 {
        self.next
    }

    /// True if the receiver has consumed entry `number`, a committed entry counted from 1, modulo
    /// 2^32.
    #[inline]
    pub(crate) fn has_consumed(&mut self, number: u32) -> bool {
        // At most as many entries as there are lines are in flight, so any entry farther back is
        // consumed.
        let behind = self.next.wrapping_sub(number);
        let is_consumed = |ring: &Self| ring.next.wrapping_sub(ring.consumed) <= behind;
        if behind <= self.mask && !is_consumed(self) {
            self.look();
        }
        behind > self.mask || is_consumed(self)
    }

    /// True if the receiver has consumed any entry of this ring.
    pub(crate) fn has_consumed_some(&mut self) -> bool {
        self.next != 0 && self.has_consumed(1)
    }

    /// True if this many lines can be claimed.
    #[inline]
    pub(crate) fn has_lines(&mut self, lines: u32) -> bool {
        let limit = self.mask + 1;
        if self.next.wrapping_sub(self.consumed) + lines > limit {
            self.look();
        }
        self.next.wrapping_sub(self.consumed) + lines <= limit
    }

    /// Publishes the claimed line, which is complete except for the flag.
    #[inline(always)]
    pub(crate) fn commit(&mut self) {
        let line = self.next & self.mask;
        self.payload.ends[line as usize] = self.payload.head;
        self.next = self.next.wrapping_add(1);
        self.lines.store_release(line as usize * LINE_WORDS, self.next);
    }

    /// Returns the range `from..to` of payload bytes that claims have reached beyond the populated
    /// ones; each range only once.
    #[inline]
    pub(crate) fn grown(&mut self) -> Option<(usize, usize)> {
        let (from, to) = (self.payload.touched, self.payload.reached);
        (to > from).then(|| {
            self.payload.touched = to;
            (from as usize, to as usize)
        })
    }

    /// Payload pages cannot be populated: undoes the claim and stays below `limit` from now on.
    pub(crate) fn shrink(&mut self, limit: usize) {
        self.payload.give_back(limit as u32);
    }

    #[inline(never)]
    fn look(&mut self) {
        let consumed = self.progress.load_acquire(0);
        if consumed != self.consumed {
            self.consumed = consumed;
            let under_way = (0..self.next.wrapping_sub(consumed))
                .map(|number| consumed.wrapping_add(number) & self.mask);
            self.payload.consumed(consumed.wrapping_sub(1) & self.mask, under_way);
        }
    }
}

/// FIFO allocator of payload bytes, private to the sender.
struct PayloadAllocator {
    size: u32,
    /// Next free byte.
    head: u32,
    /// Oldest byte in use. If head < tail, the bytes in use wrap around.
    tail: u32,
    /// Head before the claim that is not committed yet.
    before: u32,
    /// Highest byte that claims have reached.
    reached: u32,
    /// Highest byte whose page is populated.
    touched: u32,
    /// Head after each line's entry.
    ends: Box<[u32]>,
}

impl PayloadAllocator {
    fn new(lines: u32, size: u32, touched: u32) -> PayloadAllocator {
        let ends = vec![0; lines as usize].into_boxed_slice();
        PayloadAllocator { size, head: 0, tail: 0, before: 0, reached: 0, touched, ends }
    }

    /// Offset of `bytes` free contiguous bytes.
    #[inline]
    fn find_room(&self, bytes: u32) -> Option<u32> {
        if self.head >= self.tail {
            if self.head + bytes <= self.size {
                return Some(self.head);
            }
            return (bytes < self.tail).then_some(0);
        }
        (self.head + bytes < self.tail).then_some(self.head)
    }

    /// Like [`PayloadAllocator::find_room`], just after the receiver's progress was read. A short
    /// message starts the next lap instead of touching fresh pages, once a lap is so long that a
    /// check per lap costs little.
    fn find_room_again(&self, bytes: u32) -> Option<u32> {
        let found = self.find_room(bytes);
        let is_fresh = found.is_some_and(|offset| offset + bytes > self.touched);
        let laps =
            bytes <= SHORT && self.touched >= LAP && self.head >= self.tail && bytes < self.tail;
        if is_fresh && laps { Some(0) } else { found }
    }

    #[inline]
    fn take(&mut self, offset: u32, bytes: u32) {
        self.before = self.head;
        self.head = offset + bytes;
        self.reached = self.reached.max(self.head);
    }

    fn give_back(&mut self, limit: u32) {
        self.head = self.before;
        self.size = limit;
        self.reached = self.reached.min(limit);
    }

    /// Frees the payload up to that of `last_line`. The entries of the lines `under_way` are not
    /// consumed yet.
    fn consumed(&mut self, last_line: u32, under_way: impl Iterator<Item = u32>) {
        self.tail = self.ends[last_line as usize];
        if self.tail == self.head {
            // Nothing is in use: a longer payload fits only if the free bytes are contiguous.
            self.head = 0;
            self.tail = 0;
            under_way.for_each(|line| self.ends[line as usize] = 0);
        }
    }
}

/// The receiver's end.
pub(crate) struct RingReceiver<W> {
    lines: W,
    progress: W,
    mask: u32,
    next: u32,
    published: u32,
    bytes: u32,
    bytes_per_publication: u32,
}

impl<W: Words> RingReceiver<W> {
    /// Takes the same arguments as [`RingSender::new`].
    pub(crate) fn new(lines: W, progress: W, place: &RingPlace) -> RingReceiver<W> {
        let RingPlace { lines: count, bytes, provided, .. } = *place;
        // At most half a lap per publication, so that a sender that stays within a lap finds room
        // before the end of the lap.
        let bytes_per_publication =
            if provided >= LAP { (bytes / 4).min(provided / 2) } else { bytes / 4 };
        RingReceiver {
            lines,
            progress,
            mask: count - 1,
            next: 0,
            published: 0,
            bytes: 0,
            bytes_per_publication,
        }
    }

    /// Watches the entries from the next one on.
    #[inline]
    pub(crate) fn follower(&self) -> Follower<W>
    where
        W: Clone,
    {
        Follower { lines: self.lines.clone(), mask: self.mask, first: self.next }
    }

    /// Number of consumed entries, modulo 2^32.
    pub(crate) fn taken(&self) -> u32 {
        self.next
    }

    /// Index of the line of the next entry, if it has arrived.
    #[inline]
    pub(crate) fn ready(&self) -> Option<usize> {
        let line = (self.next & self.mask) as usize;
        (self.lines.load_acquire(line * LINE_WORDS) == self.next.wrapping_add(1)).then_some(line)
    }

    /// Consumes the entry, which has `bytes` bytes of payload. True if the progress was published:
    /// the sender may be asleep, waiting for room.
    #[inline]
    pub(crate) fn advance(&mut self, bytes: usize) -> bool {
        self.next = self.next.wrapping_add(1);
        self.bytes += bytes as u32;
        let due = self.next.wrapping_sub(self.published) > self.mask / 2
            || self.bytes >= self.bytes_per_publication;
        if due {
            self.publish();
        }
        due
    }

    /// Publishes the progress when no more entries have arrived. True if the sender may be asleep,
    /// waiting for room.
    ///
    /// A sender waits for a payload to be freed, for a line of a full ring, or for the first entry
    /// of a ring, which shows that all places before it are read. After a few later entries without
    /// payload it waits for none of these: were the ring full, the entries that it still holds
    /// would be more than a few, and their progress is published loudly.
    #[inline]
    pub(crate) fn rest(&mut self) -> bool {
        let entries = self.next.wrapping_sub(self.published);
        if entries == 0 {
            return false;
        }
        let is_first = self.published == 0;
        let loud = self.bytes > 0 || is_first || entries > self.mask / FEW;
        self.publish();
        loud
    }

    fn publish(&mut self) {
        self.published = self.next;
        self.bytes = 0;
        self.progress.store_release(0, self.next);
    }
}

/// Watches entries of a ring without consuming them: the parts of a message that its sender
/// publishes one by one.
pub(crate) struct Follower<W> {
    lines: W,
    mask: u32,
    first: u32,
}

impl<W: Words> Follower<W> {
    /// True if entry `number`, counted from the first watched one, has arrived.
    #[inline]
    pub(crate) fn is_here(&self, number: u32) -> bool {
        let entry = self.first.wrapping_add(number);
        self.lines.load_acquire((entry & self.mask) as usize * LINE_WORDS) == entry.wrapping_add(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;
    use towpath_base::sync::{AtomicU32, Ordering};

    #[derive(Clone)]
    struct Private(Rc<[AtomicU32]>);

    impl Private {
        fn new(words: usize) -> Private {
            Private((0..words).map(|_| AtomicU32::new(0)).collect())
        }
    }

    impl Words for Private {
        fn load_acquire(&self, index: usize) -> u32 {
            self.0[index].load(Ordering::Acquire)
        }
        fn load_relaxed(&self, index: usize) -> u32 {
            self.0[index].load(Ordering::Relaxed)
        }
        fn store_release(&self, index: usize, value: u32) {
            self.0[index].store(value, Ordering::Release);
        }
    }

    #[test]
    fn short_messages_do_not_touch_more_than_a_lap() {
        let place = RingPlace { offset: 0, lines: 32, bytes: 65536, provided: LAP + 2048 };
        let (mut sender, mut receiver) = ends(&place);
        let mut under_way = std::collections::VecDeque::new();
        for number in 0..1000 {
            let bytes = 700 + 64 * (number % 16);
            let claim = sender.claim(bytes).expect("room for three messages");
            let ranges: Vec<&(usize, usize)> = under_way.iter().collect();
            let end = claim.payload + bytes;
            assert!(
                ranges.iter().all(|(from, to)| end <= *from || *to <= claim.payload),
                "message {number} on another"
            );
            assert_eq!(sender.grown(), None, "message {number} touches fresh pages");
            sender.commit();
            under_way.push_back((claim.payload, end));
            // One is always in flight, so the sender never finds the ring empty.
            if under_way.len() > 2 {
                let (from, to): (usize, usize) = under_way.pop_front().unwrap();
                assert!(receiver.ready().is_some());
                receiver.advance(to - from);
            }
        }
    }

    fn pair(lines: u32, bytes: u32) -> (RingSender<Private>, RingReceiver<Private>) {
        ends(&RingPlace { offset: 0, lines, bytes, provided: bytes })
    }

    fn ends(place: &RingPlace) -> (RingSender<Private>, RingReceiver<Private>) {
        let (words, progress) = (Private::new(place.lines as usize * LINE_WORDS), Private::new(1));
        let sender = RingSender::new(words.clone(), progress.clone(), place);
        (sender, RingReceiver::new(words, progress, place))
    }

    #[test]
    fn a_full_ring_refuses_until_the_receiver_rests() {
        let (mut sender, mut receiver) = pair(4, 256);
        for _ in 0..4 {
            sender.claim(0).unwrap();
            sender.commit();
        }
        assert_eq!(sender.claim(0), None);
        assert_eq!(receiver.ready(), Some(0));
        receiver.advance(0);
        receiver.rest();
        assert_eq!(sender.claim(0).unwrap().line, 0);
    }

    #[test]
    fn entries_are_consumed_in_order_and_for_good() {
        let (mut sender, mut receiver) = pair(4, 256);
        assert!(!sender.has_consumed_some());
        let send = |sender: &mut RingSender<Private>| {
            sender.claim(0).expect("a line");
            sender.commit();
        };
        (0..3).for_each(|_| send(&mut sender));
        assert!(!sender.has_consumed_some() && !sender.has_consumed(3));
        assert!(receiver.ready().is_some());
        receiver.advance(0);
        receiver.rest();
        assert!(sender.has_consumed_some() && sender.has_consumed(1));
        assert!(!sender.has_consumed(2) && !sender.has_consumed(3));
        // After so many entries that the count has wrapped.
        (sender.next, sender.consumed) = (2, u32::MAX);
        assert!(
            sender.has_consumed(u32::MAX)
                && sender.has_consumed(u32::MAX / 3)
                && sender.has_consumed(5)
        );
        sender.progress.store_release(0, u32::MAX);
        assert!(!sender.has_consumed(0) && !sender.has_consumed(2));
    }

    #[test]
    fn only_progress_that_a_sender_may_wait_for_wakes_it() {
        let (mut sender, mut receiver) = pair(16, 1024);
        let mut exchange = |bytes: &[usize]| {
            for &bytes in bytes {
                sender.claim(bytes).expect("there is room");
                sender.commit();
            }
            for &bytes in bytes {
                receiver.ready().expect("it was committed");
                assert!(!receiver.advance(bytes), "half a ring was not consumed");
            }
            receiver.rest()
        };
        assert!(!exchange(&[]));
        assert!(exchange(&[0]), "what was sent before this ring is read");
        assert!(!exchange(&[0; 3]), "there were other lines");
        assert!(exchange(&[0; 4]));
        assert!(exchange(&[64]), "payload was freed");
        assert!(!exchange(&[0]));
    }

    #[test]
    fn free_payload_is_contiguous_even_before_all_entries_are_consumed() {
        let (mut sender, mut receiver) = pair(8, 1024);
        for bytes in [512, 0, 0] {
            sender.claim(bytes).expect("there is room");
            sender.commit();
        }
        receiver.advance(512);
        receiver.rest();
        assert_eq!(sender.claim(1024).map(|claim| claim.payload), Some(0));
        sender.commit();
        receiver.advance(0);
        receiver.advance(0);
        receiver.rest();
        assert_eq!(sender.claim(64), None, "the long payload is still in use");
    }

    #[test]
    fn payload_starts_again_at_zero_when_all_is_consumed() {
        let (mut sender, mut receiver) = pair(8, 1024);
        assert_eq!(sender.claim(700).unwrap().payload, 0);
        sender.commit();
        assert_eq!(sender.claim(700), None);
        receiver.ready().unwrap();
        receiver.advance(700);
        receiver.rest();
        assert_eq!(sender.claim(700).unwrap().payload, 0);
    }

    #[test]
    fn a_message_in_parts_is_followed_line_by_line_and_longer_ones_walk() {
        let (mut sender, mut receiver) = pair(16, 128 * 1024);
        let mut offsets = Vec::new();
        let step = 2 * LONG as usize;
        for _ in 0..5 {
            assert!(sender.has_lines(2));
            offsets.push(sender.claim(step).unwrap().payload);
            sender.commit();
            let follower = receiver.follower();
            assert!(follower.is_here(0) && !follower.is_here(1));
            sender.claim(0).unwrap();
            sender.commit();
            assert!(follower.is_here(1) && !follower.is_here(2));
            receiver.advance(step);
            receiver.advance(0);
            receiver.rest();
        }
        assert!(!sender.has_lines(17));
        assert_eq!(offsets, [0, step, 2 * step, 3 * step, 4 * step]);
    }

    /// Random traffic checked against a list of what is in flight: payloads never overlap, order
    /// and count are kept.
    #[test]
    fn payloads_in_flight_never_overlap() {
        let mut random = 0x9E37_79B9_7F4A_7C15u64;
        let mut below = move |limit: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % limit
        };
        for (lines, bytes) in [(2, 128), (4, 1024), (64, 4096)] {
            let (mut sender, mut receiver) = pair(lines, bytes);
            let mut flight: std::collections::VecDeque<(usize, usize)> = Default::default();
            let mut refused = 0;
            for _ in 0..20_000 {
                if below(2) == 0 {
                    let length = below(u64::from(bytes / 2) + 1) as usize;
                    let Some(claim) = sender.claim(length) else {
                        refused += 1;
                        continue;
                    };
                    sender.commit();
                    let end = claim.payload + length;
                    assert!(length == 0 || end <= bytes as usize);
                    let apart = |(a, b): &(usize, usize)| {
                        length == 0 || a == b || end <= *a || *b <= claim.payload
                    };
                    assert!(flight.iter().all(apart));
                    flight
                        .push_back((claim.payload, if length == 0 { claim.payload } else { end }));
                } else if receiver.ready().is_some() {
                    let (begin, end) = flight.pop_front().unwrap();
                    receiver.advance(end - begin);
                } else {
                    assert!(flight.is_empty());
                    receiver.rest();
                }
            }
            assert!(refused > 100, "the ring was never full");
        }
    }
}
