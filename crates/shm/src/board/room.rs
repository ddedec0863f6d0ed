//! Where a member writes a message of a board.

use towpath_base::transfer::Source;

use crate::stores::Stores;

/// The memory of one message, lent until it is posted.
#[derive(Debug)]
pub struct Room<'a> {
    pub(super) stores: &'a mut Stores,
    pub(super) at: *mut u8,
    pub(super) length: usize,
}

impl Room<'_> {
    /// All members read with one state of the caches between them: there is one choice of stores.
    pub(super) const READERS: usize = 1;
    const READER: usize = 0;

    /// Writes `length` bytes from `first` on.
    ///
    /// # Panics
    /// When they lie outside the message.
    ///
    /// # Safety
    /// `from` must be readable for `length` bytes and lie outside the board.
    #[inline]
    pub unsafe fn copy(&mut self, from: *const u8, first: usize, length: usize) {
        let to = self.part(first, length);
        // SAFETY: `from` has `length` bytes outside the board; the part lies in the message, which
        // nobody reads yet.
        unsafe { self.stores.copy(Room::READER, from, to, length) };
    }

    /// Writes the next `length` bytes of a source from `first` on, as [`Source::fill_all`].
    ///
    /// # Panics
    /// When they lie outside the message.
    ///
    /// # Safety
    /// The memory behind the source must live.
    #[inline]
    pub unsafe fn fill(&mut self, source: &mut Source, first: usize, length: usize) {
        let to = self.part(first, length);
        // SAFETY: the source lives; the part lies in the message, which nobody reads yet.
        unsafe {
            source.fill_all_by(to, length, |source, to, capacity| self.stores.fill(Room::READER, source, to, capacity));
        }
    }

    #[inline]
    fn part(&self, first: usize, length: usize) -> *mut u8 {
        assert!(first <= self.length && length <= self.length - first, "bytes outside a message of a board");
        // SAFETY: inside the message.
        unsafe { self.at.add(first) }
    }
}
