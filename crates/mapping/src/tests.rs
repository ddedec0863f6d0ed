//! Tests of the mapping of irregular graphs, on machines described as text. The tests for grids are
//! in `mpi`, which builds the grids. The tests print costs before and after (`cargo test -p
//! towpath-mapping -- --nocapture`).

use towpath_machine::levels::{Distances, MachineDescription, ProcessPlace};

use super::testing::{machine, mapped};
use super::{Graph, map};

#[test]
fn heavy_edges_come_before_many_light_ones() {
    let distances = machine("package 2; core 2", 4, false);
    let edges = [(0, 1, 1), (2, 3, 1), (0, 2, 10), (1, 3, 10)];
    let mapping = mapped("two heavy pairs", &Graph::new(4, edges.into_iter()), &distances);
    assert_eq!((mapping.before, mapping.after), (42, 24));
    let near = |a: usize, b: usize| distances.between(mapping.places[a], mapping.places[b]) == 1;
    assert!(near(0, 2) && near(1, 3));
}

#[test]
fn ranks_stay_where_nothing_is_gained() {
    let stays = |graph: &Graph, distances: &Distances| {
        let mapping = map(graph, distances);
        assert!(mapping.places.iter().copied().eq(0..graph.edges.len()), "{mapping:?}");
    };
    stays(&Graph::new(8, std::iter::empty()), &machine("package 2; core 4", 8, true));
    stays(&Graph::new(0, std::iter::empty()), &machine("package 2; core 4", 8, true));
    // A complete graph costs the same everywhere.
    let complete = (0..8).flat_map(|from| (0..8).map(move |to| (from, to, 3)));
    stays(&Graph::new(8, complete), &machine("package 2; core 4", 8, true));
    // Self-loops and edges of weight 0.
    stays(
        &Graph::new(4, [(0, 0, 5), (1, 3, 0)].into_iter()),
        &machine("package 2; core 2", 4, false),
    );
}

#[test]
fn absurd_weights_do_not_overflow() {
    let edges = (0..8).flat_map(|from| (0..8).map(move |to| (from, to, u64::from(u32::MAX))));
    mapped("heaviest", &Graph::new(8, edges), &machine("tile 8x1", 8, true));
}

#[test]
fn random_graphs_never_get_worse() {
    let mut state = 1u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    for round in 0..60 {
        let places = 1 + random(70);
        let nodes = random(places + 1);
        let edges: Vec<_> = (0..nodes * random(5))
            .map(|_| (random(nodes), random(nodes), random(9) as u64))
            .collect();
        let text =
            ["package 2; l3cache 3; core 3", "tile 5x3; core 2", "core 7", "package 3; core 100"]
                [round % 4];
        let description = MachineDescription::parse(text).unwrap();
        let at: Vec<ProcessPlace> =
            (0..places).map(|_| description.place(random(2) as u32, random(1000))).collect();
        mapped(
            &format!("random {round}"),
            &Graph::new(nodes, edges.into_iter()),
            &Distances::among(&at),
        );
    }
}
