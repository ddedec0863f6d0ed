//! MPI_GATHER and MPI_GATHERV (6.5): a binomial tree for small blocks; direct sends to the root for
//! large ones. Blocks whose sizes only the root knows go straight to it too, on several hosts as
//! `hierarchy::varying` says.
//!
//! The tree uses ranks relative to the root, so that every subtree is an interval. Inner ranks
//! carry the blocks of their subtree packed. The root receives straight into the user's buffer (in
//! two messages where the interval wraps around the highest rank).

use crate::buffers::{Blocks, Buffer, Piece};
use crate::builder::Builder;
use crate::plan::{Plan, PlanError};
use crate::select::{Algorithm, Collective, Size};
use crate::tree::{Binomial, absolute, intervals, relative};
use crate::{Call, Team, group_costs, hierarchy};

/// Arguments of a gather.
#[derive(Clone, Debug)]
pub struct Gather {
    /// The rank that collects.
    pub root: usize,
    /// This rank's contribution; `None` at the root if it is already in its block (MPI_IN_PLACE).
    pub send: Option<Buffer>,
    /// Destination of the blocks; needed only at the root.
    pub receive: Option<Blocks>,
}

impl Gather {
    /// Bytes of this rank's block: of what it sends, or (in place at the root) of its block there.
    /// For calls whose blocks are equal.
    #[inline]
    pub fn bytes(&self) -> i64 {
        match (&self.send, &self.receive) {
            (Some(send), _) => send.bytes(),
            (None, Some(receive)) => receive.bytes(self.root),
            (None, None) => 0,
        }
    }
}

/// Builds a plan that collects one block from each rank at the root. All ranks must know whether
/// the blocks are equal.
pub fn gather(call: &Call, arguments: &Gather) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(call.team);
    let size = Size::of_team(call.team, arguments.bytes());
    let forced = call.selection.forced(Collective::Gather, size);
    if let (None, Some(team)) = (forced, by_groups(call.team, arguments.bytes())) {
        builder.within(&team, |builder| hierarchy::movement::gather(builder, arguments));
        return builder.finish();
    }
    match call.selection.choose(Collective::Gather, size) {
        Algorithm::Hierarchical => hierarchy::movement::gather(&mut builder, arguments),
        Algorithm::Linear => linear(&mut builder, arguments),
        _ => binomial(&mut builder, arguments),
    }
    builder.finish()
}

/// The team whose hosts are groups of hosts, if blocks of `bytes` bytes should go to the root, or
/// from it, by one host of each.
pub(crate) fn by_groups(team: &Team, bytes: i64) -> Option<Team> {
    let pays =
        team.placement.has_groups() && group_costs::by_groups_to_root(&team.placement, bytes);
    if pays { team.grouped() } else { None }
}

/// Builds a plan for the "v" form, in which only the root knows all sizes.
pub fn gatherv(call: &Call, arguments: &Gather) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(call.team);
    match call.selection.choose(Collective::Gatherv, hierarchy::varying::size_of_rooted(call.team))
    {
        Algorithm::Hierarchical => hierarchy::varying::gather(&mut builder, arguments),
        _ => linear(&mut builder, arguments),
    }
    builder.finish()
}

pub(crate) fn linear(builder: &mut Builder, arguments: &Gather) {
    let rank = builder.rank();
    if rank != arguments.root {
        if let Some(send) = &arguments.send {
            builder.send(arguments.root, 0, send.piece());
        }
        return;
    }
    let Some(receive) = &arguments.receive else { return };
    for peer in (0..builder.size()).filter(|&peer| peer != rank) {
        builder.receive(peer, 0, receive.piece(peer));
    }
    if let Some(send) = &arguments.send {
        builder.copy(send.piece(), receive.piece(rank));
    }
}

/// The messages of blocks that these ranks send apart from the others: the root receives each of
/// them, and any other rank sends its own.
pub(crate) fn apart(builder: &mut Builder, arguments: &Gather, ranks: &[usize]) {
    let (own, root) = (builder.rank(), arguments.root);
    for &rank in ranks {
        match (&arguments.send, &arguments.receive) {
            (_, Some(receive)) if own == root => {
                builder.receive_always(rank, 0, receive.piece(rank));
            }
            (Some(send), _) => {
                builder.send(root, 0, send.piece());
            }
            _ => {}
        }
    }
}

pub(crate) fn binomial(builder: &mut Builder, arguments: &Gather) {
    let (size, root) = (builder.size(), arguments.root);
    let node = relative(builder.rank(), root, size);
    let tree = Binomial::new(node, size);
    let Some(parent) = tree.parent else {
        let Some(receive) = &arguments.receive else { return };
        for (child, covered) in tree.children {
            for (turn, (start, number)) in
                intervals(child, covered, root, size).into_iter().enumerate()
            {
                builder.receive(absolute(child, root, size), turn, receive.pieces(start, number));
            }
        }
        if let Some(send) = &arguments.send {
            builder.copy(send.piece(), receive.piece(root));
        }
        return;
    };
    let Some(send) = &arguments.send else { return };
    let up = absolute(parent, root, size);
    if tree.children.is_empty() {
        builder.send(up, 0, send.piece());
        return;
    }
    let (bytes, covered) = (send.bytes(), Binomial::covered(node, size));
    let packed = builder.bytes(bytes.saturating_mul(covered as i64));
    let range = |first: usize, number: usize| {
        Piece::range(packed, bytes * first as i64, bytes * number as i64)
    };
    builder.copy(send.piece(), range(0, 1));
    for (child, number) in tree.children {
        builder.receive(absolute(child, root, size), 0, range(child - node, number));
    }
    builder.phase();
    let runs = if parent == 0 { intervals(node, covered, root, size) } else { vec![(0, covered)] };
    let mut first = 0;
    for (turn, (_, number)) in runs.into_iter().enumerate() {
        builder.send(up, turn, range(first, number));
        first += number;
    }
}
