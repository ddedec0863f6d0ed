//! Blocks of chosen ranks as one piece, for messages that carry the data of a whole host.
//!
//! The sender's and the receiver's piece list the same ranks in the same order, so data goes from
//! where the program has it to where it belongs, without a packed copy on either side.

use towpath_datatype::{Basic, Datatype, Form};

use crate::buffers::{Blocks, Element, Piece};

impl Blocks {
    /// The blocks of `ranks`, in this order, as one piece. `None` if an offset exceeds 63 bits.
    pub(crate) fn pieces_of(&self, ranks: &[usize]) -> Option<Piece> {
        let is_run = ranks.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        let (pointer, element, offsets, lengths): (_, _, Option<Vec<i64>>, Vec<i64>) = match self {
            Blocks::Equal { .. } if is_run => {
                return Some(self.pieces(ranks.first().copied().unwrap_or(0), ranks.len()));
            }
            Blocks::Equal { pointer, count, element } => {
                let distance = count.checked_mul(element.extent())?;
                let offsets = ranks.iter().map(|&rank| distance.checked_mul(rank as i64));
                (pointer, element, offsets.collect(), vec![*count; ranks.len()])
            }
            Blocks::Varying { pointer, counts, displacements, element } => {
                // The displacement of an empty block has no meaning.
                let offset = |&rank: &usize| match counts[rank] {
                    0 => Some(0),
                    _ => displacements[rank].checked_mul(element.extent()),
                };
                let lengths = ranks.iter().map(|&rank| counts[rank]).collect();
                (pointer, element, ranks.iter().map(offset).collect(), lengths)
            }
            Blocks::Mixed { .. } => return self.mixed_pieces_of(ranks),
        };
        let (unit, datatype) = match element.datatype() {
            Some(datatype) => (1, datatype.clone()),
            None => (element.size, Datatype::named(Basic::Byte)),
        };
        let lengths: Option<Vec<i64>> =
            lengths.iter().map(|count| count.checked_mul(unit)).collect();
        let datatype = Datatype::hindexed(&lengths?, &offsets?, &datatype, Form::Large).ok()?;
        Some(element.with(&datatype).piece(*pointer, 0, 1))
    }

    /// Like [`Blocks::pieces_of`] for blocks with a type each, such as those of whole hosts, whose
    /// groups have leaders of their own.
    fn mixed_pieces_of(&self, ranks: &[usize]) -> Option<Piece> {
        let pieces: Vec<Piece> = ranks.iter().map(|&rank| self.piece(rank)).collect();
        let is_row = |pair: &[Piece]| {
            let end = pair[0]
                .contiguous()
                .map(|(start, _)| start.wrapping_offset(pair[0].bytes() as isize));
            pair[1].contiguous().is_some() && end == Some(pair[1].pointer)
        };
        let pointer = self.pointer();
        let Some(first) = pieces.first() else { return Some(Piece::raw(pointer, 0)) };
        if first.contiguous().is_some() && pieces.windows(2).all(is_row) {
            return Some(Piece::raw(first.pointer, pieces.iter().map(Piece::bytes).sum()));
        }
        let byte = || Datatype::named(Basic::Byte);
        let (mut lengths, mut offsets, mut types) = (Vec::new(), Vec::new(), Vec::new());
        for piece in &pieces {
            let datatype = piece.datatype();
            lengths.push(if datatype.is_some() { piece.count } else { piece.bytes() });
            types.push(datatype.cloned().unwrap_or_else(byte));
            offsets.push(piece.pointer.addr().wrapping_sub(pointer.addr()) as i64);
        }
        let datatype = Datatype::structure(&lengths, &offsets, &types, Form::Large).ok()?;
        let typed = pieces.iter().find(|piece| piece.typed.is_some()).unwrap_or(first);
        Some(Element::of_piece(typed).with(&datatype).piece(pointer, 0, 1))
    }

    /// The blocks of each of several groups of ranks, as one block for each group. `None` if an
    /// offset exceeds 63 bits.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_displacement_of_an_empty_block_has_no_meaning() {
        let blocks = |counts: [i64; 3]| Blocks::Varying {
            pointer: std::ptr::without_provenance_mut(64),
            counts: counts.into(),
            displacements: [0, i64::MAX / 2, 5].into(),
            element: Element::dense(8),
        };
        let piece = blocks([2, 0, 1]).pieces_of(&[0, 1, 2]).expect("the others are in reach");
        assert_eq!(piece.bytes(), 24);
        assert!(blocks([2, 1, 1]).pieces_of(&[0, 1, 2]).is_none(), "beyond 63 bits");
    }
}
