//! Shapes shared by several algorithms: binomial trees, and intervals around a root.
//!
//! All functions are pure arithmetic on ranks. In a binomial tree over `0..n`, node `v` covers the
//! contiguous interval `v..v + 2^t`, where `t` is the number of trailing zero bits of `v`.

/// The position of one node in a binomial tree over `0..size` with root 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Binomial {
    /// The parent; `None` at the root.
    pub(crate) parent: Option<usize>,
    /// The children, each with the size of its subtree; nearest (smallest subtree) first.
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

    /// Number of nodes in the subtree of `node`, including itself.
    pub(crate) fn covered(node: usize, size: usize) -> usize {
        let reach = if node == 0 { size } else { node & node.wrapping_neg() };
        reach.min(size - node)
    }
}

/// Rank relative to the root, which is 0.
pub(crate) fn relative(rank: usize, root: usize, size: usize) -> usize {
    (rank + size - root) % size
}

/// Inverse of [`relative`].
pub(crate) fn absolute(relative: usize, root: usize, size: usize) -> usize {
    (relative + root) % size
}

/// The relative ranks `first..first + number` as at most two intervals (start, length) of absolute
/// ranks.
pub(crate) fn intervals(
    first: usize,
    number: usize,
    root: usize,
    size: usize,
) -> Vec<(usize, usize)> {
    let start = absolute(first, root, size);
    let head = number.min(size - start);
    if head == number { vec![(start, number)] } else { vec![(start, head), (0, number - head)] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_has_one_parent_and_subtrees_are_intervals() {
        for size in 1..70 {
            let mut parents = vec![None; size];
            for node in 0..size {
                let binomial = Binomial::new(node, size);
                let below: usize = binomial.children.iter().map(|child| child.1).sum();
                assert_eq!(below + 1, Binomial::covered(node, size), "node {node} of {size}");
                let mut next = node + 1;
                for (child, covered) in binomial.children {
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
}
