//! MPI_ALLTOALL, MPI_ALLTOALLV and MPI_ALLTOALLW (6.8): Bruck's algorithm for tiny equal blocks,
//! all messages at once for medium sizes or few ranks, pairwise exchange for large blocks; through
//! one rank, where few hosts share cores.
//!
//! With MPI_IN_PLACE, short blocks are first packed into memory of the plan; the rest is an
//! ordinary exchange. Long blocks are swapped by pairs of ranks in turn, with memory for two of
//! them.

use crate::buffers::{Blocks, Element, Piece};
use crate::builder::Builder;
use crate::hierarchy::movement::pieces_of;
use crate::plan::{Plan, PlanError};
use crate::select::{Algorithm, Collective, Size};
use crate::{Call, hierarchy};

/// Number of exchanges that the pairwise algorithm keeps in flight.
pub(crate) const PAIRS: usize = 4;

/// Blocks up to this length are packed before an exchange in place.
const LONGEST_PACKED: i64 = 32 << 10;
/// Number of pairs that swap blocks at the same time, and of blocks in memory of the plan.
const SWAPS: usize = 2;

/// Arguments of an alltoall.
#[derive(Clone, Debug)]
pub struct Alltoall {
    /// The block for each rank; `None` if they are in `receive` (MPI_IN_PLACE).
    pub send: Option<Blocks>,
    /// Destination of the block from each rank.
    pub receive: Blocks,
}

/// Builds a plan that gives every rank its block from every rank, for all three forms.
pub fn alltoall(call: &Call, arguments: &Alltoall) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(call.team);
    let receive = &arguments.receive;
    let (collective, bytes) = match receive {
        Blocks::Equal { .. } => (Collective::Alltoall, receive.bytes(0)),
        // These sizes differ between ranks, so the choice must not depend on them.
        _ => (Collective::Alltoallv, 0),
    };
    let size = Size::of_team(call.team, bytes);
    let fits = match receive.is_equal() {
        true => hierarchy::movement::holds_alltoall(call.team, bytes),
        false => hierarchy::varying::is_worth_it(call.team),
    };
    let algorithm = match call.selection.choose(collective, size) {
        Algorithm::Hierarchical if !fits => call.selection.choose(collective, size.flat()),
        algorithm => algorithm,
    };
    if algorithm == Algorithm::Hierarchical && !receive.is_equal() {
        hierarchy::varying::alltoall(&mut builder, arguments);
        return builder.finish();
    }
    // Ranks do not know each other's longest block. A rank that swaps while others post all of its
    // messages (`linear`) delays them only; while others exchange in an order of their own, they
    // wait for each other in circles.
    let may_swap = match algorithm {
        Algorithm::Hierarchical | Algorithm::Bruck | Algorithm::GatherScatter => false,
        Algorithm::Pairwise => receive.is_equal(),
        _ => true,
    };
    let packed;
    let send = match &arguments.send {
        Some(send) => send,
        None if may_swap && longest(builder.size(), receive) > LONGEST_PACKED => {
            let swap_of = |rank| match receive.bytes(rank) {
                0 => Swap::default(),
                _ => Swap { sends: true, receives: true },
            };
            let swaps: Vec<Swap> = (0..builder.size()).map(swap_of).collect();
            swap(&mut builder, receive, 0, &swaps);
            return builder.finish();
        }
        None => {
            packed = pack(&mut builder, receive);
            &packed
        }
    };
    match algorithm {
        Algorithm::Hierarchical => hierarchy::movement::alltoall(&mut builder, send, receive),
        Algorithm::Bruck => bruck(&mut builder, send, receive),
        Algorithm::GatherScatter => gather_scatter(&mut builder, send, receive),
        Algorithm::Pairwise => pairwise(&mut builder, send, receive),
        _ => linear(&mut builder, send, receive),
    }
    builder.finish()
}

/// Bytes of the longest block.
fn longest(ranks: usize, blocks: &Blocks) -> i64 {
    (0..ranks).map(|rank| blocks.bytes(rank)).max().unwrap_or(0)
}

/// What a rank exchanges with another one in place.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Swap {
    pub(crate) sends: bool,
    pub(crate) receives: bool,
}

