//! MPI_REDUCE (6.9.1): a binomial tree in rank order for short vectors; halving followed by a
//! gather of the parts (Rabenseifner 2004) for long ones.
//!
//! The tree preserves the order of operands for every root. The ranks above the root form an upward
//! binomial tree, those below its mirror image, and every subtree is an interval that ends at its
//! node.

use crate::builder::{Builder, Mark};
use crate::halving::{Halved, VectorPair, elements, even_parts, halve};
use crate::plan::{Plan, PlanError};
use crate::select::{Algorithm, Collective, Size};
use crate::tree::{Binomial, Fold};
use crate::{Call, fold, hierarchy};

pub use crate::halving::Operand;

/// Builds a plan that combines the vectors of all ranks in `receive` at the root. `receive` is
/// unused elsewhere.
pub fn reduce(
    call: &Call,
    root: usize,
    operand: &Operand,
    receive: *mut u8,
) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(call.team);
    let result = (call.team.rank == root).then_some(receive);
    append(&mut builder, call, root, operand, result);
    builder.finish()
}

/// Appends the reduction to a plan. `result` is its destination, at the root.
pub(crate) fn append(
    builder: &mut Builder,
    call: &Call,
    root: usize,
    operand: &Operand,
    result: Option<*mut u8>,
) {
    let size = Size::of_reduction(&builder.team, operand);
    match call.selection.choose(Collective::Reduce, size) {
        Algorithm::Hierarchical => hierarchy::reductions::reduce(builder, root, operand, result),
        Algorithm::Fold => fold::at_root(builder, operand, root, result),
        Algorithm::Rabenseifner => rabenseifner(builder, root, operand, result),
        _ => binomial(builder, root, operand, result),
    }
    builder.phase();
}

/// The parent of this rank, and its children, nearest first. A child's flag is true if it
/// represents lower ranks than this one.
fn parent_and_children(
    rank: usize,
    root: usize,
    size: usize,
) -> (Option<usize>, Vec<(usize, bool)>) {
    let mut children = Vec::new();
    let mut parent = None;
    if rank >= root {
        let up = Binomial::new(rank - root, size - root);
        parent = up.parent.map(|node| root + node);
        children.extend(up.children.iter().map(|&(node, _)| (root + node, false)));
    }
    if rank <= root {
        let down = Binomial::new(root - rank, root + 1);
        parent = parent.or(down.parent.map(|node| root - node));
        children.extend(down.children.iter().map(|&(node, _)| (root - node, true)));
    }
    (parent, children)
}

fn binomial(builder: &mut Builder, root: usize, operand: &Operand, result: Option<*mut u8>) {
    let (parent, children) = parent_and_children(builder.rank(), root, builder.size());
    if let (Some(parent), Some(send)) = (parent, operand.send)
        && children.is_empty()
    {
        builder.send(parent, 0, operand.whole(send));
        return;
    }
    let home = result.unwrap_or_else(|| builder.scratch(operand.count, &operand.element));
    let mut pair = VectorPair::new(builder, operand, home);
    // Vectors available for a receive, each with the reduction that must have read it before.
    let mut free: Vec<(*mut u8, Mark)> = vec![(pair.spare, None)];
    if children.len() > 1 {
        free.push((builder.scratch(operand.count, &operand.element), None));
    }
    let mut last: Mark = None;
    for (child, is_lower) in children {
        let (vector, available) = free.remove(0);
        let received = builder.receive(child, 0, operand.whole(vector));
        builder.after(received, available);
        let in_place = is_lower || operand.reducer.is_commutative();
        let (input, inout) = if in_place { (vector, pair.current) } else { (pair.current, vector) };
        let combined = builder.reduce(input, inout, 0..operand.count, &operand.element);
        builder.after(combined, received);
        builder.after(combined, last);
        last = combined;
        free.push((input, combined));
        pair.current = inout;
    }
    builder.phase();
    match (parent, result) {
        (Some(parent), _) => {
            builder.send(parent, 0, operand.whole(pair.current));
        }
        (None, Some(result)) => {
            builder.copy(operand.whole(pair.current), operand.whole(result));
        }
        (None, None) => {}
    }
}

fn rabenseifner(builder: &mut Builder, root: usize, operand: &Operand, result: Option<*mut u8>) {
    let fold = Fold::new(builder.size());
    let rank = builder.rank();
    let home = result.unwrap_or_else(|| builder.scratch(operand.count, &operand.element));
    let mut pair = VectorPair::new(builder, operand, home);
    // The rank that collects: the root, or its neighbour if the root is inactive.
    let collector = if fold.number(root).is_some() { root } else { root + 1 };
    if let Some(number) = pair.fold(builder, operand, fold) {
        let starts = even_parts(operand.count, fold.power);
        let halved = halve(builder, operand, &mut pair, fold, number, &starts);
        let target = result.unwrap_or(pair.current);
        let last = elements(&starts, &halved.mine);
        builder.copy(operand.piece(pair.current, &last), operand.piece(target, &last));
        builder.phase();
        let aim = fold.number(collector).expect("the collector goes on");
        collect(builder, operand, fold, (number, aim), halved, &starts, target);
        if rank == collector && collector != root {
            builder.send(root, 3, operand.whole(target));
        }
    } else if let Some(result) = result {
        builder.receive(collector, 3, operand.whole(result));
    }
}

/// Undoes the halving towards the number `aim`: at each level, the half that does not contain `aim`
/// sends its part to its partner.
fn collect(
    builder: &mut Builder,
    operand: &Operand,
    fold: Fold,
    (number, aim): (usize, usize),
    halved: Halved,
    starts: &[i64],
    vector: *mut u8,
) {
    let mut mine = halved.mine;
    for (level, (partner, given)) in halved.given.into_iter().enumerate().rev() {
        let rank = fold.rank(partner);
        if (number ^ aim) >> level & 1 == 1 {
            builder.send(rank, 2, operand.piece(vector, &elements(starts, &mine)));
            return;
        }
        builder.receive(rank, 2, operand.piece(vector, &elements(starts, &given)));
        builder.phase();
        mine = mine.start.min(given.start)..mine.end.max(given.end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_of_every_root_is_in_order() {
        for size in 1..20 {
            for root in 0..size {
                // interval[rank]: the ranks that its partial result represents.
                fn interval(rank: usize, root: usize, size: usize) -> (usize, usize) {
                    let (mut low, mut high) = (rank, rank);
                    for (child, is_lower) in parent_and_children(rank, root, size).1 {
                        assert_eq!(parent_and_children(child, root, size).0, Some(rank));
                        let below = interval(child, root, size);
                        if is_lower {
                            assert_eq!(below.1 + 1, low);
                            low = below.0;
                        } else {
                            assert_eq!(below.0, high + 1);
                            high = below.1;
                        }
                    }
                    (low, high)
                }
                assert_eq!(interval(root, root, size), (0, size - 1));
            }
        }
    }
}
