//! Collectives between the two groups of an intercommunicator (MPI 5.0, section 6.2.3, and the
//! forms in 6.3 to 6.10).
//!
//! Data crosses between the groups once: rank 0 of each group is its leader, and collectives within
//! the group do the rest. If sizes are known only to pairs of ranks (the "v" and "w" forms), every
//! rank communicates with every remote rank. Both groups use one context; they have no process in
//! common, so messages cannot be confused.

use towpath_base::ids::PeerIndex;

use crate::Call;
use crate::allgather::Allgather;
use crate::alltoall::Alltoall;
use crate::broadcast;
use crate::buffers::{Blocks, Buffer, Piece};
use crate::builder::Builder;
use crate::fold::Ready;
use crate::gather::{self, Gather};
use crate::plan::{Plan, PlanError};
use crate::reduce::{self, Operand};
use crate::scatter::{self, Scatter};
use crate::select::{Algorithm, Collective, Size};
use crate::tree::Binomial;

/// The local and the remote group of an intercommunicator.
#[derive(Clone, Copy, Debug)]
pub struct Bridge<'a> {
    /// The local group.
    pub call: Call<'a>,
    /// The remote group, by rank.
    pub remote: &'a [PeerIndex],
}

/// The role of this rank in a rooted collective between groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootSide {
    /// The root itself (`MPI_ROOT`).
    Root,
    /// In the root's group, but not taking part (`MPI_PROC_NULL`).
    Idle,
    /// In the other group.
    Leaf {
        /// Rank of the root in the remote group.
        root: usize,
    },
}

/// Builds a plan that completes on no rank before it has been started in both groups.
pub fn barrier(bridge: &Bridge) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(bridge.call.team);
    let tree = Binomial::new(builder.rank(), builder.size());
    let peers = builder.team.peers.clone();
    for (child, _) in &tree.children {
        builder.await_signal(peers[*child], 0);
    }
    builder.phase();
    let above = tree.parent.map_or(bridge.remote[0], |parent| peers[parent]);
    builder.signal(above, 0);
    builder.await_signal(above, 0);
    builder.phase();
    for (child, _) in tree.children.iter().rev() {
        builder.signal(peers[*child], 0);
    }
    builder.finish()
}

/// Builds a plan that makes the words of both leaders known to all ranks. The first half of `words`
/// is the input of rank 0 of the local group (on other ranks it is overwritten); the second half
/// receives the input of rank 0 of the remote group.
pub fn introduce(bridge: &Bridge, words: &Buffer) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(bridge.call.team);
    if builder.rank() == 0 {
        let half = words.bytes() / 2;
        builder.send_to(bridge.remote[0], 0, Piece::range(words.pointer, 0, half));
        builder.receive_from(bridge.remote[0], 0, Piece::range(words.pointer, half, half));
        builder.phase();
    }
    broadcast::append(&mut builder, &bridge.call, 0, words);
    builder.finish()
}

/// Builds a plan without steps, for ranks that take no part.
pub fn nothing(bridge: &Bridge) -> Result<Plan, PlanError> {
    Builder::new(bridge.call.team).finish()
}

/// Builds a plan that sends the root's data to all ranks of the other group.
pub fn bcast(bridge: &Bridge, side: RootSide, data: &Buffer) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(bridge.call.team);
    match side {
        RootSide::Root => {
            builder.send_to(bridge.remote[0], 0, data.piece());
        }
        RootSide::Idle => {}
        RootSide::Leaf { root } => {
            if builder.rank() == 0 {
                builder.receive_from(bridge.remote[root], 0, data.piece());
                builder.phase();
            }
            broadcast::append(&mut builder, &bridge.call, 0, data);
        }
    }
    builder.finish()
}

/// True if a rooted collective of equal blocks is routed through the leader of the leaves. Both
/// groups must agree.
fn through_leader(bridge: &Bridge, collective: Collective, leaves: usize, bytes: i64) -> bool {
    bridge.call.selection.choose(collective, Size::of(leaves, bytes)) == Algorithm::Binomial
}

/// Builds a plan that collects one equal block from each leaf at the root: `send` at the leaves,
/// `receive` at the root.
pub fn gather(
    bridge: &Bridge,
    side: RootSide,
    send: Option<&Buffer>,
    receive: Option<&Blocks>,
) -> Result<Plan, PlanError> {
    match (side, send, receive) {
        (RootSide::Root, _, Some(blocks))
            if through_leader(bridge, Collective::Gather, bridge.remote.len(), blocks.bytes(0)) =>
        {
            let mut builder = Builder::new(bridge.call.team);
            builder.receive_from(bridge.remote[0], 0, blocks.pieces(0, bridge.remote.len()));
            builder.finish()
        }
        (RootSide::Leaf { root }, Some(send), _)
            if through_leader(
                bridge,
                Collective::Gather,
                bridge.call.team.size(),
                send.bytes(),
            ) =>
        {
            let mut builder = Builder::new(bridge.call.team);
            if let Some(packed) = gather_at_leader(&mut builder, send) {
                builder.send_to(bridge.remote[root], 0, packed);
            }
            builder.finish()
        }
        _ => gatherv(bridge, side, send, receive),
    }
}

