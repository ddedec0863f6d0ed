//! The neighbourhood collectives (MPI 5.0, section 8.6) on any topology: all receives and sends at once.
//!
//! A pair of ranks may be neighbours several times. The turn of an edge says which of its messages belong together:
//! on a graph the k-th edge to a rank meets the k-th edge of that rank from here, in the order of the lists; on a grid what
//! is sent in the negative direction of a dimension is received from the positive one (also where both neighbours are
//! the same process, on periodic dimensions of size 1 and 2).

use std::collections::HashMap;

use crate::Call;
use crate::buffers::{Blocks, Buffer};
use crate::builder::Builder;
use crate::plan::{Plan, PlanError};

/// One end of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The neighbour; `None` beyond the border of a grid (MPI_PROC_NULL).
    pub rank: Option<usize>,
    /// Tells several edges between the same two ranks apart; equal at both ends.
    pub turn: usize,
}

/// The neighbours of one rank in the order of the standard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbors {
    /// Whom it receives from.
    pub sources: Vec<Edge>,
    /// Whom it sends to.
    pub destinations: Vec<Edge>,
}

impl Neighbors {
    /// Neighbours on a graph: sources and destinations as the topology lists them.
    pub fn on_graph(sources: &[usize], destinations: &[usize]) -> Neighbors {
        Neighbors { sources: numbered(sources), destinations: numbered(destinations) }
    }

    /// Neighbours on a Cartesian grid: for each dimension the rank in the negative and in the positive direction.
    pub fn on_grid(dimensions: &[(Option<usize>, Option<usize>)]) -> Neighbors {
        let mut neighbors = Neighbors::default();
        for (dimension, &(negative, positive)) in dimensions.iter().enumerate() {
            let (downward, upward) = (2 * dimension, 2 * dimension + 1);
            // What comes from the negative neighbour travels upward.
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

/// A plan that sends `send` to every destination; block k of `receive` comes from source k. Both forms.
pub fn allgather(call: &Call, neighbors: &Neighbors, send: &Buffer, receive: &Blocks) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(call.team);
    receive_all(&mut builder, neighbors, receive);
    for edge in &neighbors.destinations {
        if let Some(rank) = edge.rank {
            builder.send(rank, edge.turn, send.piece());
        }
    }
    builder.finish()
}

/// A plan that sends block k of `send` to destination k; block k of `receive` comes from source k. All three forms.
pub fn alltoall(call: &Call, neighbors: &Neighbors, send: &Blocks, receive: &Blocks) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(call.team);
    receive_all(&mut builder, neighbors, receive);
    for (index, edge) in neighbors.destinations.iter().enumerate() {
        if let Some(rank) = edge.rank {
            builder.send(rank, edge.turn, send.piece(index));
        }
    }
    builder.finish()
}

fn receive_all(builder: &mut Builder, neighbors: &Neighbors, receive: &Blocks) {
    for (index, edge) in neighbors.sources.iter().enumerate() {
        if let Some(rank) = edge.rank {
            builder.receive(rank, edge.turn, receive.piece(index));
        }
    }
}
