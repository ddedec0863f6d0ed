//! MPI_SCATTER and MPI_SCATTERV (6.6): the mirror image of gather, with the same trees and packing.

use crate::buffers::{Blocks, Buffer, Piece};
use crate::builder::Builder;
use crate::plan::{Plan, PlanError};
use crate::select::{Algorithm, Collective, Size};
use crate::tree::{Binomial, absolute, intervals, relative};
use crate::{Call, gather, hierarchy};

/// Arguments of a scatter.
#[derive(Clone, Debug)]
pub struct Scatter {
    /// The rank that distributes.
    pub root: usize,
    /// The blocks; needed only at the root.
    pub send: Option<Blocks>,
    /// Destination of this rank's block; `None` at the root if it stays in place (MPI_IN_PLACE).
    pub receive: Option<Buffer>,
}

impl Scatter {
    /// Bytes of this rank's block: of what it receives, or (in place at the root) of its block
    /// there. For calls whose blocks are equal.
    #[inline]
    pub fn bytes(&self) -> i64 {
        match (&self.receive, &self.send) {
            (Some(receive), _) => receive.bytes(),
            (None, Some(send)) => send.bytes(self.root),
            (None, None) => 0,
        }
    }
}

/// Builds a plan that gives each rank its block of the root's buffer. All ranks must know whether
/// the blocks are equal.
pub fn scatter(call: &Call, arguments: &Scatter) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(call.team);
    let size = Size::of_team(call.team, arguments.bytes());
    let forced = call.selection.forced(Collective::Scatter, size);
    if let (None, Some(team)) = (forced, gather::by_groups(call.team, arguments.bytes())) {
        builder.within(&team, |builder| hierarchy::movement::scatter(builder, arguments));
        return builder.finish();
    }
    match call.selection.choose(Collective::Scatter, size) {
        Algorithm::Hierarchical => hierarchy::movement::scatter(&mut builder, arguments),
        Algorithm::Linear => linear(&mut builder, arguments),
        _ => binomial(&mut builder, arguments),
    }
    builder.finish()
}

/// Builds a plan for the "v" form, in which only the root knows all sizes.
pub fn scatterv(call: &Call, arguments: &Scatter) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(call.team);
    match call.selection.choose(Collective::Scatterv, hierarchy::varying::size_of_rooted(call.team))
    {
        Algorithm::Hierarchical => hierarchy::varying::scatter(&mut builder, arguments),
        _ => linear(&mut builder, arguments),
    }
    builder.finish()
}

pub(crate) fn linear(builder: &mut Builder, arguments: &Scatter) {
    let rank = builder.rank();
    if rank != arguments.root {
        if let Some(receive) = &arguments.receive {
            builder.receive(arguments.root, 0, receive.piece());
        }
        return;
    }
    let Some(send) = &arguments.send else { return };
    for peer in (0..builder.size()).filter(|&peer| peer != rank) {
        builder.send(peer, 0, send.piece(peer));
    }
    if let Some(receive) = &arguments.receive {
        builder.copy(send.piece(rank), receive.piece());
    }
}

/// The messages of blocks that the root sends apart from the others: it sends them to these ranks,
/// and any other rank receives its own.
pub(crate) fn apart(builder: &mut Builder, arguments: &Scatter, ranks: &[usize]) {
    let (own, root) = (builder.rank(), arguments.root);
    for &rank in ranks {
        match (&arguments.send, &arguments.receive) {
            (Some(send), _) if own == root => {
                builder.send(rank, 0, send.piece(rank));
            }
            (_, Some(receive)) => {
                builder.receive_always(root, 0, receive.piece());
            }
            _ => {}
        }
    }
}

pub(crate) fn binomial(builder: &mut Builder, arguments: &Scatter) {
    let (size, root) = (builder.size(), arguments.root);
    let node = relative(builder.rank(), root, size);
    let tree = Binomial::new(node, size);
    let Some(parent) = tree.parent else {
        let Some(send) = &arguments.send else { return };
        for (child, covered) in tree.children.into_iter().rev() {
            for (turn, (start, number)) in
                intervals(child, covered, root, size).into_iter().enumerate()
            {
                builder.send(absolute(child, root, size), turn, send.pieces(start, number));
            }
        }
        if let Some(receive) = &arguments.receive {
            builder.copy(send.piece(root), receive.piece());
        }
        return;
    };
    let Some(receive) = &arguments.receive else { return };
    let up = absolute(parent, root, size);
    if tree.children.is_empty() {
        builder.receive(up, 0, receive.piece());
        return;
    }
    let (bytes, covered) = (receive.bytes(), Binomial::covered(node, size));
    let packed = builder.bytes(bytes.saturating_mul(covered as i64));
    let range = |first: usize, number: usize| {
        Piece::range(packed, bytes * first as i64, bytes * number as i64)
    };
    let runs = if parent == 0 { intervals(node, covered, root, size) } else { vec![(0, covered)] };
    let mut first = 0;
    for (turn, (_, number)) in runs.into_iter().enumerate() {
        builder.receive(up, turn, range(first, number));
        first += number;
    }
    builder.phase();
    for (child, number) in tree.children.into_iter().rev() {
        builder.send(absolute(child, root, size), 0, range(child - node, number));
    }
    builder.copy(range(0, 1), receive.piece());
}
