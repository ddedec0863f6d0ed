//! The board of a communicator: made when its first blocking collective can use one, and how a call
//! waits on it.
//!
//! Member 0 makes the board and tells the others its place by a broadcast of messages. All members
//! take these steps in the same calls, because all come to the same answers.

use towpath_base::ids::Plane;
use towpath_base::sync::Ordering;
use towpath_collective::board::{self, Limits, Need, Patience};
use towpath_collective::select::Crowd;
use towpath_collective::{Operation, Selection};
use towpath_engine::board::Board;

use crate::comm::{Comm, Form};
use crate::constants::ERR_TRUNCATE;
use crate::error::{Error, Result};
use crate::internal::{broadcast, synchronize};
use crate::lane::Lane;
use crate::world;

/// What a communicator knows of its board.
#[derive(Debug, Default)]
pub(crate) enum Place {
    /// No call has asked for it.
    #[default]
    Unknown,
    /// There is none: no memory, or members on several hosts.
    Missing,
    /// Made.
    Made {
        board: Box<Board>,
        /// Which calls go over it.
        limits: Limits,
        /// Whether long messages can be posted; `None` until one was to be.
        areas: Option<bool>,
        /// Calls that went over it.
        calls: u32,
    },
}

/// A rank whose partners are always there before it never waits; it must move its messages all the
/// same (3.5).
const CALLS_PER_POLL: u32 = 8;

/// Whether a communicator has a board.
pub(crate) fn has_one(comm: &Comm) -> bool {
    matches!(*comm.board.lock().unwrap(), Place::Made { .. })
}

/// Executes a call over the board of its communicator; `None` when it must be done by messages.
///
/// # Safety
/// The memory that the operation names must be as the standard asks.
pub(crate) unsafe fn try_execute(comm: &Comm, operation: &Operation, selection: &Selection) -> Option<Result<()>> {
    let size = comm.group.peers.len();
    if size == 1 {
        return None;
    }
    let mut place = comm.board.lock().unwrap();
    if let Place::Unknown = *place {
        // Crowded or not, the call would use a board.
        Limits::new(selection, size, Crowd::Fitting).need(operation)?;
        match establish(comm, selection) {
            Ok(made) => *place = made,
            Err(error) => return Some(Err(error)),
        }
    }
    let Place::Made { board, limits, areas, calls } = &mut *place else { return None };
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
    let mut patience = match Waiting::new(comm) {
        Ok(waiting) => waiting,
        Err(error) => return Some(Err(error)),
    };
    *calls = calls.wrapping_add(1);
    if calls.is_multiple_of(CALLS_PER_POLL) {
        patience.lane.poll_in_passing();
    }
    // SAFETY: promised by the caller.
    let complete = unsafe { board::execute(operation, board, limits, *calls, &mut patience) };
    Some(if complete { Ok(()) } else { Err(truncated(comm)) })
}

#[cold]
fn truncated(comm: &Comm) -> Error {
    let mut sentence = towpath_collective::Failure::Truncated.to_string();
    let own = world::last_call_of(world::me());
    let calls = comm.group.peers.iter().map(|&peer| world::last_call_of(peer));
    let other = calls.enumerate().find_map(|(rank, call)| call.filter(|_| call != own).map(|call| (rank, call)));
    if let Some((rank, call)) = other {
        // That rank may have gone on already, so this is a hint and no more.
        let place = comm.in_words();
        sentence.push_str(&format!(", or they are in different calls: rank {rank} of {place} has called {call} last"));
    }
    Error::new(ERR_TRUNCATE, sentence)
}

/// The number that member 0 says.
fn agree(comm: &Comm, said: u64) -> Result<u64> {
    let mut words = [said];
    broadcast(&comm.team(Plane::Collective), comm.next_sequence(Form::Blocking), 0, &mut words)?;
    Ok(words[0])
}

/// What member 0 says about a board, beside its place: there is one; ranks share cores; so it
/// seems, but not all ranks have said where they run.
const MADE: u64 = 1;
const CROWDED: u64 = 2;
const UNCERTAIN: u64 = 4;
const PLACE_SHIFT: u32 = 3;

