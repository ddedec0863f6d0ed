//! Which calls of a team use its board.

use towpath_engine::board::{Board, INLINE};
use towpath_schedule::Operation;
use towpath_schedule::gather::Gather;
use towpath_schedule::scatter::Scatter;
use towpath_schedule::select::{COLLECTIVES, Collective, Selection, Size, Subscription};

use super::records::Records;

/// The parts of a board that a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Lines only: all messages are short.
    Lines,
    /// Lines and areas.
    Areas,
}

/// Largest message with a block for each rank when not oversubscribed. Longer ones use messages,
/// which move larger pieces.
const LARGEST_IN_BLOCKS: i64 = 512 << 10;
/// Maximum number of rounds of a message with a block for each rank.
const ROUNDS: i64 = 64;

/// The calls of a team that use its board: the decisions of [`Selection`], looked up once.
#[derive(Clone, Copy, Debug)]
pub struct BoardLimits {
    ranks: usize,
    /// Whether the ranks are oversubscribed.
    pub(super) subscription: Subscription,
    /// Largest message that has a block for each rank.
    in_blocks: i64,
    /// Maximum bytes for which each collective uses the board; -1 if it never does.
    bytes: [i64; COLLECTIVES.len()],
}

impl BoardLimits {
    /// The limits of a team of `ranks` ranks.
    pub fn new(selection: &Selection, ranks: usize, subscription: Subscription) -> BoardLimits {
        let size = Size::of(ranks, 0).on_board(subscription);
        let limit = |collective| selection.limit_of_board(collective, size).unwrap_or(-1);
        let mut bytes = [-1; COLLECTIVES.len()];
        for &(_, collective) in COLLECTIVES {
            bytes[collective as usize] = limit(collective);
        }
        let largest = Board::largest_of(ranks);
        if !Records::fit(ranks, largest) {
            bytes[Collective::Scatterv as usize] = -1;
        }
        // A round moves at least a byte of each block.
        let in_blocks = if ranks > largest { 0 } else { ROUNDS * largest as i64 };
        let in_blocks = if subscription == Subscription::Full {
            in_blocks.min(LARGEST_IN_BLOCKS)
        } else {
            in_blocks
        };
        BoardLimits { ranks, subscription, in_blocks, bytes }
    }

    /// The parts of the board that the call needs; `None` if it should not use the board. All ranks
    /// get the same answer.
    pub fn need(&self, operation: &Operation) -> Option<Need> {
        let (collective, bytes, message) = sizes(operation, self.ranks)?;
        if bytes > self.bytes[collective as usize] {
            return None;
        }
        if message <= INLINE as i64 {
            return Some(Need::Lines);
        }
        let in_blocks = matches!(collective, Collective::Scatter | Collective::Alltoall);
        (!in_blocks || message <= self.in_blocks).then_some(Need::Areas)
    }
}

/// Bytes of the longest message of a rank in a call that uses a board, as far as this rank knows.
pub(super) fn longest_message(operation: &Operation, ranks: usize) -> usize {
    let (blocks, bytes) = match operation {
        Operation::Gatherv(Gather { receive: Some(blocks), .. }) => {
            (1, blocks.longest_bytes(ranks))
        }
        Operation::Gatherv(Gather { send: Some(block), .. }) => (1, block.bytes()),
        Operation::Scatterv(Scatter { send: Some(blocks), .. }) => {
            (ranks, blocks.total_bytes(ranks))
        }
        Operation::Scatterv(Scatter { receive: Some(block), .. }) => {
            (ranks, block.bytes().saturating_mul(ranks as i64))
        }
        _ => (0, sizes(operation, ranks).map_or(0, |(_, _, message)| message)),
    };
    bytes.saturating_add(Records::alone(blocks)).try_into().unwrap_or(usize::MAX)
}

/// The collective, the bytes by which its algorithm is chosen, and the longest message of a rank;
/// `None` if the call cannot use a board.
fn sizes(operation: &Operation, size: usize) -> Option<(Collective, i64, i64)> {
    let ranks = size as i64;
    Some(match operation {
        Operation::Barrier => (Collective::Barrier, 0, 0),
        Operation::Bcast { data, .. } => (Collective::Bcast, data.bytes(), data.bytes()),
        Operation::Gather(arguments) => {
            let bytes = arguments.bytes();
            (Collective::Gather, bytes, bytes)
        }
        Operation::Scatter(arguments) => {
            let bytes = arguments.bytes();
            (Collective::Scatter, bytes, bytes.saturating_mul(ranks))
        }
        // How long the messages of others are only they know.
        Operation::Gatherv(_) => (Collective::Gatherv, 0, i64::MAX),
        Operation::Scatterv(_) => (Collective::Scatterv, 0, i64::MAX),
        Operation::Allgather(arguments) => {
            let receive = &arguments.receive;
            (arguments.collective(), receive.total_bytes(size), receive.longest_bytes(size))
        }
        Operation::Alltoall(arguments) if arguments.receive.is_equal() => {
            let bytes = arguments.receive.bytes(0);
            (Collective::Alltoall, bytes, bytes.saturating_mul(ranks))
        }
        Operation::Reduce { operand, .. } if operand.is_plain() => {
            (Collective::Reduce, operand.bytes(), operand.bytes())
        }
        Operation::Allreduce { operand, .. } if operand.is_plain() => {
            (Collective::Allreduce, operand.bytes(), operand.bytes())
        }
        Operation::ReduceScatter { operand, .. } if operand.is_plain() => {
            (Collective::ReduceScatter, operand.bytes(), operand.bytes())
        }
        Operation::Scan { operand, .. } if operand.is_plain() => {
            (Collective::Scan, operand.bytes(), operand.bytes())
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use towpath_schedule::{Blocks, Buffer, Element};

    use super::*;

    #[test]
    fn a_block_for_each_of_very_many_ranks_does_not_fit_on_a_board() {
        let pointer = std::ptr::dangling_mut();
        let block = Buffer { pointer, count: 1, element: Element::dense(1) };
        let blocks = Blocks::Equal { pointer, count: 1, element: Element::dense(1) };
        let arguments = Scatter { root: 0, send: Some(blocks), receive: Some(block) };
        let scatter = Operation::Scatter(arguments);
        for subscription in [Subscription::Full, Subscription::Over] {
            let need =
                |ranks| BoardLimits::new(&Selection::default(), ranks, subscription).need(&scatter);
            assert_eq!((need(48), need(49)), (Some(Need::Lines), Some(Need::Areas)));
            assert_eq!((need(2048), need(2049)), (Some(Need::Areas), None));
        }
    }

    #[test]
    fn a_board_without_room_for_a_record_of_each_rank_serves_no_scatterv() {
        let (root, send, receive) = (0, None, None);
        let scatterv = Operation::Scatterv(Scatter { root, send, receive });
        let (send, receive) = (None, None);
        let gatherv = Operation::Gatherv(Gather { root, send, receive });
        for subscription in [Subscription::Full, Subscription::Over] {
            let need = |ranks, operation| {
                BoardLimits::new(&Selection::default(), ranks, subscription).need(operation)
            };
            assert_eq!((need(512, &scatterv), need(513, &scatterv)), (Some(Need::Areas), None));
            // A message has the record of one rank only.
            assert_eq!(need(513, &gatherv), Some(Need::Areas));
        }
    }
}
