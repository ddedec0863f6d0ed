//! Division of a receiver's ring area among the senders that topologies declare.
//!
//! Pure policy: shares follow the declared weights, never exceed the area, and depend only on what
//! was declared, so they are the same in every run. A pair that several topologies declare has the
//! sum of its weights. If the area has less than a page for every sender, the lightest edges stay
//! on the header slot. The idea is the re-division of the message-passing buffer in RCKMPI (Comprés
//! Ureña et al., IPDPSW 2012); here all sections except the slots are shares.

use std::collections::BTreeMap;

use towpath_base::control::PAGE;

use super::layout::{RingPlace, header_bytes};

/// Largest share of one sender in bytes. Beyond it a larger ring does not help, because large
/// messages use bounce buffers.
const LARGEST_SHARE: usize = 256 * 1024;

/// Shape of a ring: header lines (a power of two) and payload bytes (a multiple of the line).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RingShape {
    pub(crate) lines: u32,
    pub(crate) bytes: u32,
}

impl RingShape {
    /// The shape that uses all of `total` bytes, a number of whole pages.
    pub(crate) fn within(total: usize) -> RingShape {
        let lines = (total / 256).next_power_of_two().clamp(16, 32);
        RingShape { lines: lines as u32, bytes: (total - header_bytes(lines)) as u32 }
    }

    /// Bytes of the ring, in whole pages.
    pub(crate) fn total(&self) -> usize {
        RingPlace::total_bytes(self.lines, self.bytes)
    }
}

/// One topology's incoming edges: sender and weight, each sender once, sorted.
type Edges = Vec<(u32, u64)>;

/// What the existing topologies declare about the streams to this receiver.
#[derive(Debug, Default)]
pub(crate) struct Division {
    declared: BTreeMap<u64, Edges>,
}

impl Division {
    /// The topology `key` declares that the `sources` send to this process. The weights of a sender
    /// that is listed twice add up.
    pub(crate) fn declare(&mut self, key: u64, sources: impl IntoIterator<Item = (u32, u64)>) {
        let mut edges = BTreeMap::new();
        for (from, weight) in sources {
            let sum: &mut u64 = edges.entry(from).or_default();
            *sum = sum.saturating_add(weight);
        }
        self.declared.insert(key, edges.into_iter().collect());
    }

    /// Forgets a topology that no longer exists.
    pub(crate) fn undeclare(&mut self, key: u64) {
        self.declared.remove(&key);
    }

    /// All declared senders, possibly with duplicates.
    pub(crate) fn senders(&self) -> impl Iterator<Item = u32> {
        self.declared.values().flatten().map(|edge| edge.0)
    }

    /// All senders that one topology declares.
    pub(crate) fn senders_of(&self, key: u64) -> impl Iterator<Item = u32> {
        self.declared.get(&key).into_iter().flatten().map(|edge| edge.0)
    }

    /// The current weight of a declared sender; `None` if it is not declared.
    pub(crate) fn weight(&self, from: u32) -> Option<u64> {
        let weight_in = |edges: &Edges| {
            edges.binary_search_by_key(&from, |edge| edge.0).ok().map(|at| edges[at].1)
        };
        self.declared.values().filter_map(weight_in).reduce(u64::saturating_add)
    }

    fn weights(&self) -> BTreeMap<u32, u64> {
        let mut weights = BTreeMap::new();
        for &(from, weight) in self.declared.values().flatten() {
            let sum: &mut u64 = weights.entry(from).or_default();
            *sum = sum.saturating_add(weight);
        }
        weights
    }

