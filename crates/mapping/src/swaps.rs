//! Pairwise exchange: two nodes exchange places if that lowers the cost, until no such pair is
//! found.
//!
//! Small graphs try all pairs. In large graphs, a node tries the places close to those of its
//! neighbours, in a linear order that results from halving the machine recursively and so keeps
//! nearby places together; the number of trials per edge and pass is constant. On a small mesh,
//! where exchanges end in many different local optima, some nodes are perturbed and the search is
//! repeated (iterated local search); the pseudorandom numbers are the same every time.

use std::collections::VecDeque;

use towpath_machine::levels::{Distances, MeshSide};

use super::Graph;

/// Maximum number of nodes for trying all pairs.
const ALL_PAIRS: usize = 128;
/// Places tried to each side of a neighbour's place in larger graphs.
const AROUND: usize = 4;
/// Maximum number of passes over all nodes; most graphs need three.
const PASSES: usize = 8;

/// Number of perturbations of a small graph on a mesh, and of random exchanges in each.
const SHAKES: usize = 24;
const SHAKEN_PAIRS: usize = 4;

/// The places after exchanges have lowered the cost.
pub(super) fn improved(graph: &Graph, distances: &Distances, places: Vec<usize>) -> Vec<usize> {
    let mut state = State::new(graph, distances, places);
    state.improve_all();
    state.places
}

/// True on a small mesh, where perturbation may lower the cost further.
pub(super) fn are_to_be_shaken(distances: &Distances) -> bool {
    distances.have_mesh() && (2..=ALL_PAIRS).contains(&distances.places())
}

/// The best places found by perturbing and improving.
pub(super) fn shaken(graph: &Graph, distances: &Distances, places: Vec<usize>) -> Vec<usize> {
    let mut least = graph.cost(&places, distances);
    let mut best = places.clone();
    let mut state = State::new(graph, distances, places);
    let mut number = 1u64;
    let mut random = |below: usize| {
        // The multiplier and increment of Knuth's MMIX.
        number =
            number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (number >> 33) as usize % below
    };
    for _ in 0..SHAKES {
        for _ in 0..SHAKEN_PAIRS {
            state.exchange(random(best.len()), random(best.len()));
        }
        state.improve_all();
        let cost = graph.cost(&state.places, distances);
        if cost < least {
            (best, least) = (state.places.clone(), cost);
        } else {
            state.put(&best);
        }
    }
    best
}

/// All places in a linear order in which nearby places are close to each other.
fn line_up(distances: &Distances) -> Vec<usize> {
    let mut line: Vec<usize> = (0..distances.places()).collect();
    let mut ranges = VecDeque::new();
    ranges.push_back(0..line.len());
    while let Some(range) = ranges.pop_front() {
        let first = distances.halve(&mut line[range.clone()], MeshSide::Longer);
        if first > 0 {
            ranges.push_back(range.start..range.start + first);
            ranges.push_back(range.start + first..range.end);
        }
    }
    line
}

struct State<'a> {
    graph: &'a Graph,
    distances: &'a Distances,
    /// Distances of all pairs of places in a small graph; empty for a large one.
    table: Vec<i64>,
    /// All places in a linear order in which nearby places are close to each other, and the index
    /// of each place in this order.
    line: Vec<usize>,
    position: Vec<usize>,
    /// The place of each node, and the node at each place (in `node_at`).
    places: Vec<usize>,
    node_at: Vec<usize>,
}

impl<'a> State<'a> {
    fn new(graph: &'a Graph, distances: &'a Distances, places: Vec<usize>) -> State<'a> {
        let line = line_up(distances);
        let mut position = vec![0; line.len()];
        line.iter().enumerate().for_each(|(i, &place)| position[place] = i);
        let count = places.len();
        let pairs = if count <= ALL_PAIRS { count * count } else { 0 };
        let table =
            (0..pairs).map(|pair| distances.between(pair / count, pair % count) as i64).collect();
        let mut state = State {
            graph,
            distances,
            table,
            line,
            position,
            places: Vec::new(),
            node_at: vec![0; count],
        };
        state.put(&places);
        state
    }

    /// Moves all nodes to these places.
    fn put(&mut self, places: &[usize]) {
        self.places = places.to_vec();
        places.iter().enumerate().for_each(|(node, &place)| self.node_at[place] = node);
    }

    fn between(&self, from: usize, to: usize) -> i64 {
        match self.table.get(from * self.places.len() + to) {
            Some(&distance) => distance,
            None => self.distances.between(from, to) as i64,
        }
    }

    /// Improves until no exchange lowers the cost, or for [`PASSES`] passes.
    fn improve_all(&mut self) {
        for _ in 0..PASSES {
            let mut changed = false;
            for node in 0..self.places.len() {
                changed |= self.improve(node);
            }
            if !changed {
                break;
            }
        }
    }

    fn exchange(&mut self, node: usize, other: usize) {
        self.places.swap(node, other);
        self.node_at[self.places[node]] = node;
        self.node_at[self.places[other]] = other;
    }

    /// Exchanges a node with the node for which the gain is largest; false if no exchange has a
    /// gain.
    fn improve(&mut self, node: usize) -> bool {
        if self.graph.edges[node].is_empty() {
            return false;
        }
        let mut best = (0, node);
        let mut consider = |other: usize| {
            let gain = self.gain(node, other);
            if gain > best.0 {
                best = (gain, other);
            }
        };
        if self.places.len() <= ALL_PAIRS {
            (0..self.places.len()).for_each(&mut consider);
        } else {
            for &(neighbour, _) in &self.graph.edges[node] {
                let at = self.position[self.places[neighbour as usize]];
                let around = at.saturating_sub(AROUND)..(at + AROUND + 1).min(self.line.len());
                self.line[around].iter().for_each(|&place| consider(self.node_at[place]));
            }
        }
        let (_, other) = best;
        if other == node {
            return false;
        }
        self.exchange(node, other);
        true
    }

    /// Gain from exchanging two nodes; the edge between them keeps its length.
    fn gain(&self, node: usize, other: usize) -> i64 {
        let (from, to) = (self.places[node], self.places[other]);
        self.gain_of_move(node, other, from, to) + self.gain_of_move(other, node, to, from)
    }

    fn gain_of_move(&self, node: usize, except: usize, from: usize, to: usize) -> i64 {
        let edges =
            self.graph.edges[node].iter().filter(|(neighbour, _)| *neighbour as usize != except);
        let gain = edges.map(|&(neighbour, weight)| {
            let at = self.places[neighbour as usize];
            weight * (self.between(from, at) - self.between(to, at))
        });
        gain.sum()
    }
}
