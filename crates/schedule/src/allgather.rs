//! MPI_ALLGATHER and MPI_ALLGATHERV (6.7): Bruck's algorithm for small data, recursive doubling for
//! powers of two, a ring for large data, from which hosts that are leaves are left out; through one
//! rank, where few hosts share cores.
//!
//! All ranks know all sizes, so the "v" form uses the same algorithms; only recursive doubling
//! needs consecutive blocks. Bruck's algorithm works on packed bytes that start with this rank's
//! block, and unpacks at the end.

use crate::buffers::{Blocks, Buffer, Piece};
use crate::builder::{Builder, Mark};
use crate::gather::Gather;
use crate::group_costs::AllgatherWay;
use crate::placement_costs::Relays;
use crate::plan::{Plan, PlanError};
use crate::relays::LONG;
use crate::select::{Algorithm, Collective, Size};
use crate::{Call, broadcast, gather, group_costs, hierarchy};

/// Blocks that a leaf receives at the same time.
const WINDOW: usize = 2;

/// Arguments of an allgather.
#[derive(Clone, Debug)]
pub struct Allgather {
    /// This rank's contribution; `None` if it is already in its block (MPI_IN_PLACE).
    pub send: Option<Buffer>,
    /// Destination of the blocks of all ranks.
    pub receive: Blocks,
}

impl Allgather {
    /// MPI_ALLGATHER or MPI_ALLGATHERV.
    pub fn collective(&self) -> Collective {
        if self.receive.is_equal() { Collective::Allgather } else { Collective::Allgatherv }
    }
}

/// Builds a plan that gives every rank the blocks of all ranks, for both forms.
pub fn allgather(call: &Call, arguments: &Allgather) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(call.team);
    append(&mut builder, call, arguments);
    builder.finish()
}

/// Appends the allgather to a plan.
pub(crate) fn append(builder: &mut Builder, call: &Call, arguments: &Allgather) {
    let size = builder.size();
    let receive = &arguments.receive;
    let total = receive.total_bytes(size);
    let collective = arguments.collective();
    if let Some(send) = &arguments.send {
        builder.copy(send.piece(), receive.piece(builder.rank()));
        builder.phase();
    }
    let size = Size::of_team(&builder.team, total);
    let placement = &builder.team.placement;
    let is_forced = call.selection.forced(collective, size).is_some();
    let mut by_ring = !is_forced
        && total >= LONG
        && !placement.has_levels()
        && placement.has_leaves()
        && placement.relays().serve_leaves();
    if placement.has_groups() && !is_forced {
        match group_costs::way_of_allgather(placement, total) {
            AllgatherWay::Table => {}
            AllgatherWay::ByGroups => {
                return by_groups(builder, call, receive, total);
            }
            AllgatherWay::Ring => by_ring = true,
        }
    }
    let chosen = if by_ring { Algorithm::Ring } else { call.selection.choose(collective, size) };
    match chosen {
        Algorithm::Hierarchical => hierarchy::movement::allgather(builder, call, receive, total),
        Algorithm::Bruck => bruck(builder, receive),
        Algorithm::GatherBcast => gather_bcast(builder, call, receive),
        Algorithm::RecursiveDoubling => recursive_doubling(builder, receive),
        _ => {
            ring(builder, receive);
        }
    }
    builder.phase();
}

/// One host of each group collects its blocks and distributes all. Each rank has a host.
fn by_groups(builder: &mut Builder, call: &Call, receive: &Blocks, total: i64) {
    let team = builder.team.grouped().expect("this way is chosen where there are groups");
    builder.within(&team, |builder| {
        hierarchy::movement::allgather(builder, call, receive, total);
    });
    builder.phase();
}

