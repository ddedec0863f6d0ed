//! The words of a section: the gate of a buffer and the flag of each header. This is the only
//! lock-free part of the strict mode.
//!
//! A flag has one writer at a time: in state EMPTY or BUSY only the section's sender changes it, in
//! state FULL only the buffer's owner. Payload is transferred by stop-and-wait, one chunk per
//! section. Only the owner writes the gate: an odd value is closed, and each new even value is a
//! new division. The protocol is the paper's internal barrier, restricted to one buffer:
//!
//! * *revoke*: the owner closes the gate, then reads the flags;
//! * *revoked*: a sender whose flag the owner has read as EMPTY once is out, because the sender
//!   reads the gate again after it has written BUSY, and before it accesses anything else. Both
//!   sides have a sequentially consistent fence between their write and their read, so at least one
//!   of them sees the other's write;
//! * *grant*: when all senders are out, the owner writes the new payload areas to its table and
//!   opens the gate.
//!
//! All ranks that have a section take part, whether or not they are in the topology, and none of
//! them needs to call MPI for it.

use towpath_base::sync::{MappedWords, Ordering, Words, fence};

/// Words for protocols in which each of two sides writes one word and then reads the other's, and
/// at least one must see the other's write (as in Dekker's algorithm).
pub(crate) trait Fenced: Words {
    /// A sequentially consistent fence.
    fn fence(&self);
}

impl Fenced for MappedWords {
    #[inline]
    fn fence(&self) {
        fence(Ordering::SeqCst);
    }
}

/// Index of the flag in a header line.
const FLAG: usize = 0;
/// Index of the chunk's length in bytes in a header line.
const LENGTH: usize = 1;
/// Number of words in use in a header line.
pub(crate) const HEADER_WORDS: usize = 2;

const EMPTY: u32 = 0;
const BUSY: u32 = 1;
const FULL: u32 = 2;

/// The result of claiming a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SectionClaim {
    /// The owner has not taken the last chunk yet.
    Taken,
    /// The buffer is being divided, or its owner has not started.
    Closed,
    /// Like [`SectionClaim::Closed`], but the flag was BUSY for a moment. The owner may have seen
    /// that and gone to sleep, so it must be woken up to see EMPTY again.
    Stepped,
    /// The section belongs to the sender until [`Writer::commit`], in the division with this
    /// number.
    Granted(u32),
}

/// The sender's side of a section.
pub(crate) struct Writer<W> {
    gate: W,
    header: W,
}

impl<W: Fenced> Writer<W> {
    pub(crate) fn new(gate: W, header: W) -> Writer<W> {
        Writer { gate, header }
    }

    /// Tries to claim the section for one chunk.
    pub(crate) fn claim(&self) -> SectionClaim {
        if self.header.load_acquire(FLAG) != EMPTY {
            return SectionClaim::Taken;
        }
        if is_closed(self.gate.load_acquire(0)) {
            return SectionClaim::Closed;
        }
        self.header.store_release(FLAG, BUSY);
        self.header.fence();
        let gate = self.gate.load_acquire(0);
        if is_closed(gate) {
            self.header.store_release(FLAG, EMPTY);
            return SectionClaim::Stepped;
        }
        SectionClaim::Granted(gate)
    }

    /// Passes a chunk of `length` bytes to the owner.
    pub(crate) fn commit(&self, length: u32) {
        self.header.store_release(LENGTH, length);
        self.header.store_release(FLAG, FULL);
    }

    /// True until the owner's first [`Gate::open`].
    pub(crate) fn is_unopened(&self) -> bool {
        self.gate.load_relaxed(0) == 0
    }
}

/// The owner's side of a section.
pub(crate) struct Reader<W> {
    header: W,
}

impl<W: Words> Reader<W> {
    pub(crate) fn new(header: W) -> Reader<W> {
        Reader { header }
    }

    /// Length of the pending chunk in bytes, if there is one.
    #[inline]
    pub(crate) fn full(&self) -> Option<usize> {
        (self.header.load_acquire(FLAG) == FULL).then(|| self.header.load_relaxed(LENGTH) as usize)
    }

    /// Returns the section to the sender.
    #[inline]
    pub(crate) fn clear(&self) {
        self.header.store_release(FLAG, EMPTY);
    }

    /// True if the sender is out; call it after [`Gate::close`].
    pub(crate) fn is_out(&self) -> bool {
        self.header.load_acquire(FLAG) == EMPTY
    }
}

/// The owner's side of the gate.
pub(crate) struct Gate<W> {
    word: W,
    number: u32,
}

impl<W: Fenced> Gate<W> {
    /// The gate of a new buffer: closed.
    pub(crate) fn new(word: W) -> Gate<W> {
        Gate { word, number: 0 }
    }

    /// Closes the gate: sections that are seen empty after that stay empty.
    pub(crate) fn close(&mut self) {
        self.number |= 1;
        self.word.store_release(0, self.number);
        self.word.fence();
    }

    /// Opens the gate, which publishes the division that was written before.
    pub(crate) fn open(&mut self) {
        self.number = (self.number | 1).wrapping_add(1).max(2);
        self.word.store_release(0, self.number);
    }
}

fn is_closed(gate: u32) -> bool {
    gate == 0 || gate % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use towpath_base::sync::AtomicU32;

    /// Two words of a header and one of a gate, on the stack of a test.
    struct Memory([AtomicU32; 3]);

    impl Memory {
        fn words(&self) -> (MappedWords, MappedWords) {
            let first = std::ptr::from_ref(&self.0[0]).cast_mut();
            // SAFETY: the array has three contiguous atomics, and outlives all words that the tests
            // make of it.
            unsafe {
                (
                    MappedWords::new(first.cast(), HEADER_WORDS),
                    MappedWords::new(first.add(2).cast(), 1),
                )
            }
        }
    }

    #[test]
    fn chunks_go_one_by_one_and_only_through_an_open_gate() {
        let memory = Memory(Default::default());
        let (header, word) = memory.words();
        let (writer, reader, mut gate) =
            (Writer::new(word, header), Reader::new(header), Gate::new(word));
        assert!(writer.is_unopened());
        assert_eq!(writer.claim(), SectionClaim::Closed);
        gate.open();
        assert_eq!(writer.claim(), SectionClaim::Granted(2));
        assert!(!reader.is_out() && reader.full().is_none());
        writer.commit(7);
        assert_eq!((writer.claim(), reader.full()), (SectionClaim::Taken, Some(7)));
        gate.close();
        assert!(!reader.is_out());
        reader.clear();
        assert!(reader.is_out());
        assert_eq!(writer.claim(), SectionClaim::Closed);
        gate.open();
        assert_eq!(writer.claim(), SectionClaim::Granted(4));
        assert!(!writer.is_unopened());
    }

    #[test]
    fn a_gate_that_has_turned_over_is_never_taken_for_a_new_one() {
        let memory = Memory(Default::default());
        let (header, word) = memory.words();
        let mut gate = Gate { word, number: u32::MAX - 1 };
        gate.close();
        gate.open();
        assert!(!Writer::new(word, header).is_unopened());
        assert_eq!(gate.number, 2);
    }
}
