//! The neighbourhood collectives (MPI 5.0, section 8.6) on any topology: all receives and sends are
//! started at once.
//!
//! Two ranks may be neighbours more than once. The turn of an edge tells which of their sends and
//! receives match. On a graph, the k-th edge from one rank to another matches the k-th edge that
//! the other lists from the first. On a grid, a message sent in the negative direction of a
//! dimension is received from the positive one (even if both neighbours are the same process, on
//! periodic dimensions of size 1 and 2).

use std::collections::HashMap;

use crate::Call;
use crate::buffers::{Blocks, Buffer, Piece};
use crate::builder::Builder;
use crate::plan::{Plan, PlanError};

/// One end of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The neighbour; `None` beyond the border of a grid (MPI_PROC_NULL).
    pub rank: Option<usize>,
    /// Distinguishes several edges between the same two ranks; equal at both ends.
    pub turn: usize,
}

/// The neighbours of one rank, in the order of the standard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbors {
    /// The ranks it receives from.
    pub sources: Vec<Edge>,
    /// The ranks it sends to.
    pub destinations: Vec<Edge>,
}

impl Neighbors {
    /// Neighbours on a graph, in the order in which the topology lists them.
    pub fn on_graph(sources: &[usize], destinations: &[usize]) -> Neighbors {
        Neighbors { sources: numbered(sources), destinations: numbered(destinations) }
    }

    /// Neighbours on a Cartesian grid: per dimension, the rank in the negative and the one in the
    /// positive direction.
    pub fn on_grid(dimensions: &[(Option<usize>, Option<usize>)]) -> Neighbors {
        let mut neighbors = Neighbors::default();
        for (dimension, &(negative, positive)) in dimensions.iter().enumerate() {
            let (downward, upward) = (2 * dimension, 2 * dimension + 1);
            // A message from the negative neighbour travels upward.
            neighbors.sources.push(Edge { rank: negative, turn: upward });
            neighbors.sources.push(Edge { rank: positive, turn: downward });
            neighbors.destinations.push(Edge { rank: negative, turn: downward });
            neighbors.destinations.push(Edge { rank: positive, turn: upward });
        }
        neighbors
    }
}

/// Numbers the repetitions of each rank.
fn numbered(ranks: &[usize]) -> Vec<Edge> {
    let mut seen: HashMap<usize, usize> = HashMap::new();
    let mut edge = |rank: usize| {
        let turn = seen.entry(rank).or_default();
        *turn += 1;
        Edge { rank: Some(rank), turn: *turn - 1 }
    };
    ranks.iter().map(|&rank| edge(rank)).collect()
}

/// The data that a rank sends to its neighbours.
#[derive(Clone, Debug)]
pub enum Given {
    /// The same data to every destination (allgather).
    Same(Buffer),
    /// Block k to destination k (alltoall).
    Each(Blocks),
}

impl Given {
    /// The data for destination `index`.
    pub fn piece(&self, index: usize) -> Piece {
        match self {
            Given::Same(buffer) => buffer.piece(),
            Given::Each(blocks) => blocks.piece(index),
        }
    }
}

/// A neighbourhood collective, in any of its forms.
#[derive(Debug)]
pub struct Neighborly<'a> {
    /// The neighbours.
    pub neighbors: &'a Neighbors,
    /// The data to send.
    pub send: Given,
    /// The destination of the data: block k is from source k.
    pub receive: Blocks,
}

impl Neighborly<'_> {
    /// Builds the plan of its messages.
    pub fn plan(&self, call: &Call) -> Result<Plan, PlanError> {
        let mut builder = Builder::new(call.team);
        for (index, edge) in self.neighbors.sources.iter().enumerate() {
            if let Some(rank) = edge.rank {
                builder.receive(rank, edge.turn, self.receive.piece(index));
            }
        }
        for (index, edge) in self.neighbors.destinations.iter().enumerate() {
            if let Some(rank) = edge.rank {
                builder.send(rank, edge.turn, self.send.piece(index));
            }
        }
        builder.finish()
    }
}