/// Every rank forwards the blocks that it received last. Returns the ranks whose blocks arrive,
/// with their receives. The ring visits groups of hosts one after another. Where each rank has a
/// host, leaves are not in the ring: others pass on for them ([`Relays`]).
pub(crate) fn ring(builder: &mut Builder, receive: &Blocks) -> Vec<(usize, Mark)> {
    let (rank, size) = (builder.rank(), builder.size());
    let placement = builder.team.placement.clone();
    let none;
    let relays = if placement.hosts() == size {
        placement.relays()
    } else {
        none = Relays::none(0..size);
        &none
    };
    if relays.relay(rank) != rank {
        return outside_ring(builder, receive, relays);
    }
    let number = relays.bundles.len();
    let (above, below) = (relays.before(rank, 1)[0], relays.before(rank, number - 1)[0]);
    let mut arrived: Vec<(usize, Mark)> = Vec::new();
    let mut last: Vec<(usize, Mark)> = vec![(rank, None)];
    for &leaf in relays.leaves_of(rank) {
        last.push((leaf, builder.receive(leaf, leaf, receive.piece(leaf))));
    }
    arrived.extend(&last[1..]);
    for step in 1..=number {
        for &(block, mark) in &last {
            let next = (step < number).then_some(below);
            let leaves = relays.leaves_of(rank).iter().copied().filter(|&leaf| leaf != block);
            for to in next.into_iter().chain(leaves) {
                let sent = builder.send(to, block, receive.piece(block));
                builder.after(sent, mark);
            }
        }
        if step < number {
            let blocks = relays.before(rank, step).iter();
            let receives =
                blocks.map(|&from| (from, builder.receive(above, from, receive.piece(from))));
            last = receives.collect();
            arrived.extend(&last);
        }
    }
    arrived
}

/// A leaf sends its block once, and receives each other one once, a few at a time: more would only
/// wait for its link.
fn outside_ring(builder: &mut Builder, receive: &Blocks, relays: &Relays) -> Vec<(usize, Mark)> {
    let rank = builder.rank();
    builder.send(relays.relay(rank), rank, receive.piece(rank));
    let mut arrived: Vec<(usize, Mark)> = Vec::new();
    for block in relays.blocks_for(rank) {
        let mark = builder.receive(relays.relay(rank), block, receive.piece(block));
        if let Some(before) = arrived.len().checked_sub(WINDOW) {
            builder.after(mark, arrived[before].1);
        }
        arrived.push((block, mark));
    }
    arrived
}

/// One rank gathers all blocks and broadcasts them.
fn gather_bcast(builder: &mut Builder, call: &Call, receive: &Blocks) {
    let (rank, size, root) = (builder.rank(), builder.size(), builder.team.placement.relay());
    let send = (rank != root).then(|| receive.block(rank));
    gather::linear(builder, &Gather { root, send, receive: Some(receive.clone()) });
    builder.phase();
    broadcast::of_result(builder, call, root, &receive.row(size));
}

fn recursive_doubling(builder: &mut Builder, receive: &Blocks) {
    let (rank, size) = (builder.rank(), builder.size());
    let mut distance = 1;
    while distance < size {
        let partner = rank ^ distance;
        builder.send(partner, 0, receive.pieces(rank & !(distance - 1), distance));
        builder.receive(partner, 0, receive.pieces(partner & !(distance - 1), distance));
        builder.phase();
        distance *= 2;
    }
}

fn bruck(builder: &mut Builder, receive: &Blocks) {
    let (rank, size) = (builder.rank(), builder.size());
    // starts[i]: offset of the block of rank (rank + i) % size in the packed bytes.
    let mut starts = vec![0i64; size + 1];
    for index in 0..size {
        starts[index + 1] = starts[index].saturating_add(receive.bytes((rank + index) % size));
    }
    let packed = builder.bytes(starts[size]);
    let range =
        |first: usize, end: usize| Piece::range(packed, starts[first], starts[end] - starts[first]);
    builder.copy(receive.piece(rank), range(0, 1));
    builder.phase();
    let mut have = 1;
    let mut turn = 0;
    while have < size {
        let more = have.min(size - have);
        builder.send((rank + size - have) % size, turn, range(0, more));
        builder.receive((rank + have) % size, turn, range(have, have + more));
        builder.phase();
        have += more;
        turn += 1;
    }
    for index in 1..size {
        builder.copy(range(index, index + 1), receive.piece((rank + index) % size));
    }
}
