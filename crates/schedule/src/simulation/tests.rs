//! The costs of small schedules, checked by hand, and every algorithm with synchronous messages
//! only.

use std::sync::Arc;

use towpath_base::ids::{ContextId, PeerIndex, Plane};

use super::*;
use crate::allgather::Allgather;
use crate::alltoall::Alltoall;
use crate::buffers::Piece;
use crate::builder::Builder;
use crate::cost::{LinkCost, LogGp};
use crate::gather::Gather;
use crate::operand::Operand;
use crate::scatter::Scatter;
use crate::select::{Algorithm, COLLECTIVES, Collective, TABLE};
use crate::team::Placement;
use crate::testing::{Random, random_network};
use crate::{Blocks, Buffer, Call, Element, Operation, Reducer, Selection};

const NEAR: LogGp = LogGp {
    latency: 300_000,
    overhead: 50_000,
    gap: 60_000,
    gap_per_byte: 100,
    overhead_per_byte: 0,
};
const FAR: LogGp = LogGp {
    latency: 20_000_000,
    overhead: 2_000_000,
    gap: 3_000_000,
    gap_per_byte: 800,
    overhead_per_byte: 0,
};
const COSTS: CostModel = costs(Some(8192));
const SYNCHRONOUS: CostModel = costs(None);

const fn costs(eager: Option<u64>) -> CostModel {
    CostModel {
        same_host: NEAR,
        between_hosts: FAR,
        links: None,
        eager,
        copy_per_byte: 100,
        reduce_per_element: 1_000,
        processors: Vec::new(),
    }
}

/// A team on hosts of `per_host` ranks.
fn team(rank: usize, size: usize, per_host: usize) -> Team {
    let peers = (0..size as u32).map(PeerIndex).collect();
    let placement = Arc::new(Placement::new((0..size).map(|rank| (rank / per_host) as u32)));
    Team { context: ContextId::new(1, 1).on(Plane::Collective), rank, peers, placement }
}

/// An address that nothing reads: simulated plans move no data.
fn address(number: usize) -> *mut u8 {
    std::ptr::without_provenance_mut(number << 40)
}

/// The operation of a collective on vectors or blocks of `count` elements of 8 bytes.
fn operation(collective: Collective, call: &Call, root: usize, count: i64) -> Operation {
    let (rank, size) = (call.team.rank, call.team.size());
    let element = Element::dense(8);
    let buffer = || Buffer { pointer: address(1), count, element: element.clone() };
    let equal =
        |number| Blocks::Equal { pointer: address(number), count, element: element.clone() };
    let varying = |number| Blocks::Varying {
        pointer: address(number),
        counts: vec![count; size].into(),
        displacements: (0..size as i64).map(|rank| rank * count).collect(),
        element: element.clone(),
    };
    let reducer = Reducer::user(Arc::new(|_: *const u8, _: *mut u8, _: i64| {}), true);
    let operand =
        |count| Operand { send: Some(address(1)), count, element: element.clone(), reducer };
    let receive = address(2);
    match collective {
        Collective::Barrier => Operation::Barrier,
        Collective::Bcast => Operation::Bcast { root, data: buffer() },
        Collective::Gather => Operation::Gather(Gather {
            root,
            send: Some(buffer()),
            receive: (rank == root).then(|| equal(2)),
        }),
        Collective::Scatter => Operation::Scatter(Scatter {
            root,
            send: (rank == root).then(|| equal(2)),
            receive: Some(buffer()),
        }),
        Collective::Gatherv => Operation::Gatherv(Gather {
            root,
            send: Some(buffer()),
            receive: (rank == root).then(|| varying(2)),
        }),
        Collective::Scatterv => Operation::Scatterv(Scatter {
            root,
            send: (rank == root).then(|| varying(2)),
            receive: Some(buffer()),
        }),
        Collective::Allgather => {
            Operation::Allgather(Allgather { send: Some(buffer()), receive: equal(2) })
        }
        Collective::Allgatherv => {
            Operation::Allgather(Allgather { send: Some(buffer()), receive: varying(2) })
        }
        Collective::Alltoall => {
            Operation::Alltoall(Alltoall { send: Some(equal(1)), receive: equal(2) })
        }
        Collective::Alltoallv => {
            Operation::Alltoall(Alltoall { send: Some(varying(1)), receive: varying(2) })
        }
        Collective::Reduce => Operation::Reduce { root, operand: operand(count), receive },
        Collective::Allreduce => Operation::Allreduce { operand: operand(count), receive },
        Collective::ReduceScatter => Operation::ReduceScatter {
            operand: operand(count * size as i64),
            counts: vec![count; size],
            receive,
        },
        Collective::Scan => {
            Operation::Scan { operand: operand(count), receive, exclusive: root > 0 }
        }
    }
}

