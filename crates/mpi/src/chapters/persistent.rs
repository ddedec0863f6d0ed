//! Functions of persistent requests (MPI 5.0, sections 3.9 and 6.13).

use towpath_neutral::abi::{Handle, Status};
use towpath_neutral::constants::ERR_REQUEST;
use towpath_neutral::error::{Error, Result};

use super::point_to_point::buffered;
use crate::objects::persistent::{PersistentMessage, Start};
use crate::progress;
use crate::progress::request_table::{Extra, FROM_NOBODY, RequestWork};
use crate::progress::state::State;
use crate::progress::worker::Worker;

/// Creates an inactive persistent request.
pub(crate) fn create(start: Start, comm: Handle) -> Result<Handle> {
    create_by(|| start, comm)
}

/// Like [`create`], but calls `start` only when nothing can fail any more.
pub(crate) fn create_by(start: impl FnOnce() -> Start, comm: Handle) -> Result<Handle> {
    progress::worker()?.with(|state| {
        let entry = state.requests.reserve()?;
        let extra = Box::new(Extra { start: Some(start()), finish: None, keep: None });
        Ok(state.requests.fill(entry, RequestWork::Inactive, comm, Some(extra)))
    })
}

/// MPI_Start.
pub(crate) fn start(request: Handle) -> Result<()> {
    let worker = progress::worker()?;
    let mut state = worker.hold();
    let rest = begin(&mut state, request)?;
    let is_poll_due = state.runs.is_poll_due();
    drop(state);
    match rest {
        Some(Start::Buffered(message)) => send_copy(worker, request, &message)?,
        Some(Start::Alone(call)) => {
            // SAFETY: the buffers of the call live whenever the request is active (contract of
            // `Prepared::keep`), and it becomes active here.
            unsafe { call.perform() };
            worker.with(|state| state.requests.set_work(request, RequestWork::Done(Status::EMPTY)))?;
        }
        _ => {}
    }
    worker.nudge();
    if is_poll_due {
        worker.poll_in_passing();
    }
    Ok(())
}

/// Starts a persistent request. Returns what only copies, which is done after the worker is
/// released: the copy may be long.
#[inline(always)]
fn begin(state: &mut State, request: Handle) -> Result<Option<Start>> {
    let State { engine, requests, runs, .. } = state;
    let (start, work) = requests.inactive(request)?;
    *work = match start {
        Start::Send(message, mode) => {
            let (peer, tag) = message.envelope();
            RequestWork::send(message.elements, engine, &message.comm, peer, tag, *mode)
        }
        Start::Receive(PersistentMessage { comm, elements, peer, tag, .. }) => {
            RequestWork::Receive(elements.irecv(engine, comm, *peer, *tag))
        }
        Start::Buffered(message) => return Ok(Some(Start::Buffered(message.clone()))),
        Start::Alone(call) => return Ok(Some(Start::Alone(call.clone()))),
        Start::Nothing(status) => RequestWork::Done(*status),
        Start::Collective(run) => {
            let mut run = run.take().ok_or_else(|| Error::new(ERR_REQUEST, "the collective is active already"))?;
            // SAFETY: the buffers of the call live whenever the request is active (contract of
            // `Prepared::keep`), and it becomes active here.
            unsafe { run.start_again() };
            RequestWork::Run(runs.add(run, engine))
        }
    };
    Ok(None)
}

/// Starts a persistent buffered send, which is complete when this returns.
#[cold]
fn send_copy(worker: &Worker, request: Handle, message: &PersistentMessage) -> Result<()> {
    let (peer, tag) = message.envelope();
    buffered::send(&message.comm, message.elements, peer, tag)?;
    worker.with(|state| state.requests.set_work(request, RequestWork::Done(Status::EMPTY)))
}

/// A persistent operation with MPI_PROC_NULL; `receive` chooses the status.
pub(crate) fn nothing(receive: bool) -> Start {
    Start::Nothing(if receive { FROM_NOBODY } else { Status::EMPTY })
}
