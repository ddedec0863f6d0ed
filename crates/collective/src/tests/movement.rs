//! Data movement: barrier, broadcast, gather, scatter, allgather and alltoall.

use towpath_datatype::{Basic, Datatype, Form};

use super::{
    COUNTS, RANKS, Sample, Setting, Shape, Store, counts, execute, ranks, roots, settings, team,
};
use crate::Call;
use crate::Plan;
use crate::allgather::{Allgather, allgather};
use crate::alltoall::{Alltoall, alltoall};
use crate::barrier::barrier;
use crate::broadcast::bcast;
use crate::buffers::{Buffer, Element};
use crate::gather::{Gather, gather, gatherv};
use crate::scatter::{Scatter, scatter, scatterv};
use crate::select::{Collective, Selection};

type Values = Vec<Store<i64>>;

const SHAPES: &[Shape] = &[Shape::Dense, Shape::Gaps, Shape::Backwards, Shape::Device];

/// Builds the plan of each rank and executes all of them.
fn run(size: usize, setting: &Setting, seed: u64, mut build: impl FnMut(&Call) -> Plan) {
    let selection = &setting.selection;
    let plan = |rank| build(&Call { team: &setting.team(rank, size), selection });
    execute((0..size).map(plan).collect(), seed);
}

/// Elements of the block of rank `to` at rank `from` in the irregular forms.
fn irregular(from: usize, to: usize, count: i64) -> i64 {
    let scale = 1 + count / 50;
    if count == 0 { 0 } else { (from as i64 * 3 + to as i64 * 5) * scale % (count + 1) }
}

/// Displacements in reverse rank order, with a gap of one element between blocks.
fn reversed(counts: &[i64]) -> (Vec<i64>, i64) {
    let mut places = vec![0; counts.len()];
    let mut next = 0;
    for rank in (0..counts.len()).rev() {
        places[rank] = next;
        next += counts[rank] + 1;
    }
    (places, next)
}

#[test]
fn barrier_ends_on_all_ranks() {
    for setting in settings(Collective::Barrier) {
        for &size in RANKS {
            run(size, &setting, size as u64, |call| barrier(call).unwrap());
        }
    }
}

#[test]
fn barrier_has_logarithmic_length() {
    let team = team(3, 256);
    let call = Call { team: &team, selection: &Selection::default() };
    assert!(barrier(&call).unwrap().length() <= 3 * 8);
}

/// An element of some words with a gap before and after them.
fn padded(words: i64) -> Element {
    let word = Datatype::named(Basic::Int32);
    let value = Datatype::hindexed(&[words], &[4], &word, Form::Small).unwrap();
    Element::of(&Datatype::resized(0, 4 * (words + 2), &value, Form::Small).unwrap())
}

/// Ranks may give the same data as elements of different lengths, so segments of a broadcast end
/// where some have the middle of one.
#[test]
fn bcast_cuts_elements() {
    for setting in settings(Collective::Bcast) {
        for (size, words, count, root) in [(3, 7, 12_000, 0), (5, 7, 9_000, 2), (5, 30_000, 4, 3)] {
            let total = words * count;
            let place = |rank: usize, word: i64| match rank % 2 {
                1 => word as usize,
                _ => (word / words * (words + 2) + 1 + word % words) as usize,
            };
            let mut data = vec![vec![0u32; ((words + 2) * count) as usize]; size];
            (0..total).for_each(|word| data[root][place(root, word)] = word as u32 * 7 + 1);
            run(size, &setting, root as u64, |call| {
                let rank = call.team.rank;
                let pointer = data[rank].as_mut_ptr().cast();
                let (count, element) = match rank % 2 {
                    1 => (total, Element::dense(4)),
                    _ => (count, padded(words)),
                };
                bcast(call, root, &Buffer { pointer, count, element }).unwrap()
            });
            for (rank, row) in data.iter().enumerate() {
                let what = (&setting, size, words, rank);
                let is_right = |word| row[place(rank, word)] == word as u32 * 7 + 1;
                assert!((0..total).all(is_right), "{what:?}");
                let gaps = row.iter().filter(|&&word| word == 0).count() as i64;
                assert_eq!(gaps, 2 * count, "{what:?}");
            }
        }
    }
}

