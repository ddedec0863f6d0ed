//! Registered memory of the ranks of a host: a table of rows for each owner, in the segment, and
//! the protocol by which an owner learns that no rank uses a row any more.
//!
//! An origin, which is the rank that puts or gets, takes address and length from the row and never
//! from the key, so that no key leads to memory that is not registered. Invariant: the other words
//! of a row change only while no rank accesses it. For this an origin names the row in its access
//! word and then reads the row; the owner clears the row's name and then reads the access words of
//! all ranks. With a full fence between the two steps on both sides, either the origin finds the
//! row cleared or the owner finds the access (Dekker; hazard pointers, Michael 2004).

use towpath_base::slab::{Slab, SlabKey};
use towpath_base::sync::{LongWords, MappedLongWords};
use towpath_transport::MemoryKey;

use super::layout::{LINE, MEMORY_ROWS, ROWS_IN_PAGE};
use super::segment::Segment;
use super::share::Mark;

/// The words of a row: the name plus 1 (0: nothing is registered), the owner's mark and its
/// address, length and address of the memory, and its offset in the heaps plus 1 (0: not there).
const NAME: usize = 0;
const MARK: usize = 1;
const MARK_AT: usize = 2;
const LENGTH: usize = 3;
const ADDRESS: usize = 4;
const HEAP: usize = 5;
/// Number of words.
#[cfg(all(test, loom))]
pub(crate) const WORDS: usize = 6;

/// The row of a name.
fn row_of(name: u64) -> u32 {
    SlabKey(name).index()
}

/// A range of registered memory, as its row describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RegisteredRange {
    /// Identifies the owner's process.
    pub(crate) mark: Mark,
    pub(crate) length: usize,
    /// In the owner's process.
    pub(crate) address: u64,
    /// Offset in the heaps, if all of it is there.
    pub(crate) heap: Option<usize>,
}

/// A row of an owner's table.
pub(crate) struct MemoryRow<W>(pub(crate) W);

impl<W: LongWords> MemoryRow<W> {
    /// Owner: describes memory in a row that no rank accesses.
    pub(crate) fn open(&self, name: u64, memory: &RegisteredRange) {
        let heap = memory.heap.map_or(0, |offset| offset as u64 + 1);
        let words = [(MARK, memory.mark.value), (MARK_AT, memory.mark.address)];
        let place = [(LENGTH, memory.length as u64), (ADDRESS, memory.address), (HEAP, heap)];
        words.into_iter().chain(place).for_each(|(word, value)| self.0.store_release(word, value));
        self.0.store_release(NAME, name + 1);
    }

    /// Owner: refuses all accesses that start from now on.
    pub(crate) fn close(&self) {
        self.0.store_release(NAME, 0);
        self.0.fence();
    }

    /// Origin, during an access.
    fn memory(&self) -> RegisteredRange {
        let word = |word| self.0.load_acquire(word);
        RegisteredRange {
            mark: Mark { address: word(MARK_AT), value: word(MARK) },
            length: word(LENGTH) as usize,
            address: word(ADDRESS),
            heap: (word(HEAP) as usize).checked_sub(1),
        }
    }
}

/// The value of an access word for a row of an owner; 0 is no access.
fn accessed(owner: u32, name: u64) -> u64 {
    u64::from(owner) << 32 | (u64::from(row_of(name)) + 1)
}

/// Owner: true if the rank with this access word accesses memory of that name.
pub(crate) fn is_accessing(word: &impl LongWords, owner: u32, name: u64) -> bool {
    word.load_acquire(0) == accessed(owner, name)
}

/// An access that is under way; dropping it ends it.
pub(crate) struct MemoryAccess<W: LongWords> {
    word: W,
    /// The memory, which stays registered until the access has ended.
    pub(crate) memory: RegisteredRange,
}

impl<W: LongWords> MemoryAccess<W> {
    /// Origin: begins an access, by its own access word; `None` if the row does not have this name.
    pub(crate) fn begin(
        word: W,
        row: &MemoryRow<W>,
        owner: u32,
        name: u64,
    ) -> Option<MemoryAccess<W>> {
        word.store_release(0, accessed(owner, name));
        word.fence();
        if row.0.load_acquire(NAME) != name.wrapping_add(1) {
            word.store_release(0, 0);
            return None;
        }
        Some(MemoryAccess { memory: row.memory(), word })
    }
}

