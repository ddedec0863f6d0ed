//! Neighbourhood collectives: grids with periodic dimensions of size 1 and 2, and graphs with
//! repeated edges.

use super::{Shape, Store, execute, team};
use crate::neighborhood::{Given, Neighborly, Neighbors};
use crate::select::Selection;
use crate::{Blocks, Call, Plan};

/// The neighbours of `rank` on a grid of `sizes` (last dimension fastest), periodic or not.
fn grid(rank: usize, sizes: &[usize], periodic: bool) -> Vec<(Option<usize>, Option<usize>)> {
    let mut stride = sizes.iter().product::<usize>();
    let mut neighbors = Vec::new();
    for &size in sizes {
        stride /= size;
        let place = rank / stride % size;
        let at = |place: usize| rank - rank / stride % size * stride + place * stride;
        let below = if place > 0 { Some(at(place - 1)) } else { periodic.then(|| at(size - 1)) };
        let above = if place + 1 < size { Some(at(place + 1)) } else { periodic.then(|| at(0)) };
        neighbors.push((below, above));
    }
    neighbors
}

fn planned(call: &Call, neighbors: &Neighbors, send: Given, receive: Blocks) -> Plan {
    Neighborly { neighbors, send, receive }.plan(call).unwrap()
}

#[test]
fn what_goes_down_comes_from_above() {
    for (sizes, periodic) in [
        (vec![1], true),
        (vec![2], true),
        (vec![2, 1, 3], true),
        (vec![2, 2], true),
        (vec![3, 4], false),
    ] {
        let ranks: usize = sizes.iter().product();
        let blocks = 2 * sizes.len() as i64;
        let mut send: Vec<Store<i64>> =
            (0..ranks).map(|rank| Store::filled(Shape::Dense, blocks, rank)).collect();
        let mut receive: Vec<Store<i64>> =
            (0..ranks).map(|_| Store::new(Shape::Dense, blocks)).collect();
        let mut plans = Vec::new();
        for rank in 0..ranks {
            let neighbors = Neighbors::on_grid(&grid(rank, &sizes, periodic));
            let call = Call { team: &team(rank, ranks), selection: &Selection::default() };
            plans.push(planned(
                &call,
                &neighbors,
                Given::Each(send[rank].blocks(1)),
                receive[rank].blocks(1),
            ));
        }
        execute(plans, ranks as u64);
        for (rank, row) in receive.iter().enumerate() {
            for (dimension, (below, above)) in grid(rank, &sizes, periodic).into_iter().enumerate()
            {
                let first = 2 * dimension as i64;
                let what = (&sizes, rank, dimension);
                // The block from below was sent upward: it is the sender's second one for this
                // dimension.
                match below {
                    Some(from) => row.assert_values(first, 1, from, first + 1, &what),
                    None => assert!(row.is_untouched(first)),
                }
                match above {
                    Some(from) => row.assert_values(first + 1, 1, from, first, &what),
                    None => assert!(row.is_untouched(first + 1)),
                }
            }
        }
    }
}

#[test]
fn repeated_edges_match_in_the_order_of_the_lists() {
    // Rank 0 sends twice to itself and three times to rank 1, mixed; rank 1 sends once to rank 0.
    let destinations: [&[usize]; 2] = [&[1, 0, 1, 0, 1], &[0]];
    let sources: [&[usize]; 2] = [&[0, 1, 0], &[0, 0, 0]];
    let mut send: Vec<Store<i64>> =
        (0..2).map(|rank| Store::filled(Shape::Dense, 5, rank)).collect();
    for seed in 0..20 {
        let mut receive: Vec<Store<i64>> = (0..2).map(|_| Store::new(Shape::Dense, 3)).collect();
        let mut plans = Vec::new();
        for rank in 0..2 {
            let neighbors = Neighbors::on_graph(sources[rank], destinations[rank]);
            let call = Call { team: &team(rank, 2), selection: &Selection::default() };
            plans.push(planned(
                &call,
                &neighbors,
                Given::Each(send[rank].blocks(1)),
                receive[rank].blocks(1),
            ));
        }
        execute(plans, seed);
        for (index, (from, block)) in [(0, 1), (1, 0), (0, 3)].into_iter().enumerate() {
            receive[0].assert_values(index as i64, 1, from, block, &seed);
        }
        for (index, block) in [0, 2, 4].into_iter().enumerate() {
            receive[1].assert_values(index as i64, 1, 0, block, &seed);
        }
    }
}

#[test]
fn allgather_sends_the_same_to_all() {
    let size = 5;
    let mut send: Vec<Store<i64>> =
        (0..size).map(|rank| Store::filled(Shape::Dense, 3, rank)).collect();
    let mut receive: Vec<Store<i64>> = (0..size).map(|_| Store::new(Shape::Dense, 6)).collect();
    let mut plans = Vec::new();
    for rank in 0..size {
        let (above, below) = ((rank + size - 1) % size, (rank + 2) % size);
        let neighbors =
            Neighbors::on_graph(&[above, (rank + size - 2) % size], &[below, (rank + 1) % size]);
        let call = Call { team: &team(rank, size), selection: &Selection::default() };
        let receive = receive[rank].varying(&[3, 3], &[3, 0]);
        plans.push(planned(&call, &neighbors, Given::Same(send[rank].buffer(3)), receive));
    }
    execute(plans, 1);
    for (rank, row) in receive.iter().enumerate() {
        row.assert_values(3, 3, (rank + size - 1) % size, 0, &rank);
        row.assert_values(0, 3, (rank + size - 2) % size, 0, &rank);
    }
}
