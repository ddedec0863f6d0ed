//! A reduce_scatter whose leaves have relays: these fold the stripes of leaves too.

use super::striped::CHUNK;
use super::{Ready, SEGMENTS, StripeFold};
use crate::builder::Builder;
use crate::operand::Operand;
use crate::relays::LONG;

/// Gives rank p the elements from `starts[p]` to `starts[p + 1]` of the fold of all vectors, in the
/// same elements of `into`. The vector of MPI_IN_PLACE is at `own`.
///
/// Where each rank has a host, the stripe of a leaf is folded by its relay
/// ([`Relays`](crate::placement_costs::Relays)): the vector of a leaf crosses its link once, and so
/// does the result. Between two hosts, less would cross it otherwise; a relay of several leaves
/// would need memory for the stripes of each. The order of the operands is the same.
pub(crate) fn fold_stripes(
    builder: &mut Builder,
    operand: &Operand,
    (own, into): (*mut u8, *mut u8),
    starts: &[i64],
) {
    let placement = builder.team.placement.clone();
    let is_relayed = builder.size() > 2
        && placement.hosts() == builder.size()
        && placement.has_leaves()
        && placement.relays().most_leaves() == 1
        && operand.bytes() >= LONG;
    let ready = Ready::default();
    if !is_relayed {
        StripeFold::new(operand, own, into, &ready).append(builder, starts, 0);
        return;
    }
    let (rank, element) = (builder.rank(), &operand.element);
    let all = |rank: usize| starts[rank]..starts[rank + 1];
    // The vector is sent in several phases.
    let result = match operand.send {
        Some(_) => into,
        None => {
            element.at(builder.scratch(all(rank).end - all(rank).start, element), -starts[rank])
        }
    };
    let apart = Operand { send: operand.send.or(Some(own)), ..operand.clone() };
    let (ready, turn) = fold_for_leaves(builder, &apart, result, starts);
    let of_others = |rank: usize| match placement.relays().relay(rank) == rank {
        true => all(rank),
        false => starts[rank]..starts[rank],
    };
    StripeFold::new(&apart, own, result, &ready).append_some(builder, &of_others, turn);
    if result != into {
        builder.phase();
        builder.copy(operand.piece(result, &all(rank)), operand.piece(into, &all(rank)));
    }
}

/// Gives leaves their elements: their relays, of one leaf each, fold them, chunk by chunk, and pass
/// on each. Returns when a leaf may send the rest of its vector, so that results come back
/// meanwhile, and the next turn.
fn fold_for_leaves(
    builder: &mut Builder,
    operand: &Operand,
    result: *mut u8,
    starts: &[i64],
) -> (Ready, usize) {
    let (rank, placement) = (builder.rank(), builder.team.placement.clone());
    let (relays, element) = (placement.relays(), &operand.element);
    let leaf_of = |relay: usize| relays.leaves_of(relay).first().copied();
    let length = |leaf: usize| starts[leaf + 1] - starts[leaf];
    let longest = (0..builder.size()).filter_map(leaf_of).map(length).max().unwrap_or(0);
    let most = (CHUNK / element.size.max(1)).max(longest / SEGMENTS + 1);
    let sum = match leaf_of(rank) {
        Some(leaf) => {
            let memory = builder.scratch(length(leaf), element);
            element.at(memory, -starts[leaf])
        }
        None => std::ptr::dangling_mut(),
    };
    let at_once = Ready::default();
    let mut folding = StripeFold::new(operand, sum, sum, &at_once);
    let (mut ready, mut sent, mut turn) = (Ready::default(), Vec::new(), 0);
    for first in (0..longest).step_by(most as usize) {
        let chunk = |leaf: usize| {
            let [start, end] =
                [first, first + most].map(|at| starts[leaf + 1].min(starts[leaf] + at));
            start..end
        };
        let of_leaf = |relay: usize| leaf_of(relay).map_or(0..0, chunk);
        let marks = folding.append_some(builder, &of_leaf, turn);
        sent.extend(marks.sent);
        let relay = relays.relay(rank);
        if let Some(leaf) = leaf_of(rank) {
            let passed = builder.send(leaf, turn, operand.piece(sum, &chunk(leaf)));
            builder.after(passed, marks.folded);
        } else if relay != rank {
            builder.receive(relay, turn, operand.piece(result, &chunk(rank)));
        }
        turn += 1;
    }
    if relays.relay(rank) != rank {
        let all = builder.join(sent);
        ready.push(starts[starts.len() - 1], all);
    }
    (ready, turn)
}
