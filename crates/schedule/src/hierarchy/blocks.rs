//! Blocks of chosen ranks as one piece, for messages that carry the data of a whole host.
//!
//! The sender's and the receiver's piece list the same ranks in the same order, so data goes from
//! where the program has it to where it belongs, without a packed copy on either side.

use towpath_datatype::{Basic, Datatype, Form};

use crate::buffers::{Blocks, Element, Piece};

impl Blocks {
    /// The blocks of `ranks`, in this order, as one piece. `None` if an offset exceeds 63 bits.
    ///
    /// # Panics
    /// If the blocks are not of equal count.
    pub(crate) fn pieces_of(&self, ranks: &[usize]) -> Option<Piece> {
        if ranks.windows(2).all(|pair| pair[0] + 1 == pair[1]) {
            return Some(self.pieces(ranks.first().copied().unwrap_or(0), ranks.len()));
        }
        let Blocks::Equal { pointer, count, element } = self else {
            panic!("only blocks of equal count are sent by hosts")
        };
        let distance = count.checked_mul(element.extent())?;
        let offset = |&rank: &usize| distance.checked_mul(rank as i64);
        let offsets = ranks.iter().map(offset).collect::<Option<Vec<i64>>>()?;
        let (length, datatype) = match element.datatype() {
            Some(datatype) => (*count, datatype.clone()),
            None => (distance, Datatype::named(Basic::Byte)),
        };
        let datatype = Datatype::hindexed_block(length, &offsets, &datatype, Form::Large).ok()?;
        Some(element.with(&datatype).piece(*pointer, 0, 1))
    }

    /// The blocks of each of several groups of ranks, as one block for each group. `None` if an
    /// offset exceeds 63 bits.
    ///
    /// # Panics
    /// If the blocks are not of equal count.
    pub(crate) fn grouped<'a>(&self, groups: impl Iterator<Item = &'a [usize]>) -> Option<Blocks> {
        let pointer = self.pointer();
        let (mut counts, mut displacements, mut elements) = (Vec::new(), Vec::new(), Vec::new());
        for ranks in groups {
            let piece = self.pieces_of(ranks)?;
            counts.push(piece.count);
            displacements.push(piece.pointer.addr().wrapping_sub(pointer.addr()) as i64);
            elements.push(Element::of_piece(&piece));
        }
        Some(Blocks::Mixed {
            pointer,
            counts: counts.into(),
            displacements: displacements.into(),
            elements: elements.into(),
        })
    }
}
