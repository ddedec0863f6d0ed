//! Point-to-point communication (MPI 5.0, chapter 3): blocking and nonblocking sends and receives.
//!
//! Files in `point_to_point`: `probes`; `send_receive`, combined sends and receives; `buffers` and
//! `buffered`, buffered sends; `persistent_requests`. The fast path of a send is lookups, checks
//! and one call of the engine.

pub(crate) mod buffered;
mod buffers;
mod persistent_requests;
mod probes;
mod send_receive;

pub use buffers::*;
pub use persistent_requests::*;
pub use probes::*;
pub use send_receive::*;

use std::ffi::c_void;
use std::sync::Arc;

use towpath_base::ids::{ContextId, PeerIndex};
use towpath_engine::{Completion, EarlyOutcome, Mode, RequestId};
use towpath_neutral::abi::{Handle, Status};
use towpath_neutral::constants::*;
use towpath_neutral::error::{Completed, Failed, Result, fail};

use super::datatypes;
use crate::objects::comm::Comm;
use crate::objects::datatype::Type;
use crate::objects::elements::Elements;
use crate::objects::registry;
use crate::progress;
use crate::progress::completion::{failure, status_of};
use crate::progress::request_table::{COMPLETE, COMPLETE_RECEIVE, FROM_NOBODY, RequestWork};
use crate::progress::state::State;
use crate::progress::wait_target::WaitTarget;
use crate::progress::worker::Worker;

/// The arguments of a send, looked up and checked.
pub(crate) struct SendArguments<'a> {
    pub(crate) comm: &'a Arc<Comm>,
    pub(crate) kind: &'a Arc<Type>,
    pub(crate) elements: Elements,
    /// `None` for MPI_PROC_NULL.
    pub(crate) peer: Option<PeerIndex>,
}

/// The arguments of a receive, looked up and checked.
pub(crate) struct ReceiveArguments<'a> {
    pub(crate) comm: &'a Arc<Comm>,
    pub(crate) kind: &'a Arc<Type>,
    pub(crate) elements: Elements,
    /// `None` for MPI_ANY_SOURCE.
    pub(crate) peer: Option<PeerIndex>,
    /// `None` for MPI_ANY_TAG.
    pub(crate) tag: Option<i32>,
    /// True if the source is MPI_PROC_NULL.
    pub(crate) nobody: bool,
}

#[inline(always)]
pub(crate) fn check_buffer(buffer: *const c_void, count: i64, kind: &Type) -> Result<()> {
    if !kind.can_move(count) {
        return immovable(count, kind);
    }
    if buffer.is_null() && count > 0 && kind.needs_buffer() {
        return no_buffer(count);
    }
    Ok(())
}

#[cold]
fn immovable(count: i64, kind: &Type) -> Result<()> {
    if !kind.can_have(count) {
        return datatypes::bad_count(count, kind, "count");
    }
    fail!(ERR_TYPE, "argument datatype is not committed; call MPI_Type_commit first")
}
#[cold]
fn no_buffer<T>(count: i64) -> Result<T> {
    fail!(ERR_BUFFER, "argument buf is NULL, but count is {count}; pass a buffer")
}

#[inline(always)]
pub(crate) fn check_tag(tag: i32) -> Result<()> {
    if tag < 0 {
        return bad_tag(tag);
    }
    Ok(())
}

#[cold]
fn bad_tag<T>(tag: i32) -> Result<T> {
    fail!(ERR_TAG, "argument tag is {tag}; 0 to {} are allowed", i32::MAX)
}

