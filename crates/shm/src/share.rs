//! Split copies: messages that sender and receiver copy together. Their representation in the
//! segment: lines of the sender, lines of the receiver, and the claims of both ([`super::claims`]).
//!
//! The receiver can reach the bytes because they are in a heap (memory from `MPI_Alloc_mem`), or by
//! reading the memory of the sender's process. The sender writes the location of the bytes before
//! it announces the message; the receiver writes the location of the target before it joins.

use towpath_base::sync::{LongWords, MappedLongWords};
use towpath_base::transfer::{CopyAcross, EXPORT_WORDS, Export, Layout, STRIDES_WORDS, Strides};
use towpath_machine::memory::read_process;

use super::claims::{Claims, MOST_UNITS};
use super::layout::{LINE, SHARES};
use super::segment::Segment;
use towpath_transport::copy;

/// Words of one line.
const LINE_WORDS: usize = LINE / 8;
/// The sender's line. After the word that counts its copied units: the message's generation, the
/// address of its bytes, their offset in the heaps plus 1 (0 if they are not in the heaps), the
/// address and the value of the mark by which a reader recognizes the sender's process, their span
/// (0: contiguous), and whether they are exported from the memory of a device.
const GENERATION: usize = 1;
pub(super) const ADDRESS: usize = 2;
const HEAP: usize = 3;
const MARK_AT: usize = 4;
const MARK: usize = 5;
const SPAN: usize = 6;
pub(super) const EXPORTED: usize = 7;
/// The receiver's line. After the word that counts its copied units: the offset of the target in
/// the heaps plus 1 (0 if it is not in the heaps), the number of bytes wanted, their span (0:
/// contiguous), whether the target is lent from the memory of a device, and what slots it wants.
const TARGET: usize = LINE_WORDS + 1;
const WANTED: usize = LINE_WORDS + 2;
const TARGET_SPAN: usize = LINE_WORDS + 3;
const TARGET_LENT: usize = LINE_WORDS + 4;
pub(super) const WANTED_SLOTS: usize = LINE_WORDS + 5;
/// The strides of both sides, if they are not contiguous.
const STRIDES: usize = 3 * LINE_WORDS;
const TARGET_STRIDES: usize = 5 * LINE_WORDS;
/// What both sides export.
pub(super) const EXPORT: usize = 7 * LINE_WORDS;
const TARGET_EXPORT: usize = EXPORT + EXPORT_WORDS;
/// The pieces of a pipeline that the sender has filled, and that the receiver has emptied, behind
/// the strides of either side.
pub(super) const FILLED: usize = STRIDES + STRIDES_WORDS;
pub(super) const EMPTIED: usize = TARGET_STRIDES + STRIDES_WORDS;
/// Values of the word `EXPORTED`: the receiver reads the bytes, or the sender writes them if the
/// receiver has lent its buffer; the sender cannot open a buffer that was lent. Others are answers
/// about slots ([`super::pipeline`]).
const IS_EXPORTED: u64 = 1;
const CANNOT_WRITE: u64 = 2;

/// Smallest message through a bounce buffer of which the receiver may take some units by CMA reads
/// instead.
pub(super) const SHARED_AT_LEAST: usize = 256 << 10;

const SMALLEST_UNIT: usize = 32 << 10;
const LARGEST_UNIT: usize = 128 << 10;

/// Size of the units in which a message between heaps is copied: an eighth of the message, within
/// limits.
pub(super) fn direct_unit(length: usize) -> usize {
    let most = (length / MOST_UNITS + 1).next_multiple_of(LARGEST_UNIT);
    if length / LARGEST_UNIT >= MOST_UNITS {
        return most;
    }
    (length / 8).next_multiple_of(LINE).clamp(SMALLEST_UNIT, LARGEST_UNIT)
}

/// Copies one unit of a message of which `wanted` bytes are wanted.
///
/// # Safety
/// The unit must be claimed by the calling side. Both layouts must hold `wanted` bytes in valid
/// memory. Without `across`, both must be contiguous.
pub(super) unsafe fn copy_unit(
    from: &Layout,
    to: &Layout,
    unit: u32,
    wanted: usize,
    across: Option<CopyAcross>,
) {
    let size = direct_unit(wanted);
    let at = unit as usize * size;
    let length = size.min(wanted - at);
    // SAFETY: `at + length <= wanted`, so the unit is inside both layouts, which are valid; without
    // `across` both are contiguous (this function's contract).
    unsafe {
        match across
            .filter(|_| from.strides != Strides::CONTIGUOUS || to.strides != Strides::CONTIGUOUS)
        {
            Some(across) => across(from, to, at, length),
            None => copy::contiguous(from.lowest.add(at), to.lowest.add(at), length),
        }
    }
}

/// The lines of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShareLines {
    pub(super) words: MappedLongWords,
    claims: MappedLongWords,
}

/// Bytes in the heaps.
#[derive(Clone, Copy, Debug)]
pub(super) struct InHeap {
    offset: usize,
    /// Their span and strides, if they are not contiguous.
    strided: Option<(usize, Strides)>,
}

