//! Communicator functions (MPI 5.0, section 7.4).
//!
//! Rank 0 of a new group proposes a context and distributes it to the members; there is no
//! agreement protocol.

use std::sync::Arc;

use towpath_base::ids::{ContextId, Plane};
use towpath_collective::Run;
use towpath_collective::numbers::CallForm;
use towpath_neutral::abi::{Handle, StringArgument};
use towpath_neutral::constants::*;
use towpath_neutral::error::{Result, fail};
use towpath_neutral::info::Pairs;

use super::collectives::multicast;
use super::point_to_point::check_tag;
use super::proposals::Proposals;
use super::splits::{choices, close_contexts, insert, no_intercomm, part_of_mine, split};
use super::topologies::declaration::forget_ended;
use super::{groups, hardware, hints, info, intercomm, internal};
use crate::objects::comm::{Comm, Remote};
use crate::objects::group::{Group, Relation};
use crate::objects::registry::{self, OBJECTS};
use crate::process;
use crate::progress;
use crate::progress::request_table::{Extra, RequestWork};

/// MPI_Comm_size.
#[inline]
pub fn comm_size(comm: Handle) -> Result<i32> {
    // SAFETY: the reference is not used beyond this statement, and MPI forbids freeing a
    // communicator while another thread passes it to a call.
    Ok(unsafe { registry::borrow_comm(comm) }?.group.size() as i32)
}

/// MPI_Comm_rank.
#[inline]
pub fn comm_rank(comm: Handle) -> Result<i32> {
    // SAFETY: the reference is not used beyond this statement, and MPI forbids freeing a
    // communicator while another thread passes it to a call.
    Ok(unsafe { registry::borrow_comm(comm) }?.rank as i32)
}

/// MPI_Comm_compare.
pub fn comm_compare(comm1: Handle, comm2: Handle) -> Result<i32> {
    let (first, second) = (registry::comm(comm1)?, registry::comm(comm2)?);
    if Arc::ptr_eq(&first, &second) {
        return Ok(IDENT);
    }
    let remote = match (&first.remote, &second.remote) {
        (None, None) => Relation::Identical,
        (Some(a), Some(b)) => a.group.compare(&b.group),
        _ => return Ok(UNEQUAL),
    };
    Ok(match (first.group.compare(&second.group), remote) {
        (Relation::Identical, Relation::Identical) => CONGRUENT,
        (Relation::Unequal, _) | (_, Relation::Unequal) => UNEQUAL,
        _ => SIMILAR,
    })
}

/// MPI_Comm_group.
pub fn comm_group(comm: Handle) -> Result<Handle> {
    groups::insert(registry::comm(comm)?.group.clone())
}

/// A copy of `parent` with its attributes, topology and error handler, and with other hints, but
/// without contexts.
fn copy_of(parent: &Arc<Comm>, handle: Handle, given: &Pairs, form: CallForm) -> Result<Comm> {
    let attributes = parent.attributes.copied(handle)?;
    let remote = parent.remote.as_ref().map(|remote| Remote::new(remote.group.clone(), ContextId(0)));
    let copy = Comm::new(ContextId(0), parent.group.clone(), remote, parent.errhandler())
        .with_topology(parent.topology.clone())
        .with_claim(parent.claim.clone())
        .with_attributes(attributes)
        .with_links_of(parent, form);
    hints::accept(&copy, given)?;
    Ok(copy)
}

fn dup(comm: Handle, hints: &Pairs) -> Result<Handle> {
    let parent = registry::comm(comm)?;
    let mut proposals = Proposals::new();
    let plan = proposals.plan(&parent, CallForm::Blocking)?;
    // SAFETY: `proposals` is not moved or dropped before the plan has run.
    unsafe { internal::run(plan, parent.next_sequence(CallForm::Blocking)) }?;
    let copy = copy_of(&parent, comm, hints, CallForm::Blocking)?;
    copy.set_contexts(proposals.agreed(&parent));
    insert(copy)
}

/// MPI_Comm_dup.
pub fn comm_dup(comm: Handle) -> Result<Handle> {
    dup(comm, &Pairs::default())
}

/// MPI_Comm_dup_with_info.
pub fn comm_dup_with_info(comm: Handle, info: Handle) -> Result<Handle> {
    dup(comm, &info::pairs(info)?)
}

