//! Intercommunicator functions (MPI 5.0, section 7.6).

use std::sync::Arc;

use towpath_base::ids::{ContextId, JobId, PeerIndex, Plane, ProcessId};
use towpath_neutral::abi::Handle;
use towpath_neutral::error::{Result, fail};

use super::intercomm::{self, is_low};
use super::point_to_point::check_tag;
use super::splits::{insert, no_intercomm};
use super::{groups, internal};
use crate::objects::comm::{Comm, Remote};
use crate::objects::group::Group;
use crate::objects::registry;
use crate::process;

/// MPI_Comm_test_inter.
pub fn comm_test_inter(comm: Handle) -> Result<bool> {
    Ok(registry::comm(comm)?.is_inter())
}

fn remote_group(comm: Handle) -> Result<Arc<Group>> {
    match &registry::comm(comm)?.remote {
        Some(remote) => Ok(remote.group.clone()),
        None => fail!(ERR_COMM, "argument comm is an intracommunicator; only an intercommunicator has a remote group"),
    }
}

/// MPI_Comm_remote_size.
pub fn comm_remote_size(comm: Handle) -> Result<i32> {
    Ok(remote_group(comm)?.size() as i32)
}

/// MPI_Comm_remote_group.
pub fn comm_remote_group(comm: Handle) -> Result<Handle> {
    groups::insert(remote_group(comm)?)
}

/// Number of words by which a message identifies a process.
const NAME_WORDS: usize = 3;

/// The identifier of a process, which other processes know by another index, as words.
fn words_of(peer: PeerIndex) -> [u64; NAME_WORDS] {
    let ProcessId { job, rank } = process::id_of(peer).expect("the members of a group are peers");
    [(job.0 >> 64) as u64, job.0 as u64, u64::from(rank)]
}

/// The process that these words identify.
fn process_of([high, low, rank]: [u64; NAME_WORDS]) -> ProcessId {
    ProcessId { job: JobId(u128::from(high) << 64 | u128::from(low)), rank: rank as u32 }
}

/// The members of a group from their identifiers.
fn members_of(words: &[u64]) -> Result<Vec<PeerIndex>> {
    let (names, _) = words.as_chunks::<NAME_WORDS>();
    let peer = |&name: &[u64; NAME_WORDS]| match process::peer_of(process_of(name)) {
        Some(peer) => Ok(peer),
        None => fail!(ERR_COMM, "the other group has a process of a job that is not connected to this one"),
    };
    names.iter().map(peer).collect()
}

/// The words that the leader obtains for its group: the context of the intercommunicator, the
/// identifiers of the members of the other group, and the context of its own group.
fn agree(local: &Comm, peer_comm: Handle, remote_leader: i32, tag: i32) -> Result<Vec<u64>> {
    let peers = registry::comm(peer_comm)?;
    check_tag(tag)?;
    let Some(remote) = peers.target(remote_leader, "remote_leader")? else {
        fail!(ERR_RANK, "argument remote_leader is MPI_PROC_NULL; pass a rank of peer_comm");
    };
    let common = registry::new_context();
    let mut mine = vec![common.0];
    mine.extend(local.group.peers.iter().flat_map(|&peer| words_of(peer)));
    let mut words = internal::exchange(remote, peers.context().on(Plane::Internal), tag, &mine)?;
    let &[theirs, high, low, rank, ..] = &words[..] else {
        fail!(ERR_OTHER, "the remote leader sent no group; does it call MPI_Intercomm_create too?");
    };
    let is_low = process::id_of(local.group.peers[0]) < Some(process_of([high, low, rank]));
    words[0] = if is_low { common.0 } else { theirs };
    words.push(registry::new_context().0);
    Ok(words)
}

/// MPI_Intercomm_create: the leaders exchange groups and contexts over `peer_comm`, then broadcast
/// them to their groups.
pub fn intercomm_create(
    local_comm: Handle,
    local_leader: i32,
    peer_comm: Handle,
    remote_leader: i32,
    tag: i32,
) -> Result<Handle> {
    let local = registry::comm(local_comm)?;
    no_intercomm(&local, "MPI_Intercomm_create")?;
    let Some(leader) = usize::try_from(local_leader).ok().filter(|&leader| leader < local.group.size()) else {
        fail!(
            ERR_RANK,
            "argument local_leader is {local_leader}, but local_comm has ranks 0 to {}",
            local.group.size() - 1
        );
    };
    let (team, sequence) = internal::team_of(&local);
    let mine = (local.rank == leader).then(|| agree(&local, peer_comm, remote_leader, tag));
    let mut words = intercomm::spread(&team, sequence, leader, mine)?;
    let local_context = ContextId(words.pop().expect("the leader sent it"));
    let members = members_of(&words[1..])?;
    if let Some(&both) = members.iter().find(|&&peer| local.group.rank_of(peer).is_some()) {
        fail!(
            ERR_COMM,
            "{} is in both groups; the groups of an intercommunicator must be disjoint",
            process::name_of(both)
        );
    }
    let remote = Remote::new(Arc::new(Group::new(members, process::me())), local_context);
    insert(Comm::new(ContextId(words[0]), local.group.clone(), Some(remote), local.errhandler()))
}

/// MPI_Intercomm_merge: the group that passes `high = false` comes first; if both pass the same
/// value, the group whose first process has the lower identifier.
pub fn intercomm_merge(intercomm: Handle, high: bool) -> Result<Handle> {
    let comm = registry::comm(intercomm)?;
    let Some(remote) = &comm.remote else {
        fail!(ERR_COMM, "argument intercomm is an intracommunicator; pass an intercommunicator");
    };
    let (team, sequence) = internal::team_of(&comm);
    let mut mine = [registry::new_context().0, u64::from(high)];
    internal::broadcast(&team, sequence, 0, &mut mine)?;
    let theirs = intercomm::trade(&comm, &mine)?;
    let &[theirs_proposed, theirs_high] = &theirs[..] else {
        fail!(
            ERR_OTHER,
            "the other group sent {} words instead of 2; does it call MPI_Intercomm_merge too?",
            theirs.len()
        );
    };
    let first = if mine[1] == theirs_high { is_low(&comm) } else { mine[1] == 0 };
    let (context, low, high) =
        if first { (mine[0], &comm.group, &remote.group) } else { (theirs_proposed, &remote.group, &comm.group) };
    let members = low.peers.iter().chain(high.peers.iter()).copied().collect();
    insert(Comm::new(ContextId(context), Arc::new(Group::new(members, process::me())), None, comm.errhandler()))
}