/// The plans of all ranks of a collective with the algorithms of the table.
fn plans(collective: Collective, teams: &[Team], root: usize, count: i64) -> Vec<Plan> {
    let selection = &Selection::default();
    let plan = |team| {
        let call = Call { team, selection };
        operation(collective, &call, root, count).plan(&call).expect("the arguments are small")
    };
    teams.iter().map(plan).collect()
}

/// Messages that leave a host, each with the host that sends it, the one that receives it, and its
/// bytes.
fn between_hosts(team: &Team, plans: &[Plan]) -> Vec<(usize, usize, i64)> {
    let placement = &team.placement;
    let host = |peer: PeerIndex| placement.host_of(peer.slot());
    let mut messages = Vec::new();
    for (rank, plan) in plans.iter().enumerate() {
        for step in &plan.steps {
            if let StepAction::Send { peer, piece, .. } = &step.action
                && host(*peer) != placement.host_of(rank)
            {
                messages.push((placement.host_of(rank), host(*peer), piece.bytes()));
            }
        }
    }
    messages
}

#[test]
fn pairs_of_hosts_exchange_few_messages() {
    // Ranks are mapped in turn, so that no host has neighbours.
    let cyclic = |rank| {
        let placement = Placement::new((0..64).map(|rank| rank % 8));
        Team { placement: Arc::new(placement), ..team(rank, 64, 8) }
    };
    let teams: Vec<Team> = (0..64).map(cyclic).collect();
    for (collective, most) in [
        (Collective::Barrier, 24),
        (Collective::Bcast, 7),
        (Collective::Gather, 7),
        (Collective::Scatter, 7),
        (Collective::Allgather, 56),
        (Collective::Allgatherv, 56),
        (Collective::Alltoall, 56),
        (Collective::Reduce, 7),
        (Collective::Allreduce, 56),
        (Collective::ReduceScatter, 56),
    ] {
        let messages = between_hosts(&teams[0], &plans(collective, &teams, 5, 1));
        assert!(messages.len() <= most, "{collective:?} sends {} messages", messages.len());
    }
}

/// Bytes that the slow hosts send and receive, each by itself.
fn over_links(teams: &[Team], plans: &[Plan], slow: &[usize]) -> Vec<(i64, i64)> {
    let messages = between_hosts(&teams[0], plans);
    let sum = |crosses: &dyn Fn(&(usize, usize, i64)) -> bool| -> i64 {
        messages.iter().filter(|message| crosses(message)).map(|message| message.2).sum()
    };
    let both = slow
        .iter()
        .map(|&host| (sum(&|message| message.0 == host), sum(&|message| message.1 == host)));
    both.collect()
}

/// Teams of ranks whose hosts these are, of which some have slow links.
fn behind_slow_links(hosts: &[u32], slow: &[usize]) -> Vec<Team> {
    let rate = |host| if slow.contains(&host) { 125_000_000 } else { 1_250_000_000 };
    let placement = Arc::new(Placement::new(hosts.iter().copied()).with_rates(rate));
    let team = |rank| Team { placement: placement.clone(), ..team(rank, hosts.len(), 1) };
    (0..hosts.len()).map(team).collect()
}

