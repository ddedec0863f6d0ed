//! The board of a communicator. It is made when the first blocking collective can use one; a call
//! waits on it in the worker's loop.
//!
//! Member 0 makes the board and broadcasts its location in the segment by messages. All members
//! take these steps in the same calls, because all make the same decisions.

use towpath_base::ids::Plane;
use towpath_base::sync::Ordering;
use towpath_collective::board::{self, BoardLimits, Need, WaitLoop};
use towpath_collective::select::Subscription;
use towpath_collective::{Operation, Selection};
use towpath_neutral::constants::ERR_TRUNCATE;
use towpath_neutral::error::{Error, Result};

use crate::chapters::internal::{broadcast, synchronize};
use crate::objects::coll_state::BoardState;
use crate::objects::comm::{CallForm, Comm};
use crate::process::{self, ending};
use crate::progress;
use crate::progress::worker::Worker;

/// Calls between two rounds of progress. A rank whose partners always arrive first never waits, but
/// must make progress on its messages all the same (3.5).
const CALLS_PER_POLL: u32 = 8;

/// True if the communicator has a board.
pub(crate) fn has_one(comm: &Comm) -> bool {
    matches!(*comm.board.lock().unwrap(), BoardState::Made { .. })
}

/// Executes a call over the board of its communicator; `None` if it must run by messages.
///
/// # Safety
/// The memory that the operation names must be as the standard requires for the buffers of the
/// call.
pub(crate) unsafe fn try_execute(comm: &Comm, operation: &Operation, selection: &Selection) -> Option<Result<()>> {
    let size = comm.group.peers.len();
    if size == 1 {
        // A barrier of one rank waits for nobody.
        return matches!(operation, Operation::Barrier).then_some(Ok(()));
    }
    let mut state = comm.board.lock().unwrap();
    if let BoardState::Unknown = *state {
        // Do not make a board for a call that would not use one, whether or not ranks share cores.
        BoardLimits::new(selection, size, Subscription::Full).need(operation)?;
        match establish(comm, selection) {
            Ok(made) => *state = made,
            Err(error) => return Some(Err(error)),
        }
    }
    let BoardState::Made { board, limits, areas, calls } = &mut *state else { return None };
    if limits.need(operation)? == Need::Areas {
        if areas.is_none() {
            match agree(comm, u64::from(board.own() == 0 && board.provide_areas())) {
                Ok(provided) => *areas = Some(provided != 0),
                Err(error) => return Some(Err(error)),
            }
        }
        if *areas == Some(false) {
            return None;
        }
    }
    let mut waiter = match LineWait::new(comm) {
        Ok(waiting) => waiting,
        Err(error) => return Some(Err(error)),
    };
    *calls = calls.wrapping_add(1);
    if calls.is_multiple_of(CALLS_PER_POLL) {
        waiter.worker.poll_in_passing();
    }
    // SAFETY: the memory that the operation names is as the standard requires for the buffers of
    // the call (this function's contract).
    let complete = unsafe { board::execute(operation, board, limits, *calls, &mut waiter) };
    Some(if complete { Ok(()) } else { Err(truncated(comm)) })
}

#[cold]
fn truncated(comm: &Comm) -> Error {
    let mut sentence = towpath_collective::Failure::Truncated.to_string();
    let own = process::last_call_of(process::me());
    let calls = comm.group.peers.iter().map(|&peer| process::last_call_of(peer));
    let other = calls.enumerate().find_map(|(rank, call)| call.filter(|_| call != own).map(|call| (rank, call)));
    if let Some((rank, call)) = other {
        // That rank may have moved on in the meantime, so this is only a hint.
        let communicator = comm.in_words();
        sentence.push_str(&format!(
            ", or they are in different calls: rank {rank} of {communicator} has called {call} last"
        ));
    }
    Error::new(ERR_TRUNCATE, sentence)
}

/// Broadcasts a number from member 0.
fn agree(comm: &Comm, said: u64) -> Result<u64> {
    let mut words = [said];
    broadcast(&comm.team(Plane::Collective), comm.next_sequence(CallForm::Blocking), 0, &mut words)?;
    Ok(words[0])
}

/// Flags that member 0 broadcasts with the location of a board: the board exists; ranks share
/// cores; the latter is uncertain, because not all ranks have announced their affinity.
const MADE: u64 = 1;
const OVERSUBSCRIBED: u64 = 2;
const UNCERTAIN: u64 = 4;
const LOCATION_SHIFT: u32 = 3;