/// In step s, ranks r and s - r (modulo their number) swap their blocks, so both ranks of a pair
/// come to each other at the same step, and the pair of the lowest step waits for nobody. What a
/// rank receives from another one, that one sends.
///
/// One rank of a pair receives in memory of the plan. The other one sends its block first and then
/// receives in its place, which saves a copy; half of the pairs of each rank are such. A pair alone
/// has nothing else to do meanwhile, so both copy.
pub(crate) fn swap(builder: &mut Builder, blocks: &Blocks, turn: usize, swaps: &[Swap]) {
    let (rank, size) = (builder.rank(), builder.size());
    let partners = (0..size).map(|step| (step + size - rank) % size);
    let is_partner =
        |&other: &usize| other != rank && (swaps[other].sends || swaps[other].receives);
    let partners: Vec<usize> = partners.filter(is_partner).collect();
    let length = partners.iter().map(|&partner| blocks.bytes(partner)).max().unwrap_or(0);
    let places = SWAPS.min(partners.len()).max(1);
    // One piece, which the allocator keeps: fresh pages would take longer than the copies.
    let memory = builder.bytes(length.saturating_mul(places as i64));
    let mut ends = [None; SWAPS];
    for (index, partner) in partners.into_iter().enumerate() {
        let end = &mut ends[index % places];
        let (block, Swap { sends, receives }) = (blocks.piece(partner), swaps[partner]);
        let sends_first = (rank < partner) == (rank + partner).is_multiple_of(2);
        let is_direct = !receives || (size > 2 && sends_first);
        let arriving = match is_direct {
            true => block.clone(),
            false => {
                let first = length.wrapping_mul((index % places) as i64);
                Piece::range(memory, first, block.bytes())
            }
        };
        let send = sends.then(|| builder.send(partner, turn, block.clone())).flatten();
        let receive =
            receives.then(|| builder.receive_always(partner, turn, arriving.clone())).flatten();
        builder.after(send, *end);
        builder.after(receive, if is_direct { send.or(*end) } else { *end });
        let copy = if receives { builder.copy(arriving, block) } else { None };
        builder.after(copy, receive);
        builder.after(copy, send);
        *end = copy.or(receive).or(send).or(*end);
    }
}

/// Copies all blocks into memory of the plan.
fn pack(builder: &mut Builder, blocks: &Blocks) -> Blocks {
    let size = builder.size();
    let counts: Box<[i64]> = (0..size).map(|rank| blocks.bytes(rank)).collect();
    let mut total = 0i64;
    let mut displacements = vec![0; size].into_boxed_slice();
    for rank in 0..size {
        displacements[rank] = total;
        total = total.saturating_add(counts[rank]);
    }
    let (pointer, element) = (builder.bytes(total), Element::dense(1));
    let packed = match blocks.is_equal() {
        true => Blocks::Equal { pointer, count: counts[0], element },
        false => Blocks::Varying { pointer, counts, displacements, element },
    };
    for rank in 0..size {
        builder.copy(blocks.piece(rank), packed.piece(rank));
    }
    builder.phase();
    packed
}

fn linear(builder: &mut Builder, send: &Blocks, receive: &Blocks) {
    let (rank, size) = (builder.rank(), builder.size());
    builder.copy(send.piece(rank), receive.piece(rank));
    for step in 1..size {
        let from = (rank + size - step) % size;
        builder.receive(from, 0, receive.piece(from));
    }
    for step in 1..size {
        let to = (rank + step) % size;
        builder.send(to, 0, send.piece(to));
    }
}