fn idup(comm: Handle, hints: &Pairs) -> Result<(Handle, Handle)> {
    let parent = registry::comm(comm)?;
    let worker = progress::worker()?;
    let entry = worker.with(|state| state.requests.reserve())?;
    let mut proposals = Box::new(Proposals::new());
    let form = CallForm::Nonblocking;
    let copy = || insert(copy_of(&parent, comm, hints, form)?);
    let made = proposals.plan(&parent, form).and_then(|plan| Ok((plan, copy()?)));
    let (plan, handle) = match made {
        Ok(made) => made,
        Err(error) => {
            worker.with(|state| state.requests.give_back(entry));
            return Err(error);
        }
    };
    let copy = registry::comm(handle)?;
    // SAFETY: the boxed proposals do not move, and the request's `finish` function keeps them alive
    // until the plan is complete.
    let run = Box::new(unsafe { Run::start(plan, parent.next_sequence(form)) });
    let finish = Box::new(move || copy.set_contexts(proposals.agreed(&parent)));
    let request = worker.with(|state| {
        let id = state.runs.add(run, &mut state.engine);
        let extra = Box::new(Extra { start: None, finish: Some(finish), keep: None });
        state.requests.fill(entry, RequestWork::Run(id), comm, Some(extra))
    });
    worker.nudge();
    Ok((handle, request))
}

/// MPI_Comm_idup: the new communicator and the request.
pub fn comm_idup(comm: Handle) -> Result<(Handle, Handle)> {
    idup(comm, &Pairs::default())
}

/// MPI_Comm_idup_with_info: the new communicator and the request.
pub fn comm_idup_with_info(comm: Handle, info: Handle) -> Result<(Handle, Handle)> {
    idup(comm, &info::pairs(info)?)
}

/// Creates a communicator of a subset that all its members know: rank 0 of the subset broadcasts
/// the context.
fn of_group(parent: &Comm, group: &Arc<Group>, plane: Plane, sequence: u64) -> Result<Handle> {
    let Some(rank) = group.rank else { return Ok(COMM_NULL) };
    let context = parent.team(plane).context;
    let team = group.team(context, rank);
    let mut word = [registry::new_context().0];
    internal::broadcast(&team, sequence, 0, &mut word)?;
    let comm = Comm::new(ContextId(word[0]), group.clone(), None, parent.errhandler());
    // Calls of MPI_Comm_create_group have no order among the calls that agree on rates.
    insert(if plane == Plane::Collective { comm.with_links_of(parent, CallForm::Blocking) } else { comm })
}

fn check_subset(group: &Group, parent: &Comm) -> Result<()> {
    match group.peers.iter().find(|&&peer| parent.group.rank_of(peer).is_none()) {
        Some(peer) => fail!(
            ERR_GROUP,
            "argument group has a process ({}) that is not in the communicator",
            process::name_of(*peer)
        ),
        None => Ok(()),
    }
}

/// MPI_Comm_create. With an intercommunicator each side passes a subset of its own group.
pub fn comm_create(comm: Handle, group: Handle) -> Result<Handle> {
    let parent = registry::comm(comm)?;
    let group = groups::lookup(group, "group")?;
    check_subset(&group, &parent)?;
    if parent.is_inter() {
        // Members of the subset all use color 0, ordered as in the group they passed.
        let color = if group.rank.is_some() { 0 } else { UNDEFINED };
        return intercomm::split(&parent, color, group.rank.unwrap_or(0) as i32);
    }
    let sequence = parent.next_sequence(CallForm::Blocking);
    of_group(&parent, &group, Plane::Collective, sequence)
}

/// MPI_Comm_create_group: called by the members of the group only; `tag` distinguishes concurrent
/// calls.
pub fn comm_create_group(comm: Handle, group: Handle, tag: i32) -> Result<Handle> {
    let parent = registry::comm(comm)?;
    no_intercomm(&parent, "MPI_Comm_create_group")?;
    check_tag(tag)?;
    let group = groups::lookup(group, "group")?;
    check_subset(&group, &parent)?;
    of_group(&parent, &group, Plane::Internal, u64::from(tag as u32))
}

/// Creates the communicator of one part of a split.
fn insert_part(parent: &Comm, part: Option<(Arc<Group>, ContextId)>) -> Result<Handle> {
    match part {
        None => Ok(COMM_NULL),
        Some((group, context)) => {
            let comm = Comm::new(context, group, None, parent.errhandler());
            insert(comm.with_links_of(parent, CallForm::Blocking))
        }
    }
}

/// MPI_Comm_split.
pub fn comm_split(comm: Handle, color: i32, key: i32) -> Result<Handle> {
    let parent = registry::comm(comm)?;
    if color < 0 && color != UNDEFINED {
        fail!(ERR_ARG, "argument color is {color}; it must not be negative (or be MPI_UNDEFINED)");
    }
    if parent.is_inter() {
        return intercomm::split(&parent, color, key);
    }
    let part = split(&parent, color, key)?;
    insert_part(&parent, part)
}

