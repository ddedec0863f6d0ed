//! Machines described as text, and a mapping that checks its result, for the tests of this crate
//! and of the code that builds graphs.

use std::time::Instant;

use towpath_machine::levels::{Distances, MachineDescription, ProcessPlace};

use crate::{Graph, RankMapping, map};

/// The distances between `processes` that run on the described machine: in order, or, if
/// `scattered`, round robin over its two halves.
///
/// # Panics
/// If the description is malformed.
pub fn machine(text: &str, processes: usize, scattered: bool) -> Distances {
    let description = MachineDescription::parse(text).unwrap();
    // As done by launchers that spread ranks over sockets.
    let at = |i: usize| if scattered { i % 2 * processes.div_ceil(2) + i / 2 } else { i };
    Distances::among(
        &(0..processes).map(|i| description.place(0, at(i))).collect::<Vec<ProcessPlace>>(),
    )
}

/// Maps a graph, checks the invariants of the result, and prints the costs.
///
/// # Panics
/// If the result is wrong.
pub fn mapped(name: &str, graph: &Graph, distances: &Distances) -> RankMapping {
    let started = Instant::now();
    let mapping = map(graph, distances);
    let milliseconds = started.elapsed().as_secs_f64() * 1e3;
    println!(
        "{name}: cost {} before, {} after, {milliseconds:.1} ms",
        mapping.before, mapping.after
    );
    assert_eq!(graph.cost(&mapping.places, distances), mapping.after);
    assert!(mapping.after <= mapping.before);
    let mut sorted = mapping.places.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), graph.edges.len(), "a place for each");
    assert!(sorted.iter().all(|&place| place < distances.places()));
    assert_eq!(map(graph, distances), mapping, "the same every time");
    mapping
}
