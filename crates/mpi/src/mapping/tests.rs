//! Tests of the mapping on machines described as text. They print costs before and after (`cargo
//! test mapping -- --nocapture`).

use towpath_machine::levels::{Distances, MachineDescription, ProcessPlace};

use super::{Graph, RankMapping, map};
use crate::topologies::reorder;

const TWO_SOCKETS: &str = "package 2; l3cache 4; core 8";
const MESH: &str = "tile 6x4; core 2";

fn machine(text: &str, processes: usize, scattered: bool) -> Distances {
    let description = MachineDescription::parse(text).unwrap();
    // Round robin over the two halves, as done by launchers that spread ranks over sockets.
    let at = |i: usize| if scattered { i % 2 * processes.div_ceil(2) + i / 2 } else { i };
    Distances::among(&(0..processes).map(|i| description.place(0, at(i))).collect::<Vec<ProcessPlace>>())
}

fn grid(dims: &[i32], periodic: bool) -> Graph {
    reorder::grid(dims, &vec![periodic; dims.len()])
}

/// Maps, checks invariants of every result, and prints the costs.
fn mapped(name: &str, graph: &Graph, distances: &Distances) -> RankMapping {
    let started = std::time::Instant::now();
    let mapping = map(graph, distances);
    let milliseconds = started.elapsed().as_secs_f64() * 1e3;
    println!("{name}: cost {} before, {} after, {milliseconds:.1} ms", mapping.before, mapping.after);
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

#[test]
fn a_grid_on_two_sockets_becomes_blocks() {
    let scattered = machine(TWO_SOCKETS, 64, true);
    let mapping = mapped("8 x 8 scattered over 2 sockets", &grid(&[8, 8], false), &scattered);
    // By hand: 8 edges are cut between sockets (4 each), 12 in each socket between caches (2 each),
    // 80 remain.
    assert_eq!(mapping.after, 8 * 4 + 24 * 2 + 80);
    let packed = mapped("8 x 8 in order on 2 sockets", &grid(&[8, 8], false), &machine(TWO_SOCKETS, 64, false));
    assert!(packed.after < packed.before, "rows of eight are worse than blocks");
    assert_eq!(packed.after, mapping.after, "the order in which ranks were started does not matter");
}

#[test]
fn other_grids_on_two_sockets_come_to_their_optimum() {
    let scattered = machine(TWO_SOCKETS, 64, true);
    // By hand: edges cut between sockets, between caches of one socket, inside.
    for (name, graph, [sockets, caches, inside]) in [
        ("8 x 8 torus", grid(&[8, 8], true), [16, 32, 80]),
        ("4 x 4 x 4", grid(&[4, 4, 4], false), [16, 32, 96]),
        ("4 x 4 x 4 torus", grid(&[4, 4, 4], true), [32, 64, 96]),
        ("16 x 4", grid(&[16, 4], false), [4, 24, 80]),
        ("64 in a ring", grid(&[64], true), [2, 6, 56]),
    ] {
        let mapping = mapped(&format!("{name} scattered over 2 sockets"), &graph, &scattered);
        assert_eq!(mapping.after, sockets * 4 + caches * 2 + inside, "{name}");
    }
}

#[test]
fn a_grid_on_a_mesh_of_tiles_lies_down_on_it() {
    for scattered in [false, true] {
        let mesh = machine(MESH, 48, scattered);
        let name = |what: &str| format!("{what} on 6 x 4 tiles{}", if scattered { ", scattered" } else { "" });
        let flat = mapped(&name("8 x 6"), &grid(&[8, 6], false), &mesh);
        // Each tile holds two neighbours (24 edges of cost 1); the other 58 edges cost at least one
        // hop of 2.
        assert_eq!(flat.after, 24 + 58 * 2);
        let line = mapped(&name("48 in a line"), &grid(&[48], false), &mesh);
        assert_eq!(line.after, 24 + 23 * 2);
        mapped(&name("6 x 4 x 2"), &grid(&[6, 4, 2], false), &mesh);
        mapped(&name("4 x 4 x 3 torus"), &grid(&[4, 4, 3], true), &mesh);
    }
}

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
fn a_small_graph_gathers_on_near_places() {
    // Four nodes for eight places: all four fit on one socket.
    let mapping = mapped("4 of 8", &grid(&[2, 2], false), &machine("package 2; core 4", 8, true));
    assert_eq!(mapping.after, 4);
}

#[test]
fn ranks_stay_where_nothing_is_gained() {
    let stays = |graph: &Graph, distances: &Distances| {
        let mapping = map(graph, distances);
        assert!(mapping.places.iter().copied().eq(0..graph.edges.len()), "{mapping:?}");
    };
    stays(&grid(&[4, 2], true), &machine("core 8", 8, false));
    stays(&grid(&[8], false), &machine("package 2; core 4", 8, false));
    stays(&Graph::new(8, std::iter::empty()), &machine("package 2; core 4", 8, true));
    stays(&Graph::new(0, std::iter::empty()), &machine("package 2; core 4", 8, true));
    // A complete graph costs the same everywhere.
    let complete = (0..8).flat_map(|from| (0..8).map(move |to| (from, to, 3)));
    stays(&Graph::new(8, complete), &machine("package 2; core 4", 8, true));
    // Self-loops and edges of weight 0.
    stays(&Graph::new(4, [(0, 0, 5), (1, 3, 0)].into_iter()), &machine("package 2; core 2", 4, false));
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
        let edges: Vec<_> = (0..nodes * random(5)).map(|_| (random(nodes), random(nodes), random(9) as u64)).collect();
        let text = ["package 2; l3cache 3; core 3", "tile 5x3; core 2", "core 7", "package 3; core 100"][round % 4];
        let description = MachineDescription::parse(text).unwrap();
        let at: Vec<ProcessPlace> = (0..places).map(|_| description.place(random(2) as u32, random(1000))).collect();
        mapped(&format!("random {round}"), &Graph::new(nodes, edges.into_iter()), &Distances::among(&at));
    }
}

#[test]
fn thousands_of_ranks_are_mapped_too() {
    let distances = machine("host 32; package 2; l3cache 8; core 8", 4096, true);
    let mapping = mapped("16 x 16 x 16 torus", &grid(&[16, 16, 16], true), &distances);
    assert!(2 * mapping.after < mapping.before);
}
