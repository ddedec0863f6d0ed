//! The words of a section: the gate of a buffer and the flag of each header. The only lock-free
//! part of the strict mode.
//!
//! A flag has one writer at a time: EMPTY and BUSY belong to the section's sender, FULL to the
//! buffer's owner. Payload moves by stop-and-wait, one chunk in a section. The gate belongs to the
//! owner: odd is closed, a new even value is a new division. It is the paper's internal barrier, of
//! one buffer:
//!
//! * *revoke*: the owner closes the gate, then looks at the flags;
//! * *revoked*: a flag that is seen EMPTY once is out, because its sender looks at the gate again
//!   after BUSY and before it touches anything else (both sides have a full fence between their
//!   write and their look, so one of them sees the other);
//! * *grant*: when all flags were seen, the owner writes where everybody's payload lies and opens
//!   the gate.
//!
//! All who own a section take part, members of the topology or not, and nobody needs to be inside
//! MPI for it.

use towpath_base::sync::{MappedWords, Ordering, Words, fence};

/// Words that are also used for agreements between two writers, each of whom must see what the
/// other wrote.
pub(crate) trait Fenced: Words {
    /// Nothing moves across.
    fn fence(&self);
}

impl Fenced for MappedWords {
    #[inline]
    fn fence(&self) {
        fence(Ordering::SeqCst);
    }
}

/// Word of a header line: the flag.
const FLAG: usize = 0;
/// Word of a header line: bytes of the chunk.
const LENGTH: usize = 1;
/// Words of a header line that are used.
pub(crate) const HEADER_WORDS: usize = 2;

const EMPTY: u32 = 0;
const BUSY: u32 = 1;
const FULL: u32 = 2;

/// What came of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// The last chunk has not been taken.
    Taken,
    /// The buffer is being divided, or its owner has not started.
    Closed,
    /// As [`Claim::Closed`], found out late: the owner may sleep until it sees the flag empty
    /// again.
    Stepped,
    /// The section is ours until [`Writer::commit`], by the division with this number.
    Granted(u32),
}

/// The sender's end of a section.
pub(crate) struct Writer<W> {
    gate: W,
    header: W,
}

impl<W: Fenced> Writer<W> {
    pub(crate) fn new(gate: W, header: W) -> Writer<W> {
        Writer { gate, header }
    }

    /// Tries to get the section for one chunk.
    pub(crate) fn claim(&self) -> Claim {
        if self.header.load_acquire(FLAG) != EMPTY {
            return Claim::Taken;
        }
        if is_closed(self.gate.load_acquire(0)) {
            return Claim::Closed;
        }
        self.header.store_release(FLAG, BUSY);
        self.header.fence();
        let gate = self.gate.load_acquire(0);
        if is_closed(gate) {
            self.header.store_release(FLAG, EMPTY);
            return Claim::Stepped;
        }
        Claim::Granted(gate)
    }

    /// Hands a chunk to the owner.
    pub(crate) fn commit(&self, length: u32) {
        self.header.store_release(LENGTH, length);
        self.header.store_release(FLAG, FULL);
    }

    /// True until the owner's first [`Gate::open`].
    pub(crate) fn is_unopened(&self) -> bool {
        self.gate.load_relaxed(0) == 0
    }
}

/// The owner's end of a section.
pub(crate) struct Reader<W> {
    header: W,
}

impl<W: Words> Reader<W> {
    pub(crate) fn new(header: W) -> Reader<W> {
        Reader { header }
    }

    /// Length of the chunk that waits.
    #[inline]
    pub(crate) fn full(&self) -> Option<usize> {
        (self.header.load_acquire(FLAG) == FULL).then(|| self.header.load_relaxed(LENGTH) as usize)
    }

    /// The chunk is taken.
    #[inline]
    pub(crate) fn clear(&self) {
        self.header.store_release(FLAG, EMPTY);
    }

    /// Behind a closed gate: true when the sender is out.
    pub(crate) fn is_out(&self) -> bool {
        self.header.load_acquire(FLAG) == EMPTY
    }
}

/// The owner's end of the gate.
pub(crate) struct Gate<W> {
    word: W,
    number: u32,
}

impl<W: Fenced> Gate<W> {
    /// The gate of a new buffer: closed.
    pub(crate) fn new(word: W) -> Gate<W> {
        Gate { word, number: 0 }
    }

    /// From now on sections that are seen empty stay so.
    pub(crate) fn close(&mut self) {
        self.number |= 1;
        self.word.store_release(0, self.number);
        self.word.fence();
    }

    /// The division that was written before is valid.
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
            // SAFETY: three atomics in a row that outlive what the tests make of them.
            unsafe { (MappedWords::new(first.cast(), HEADER_WORDS), MappedWords::new(first.add(2).cast(), 1)) }
        }
    }

    #[test]
    fn chunks_go_one_by_one_and_only_through_an_open_gate() {
        let memory = Memory(Default::default());
        let (header, word) = memory.words();
        let (writer, reader, mut gate) = (Writer::new(word, header), Reader::new(header), Gate::new(word));
        assert!(writer.is_unopened());
        assert_eq!(writer.claim(), Claim::Closed);
        gate.open();
        assert_eq!(writer.claim(), Claim::Granted(2));
        assert!(!reader.is_out() && reader.full().is_none());
        writer.commit(7);
        assert_eq!((writer.claim(), reader.full()), (Claim::Taken, Some(7)));
        gate.close();
        assert!(!reader.is_out());
        reader.clear();
        assert!(reader.is_out());
        assert_eq!(writer.claim(), Claim::Closed);
        gate.open();
        assert_eq!(writer.claim(), Claim::Granted(4));
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