impl InHeap {
    /// The location of a layout; `None` if some of its bytes are not in the heaps.
    pub(super) fn of(segment: &Segment, layout: &Layout) -> Option<InHeap> {
        let offset = segment.in_heaps(layout.lowest, layout.span)?;
        let strided =
            (layout.strides != Strides::CONTIGUOUS).then_some((layout.span, layout.strides));
        Some(InHeap { offset, strided })
    }

    /// The layout of `length` of these bytes in this process; `None` if they are not inside its
    /// mapping.
    pub(super) fn layout(self, segment: &Segment, length: usize) -> Option<Layout> {
        let (span, strides) = self.strided.unwrap_or((length, Strides::CONTIGUOUS));
        let lowest = segment.heap_address(self.offset)?;
        segment.in_heaps(lowest, span)?;
        Some(Layout { lowest, span, strides })
    }
}

/// Where the bytes of a message are, as published by its sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct MessagePlace {
    pub(super) address: u64,
    /// Set if they are in the heaps.
    pub(super) heap: Option<InHeap>,
}

/// Address and value of a word that identifies a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) address: u64,
    pub(super) value: u64,
}

impl Mark {
    /// True if this process can read the memory of process `pid`, and that is the process with the
    /// mark. In another PID namespace, a different process may have this number here.
    pub(super) fn is_of(self, pid: u32) -> bool {
        let mut word = [0; 8];
        read_process(pid, self.address, &mut word).is_ok() && u64::from_ne_bytes(word) == self.value
    }
}

impl ShareLines {
    pub(super) fn new(segment: &Segment, owner: u32, index: u32) -> ShareLines {
        let at = segment.layout().share(owner as usize, index as usize);
        // SAFETY: the lines of a share are in the segment, 8-aligned, and hold all words that are
        // used here. Shares are owned by the wire, which holds the segment.
        unsafe {
            ShareLines {
                words: segment.long_words(at, 1),
                claims: segment.long_words(at, LINE_WORDS),
            }
        }
    }

    /// Sender: starts a message in these lines.
    pub(super) fn open(
        self,
        generation: u32,
        front: bool,
        place: MessagePlace,
        mark: Mark,
    ) -> Claims<MappedLongWords> {
        self.describe([HEAP, SPAN, STRIDES], place.heap);
        self.words.store_release(EXPORTED, 0);
        let words = [(ADDRESS, place.address), (MARK_AT, mark.address), (MARK, mark.value)];
        words.into_iter().for_each(|(word, value)| self.words.store_release(word, value));
        self.words.store_release(GENERATION, u64::from(generation));
        Claims::open(self.claims, generation, front)
    }

    /// Receiver of an announced message: returns its claims, the location of the bytes, and the
    /// mark.
    pub(super) fn follow(
        self,
        front: bool,
        units: u32,
    ) -> (Claims<MappedLongWords>, MessagePlace, Mark) {
        let word = |word| self.words.load_acquire(word);
        let claims = Claims::follow(self.claims, word(GENERATION) as u32, front, units);
        let place =
            MessagePlace { address: word(ADDRESS), heap: self.described([HEAP, SPAN, STRIDES]) };
        (claims, place, Mark { address: word(MARK_AT), value: word(MARK) })
    }

    /// Receiver: publishes the location and the length of its target. Must precede the join.
    pub(super) fn set_target(self, heap: Option<InHeap>, wanted: usize) {
        self.describe([TARGET, TARGET_SPAN, TARGET_STRIDES], heap);
        self.words.store_release(WANTED, wanted as u64);
    }

    /// Sender: returns what [`ShareLines::set_target`] has published. Valid once the receiver has
    /// joined.
    pub(super) fn target(self) -> (Option<InHeap>, usize) {
        let heap = self.described([TARGET, TARGET_SPAN, TARGET_STRIDES]);
        (heap, self.words.load_acquire(WANTED) as usize)
    }

    /// Sender: describes bytes in the memory of a device.
    pub(super) fn set_export(self, source: &Export) {
        self.write_export(EXPORT, source);
        self.words.store_release(EXPORTED, IS_EXPORTED);
    }

    /// Receiver: returns what [`ShareLines::set_export`] has written.
    pub(super) fn export(self) -> Option<Export> {
        (self.words.load_acquire(EXPORTED) != 0).then(|| self.read_export(EXPORT))
    }

    /// Receiver: lends its buffer in the memory of a device, or not, and publishes the number of
    /// bytes wanted. Must precede the join.
    pub(super) fn lend(self, target: Option<&Export>, wanted: usize) {
        if let Some(target) = target {
            self.write_export(TARGET_EXPORT, target);
        }
        self.words.store_release(WANTED_SLOTS, 0);
        self.words.store_release(EMPTIED, 0);
        self.words.store_release(TARGET_LENT, u64::from(target.is_some()));
        self.words.store_release(WANTED, wanted as u64);
    }

