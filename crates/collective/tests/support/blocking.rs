//! Blocking calls on a board.

use std::sync::OnceLock;
use std::time::Instant;

use towpath_collective::board::{
    BoardOffer, BoardOutcome, Member, QueueOwner, TeamBoard, WaitLoop,
};
use towpath_collective::{Call, CollectiveRun, Failure, Operation};

use super::failure::LONG;
use super::support::{Caller, Counted};

/// Waits, and looks for members in other calls from time to time.
pub(crate) struct Watchful;

impl Member for Watchful {
    fn out_of_step(&mut self, member: usize) -> ! {
        panic!("member {member} is in another call")
    }

    fn progress(&mut self) {}
}

impl WaitLoop for Watchful {
    fn wait(&mut self, ready: &mut dyn FnMut(bool) -> bool) {
        let mut looked = Instant::now();
        while !ready(false) {
            std::thread::yield_now();
            if looked.elapsed() > LONG {
                looked = Instant::now();
                if ready(true) {
                    return;
                }
            }
        }
    }
}

/// The board of a team, with its areas. Member 0 makes it, and says in `told` where it is.
pub(crate) fn join(
    caller: &Caller,
    counted: &mut Counted,
    told: &OnceLock<BoardOffer>,
) -> TeamBoard {
    let mut board = if caller.team.rank == 0 {
        let offer = caller.offer(counted, None);
        let board = caller.join(counted, offer);
        assert!(board.provide_areas());
        told.set(offer).expect("there is one board");
        board
    } else {
        caller.join(counted, *told.wait())
    };
    board.areas = Some(true);
    board
}

/// Calls on a board. If blocks are sent apart, returns the messages that are left to do, else how
/// the call has ended.
///
/// # Safety
/// The memory of the operation must live until the messages are over.
pub(crate) unsafe fn call(
    board: &mut TeamBoard,
    caller: &Caller,
    operation: &Operation,
) -> Result<CollectiveRun<Caller>, Option<Failure>> {
    // SAFETY: the memory of the operation lives for as long (this function's contract).
    let outcome = unsafe { board.execute(operation, (0, 0), &mut Watchful) };
    if board.sends_apart(operation, outcome) {
        let call = Call { team: &caller.team, selection: &caller.selection };
        // SAFETY: as above.
        let run = unsafe { board.messages_apart(operation, outcome, &call, None) };
        return Ok(run.unwrap().into());
    }
    Err(match outcome {
        BoardOutcome::Complete => None,
        BoardOutcome::Truncated => Some(Failure::Truncated),
        BoardOutcome::OutOfStep => Some(board.mismatch()),
    })
}