#[test]
fn payload_crosses_a_slow_link_once_in_each_direction() {
    let count = 100_000;
    for per_host in [1, 3] {
        let hosts: Vec<u32> = (0..4 * per_host as u32).map(|rank| rank / per_host as u32).collect();
        let teams = behind_slow_links(&hosts, &[1]);
        for collective in [Collective::Bcast, Collective::Reduce, Collective::Allreduce] {
            for root in [0, per_host] {
                let plans = plans(collective, &teams, root, count);
                let (sent, received) = over_links(&teams, &plans, &[1])[0];
                let what = (collective, per_host, root, sent, received);
                assert!(sent <= 8 * count && received <= 8 * count, "{what:?}");
            }
        }
    }
}

#[test]
fn blocks_cross_a_slow_link_once() {
    let block: Vec<u32> = (0..24).map(|rank| rank / 3).collect();
    let cyclic: Vec<u32> = (0..24).map(|rank| rank % 8).collect();
    let unequal: Vec<u32> = (0..20).map(|rank| [0, 1, 2, 0, 3, 3, 3][rank % 7]).collect();
    for hosts in [(0..8).collect(), (0..7).collect(), block, cyclic, unequal] {
        for slow in [&[0][..], &[2], &[1, 3], &[0, 1, 2]] {
            let teams = behind_slow_links(&hosts, slow);
            let all = |count| 8 * count * teams.len() as i64;
            // A relay folds for one leaf only.
            let is_folded = 2 * slow.len() <= teams[0].placement.hosts();
            for (collective, count) in [
                (Collective::Allgather, 2_000),
                (Collective::Allgather, 20_000),
                (Collective::Allgatherv, 20_000),
                (Collective::ReduceScatter, 2_000),
                (Collective::ReduceScatter, 20_000),
            ] {
                if collective == Collective::ReduceScatter && !is_folded {
                    continue;
                }
                let plans = plans(collective, &teams, 0, count);
                for (&host, both) in slow.iter().zip(over_links(&teams, &plans, slow)) {
                    let own = 8 * count * teams[0].placement.members(host).len() as i64;
                    let least = match collective {
                        Collective::ReduceScatter => (all(count), own),
                        _ => (own, all(count) - own),
                    };
                    assert_eq!(both, least, "{collective:?} {count} {host} of {hosts:?}");
                }
            }
        }
    }
}

#[test]
fn a_host_behind_a_slow_link_takes_no_longer_than_its_link() {
    let teams = behind_slow_links(&(0..8).collect::<Vec<u32>>(), &[3]);
    let network = teams[0].placement.network();
    let count = 1 << 17;
    for (collective, most) in [(Collective::Allgather, 7), (Collective::ReduceScatter, 8)] {
        let costs = CostModel { links: Some(network.into()), ..COSTS };
        let plans = plans(collective, &teams, 0, count);
        let time = completion_time(&teams[0], &plans, &costs).expect("the plan ends");
        let link = most * 8 * count as u64 * (crate::cost::SECOND / network.hosts[3].link.rate);
        assert!(time * 100 < link * 104, "{collective:?}: {time} of {link}");
    }
}

/// Teams of all ranks on random hosts, of which each has up to `most` ranks.
fn random_teams(random: &mut Random, hosts: usize, most: usize) -> Vec<Team> {
    let network = random_network(random, hosts);
    let identities: Vec<u32> = (0..hosts as u32)
        .flat_map(|host| std::iter::repeat_n(host, 1 + random.below(most)))
        .collect();
    let placement = Arc::new(Placement::new(identities.iter().copied()).on_network(&network));
    let team = |rank| Team { placement: placement.clone(), ..team(rank, identities.len(), 1) };
    (0..identities.len()).map(team).collect()
}

#[test]
fn schedules_end_whatever_joins_the_hosts() {
    let mut random = Random::new(3);
    for round in 0..60 {
        let hosts = 2 + random.below(20);
        let teams = random_teams(&mut random, hosts, 1 + round % 3);
        for &(name, collective) in COLLECTIVES.iter().filter(|row| !expands(row.1)) {
            for count in [0, 1, 300, 20_000] {
                let root = random.below(teams.len());
                let few = if has_blocks(collective) { count.min(1_000) } else { count };
                let plans = plans(collective, &teams, root, few);
                let outcome = completion_time(&teams[0], &plans, &SYNCHRONOUS);
                outcome.unwrap_or_else(|deadlock| {
                    panic!("{name} of {count}, root {root}, {:?}: {deadlock}", teams[0].placement)
                });
            }
        }
    }
}

