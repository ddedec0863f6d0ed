//! The board of a communicator. It is made when the first blocking collective can use one; a call
//! waits on it in the worker's loop.
//!
//! Member 0 makes the board and broadcasts its location in the segment by messages. All members
//! take these steps in the same calls, because all make the same decisions.

use towpath_base::ids::Plane;
use towpath_base::sync::Ordering;
use towpath_collective::board::{
    BoardLimits, BoardOffer, BoardOutcome, BoardState, Member, Need, TeamBoard, WaitLoop, number_of,
};
use towpath_collective::numbers::{CallForm, sequence};
use towpath_collective::runs::CALLS_PER_POLL;
use towpath_collective::select::Subscription;
use towpath_collective::{Call, CallSignature, Failure, Operation, Run, Selection, failure, perform_alone};
use towpath_neutral::constants::ERR_TRUNCATE;
use towpath_neutral::error::{Error, Result};

use crate::chapters::internal::{broadcast_plan, complete, plan_failed, recover, synchronize};
use crate::objects::comm::Comm;
use crate::process::{self, ending};
use crate::progress;
use crate::progress::board_calls::{join, look_again, offer};
use crate::progress::runs::failed;
use crate::progress::worker::Worker;

/// True if the communicator has a board.
pub(crate) fn has_one(comm: &Comm) -> bool {
    matches!(*comm.board.lock().unwrap(), BoardState::Made(_))
}

/// Executes a call over the board of its communicator, or the call of one rank without any; false
/// if it must run by messages. It has this mark if it is a part of another call, else 0.
///
/// # Safety
/// The memory that the operation names must be as the standard requires for the buffers of the
/// call.
#[inline(always)]
pub(super) unsafe fn try_execute(mark: u16, comm: &Comm, operation: &Operation, selection: &Selection) -> Result<bool> {
    let size = comm.group.peers.len();
    if size == 1 {
        // A barrier of one rank waits for nobody.
        if !matches!(operation, Operation::Barrier) {
            // SAFETY: the memory that the operation names is as the standard requires for the
            // buffers of the call (this function's contract).
            unsafe { perform_alone(operation, &mut std::thread::yield_now) };
        }
        return Ok(true);
    }
    let mut state = comm.board.lock().unwrap();
    let Some(board) = found(&mut state, comm, operation, selection)? else { return Ok(false) };
    let need = board.need(operation);
    if need == Some(Need::Areas) && board.areas.is_none() {
        board.areas = Some(agree(comm, u64::from(board.provide_areas()), operation, Some(board))? != 0);
    }
    if need.is_none() || need == Some(Need::Areas) && board.areas == Some(false) {
        return Ok(false);
    }
    let mut waiter = LineWait { worker: progress::worker()?, comm, failure: None };
    if board.calls().is_multiple_of(CALLS_PER_POLL) {
        waiter.worker.poll_in_passing();
    }
    let by_messages = comm.calls_by_messages(CallForm::Blocking);
    comm.on_board.store(board.calls() + 1, Ordering::Relaxed);
    // SAFETY: the memory that the operation names is as the standard requires for the buffers of
    // the call (this function's contract).
    let outcome = unsafe { board.execute(operation, (mark, by_messages), &mut waiter) };
    let failure = if board.sends_apart(operation, outcome) {
        let team = comm.team(Plane::Collective);
        // SAFETY: as above; this waits for the messages.
        let run = unsafe { board.messages_apart(operation, outcome, &Call { team: &team, selection }, None) };
        recover(run.map_err(plan_failed)?.into(), team.context)?.1
    } else {
        match outcome {
            BoardOutcome::Complete => None,
            BoardOutcome::Truncated => return Err(truncated(comm)),
            BoardOutcome::OutOfStep => Some(waiter.failure.unwrap_or_else(|| board.mismatch())),
        }
    };
    let Some(failure) = failure else { return Ok(true) };
    if outcome == BoardOutcome::OutOfStep || failure.is_out_of_step() {
        *state = BoardState::Missing;
    }
    Err(failed(failure))
}

