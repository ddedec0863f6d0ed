//! Which cores a rank is bound to. One rule: when all ranks together need no more cores than `mpiexec` itself may use
//! (its own affinity mask and the cgroup's quota), each rank gets cores of its own, else no rank is bound. A rank needs
//! --cpus-per-rank cores, else OMP_NUM_THREADS, else one; a single rank has all cores to itself and is not bound unless
//! it is asked for.
//!
//! A core is a physical core with all its allowed hardware threads, as /sys/devices/system/cpu tells.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use towpath_machine::cores;

/// Logical processors of one core.
type Core = Vec<usize>;

/// Place of a logical processor: socket and core within it.
type Place = (usize, usize);

/// The cores each rank is bound to; an empty list: not bound. With `asked`, an impossible wish is an `Err` sentence to
/// print; the ranks then run unbound.
pub(crate) fn assign(
    ranks: usize,
    cores_per_rank: usize,
    spread: bool,
    bind: Option<bool>,
) -> Result<Vec<Vec<usize>>, String> {
    let asked = bind == Some(true) || cores_per_rank > 0;
    if bind == Some(false) || (ranks == 1 && !asked) {
        return Ok(vec![Vec::new(); ranks]);
    }
    let mask = cores::affinity();
    let allowed = (0..64 * mask.len()).filter(|cpu| mask[cpu / 64] >> (cpu % 64) & 1 == 1).collect::<Vec<_>>();
    let usable = cores::allowed(&mask);
    let order = order_of_cores(&allowed, spread, &place_of);
    let each = if cores_per_rank > 0 { cores_per_rank } else { threads_per_rank() };
    match deal(&order, usable, ranks, each) {
        Some(dealt) => Ok(dealt),
        None if asked => Err(format!(
            "{ranks} ranks with {each} core(s) each need more than the {} core(s) that mpiexec may use; no rank is bound.",
            order.len().min(usable)
        )),
        None => Ok(vec![Vec::new(); ranks]),
    }
}

/// How many threads an OpenMP program will have in each rank; 1 when nothing is said.
fn threads_per_rank() -> usize {
    let text = towpath_base::config::environment("OMP_NUM_THREADS").unwrap_or_default();
    text.split(',').next().and_then(|number| number.trim().parse().ok()).filter(|&number| number > 0).unwrap_or(1)
}

/// Deals cores out; `None` when there are too few.
fn deal(order: &[Core], usable: usize, ranks: usize, each: usize) -> Option<Vec<Vec<usize>>> {
    let needed = ranks.checked_mul(each)?;
    (needed <= order.len().min(usable)).then(|| order.chunks_exact(each).take(ranks).map(<[Core]>::concat).collect())
}

/// The allowed cores in the order in which they are dealt out: socket after socket, or one of each socket in turn.
fn order_of_cores(allowed: &[usize], spread: bool, place: &dyn Fn(usize) -> Option<Place>) -> Vec<Core> {
    let mut by_place: BTreeMap<Place, Core> = BTreeMap::new();
    for &cpu in allowed {
        by_place.entry(place(cpu).unwrap_or((0, cpu))).or_default().push(cpu);
    }
    let mut ordered: Vec<(Place, Core)> = by_place.into_iter().collect();
    if spread {
        let mut seen: BTreeMap<usize, usize> = BTreeMap::new();
        let mut turn: Vec<(usize, usize, Core)> = Vec::new();
        for ((socket, _), core) in ordered {
            let number = seen.entry(socket).or_insert(0);
            turn.push((*number, socket, core));
            *number += 1;
        }
        turn.sort();
        return turn.into_iter().map(|(_, _, core)| core).collect();
    }
    ordered.sort_by_key(|(place, core)| (place.0, core[0]));
    ordered.into_iter().map(|(_, core)| core).collect()
}

fn place_of(cpu: usize) -> Option<Place> {
    let number = |name: &str| -> Option<usize> {
        let text = std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu{cpu}/topology/{name}")).ok()?;
        text.trim().parse().ok()
    };
    Some((number("physical_package_id").unwrap_or(0), number("core_id")?))
}

/// One line for `--report-bindings`.
pub(crate) fn report(rank: usize, bound: &[usize]) -> String {
    if bound.is_empty() {
        return format!("mpiexec: rank {rank} is not bound.");
    }
    let list = bound.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    format!("mpiexec: rank {rank} is bound to logical processor(s) {list}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sockets with two cores of two threads each, numbered as Linux usually does: 0-3 first threads, 4-7 second.
    fn machine(cpu: usize) -> Option<Place> {
        Some(((cpu % 4) / 2, cpu % 2))
    }

    #[test]
    fn threads_of_a_core_stay_together() {
        let all: Vec<usize> = (0..8).collect();
        assert_eq!(order_of_cores(&all, false, &machine), [[0, 4], [1, 5], [2, 6], [3, 7]]);
        assert_eq!(order_of_cores(&all, true, &machine), [[0, 4], [2, 6], [1, 5], [3, 7]]);
        assert_eq!(order_of_cores(&[1, 2, 6], false, &machine), [vec![1], vec![2, 6]]);
    }

    #[test]
    fn too_many_ranks_are_not_bound() {
        let order = order_of_cores(&(0..8).collect::<Vec<_>>(), false, &machine);
        assert_eq!(deal(&order, 8, 2, 2), Some(vec![vec![0, 4, 1, 5], vec![2, 6, 3, 7]]));
        assert_eq!(deal(&order, 8, 5, 1), None);
        assert_eq!(deal(&order, 1, 2, 1), None, "the quota counts");
        assert_eq!(assign(100_000, 0, false, None), Ok(vec![Vec::new(); 100_000]));
        assert!(assign(100_000, 0, false, Some(true)).unwrap_err().contains("no rank is bound"));
    }
}