fn check_bcast(shape: Shape) {
    for setting in settings(Collective::Bcast) {
        for &size in ranks(shape) {
            for root in roots(size) {
                for count in COUNTS.iter().copied().chain((size == 3).then_some(40_000)) {
                    let mut data: Values = (0..size).map(|_| Store::new(shape, count)).collect();
                    data[root] = Store::filled(shape, count, root);
                    let what = (&setting, size, root, count);
                    run(size, &setting, count as u64, |call| {
                        bcast(call, root, &data[call.team.rank].buffer(count)).unwrap()
                    });
                    data.iter().for_each(|row| row.assert_values(0, count, root, 0, &what));
                }
            }
        }
    }
}

#[test]
fn bcast_reaches_all() {
    SHAPES.iter().for_each(|&shape| check_bcast(shape));
}

fn check_gather(shape: Shape) {
    for setting in settings(Collective::Gather) {
        for &size in ranks(shape) {
            for (root, in_place) in
                roots(size).into_iter().flat_map(|root| [(root, false), (root, true)])
            {
                for count in counts(size) {
                    let mut send: Values =
                        (0..size).map(|rank| Store::filled(shape, count, rank)).collect();
                    let mut all = Store::<i64>::new(shape, count * size as i64);
                    (0..count).for_each(|i| all.set(root as i64 * count + i, i64::of(root, i)));
                    run(size, &setting, count as u64, |call| {
                        let rank = call.team.rank;
                        let own = (rank != root || !in_place).then(|| send[rank].buffer(count));
                        let receive = (rank == root).then(|| all.blocks(count));
                        gather(call, &Gather { root, send: own, receive }).unwrap()
                    });
                    let what = (&setting, size, root, count, in_place);
                    (0..size).for_each(|rank| {
                        all.assert_values(rank as i64 * count, count, rank, 0, &what)
                    });
                    assert!(all.is_untouched(count * size as i64));
                }
            }
        }
    }
}

#[test]
fn gather_collects_in_the_order_of_ranks() {
    SHAPES.iter().for_each(|&shape| check_gather(shape));
}

/// [`counts`], and for one number of ranks blocks that are about as long as those that leaders of
/// hosts pass on.
fn irregular_counts(size: usize) -> impl Iterator<Item = i64> {
    counts(size).chain((size == 4).then_some(600))
}

/// Calls `check` with the ranks, the root, the lengths of the blocks and whether the root's own one
/// is in place.
fn with_irregular_blocks(shape: Shape, mut check: impl FnMut(usize, usize, &[i64], bool)) {
    for &size in ranks(shape) {
        for (root, in_place) in
            roots(size).into_iter().flat_map(|root| [(root, false), (root, true)])
        {
            for count in irregular_counts(size) {
                let counts: Vec<i64> = (0..size).map(|rank| irregular(rank, 0, count)).collect();
                check(size, root, &counts, in_place);
            }
        }
    }
}

fn check_gatherv(shape: Shape) {
    for setting in settings(Collective::Gatherv) {
        with_irregular_blocks(shape, |size, root, counts, in_place| {
            let (places, total) = reversed(counts);
            let mut own: Values =
                (0..size).map(|rank| Store::filled(shape, counts[rank], rank)).collect();
            let mut all = Store::<i64>::new(shape, total);
            (0..counts[root]).for_each(|i| all.set(places[root] + i, i64::of(root, i)));
            run(size, &setting, 3, |call| {
                let rank = call.team.rank;
                let send = (rank != root || !in_place).then(|| own[rank].buffer(counts[rank]));
                let receive = (rank == root).then(|| all.varying(counts, &places));
                gatherv(call, &Gather { root, send, receive }).unwrap()
            });
            let what = (&setting, size, root, counts, in_place);
            (0..size).for_each(|rank| {
                all.assert_values(places[rank], counts[rank], rank, 0, &what);
                assert!(all.is_untouched(places[rank] + counts[rank]));
            });
        });
    }
}

