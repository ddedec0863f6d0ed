//! The tree by which ranks pass on what goes to all of them, and collect what comes from all.

/// Children of a rank, at most.
const WIDTH: u32 = 4;

/// A rank's place in the tree that has another rank as its root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanningTree {
    root: u32,
    rank: u32,
    ranks: u32,
}

impl SpanningTree {
    /// The tree of `ranks` ranks below `root`, as `rank` sees it.
    #[must_use]
    pub fn new(root: u32, rank: u32, ranks: u32) -> SpanningTree {
        SpanningTree { root, rank, ranks }
    }

    /// The tree of the same ranks below another root.
    #[must_use]
    pub fn below(&self, root: u32) -> SpanningTree {
        SpanningTree { root, ..*self }
    }

    /// The rank without a parent.
    #[must_use]
    pub fn root(&self) -> u32 {
        self.root
    }

    /// The rank that sees it.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// The rank above this one; `None` at the root.
    #[must_use]
    pub fn parent(&self) -> Option<u32> {
        let place = self.place();
        (place > 0).then(|| self.rank_at((place - 1) / u64::from(WIDTH)))
    }

    /// The ranks directly below this one.
    pub fn children(&self) -> impl Iterator<Item = u32> + use<> {
        let (tree, first) = (*self, self.place() * u64::from(WIDTH) + 1);
        (first..first + u64::from(WIDTH))
            .take_while(move |place| *place < u64::from(tree.ranks))
            .map(move |place| tree.rank_at(place))
    }

    /// How far the rank is from the root, in the order of ranks.
    fn place(&self) -> u64 {
        let (root, ranks) = (u64::from(self.root), u64::from(self.ranks));
        (u64::from(self.rank) + ranks - root) % ranks
    }

    fn rank_at(&self, place: u64) -> u32 {
        ((place + u64::from(self.root)) % u64::from(self.ranks)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_is_a_child_of_its_parent_and_all_descend_from_the_root() {
        for ranks in 1..60 {
            for root in [0, ranks / 2, ranks - 1] {
                let mut reached = vec![root];
                let mut at = 0;
                while at < reached.len() {
                    for child in SpanningTree::new(root, reached[at], ranks).children() {
                        let parent = SpanningTree::new(root, child, ranks).parent();
                        assert_eq!(parent, Some(reached[at]));
                        reached.push(child);
                    }
                    at += 1;
                }
                reached.sort_unstable();
                assert!(reached.into_iter().eq(0..ranks));
                assert_eq!(SpanningTree::new(root, root, ranks).parent(), None);
            }
        }
    }
}
