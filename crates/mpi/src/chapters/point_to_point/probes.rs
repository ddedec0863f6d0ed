//! Probes and matched receives (MPI 5.0, section 3.8).

use std::ffi::c_void;
use std::sync::Arc;

use towpath_base::ids::{ContextId, PeerIndex};
use towpath_engine::Envelope;
use towpath_neutral::abi::{Handle, Status};
use towpath_neutral::constants::*;
use towpath_neutral::error::{Completed, Error, Result, fail};

use super::{Asked, completed, elements, envelope};
use crate::objects::comm::Comm;
use crate::objects::message::Matched;
use crate::objects::registry::{self, OBJECTS};
use crate::process;
use crate::progress;
use crate::progress::request_table::{COMPLETE_RECEIVE, FROM_NOBODY, RequestWork};
use crate::progress::state::State;
use crate::progress::wait_target::WaitTarget;

fn status_of(found: &Envelope) -> Status {
    Status { source: found.source_rank as i32, tag: found.tag, error: 0, bytes: found.bytes as i64, cancelled: false }
}

/// The result of a probe so far: the message; an error if the probe waits for a lost process, which
/// sends nothing more; otherwise `None`.
fn found<T>(state: &mut State, from: Option<PeerIndex>, context: ContextId, message: Option<T>) -> Option<Result<T>> {
    if let Some(message) = message {
        return Some(Ok(message));
    }
    let lost = state.engine.probes_in_vain(from, context)?;
    Some(Err(Error::new(ERR_PROC_ABORTED, process::reason_of_loss(lost))))
}

/// Looks up and checks the context and the envelope that a probe asks for.
#[inline(always)]
fn probed(source: i32, tag: i32, comm: Handle) -> Result<(ContextId, Asked)> {
    // SAFETY: the reference is not used after this function returns, and the worker is used only
    // then.
    let comm = unsafe { registry::borrow_comm(comm) }?;
    Ok((comm.context(), envelope(source, tag, comm)?))
}

/// MPI_Iprobe.
pub fn iprobe(source: i32, tag: i32, comm: Handle) -> Result<(bool, Status)> {
    let (context, Asked { peer, tag, nobody }) = probed(source, tag, comm)?;
    if nobody {
        return Ok((true, FROM_NOBODY));
    }
    let worker = progress::worker()?;
    let found = worker.look_twice(|| {
        worker.with(|state| {
            let message = state.engine.iprobe(peer, context, tag);
            found(state, peer, context, message)
        })
    });
    match found {
        Some(found) => Ok((true, status_of(&found?))),
        None => Ok((false, Status::EMPTY)),
    }
}

/// MPI_Probe.
pub fn probe(source: i32, tag: i32, comm: Handle) -> Result<Status> {
    let (context, Asked { peer, tag, nobody }) = probed(source, tag, comm)?;
    if nobody {
        return Ok(FROM_NOBODY);
    }
    let target = |_: &State| WaitTarget::Probe(context, peer, tag);
    let found = progress::worker()?.wait_for(target, |state| {
        let message = state.engine.iprobe(peer, context, tag);
        found(state, peer, context, message)
    });
    Ok(status_of(&found?))
}

/// The result of a matched probe so far: the handle and status of the message that it took out.
fn found_and_taken(
    state: &mut State,
    from: Option<PeerIndex>,
    tag: Option<i32>,
    comm: &Arc<Comm>,
) -> Option<Result<(Handle, Status)>> {
    let there = state.engine.iprobe(from, comm.context(), tag);
    let there = found(state, from, comm.context(), there)?;
    Some(there.and_then(|_| take_out(state, from, tag, comm)))
}

/// Takes out a message that a probe has found. If there is no room for a handle, the message stays
/// in the queue.
fn take_out(
    state: &mut State,
    from: Option<PeerIndex>,
    tag: Option<i32>,
    comm: &Arc<Comm>,
) -> Result<(Handle, Status)> {
    let Some(entry) = OBJECTS.messages.reserve() else {
        fail!(ERR_NO_MEM, "too many matched messages wait to be received; receive some");
    };
    let taken = state.engine.improbe(from, comm.context(), tag);
    let (message, envelope) = taken.expect("the probe has just found it");
    Ok((OBJECTS.messages.fill(entry, Arc::new(Matched { message, comm: comm.clone() })), status_of(&envelope)))
}

