//! The header slot of an ordered pair: one line, one entry under way.
//!
//! The flag counts: even means empty and belongs to the sender, odd means full and belongs to the
//! receiver. Each side knows which value it waits for, so writer and reader alternate and the line
//! needs no second word.

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

    /// True when the receiver has taken the last entry (at once in the beginning).
    #[inline]
    pub(crate) fn is_free(&self) -> bool {
        self.line.load_acquire(0) == self.empty
    }

    /// How often the line was handed over, modulo half of the range of a word.
    pub(crate) fn commits(&self) -> u32 {
        self.empty / 2
    }

    /// Hands the line, filled but for the flag, to the receiver.
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

    /// True when an entry waits.
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
