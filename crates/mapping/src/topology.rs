//! Virtual topologies as plain values (MPI 5.0, chapter 8), and their graphs. The C functions are
//! in `chapters::topologies` of the crate `mpi`.

use crate::Graph;

/// MPI_PROC_NULL: the neighbour beyond the border of a dimension.
pub const PROC_NULL: i32 = -3;

/// The topology of a communicator.
#[derive(Debug, Clone)]
pub enum Topology {
    /// A Cartesian grid.
    Cartesian {
        /// Extent of each dimension.
        dims: Vec<i32>,
        /// Whether each dimension wraps around.
        periodic: Vec<bool>,
    },
    /// A graph known to all processes (MPI_Graph_create): `index[i]` is the end of node i's list in
    /// `edges`.
    Graph {
        /// Prefix sums of the degrees.
        index: Vec<i32>,
        /// Concatenated neighbour lists.
        edges: Vec<i32>,
    },
    /// A graph of which each process knows its own edges only.
    Distributed(Adjacency),
}

/// The adjacency lists of a process in a distributed graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Adjacency {
    /// Ranks that send to this process.
    pub sources: Vec<i32>,
    /// Weights of the sources; empty if unweighted.
    pub source_weights: Vec<i32>,
    /// Ranks that this process sends to.
    pub destinations: Vec<i32>,
    /// Weights of the destinations; empty if unweighted.
    pub destination_weights: Vec<i32>,
    /// Whether the program passed weights.
    pub weighted: bool,
}

impl Topology {
    /// Ranks that `rank` receives from and sends to in neighbourhood collectives, in the standard's
    /// order (8.6); MPI_PROC_NULL beyond the border of a non-periodic dimension.
    pub fn neighbours(&self, rank: usize) -> (Vec<i32>, Vec<i32>) {
        match self {
            Topology::Cartesian { dims, periodic } => {
                let list = cartesian_neighbours(dims, periodic, rank);
                (list.clone(), list)
            }
            Topology::Graph { index, edges } => {
                let list = graph_neighbours(index, edges, rank);
                (list.to_vec(), list.to_vec())
            }
            Topology::Distributed(lists) => (lists.sources.clone(), lists.destinations.clone()),
        }
    }

    /// Ranks that send to `rank`, each with the weight of its edge. Omits MPI_PROC_NULL; a rank
    /// appears as often as it is listed.
    pub fn senders(&self, rank: usize) -> Vec<(usize, u64)> {
        let with_weights: Vec<(i32, u64)> = match self {
            Topology::Cartesian { .. } => {
                self.neighbours(rank).0.into_iter().map(|from| (from, 1)).collect()
            }
            Topology::Graph { index, edges } => {
                let owner = |edge: usize| index.partition_point(|&end| end as usize <= edge) as i32;
                let to_me = edges.iter().enumerate().filter(|(_, to)| **to == rank as i32);
                to_me.map(|(edge, _)| (owner(edge), 1)).collect()
            }
            Topology::Distributed(lists) => {
                let weight = |i: usize| {
                    lists.source_weights.get(i).map_or(1, |&weight| weight.max(0) as u64)
                };
                lists.sources.iter().enumerate().map(|(i, &from)| (from, weight(i))).collect()
            }
        };
        let real = with_weights.into_iter().filter(|&(from, _)| from >= 0);
        real.map(|(from, weight)| (from as usize, weight)).collect()
    }
}

/// The parent's process for each rank of the new communicator; empty: each process keeps its rank.
#[derive(Clone, Debug, Default)]
pub struct RankOrder(Vec<usize>);

impl RankOrder {
    /// The order in which rank r is taken by the r-th of these processes.
    pub fn of(processes: Vec<usize>) -> RankOrder {
        RankOrder(processes)
    }

    /// The parent's rank of the process that takes `rank`.
    pub fn process(&self, rank: usize) -> usize {
        self.0.get(rank).copied().unwrap_or(rank)
    }

    /// The rank below `size` that a process of the parent takes; `None` if it takes none.
    pub fn rank(&self, process: usize, size: usize) -> Option<usize> {
        (0..size).find(|&rank| self.process(rank) == process)
    }
}

/// The neighbours of a rank in a graph with these arguments of MPI_Graph_create.
pub fn graph_neighbours<'a>(index: &[i32], edges: &'a [i32], rank: usize) -> &'a [i32] {
    let first = if rank == 0 { 0 } else { index[rank - 1] as usize };
    &edges[first..index[rank] as usize]
}

/// Coordinates of a rank in a grid, row-major.
pub fn coordinates(dims: &[i32], rank: usize) -> Vec<i32> {
    let mut rest = rank;
    let mut result = vec![0; dims.len()];
    for (place, &dim) in result.iter_mut().zip(dims).rev() {
        *place = (rest % dim.max(1) as usize) as i32;
        rest /= dim.max(1) as usize;
    }
    result
}

/// The rank of coordinates, which must be inside the grid.
pub fn rank_of(dims: &[i32], coordinates: &[i32]) -> usize {
    dims.iter()
        .zip(coordinates)
        .fold(0, |rank, (&dim, &place)| rank * dim as usize + place as usize)
}

/// The rank `distance` steps away in one dimension; `None` beyond the border.
pub fn shifted(
    dims: &[i32],
    periodic: &[bool],
    rank: usize,
    dimension: usize,
    distance: i64,
) -> Option<usize> {
    let mut place = coordinates(dims, rank);
    let target = i64::from(place[dimension]) + distance;
    let extent = i64::from(dims[dimension]);
    place[dimension] = if periodic[dimension] {
        target.rem_euclid(extent) as i32
    } else if (0..extent).contains(&target) {
        target as i32
    } else {
        return None;
    };
    Some(rank_of(dims, &place))
}

