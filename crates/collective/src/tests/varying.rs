//! Calls between hosts with lengths that only some ranks know: the bound of what leaders pass on,
//! repeated calls, and ranks that disagree.

use super::fake::{execute_runs, outcome_of, settle_runs};
use super::{Mapping, Sample, Setting, Shape, Store};
use crate::alltoall::{Alltoall, alltoall};
use crate::failure::Failure;
use crate::gather::{Gather, gatherv};
use crate::run::{Progress, Run};
use crate::scatter::{Scatter, scatterv};
use crate::select::Collective;
use crate::{Call, Plan};

const SIZE: usize = 7;
/// Elements of the longest block that goes through the leaders.
const BOUND: i64 = 512;
/// Elements between the blocks of two ranks.
const DISTANCE: i64 = 2 * BOUND;
const TRUNCATED: Progress = Progress::Failed(Failure::Truncated);

type Values = Vec<Store<i64>>;

/// The runs of all ranks, not started.
fn hold(mapping: Mapping, mut build: impl FnMut(&Call) -> Plan) -> Vec<Vec<Run>> {
    // So few ranks exchange the blocks of an alltoallv directly by themselves.
    let setting = Setting { selection: Setting::hierarchical(Collective::Alltoallv), mapping };
    let mut plan = |rank| {
        let (team, selection) = (&setting.team(rank, SIZE), &setting.selection);
        build(&Call { team, selection })
    };
    (0..SIZE).map(|rank| vec![Run::hold(plan(rank), 3)]).collect()
}

/// Starts all runs and returns how they have ended.
fn outcomes(runs: &mut Vec<Vec<Run>>, seed: u64) -> Vec<Progress> {
    // SAFETY: the tests keep the buffers until all runs are done, and the runs are over.
    runs.iter_mut().for_each(|own| unsafe { own[0].start_again() });
    *runs = settle_runs(std::mem::take(runs), seed);
    runs.iter_mut().map(|own| outcome_of(&mut own[0])).collect()
}

fn places() -> Vec<i64> {
    (0..SIZE as i64).map(|rank| rank * DISTANCE).collect()
}

/// Lengths on both sides of the bound.
fn around_bound(number: usize) -> i64 {
    [BOUND - 1, BOUND, BOUND + 1, 0, 2 * BOUND - 1][number % 5]
}

/// The lengths by which ranks disagree: what the sender has, and what the receiver expects.
const DISAGREEMENTS: [(i64, i64); 8] = [
    (3, 5),
    (5, 3),
    (3, 0),
    (0, 3),
    (BOUND, BOUND + 1),
    (BOUND + 1, BOUND),
    (BOUND + 1, 0),
    (3, BOUND + 100),
];

#[test]
fn blocks_around_the_bound_arrive_again_and_again() {
    let counts: Vec<i64> = (0..SIZE).map(around_bound).collect();
    let mut own: Values =
        (0..SIZE).map(|rank| Store::filled(Shape::Dense, counts[rank], rank)).collect();
    let mut all = Store::<i64>::new(Shape::Gaps, DISTANCE * SIZE as i64);
    let mut back: Values = (0..SIZE).map(|rank| Store::new(Shape::Dense, counts[rank])).collect();
    let mut gathers = hold(Mapping::Unequal, |call| {
        let rank = call.team.rank;
        let receive = (rank == 2).then(|| all.varying(&counts, &places()));
        gatherv(call, &Gather { root: 2, send: Some(own[rank].buffer(counts[rank])), receive })
            .unwrap()
    });
    let mut scatters = hold(Mapping::Unequal, |call| {
        let rank = call.team.rank;
        let send = (rank == 2).then(|| all.varying(&counts, &places()));
        scatterv(call, &Scatter { root: 2, send, receive: Some(back[rank].buffer(counts[rank])) })
            .unwrap()
    });
    let steps: Vec<usize> = gathers.iter().map(|own| own[0].bytes()).collect();
    for round in 0..4 {
        for (rank, row) in own.iter_mut().enumerate() {
            (0..counts[rank]).for_each(|i| row.set(i, i64::of(rank, i) + round));
        }
        for runs in [&mut gathers, &mut scatters] {
            // SAFETY: the buffers live to the end of the test, and the runs are over.
            runs.iter_mut().for_each(|own| unsafe { own[0].start_again() });
            *runs = execute_runs(std::mem::take(runs), round as u64 + 1);
        }
        for (rank, row) in back.iter().enumerate() {
            (0..counts[rank]).for_each(|i| assert_eq!(row.get(i), i64::of(rank, i) + round));
        }
    }
    // What was added to the plans of one call is not there twice.
    let _ = outcomes(&mut gathers, 9);
    let once: Vec<usize> = gathers.iter().map(|own| own[0].bytes()).collect();
    let _ = outcomes(&mut gathers, 9);
    let again: Vec<usize> = gathers.iter().map(|own| own[0].bytes()).collect();
    assert_eq!(once, again);
    assert!(steps.iter().zip(&once).all(|(before, after)| before <= after));
    assert!(steps < once, "nothing was added");
}

