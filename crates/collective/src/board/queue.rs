//! The board of nonblocking or persistent calls, and the order in which they use it.

use std::sync::Arc;

use towpath_schedule::Operation;
use towpath_schedule::select::{Selection, Subscription};

use crate::run::Run;

use super::{BoardLimits, BoardNotices, BoardOutcome, Need, PendingCall, TeamBoard};

/// What is known about a board.
#[derive(Debug, Default)]
pub enum BoardState {
    /// No call has needed the board yet, or a nonblocking call is using it.
    #[default]
    Unknown,
    /// There is no board: no memory, or members on several hosts.
    Missing,
    /// The board exists.
    Made(Box<TeamBoard>),
}

/// The board of a communicator's nonblocking collectives, or of its persistent ones, or of one of
/// them, and whose turn it is.
#[derive(Debug, Default)]
pub struct BoardQueue {
    pub(super) board: BoardState,
    /// What its members tell of their calls, once it is made.
    notices: Option<Arc<BoardNotices>>,
    /// The call that is complete, to be started again with another operation.
    pub(super) spare: Option<PendingCall>,
    /// Which calls may use the board, when ranks have a core each and when they share cores;
    /// computed by the first call.
    pub(super) limits: Option<Box<[BoardLimits; 2]>>,
    /// Numbers of calls in the queue so far, and of those that are over.
    pub(super) queued: u32,
    pub(super) over: u32,
    /// True if a host of the team has devices, once all members have told each other.
    pub hosts_have_devices: Option<bool>,
    /// Number of times that persistent operations were started.
    starts: u64,
    /// Turns that have passed before they came.
    passed: Vec<u32>,
    /// True if this member has left out a call or is in another one than others, and so must not
    /// use the board any more.
    is_behind: bool,
}

impl BoardQueue {
    /// Gives the next nonblocking call of a team of `ranks` ranks on one host its turn; `None` if
    /// it must run by messages. A member may find out here what another one finds out only at its
    /// turn; the messages are the same.
    pub fn enter(
        &mut self,
        operation: &Operation,
        selection: &Selection,
        ranks: usize,
    ) -> Option<u32> {
        let limits = self.limits.get_or_insert_with(|| Box::new(limits_of(selection, ranks)));
        let uses_board = match &self.board {
            BoardState::Missing => false,
            BoardState::Made(board) => board.serves(operation),
            BoardState::Unknown => limits.iter().any(|limits| limits.need(operation).is_some()),
        };
        uses_board.then(|| self.take_turn())
    }

    /// Keeps the board that the members have agreed on.
    pub(super) fn keep(&mut self, board: BoardState) {
        if let BoardState::Made(board) = &board {
            self.notices = Some(board.notices().clone());
        }
        self.board = board;
    }

    /// Lets a call by messages compare itself with those on the board, if there is one.
    pub fn attend(&self, run: &mut Run, number: u64) {
        if let Some(notices) = &self.notices {
            run.compare_with(notices.clone(), number);
        }
    }

    /// Takes the board for a call that needs nobody's turn and no agreement; `None` if there is no
    /// such board.
    pub(super) fn take_idle_board(&mut self, operation: &Operation) -> Option<Box<TeamBoard>> {
        let BoardState::Made(board) = &self.board else { return None };
        let is_ready = match board.need(operation) {
            None => false,
            Some(Need::Lines) => true,
            Some(Need::Areas) => board.areas == Some(true) && !board.must_ask_for_site(operation),
        };
        if self.queued != self.over || !is_ready {
            return None;
        }
        match std::mem::take(&mut self.board) {
            BoardState::Made(board) => Some(board),
            _ => None,
        }
    }

    /// The number of the next start of a persistent operation.
    pub(super) fn count_start(&mut self) -> u64 {
        self.starts += 1;
        self.starts
    }

    /// Gives the next call its turn.
    pub(super) fn take_turn(&mut self) -> u32 {
        let turn = self.queued;
        self.queued = turn.wrapping_add(1);
        turn
    }

    /// Takes back the board after a call. If the members are out of step, this one uses it no more.
    pub(super) fn give_back(
        &mut self,
        board: Box<TeamBoard>,
        call: PendingCall,
        outcome: BoardOutcome,
    ) {
        self.spare = Some(call);
        self.is_behind |= outcome == BoardOutcome::OutOfStep;
        self.board = if self.is_behind { BoardState::Missing } else { BoardState::Made(board) };
    }

    /// Gives up a turn. The other members count the call all the same, so this one uses messages
    /// from now on: its lines would be taken for those of other calls.
    pub(super) fn abandon(&mut self, turn: u32) {
        self.leave();
        self.pass(turn);
    }

    /// Uses the board no more, because this member is in another call than others.
    pub(super) fn leave(&mut self) {
        (self.board, self.is_behind) = (BoardState::Missing, true);
    }

    /// Ends a turn.
    pub(super) fn pass(&mut self, turn: u32) {
        if turn != self.over {
            return self.passed.push(turn);
        }
        self.over = turn.wrapping_add(1);
        while let Some(index) = self.passed.iter().position(|&turn| turn == self.over) {
            self.passed.swap_remove(index);
            self.over = self.over.wrapping_add(1);
        }
    }
}

/// True if a persistent operation of a team of `ranks` ranks on one host may use a board.
pub fn may_use_board(operation: &Operation, selection: &Selection, ranks: usize) -> bool {
    ranks > 1 && limits_of(selection, ranks).iter().any(|limits| limits.need(operation).is_some())
}

/// Which calls may use a board, when ranks have a core each and when they share cores.
fn limits_of(selection: &Selection, ranks: usize) -> [BoardLimits; 2] {
    [Subscription::Full, Subscription::Over]
        .map(|subscription| BoardLimits::new(selection, ranks, subscription))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_that_has_passed_before_it_came_holds_up_nobody() {
        let mut queue = BoardQueue::default();
        queue.pass(2);
        queue.pass(1);
        assert_eq!(queue.over, 0);
        queue.pass(0);
        assert_eq!(queue.over, 3);
    }

    #[test]
    fn a_member_that_has_left_out_a_call_uses_the_board_no_more() {
        let (mut queue, selection) = (BoardQueue::default(), Selection::default());
        let enter = |queue: &mut BoardQueue| queue.enter(&Operation::Barrier, &selection, 2);
        assert_eq!([enter(&mut queue), enter(&mut queue)], [Some(0), Some(1)]);
        queue.abandon(1);
        assert_eq!(enter(&mut queue), None);
        queue.pass(0);
        assert_eq!(queue.over, 2);
    }
}