fn cartesian_neighbours(dims: &[i32], periodic: &[bool], rank: usize) -> Vec<i32> {
    let step = |dimension, distance| {
        shifted(dims, periodic, rank, dimension, distance).map_or(PROC_NULL, |rank| rank as i32)
    };
    (0..dims.len()).flat_map(|dimension| [step(dimension, -1), step(dimension, 1)]).collect()
}

impl Adjacency {
    /// Encodes the lists as words: four lengths and the flag, then the values.
    pub fn words(&self) -> Vec<u64> {
        let lists =
            [&self.sources, &self.source_weights, &self.destinations, &self.destination_weights];
        let lengths = lists.iter().map(|list| list.len() as u64).chain([u64::from(self.weighted)]);
        lengths
            .chain(lists.iter().flat_map(|list| list.iter().map(|&value| value as u64)))
            .collect()
    }

    /// Decodes lists from words.
    pub fn read(words: &[u64]) -> Adjacency {
        let (lengths, mut rest) = words.split_at(5);
        let mut next = |length: u64| {
            let (list, behind) = rest.split_at(length as usize);
            rest = behind;
            list.iter().map(|&word| word as i32).collect()
        };
        Adjacency {
            sources: next(lengths[0]),
            source_weights: next(lengths[1]),
            destinations: next(lengths[2]),
            destination_weights: next(lengths[3]),
            weighted: lengths[4] != 0,
        }
    }
}

/// The graph of a grid, with a node order for each dimension.
pub fn grid(dims: &[i32], periodic: &[bool]) -> Graph {
    let nodes = dims.iter().map(|&dim| dim as usize).product();
    let next =
        |node: usize| (0..dims.len()).filter_map(move |i| shifted(dims, periodic, node, i, 1));
    let edges = (0..nodes).flat_map(|node| next(node).map(move |other| (node, other, 1)));
    let graph = Graph::new(nodes, edges);
    (1..dims.len()).fold(graph, |graph, i| {
        graph.with_order((0..nodes).map(|node| coordinates(dims, node)[i] as u32).collect())
    })
}

/// The graph of MPI_Graph_create.
pub fn listed(index: &[i32], edges: &[i32]) -> Graph {
    let of_node = |node: usize| {
        let list = graph_neighbours(index, edges, node);
        list.iter().map(move |&to| (node, to as usize, 1))
    };
    Graph::new(index.len(), (0..index.len()).flat_map(of_node))
}

/// The graph of weighted directed edges; edges from or to MPI_PROC_NULL are ignored.
pub fn weighted(nodes: usize, edges: impl Iterator<Item = (i32, i32, i32)>) -> Graph {
    let known = |(from, to, weight): (i32, i32, i32)| {
        Some((usize::try_from(from).ok()?, usize::try_from(to).ok()?, u64::try_from(weight).ok()?))
    };
    Graph::new(nodes, edges.filter_map(known))
}

/// The graph of MPI_Dist_graph_create_adjacent. Each end of an edge adds its weight, so an edge
/// that is listed at one end only counts half.
pub fn adjacent(all: &[Adjacency]) -> Graph {
    let of_node = |(node, lists): (usize, &'_ Adjacency)| {
        let inward = lists
            .sources
            .iter()
            .enumerate()
            .map(|(i, &other)| (other, lists.source_weights.get(i)));
        let outward = lists
            .destinations
            .iter()
            .enumerate()
            .map(|(i, &other)| (other, lists.destination_weights.get(i)));
        let edge = |(other, weight): (i32, Option<&i32>)| {
            (node as i32, other, weight.copied().unwrap_or(1))
        };
        inward.chain(outward).map(edge).collect::<Vec<_>>()
    };
    weighted(all.len(), all.iter().enumerate().flat_map(of_node))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_with_one_periodic_dimension() {
        let grid = Topology::Cartesian { dims: vec![2, 3], periodic: vec![false, true] };
        assert_eq!(coordinates(&[2, 3], 5), [1, 2]);
        assert_eq!(rank_of(&[2, 3], &[1, 2]), 5);
        assert_eq!(grid.neighbours(0).0, [PROC_NULL, 3, 2, 1]);
    }

    #[test]
    fn a_graph_gives_its_lists() {
        let graph = Topology::Graph { index: vec![2, 3, 4, 6], edges: vec![1, 3, 0, 3, 0, 2] };
        assert_eq!(graph.neighbours(0).1, [1, 3]);
        assert_eq!(graph.neighbours(3).0, [0, 2]);
        assert_eq!(graph.senders(3), [(0, 1), (2, 1)]);
        assert_eq!(graph.senders(2), [(3, 1)]);
    }

    #[test]
    fn senders_have_weights_and_the_border_sends_nothing() {
        let line = Topology::Cartesian { dims: vec![3], periodic: vec![false] };
        assert_eq!(line.senders(0), [(1, 1)]);
        let (sources, source_weights) = (vec![2, -3, 2], vec![7, 1, 0]);
        let rest = Adjacency::default();
        let graph = Adjacency { sources, source_weights, weighted: true, ..rest };
        assert_eq!(Topology::Distributed(graph).senders(0), [(2, 7), (2, 0)]);
    }

    #[test]
    fn lists_travel_as_words() {
        for weighted in [false, true] {
            let weights = |list: &[i32]| if weighted { list.to_vec() } else { Vec::new() };
            let lists = Adjacency {
                sources: vec![3, PROC_NULL],
                source_weights: weights(&[i32::MAX, 0]),
                destinations: vec![0],
                destination_weights: weights(&[7]),
                weighted,
            };
            assert_eq!(Adjacency::read(&lists.words()), lists);
        }
        assert_eq!(Adjacency::read(&Adjacency::default().words()), Adjacency::default());
    }
}