    /// The share of each declared sender in bytes (whole pages) of an area of `area` bytes,
    /// heaviest first. An edge of average weight gets `usual` bytes if the area has them.
    pub(crate) fn shares(&self, area: usize, usual: usize) -> Vec<(u32, usize)> {
        let mut edges: Vec<(u32, u64)> = self.weights().into_iter().collect();
        edges.sort_by_key(|&(from, weight)| (std::cmp::Reverse(weight), from));
        edges.truncate(area / PAGE);
        let total: u128 = edges.iter().map(|edge| u128::from(edge.1)).sum();
        if total == 0 {
            edges.iter_mut().for_each(|edge| edge.1 = 1);
        }
        // The share that an edge would get in an unlimited area: in proportion to its weight.
        let sum = edges.iter().map(|edge| u128::from(edge.1)).sum::<u128>().max(1);
        let count = edges.len() as u128;
        let wish = |weight: u64| {
            (usual as u128 * u128::from(weight) * count / sum).min(LARGEST_SHARE as u128) as usize
        };
        // Start with the lightest edge: the minimum of one page may give it more than its weight,
        // which must be deducted before the heavier edges get their shares.
        let (mut left, mut weights_left) = (area, sum);
        let mut shares: Vec<(u32, usize)> = Vec::with_capacity(edges.len());
        for &(from, weight) in edges.iter().rev() {
            let fair = (left as u128 * u128::from(weight) / weights_left.max(1)) as usize;
            let share = (wish(weight).next_multiple_of(PAGE).min(fair) / PAGE * PAGE).max(PAGE);
            left -= share;
            weights_left -= u128::from(weight);
            shares.push((from, share));
        }
        shares.reverse();
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: usize = 72 * 1024;

    fn division(edges: &[(u32, u64)]) -> Division {
        let mut division = Division::default();
        division.declare(1, edges.iter().copied());
        division
    }

    #[test]
    fn equal_edges_get_the_usual_share_or_equal_parts_of_a_small_area() {
        let four = division(&[(1, 1), (2, 1), (5, 1), (9, 1)]);
        assert!(four.shares(8 << 20, USUAL).iter().all(|share| share.1 == USUAL));
        assert_eq!(
            four.shares(128 * 1024, USUAL),
            [(1, 32768), (2, 32768), (5, 32768), (9, 32768)]
        );
        assert!(Division::default().shares(8 << 20, USUAL).is_empty());
    }

    #[test]
    fn weights_count_and_zero_is_the_lightest() {
        let shares = division(&[(1, 3), (2, 1), (3, 0)]).shares(8 << 20, USUAL);
        assert_eq!(shares, [(1, 164 * 1024), (2, 56 * 1024), (3, PAGE)]);
        assert_eq!(division(&[(1, 0), (2, 0)]).shares(8 << 20, USUAL), [(1, USUAL), (2, USUAL)]);
    }

    #[test]
    fn a_pair_of_two_topologies_has_the_sum_and_an_edge_given_twice_too() {
        let mut both = division(&[(1, 1), (2, 1), (2, 1)]);
        assert_eq!((both.weight(1), both.weight(2), both.weight(3)), (Some(1), Some(2), None));
        both.declare(2, [(2, 5), (3, 1)]);
        assert_eq!((both.weight(2), both.weight(3)), (Some(7), Some(1)));
        both.undeclare(1);
        assert_eq!((both.weight(1), both.weight(2)), (None, Some(5)));
    }

    #[test]
    fn a_star_larger_than_the_area_leaves_the_lightest_on_the_slot() {
        let star = division(&(0..100).map(|from| (from, u64::from(from))).collect::<Vec<_>>());
        let shares = star.shares(10 * PAGE, USUAL);
        assert_eq!(shares, (90..100).rev().map(|from| (from, PAGE)).collect::<Vec<_>>());
        assert!(star.shares(PAGE - 1, USUAL).is_empty());
    }

    #[test]
    fn shares_never_exceed_the_area() {
        let mut random = 0x2545_F491_4F6C_DD1Du64;
        for _ in 0..2000 {
            let mut next = |limit: u64| {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                random % limit
            };
            let edges: Vec<(u32, u64)> =
                (0..next(60)).map(|i| (i as u32, next(4) * next(u64::MAX / 64))).collect();
            let area = next(1 << 21) as usize;
            let shares = division(&edges).shares(area, USUAL);
            assert!(
                shares.iter().map(|share| share.1).sum::<usize>() <= area,
                "{edges:?} in {area}"
            );
            assert!(shares.iter().all(|share| share.1 >= PAGE && share.1 % PAGE == 0));
            assert_eq!(shares.len(), edges.len().min(area / PAGE));
        }
    }

    #[test]
    fn a_shape_uses_its_share_to_the_end() {
        for share in [PAGE, 2 * PAGE, 5 * PAGE, USUAL, LARGEST_SHARE] {
            let shape = RingShape::within(share);
            assert_eq!(shape.total(), share);
            assert!(shape.lines.is_power_of_two() && shape.bytes.is_multiple_of(64));
        }
        assert_eq!(RingShape::within(PAGE), RingShape { lines: 16, bytes: 3008 });
    }
}
