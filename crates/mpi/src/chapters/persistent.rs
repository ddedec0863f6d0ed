//! Functions of persistent requests (MPI 5.0, sections 3.9 and 6.13).

use towpath_neutral::abi::{Handle, Status};
use towpath_neutral::constants::ERR_REQUEST;
use towpath_neutral::error::{Error, Result, fail};

use super::point_to_point::buffered;
use crate::objects::persistent::{PersistentMessage, Start};
use crate::progress;
use crate::progress::request_table::{Extra, FROM_NOBODY, RequestWork};
use crate::progress::state::State;

/// Creates an inactive persistent request.
pub(crate) fn create(start: Start, comm: Handle) -> Result<Handle> {
    create_by(|| start, comm)
}

/// Like [`create`], but calls `start` only when nothing can fail any more.
pub(crate) fn create_by(start: impl FnOnce() -> Start, comm: Handle) -> Result<Handle> {
    progress::worker()?.with(|state| {
        let place = state.requests.place()?;
        let extra = Box::new(Extra { start: Some(start()), finish: None, keep: None });
        Ok(state.requests.fill(place, RequestWork::Inactive, comm, Some(extra)))
    })
}

/// MPI_Start.
pub(crate) fn start(request: Handle) -> Result<()> {
    let worker = progress::worker()?;
    let mut state = worker.hold();
    let started = state.start_contiguous(request)?;
    drop(state);
    if started {
        worker.nudge();
        return Ok(());
    }
    start_slowly(request)
}

/// Starts any persistent request.
#[inline(never)]
fn start_slowly(request: Handle) -> Result<()> {
    let worker = progress::worker()?;
    let buffered = worker.with(|state| {
        if !matches!(state.requests.work(request)?, RequestWork::Inactive) {
            fail!(
                ERR_REQUEST,
                "the request is active already, or not persistent; wait for it before starting it again"
            );
        }
        match begin(state, request)? {
            Begun::Work(work) => state.requests.set_work(request, work).map(|()| None),
            Begun::Copy(message) => Ok(Some(message)),
        }
    })?;
    if let Some(buffered) = buffered {
        buffered()?;
        worker.with(|state| state.requests.set_work(request, RequestWork::Done(Status::EMPTY)))?;
    }
    worker.nudge();
    Ok(())
}

enum Begun {
    Work(RequestWork),
    /// A buffered send, which is copied after the worker is released.
    Copy(Box<dyn FnOnce() -> Result<()>>),
}

fn begin(state: &mut State, request: Handle) -> Result<Begun> {
    let State { engine, requests, runs, .. } = state;
    let Some(start) = requests.start_of(request)? else {
        fail!(ERR_REQUEST, "argument request is not a persistent request");
    };
    Ok(match start {
        Start::Send(PersistentMessage { comm, elements, peer, tag, .. }, mode) => {
            let (peer, tag) = (peer.expect("a send names its receiver"), tag.expect("a send has a tag"));
            Begun::Work(RequestWork::Send(elements.isend(engine, comm, peer, tag, *mode)))
        }
        Start::Receive(PersistentMessage { comm, elements, peer, tag, .. }) => {
            Begun::Work(RequestWork::Receive(elements.irecv(engine, comm, *peer, *tag)))
        }
        Start::Buffered(message) => Begun::Copy(buffered::again(message)),
        Start::Nothing(status) => Begun::Work(RequestWork::Done(*status)),
        Start::Collective(run) => {
            let mut run = run.take().ok_or_else(|| Error::new(ERR_REQUEST, "the collective is active already"))?;
            // SAFETY: the buffers of the call live whenever the request is active (contract of
            // `Prepared::keep`), and it becomes active here.
            unsafe { run.start_again() };
            Begun::Work(RequestWork::Run(runs.add(run, engine)))
        }
    })
}

/// A persistent operation with MPI_PROC_NULL; `receive` chooses the status.
pub(crate) fn nothing(receive: bool) -> Start {
    Start::Nothing(if receive { FROM_NOBODY } else { Status::EMPTY })
}