#[test]
fn ten_thousand_ranks_in_groups_finish_short_calls() {
    let mut random = Random::new(4);
    for (hosts, each) in [(1_000, 10), (1_250, 1)] {
        let mut network = random_network(&mut random, hosts);
        while network.uplinks.is_empty() {
            network = random_network(&mut random, hosts);
        }
        let size = hosts * each;
        let placement = Placement::new((0..size).map(|rank| (rank / each) as u32));
        let placement = Arc::new(placement.on_network(&network));
        let teams: Vec<Team> = (0..size)
            .map(|rank| Team { placement: placement.clone(), ..team(rank, 1, 1) })
            .collect();
        let peers: Arc<[PeerIndex]> = (0..size as u32).map(PeerIndex).collect();
        let teams: Vec<Team> =
            teams.into_iter().map(|team| Team { peers: peers.clone(), ..team }).collect();
        for collective in [Collective::Barrier, Collective::Bcast, Collective::Allreduce] {
            let plans = plans(collective, &teams, size / 2, 1);
            let outcome = completion_time(&teams[0], &plans, &SYNCHRONOUS);
            outcome.unwrap_or_else(|deadlock| panic!("{collective:?}: {deadlock}"));
        }
    }
}

/// Bytes that pass the uplink of each group, outwards and inwards.
fn over_uplinks(teams: &[Team], plans: &[Plan]) -> Vec<[i64; 2]> {
    let network = teams[0].placement.network();
    let mut passed = vec![[0; 2]; network.uplinks.len()];
    for (from, to, bytes) in between_hosts(&teams[0], plans) {
        let (outer, inner) = (&network.hosts[from].groups, &network.hosts[to].groups);
        let only = |one: &[usize], other: &[usize]| -> Vec<usize> {
            one.iter().copied().filter(|group| !other.contains(group)).collect()
        };
        only(outer, inner).into_iter().for_each(|group| passed[group][0] += bytes);
        only(inner, outer).into_iter().for_each(|group| passed[group][1] += bytes);
    }
    passed
}

#[test]
fn a_broadcast_enters_each_group_once() {
    let mut random = Random::new(5);
    for round in 0..100 {
        let hosts = 2 + random.below(30);
        let teams = random_teams(&mut random, hosts, 1 + round % 2);
        for count in [1, 10_000, 100_000] {
            let root = random.below(teams.len());
            let plans = plans(Collective::Bcast, &teams, root, count);
            for [_, into] in over_uplinks(&teams, &plans) {
                assert!(into <= 8 * count, "{into} of {}: {:?}", 8 * count, teams[0].placement);
            }
        }
    }
}

/// Teams on two or three racks of four hosts, whose uplinks are slow.
fn racks(number: usize, per_host: usize) -> Vec<Team> {
    let text: String = (0..number)
        .map(|rack| {
            let (first, last) = (4 * rack, 4 * rack + 3);
            format!(
                "[[group]]\nname = \"r{rack}\"\nhosts = \"h[{first}-{last}]\"\nrate = \"1Gbit\"\n"
            )
        })
        .collect();
    let topology = towpath_topology::NetworkTopology::parse(&text).expect("the text is right");
    let names: Vec<String> = (0..4 * number).map(|host| format!("h{host}")).collect();
    let network = topology.network(names.iter().map(|name| Some(&name[..])), &[]);
    let size = 4 * number * per_host;
    let placement = Placement::new((0..size).map(|rank| (rank / per_host) as u32));
    let placement = Arc::new(placement.on_network(&network));
    (0..size).map(|rank| Team { placement: placement.clone(), ..team(rank, size, 1) }).collect()
}

