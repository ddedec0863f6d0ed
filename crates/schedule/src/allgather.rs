//! MPI_ALLGATHER and MPI_ALLGATHERV (6.7): Bruck's algorithm for small data, recursive doubling for
//! powers of two, a ring for large data; through one rank, where few hosts share cores.
//!
//! All ranks know all sizes, so the "v" form uses the same algorithms; only recursive doubling
//! needs consecutive blocks. Bruck's algorithm works on packed bytes that start with this rank's
//! block, and unpacks at the end.

use crate::buffers::{Blocks, Buffer, Piece};
use crate::builder::{Builder, Mark};
use crate::gather::Gather;
use crate::group_costs::AllgatherWay;
use crate::plan::{Plan, PlanError};
use crate::select::{Algorithm, Collective, Size};
use crate::{Call, broadcast, gather, group_costs, hierarchy};

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
    let has_groups = builder.team.placement.has_groups();
    if has_groups && call.selection.forced(collective, size).is_none() {
        match group_costs::way_of_allgather(&builder.team.placement, total) {
            AllgatherWay::Table => {}
            AllgatherWay::ByGroups => {
                return by_groups(builder, call, receive, total);
            }
            AllgatherWay::Ring => {
                ring(builder, receive);
                return builder.phase();
            }
        }
    }
    match call.selection.choose(collective, size) {
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

/// Every rank forwards the block that it received last. Returns the ranks whose blocks arrive, with
/// their receives. The ring visits groups of hosts one after another.
pub(crate) fn ring(builder: &mut Builder, receive: &Blocks) -> Vec<(usize, Mark)> {
    let (rank, size) = (builder.rank(), builder.size());
    let placement = builder.team.placement.clone();
    let order = if placement.has_groups() && !placement.has_levels() {
        &placement.group_costs().ring[..]
    } else {
        &[]
    };
    let own = order.iter().position(|&other| other == rank).unwrap_or(rank);
    let rank_at = |place: usize| order.get(place % size).copied().unwrap_or(place % size);
    let (above, below) = (rank_at(own + size - 1), rank_at(own + 1));
    let mut arrived: Vec<(usize, Mark)> = Vec::new();
    for step in 0..size - 1 {
        let from = rank_at(own + size - step - 1);
        let sent = builder.send(below, step, receive.piece(rank_at(own + size - step)));
        builder.after(sent, arrived.last().and_then(|&(_, mark)| mark));
        arrived.push((from, builder.receive(above, step, receive.piece(from))));
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
