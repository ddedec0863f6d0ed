//! Tests of the order of ranks, and of the mapping of grids on machines described as text. The
//! latter print costs before and after (`cargo test -p towpath-mpi reorder -- --nocapture`).

use towpath_mapping::testing::{machine, mapped};
use towpath_mapping::topology::grid;

use super::*;

const TWO_SOCKETS: &str = "package 2; l3cache 4; core 8";
const MESH: &str = "tile 6x4; core 2";

/// The graph of a grid that is periodic in all dimensions or in none.
fn grid_of(dims: &[i32], periodic: bool) -> Graph {
    grid(dims, &vec![periodic; dims.len()])
}

#[test]
fn an_order_says_who_takes_which_rank() {
    let order = RankOrder::of(vec![2, 0, 1]);
    assert_eq!([0, 1, 2].map(|rank| order.process(rank)), [2, 0, 1]);
    assert_eq!([0, 1, 2, 3].map(|process| order.rank(process, 3)), [Some(1), Some(2), Some(0), None]);
    assert_eq!([0, 3].map(|process| RankOrder::default().rank(process, 3)), [Some(0), None]);
}

#[test]
fn a_grid_on_two_sockets_becomes_blocks() {
    let scattered = machine(TWO_SOCKETS, 64, true);
    let mapping = mapped("8 x 8 scattered over 2 sockets", &grid_of(&[8, 8], false), &scattered);
    // By hand: 8 edges are cut between sockets (4 each), 12 in each socket between caches (2 each),
    // 80 remain.
    assert_eq!(mapping.after, 8 * 4 + 24 * 2 + 80);
    let packed = mapped("8 x 8 in order on 2 sockets", &grid_of(&[8, 8], false), &machine(TWO_SOCKETS, 64, false));
    assert!(packed.after < packed.before, "rows of eight are worse than blocks");
    assert_eq!(packed.after, mapping.after, "the order in which ranks were started does not matter");
}

#[test]
fn other_grids_on_two_sockets_come_to_their_optimum() {
    let scattered = machine(TWO_SOCKETS, 64, true);
    // By hand: edges cut between sockets, between caches of one socket, inside.
    for (name, graph, [sockets, caches, inside]) in [
        ("8 x 8 torus", grid_of(&[8, 8], true), [16, 32, 80]),
        ("4 x 4 x 4", grid_of(&[4, 4, 4], false), [16, 32, 96]),
        ("4 x 4 x 4 torus", grid_of(&[4, 4, 4], true), [32, 64, 96]),
        ("16 x 4", grid_of(&[16, 4], false), [4, 24, 80]),
        ("64 in a ring", grid_of(&[64], true), [2, 6, 56]),
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
        let flat = mapped(&name("8 x 6"), &grid_of(&[8, 6], false), &mesh);
        // Each tile holds two neighbours (24 edges of cost 1); the other 58 edges cost at least one
        // hop of 2.
        assert_eq!(flat.after, 24 + 58 * 2);
        let line = mapped(&name("48 in a line"), &grid_of(&[48], false), &mesh);
        assert_eq!(line.after, 24 + 23 * 2);
        mapped(&name("6 x 4 x 2"), &grid_of(&[6, 4, 2], false), &mesh);
        mapped(&name("4 x 4 x 3 torus"), &grid_of(&[4, 4, 3], true), &mesh);
    }
}

#[test]
fn a_small_graph_gathers_on_near_places() {
    // Four nodes for eight processes: all four fit on one socket.
    let mapping = mapped("4 of 8", &grid_of(&[2, 2], false), &machine("package 2; core 4", 8, true));
    assert_eq!(mapping.after, 4);
}

#[test]
fn ranks_of_grids_stay_where_nothing_is_gained() {
    let stays = |graph: &Graph, distances: &Distances| {
        let mapping = mapping::map(graph, distances);
        assert!(mapping.places.iter().copied().eq(0..8), "{mapping:?}");
    };
    stays(&grid_of(&[4, 2], true), &machine("core 8", 8, false));
    stays(&grid_of(&[8], false), &machine("package 2; core 4", 8, false));
}

#[test]
fn thousands_of_ranks_are_mapped_too() {
    let distances = machine("host 32; package 2; l3cache 8; core 8", 4096, true);
    let mapping = mapped("16 x 16 x 16 torus", &grid_of(&[16, 16, 16], true), &distances);
    assert!(2 * mapping.after < mapping.before);
}