/// Looks up and checks a buffer argument: its elements and their datatype.
///
/// # Safety
/// The datatype must not be freed before the operation is started, and the reference to it must not
/// be used after that: see [`towpath_neutral::handle::Table::borrow`]. The buffer must hold `count`
/// elements of it from then until the operation is complete, as [`Elements::new`] requires.
#[inline(always)]
unsafe fn elements<'a>(buffer: *const c_void, count: i64, datatype: Handle) -> Result<(Elements, &'a Arc<Type>)> {
    // SAFETY: the reference is not used after the operation is started (this function's contract).
    let kind = match unsafe { datatypes::borrow(datatype, "datatype") } {
        Ok(kind) => kind,
        Err(error) => datatypes::of_no_elements(datatype, count, error)?,
    };
    check_buffer(buffer, count, kind)?;
    // SAFETY: `kind` is not freed before the operation is started, `buffer` holds the elements
    // until it is complete (this function's contract), and `check_buffer` has checked the count.
    Ok((unsafe { Elements::new(kind, buffer, count) }, kind))
}

/// Looks up and checks the arguments of a send.
///
/// # Safety
/// Same as for [`elements`], also for the reference to the communicator.
#[inline(always)]
pub(crate) unsafe fn outgoing<'a>(
    buffer: *const c_void,
    count: i64,
    datatype: Handle,
    dest: i32,
    tag: i32,
    comm: Handle,
) -> Result<SendArguments<'a>> {
    // SAFETY: the references are not used after the operation is started, and `buffer` holds the
    // elements until it is complete (this function's contract).
    let (comm, (elements, kind)) = unsafe { (registry::borrow_comm(comm)?, elements(buffer, count, datatype)?) };
    check_tag(tag)?;
    let peer = comm.target(dest, "dest")?;
    Ok(SendArguments { comm, kind, elements, peer })
}

/// Looks up and checks the arguments of a receive.
///
/// # Safety
/// Same as for [`outgoing`].
#[inline(always)]
pub(crate) unsafe fn incoming<'a>(
    buffer: *const c_void,
    count: i64,
    datatype: Handle,
    source: i32,
    tag: i32,
    comm: Handle,
) -> Result<ReceiveArguments<'a>> {
    // SAFETY: the references are not used after the operation is started, and `buffer` holds the
    // elements until it is complete (this function's contract).
    let ((elements, kind), comm) = unsafe { (elements(buffer, count, datatype)?, registry::borrow_comm(comm)?) };
    let Asked { peer, tag, nobody } = envelope(source, tag, comm)?;
    Ok(ReceiveArguments { comm, kind, elements, peer, tag, nobody })
}

/// The source and tag that a receive or probe asks for.
struct Asked {
    /// `None` for MPI_ANY_SOURCE.
    peer: Option<PeerIndex>,
    /// `None` for MPI_ANY_TAG.
    tag: Option<i32>,
    /// True if the source is MPI_PROC_NULL.
    nobody: bool,
}

/// Checks the source and tag that a receive or probe asks for.
#[inline(always)]
fn envelope(source: i32, tag: i32, comm: &Comm) -> Result<Asked> {
    let tag = if tag == ANY_TAG { None } else { Some(tag) };
    check_tag(tag.unwrap_or(0))?;
    let peer = if source == ANY_SOURCE { None } else { comm.target(source, "source")? };
    Ok(Asked { peer, tag, nobody: peer.is_none() && source != ANY_SOURCE })
}

/// Sends, and waits until the buffer may be reused.
///
/// # Safety
/// `buffer` must hold `count` elements of `datatype`.
#[inline(always)]
unsafe fn send_as(
    mode: Mode,
    buffer: *const c_void,
    count: i64,
    datatype: Handle,
    dest: i32,
    tag: i32,
    comm: Handle,
) -> Result<()> {
    // SAFETY: `buffer` holds `count` elements until this function returns (its contract), after the
    // send is complete. `comm` is not used after it is started, here or in `send_slowly`.
    let SendArguments { comm, elements, peer, .. } = unsafe { outgoing(buffer, count, datatype, dest, tag, comm) }?;
    let Some(peer) = peer else { return Ok(()) };
    let worker = progress::worker()?;
    if mode != Mode::Synchronous
        && let Some(bytes) = elements.contiguous()
    {
        let mut state = worker.hold();
        let sent = bytes.try_send_now(&mut state.engine, comm, peer, tag);
        drop(state);
        if sent.is_some() {
            worker.nudge();
            return Ok(());
        }
    }
    send_slowly(mode, elements, peer, tag, comm)
}