fn check_scatterv(shape: Shape) {
    for setting in settings(Collective::Scatterv) {
        with_irregular_blocks(shape, |size, root, counts, in_place| {
            let (places, total) = reversed(counts);
            let mut all = Store::<i64>::filled(shape, total, 9);
            let mut own: Values = (0..size).map(|rank| Store::new(shape, counts[rank])).collect();
            run(size, &setting, 4, |call| {
                let rank = call.team.rank;
                let receive = (rank != root || !in_place).then(|| own[rank].buffer(counts[rank]));
                let send = (rank == root).then(|| all.varying(counts, &places));
                scatterv(call, &Scatter { root, send, receive }).unwrap()
            });
            let what = (&setting, size, root, counts, in_place);
            for rank in (0..size).filter(|&rank| rank != root || !in_place) {
                own[rank].assert_values(0, counts[rank], 9, places[rank], &what);
                assert!(own[rank].is_untouched(counts[rank]));
            }
        });
    }
}

#[test]
fn gatherv_and_scatterv_respect_displacements() {
    for &shape in SHAPES {
        check_gatherv(shape);
        check_scatterv(shape);
    }
}

fn check_scatter(shape: Shape) {
    for setting in settings(Collective::Scatter) {
        for &size in ranks(shape) {
            for (root, in_place) in
                roots(size).into_iter().flat_map(|root| [(root, false), (root, true)])
            {
                for count in counts(size) {
                    let mut all = Store::<i64>::filled(shape, count * size as i64, 9);
                    let mut own: Values = (0..size).map(|_| Store::new(shape, count)).collect();
                    run(size, &setting, count as u64, |call| {
                        let rank = call.team.rank;
                        let receive = (rank != root || !in_place).then(|| own[rank].buffer(count));
                        let send = (rank == root).then(|| all.blocks(count));
                        scatter(call, &Scatter { root, send, receive }).unwrap()
                    });
                    let what = (&setting, size, root, count, in_place);
                    for rank in (0..size).filter(|&rank| rank != root || !in_place) {
                        own[rank].assert_values(0, count, 9, rank as i64 * count, &what);
                    }
                }
            }
        }
    }
}

#[test]
fn scatter_distributes_in_the_order_of_ranks() {
    SHAPES.iter().for_each(|&shape| check_scatter(shape));
}

fn check_allgather(shape: Shape) {
    for setting in settings(Collective::Allgather) {
        for (&size, in_place) in ranks(shape).iter().flat_map(|size| [(size, false), (size, true)])
        {
            for count in counts(size) {
                let total = count * size as i64;
                let mut send: Values =
                    (0..size).map(|rank| Store::filled(shape, count, rank)).collect();
                let mut all: Values = (0..size).map(|_| Store::new(shape, total)).collect();
                run(size, &setting, count as u64, |call| {
                    let rank = call.team.rank;
                    (0..count)
                        .for_each(|i| all[rank].set(rank as i64 * count + i, i64::of(rank, i)));
                    let own = (!in_place).then(|| send[rank].buffer(count));
                    allgather(call, &Allgather { send: own, receive: all[rank].blocks(count) })
                        .unwrap()
                });
                let what = (&setting, size, count, in_place);
                for row in &all {
                    (0..size).for_each(|rank| {
                        row.assert_values(rank as i64 * count, count, rank, 0, &what)
                    });
                    assert!(row.is_untouched(total));
                }
            }
        }
    }
}

#[test]
fn allgather_gives_all_to_all() {
    SHAPES.iter().for_each(|&shape| check_allgather(shape));
}

fn check_allgatherv(shape: Shape) {
    for setting in settings(Collective::Allgatherv) {
        for (&size, in_place) in ranks(shape).iter().flat_map(|size| [(size, false), (size, true)])
        {
            for count in counts(size) {
                let counts: Vec<i64> = (0..size).map(|rank| irregular(rank, 1, count)).collect();
                let (places, total) = reversed(&counts);
                let mut send: Values =
                    (0..size).map(|rank| Store::filled(shape, counts[rank], rank)).collect();
                let mut all: Values = (0..size).map(|_| Store::new(shape, total)).collect();
                run(size, &setting, count as u64, |call| {
                    let rank = call.team.rank;
                    if in_place {
                        (0..counts[rank])
                            .for_each(|i| all[rank].set(places[rank] + i, i64::of(rank, i)));
                    }
                    let own = (!in_place).then(|| send[rank].buffer(counts[rank]));
                    allgather(
                        call,
                        &Allgather { send: own, receive: all[rank].varying(&counts, &places) },
                    )
                    .unwrap()
                });
                let what = (&setting, size, count, in_place);
                for row in &all {
                    for rank in 0..size {
                        row.assert_values(places[rank], counts[rank], rank, 0, &what);
                        assert!(row.is_untouched(places[rank] + counts[rank]));
                    }
                }
            }
        }
    }
}

