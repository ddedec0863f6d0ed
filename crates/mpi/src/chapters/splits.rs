//! Splitting a communicator by colors (MPI 5.0, section 7.4.2), and functions that all constructors
//! of communicators share.

use std::sync::Arc;

use towpath_base::ids::{ContextId, PeerIndex};
use towpath_neutral::abi::Handle;
use towpath_neutral::constants::UNDEFINED;
use towpath_neutral::error::{Result, fail};

use super::internal;
use crate::objects::comm::{Comm, take_closed};
use crate::objects::group::Group;
use crate::objects::registry::{self, OBJECTS};
use crate::process;
use crate::progress;
use crate::progress::worker::Worker;

/// Stores a communicator in the handle table and sets its handle.
pub(crate) fn insert(comm: Comm) -> Result<Handle> {
    let comm = Arc::new(comm);
    let Some(handle) = OBJECTS.comms.insert(comm.clone()) else {
        fail!(ERR_NO_MEM, "too many communicators exist; free some");
    };
    comm.set_handle(handle);
    close_contexts(progress::worker()?);
    Ok(handle)
}

/// Tells the engine about contexts of dropped communicators.
pub(crate) fn close_contexts(worker: &Worker) {
    let contexts = take_closed();
    if !contexts.is_empty() {
        worker.with(|state| contexts.into_iter().for_each(|context| state.engine.close_context(context)));
    }
}

/// Fails for an intercommunicator, which `what` does not accept.
pub(crate) fn no_intercomm(comm: &Comm, what: &str) -> Result<()> {
    if comm.is_inter() {
        fail!(
            ERR_COMM,
            "the communicator is an intercommunicator; \
             {what} needs an intracommunicator"
        );
    }
    Ok(())
}

/// The arguments that one process passes to a split, and the contexts that it proposes.
pub(crate) struct SplitChoice {
    pub(crate) color: i32,
    pub(crate) key: i32,
    pub(crate) context: ContextId,
    pub(crate) local_context: ContextId,
    pub(crate) peer: PeerIndex,
}

impl SplitChoice {
    /// Words of an encoded choice.
    pub(crate) const WORDS: usize = 3;

    /// Encodes the choice of this process, with newly proposed contexts.
    pub(crate) fn words(color: i32, key: i32) -> [u64; SplitChoice::WORDS] {
        let first = u64::from(color as u32) << 32 | u64::from(key as u32);
        [first, registry::new_context().0, registry::new_context().0]
    }

    /// Decodes the choices of a group, by rank.
    pub(crate) fn read(words: &[u64], peers: &[PeerIndex]) -> Vec<SplitChoice> {
        let choice = |(words, &peer): (&[u64], &PeerIndex)| SplitChoice {
            color: (words[0] >> 32) as i32,
            key: words[0] as i32,
            context: ContextId(words[1]),
            local_context: ContextId(words[2]),
            peer,
        };
        words.chunks(SplitChoice::WORDS).zip(peers).map(choice).collect()
    }
}

/// The members with a color, ordered by key, then by rank.
pub(crate) fn of_color(choices: &[SplitChoice], color: i32) -> Vec<&SplitChoice> {
    let mut members: Vec<&SplitChoice> = choices.iter().filter(|choice| choice.color == color).collect();
    members.sort_by_key(|choice| choice.key);
    members
}

/// Splits an intracommunicator with one allgather.
pub(crate) fn split(parent: &Comm, color: i32, key: i32) -> Result<Option<(Arc<Group>, ContextId)>> {
    Ok(part_of_mine(parent, &choices(parent, color, key)?))
}

/// Gathers the choices of all processes of an intracommunicator, by rank.
pub(crate) fn choices(parent: &Comm, color: i32, key: i32) -> Result<Vec<SplitChoice>> {
    let (team, sequence) = internal::team_of(parent);
    let words = internal::gather_everywhere(&team, sequence, &SplitChoice::words(color, key))?;
    Ok(SplitChoice::read(&words, &parent.group.peers))
}

/// Group and context of the processes that chose the same color as this one; `None` for
/// MPI_UNDEFINED.
pub(crate) fn part_of_mine(parent: &Comm, choices: &[SplitChoice]) -> Option<(Arc<Group>, ContextId)> {
    let color = choices[parent.rank].color;
    if color == UNDEFINED {
        return None;
    }
    let members = of_color(choices, color);
    let context = members[0].context;
    let group = Group::new(members.iter().map(|member| member.peer).collect(), process::me());
    Some((Arc::new(group), context))
}