/// One rank collects all blocks for others and sends each rank those for it.
fn gather_scatter(builder: &mut Builder, send: &Blocks, receive: &Blocks) {
    let (rank, size, root) = (builder.rank(), builder.size(), builder.team.placement.relay());
    let others = |rank: usize| (0..size).filter(move |&other| other != rank);
    let blocks: Vec<usize> = others(rank).collect();
    let outgoing = pieces_of(builder, send, &blocks);
    let incoming = pieces_of(builder, receive, &blocks);
    builder.copy(send.piece(rank), receive.piece(rank));
    if rank != root {
        builder.send(root, 0, outgoing);
        builder.receive(root, 0, incoming);
        return;
    }
    let bytes = send.bytes(0);
    let pointer = builder.bytes(bytes.saturating_mul((size * size) as i64));
    // By sender, and then by receiver.
    let held = Blocks::Equal { pointer, count: bytes, element: Element::dense(1) };
    for from in 0..size {
        let row: Vec<usize> = others(from).map(|to| from * size + to).collect();
        let row = pieces_of(builder, &held, &row);
        match from == root {
            true => builder.copy(outgoing.clone(), row),
            false => builder.receive(from, 0, row),
        };
    }
    builder.phase();
    for to in 0..size {
        let column: Vec<usize> = others(to).map(|from| from * size + to).collect();
        let column = pieces_of(builder, &held, &column);
        match to == root {
            true => builder.copy(column, incoming.clone()),
            false => builder.send(to, 0, column),
        };
    }
}

fn pairwise(builder: &mut Builder, send: &Blocks, receive: &Blocks) {
    let (rank, size) = (builder.rank(), builder.size());
    builder.copy(send.piece(rank), receive.piece(rank));
    for step in 1..size {
        let (to, from) = ((rank + step) % size, (rank + size - step) % size);
        builder.receive(from, 0, receive.piece(from));
        builder.send(to, 0, send.piece(to));
        if step % PAIRS == 0 {
            builder.phase();
        }
    }
}

/// In round k, every block whose distance has bit k moves to the rank 2^k above, together with
/// blocks in transit. Blocks are indexed by the distance from their sender to their receiver.
fn bruck(builder: &mut Builder, send: &Blocks, receive: &Blocks) {
    let (rank, size) = (builder.rank(), builder.size());
    let bytes = send.bytes(0);
    let total = bytes.saturating_mul(size as i64);
    let (held, outgoing, incoming) =
        (builder.bytes(total), builder.bytes(total), builder.bytes(total));
    let block = |row: *mut u8, index: usize, number: usize| {
        Piece::range(row, bytes * index as i64, bytes * number as i64)
    };
    builder.copy(send.piece(rank), receive.piece(rank));
    for distance in 1..size {
        builder.copy(send.piece((rank + distance) % size), block(held, distance, 1));
    }
    builder.phase();
    let mut hop = 1;
    let mut turn = 0;
    while hop < size {
        let moving: Vec<usize> = (1..size).filter(|distance| distance & hop != 0).collect();
        for (slot, &distance) in moving.iter().enumerate() {
            builder.copy(block(held, distance, 1), block(outgoing, slot, 1));
        }
        builder.phase();
        builder.send((rank + hop) % size, turn, block(outgoing, 0, moving.len()));
        builder.receive((rank + size - hop) % size, turn, block(incoming, 0, moving.len()));
        builder.phase();
        for (slot, &distance) in moving.iter().enumerate() {
            builder.copy(block(incoming, slot, 1), block(held, distance, 1));
        }
        builder.phase();
        hop *= 2;
        turn += 1;
    }
    for distance in 1..size {
        builder.copy(block(held, distance, 1), receive.piece((rank + size - distance) % size));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use towpath_base::ids::{ContextId, PeerIndex};

    use super::*;
    use crate::{Placement, Selection, Team};

    #[test]
    fn ranks_of_a_host_take_turns_where_leaders_cannot_hold_the_blocks() {
        let placement = Arc::new(Placement::new((0..80).map(|rank| rank / 16)));
        let peers = (0..80).map(PeerIndex).collect();
        let team = Team { context: ContextId::new(1, 1), rank: 0, peers, placement };
        let blocks = |bytes: i64| {
            let (pointer, element) = (std::ptr::dangling_mut(), Element::dense(1));
            Blocks::Equal { pointer, count: bytes, element }
        };
        let at_once = |bytes| {
            let arguments = Alltoall { send: Some(blocks(bytes)), receive: blocks(bytes) };
            let call = Call { team: &team, selection: &Selection::default() };
            alltoall(&call, &arguments).expect("a plan").edges.is_empty()
        };
        assert!(!hierarchy::movement::holds_alltoall(&team, 32 << 10));
        assert!(at_once(16 << 10) && !at_once(32 << 10));
    }
}