#[test]
fn one_vector_leaves_and_enters_a_group() {
    for (number, per_host) in [(2, 1), (2, 3), (3, 1), (3, 2)] {
        let teams = racks(number, per_host);
        for count in [10_000, 400_000] {
            let bytes = 8 * count;
            for root in [0, teams.len() / 2, teams.len() - 1] {
                let plans = plans(Collective::Bcast, &teams, root, count);
                for [out, into] in over_uplinks(&teams, &plans) {
                    // Two copies of short data take as long as one that is passed on.
                    let copies = if count < 100_000 { number as i64 - 1 } else { 1 };
                    let most = copies * bytes;
                    assert!(out <= most && into <= bytes, "broadcast: {out} {into} of {bytes}");
                }
            }
            let both = over_uplinks(&teams, &plans(Collective::Allreduce, &teams, 0, count));
            // The racks between others get the sum of those before them, and then the result.
            let most = if number == 2 { bytes } else { 2 * bytes };
            for [out, into] in both {
                assert!(out <= most && into <= most, "allreduce: {out} {into} of {bytes}");
            }
        }
    }
}

#[test]
fn an_allgather_brings_each_block_to_a_group_once() {
    for teams in [racks(3, 1), racks(2, 2)] {
        for count in [1_000, 10_000] {
            let total = 8 * count * teams.len() as i64;
            for [out, into] in over_uplinks(&teams, &plans(Collective::Allgather, &teams, 0, count))
            {
                assert!(out <= total && into <= total, "{out} {into} of {total}");
            }
        }
    }
}

/// The time of a collective on hosts of `per_host` ranks.
fn time(
    collective: Collective,
    selection: &Selection,
    (size, per_host): (usize, usize),
    (root, count): (usize, i64),
    costs: &CostModel,
) -> Result<Picoseconds, Deadlock> {
    let build = |rank| {
        let call = Call { team: &team(rank, size, per_host), selection };
        operation(collective, &call, root, count).plan(&call).expect("the arguments are small")
    };
    completion_time(&team(0, size, per_host), &(0..size).map(build).collect::<Vec<_>>(), costs)
}

#[test]
fn a_message_costs_what_the_model_says() {
    let bcast = |size, per_host, count| {
        time(Collective::Bcast, &Selection::default(), (size, per_host), (0, count), &COSTS)
    };
    let one = |link: LogGp, bytes| 2 * link.overhead + link.transfer(bytes) + link.latency;
    assert_eq!(bcast(2, 2, 1), Ok(one(NEAR, 8)));
    assert_eq!(bcast(2, 1, 1), Ok(one(FAR, 8)));
    // The announcement and the request precede a long message.
    assert_eq!(bcast(2, 1, 2048), Ok(one(FAR, 16_384) + 2 * FAR.latency));
    // The root sends to rank 2 first, which forwards to rank 3.
    assert_eq!(bcast(4, 4, 1), Ok(2 * one(NEAR, 8)));
    assert_eq!(bcast(1, 1, 1), Ok(0));
}

#[test]
fn the_first_bytes_are_copied_before_and_after_the_transfer() {
    let costs = CostModel { between_hosts: LogGp { overhead_per_byte: 7, ..FAR }, ..COSTS };
    for count in [512, 100_000] {
        let bcast = |costs| {
            let selection = Selection::default();
            time(Collective::Bcast, &selection, (2, 1), (0, count), costs).unwrap()
        };
        let copied = (8 * count as u64).min(64 << 10);
        assert_eq!(bcast(&costs) - bcast(&COSTS), 2 * 7 * copied, "{count}");
    }
}

#[test]
fn the_gap_separates_the_messages_of_a_sender() {
    let scatter = Selection::forcing(Collective::Scatter, Algorithm::Linear);
    let costs = CostModel { copy_per_byte: 0, ..COSTS };
    let last = 2 * (NEAR.gap + NEAR.transfer(800));
    let message = 2 * NEAR.overhead + NEAR.transfer(800) + NEAR.latency;
    assert_eq!(time(Collective::Scatter, &scatter, (4, 4), (0, 100), &costs), Ok(last + message));
}

#[test]
fn a_barrier_takes_a_logarithmic_number_of_rounds() {
    for (size, rounds) in [(2, 1), (5, 3), (8, 3), (16, 4)] {
        let time = time(Collective::Barrier, &Selection::default(), (size, size), (0, 0), &COSTS);
        assert_eq!(time, Ok(rounds * (2 * NEAR.overhead + NEAR.latency)), "{size} ranks");
    }
}

