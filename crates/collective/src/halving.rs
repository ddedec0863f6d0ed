//! What the reductions share: the pair of buffers that a rank reduces in, and the reduce-scatter by
//! vector halving with distance doubling (Rabenseifner 2004), which keeps the order of operands.
//!
//! A rank's partial result always stands for a contiguous interval of ranks, and neighbouring
//! intervals are combined with the lower one as the left operand: so operations that do not commute
//! come out right.

use std::ops::Range;

use crate::buffers::Element;
use crate::builder::Builder;
use crate::reducer::Reducer;
use crate::tree::Fold;

/// Arguments that all reductions have in common.
#[derive(Clone, Debug)]
pub struct Operand {
    /// My vector; `None` means that it lies in the receive buffer (MPI_IN_PLACE).
    pub send: Option<*mut u8>,
    /// Elements in the vector (reduce-scatter: of all ranks' blocks together).
    pub count: i64,
    /// What they are.
    pub element: Element,
    /// The operation.
    pub reducer: Reducer,
}

impl Operand {
    /// Whether the vector is a row of bytes and the operation predefined, which all ranks know
    /// alike.
    pub(crate) fn is_plain(&self) -> bool {
        self.element.is_dense() && self.reducer.is_predefined()
    }

    /// The part of `row` in `range`.
    pub(crate) fn piece(&self, row: *mut u8, range: &Range<i64>) -> crate::buffers::Piece {
        self.element.piece(row, range.start, range.end - range.start)
    }

    /// The whole of `row`.
    pub(crate) fn whole(&self, row: *mut u8) -> crate::buffers::Piece {
        self.element.piece(row, 0, self.count)
    }

    /// Bytes of the vector.
    pub(crate) fn bytes(&self) -> i64 {
        self.count.saturating_mul(self.element.size)
    }
}

/// Two rows: my partial result, and room for a partner's. They change roles when the result must
/// land in the other.
pub(crate) struct Pair {
    pub(crate) current: *mut u8,
    pub(crate) spare: *mut u8,
}

impl Pair {
    /// Starts with my vector in `home` (the receive buffer or memory of the plan). Ends a phase.
    pub(crate) fn new(builder: &mut Builder, operand: &Operand, home: *mut u8) -> Pair {
        builder.reduce_with(&operand.reducer);
        if let Some(send) = operand.send {
            builder.copy(operand.whole(send), operand.whole(home));
            builder.phase();
        }
        // Alone, nobody sends me anything.
        let room = if builder.size() > 1 { operand.count } else { 0 };
        Pair { current: home, spare: builder.row(room, &operand.element) }
    }

    /// Combines the partner's part in `spare` with mine. With `free` the operands of a commutative
    /// operation may change places, which saves the change of roles; without it both partners
    /// compute the same bits.
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

    /// Folds the team to a power of two: my number, or `None` when a neighbour goes on for me.
    pub(crate) fn fold(&mut self, builder: &mut Builder, operand: &Operand, fold: Fold) -> Option<usize> {
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

/// The parts into which a vector is cut: `starts[p]` is the first element of position p.
pub(crate) fn even_parts(count: i64, parts: usize) -> Vec<i64> {
    let (base, rest) = (count / parts as i64, count % parts as i64);
    (0..=parts as i64).map(|part| base * part + part.min(rest)).collect()
}

/// What the halving leaves: the positions that are mine, and for each level what the partner has.
pub(crate) struct Halved {
    /// Positions whose sum is complete here; always one.
    pub(crate) mine: Range<usize>,
    /// Partner's number and positions, in the order of the levels.
    pub(crate) given: Vec<(usize, Range<usize>)>,
}

/// Reduces so that each number ends with one position: in level k partners differ in bit k and
/// split their positions, the one with the bit clear keeps the lower half.
pub(crate) fn halve(
    builder: &mut Builder,
    operand: &Operand,
    pair: &mut Pair,
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

/// The position that `number` ends with: its bits in reverse.
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
                starts
                    .windows(2)
                    .all(|w| w[1] - w[0] == count / parts as i64 || w[1] - w[0] == count / parts as i64 + 1)
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
