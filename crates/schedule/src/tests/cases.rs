//! The schedules that are checked.

use std::sync::Arc;

use towpath_base::ids::PeerIndex;

use super::definition::{Case, Op, Shape, What};
use super::execution::check;
use crate::select::{Collective, TABLE};
use crate::testing::{Random, random_network};
use crate::{Placement, Selection};

pub(super) const ALL: [What; 17] = [
    What::Barrier,
    What::Bcast,
    What::Gather,
    What::Gatherv,
    What::Scatter,
    What::Scatterv,
    What::Allgather,
    What::Allgatherv,
    What::Alltoall,
    What::Alltoallv,
    What::Alltoallw,
    What::Reduce,
    What::Allreduce,
    What::ReduceScatterBlock,
    What::ReduceScatter,
    What::Scan,
    What::Exscan,
];

/// The row of the selection table.
fn collective(what: What) -> Collective {
    match what {
        What::Barrier => Collective::Barrier,
        What::Bcast => Collective::Bcast,
        What::Gather => Collective::Gather,
        What::Gatherv => Collective::Gatherv,
        What::Scatter => Collective::Scatter,
        What::Scatterv => Collective::Scatterv,
        What::Allgather => Collective::Allgather,
        What::Allgatherv => Collective::Allgatherv,
        What::Alltoall => Collective::Alltoall,
        What::Alltoallv | What::Alltoallw => Collective::Alltoallv,
        What::Reduce => Collective::Reduce,
        What::Allreduce => Collective::Allreduce,
        What::ReduceScatterBlock | What::ReduceScatter => Collective::ReduceScatter,
        What::Scan | What::Exscan => Collective::Scan,
    }
}

/// The default choice, and each algorithm of a collective.
fn selections(what: What) -> Vec<Selection> {
    let collective = collective(what);
    let rows = TABLE.iter().filter(|row| row.collective == collective);
    let mut algorithms: Vec<_> = rows.map(|row| row.algorithm).collect();
    algorithms.dedup();
    let forced = algorithms.into_iter().map(|one| Selection::forcing(collective, one));
    [Selection::default()].into_iter().chain(forced).collect()
}

/// Which ranks share a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mapping {
    OneHost,
    /// So many consecutive ranks on each host.
    Block(usize),
    /// Rank r on host r modulo the number of hosts.
    Cyclic(usize),
    /// Random hosts, the first of which have most ranks.
    Unequal(usize),
    /// Each on its own.
    Apart,
}

impl Mapping {
    /// One of each kind, of `size` ranks on so many hosts.
    pub(super) fn all(size: usize, hosts: usize) -> [Mapping; 5] {
        [
            Mapping::OneHost,
            Mapping::Block(size.div_ceil(hosts)),
            Mapping::Cyclic(hosts),
            Mapping::Unequal(hosts),
            Mapping::Apart,
        ]
    }

    pub(super) fn placement(self, random: &mut Random, size: usize) -> Placement {
        let mut host = |rank: usize| match self {
            Mapping::OneHost => 0,
            Mapping::Block(ranks) => rank / ranks,
            Mapping::Cyclic(hosts) => rank % hosts,
            Mapping::Unequal(hosts) => {
                let most = 1 + random.below(hosts);
                random.below(most)
            }
            Mapping::Apart => rank,
        };
        let identities: Vec<u32> = (0..size).map(|rank| host(rank) as u32).collect();
        Placement::new(identities)
    }

    /// The same, and what joins the hosts: nothing special, random links and groups, or the cores
    /// of one machine.
    pub(super) fn joined(self, random: &mut Random, size: usize) -> Placement {
        let placement = self.placement(random, size);
        let cores = 1 + random.below(2);
        match random.below(3) {
            0 => placement.with_ranks_per_core(cores),
            1 => {
                let network = random_network(random, size);
                placement.on_network(&network).with_ranks_per_core(cores)
            }
            _ => placement.with_ranks_per_core(2).sharing_evenly(true),
        }
    }
}

pub(super) fn case(what: What, placement: Placement, size: usize, count: i64) -> Case {
    Case {
        what,
        root: 0,
        count,
        shape: Shape::Words,
        op: Op::Predefined,
        in_place: false,
        in_phases: false,
        selection: Selection::default(),
        placement: Arc::new(placement),
        peers: (0..size as u32).map(PeerIndex).collect(),
        order_of_every: 1,
    }
}

/// What is wrong with the schedule of a case, and of which case.
fn fault_of(case: &Case) -> Option<String> {
    let mut fault = check(case, &mut |_, _| ()).err()?;
    fault.truncate(1_000);
    let Case { what, root, count, shape, op, in_place, in_phases, selection, .. } = case;
    let hosts: Vec<usize> =
        (0..case.size().min(100)).map(|rank| case.placement.host_of(rank)).collect();
    Some(format!(
        "{what:?} of {count} {shape:?}, {op:?}, root {root} of {}, in place {in_place}, in phases \
         {in_phases}, {selection:?}, hosts {hosts:?}: {fault}",
        case.size()
    ))
}