/// MPI_Improbe.
pub fn improbe(source: i32, tag: i32, comm: Handle) -> Result<(bool, Handle, Status)> {
    // SAFETY: the reference is used for the first attempt only. `poll_for_test` may call functions
    // of the program, so `object` is cloned before it.
    let object = unsafe { registry::borrow_comm(comm) }?;
    let Asked { peer, tag, nobody } = envelope(source, tag, object)?;
    if nobody {
        return Ok((true, MESSAGE_NO_PROC, FROM_NOBODY));
    }
    let worker = progress::worker()?;
    let look = |object: &Arc<Comm>| worker.with(|state| found_and_taken(state, peer, tag, object));
    let found = look(object).or_else(|| {
        let object = object.clone();
        worker.poll_for_test();
        look(&object)
    });
    match found {
        Some(found) => found.map(|(message, status)| (true, message, status)),
        None => Ok((false, MESSAGE_NULL, Status::EMPTY)),
    }
}

/// MPI_Mprobe.
pub fn mprobe(source: i32, tag: i32, comm: Handle) -> Result<(Handle, Status)> {
    let comm = registry::comm(comm)?;
    let Asked { peer, tag, nobody } = envelope(source, tag, &comm)?;
    if nobody {
        return Ok((MESSAGE_NO_PROC, FROM_NOBODY));
    }
    let target = |_: &State| WaitTarget::Probe(comm.context(), peer, tag);
    progress::worker()?.wait_for(target, |state| found_and_taken(state, peer, tag, &comm))
}

fn take(message: &mut Handle) -> Result<Arc<Matched>> {
    match OBJECTS.messages.remove(*message) {
        Some(found) => {
            *message = MESSAGE_NULL;
            Ok(found)
        }
        None if *message == MESSAGE_NULL => {
            fail!(ERR_REQUEST, "argument message is MPI_MESSAGE_NULL; probe for a message first")
        }
        None => fail!(ERR_REQUEST, "argument message ({}) is no message, or was received already", message),
    }
}

/// MPI_Mrecv.
///
/// # Safety
/// `buf` must have room for `count` elements of `datatype`.
pub unsafe fn mrecv(buf: *mut c_void, count: i64, datatype: Handle, message: &mut Handle) -> Completed<Status> {
    // SAFETY: `buf` has room for `count` elements until this call returns (its contract), after the
    // receive is complete. The datatype is not used after the receive is started.
    let (elements, _) = unsafe { elements(buf, count, datatype) }?;
    if *message == MESSAGE_NO_PROC {
        *message = MESSAGE_NULL;
        return Ok(FROM_NOBODY);
    }
    let found = take(message)?;
    let worker = progress::worker()?;
    let id = worker.with(|state| elements.imrecv(&mut state.engine, found.message));
    worker.nudge();
    let target = |_: &State| WaitTarget::Message(found.comm.context(), id);
    let completion = worker.wait_for(target, |state| state.engine.take(id));
    completed(found.comm.handle(), &completion)
}

/// MPI_Imrecv.
///
/// # Safety
/// `buf` must have room for `count` elements of `datatype`, and nothing else may access them until
/// the request is complete.
pub unsafe fn imrecv(buf: *mut c_void, count: i64, datatype: Handle, message: &mut Handle) -> Result<Handle> {
    // SAFETY: `buf` has room for `count` elements until the request is complete (this function's
    // contract). The datatype is not used after the receive is started.
    let (elements, _) = unsafe { elements(buf, count, datatype) }?;
    if *message == MESSAGE_NO_PROC {
        *message = MESSAGE_NULL;
        return Ok(COMPLETE_RECEIVE);
    }
    let worker = progress::worker()?;
    let request = worker.with(|state| {
        let entry = state.requests.reserve()?;
        let found = match take(message) {
            Ok(found) => found,
            Err(error) => {
                state.requests.give_back(entry);
                return Err(error);
            }
        };
        let id = elements.imrecv(&mut state.engine, found.message);
        Ok(state.requests.fill(entry, RequestWork::Receive(id), found.comm.handle(), None))
    });
    worker.nudge();
    request
}