#[test]
fn allgatherv_respects_displacements() {
    SHAPES.iter().for_each(|&shape| check_allgatherv(shape));
}

fn check_alltoall(shape: Shape) {
    for setting in settings(Collective::Alltoall) {
        for (&size, in_place) in ranks(shape).iter().flat_map(|size| [(size, false), (size, true)])
        {
            // Blocks that are swapped in place, also by a pair alone.
            for count in counts(size).chain((size == 2).then_some(5_000)) {
                let total = count * size as i64;
                let mut send: Values =
                    (0..size).map(|rank| Store::filled(shape, total, rank)).collect();
                let mut receive: Values = (0..size)
                    .map(|rank| {
                        if in_place {
                            Store::filled(shape, total, rank)
                        } else {
                            Store::new(shape, total)
                        }
                    })
                    .collect();
                run(size, &setting, count as u64, |call| {
                    let rank = call.team.rank;
                    let own = (!in_place).then(|| send[rank].blocks(count));
                    alltoall(call, &Alltoall { send: own, receive: receive[rank].blocks(count) })
                        .unwrap()
                });
                let what = (&setting, size, count, in_place);
                for (rank, row) in receive.iter().enumerate() {
                    for from in 0..size {
                        row.assert_values(
                            from as i64 * count,
                            count,
                            from,
                            rank as i64 * count,
                            &what,
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn alltoall_transposes() {
    SHAPES.iter().for_each(|&shape| check_alltoall(shape));
}

fn check_alltoallv(shape: Shape) {
    for setting in settings(Collective::Alltoallv) {
        for (&size, mixed) in ranks(shape).iter().flat_map(|size| [(size, false), (size, true)]) {
            for (count, in_place) in
                irregular_counts(size).flat_map(|count| [(count, false), (count, true)])
            {
                // In place, both directions of a pair have the same count.
                let pair = |a: usize, b: usize| {
                    if in_place {
                        irregular(a.min(b), a.max(b), count)
                    } else {
                        irregular(a, b, count)
                    }
                };
                let mut send = Values::new();
                let mut receive = Values::new();
                let mut places = Vec::new();
                for rank in 0..size {
                    let outgoing: Vec<i64> = (0..size).map(|to| pair(rank, to)).collect();
                    let incoming: Vec<i64> = (0..size).map(|from| pair(from, rank)).collect();
                    let (out_places, out_total) = reversed(&outgoing);
                    let (in_places, in_total) = reversed(&incoming);
                    send.push(Store::filled(shape, out_total, rank));
                    receive.push(if in_place {
                        Store::filled(shape, in_total, rank)
                    } else {
                        Store::new(shape, in_total)
                    });
                    places.push((outgoing, out_places, incoming, in_places));
                }
                run(size, &setting, count as u64, |call| {
                    let rank = call.team.rank;
                    let (outgoing, out_places, incoming, in_places) = &places[rank];
                    let blocks = if mixed { Store::mixed } else { Store::varying };
                    let own = (!in_place).then(|| blocks(&mut send[rank], outgoing, out_places));
                    alltoall(
                        call,
                        &Alltoall {
                            send: own,
                            receive: blocks(&mut receive[rank], incoming, in_places),
                        },
                    )
                    .unwrap()
                });
                let what = (&setting, size, count, mixed, in_place);
                for rank in 0..size {
                    for from in 0..size {
                        let (_, out_places, _, _) = &places[from];
                        let (_, _, incoming, in_places) = &places[rank];
                        receive[rank].assert_values(
                            in_places[from],
                            incoming[from],
                            from,
                            out_places[rank],
                            &what,
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn alltoallv_and_w_respect_counts_of_each_pair() {
    SHAPES.iter().for_each(|&shape| check_alltoallv(shape));
}
