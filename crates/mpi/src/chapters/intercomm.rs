//! Agreement between the two sides of an intercommunicator: the leaders exchange words, and each
//! broadcasts the result to its group.

use std::sync::Arc;

use towpath_base::ids::Plane;
use towpath_neutral::abi::Handle;
use towpath_neutral::constants::*;
use towpath_neutral::error::{Error, Result};

use super::internal;
use super::splits::{SplitChoice, insert, of_color};
use crate::objects::comm::{Comm, Remote};
use crate::objects::group::Group;
use crate::process;

/// Tag of the leaders' messages on the internal plane.
const LEADERS: i32 = 0;

/// True if this side's proposals are used: the side whose first process has the lower identifier.
/// Both sides must come to the same decision.
pub(crate) fn is_low(comm: &Comm) -> bool {
    let remote = comm.remote.as_ref().expect("an intercommunicator");
    process::id_of(comm.group.peers[0]) < process::id_of(remote.group.peers[0])
}

/// Gives every process of one side the words of the other side's rank 0; `mine` is read on rank 0
/// only.
pub(crate) fn trade(comm: &Comm, mine: &[u64]) -> Result<Vec<u64>> {
    let remote = comm.remote.as_ref().expect("an intercommunicator");
    let (team, sequence) = internal::team_of(comm);
    let context = comm.context().on(Plane::Internal);
    let theirs = (comm.rank == 0).then(|| internal::exchange(remote.group.peers[0], context, LEADERS, mine));
    spread(&team, sequence, 0, theirs)
}

/// Broadcasts the words of the leader; only the leader knows how many there are. If the leader has
/// failed, every process fails, because the group must not wait for a leader that has given up.
/// `mine` is the leader's outcome, and `None` on all other processes.
pub(crate) fn spread(
    team: &towpath_collective::Team,
    sequence: u64,
    leader: usize,
    mine: Option<Result<Vec<u64>>>,
) -> Result<Vec<u64>> {
    let (mut words, failure) = match mine {
        None => (Vec::new(), None),
        Some(Ok(words)) => (words, None),
        Some(Err(error)) => (vec![error.class() as u64], Some(error)),
    };
    let mut length = [words.len() as u64];
    internal::broadcast(team, sequence, leader, &mut length)?;
    words.resize(length[0] as usize, 0);
    // Messages between two processes do not overtake each other, so the second broadcast of the
    // same call may use the same tag.
    internal::broadcast(team, sequence, leader, &mut words)?;
    failure.map_or_else(|| heard(words), Err)
}

/// Interprets the words of a leader: a single word is the class of its error, since a success has
/// at least two words.
fn heard(words: Vec<u64>) -> Result<Vec<u64>> {
    match words[..] {
        [class] => {
            Err(Error::new(class as i32, "the leader of this group could not agree with that of the other group"))
        }
        _ => Ok(words),
    }
}

/// MPI_Comm_split of an intercommunicator: a color that is used on one side only yields
/// MPI_COMM_NULL.
pub(crate) fn split(comm: &Arc<Comm>, color: i32, key: i32) -> Result<Handle> {
    let remote = comm.remote.as_ref().expect("an intercommunicator");
    let (team, sequence) = internal::team_of(comm);
    let mine = internal::gather_everywhere(&team, sequence, &SplitChoice::words(color, key))?;
    let theirs = trade(comm, &mine)?;
    if color == UNDEFINED {
        return Ok(COMM_NULL);
    }
    let (ours, others) = (SplitChoice::read(&mine, &comm.group.peers), SplitChoice::read(&theirs, &remote.group.peers));
    let (ours, others) = (of_color(&ours, color), of_color(&others, color));
    if others.is_empty() {
        return Ok(COMM_NULL);
    }
    let context = if is_low(comm) { ours[0].context } else { others[0].context };
    let group = |members: &[&SplitChoice]| {
        Arc::new(Group::new(members.iter().map(|member| member.peer).collect(), process::me()))
    };
    let remote = Remote::new(group(&others), ours[0].local_context);
    insert(Comm::new(context, group(&ours), Some(remote), comm.errhandler()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word_is_the_leaders_error() {
        assert_eq!(heard(vec![ERR_PROC_ABORTED as u64]).unwrap_err().class(), ERR_PROC_ABORTED);
        assert_eq!(heard(vec![7, 0]).unwrap(), [7, 0]);
    }
}
