//! Persistent requests: what an operation needs to be started again and again (MPI 5.0, sections
//! 3.9 and 6.13).

use std::ffi::c_void;
use std::sync::Arc;

use towpath_base::ids::PeerIndex;
use towpath_collective::Run;
use towpath_datatype::Datatype;
use towpath_engine::Mode;

use crate::comm::Comm;
use crate::error::{Error, Result, fail};
use crate::face::{Handle, Status};
use crate::lane::State;
use crate::request_table::{Extra, FROM_NOBODY, Work};
use crate::world;

/// A message that can be sent or received again.
pub struct Message {
    /// The communicator.
    pub comm: Arc<Comm>,
    /// First element.
    pub buffer: *mut c_void,
    /// How many elements.
    pub count: i64,
    /// Of which type.
    pub datatype: Datatype,
    /// To or from whom; `None` any source.
    pub peer: Option<PeerIndex>,
    /// Which tag; `None` any tag.
    pub tag: Option<i32>,
    /// Bytes of the elements where they are a row of bytes.
    pub row: Option<usize>,
}

// SAFETY: the buffer is the program's; it is touched while the request is active only, by the
// thread with the lane.
unsafe impl Send for Message {}

/// How a persistent request starts.
pub enum Start {
    /// A send in this mode.
    Send(Message, Mode),
    /// A buffered send.
    Buffered(Message),
    /// A receive.
    Receive(Message),
    /// Nothing: the peer is MPI_PROC_NULL; completion gives this status.
    Nothing(Status),
    /// A collective operation; the run is here while the request is inactive.
    Collective(Option<Box<Run>>),
}

/// Makes an inactive persistent request.
pub(crate) fn create(start: Start, comm: Handle) -> Result<Handle> {
    create_by(|| start, comm)
}

/// As [`create`]; asks how it starts once nothing can fail any more.
pub(crate) fn create_by(start: impl FnOnce() -> Start, comm: Handle) -> Result<Handle> {
    world::lane()?.with(|state| {
        let place = state.requests.place()?;
        let extra = Box::new(Extra { start: Some(start()), finish: None, keep: None });
        Ok(state.requests.fill(place, Work::Inactive, comm, Some(extra)))
    })
}

/// MPI_Start.
pub(crate) fn start(request: Handle) -> Result<()> {
    let lane = world::lane()?;
    let mut state = lane.hold();
    let started = state.start_row(request)?;
    drop(state);
    if started {
        lane.nudge();
        return Ok(());
    }
    start_slowly(request)
}

/// Starts whatever it is.
#[inline(never)]
fn start_slowly(request: Handle) -> Result<()> {
    let lane = world::lane()?;
    let buffered = lane.with(|state| {
        if !matches!(state.requests.work(request)?, Work::Inactive) {
            fail!(
                ERR_REQUEST,
                "the request is active already, or not persistent; wait for it before starting it again"
            );
        }
        let work = match state.requests.take_start(request)? {
            Some(start) => begin(state, request, start)?,
            None => fail!(ERR_REQUEST, "argument request is not a persistent request"),
        };
        match work {
            Begun::Work(work) => state.requests.set_work(request, work).map(|()| None),
            Begun::Copy(message) => Ok(Some(message)),
        }
    })?;
    if let Some(buffered) = buffered {
        buffered()?;
        lane.with(|state| state.requests.set_work(request, Work::Done(Status::EMPTY)))?;
    }
    lane.nudge();
    Ok(())
}

enum Begun {
    Work(Work),
    /// A buffered send, to be copied with the lane released.
    Copy(Box<dyn FnOnce() -> Result<()>>),
}

fn begin(state: &mut State, request: Handle, mut start: Start) -> Result<Begun> {
    let begun = match &mut start {
        Start::Send(message, mode) => {
            let peer = message.peer.expect("a send names its receiver");
            let source = crate::datatypes::source(&message.datatype, message.buffer, message.count);
            let (context, rank) = (message.comm.context(), message.comm.rank as u32);
            let tag = message.tag.expect("a send has a tag");
            // SAFETY: the program keeps the buffer until the request is complete.
            Begun::Work(Work::Send(unsafe { state.engine.isend(peer, context, tag, rank, source, *mode) }))
        }
        Start::Receive(message) => {
            let target = crate::datatypes::target(&message.datatype, message.buffer, message.count);
            // SAFETY: as above.
            Begun::Work(Work::Receive(unsafe {
                state.engine.irecv(message.peer, message.comm.context(), message.tag, target)
            }))
        }
        Start::Buffered(message) => Begun::Copy(crate::buffered::again(message)),
        Start::Nothing(status) => Begun::Work(Work::Done(*status)),
        Start::Collective(run) => {
            let mut run = run
                .take()
                .ok_or_else(|| Error::new(crate::constants::ERR_REQUEST, "the collective is active already"))?;
            // SAFETY: the program keeps the buffers until the request is complete.
            unsafe { run.start_again() };
            Begun::Work(Work::Run(state.runs.add(run, &mut state.engine)))
        }
    };
    state.requests.put_start(request, start)?;
    Ok(begun)
}

/// The status with which a persistent operation with MPI_PROC_NULL completes.
pub(crate) fn nothing(receive: bool) -> Start {
    Start::Nothing(if receive { FROM_NOBODY } else { Status::EMPTY })
}