#[cold]
fn establish(comm: &Comm, selection: &Selection) -> Result<BoardState> {
    let (process, worker) = (process::this()?, progress::worker()?);
    let peers = &comm.group.peers;
    let head = process.segment.head();
    let ranks = head.local_ranks.load(Ordering::Relaxed);
    let mut said = 0;
    if comm.rank == 0
        && let Some(location) = worker.with(|state| state.engine.wire_mut().make_board(peers))
    {
        // A rank that starts later may add cores, so only "oversubscribed" can be wrong.
        let certain = head.affinities.load(Ordering::Relaxed) >= ranks;
        said = match (process.ranks_share_cores(), certain) {
            (false, _) => MADE,
            (true, true) => MADE | OVERSUBSCRIBED,
            (true, false) => MADE | OVERSUBSCRIBED | UNCERTAIN,
        };
        said |= (location as u64) << LOCATION_SHIFT;
    }
    let mut said = agree(comm, said)?;
    if said & MADE == 0 {
        return Ok(BoardState::Missing);
    }
    let location = (said >> LOCATION_SHIFT) as usize;
    if said & UNCERTAIN != 0 {
        // After this barrier all members have announced their affinity. Member 0 decides, because
        // the quota may change.
        synchronize(&comm.team(Plane::Collective), comm.next_sequence(CallForm::Blocking))?;
        said = agree(comm, if process.ranks_share_cores() { OVERSUBSCRIBED } else { 0 })?;
    }
    let subscription = if said & OVERSUBSCRIBED == 0 { Subscription::Full } else { Subscription::Over };
    let board = worker.with(|state| state.engine.wire().join_board(location, peers, comm.rank));
    let limits = BoardLimits::new(selection, peers.len(), subscription);
    Ok(BoardState::Made { board: Box::new(board), limits, areas: None, calls: 0 })
}

/// Waits for a line in the worker's loop.
struct LineWait<'a> {
    worker: &'static Worker,
    comm: &'a Comm,
}

impl LineWait<'_> {
    fn new(comm: &Comm) -> Result<LineWait<'_>> {
        Ok(LineWait { worker: progress::worker()?, comm })
    }
}

impl WaitLoop for LineWait<'_> {
    fn out_of_step(&mut self, member: usize) -> ! {
        let calls = [process::last_call_of(process::me()), process::last_call_of(self.comm.group.peers[member])];
        ending::end_job(1, &in_other_calls(member, &self.comm.in_words(), calls))
    }

    fn wait(&mut self, ready: &mut dyn FnMut() -> bool) {
        self.worker.wait_for_line(self.comm.context(), ready);
    }

    fn progress(&mut self) {
        self.worker.poll_for_test();
    }
}

/// The error message about a member that is in a different collective call. It names the last
/// calls of the two ranks if they differ.
fn in_other_calls(member: usize, comm: &str, calls: [Option<&str>; 2]) -> String {
    let rule = "the ranks have not called the same collective functions in the same order";
    match calls {
        [Some(own), Some(other)] if own != other => {
            let mut sentence = format!("rank {member} of {comm} has called {other}, this rank {own}: {rule}");
            if own == "MPI_Finalize" || other == "MPI_Finalize" {
                sentence.push_str("; call MPI_Finalize only after all other MPI calls");
            } else {
                let earlier = ", or counts, datatypes and roots of an earlier call did not match";
                sentence.push_str(earlier);
            }
            sentence
        }
        _ => format!(
            "rank {member} of {comm} is in another collective call than this rank: {rule} \
             with matching counts, datatypes and roots"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::in_other_calls;

    #[test]
    fn the_sentence_names_the_calls_that_differ() {
        let early = in_other_calls(1, "MPI_COMM_WORLD", [Some("MPI_Finalize"), Some("MPI_Bcast")]);
        assert!(
            early.starts_with("rank 1 of MPI_COMM_WORLD has called MPI_Bcast, this rank MPI_Finalize: "),
            "{early}"
        );
        assert!(early.contains("call MPI_Finalize only") && !early.contains("counts"), "{early}");
        let other = in_other_calls(1, "x", [Some("MPI_Bcast"), Some("MPI_Reduce")]);
        assert!(other.contains("of an earlier call") && !other.contains("Finalize"), "{other}");
        for same in [[Some("MPI_Bcast"), Some("MPI_Bcast")], [None, Some("MPI_Bcast")]] {
            assert!(in_other_calls(1, "x", same).contains("with matching counts"));
        }
    }
}