/// Sends a message that is synchronous, has gaps or cannot be sent at once, and waits for it.
#[cold]
fn send_slowly(mode: Mode, elements: Elements, peer: PeerIndex, tag: i32, comm: &Comm) -> Result<()> {
    let worker = progress::worker()?;
    if mode != Mode::Synchronous
        && elements.contiguous().is_none()
        && elements.try_send_packed(&mut worker.hold().engine, comm, peer, tag).is_some()
    {
        worker.nudge();
        return Ok(());
    }
    let (object, context) = (comm.handle(), comm.context());
    let id = worker.with(|state| elements.isend(&mut state.engine, comm, peer, tag, mode));
    worker.nudge();
    let target = |_: &State| WaitTarget::Message(context, id);
    let completion = worker.wait_for(target, |state| state.engine.take(id));
    completed(object, &completion)?;
    Ok(())
}

/// Turns the completion of a blocking operation into a status or an error.
#[inline(always)]
pub(crate) fn completed(comm: Handle, completion: &Completion) -> Completed<Status> {
    if completion.truncated || completion.lost {
        return failed(comm, completion);
    }
    Ok(status_of(completion))
}

#[cold]
fn failed(comm: Handle, completion: &Completion) -> Completed<Status> {
    Err(Failed::with(failure(completion).with_object(comm), status_of(completion)))
}

