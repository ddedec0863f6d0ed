//! Chooses the cores that each rank is bound to. If all ranks together need no more cores than
//! `mpiexec` itself may use (its affinity mask and the cgroup's quota), each rank gets cores of its
//! own; otherwise no rank is bound. A rank needs --cpus-per-rank cores, else OMP_NUM_THREADS, else
//! one. A single rank may use all cores and is bound only on request.
//!
//! A core is a physical core with all its allowed hardware threads, as listed in
//! /sys/devices/system/cpu.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use towpath_machine::cores;

/// Logical processors of one core.
type Core = Vec<usize>;

/// Location of a logical processor: socket and core within it.
type Place = (usize, usize);

/// Returns the cores that each rank is bound to; an empty list means not bound. If binding was
/// requested and is impossible, returns an error message to print; the ranks then run unbound.
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
    let room = FreeCores::look(cores_per_rank, spread);
    match room.deal(ranks) {
        Some(dealt) => Ok(dealt),
        None if asked => Err(format!("{}; no rank is bound.", room.too_small(ranks))),
        None => Ok(vec![Vec::new(); ranks]),
    }
}

/// Returns what [`assign`] chooses if the command line requests nothing, and a sentence that
/// explains why.
pub fn by_default(ranks: usize) -> (Vec<Vec<usize>>, String) {
    let bound = assign(ranks, 0, false, None).unwrap_or_default();
    let room = FreeCores::look(0, false);
    let reason = match bound.first() {
        Some(cores) if !cores.is_empty() => {
            format!(
                "{ranks} ranks with {} core(s) each fit on the {} that mpiexec may use.",
                room.each,
                room.size()
            )
        }
        _ if ranks == 1 => "A single rank has all cores to itself.".to_owned(),
        _ => format!("{}.", room.too_small(ranks)),
    };
    (bound, reason)
}

/// The cores that may be assigned, and how many a rank needs.
struct FreeCores {
    order: Vec<Core>,
    usable: usize,
    each: usize,
}

impl FreeCores {
    fn look(cores_per_rank: usize, spread: bool) -> FreeCores {
        let mask = cores::affinity();
        let allowed = cores::listed(&mask);
        let each = if cores_per_rank > 0 { cores_per_rank } else { threads_per_rank() };
        FreeCores {
            order: order_of_cores(&allowed, spread, &place_of),
            usable: cores::allowed(&mask),
            each,
        }
    }

    fn size(&self) -> usize {
        self.order.len().min(self.usable)
    }

    /// Assigns cores to ranks; `None` if there are too few.
    fn deal(&self, ranks: usize) -> Option<Vec<Vec<usize>>> {
        let needed = ranks.checked_mul(self.each)?;
        (needed <= self.size())
            .then(|| self.order.chunks_exact(self.each).take(ranks).map(<[Core]>::concat).collect())
    }

    fn too_small(&self, ranks: usize) -> String {
        format!(
            "{ranks} ranks with {} core(s) each need more than the {} core(s) that mpiexec may use",
            self.each,
            self.size()
        )
    }
}

/// Number of threads that an OpenMP program will have in each rank; 1 if OMP_NUM_THREADS is not
/// set.
fn threads_per_rank() -> usize {
    let text = towpath_base::config::environment("OMP_NUM_THREADS").unwrap_or_default();
    text.split(',')
        .next()
        .and_then(|number| number.trim().parse().ok())
        .filter(|&number| number > 0)
        .unwrap_or(1)
}

/// The allowed cores in the order in which they are assigned: socket by socket, or with `spread`
/// from each socket in turn.
fn order_of_cores(
    allowed: &[usize],
    spread: bool,
    place: &dyn Fn(usize) -> Option<Place>,
) -> Vec<Core> {
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
        let text =
            std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu{cpu}/topology/{name}"))
                .ok()?;
        text.trim().parse().ok()
    };
    Some((number("physical_package_id").unwrap_or(0), number("core_id")?))
}

/// The line about a rank for `--report-bindings`.
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

    /// Two sockets with two cores of two threads each, numbered as Linux usually does: 0-3 are the
    /// first threads, 4-7 the second.
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
        let room = |usable, each| {
            let order = order_of_cores(&(0..8).collect::<Vec<_>>(), false, &machine);
            FreeCores { order, usable, each }
        };
        assert_eq!(room(8, 2).deal(2), Some(vec![vec![0, 4, 1, 5], vec![2, 6, 3, 7]]));
        assert_eq!(room(8, 1).deal(5), None);
        assert_eq!(room(1, 1).deal(2), None, "the quota counts");
        assert_eq!(assign(100_000, 0, false, None), Ok(vec![Vec::new(); 100_000]));
        assert!(assign(100_000, 0, false, Some(true)).unwrap_err().contains("no rank is bound"));
    }
}