impl<W: LongWords> Drop for MemoryAccess<W> {
    fn drop(&mut self) {
        self.word.store_release(0, 0);
    }
}

/// The row of a name in an owner's table; `None` if the owner's table has never been long enough.
pub(crate) fn row(segment: &Segment, owner: u32, name: u64) -> Option<MemoryRow<MappedLongWords>> {
    if u64::from(row_of(name)) >= rows(segment, owner).load_acquire(0) {
        return None;
    }
    let at = segment.layout().memory_row(owner as usize, row_of(name) as usize);
    // SAFETY: the row is in the segment, 64-aligned, and only accessed through `MemoryRow`, whose
    // words are inside its line. Only the wire uses rows, and it holds the segment.
    Some(MemoryRow(unsafe { segment.long_words(at, 1) }))
}

/// The word that counts the rows of an owner.
fn rows(segment: &Segment, owner: u32) -> MappedLongWords {
    // SAFETY: the line is in the segment, 64-aligned, and only this word of it is used. Only the
    // wire uses it, and it holds the segment.
    unsafe { segment.long_words(segment.layout().memory_row_count(owner as usize), 1) }
}

/// The access word of a rank.
pub(crate) fn access_word(segment: &Segment, rank: u32) -> MappedLongWords {
    // SAFETY: the line is in the segment, 64-aligned, and only this word of it is used. Only the
    // wire uses it, and it holds the segment.
    unsafe { segment.long_words(segment.layout().memory_access(rank as usize), 1) }
}

/// The memory that this rank has registered.
pub(crate) struct MemoryTable {
    own: u32,
    mark: Mark,
    names: Slab<()>,
    /// Rows whose pages are populated.
    provided: usize,
}

impl MemoryTable {
    pub(crate) fn new(segment: &Segment, mark: Mark) -> MemoryTable {
        MemoryTable { own: segment.own_rank() as u32, mark, names: Slab::default(), provided: 0 }
    }

    /// Registers memory; `None` if there is no row for it.
    pub(crate) fn register(
        &mut self,
        segment: &Segment,
        pointer: *mut u8,
        length: usize,
    ) -> Option<MemoryKey> {
        let name = self.names.insert(());
        let row =
            self.provide(segment, name.index() as usize).then(|| row(segment, self.own, name.0));
        let Some(row) = row.flatten() else {
            self.names.remove(name);
            return None;
        };
        let (mark, heap) = (self.mark, segment.in_heaps(pointer, length));
        row.open(name.0, &RegisteredRange { mark, length, address: pointer as u64, heap });
        Some(MemoryKey([name.0, mark.value]))
    }

    /// Populates the page of a row; false if there is no such row or memory is short.
    fn provide(&mut self, segment: &Segment, index: usize) -> bool {
        if index < self.provided {
            return true;
        }
        let first = segment.layout().memory_row(self.own as usize, self.provided);
        if index >= MEMORY_ROWS || !segment.populate(first, ROWS_IN_PAGE * LINE) {
            return false;
        }
        self.provided += ROWS_IN_PAGE;
        rows(segment, self.own).store_release(0, self.provided as u64);
        true
    }

    /// Deregisters memory; false while a rank for which `may_access` is true accesses it.
    pub(crate) fn deregister(
        &mut self,
        segment: &Segment,
        key: MemoryKey,
        may_access: impl Fn(u32) -> bool,
    ) -> bool {
        let [name, mark] = key.0;
        if mark != self.mark.value || self.names.get(SlabKey(name)).is_none() {
            return true;
        }
        row(segment, self.own, name).inspect(MemoryRow::close);
        let mut others =
            (0..segment.ranks() as u32).filter(|&rank| rank != self.own && may_access(rank));
        if others.any(|rank| is_accessing(&access_word(segment, rank), self.own, name)) {
            return false;
        }
        self.names.remove(SlabKey(name)).is_some()
    }
}