#[test]
fn ranks_that_disagree_about_a_length_do_not_hang() {
    for mapping in [Mapping::Consecutive, Mapping::Cyclic, Mapping::Unequal] {
        for (seed, (sent, expected)) in (1..).zip(DISAGREEMENTS) {
            for (root, odd) in [(0, 1), (0, 5), (4, 6), (4, 0)] {
                check_rooted(mapping, (root, odd), (sent, expected), seed);
            }
            for (from, to) in [(0, 1), (2, 5), (6, 0), (3, 4)] {
                check_alltoall(mapping, (from, to), (sent, expected), seed);
            }
        }
    }
}

/// Rank `odd` and the root disagree about the block of `odd`.
fn check_rooted(
    mapping: Mapping,
    (root, odd): (usize, usize),
    (sent, expected): (i64, i64),
    seed: u64,
) {
    let what = (mapping, root, odd, sent, expected);
    let count = |rank, odds| if rank == odd { odds } else { 4 };
    let mut own: Values =
        (0..SIZE).map(|rank| Store::filled(Shape::Dense, count(rank, sent), rank)).collect();
    let mut all = Store::<i64>::new(Shape::Dense, DISTANCE * SIZE as i64);
    let counts: Vec<i64> = (0..SIZE).map(|rank| count(rank, expected)).collect();
    let mut runs = hold(mapping, |call| {
        let rank = call.team.rank;
        let receive = (rank == root).then(|| all.varying(&counts, &places()));
        gatherv(call, &Gather { root, send: Some(own[rank].buffer(count(rank, sent))), receive })
            .unwrap()
    });
    for (rank, outcome) in outcomes(&mut runs, seed).into_iter().enumerate() {
        let fails = rank == root && sent > expected;
        assert_eq!(outcome, if fails { TRUNCATED } else { Progress::Done }, "{what:?} {rank}");
    }
    for rank in (0..SIZE).filter(|&rank| rank != odd || sent <= expected) {
        all.assert_values(places()[rank], count(rank, sent), rank, 0, &what);
        assert!(all.is_untouched(places()[rank] + count(rank, sent)), "{what:?}");
    }

    let mut all = Store::<i64>::filled(Shape::Dense, DISTANCE * SIZE as i64, 9);
    let counts: Vec<i64> = (0..SIZE).map(|rank| count(rank, sent)).collect();
    let mut own: Values =
        (0..SIZE).map(|rank| Store::new(Shape::Dense, count(rank, expected))).collect();
    let mut runs = hold(mapping, |call| {
        let rank = call.team.rank;
        let receive = Some(own[rank].buffer(count(rank, expected)));
        let send = (rank == root).then(|| all.varying(&counts, &places()));
        scatterv(call, &Scatter { root, send, receive }).unwrap()
    });
    for (rank, outcome) in outcomes(&mut runs, seed).into_iter().enumerate() {
        let fails = rank == odd && sent > expected;
        assert_eq!(outcome, if fails { TRUNCATED } else { Progress::Done }, "{what:?} {rank}");
        if !fails {
            own[rank].assert_values(0, count(rank, sent), 9, places()[rank], &what);
        }
        assert!(own[rank].is_untouched(count(rank, expected)), "{what:?}");
    }
}

/// Ranks `from` and `to` disagree about the block from the one to the other.
fn check_alltoall(
    mapping: Mapping,
    (from, to): (usize, usize),
    (sent, expected): (i64, i64),
    seed: u64,
) {
    for in_place in [false, true] {
        let what = (mapping, from, to, sent, expected, in_place);
        let total = DISTANCE * SIZE as i64;
        let row = |rank: usize, partner: usize, (own, other, odds): (usize, usize, i64)| {
            let counts = (0..SIZE).map(|peer| if peer == partner { odds } else { 4 });
            if rank == own && partner == other { counts.collect() } else { vec![4i64; SIZE] }
        };
        let mut send: Values =
            (0..SIZE).map(|rank| Store::filled(Shape::Dense, total, rank)).collect();
        let mut receive: Values = (0..SIZE)
            .map(|rank| match in_place {
                true => Store::filled(Shape::Dense, total, rank),
                false => Store::new(Shape::Dense, total),
            })
            .collect();
        let mut runs = hold(mapping, |call| {
            let rank = call.team.rank;
            // In place, rank `from` takes its length for what it sends and receives.
            let outgoing: Vec<i64> = row(rank, to, (from, to, sent));
            let incoming: Vec<i64> = match in_place && rank == from {
                true => outgoing.clone(),
                false => row(rank, from, (to, from, expected)),
            };
            let own = (!in_place).then(|| send[rank].varying(&outgoing, &places()));
            let receive = receive[rank].varying(&incoming, &places());
            alltoall(call, &Alltoall { send: own, receive }).unwrap()
        });
        for (rank, outcome) in outcomes(&mut runs, seed).into_iter().enumerate() {
            let is_longer = |own, receives, sends| rank == own && sends > receives;
            let fails =
                is_longer(to, expected, sent) || (in_place && is_longer(from, sent, expected));
            assert_eq!(outcome, if fails { TRUNCATED } else { Progress::Done }, "{what:?} {rank}");
        }
        for (rank, row) in receive.iter().enumerate() {
            let is_odd = |peer: usize| [(from, to), (to, from)].contains(&(peer, rank));
            for peer in (0..SIZE).filter(|&peer| !is_odd(peer)) {
                row.assert_values(places()[peer], 4, peer, places()[rank], &what);
            }
        }
    }
}