/// The board of a communicator of several ranks; `None` if it has none. It is made for the first
/// call that can use it.
fn found<'a>(
    state: &'a mut BoardState,
    comm: &Comm,
    operation: &Operation,
    selection: &Selection,
) -> Result<Option<&'a mut TeamBoard>> {
    if let BoardState::Unknown = *state {
        // Do not make a board for a call that would not use one, whether or not ranks share cores.
        let limits = BoardLimits::new(selection, comm.group.peers.len(), Subscription::Full);
        if limits.need(operation).is_none() {
            return Ok(None);
        }
        *state = establish(comm, selection, operation)?;
    }
    match state {
        BoardState::Made(board) => Ok(Some(board)),
        _ => Ok(None),
    }
}

/// Whether the call could use the board of several ranks, and if so, whether they must tell each
/// other before where their vectors are. All get the same answer.
pub(super) fn must_ask_for_site(comm: &Comm, operation: &Operation, selection: &Selection) -> Result<Option<bool>> {
    if comm.group.peers.len() == 1 {
        return Ok(None);
    }
    let mut state = comm.board.lock().unwrap();
    let board = found(&mut state, comm, operation, selection)?.filter(|board| board.serves(operation));
    Ok(board.map(|board| board.must_ask_for_site(operation)))
}

/// Lets a call by messages compare itself with those on the board, or on that of this host, if
/// there is one.
pub(super) fn attend(comm: &Comm, run: &mut Run) {
    let form = CallForm::Blocking;
    let before = comm.calls_by_messages(form) - 1;
    match &*comm.board.lock().unwrap() {
        BoardState::Made(board) => run.compare_with(board.notices().clone(), before + board.calls()),
        _ => comm.queue(form).lock().unwrap().attend(run, number_of(sequence(form, before), 0)),
    }
}

#[cold]
fn truncated(comm: &Comm) -> Error {
    let own = process::last_call_of(process::me());
    let calls = comm.group.peers.iter().map(|&peer| process::last_call_of(peer));
    let other = calls.enumerate().find_map(|(rank, call)| call.filter(|_| call != own).map(|call| (rank, call)));
    Error::new(ERR_TRUNCATE, failure::truncated(&comm.in_words(), other))
}

/// Broadcasts a number from member 0 about the board of an operation. If there is a board already,
/// another member may be on it in another call.
fn agree(comm: &Comm, said: u64, operation: &Operation, board: Option<&TeamBoard>) -> Result<u64> {
    let mut words = [said];
    let mut plan = broadcast_plan(&comm.team(Plane::Collective), 0, &mut words)?;
    plan.signature = CallSignature::of(operation).about_board();
    let (context, before) = (plan.context, comm.calls_by_messages(CallForm::Blocking));
    // SAFETY: the plan names only `words`, which live during the call.
    let mut run = Box::new(unsafe { Run::start(plan, comm.next_sequence(CallForm::Blocking)) });
    if let Some(board) = board {
        run.compare_with(board.notices().clone(), before + board.calls());
    }
    complete(run.into(), context)?;
    Ok(words[0])
}

#[cold]
fn establish(comm: &Comm, selection: &Selection, operation: &Operation) -> Result<BoardState> {
    let (process, worker) = (process::this()?, progress::worker()?);
    let team = comm.team(Plane::Collective);
    let offer = worker.with(|state| offer(&team, process, state.engine.wire_mut(), None));
    let mut offer = BoardOffer::from_word(agree(comm, offer.word(), operation, None)?);
    if !offer.is_made() {
        return Ok(BoardState::Missing);
    }
    if offer.is_uncertain() {
        synchronize(&team, comm.next_sequence(CallForm::Blocking))?;
        offer = BoardOffer::from_word(agree(comm, look_again(process, offer).word(), operation, None)?);
    }
    let board = worker.with(|state| join(&team, selection, state.engine.wire(), offer));
    Ok(BoardState::Made(Box::new(board)))
}

/// Waits for a line in the worker's loop.
struct LineWait<'a> {
    worker: &'static Worker,
    comm: &'a Comm,
    /// Why the call has ended in a wait.
    failure: Option<Failure>,
}

impl Member for LineWait<'_> {
    fn out_of_step(&mut self, member: usize) -> ! {
        let calls = [process::last_call_of(process::me()), process::last_call_of(self.comm.group.peers[member])];
        ending::end_job(1, &failure::in_other_calls(member, &self.comm.in_words(), calls))
    }

    fn progress(&mut self) {
        self.worker.poll_for_test();
    }
}

impl WaitLoop for LineWait<'_> {
    fn wait(&mut self, ready: &mut dyn FnMut(bool) -> bool) {
        self.failure = self.worker.wait_for_line(self.comm.context(), ready);
    }
}