/// Functions that differ only in the mode of their send.
macro_rules! by_mode {
    ($($(#[$about:meta])+ $name:ident: $started_by:ident($how:expr) -> $result:ty;)+) => {$(
        $(#[$about])+
        pub unsafe fn $name(
            buf: *const c_void,
            count: i64,
            datatype: Handle,
            dest: i32,
            tag: i32,
            comm: Handle,
        ) -> Result<$result> {
            // SAFETY: `buf` holds `count` elements of `datatype`, for as long as the standard lets
            // this function use them (its contract).
            unsafe { $started_by($how, buf, count, datatype, dest, tag, comm) }
        }
    )+};
}
use by_mode;

by_mode! {
    /// MPI_Send.
    ///
    /// # Safety
    /// `buf` must hold `count` elements of `datatype`.
    #[inline(always)]
    send: send_as(Mode::Standard) -> ();

    /// MPI_Ssend.
    ///
    /// # Safety
    /// Same as for [`send`].
    ssend: send_as(Mode::Synchronous) -> ();

    /// MPI_Rsend.
    ///
    /// # Safety
    /// Same as for [`send`].
    rsend: send_as(Mode::Ready) -> ();

    /// MPI_Isend.
    ///
    /// # Safety
    /// `buf` must hold `count` elements of `datatype`, unchanged until the request is complete.
    isend: isend_as(Mode::Standard) -> Handle;

    /// MPI_Issend.
    ///
    /// # Safety
    /// Same as for [`isend`].
    issend: isend_as(Mode::Synchronous) -> Handle;

    /// MPI_Irsend.
    ///
    /// # Safety
    /// Same as for [`isend`].
    irsend: isend_as(Mode::Ready) -> Handle;
}

/// MPI_Recv.
///
/// # Safety
/// `buf` must have room for `count` elements of `datatype`.
#[inline(always)]
pub unsafe fn recv(
    buf: *mut c_void,
    count: i64,
    datatype: Handle,
    source: i32,
    tag: i32,
    comm: Handle,
) -> Completed<Status> {
    // SAFETY: `buf` has room for `count` elements until this call returns (its contract), after the
    // receive is complete. `object` is not used after it is started.
    let ReceiveArguments { comm: object, elements, peer, tag, nobody, .. } =
        unsafe { incoming(buf, count, datatype, source, tag, comm) }?;
    if nobody {
        return Ok(FROM_NOBODY);
    }
    let Some(bytes) = elements.contiguous() else {
        // A copy, so that the fast path keeps its own in registers.
        return receive_with_gaps(&{ elements }, peer, tag, object);
    };
    let worker = progress::worker()?;
    let (rounds, context) = (worker.spin_rounds(), object.context());
    let mut state = worker.hold();
    let soon = bytes.receive_soon(&mut state.engine, object, peer, tag, rounds);
    drop(state);
    received_soon(worker, comm, context, soon)
}

/// Receives elements with gaps or in the memory of a device.
#[inline(never)]
fn receive_with_gaps(elements: &Elements, peer: Option<PeerIndex>, tag: Option<i32>, comm: &Comm) -> Completed<Status> {
    let worker = progress::worker()?;
    let rounds = worker.spin_rounds();
    let mut state = worker.hold();
    let soon = match elements.is_on_device() {
        false => elements.receive_soon(&mut state.engine, comm, peer, tag, rounds),
        true => EarlyOutcome::Started(elements.irecv(&mut state.engine, comm, peer, tag)),
    };
    let (comm, context) = (comm.handle(), comm.context());
    drop(state);
    received_soon(worker, comm, context, soon)
}

/// Waits for the receive if it is not complete.
#[inline(always)]
fn received_soon(worker: &Worker, comm: Handle, context: ContextId, soon: EarlyOutcome) -> Completed<Status> {
    worker.nudge();
    match soon {
        EarlyOutcome::Received(completion) => completed(comm, &completion),
        EarlyOutcome::Started(id) => wait_for_received(worker, comm, context, id),
    }
}

#[cold]
fn wait_for_received(worker: &Worker, comm: Handle, context: ContextId, id: RequestId) -> Completed<Status> {
    let target = |_: &State| WaitTarget::Message(context, id);
    let completion = worker.wait_for(target, |state| state.engine.take(id));
    completed(comm, &completion)
}

/// Starts a send in this mode.
///
/// # Safety
/// `buffer` must hold `count` elements of `datatype`, unchanged until the request is complete.
unsafe fn isend_as(
    mode: Mode,
    buffer: *const c_void,
    count: i64,
    datatype: Handle,
    dest: i32,
    tag: i32,
    comm: Handle,
) -> Result<Handle> {
    // SAFETY: `buffer` holds `count` elements until the request is complete (this function's
    // contract). `comm` is not used after the worker is released.
    let SendArguments { comm, elements, peer, .. } = unsafe { outgoing(buffer, count, datatype, dest, tag, comm) }?;
    let Some(peer) = peer else { return Ok(COMPLETE) };
    let worker = progress::worker()?;
    let mut state = worker.hold();
    let entry = state.requests.reserve()?;
    let work = RequestWork::send(elements, &mut state.engine, comm, peer, tag, mode);
    let request = state.requests.fill(entry, work, comm.handle(), None);
    drop(state);
    worker.nudge();
    Ok(request)
}

/// MPI_Irecv.
///
/// # Safety
/// `buf` must have room for `count` elements of `datatype`, and nothing else may access them until
/// the request is complete.
pub unsafe fn irecv(
    buf: *mut c_void,
    count: i64,
    datatype: Handle,
    source: i32,
    tag: i32,
    comm: Handle,
) -> Result<Handle> {
    // SAFETY: `buf` has room for `count` elements until the request is complete (this function's
    // contract). `comm` is not used after the worker is released.
    let ReceiveArguments { comm, elements, peer, tag, nobody, .. } =
        unsafe { incoming(buf, count, datatype, source, tag, comm) }?;
    if nobody {
        return Ok(COMPLETE_RECEIVE);
    }
    let worker = progress::worker()?;
    let mut state = worker.hold();
    let entry = state.requests.reserve()?;
    let id = elements.irecv(&mut state.engine, comm, peer, tag);
    let request = state.requests.fill(entry, RequestWork::Receive(id), comm.handle(), None);
    drop(state);
    worker.nudge();
    Ok(request)
}
