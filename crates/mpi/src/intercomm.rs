//! How the two sides of an intercommunicator come to terms: their leaders exchange words, each tells its own group.

use std::sync::Arc;

use towpath_base::ids::Plane;

use crate::comm::{Comm, Remote};
use crate::communicators::{Choice, insert, of_color};
use crate::constants::*;
use crate::error::Result;
use crate::face::Handle;
use crate::group::Group;
use crate::internal;
use crate::world;

/// Tag of the leaders' messages on the internal plane.
const LEADERS: i32 = 0;

/// The two sides must decide alike which of them proposes: the one whose first process has the lower index.
pub(crate) fn is_low(comm: &Comm) -> bool {
    let remote = comm.remote.as_ref().expect("an intercommunicator");
    comm.group.peers[0] < remote.group.peers[0]
}

/// Every process of one side gets the words that the other side's rank 0 gave; `mine` counts at rank 0 only.
pub(crate) fn trade(comm: &Comm, mine: &[u64]) -> Result<Vec<u64>> {
    let remote = comm.remote.as_ref().expect("an intercommunicator");
    let (team, sequence) = internal::team_of(comm);
    let mut theirs = Vec::new();
    if comm.rank == 0 {
        theirs = internal::exchange(remote.group.peers[0], comm.context().on(Plane::Internal), LEADERS, mine)?;
    }
    spread(&team, sequence, &mut theirs, 0)?;
    Ok(theirs)
}

/// Broadcasts words whose number only the root knows.
pub(crate) fn spread(
    team: &towpath_engine::messages::Team,
    sequence: u32,
    words: &mut Vec<u64>,
    root: usize,
) -> Result<()> {
    let mut length = [words.len() as u64];
    internal::broadcast(team, sequence, root, &mut length)?;
    words.resize(length[0] as usize, 0);
    // The second message of the same call has its own turn in the order of messages, so the tag may be the same.
    internal::broadcast(team, sequence, root, words)
}

/// MPI_Comm_split of an intercommunicator: a color that only one side has gives MPI_COMM_NULL.
pub(crate) fn split(comm: &Arc<Comm>, color: i32, key: i32) -> Result<Handle> {
    let remote = comm.remote.as_ref().expect("an intercommunicator");
    let (team, sequence) = internal::team_of(comm);
    let mine = internal::gather_everywhere(&team, sequence, &Choice::words(color, key))?;
    let theirs = trade(comm, &mine)?;
    if color == UNDEFINED {
        return Ok(COMM_NULL);
    }
    let (ours, others) = (Choice::read(&mine, &comm.group.peers), Choice::read(&theirs, &remote.group.peers));
    let (ours, others) = (of_color(&ours, color), of_color(&others, color));
    if others.is_empty() {
        return Ok(COMM_NULL);
    }
    let context = if is_low(comm) { ours[0].context } else { others[0].context };
    let group =
        |members: &[&Choice]| Arc::new(Group::new(members.iter().map(|member| member.peer).collect(), world::me()));
    let remote = Remote::new(group(&others), ours[0].local_context);
    insert(Comm::new(context, group(&ours), Some(remote), comm.errhandler()))
}