/// Collects equal blocks of the local group at rank 0, packed. Returns the packed piece at rank 0.
/// Ends a phase.
fn gather_at_leader(builder: &mut Builder, send: &Buffer) -> Option<Piece> {
    let size = builder.size();
    let (bytes, total) = (send.bytes(), send.bytes().saturating_mul(size as i64));
    let packed = (builder.rank() == 0).then(|| builder.bytes(total));
    let receive = packed.map(|pointer| Blocks::Equal {
        pointer,
        count: bytes,
        element: crate::Element::dense(1),
    });
    gather::binomial(builder, &Gather { root: 0, send: Some(send.clone()), receive });
    builder.phase();
    packed.map(|pointer| Piece::raw(pointer, total))
}

/// The "v" form of [`gather`].
pub fn gatherv(
    bridge: &Bridge,
    side: RootSide,
    send: Option<&Buffer>,
    receive: Option<&Blocks>,
) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(bridge.call.team);
    match (side, send, receive) {
        (RootSide::Root, _, Some(blocks)) => {
            for (rank, &peer) in bridge.remote.iter().enumerate() {
                builder.receive_from(peer, 0, blocks.piece(rank));
            }
        }
        (RootSide::Leaf { root }, Some(send), _) => {
            builder.send_to(bridge.remote[root], 0, send.piece());
        }
        _ => {}
    }
    builder.finish()
}

/// Builds a plan that gives each leaf its equal block of the root's buffer: `send` at the root,
/// `receive` at the leaves.
pub fn scatter(
    bridge: &Bridge,
    side: RootSide,
    send: Option<&Blocks>,
    receive: Option<&Buffer>,
) -> Result<Plan, PlanError> {
    match (side, send, receive) {
        (RootSide::Root, Some(blocks), _)
            if through_leader(
                bridge,
                Collective::Scatter,
                bridge.remote.len(),
                blocks.bytes(0),
            ) =>
        {
            let mut builder = Builder::new(bridge.call.team);
            builder.send_to(bridge.remote[0], 0, blocks.pieces(0, bridge.remote.len()));
            builder.finish()
        }
        (RootSide::Leaf { root }, _, Some(receive))
            if through_leader(
                bridge,
                Collective::Scatter,
                bridge.call.team.size(),
                receive.bytes(),
            ) =>
        {
            scatter_from_leader(bridge, root, receive)
        }
        _ => scatterv(bridge, side, send, receive),
    }
}

fn scatter_from_leader(bridge: &Bridge, root: usize, receive: &Buffer) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(bridge.call.team);
    let (bytes, total) = (receive.bytes(), receive.bytes().saturating_mul(builder.size() as i64));
    let mut send = None;
    if builder.rank() == 0 {
        let pointer = builder.bytes(total);
        builder.receive_from(bridge.remote[root], 0, Piece::raw(pointer, total));
        builder.phase();
        send = Some(Blocks::Equal { pointer, count: bytes, element: crate::Element::dense(1) });
    }
    scatter::binomial(&mut builder, &Scatter { root: 0, send, receive: Some(receive.clone()) });
    builder.finish()
}

/// The "v" form of [`scatter`].
pub fn scatterv(
    bridge: &Bridge,
    side: RootSide,
    send: Option<&Blocks>,
    receive: Option<&Buffer>,
) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(bridge.call.team);
    match (side, send, receive) {
        (RootSide::Root, Some(blocks), _) => {
            for (rank, &peer) in bridge.remote.iter().enumerate() {
                builder.send_to(peer, 0, blocks.piece(rank));
            }
        }
        (RootSide::Leaf { root }, _, Some(receive)) => {
            builder.receive_from(bridge.remote[root], 0, receive.piece());
        }
        _ => {}
    }
    builder.finish()
}

