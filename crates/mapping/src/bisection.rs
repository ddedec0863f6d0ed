//! Dual recursive bisection: the places are halved where they are farthest apart, the nodes so that
//! the cut costs little.
//!
//! One half of the nodes starts as a prefix of an order (by number, by the orders of the graph, or
//! breadth-first from a peripheral node). It is improved by exchanging nodes with the other half,
//! in passes of Kernighan and Lin (1970) with the priority queue of Fiduccia and Mattheyses (1982):
//! a pass continues through losses and returns to its best state. A node outside the part pulls its
//! neighbours in the part towards its assumed place, the middle of its own part.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use towpath_machine::levels::{Distances, MeshSide};

use super::Graph;

/// Maximum number of passes over one pair of halves.
const PASSES: usize = 8;

/// Exchanges without improvement after which a pass ends.
const PATIENCE: usize = 64;

/// A part still to be halved; it has as many nodes as places.
struct HalvedPart {
    nodes: Vec<u32>,
    places: Vec<usize>,
}

/// Finds a place for each node of a graph with as many nodes as there are places.
pub(super) fn places(graph: &Graph, distances: &Distances, side: MeshSide) -> Vec<usize> {
    let count = graph.edges.len();
    let mut result = vec![0; count];
    let mut thought_at = vec![0; count];
    let mut index = vec![u32::MAX; count];
    let mut parts = VecDeque::from([HalvedPart {
        nodes: (0..count as u32).collect(),
        places: (0..count).collect(),
    }]);
    while let Some(HalvedPart { mut nodes, mut places }) = parts.pop_front() {
        let first = distances.halve(&mut places, side);
        if first == 0 {
            // No level separates these places. Ascending order of nodes and places leaves most
            // nodes where they are.
            nodes.sort_unstable();
            places.sort_unstable();
            nodes.iter().zip(&places).for_each(|(&node, &place)| result[node as usize] = place);
            nodes.iter().for_each(|&node| thought_at[node as usize] = places[places.len() / 2]);
            continue;
        }
        let (left, right) = places.split_at(first);
        let middles = [left[left.len() / 2], right[right.len() / 2]];
        let halves = Halving::new(graph, distances, &nodes, middles, &thought_at, &mut index)
            .best(graph, &nodes, first);
        for ((nodes, places), middle) in halves.into_iter().zip([left, right]).zip(middles) {
            nodes.iter().for_each(|&node| thought_at[node as usize] = middle);
            parts.push_back(HalvedPart { nodes, places: places.to_vec() });
        }
    }
    result
}

/// A part to be halved; its nodes are renumbered from 0.
struct Halving {
    edges: Vec<Vec<(u32, i64)>>,
    /// Cost of each node in the first half minus its cost in the second, due to nodes outside the
    /// part.
    pull: Vec<i64>,
}

impl Halving {
    fn new(
        graph: &Graph,
        distances: &Distances,
        nodes: &[u32],
        middles: [usize; 2],
        thought_at: &[usize],
        index: &mut [u32],
    ) -> Halving {
        nodes.iter().enumerate().for_each(|(i, &node)| index[node as usize] = i as u32);
        let apart = distances.between(middles[0], middles[1]) as i64;
        let mut halving = Halving {
            edges: Vec::with_capacity(nodes.len()),
            pull: Vec::with_capacity(nodes.len()),
        };
        for &node in nodes {
            let mut inside = Vec::new();
            let mut pull = 0;
            for &(other, weight) in &graph.edges[node as usize] {
                let number = index[other as usize];
                if number != u32::MAX {
                    inside.push((number, weight * apart));
                } else {
                    let to = |middle| distances.between(middle, thought_at[other as usize]) as i64;
                    pull += weight * (to(middles[0]) - to(middles[1]));
                }
            }
            halving.edges.push(inside);
            halving.pull.push(pull);
        }
        nodes.iter().for_each(|&node| index[node as usize] = u32::MAX);
        halving
    }

