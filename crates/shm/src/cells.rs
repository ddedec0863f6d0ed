//! The cells of a sender: payload memory for messages that are longer than a line and are sent to
//! peers without a ring.
//!
//! A cell belongs to the entry in one peer's slot and is free again when that slot is free.

use super::layout::CELLS;

/// Which cells are in use, and for which peer's slot.
#[derive(Debug)]
pub(crate) struct Cells {
    holders: [Option<u32>; CELLS],
    /// Cells whose pages are populated; one from the start.
    pub(crate) provided: usize,
}

impl Cells {
    pub(crate) fn new() -> Cells {
        Cells { holders: [None; CELLS], provided: 1 }
    }

    /// Takes the lowest free cell for the entry to `peer`. `slot_is_free` tells whether a peer has
    /// consumed its entry.
    pub(crate) fn take(&mut self, peer: u32, slot_is_free: impl Fn(u32) -> bool) -> Option<usize> {
        let cell = self.holders.iter().position(|holder| holder.is_none_or(&slot_is_free))?;
        self.holders[cell] = Some(peer);
        Some(cell)
    }

    /// Gives back a cell that was not used after all.
    pub(crate) fn give(&mut self, cell: usize) {
        self.holders[cell] = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_free_when_its_slot_is() {
        let mut cells = Cells::new();
        for peer in 0..CELLS as u32 {
            assert_eq!(cells.take(peer, |_| false), Some(peer as usize));
        }
        assert_eq!(cells.take(99, |_| false), None);
        assert_eq!(cells.take(99, |peer| peer == 5), Some(5));
        cells.give(5);
        assert_eq!(cells.take(7, |_| false), Some(5));
    }
}