/// Checks cases, and reports a few that are wrong.
fn verify(cases: impl Iterator<Item = Case>) {
    let faults: Vec<String> = cases.filter_map(|case| fault_of(&case)).take(20).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A call with random arguments.
fn random_case(random: &mut Random, what: What, selection: &Selection, size: usize) -> Case {
    let mappings = Mapping::all(size, 1 + random.below(size));
    let mapping = mappings[random.below(mappings.len())];
    let scatters = matches!(what, What::ReduceScatter | What::ReduceScatterBlock);
    let shapes = match scatters && size > 129 {
        // The vectors of all ranks, with a block for each, may meet on all.
        true => [Shape::Bytes, Shape::Words, Shape::Words, Shape::Words],
        false => [Shape::Bytes, Shape::Words, Shape::Words, Shape::Gaps],
    };
    let shape = shapes[random.below(shapes.len())];
    // Several segments, if memory allows. Elements with gaps are kept one by one.
    let long = if size > 9 { 9_000 } else { 40_000 };
    let counts = match shape {
        Shape::Gaps if size > 64 => [0, 1, 2, 3, 5],
        Shape::Gaps if size > 9 => [0, 1, 5, 10, 30],
        Shape::Gaps => [0, 1, 5, 30, 300],
        _ if size > 17 => [0, 1, 5, 30, 600],
        _ => [0, 1, 5, 700, long],
    };
    let placement = mapping.joined(random, size);
    Case {
        root: random.below(size),
        shape,
        op: [Op::Predefined, Op::User, Op::NonCommutative][random.below(3)],
        in_place: random.below(3) == 0,
        in_phases: random.below(3) == 0,
        selection: selection.clone(),
        order_of_every: 1 + size / 100,
        ..case(what, placement, size, counts[random.below(counts.len())])
    }
}

/// Random calls of each operation by each algorithm.
fn random_cases(seed: u64, rounds: usize, sizes: &[usize]) -> impl Iterator<Item = Case> {
    let mut random = Random::new(seed);
    let calls = (0..rounds)
        .flat_map(|_| ALL)
        .flat_map(|what| selections(what).into_iter().map(move |selection| (what, selection)));
    calls.map(move |(what, selection)| {
        let size = sizes[random.below(sizes.len())];
        random_case(&mut random, what, &selection, size)
    })
}

/// Long calls whose blocks pass through relays, since some hosts have slow links.
fn relayed_cases(seed: u64, number: usize) -> impl Iterator<Item = Case> {
    let mut random = Random::new(seed);
    let relayed =
        [What::Allgather, What::Allgatherv, What::ReduceScatterBlock, What::ReduceScatter];
    (0..number).flat_map(move |_| relayed).map(move |what| {
        let size = 3 + random.below(9);
        let hosts = 2 + random.below(size);
        let mappings = [
            Mapping::Block(1 + size / hosts),
            Mapping::Cyclic(hosts),
            Mapping::Unequal(hosts),
            Mapping::Apart,
            Mapping::Apart,
        ];
        let placement = mappings[random.below(mappings.len())].placement(&mut random, size);
        let slow: Vec<bool> = (0..size).map(|_| random.below(3) == 0).collect();
        let placement = placement.with_rates(|host| if slow[host] { 1 } else { 10 });
        Case {
            shape: [Shape::Words, Shape::Words, Shape::Gaps][random.below(3)],
            op: [Op::Predefined, Op::User, Op::NonCommutative][random.below(3)],
            in_place: random.below(3) == 0,
            ..case(what, placement, size, [600, 3_000, 9_000][random.below(3)])
        }
    })
}

/// Calls of many ranks, of one byte from each to each, with the algorithms of the table.
fn large_cases(
    seed: u64,
    operations: &[What],
    mappings: &[Mapping],
    size: usize,
) -> impl Iterator<Item = Case> {
    let mut random = Random::new(seed);
    let calls = operations.iter().flat_map(|&what| mappings.iter().map(move |one| (what, *one)));
    calls.map(move |(what, mapping)| Case {
        root: random.below(size),
        shape: Shape::Bytes,
        in_place: random.below(2) == 0,
        in_phases: random.below(2) == 0,
        op: [Op::Predefined, Op::NonCommutative][random.below(2)],
        order_of_every: 1 + size / 50,
        ..case(what, mapping.joined(&mut random, size), size, 1)
    })
}

/// Reductions of so many words that a rank has not memory for the stripes of all their chunks:
/// between hosts that send a chunk while they fold the next, and where a link is slow.
pub(super) fn long_reductions() -> impl Iterator<Item = Case> {
    let streaming = Mapping::Block(2).placement(&mut Random::new(0), 4).with_ranks_per_core(1);
    let rate = |host| if host == 3 { 12_500_000 } else { 125_000_000 };
    let slow = Mapping::Apart.placement(&mut Random::new(0), 4).with_rates(rate);
    let calls = [What::Reduce, What::Allreduce].into_iter().flat_map(move |what| {
        [&streaming, &slow].map(|placement| case(what, placement.clone(), 4, 150_000))
    });
    let all = |case: Case| [false, true].map(|in_place| Case { in_place, ..case.clone() });
    let ops =
        |case: Case| [Op::Predefined, Op::NonCommutative].map(|op| Case { op, ..case.clone() });
    calls.flat_map(all).flat_map(ops)
}

/// Operations whose schedules have few steps on each rank.
const SPARSE: [What; 7] = [
    What::Barrier,
    What::Bcast,
    What::Gather,
    What::Gatherv,
    What::Scatter,
    What::Scatterv,
    What::Reduce,
];

/// Checks operations of 3,000 and of 10,000 ranks, several of which share a host, or each of which
/// may be apart too.
fn verify_many(operations: &[What], may_be_apart: bool) {
    let [_, consecutive, cyclic, unequal, apart] = Mapping::all(10_000, 1_000);
    let shared = [consecutive, cyclic, unequal, Mapping::Block(100)];
    let mappings = shared.into_iter().chain([apart; 2].into_iter().filter(|_| may_be_apart));
    let mappings: Vec<Mapping> = mappings.collect();
    verify(large_cases(6, operations, &mappings, 3_000));
    // Where each rank folds a stripe of the vectors of all, 10,000 ranks have 10^8 messages, whose
    // steps do not fit into memory: such calls end at 3,000 ranks.
    let sends_to_all = |case: &Case| {
        matches!(case.what, What::ReduceScatter | What::ReduceScatterBlock)
            && !case.commutes()
            && !case.placement.is_consecutive()
    };
    verify(large_cases(7, operations, &mappings, 10_000).map(|case| match sends_to_all(&case) {
        true => Case { op: Op::Predefined, ..case },
        false => case,
    }));
}

#[test]
fn every_algorithm_does_what_the_standard_says() {
    verify(random_cases(1, 8, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 17]));
}