#[test]
fn work_takes_longer_on_slow_processors() {
    let barrier = |processors: &[u64]| {
        let costs = CostModel { processors: processors.to_vec(), ..COSTS };
        time(Collective::Barrier, &Selection::default(), (2, 1), (0, 0), &costs).unwrap()
    };
    let usual = 2 * FAR.overhead + FAR.latency;
    assert_eq!([barrier(&[]), barrier(&[1000, 1000])], [usual; 2]);
    assert_eq!(barrier(&[500, 1000]), usual + FAR.overhead);
    assert_eq!(barrier(&[2000, 2000]), usual - FAR.overhead);
}

#[test]
fn ranks_that_wait_for_each_other_are_named() {
    let plan = |rank: usize| {
        let mut builder = Builder::new(&team(rank, 2, 2));
        builder.receive(1 - rank, 0, Piece::raw(address(1), 8));
        builder.phase();
        builder.send(1 - rank, 0, Piece::raw(address(2), 8));
        builder.finish().expect("nothing is allocated")
    };
    let deadlock = completion_time(&team(0, 2, 2), &[plan(0), plan(1)], &COSTS).unwrap_err();
    let expected = |rank| WaitingStep { rank, step: 0, sends: false, partner: 1 - rank };
    assert_eq!(deadlock.waiting, [expected(0), expected(1)]);
    let sentence = deadlock.to_string();
    assert!(sentence.contains("step 0 of rank 1 waits to receive from rank 0"), "{sentence}");
}

#[test]
fn a_message_that_nobody_receives_is_named() {
    let mut builder = Builder::new(&team(0, 2, 2));
    builder.send(1, 0, Piece::raw(address(1), 8));
    let sender = builder.finish().expect("nothing is allocated");
    let idle = Builder::new(&team(1, 2, 2)).finish().expect("nothing is allocated");
    let deadlock = completion_time(&team(0, 2, 2), &[sender, idle], &COSTS).unwrap_err();
    assert_eq!(deadlock.waiting, [WaitingStep { rank: 0, step: 0, sends: true, partner: 1 }]);
}

/// True if `count` is the length of one rank's block. The other collectives can afford vectors here
/// that are long enough to fill the chain's window of chunks.
fn has_blocks(collective: Collective) -> bool {
    !matches!(
        collective,
        Collective::Bcast | Collective::Reduce | Collective::Allreduce | Collective::Scan
    )
}

/// True if what some rank does follows from the content of messages.
fn expands(collective: Collective) -> bool {
    matches!(collective, Collective::Gatherv | Collective::Scatterv | Collective::Alltoallv)
}

#[test]
fn no_algorithm_deadlocks_if_every_message_waits_for_its_receiver() {
    for &(name, collective) in COLLECTIVES {
        let rows = TABLE.iter().filter(|row| row.collective == collective);
        let expands = expands(collective);
        // A board that cannot be used leaves the choice to the table.
        let unknown = [Algorithm::Hierarchical, Algorithm::Board];
        let by_length = rows.filter(|row| !expands || !unknown.contains(&row.algorithm));
        let forced = by_length.map(|row| Selection::forcing(collective, row.algorithm));
        // What follows from the content of messages is not simulated.
        let default = Some(Selection::default()).filter(|_| !expands);
        for selection in forced.chain(default) {
            for size in [1, 2, 3, 4, 7, 8, 17] {
                let most = if has_blocks(collective) { 50_000 / size as i64 } else { 50_000 };
                for root in [0, size / 2, size - 1] {
                    for count in [0, 1, 100, 4_000, most] {
                        for per_host in [size, 2] {
                            let outcome = time(
                                collective,
                                &selection,
                                (size, per_host),
                                (root, count),
                                &SYNCHRONOUS,
                            );
                            outcome.unwrap_or_else(|deadlock| {
                                panic!("{name}, {selection:?}, {size} ranks, root {root}, {count} elements: {deadlock}")
                            });
                        }
                    }
                }
            }
        }
    }
}

