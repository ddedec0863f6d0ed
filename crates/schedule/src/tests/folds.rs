//! What a vector is the fold of: a tree of the ranks' vectors. Equal trees have equal numbers.

use std::collections::HashMap;

/// Number of a tree: that of a rank for its own vector, [`LITERAL`] for bytes that a plan itself
/// has written, and behind them those of sums.
pub(super) type FoldId = i64;

/// Bytes that a plan has written before its steps; their offset is one in [`Literals`].
pub(super) const LITERAL: FoldId = -1;

/// All trees of a call.
#[derive(Debug)]
pub(super) struct Folds {
    ranks: i64,
    /// The operands of each sum: the lower one first.
    sums: Vec<(FoldId, FoldId)>,
    known: HashMap<(FoldId, FoldId), FoldId>,
    /// Trees that have been found to fold the first so many ranks.
    checked: HashMap<(FoldId, usize), bool>,
}

impl Folds {
    pub(super) fn new(ranks: usize) -> Folds {
        let (known, checked) = (HashMap::new(), HashMap::new());
        Folds { ranks: ranks as i64, sums: Vec::new(), known, checked }
    }

    /// `lower op upper`.
    pub(super) fn combine(&mut self, lower: FoldId, upper: FoldId) -> FoldId {
        *self.known.entry((lower, upper)).or_insert_with(|| {
            self.sums.push((lower, upper));
            self.ranks + self.sums.len() as i64 - 1
        })
    }

    fn operands(&self, fold: FoldId) -> Option<(FoldId, FoldId)> {
        self.sums.get(usize::try_from(fold - self.ranks).ok()?).copied()
    }

    /// The ranks whose vectors are folded, from left to right.
    pub(super) fn leaves(&self, fold: FoldId) -> Vec<FoldId> {
        let (mut left, mut leaves) = (vec![fold], Vec::new());
        while let Some(fold) = left.pop() {
            match self.operands(fold) {
                Some((lower, upper)) => left.extend([upper, lower]),
                None => leaves.push(fold),
            }
        }
        leaves
    }

    /// True if a tree folds the vectors of the ranks `0..end`, each once, and in their order unless
    /// the operation commutes.
    pub(super) fn is_of_all(&mut self, fold: FoldId, end: usize, commutes: bool) -> bool {
        if let Some(&known) = self.checked.get(&(fold, end)) {
            return known;
        }
        let mut leaves = self.leaves(fold);
        if commutes {
            leaves.sort_unstable();
        }
        let is_right = leaves.into_iter().eq(0..end as i64);
        self.checked.insert((fold, end), is_right);
        is_right
    }

    /// The same tree with the operands of each sum in a fixed order.
    pub(super) fn sorted(&mut self, fold: FoldId) -> FoldId {
        let (mut sorted, mut left) = (HashMap::new(), vec![fold]);
        while let Some(&fold) = left.last() {
            let Some((lower, upper)) = self.operands(fold) else {
                sorted.insert(fold, fold);
                left.pop();
                continue;
            };
            match (sorted.get(&lower).copied(), sorted.get(&upper).copied()) {
                (Some(lower), Some(upper)) => {
                    let sum = self.combine(lower.min(upper), lower.max(upper));
                    sorted.insert(fold, sum);
                    left.pop();
                }
                (lower_known, _) => left.push(if lower_known.is_some() { upper } else { lower }),
            }
        }
        sorted[&fold]
    }

    /// The left fold of several trees.
    pub(super) fn left(&mut self, folds: impl IntoIterator<Item = FoldId>) -> Option<FoldId> {
        folds.into_iter().reduce(|sum, fold| self.combine(sum, fold))
    }
}

/// Bytes that plans have written before their steps, such as the lengths of blocks.
#[derive(Debug, Default)]
pub(super) struct Literals {
    bytes: Vec<u8>,
}

impl Literals {
    /// Adds bytes. Returns the offset of the first one.
    pub(super) fn add(&mut self, bytes: impl Iterator<Item = u8>) -> (i64, i64) {
        let first = self.bytes.len();
        self.bytes.extend(bytes);
        (first as i64, (self.bytes.len() - first) as i64)
    }

    pub(super) fn bytes(&self, first: i64, length: i64) -> &[u8] {
        &self.bytes[first as usize..][..length as usize]
    }
}
