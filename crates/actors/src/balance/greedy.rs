//! The elements with the greatest loads first, each to the rank that is done first with it
//! (R. L. Graham, "Bounds on multiprocessing timing anomalies", 1969): among equal ranks, the
//! result takes at most 4/3 of the shortest time possible.

use super::{Loads, RankTimes};

/// Where the elements shall be.
#[must_use]
pub fn greedy(loads: &Loads) -> Vec<u32> {
    let mut order: Vec<usize> = (0..loads.elements.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(loads.elements[*at].work));
    let mut times = RankTimes::new(&loads.ranks, vec![0; loads.ranks.len()]);
    let mut placement = loads.placement();
    for at in order {
        let element = &loads.elements[at];
        let rank = times.first_done(element.work, Some(element.rank));
        times.give(rank, element.work);
        placement[at] = rank;
    }
    if loads.longest(&placement) < loads.longest(&loads.placement()) {
        placement
    } else {
        loads.placement()
    }
}