    /// Sender: returns what [`ShareLines::lend`] has written. Valid once the receiver has joined.
    pub(super) fn lent(self) -> (Option<Export>, usize) {
        let lent = self.words.load_acquire(TARGET_LENT) != 0;
        let wanted = self.words.load_acquire(WANTED) as usize;
        (lent.then(|| self.read_export(TARGET_EXPORT)), wanted)
    }

    /// Sender: tells the receiver that it cannot write to the buffer that it lends.
    pub(super) fn cannot_write(self) {
        self.words.store_release(EXPORTED, CANNOT_WRITE);
    }

    /// Receiver: true if the sender cannot write to the buffer that it was lent.
    pub(super) fn is_returned(self) -> bool {
        self.words.load_acquire(EXPORTED) == CANNOT_WRITE
    }

    pub(super) fn write_export(self, at: usize, export: &Export) {
        (at..).zip(export.0).for_each(|(word, value)| self.words.store_release(word, value));
    }

    pub(super) fn read_export(self, at: usize) -> Export {
        Export(std::array::from_fn(|word| self.words.load_acquire(at + word)))
    }

    /// Writes a location in the heaps into these words: offset, span and strides.
    fn describe(self, at: [usize; 3], heap: Option<InHeap>) {
        self.words.store_release(at[0], heap.map_or(0, |heap| heap.offset as u64 + 1));
        let strided = heap.and_then(|heap| heap.strided);
        self.words.store_release(at[1], strided.map_or(0, |(span, _)| span as u64));
        let strides = strided.iter().flat_map(|(_, strides)| strides.0);
        (at[2]..).zip(strides).for_each(|(word, value)| self.words.store_release(word, value));
    }

    /// Reads what [`ShareLines::describe`] has written.
    fn described(self, at: [usize; 3]) -> Option<InHeap> {
        let offset = (self.words.load_acquire(at[0]) as usize).checked_sub(1)?;
        let span = self.words.load_acquire(at[1]) as usize;
        let strides = || Strides(std::array::from_fn(|word| self.words.load_acquire(at[2] + word)));
        Some(InHeap { offset, strided: (span > 0).then(|| (span, strides())) })
    }
}

/// The lines that a sender has for its messages.
pub(super) struct Shares {
    own: u32,
    held: [bool; SHARES],
    generations: [u32; SHARES],
    /// Lines whose pages are populated.
    provided: usize,
    /// Identifies this process to a reader of its memory.
    mark: Box<u64>,
}

impl Shares {
    pub(super) fn new(segment: &Segment) -> Shares {
        use towpath_base::sync::Ordering;
        let own = segment.own_rank();
        let job = segment.head().nonce.load(Ordering::Relaxed);
        Shares {
            own: own as u32,
            held: [false; SHARES],
            generations: [0; SHARES],
            provided: 0,
            mark: Box::new(
                job.rotate_left(17) ^ (own as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15),
            ),
        }
    }

    /// Identifies this process.
    pub(super) fn mark(&self) -> Mark {
        Mark { address: std::ptr::from_ref(&*self.mark) as u64, value: *self.mark }
    }

    /// Starts a message; `None` if there are no lines for it.
    pub(super) fn open(
        &mut self,
        segment: &Segment,
        front: bool,
        place: MessagePlace,
    ) -> Option<(u32, Claims<MappedLongWords>)> {
        let index = self.held.iter().position(|held| !held)?;
        if index >= self.provided {
            let (first, end) = (segment.layout().share(self.own as usize, index), index + 1);
            if !segment.populate(first, super::layout::SHARE_BYTES) {
                return None;
            }
            self.provided = end;
        }
        self.held[index] = true;
        self.generations[index] = self.generations[index].wrapping_add(1);
        let lines = ShareLines::new(segment, self.own, index as u32);
        Some((index as u32, lines.open(self.generations[index], front, place, self.mark())))
    }

    /// The message in these lines is complete.
    pub(super) fn close(&mut self, index: u32) {
        self.held[index as usize] = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::SHARE_BYTES;

    #[test]
    fn the_lines_of_a_message_hold_its_strides() {
        let last = [SPAN, TARGET_SPAN % LINE_WORDS].into_iter().max();
        assert!(last < Some(LINE_WORDS) && STRIDES_WORDS < 2 * LINE_WORDS);
        assert_eq!(
            [TARGET_STRIDES - STRIDES, EXPORT - TARGET_STRIDES],
            [2 * LINE_WORDS, 2 * LINE_WORDS]
        );
        assert_eq!((TARGET_EXPORT + EXPORT_WORDS) * 8, SHARE_BYTES);
    }

    #[test]
    fn messages_of_all_lengths_have_few_enough_units() {
        for length in [1, 1 << 17, 1 << 20, 4 << 20, 1 << 37, (1 << 47) + 5] {
            let unit = direct_unit(length);
            assert!(
                length.div_ceil(unit) <= MOST_UNITS && unit.is_multiple_of(LINE),
                "{length} bytes in units of {unit}"
            );
        }
        assert_eq!([1 << 18, 1 << 19, 1 << 24].map(direct_unit), [1 << 15, 1 << 16, 1 << 17]);
    }
}
