//! The header slot of an ordered pair: one line, one entry in flight.
//!
//! The flag is a counter: an even value means empty, and the sender owns the line; an odd value
//! means full, and the receiver owns it. Each side knows the value that it waits for, so the two
//! alternate and the line needs no second word.

use towpath_base::sync::Words;

/// The sender's end. Word 0 of `line` is the flag.
pub(crate) struct SlotSender<W> {
    line: W,
    empty: u32,
}

impl<W: Words> SlotSender<W> {
    pub(crate) fn new(line: W) -> SlotSender<W> {
        SlotSender { line, empty: 0 }
    }

    /// True if the receiver has consumed the last entry, or none was sent yet.
    #[inline]
    pub(crate) fn is_free(&self) -> bool {
        self.line.load_acquire(0) == self.empty
    }

    /// Number of commits, modulo half the range of a word.
    pub(crate) fn commits(&self) -> u32 {
        self.empty / 2
    }

    /// Publishes the line, which is complete except for the flag.
    #[inline]
    pub(crate) fn commit(&mut self) {
        self.line.store_release(0, self.empty.wrapping_add(1));
        self.empty = self.empty.wrapping_add(2);
    }
}

/// The receiver's end.
pub(crate) struct SlotReceiver<W> {
    line: W,
    full: u32,
}

impl<W: Words> SlotReceiver<W> {
    pub(crate) fn new(line: W) -> SlotReceiver<W> {
        SlotReceiver { line, full: 1 }
    }

    /// True if an entry has arrived.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.line.load_acquire(0) == self.full
    }

    /// Gives the line back to the sender.
    #[inline]
    pub(crate) fn advance(&mut self) {
        self.line.store_release(0, self.full.wrapping_add(1));
        self.full = self.full.wrapping_add(2);
    }
}