/// Placeholder color of a process that passes MPI_COMM_TYPE_HW_UNGUIDED; programs cannot pass it,
/// because it is negative.
const BY_HARDWARE: i32 = -1;
const _: () = assert!(BY_HARDWARE != UNDEFINED);

/// MPI_Comm_split_type: by host, or by the hardware below it (see `hardware`).
pub fn comm_split_type(comm: Handle, split_type: i32, key: i32, info: Handle) -> Result<Handle> {
    let given = info::pairs(info)?;
    let parent = registry::comm(comm)?;
    // Checked even if this process passes MPI_UNDEFINED. If the hosts cannot be told apart, every
    // process fails here, so none waits in the exchange for one that has failed.
    let host = process::host_among(parent.members())?;
    let color = match split_type {
        UNDEFINED => UNDEFINED,
        COMM_TYPE_SHARED => host as i32,
        COMM_TYPE_HW_GUIDED | COMM_TYPE_RESOURCE_GUIDED => hardware::guided(host, &given),
        MPIX_COMM_TYPE_NEIGHBORHOOD => hardware::neighborhood(host, &given),
        COMM_TYPE_HW_UNGUIDED => {
            no_intercomm(&parent, "MPI_COMM_TYPE_HW_UNGUIDED")?;
            BY_HARDWARE
        }
        _ => fail!(ERR_ARG, "argument split_type ({split_type}) is none of the MPI_COMM_TYPE_ constants"),
    };
    if parent.is_inter() {
        return hints::given_to(intercomm::split(&parent, color, key)?, &given);
    }
    let mut choices = choices(&parent, color, key)?;
    // A process that passed MPI_UNDEFINED learns only now what the others passed, and must take
    // part in the collective call.
    if choices.iter().any(|choice| choice.color == BY_HARDWARE) {
        let colors = hardware::unguided(&parent, host, info, color != BY_HARDWARE)?;
        let asking = choices.iter_mut().zip(colors).filter(|(choice, _)| choice.color == BY_HARDWARE);
        asking.for_each(|(choice, color)| choice.color = color);
    }
    hints::given_to(insert_part(&parent, part_of_mine(&parent, &choices))?, &given)
}

/// MPI_Comm_free. Pending operations keep the objects that they need.
pub fn comm_free(comm: &mut Handle) -> Result<()> {
    let object = registry::comm(*comm)?;
    if *comm == COMM_WORLD || *comm == COMM_SELF {
        fail!(
            ERR_COMM,
            "argument comm is {}, which cannot be freed",
            if *comm == COMM_WORLD { "MPI_COMM_WORLD" } else { "MPI_COMM_SELF" }
        );
    }
    object.attributes.delete_all(*comm)?;
    // Under the worker's lock, which users of a borrowed communicator hold.
    let removed = progress::worker()?.with(|_| OBJECTS.comms.remove(*comm));
    drop(removed);
    object.kept.lock().unwrap().clear();
    *comm = COMM_NULL;
    if let Some(buffer) = object.settings().buffer.take() {
        progress::worker()?.with(|state| buffer.leave(state))?;
    }
    multicast::forget(&object)?;
    drop(object);
    let worker = progress::worker()?;
    close_contexts(worker);
    forget_ended(worker);
    Ok(())
}

/// MPI_Comm_set_name.
pub fn comm_set_name(comm: Handle, comm_name: StringArgument) -> Result<()> {
    let object = registry::comm(comm)?;
    let name = comm_name.text("comm_name")?;
    if name.len() >= MAX_OBJECT_NAME as usize {
        fail!(ERR_ARG, "argument comm_name has {} characters; at most {} fit", name.len(), MAX_OBJECT_NAME - 1);
    }
    object.settings().name = name;
    Ok(())
}

/// MPI_Comm_get_name.
pub fn comm_get_name(comm: Handle) -> Result<String> {
    if comm == COMM_NULL {
        return Ok("MPI_COMM_NULL".to_owned());
    }
    Ok(registry::comm(comm)?.settings().name.clone())
}

/// MPI_Comm_set_info.
pub fn comm_set_info(comm: Handle, info: Handle) -> Result<()> {
    let object = registry::comm(comm)?;
    if info == INFO_NULL {
        fail!(ERR_INFO, "argument info is MPI_INFO_NULL; pass an info object");
    }
    hints::accept(&object, &info::pairs(info)?)
}

/// MPI_Comm_get_info: a new info object with the hints in effect.
pub fn comm_get_info(comm: Handle) -> Result<Handle> {
    info::insert(hints::in_effect(&*registry::comm(comm)?))
}
