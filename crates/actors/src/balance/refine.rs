//! As few elements as possible leave the ranks that take too long, for ranks that do not. Where
//! that leads to no good end, all elements are placed anew.

use std::collections::BTreeSet;

use super::greedy::greedy;
use super::{Loads, RankTimes};

/// Ranks may take so many thousandths of the average longer than it.
pub const TOLERANCE: u64 = 50;

/// What no rank needs to take less than.
#[must_use]
pub fn bound(average: u64) -> u64 {
    average.saturating_add(average / 1000 * TOLERANCE + average % 1000 * TOLERANCE / 1000)
}

/// Where the elements shall be.
#[must_use]
pub fn refine(loads: &Loads) -> Vec<u32> {
    let mut placement = loads.placement();
    let limit = bound(loads.average());
    let mut times = RankTimes::new(&loads.ranks, loads.work(&placement));
    let mut here: Vec<BTreeSet<(u64, usize)>> = vec![BTreeSet::new(); loads.ranks.len()];
    for (element, at) in loads.elements.iter().zip(0..) {
        here[element.rank as usize].insert((element.work, at));
    }
    // Every move makes the times more equal, but many small ones may remain.
    for _ in 0..2 * loads.elements.len() {
        let Some((longest, from)) = times.longest().filter(|(longest, _)| *longest > limit) else {
            break;
        };
        let Some((at, to)) = best_move(&times, &here[from as usize], longest, from, limit) else {
            break;
        };
        let work = loads.elements[at].work;
        here[from as usize].remove(&(work, at));
        here[to as usize].insert((work, at));
        times.take(from, work);
        times.give(to, work);
        placement[at] = to;
    }
    let longest = loads.longest(&placement);
    if longest <= limit {
        return placement;
    }
    let anew = greedy(loads);
    if bound(loads.longest(&anew)) < longest { anew } else { placement }
}

/// The element that shall leave the rank that takes longest, and where it goes: the greatest that
/// some rank can take without taking too long, else the one after which both ranks take least.
fn best_move(
    times: &RankTimes,
    elements: &BTreeSet<(u64, usize)>,
    longest: u64,
    from: u32,
    bound: u64,
) -> Option<(usize, u32)> {
    let mut best = None;
    let moves = elements.iter().rev().filter(|(work, _)| *work > 0).map(|(work, at)| {
        let to = times.first_done(*work, None);
        (*at, to, times.with(to, *work), times.without(from, *work))
    });
    for (at, to, there, here) in moves.filter(|(_, to, there, _)| *to != from && *there < longest) {
        if there <= bound {
            return Some((at, to));
        }
        let after = there.max(here);
        if after < longest && best.is_none_or(|(best, _)| after < best) {
            best = Some((after, (at, to)));
        }
    }
    best.map(|(_, found)| found)
}
