//! Every collective, algorithm, size, root and in-place form on 1 to 48 ranks, compared with a
//! naive computation, on a fake network that delivers in a seeded random order.

mod between;
mod fake;
mod movement;
mod neighbors;
mod reductions;
mod running;
mod store;

pub(super) use fake::{execute, team};
pub(super) use store::{Matrix, Sample, Shape, Store};

use crate::select::{Algorithm, Collective, Selection, TABLE};

/// Numbers of ranks.
const RANKS: &[usize] = &[1, 2, 3, 4, 5, 6, 7, 8, 16, 48];
/// Numbers of ranks for a shape: all for dense data, some for the other shapes.
fn ranks(shape: Shape) -> &'static [usize] {
    if shape == Shape::Dense { RANKS } else { &[1, 3, 4, 7] }
}

/// Numbers of elements: none, one, few, and more than one chunk of the chain algorithm at 8 bytes
/// each.
const COUNTS: &[i64] = &[0, 1, 5, 33];

/// The default selection and one for each algorithm of the collective.
fn selections(collective: Collective) -> Vec<Selection> {
    let mut algorithms: Vec<Algorithm> =
        TABLE.iter().filter(|row| row.collective == collective).map(|row| row.algorithm).collect();
    algorithms.dedup();
    let mut selections = vec![Selection::default()];
    selections
        .extend(algorithms.into_iter().map(|algorithm| Selection::forcing(collective, algorithm)));
    selections
}

/// Some roots of a team: first, second, middle, last.
fn roots(size: usize) -> Vec<usize> {
    let mut roots = vec![0, 1 % size, size / 2, size - 1];
    roots.sort_unstable();
    roots.dedup();
    roots
}