    /// The best pair of halves found; the first has `first` nodes.
    fn best(&self, graph: &Graph, nodes: &[u32], first: usize) -> [Vec<u32>; 2] {
        let mut orders = Vec::new();
        for keys in &graph.orders {
            let mut order: Vec<u32> = (0..nodes.len() as u32).collect();
            order.sort_by_key(|&i| (keys[nodes[i as usize] as usize], i));
            orders.push(order);
        }
        orders.push(self.breadth_first());
        if self.pull.iter().any(|&pull| pull != 0) || 2 * first != nodes.len() {
            let turned: Vec<Vec<u32>> =
                orders.iter().map(|order| order.iter().rev().copied().collect()).collect();
            orders.extend(turned);
        }
        let mut best: Option<(i64, Vec<bool>)> = None;
        for order in orders {
            let mut in_first = vec![false; nodes.len()];
            order[..first].iter().for_each(|&i| in_first[i as usize] = true);
            for _ in 0..PASSES {
                if !self.pass(&mut in_first) {
                    break;
                }
            }
            let cost = self.cost(&in_first);
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, in_first));
            }
        }
        let (_, in_first) = best.expect("there is an order");
        let (ahead, behind): (Vec<(u32, bool)>, _) =
            nodes.iter().copied().zip(in_first).partition(|(_, first)| *first);
        [ahead, behind].map(|half| half.into_iter().map(|(node, _)| node).collect())
    }

    fn cost(&self, in_first: &[bool]) -> i64 {
        let cut = self
            .edges
            .iter()
            .enumerate()
            .flat_map(|(i, list)| list.iter().map(move |edge| (i, edge)));
        let cut = cut.filter(|(i, (other, _))| {
            (*other as usize) > *i && in_first[*i] != in_first[*other as usize]
        });
        let pulled =
            self.pull.iter().zip(in_first).filter(|(_, first)| **first).map(|(pull, _)| pull);
        cut.map(|(_, (_, weight))| weight).sum::<i64>() + pulled.sum::<i64>()
    }

    /// Breadth-first order, component by component, from a peripheral node: the last node of a
    /// first breadth-first walk.
    fn breadth_first(&self) -> Vec<u32> {
        let count = self.edges.len();
        let walk = |from: u32| {
            let mut seen = vec![false; count];
            let mut order: Vec<u32> = Vec::with_capacity(count);
            for begin in std::iter::once(from).chain(0..count as u32) {
                if std::mem::replace(&mut seen[begin as usize], true) {
                    continue;
                }
                let mut next = order.len();
                order.push(begin);
                while next < order.len() {
                    for &(other, _) in &self.edges[order[next] as usize] {
                        if !std::mem::replace(&mut seen[other as usize], true) {
                            order.push(other);
                        }
                    }
                    next += 1;
                }
            }
            order
        };
        let border = walk(0).last().copied().unwrap_or(0);
        walk(border)
    }

    /// Gain from moving a node to the other half.
    fn gain(&self, node: u32, in_first: &[bool]) -> i64 {
        let own = in_first[node as usize];
        let edges = self.edges[node as usize].iter();
        let across: i64 = edges
            .map(|&(other, weight)| if in_first[other as usize] == own { -weight } else { weight })
            .sum();
        across + if own { self.pull[node as usize] } else { -self.pull[node as usize] }
    }

    /// Exchanges pairs of nodes, largest gain first, then returns to the best state; false if that
    /// is the initial one.
    fn pass(&self, in_first: &mut [bool]) -> bool {
        let count = self.edges.len() as u32;
        let mut gains: Vec<i64> = (0..count).map(|node| self.gain(node, in_first)).collect();
        let mut queues: [BinaryHeap<(i64, Reverse<u32>)>; 2] = Default::default();
        for node in 0..count {
            queues[usize::from(in_first[node as usize])]
                .push((gains[node as usize], Reverse(node)));
        }
        let mut moved = vec![false; count as usize];
        let mut moves = Vec::new();
        let (mut sum, mut best, mut best_at) = (0, 0, 0);
        'exchanges: while moves.len() < best_at + 2 * PATIENCE {
            for side in [true, false] {
                let node = loop {
                    let Some((gain, Reverse(node))) = queues[usize::from(side)].pop() else {
                        break 'exchanges;
                    };
                    if !moved[node as usize] && gain == gains[node as usize] {
                        break node;
                    }
                };
                sum += gains[node as usize];
                moved[node as usize] = true;
                in_first[node as usize] = !side;
                moves.push(node);
                for &(other, weight) in
                    self.edges[node as usize].iter().filter(|(other, _)| !moved[*other as usize])
                {
                    let other_side = in_first[other as usize];
                    gains[other as usize] +=
                        if other_side == side { 2 * weight } else { -2 * weight };
                    queues[usize::from(other_side)].push((gains[other as usize], Reverse(other)));
                }
            }
            if sum > best {
                (best, best_at) = (sum, moves.len());
            }
        }
        for &node in &moves[best_at..] {
            in_first[node as usize] = !in_first[node as usize];
        }
        best > 0
    }
}
