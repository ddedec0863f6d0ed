//! Building blocks of the reductions: the pair of vectors in which a rank reduces, and the
//! reduce-scatter by vector halving with distance doubling (Rabenseifner 2004), which preserves the
//! order of operands.
//!
//! A rank's partial result always represents a contiguous interval of ranks. Adjacent intervals are
//! combined with the lower one as the left operand, so non-commutative operations give the right
//! result.

use std::ops::Range;

use crate::buffers::Element;
use crate::builder::Builder;
use crate::reducer::Reducer;
use crate::tree::Fold;

/// Arguments common to all reductions.
#[derive(Clone, Debug)]
pub struct Operand {
    /// This rank's vector; `None` if it is in the receive buffer (MPI_IN_PLACE).
    pub send: Option<*mut u8>,
    /// Elements in the vector (for reduce-scatter, in the blocks of all ranks together).
    pub count: i64,
    /// The type of the elements, which are in host memory.
    pub element: Element,
    /// The operation.
    pub reducer: Reducer,
}

impl Operand {
    /// True if the vector is contiguous and the operation predefined. The same on all ranks.
    pub fn is_plain(&self) -> bool {
        self.element.is_dense() && self.reducer.is_predefined()
    }

    /// The elements `range` of `vector`.
    pub(crate) fn piece(&self, vector: *mut u8, range: &Range<i64>) -> crate::buffers::Piece {
        self.element.piece(vector, range.start, range.end - range.start)
    }

    /// All elements of `vector`.
    pub(crate) fn whole(&self, vector: *mut u8) -> crate::buffers::Piece {
        self.element.piece(vector, 0, self.count)
    }

    /// Bytes of the vector.
    pub fn bytes(&self) -> i64 {
        self.count.saturating_mul(self.element.size)
    }
}

/// Two vectors: this rank's partial result, and a buffer for a partner's. They swap roles when the
/// result ends up in the other one.
pub(crate) struct VectorPair {
    pub(crate) current: *mut u8,
    pub(crate) spare: *mut u8,
}

impl VectorPair {
    /// Starts with this rank's vector in `home` (the receive buffer or memory of the plan). Ends a
    /// phase.
    pub(crate) fn new(builder: &mut Builder, operand: &Operand, home: *mut u8) -> VectorPair {
        builder.reduce_with(&operand.reducer);
        if let Some(send) = operand.send {
            builder.copy(operand.whole(send), operand.whole(home));
            builder.phase();
        }
        // A single rank receives nothing.
        let room = if builder.size() > 1 { operand.count } else { 0 };
        VectorPair { current: home, spare: builder.scratch(room, &operand.element) }
    }

    /// Combines the partner's part in `spare` with this rank's. If `free`, the operands of a
    /// commutative operation may be exchanged, which saves the swap of roles; otherwise both
    /// partners compute the same bits.
    pub(crate) fn combine(
        &mut self,
        builder: &mut Builder,
        operand: &Operand,
        range: Range<i64>,
        partner_is_lower: bool,
        free: bool,
    ) {
        if partner_is_lower || free && operand.reducer.is_commutative() {
            builder.reduce(self.spare, self.current, range, &operand.element);
        } else {
            builder.reduce(self.current, self.spare, range, &operand.element);
            std::mem::swap(&mut self.current, &mut self.spare);
        }
        builder.phase();
    }

    /// Folds the team to a power of two. Returns this rank's number, or `None` if its neighbour
    /// represents it.
    pub(crate) fn fold(
        &mut self,
        builder: &mut Builder,
        operand: &Operand,
        fold: Fold,
    ) -> Option<usize> {
        let rank = builder.rank();
        let number = fold.number(rank);
        match number {
            None => {
                builder.send(rank + 1, 0, operand.whole(self.current));
                builder.phase();
            }
            Some(number) if fold.speaks_for_two(number) => {
                builder.receive(rank - 1, 0, operand.whole(self.spare));
                builder.phase();
                self.combine(builder, operand, 0..operand.count, true, true);
            }
            Some(_) => {}
        }
        number
    }
}

/// Cuts a vector into even parts: `starts[p]` is the first element of position p.
pub fn even_parts(count: i64, parts: usize) -> Vec<i64> {
    let (base, rest) = (count / parts as i64, count % parts as i64);
    (0..=parts as i64).map(|part| base * part + part.min(rest)).collect()
}

/// Result of the halving: this rank's positions, and the partner's at each level.
pub(crate) struct Halved {
    /// Positions whose result is complete here; always exactly one.
    pub(crate) mine: Range<usize>,
    /// Partner's number and positions, in the order of the levels.
    pub(crate) given: Vec<(usize, Range<usize>)>,
}

/// Reduces so that each number ends up with one position. At level k, partners differ in bit k and
/// split their positions; the one with the bit clear keeps the lower half.
pub(crate) fn halve(
    builder: &mut Builder,
    operand: &Operand,
    pair: &mut VectorPair,
    fold: Fold,
    number: usize,
    starts: &[i64],
) -> Halved {
    let mut mine = 0..fold.power;
    let mut given = Vec::new();
    for level in 0..fold.levels() {
        let partner = number ^ 1 << level;
        let middle = mine.start + mine.len() / 2;
        let (lower, upper) = (mine.start..middle, middle..mine.end);
        let (keep, give) = if partner > number { (lower, upper) } else { (upper, lower) };
        let rank = fold.rank(partner);
        builder.send(rank, 1, operand.piece(pair.current, &elements(starts, &give)));
        builder.receive(rank, 1, operand.piece(pair.spare, &elements(starts, &keep)));
        builder.phase();
        pair.combine(builder, operand, elements(starts, &keep), partner < number, true);
        given.push((partner, give));
        mine = keep;
    }
    Halved { mine, given }
}

/// The elements of a range of positions.
pub(crate) fn elements(starts: &[i64], positions: &Range<usize>) -> Range<i64> {
    starts[positions.start]..starts[positions.end]
}

/// The position that `number` ends up with: its bits reversed.
pub(crate) fn position(number: usize, fold: Fold) -> usize {
    match fold.levels() {
        0 => 0,
        levels => number.reverse_bits() >> (usize::BITS - levels),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_the_vector() {
        for (count, parts) in [(0, 1), (0, 4), (3, 8), (10, 4), (17, 16)] {
            let starts = even_parts(count, parts);
            assert_eq!((starts[0], starts[parts]), (0, count));
            assert!(
                starts.windows(2).all(|w| w[1] - w[0] == count / parts as i64
                    || w[1] - w[0] == count / parts as i64 + 1)
            );
        }
    }

    #[test]
    fn positions_are_reversed_bits() {
        let fold = Fold::new(8);
        assert_eq!((0..8).map(|n| position(n, fold)).collect::<Vec<_>>(), [0, 4, 2, 6, 1, 5, 3, 7]);
        assert_eq!(position(0, Fold::new(1)), 0);
    }
}
