//! Shapes that several algorithms share: binomial trees, intervals around a root, and the fold to a
//! power of two.
//!
//! Everything here is arithmetic on ranks. A binomial tree over `0..n` covers with each node `v`
//! the contiguous interval `v..v + 2^t`, where `t` is the number of trailing zero bits of `v`.

/// The place of one node in a binomial tree over `0..size` with root 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Binomial {
    /// The node above; `None` at the root.
    pub(crate) parent: Option<usize>,
    /// The nodes below with the number of nodes in their subtree, nearest (smallest subtree) first.
    pub(crate) children: Vec<(usize, usize)>,
}

impl Binomial {
    pub(crate) fn new(node: usize, size: usize) -> Binomial {
        let reach = if node == 0 { size.next_power_of_two() } else { node & node.wrapping_neg() };
        let parent = (node > 0).then(|| node - reach);
        let mut children = Vec::new();
        let mut distance = 1;
        while distance < reach && node + distance < size {
            children.push((node + distance, distance.min(size - node - distance)));
            distance *= 2;
        }
        Binomial { parent, children }
    }

    /// Nodes in the subtree of `node`, itself included.
    pub(crate) fn covered(node: usize, size: usize) -> usize {
        let reach = if node == 0 { size } else { node & node.wrapping_neg() };
        reach.min(size - node)
    }
}

/// Rank counted from the root: the root is 0.
pub(crate) fn relative(rank: usize, root: usize, size: usize) -> usize {
    (rank + size - root) % size
}

/// The rank that [`relative`] came from.
pub(crate) fn absolute(relative: usize, root: usize, size: usize) -> usize {
    (relative + root) % size
}

/// `first..first + number` counted from the root, as at most two intervals (start, length) of
/// ranks.
pub(crate) fn intervals(first: usize, number: usize, root: usize, size: usize) -> Vec<(usize, usize)> {
    let start = absolute(first, root, size);
    let head = number.min(size - start);
    if head == number { vec![(start, number)] } else { vec![(start, head), (0, number - head)] }
}

/// A set of ranks of which a power of two goes on: the first `2 * extra` ranks pair up, the odd one
/// of each pair goes on. Neighbours pair up so that the order of operands is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fold {
    /// How many go on.
    pub(crate) power: usize,
    /// How many do not.
    pub(crate) extra: usize,
}

impl Fold {
    pub(crate) fn new(size: usize) -> Fold {
        let power = if size.is_power_of_two() { size } else { size.next_power_of_two() / 2 };
        Fold { power, extra: size - power }
    }

    /// My number among those that go on.
    pub(crate) fn number(self, rank: usize) -> Option<usize> {
        if rank >= 2 * self.extra {
            Some(rank - self.extra)
        } else if rank % 2 == 1 {
            Some(rank / 2)
        } else {
            None
        }
    }

    /// The rank with a number.
    pub(crate) fn rank(self, number: usize) -> usize {
        if number < self.extra { 2 * number + 1 } else { number + self.extra }
    }

    /// Whether the rank with this number speaks for the rank below it too.
    pub(crate) fn speaks_for_two(self, number: usize) -> bool {
        number < self.extra
    }

    /// How many times the number can be halved.
    pub(crate) fn levels(self) -> u32 {
        self.power.trailing_zeros()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_has_one_parent_and_subtrees_are_intervals() {
        for size in 1..70 {
            let mut parents = vec![None; size];
            for node in 0..size {
                let place = Binomial::new(node, size);
                let below: usize = place.children.iter().map(|child| child.1).sum();
                assert_eq!(below + 1, Binomial::covered(node, size), "node {node} of {size}");
                let mut next = node + 1;
                for (child, covered) in place.children {
                    assert_eq!((child, covered), (next, Binomial::covered(child, size)));
                    assert_eq!(parents[child].replace(node), None);
                    next = child + covered;
                }
            }
            assert_eq!(parents[0], None);
            for (node, parent) in parents.into_iter().enumerate().skip(1) {
                assert_eq!(parent, Binomial::new(node, size).parent);
                assert!(parent.is_some());
            }
        }
    }

    #[test]
    fn folding_keeps_the_order() {
        for size in 1..40 {
            let fold = Fold::new(size);
            let ranks: Vec<usize> = (0..fold.power).map(|number| fold.rank(number)).collect();
            assert!(ranks.is_sorted());
            assert!(ranks.iter().enumerate().all(|(number, &rank)| fold.number(rank) == Some(number)));
            assert_eq!((0..size).filter(|&rank| fold.number(rank).is_none()).count(), fold.extra);
        }
    }
}
