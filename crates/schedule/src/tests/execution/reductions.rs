//! Reductions of symbols.

use super::super::content::{Front, Origin, Run, append, length_of};
use super::super::folds::{Folds, LITERAL};
use super::super::steps::{Chain, Place};
use super::{Execution, Fault};

/// A chain of reductions as one: of which vector, and which others are added to it in turn.
struct Joined {
    first: Place,
    /// Rows of equal length.
    added: Place,
    /// The sum moves: each reduction writes it to the vector that it adds. Otherwise it stays.
    moves: bool,
}

impl Joined {
    /// `None` if reductions of the chain read what others of it write in another way.
    fn of(chain: &Chain) -> Option<Joined> {
        let ((input, length), (inout, _)) = (chain.input.row()?, chain.inout.row()?);
        let rows = |first: i64, apart: i64| {
            let row = |number: i64| (first + number * apart, length);
            Place::of_rows((0..chain.number).map(row))
        };
        let end = input + chain.distance.0 * (chain.number - 1) + length;
        match chain.distance {
            (apart, 0) if apart >= length && (inout + length <= input || end <= inout) => {
                Some(Joined { first: chain.inout.clone(), added: rows(input, apart), moves: false })
            }
            (apart, moved) if apart == moved && moved >= length && inout == input + moved => {
                Some(Joined { first: chain.input.clone(), added: rows(inout, moved), moves: true })
            }
            _ => None,
        }
    }
}

impl Execution<'_> {
    /// Executes a chain of reductions. One of ten thousand vectors, as each of ten thousand ranks
    /// has it, reads memory once.
    pub(super) fn reduce(&mut self, rank: usize, chain: &Chain) -> Result<(), Fault> {
        if chain.number > 1
            && let Some(joined) = Joined::of(chain)
        {
            return self.reduce_joined(rank, &joined);
        }
        let state = &mut self.ranks[rank];
        for number in 0..chain.number {
            let (input, inout) = chain.operands(number);
            let (lower, upper, mut sum) = (state.read(&input)?, state.read(&inout)?, Vec::new());
            combine(&mut self.folds, &lower, &upper, &mut sum)?;
            state.write(&inout, &sum)?;
        }
        Ok(())
    }

    fn reduce_joined(&mut self, rank: usize, joined: &Joined) -> Result<(), Fault> {
        let (state, folds) = (&mut self.ranks[rank], &mut self.folds);
        let (mut sum, added) = (state.read(&joined.first)?, state.read(&joined.added)?);
        let (length, all) = (length_of(&sum), length_of(&added));
        let mut left = Front::of(&added);
        let (mut vector, mut next, mut sums) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..all / length.max(1) {
            vector.clear();
            next.clear();
            left.take(length, &mut vector);
            let (lower, upper) = if joined.moves { (&sum, &vector) } else { (&vector, &sum) };
            combine(folds, lower, upper, &mut next)?;
            std::mem::swap(&mut sum, &mut next);
            if joined.moves {
                sum.iter().for_each(|&run| append(&mut sums, run));
            }
        }
        match joined.moves {
            true => state.write(&joined.added, &sums),
            false => state.write(&joined.first, &sum),
        }
    }
}

/// `lower op upper`, element by element, appended to `sums`.
fn combine(
    folds: &mut Folds,
    lower: &[Run],
    upper: &[Run],
    sums: &mut Vec<Run>,
) -> Result<(), Fault> {
    let mut uppers = upper.iter().flat_map(|run| run.chunks());
    let mut rest: Option<(Origin, i64)> = None;
    for (mut one, mut length) in lower.iter().flat_map(|run| run.chunks()) {
        while length > 0 {
            let Some((other, number)) = rest.take().or_else(|| uppers.next()) else {
                return Err("the operands of a reduction differ in length".into());
            };
            let both = length.min(number);
            if one.offset != other.offset || one.fold == LITERAL || other.fold == LITERAL {
                return Err(format!("reduces {one:?} and {other:?}, which do not belong together"));
            }
            let fold = folds.combine(one.fold, other.fold);
            append(sums, Run::of(Origin { fold, ..one }, both));
            (one, length) = (one.after(both), length - both);
            if number > both {
                rest = Some((other.after(both), number - both));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Placement;
    use crate::tests::cases::case;
    use crate::tests::definition::What;
    use crate::tests::execution::RankState;

    const VECTORS: i64 = 9;

    /// The memory after a chain, of vectors of 3 bytes from the address 100 on, a few bytes apart.
    fn memory(chain: &Chain, apart: i64, at_once: bool) -> Vec<Run> {
        let call = case(What::Allreduce, Placement::on_one_host(1), VECTORS as usize, 3);
        let mut execution = Execution::of(&call);
        let mut state = RankState::default();
        let vectors = (0..VECTORS).map(|vector| Place::Row(100 + vector * apart, 3));
        for (fold, vector) in (0..).zip(vectors.clone()) {
            state.permit(&vector);
            state.write(&vector, &[Run::of(Origin { fold, offset: 0 }, 3)]).unwrap();
        }
        state.writable = vec![(100, 100 + VECTORS * apart)];
        execution.ranks.push(state);
        if at_once {
            execution.reduce(0, chain).unwrap();
        } else {
            for number in 0..chain.number {
                let (input, inout) = chain.operands(number);
                let one = Chain { input, inout, number: 1, distance: (0, 0) };
                execution.reduce(0, &one).unwrap();
            }
        }
        vectors.flat_map(|vector| execution.ranks[0].read(&vector).unwrap()).collect()
    }

    /// The operands and their distance are counted in vectors.
    fn compare(first: (i64, i64), distance: (i64, i64), is_joined: bool) {
        for apart in [3, 5] {
            let place = |vector: i64| Place::Row(100 + vector * apart, 3);
            let (input, inout) = (place(first.0), place(first.1));
            let distance = (distance.0 * apart, distance.1 * apart);
            let chain = Chain { input, inout, number: 4, distance };
            assert_eq!(Joined::of(&chain).is_some(), is_joined, "{chain:?}");
            assert_eq!(memory(&chain, apart, true), memory(&chain, apart, false), "{chain:?}");
        }
    }

    #[test]
    fn a_chain_is_what_its_reductions_are() {
        compare((1, 0), (1, 0), true);
        compare((0, 7), (2, 0), true);
        compare((0, 1), (1, 1), true);
        compare((0, 2), (2, 2), true);
        // The sum is an operand, sooner or later.
        compare((0, 2), (1, 0), false);
        compare((0, 0), (1, 0), false);
        compare((0, 2), (1, 1), false);
        compare((5, 5), (-1, 1), false);
    }
}