/// Builds a plan that gives every rank the blocks of the whole other group, for both forms.
/// Requires `send`.
pub fn allgather(bridge: &Bridge, arguments: &Allgather) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(bridge.call.team);
    let Some(send) = &arguments.send else { return builder.finish() };
    match &arguments.receive {
        Blocks::Equal { pointer, count, element } => {
            let all = Buffer {
                pointer: *pointer,
                count: count * bridge.remote.len() as i64,
                element: element.clone(),
            };
            if let Some(packed) = gather_at_leader(&mut builder, send) {
                builder.send_to(bridge.remote[0], 1, packed);
                builder.receive_from(bridge.remote[0], 1, all.piece());
                builder.phase();
            }
            broadcast::append(&mut builder, &bridge.call, 0, &all);
        }
        receive => {
            for (rank, &peer) in bridge.remote.iter().enumerate() {
                builder.receive_from(peer, 0, receive.piece(rank));
            }
            for &peer in staggered(bridge) {
                builder.send_to(peer, 0, send.piece());
            }
        }
    }
    builder.finish()
}

/// The remote ranks; each local rank starts at a different one.
fn staggered<'a>(bridge: &Bridge<'a>) -> impl Iterator<Item = &'a PeerIndex> {
    let (before, after) = bridge.remote.split_at(bridge.call.team.rank % bridge.remote.len());
    after.iter().chain(before)
}

/// Builds a plan that gives every rank its block from every remote rank, for all three forms.
/// Requires `send`.
pub fn alltoall(bridge: &Bridge, arguments: &Alltoall) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(bridge.call.team);
    if let Some(send) = &arguments.send {
        for (rank, &peer) in bridge.remote.iter().enumerate() {
            builder.receive_from(peer, 0, arguments.receive.piece(rank));
        }
        for step in 0..bridge.remote.len() {
            let to = (bridge.call.team.rank + step) % bridge.remote.len();
            builder.send_to(bridge.remote[to], 0, send.piece(to));
        }
    }
    builder.finish()
}

/// Builds a plan that combines the leaves' vectors in `receive` at the root.
pub fn reduce(
    bridge: &Bridge,
    side: RootSide,
    operand: &Operand,
    receive: *mut u8,
) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(bridge.call.team);
    match side {
        RootSide::Root => {
            builder.receive_from(bridge.remote[0], 0, operand.whole(receive));
        }
        RootSide::Idle => {}
        RootSide::Leaf { root } => {
            if let Some(vector) = reduce_at_leader(&mut builder, bridge, operand) {
                builder.send_to(bridge.remote[root], 0, operand.whole(vector));
            }
        }
    }
    builder.finish()
}

/// Combines the vectors of the local group at rank 0. Returns the result there. Ends a phase.
fn reduce_at_leader(builder: &mut Builder, bridge: &Bridge, operand: &Operand) -> Option<*mut u8> {
    let vector = (builder.rank() == 0).then(|| builder.scratch(operand.count, &operand.element));
    reduce::append(builder, &bridge.call, 0, operand, vector, &Ready::default());
    vector
}

/// Builds a plan that combines the other group's vectors on every rank. Requires `operand.send`.
pub fn allreduce(bridge: &Bridge, operand: &Operand, receive: *mut u8) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(bridge.call.team);
    if let Some(vector) = reduce_at_leader(&mut builder, bridge, operand) {
        builder.send_to(bridge.remote[0], 1, operand.whole(vector));
        builder.receive_from(bridge.remote[0], 1, operand.whole(receive));
        builder.phase();
    }
    let all = Buffer { pointer: receive, count: operand.count, element: operand.element.clone() };
    broadcast::append(&mut builder, &bridge.call, 0, &all);
    builder.finish()
}

/// Builds a plan that scatters the combination of the other group's vectors over the local group:
/// `counts` are the elements of the local ranks' blocks. Requires `operand.send`.
pub fn reduce_scatter(
    bridge: &Bridge,
    operand: &Operand,
    counts: &[i64],
    receive: *mut u8,
) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(bridge.call.team);
    let rank = builder.rank();
    let mut send = None;
    if let Some(vector) = reduce_at_leader(&mut builder, bridge, operand) {
        let remote_vector = builder.scratch(operand.count, &operand.element);
        builder.send_to(bridge.remote[0], 1, operand.whole(vector));
        builder.receive_from(bridge.remote[0], 1, operand.whole(remote_vector));
        builder.phase();
        let displacements =
            counts.iter().scan(0i64, |next, count| Some(std::mem::replace(next, *next + count)));
        send = Some(Blocks::Varying {
            pointer: remote_vector,
            counts: counts.into(),
            displacements: displacements.collect(),
            element: operand.element.clone(),
        });
    }
    let own = Buffer { pointer: receive, count: counts[rank], element: operand.element.clone() };
    scatter::linear(&mut builder, &Scatter { root: 0, send, receive: Some(own) });
    builder.finish()
}