/// Two ranks have a long block for each other, which the others do not know.
#[test]
fn ranks_with_long_blocks_in_place_wait_for_nobody_in_circles() {
    let algorithms = [Algorithm::Linear, Algorithm::Pairwise];
    let forced = algorithms.map(|one| Selection::forcing(Collective::Alltoallv, one));
    for selection in forced.iter().chain([&Selection::default()]) {
        for (size, pair) in [(7, [5, 6]), (8, [1, 3]), (16, [0, 9]), (65, [0, 1]), (70, [3, 60])] {
            let plan = |rank: usize| {
                let other = pair.iter().position(|&one| one == rank).map(|at| pair[1 - at]);
                let count = |to| if Some(to) == other { 64 << 10 } else { 1 };
                let receive = Blocks::Varying {
                    pointer: address(1),
                    counts: (0..size).map(count).collect(),
                    displacements: (0..size as i64).map(|rank| rank << 16).collect(),
                    element: Element::dense(1),
                };
                let operation = Operation::Alltoall(Alltoall { send: None, receive });
                let call = Call { team: &team(rank, size, size), selection };
                operation.plan(&call).expect("the arguments are small")
            };
            let plans: Vec<Plan> = (0..size).map(plan).collect();
            for costs in [&COSTS, &SYNCHRONOUS] {
                let outcome = completion_time(&team(0, size, size), &plans, costs);
                outcome.unwrap_or_else(|deadlock| panic!("{selection:?}, {size}: {deadlock}"));
            }
        }
    }
}

/// One link for each host, and one for the group of hosts 1 and 2.
fn linked(half_duplex: bool) -> CostModel {
    let link = |gap_per_byte, latency| LinkCost { gap_per_byte, latency, half_duplex };
    let links = vec![link(1_000, 7), link(2_000, 7), link(1_000, 7), link(4_000, 100)];
    let links = LinkCosts { links, outwards: vec![vec![0], vec![1, 3], vec![2, 3]] };
    CostModel { links: Some(links), eager: Some(1 << 20), ..COSTS }
}

/// When messages of 1000 bytes, each given by its sender and receiver, have arrived, on hosts of
/// two ranks.
fn arrivals(costs: &CostModel, messages: &[(usize, usize)]) -> Vec<(usize, Picoseconds)> {
    let teams: Vec<Team> = (0..6).map(|rank| team(rank, 6, 2)).collect();
    let plan = |team: &Team| {
        let mut builder = Builder::new(team);
        for (turn, &(from, to)) in messages.iter().enumerate() {
            if from == team.rank {
                builder.send(to, turn, Piece::raw(address(1), 1000));
            } else if to == team.rank {
                builder.receive(from, turn, Piece::raw(address(1), 1000));
            }
        }
        builder.finish().unwrap()
    };
    let plans: Vec<Plan> = teams.iter().map(plan).collect();
    let mut arrived = Vec::new();
    simulate(&teams[0], &plans, costs, &mut |activity| {
        if let ActivityKind::Transfer { to, .. } = activity.kind {
            arrived.push((to, activity.end - FAR.overhead));
        }
    })
    .unwrap();
    arrived.sort_unstable();
    arrived
}

#[test]
fn messages_of_different_ranks_share_the_links_of_their_hosts() {
    let (full, latency) = (linked(false), FAR.latency);
    // Within the group nothing passes its uplink.
    assert_eq!(arrivals(&full, &[(2, 4)]), [(4, 2_000_000 + latency + 14)]);
    let out = latency + 7 + 7 + 100;
    assert_eq!(arrivals(&full, &[(0, 2)]), [(2, 4_000_000 + out)]);
    // The uplink of the group is busy with the first message, in its direction.
    assert_eq!(
        arrivals(&full, &[(0, 2), (1, 4), (5, 1)]),
        [(1, 4_000_000 + out), (2, 4_000_000 + out), (4, 8_000_000 + out)]
    );
    let half = arrivals(&linked(true), &[(0, 2), (5, 1)]);
    assert_eq!(half.iter().map(|&(_, time)| time).max(), Some(8_000_000 + out));
}