#[cold]
fn establish(comm: &Comm, selection: &Selection) -> Result<Place> {
    let world = world::world()?;
    let peers = &comm.group.peers;
    let head = world.segment.head();
    let ranks = head.local_ranks.load(Ordering::Relaxed);
    let mut said = 0;
    if comm.rank == 0
        && let Some(place) = world.lane.with(|state| state.engine.wire_mut().make_board(peers))
    {
        // A rank that starts later may add cores, so only "crowded" can be wrong.
        let certain = head.affinities.load(Ordering::Relaxed) >= ranks;
        said = match (world.ranks_share_cores(), certain) {
            (false, _) => MADE,
            (true, true) => MADE | CROWDED,
            (true, false) => MADE | CROWDED | UNCERTAIN,
        };
        said |= (place as u64) << PLACE_SHIFT;
    }
    let mut said = agree(comm, said)?;
    if said & MADE == 0 {
        return Ok(Place::Missing);
    }
    let place = (said >> PLACE_SHIFT) as usize;
    if said & UNCERTAIN != 0 {
        // Whoever comes here has said where it runs. Member 0 decides, because the quota may
        // change.
        synchronize(&comm.team(Plane::Collective), comm.next_sequence(Form::Blocking))?;
        said = agree(comm, if world.ranks_share_cores() { CROWDED } else { 0 })?;
    }
    let crowd = if said & CROWDED == 0 { Crowd::Fitting } else { Crowd::Crowded };
    let board = world.lane.with(|state| state.engine.wire().join_board(place, peers, comm.rank));
    let limits = Limits::new(selection, peers.len(), crowd);
    Ok(Place::Made { board: Box::new(board), limits, areas: None, calls: 0 })
}

/// Waiting for a line in the lane's loop.
struct Waiting<'a> {
    lane: &'static Lane,
    comm: &'a Comm,
}

impl Waiting<'_> {
    fn new(comm: &Comm) -> Result<Waiting<'_>> {
        Ok(Waiting { lane: &world::world()?.lane, comm })
    }
}

impl Patience for Waiting<'_> {
    fn out_of_step(&mut self, member: usize) -> ! {
        let calls = [world::last_call_of(world::me()), world::last_call_of(self.comm.group.peers[member])];
        world::end_job(1, &in_other_calls(member, &self.comm.in_words(), calls))
    }

    fn wait(&mut self, ready: &mut dyn FnMut() -> bool) {
        self.lane.wait_for_line(self.comm.context(), ready);
    }
}

/// The sentence about a member that is in another collective call than this rank: what both have
/// called last shows why.
fn in_other_calls(member: usize, comm: &str, calls: [Option<&str>; 2]) -> String {
    let rule = "the ranks have not called the same collective functions in the same order";
    match calls {
        [Some(own), Some(other)] if own != other => {
            let mut sentence = format!("rank {member} of {comm} has called {other}, this rank {own}: {rule}");
            if own == "MPI_Finalize" || other == "MPI_Finalize" {
                sentence.push_str("; MPI_Finalize may be called when no rank calls anything else any more");
            } else {
                sentence.push_str(", or counts, datatypes and roots of an earlier call did not fit together");
            }
            sentence
        }
        _ => format!(
            "rank {member} of {comm} is in another collective call than this rank: {rule} with counts, datatypes and roots \
             that fit together"
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
        assert!(early.contains("MPI_Finalize may be") && !early.contains("counts"), "{early}");
        let other = in_other_calls(1, "x", [Some("MPI_Bcast"), Some("MPI_Reduce")]);
        assert!(other.contains("of an earlier call") && !other.contains("Finalize"), "{other}");
        for same in [[Some("MPI_Bcast"), Some("MPI_Bcast")], [None, Some("MPI_Bcast")]] {
            assert!(in_other_calls(1, "x", same).contains("with counts, datatypes and roots"));
        }
    }
}