#[test]
fn so_does_every_algorithm_on_many_ranks() {
    verify(random_cases(2, 1, &[24, 33, 64]));
}

#[test]
fn long_calls_pass_around_slow_links() {
    verify(relayed_cases(11, 12));
}

#[test]
fn so_do_long_reductions() {
    verify(long_reductions());
}

#[test]
fn a_thousand_ranks_do_what_the_standard_says() {
    let [_, consecutive, cyclic, unequal, _] = Mapping::all(1_000, 90);
    let operations = [&SPARSE[..], &[What::Allreduce, What::Allgather]].concat();
    verify(large_cases(3, &operations, &[consecutive, cyclic, unequal], 1_000));
}

#[test]
#[ignore = "minutes: make stress"]
fn random_calls_do_what_the_standard_says() {
    verify(random_cases(4, 1_500, &[2, 3, 4, 5, 6, 7, 8, 9, 12, 17, 30]));
}

#[test]
#[ignore = "minutes: make stress"]
fn so_do_random_calls_of_many_ranks() {
    verify(random_cases(5, 20, &[64, 100, 129, 250]));
}

#[test]
#[ignore = "minutes: make stress"]
fn ten_thousand_ranks_do_what_the_standard_says() {
    verify_many(&SPARSE, true);
}

#[test]
#[ignore = "minutes: make stress"]
fn ten_thousand_ranks_gather_what_the_standard_says() {
    verify_many(&[What::Allgather], true);
}

#[test]
#[ignore = "minutes: make stress"]
fn ten_thousand_ranks_reduce_what_the_standard_says() {
    verify_many(&[What::Allreduce], true);
}

#[test]
#[ignore = "minutes: make stress"]
fn ten_thousand_ranks_get_the_blocks_that_the_standard_says() {
    verify_many(&[What::ReduceScatterBlock], false);
}

#[test]
#[ignore = "minutes: make stress"]
fn ten_thousand_ranks_get_varying_blocks_as_the_standard_says() {
    verify_many(&[What::ReduceScatter], false);
}

#[test]
#[ignore = "minutes: make stress"]
fn ten_thousand_ranks_scan_what_the_standard_says() {
    verify_many(&[What::Scan, What::Exscan], false);
}

#[test]
#[ignore = "minutes: make stress"]
fn a_thousand_ranks_fold_what_the_standard_says() {
    let folds = [What::ReduceScatterBlock, What::ReduceScatter, What::Scan, What::Exscan];
    verify(large_cases(8, &folds, &Mapping::all(1_000, 100), 1_000));
}

#[test]
#[ignore = "minutes: make stress"]
fn a_thousand_ranks_exchange_what_the_standard_says() {
    let mappings = Mapping::all(1_000, 100);
    let exchanges = [What::Alltoall, What::Alltoallv, What::Alltoallw, What::Allgatherv];
    verify(large_cases(9, &exchanges, &mappings, 1_000));
    let long = large_cases(10, &exchanges[..1], &mappings, 1_000);
    verify(long.map(|case| Case { count: 40_000, ..case }));
}
