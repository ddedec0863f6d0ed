//! Memory into which a member writes a message of a board.

use towpath_base::transfer::Source;

use crate::stores::Stores;

/// The memory of one message, lent until it is posted, or memory that another member exposes.
#[derive(Debug)]
pub struct Room<'a> {
    pub(super) stores: &'a mut Stores,
    pub(super) at: *mut u8,
    pub(super) length: usize,
}

impl Room<'_> {
    /// One choice of stores suffices: all members read, so the caches are in the same state for
    /// all.
    pub(super) const READERS: usize = 1;
    const READER: usize = 0;

    /// Writes `length` bytes at offset `first` of the message.
    ///
    /// # Panics
    /// If they are outside the message.
    ///
    /// # Safety
    /// `from` must be readable for `length` bytes and be outside the board.
    #[inline]
    pub unsafe fn copy(&mut self, from: *const u8, first: usize, length: usize) {
        let to = self.part(first, length);
        // SAFETY: `from` is readable for `length` bytes outside the board (this function's
        // contract). `to` is inside the message, which no member reads before it is posted.
        unsafe { self.stores.copy(Room::READER, from, to, length) };
    }

    /// Writes the next `length` bytes of a source at offset `first` of the message, like
    /// [`Source::fill_all`], which calls `wait` while a device is busy.
    ///
    /// # Panics
    /// If they are outside the message.
    ///
    /// # Safety
    /// The memory behind the source must be valid.
    #[inline]
    pub unsafe fn fill(
        &mut self,
        source: &mut Source,
        first: usize,
        length: usize,
        wait: &mut dyn FnMut(),
    ) {
        let to = self.part(first, length);
        if let Source::Bytes { length: left, .. } = source
            && *left >= length
        {
            // Contiguous host memory takes one step and waits for no device, so it needs no loop.
            // SAFETY: the memory behind `source` is valid (this function's contract). `to` is
            // inside the message, which no member reads before it is posted.
            unsafe { self.stores.fill(Room::READER, source, to, length) };
            return;
        }
        // SAFETY: the memory behind `source` is valid (this function's contract). `to` is inside
        // the message, which no member reads before it is posted.
        unsafe {
            source.fill_all_by(to, length, wait, |source, to, capacity| {
                self.stores.fill(Room::READER, source, to, capacity)
            });
        }
    }

    #[inline]
    fn part(&self, first: usize, length: usize) -> *mut u8 {
        assert!(
            first <= self.length && length <= self.length - first,
            "bytes outside a message of a board"
        );
        // SAFETY: `first` is at most the length of the message.
        unsafe { self.at.add(first) }
    }
}
