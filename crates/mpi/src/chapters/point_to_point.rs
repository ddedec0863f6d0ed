//! Point-to-point communication (MPI 5.0, chapter 3): blocking and nonblocking sends and receives.
//!
//! Probes are in `point_to_point/probes`, buffered sends in `point_to_point/buffers`, persistent
//! requests in `point_to_point/persistent_requests`. The fast path of a send is lookups, checks and
//! one call of the engine.

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
use towpath_base::transfer::{Place, Target};
use towpath_datatype::Datatype;
use towpath_engine::{Completion, EarlyOutcome, Mode, RequestId, Sent};
use towpath_neutral::abi::{Handle, Status};
use towpath_neutral::constants::*;
use towpath_neutral::error::{Completed, Error, Failed, Result, fail};

use super::datatypes;
use crate::objects::comm::Comm;
use crate::objects::datatype::Type;
use crate::objects::registry;
use crate::process;
use crate::progress;
use crate::progress::completion::failure_of;
use crate::progress::request_table::{COMPLETE, COMPLETE_RECEIVE, FROM_NOBODY, RequestWork};
use crate::progress::state::State;
use crate::progress::wait_target::WaitTarget;
use crate::progress::worker::Worker;

/// The arguments of a send, looked up and checked.
pub(crate) struct SendArguments<'a> {
    pub(crate) comm: &'a Arc<Comm>,
    pub(crate) kind: &'a Arc<Type>,
    /// `None` for MPI_PROC_NULL.
    pub(crate) peer: Option<PeerIndex>,
}

/// The arguments of a receive, looked up and checked.
pub(crate) struct ReceiveArguments<'a> {
    pub(crate) comm: &'a Arc<Comm>,
    pub(crate) kind: &'a Arc<Type>,
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

/// Looks up and checks the arguments of a send.
///
/// # Safety
/// The references must not be used after the operation is started: see
/// [`towpath_neutral::handle::Table::borrow`].
#[inline(always)]
pub(crate) unsafe fn outgoing<'a>(
    buffer: *const c_void,
    count: i64,
    datatype: Handle,
    dest: i32,
    tag: i32,
    comm: Handle,
) -> Result<SendArguments<'a>> {
    // SAFETY: the reference is not used after the operation is started (this function's contract).
    let comm = unsafe { registry::borrow_comm(comm) }?;
    // SAFETY: the reference is not used after the operation is started (this function's contract).
    let kind = match unsafe { datatypes::borrow(datatype, "datatype") } {
        Ok(kind) => kind,
        Err(error) => datatypes::of_no_elements(datatype, count, error)?,
    };
    check_buffer(buffer, count, kind)?;
    check_tag(tag)?;
    let peer = comm.target(dest, "dest")?;
    Ok(SendArguments { comm, kind, peer })
}

/// Looks up and checks the arguments of a receive.
///
/// # Safety
/// As [`outgoing`].
#[inline(always)]
pub(crate) unsafe fn incoming<'a>(
    buffer: *const c_void,
    count: i64,
    datatype: Handle,
    source: i32,
    tag: i32,
    comm: Handle,
) -> Result<ReceiveArguments<'a>> {
    // SAFETY: the reference is not used after the operation is started (this function's contract).
    let kind = match unsafe { datatypes::borrow(datatype, "datatype") } {
        Ok(kind) => kind,
        Err(error) => datatypes::of_no_elements(datatype, count, error)?,
    };
    check_buffer(buffer, count, kind)?;
    // SAFETY: the reference is not used after the operation is started (this function's contract).
    let (comm, peer, tag, nobody) = unsafe { envelope(source, tag, comm) }?;
    Ok(ReceiveArguments { comm, kind, peer, tag, nobody })
}

/// Communicator, source and tag (`None`: any), and whether the source is MPI_PROC_NULL.
type Envelope<'a> = (&'a Arc<Comm>, Option<PeerIndex>, Option<i32>, bool);

/// Looks up and checks the envelope that a receive or probe asks for.
///
/// # Safety
/// As [`outgoing`].
#[inline(always)]
pub(crate) unsafe fn envelope<'a>(source: i32, tag: i32, comm: Handle) -> Result<Envelope<'a>> {
    // SAFETY: the reference is not used after the operation is started (this function's contract).
    let comm = unsafe { registry::borrow_comm(comm) }?;
    let tag = if tag == ANY_TAG { None } else { Some(tag) };
    check_tag(tag.unwrap_or(0))?;
    let peer = if source == ANY_SOURCE { None } else { comm.target(source, "source")? };
    Ok((comm, peer, tag, peer.is_none() && source != ANY_SOURCE))
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
    // SAFETY: `comm` and `kind` are not used after the message is sent, here or in `send_slowly`.
    let SendArguments { comm, kind, peer } = unsafe { outgoing(buffer, count, datatype, dest, tag, comm) }?;
    let Some(peer) = peer else { return Ok(()) };
    let worker = progress::worker()?;
    if mode != Mode::Synchronous
        && let Some((pointer, length)) = kind.bytes(buffer, count)
    {
        let mut state = worker.hold();
        let (context, rank) = (comm.context(), comm.rank as u32);
        // SAFETY: `pointer` and `length` describe the `count` elements at `buffer`, which are
        // readable (this function's contract).
        let sent = unsafe { state.engine.try_send_now(peer, context, tag, rank, pointer, length) };
        drop(state);
        if sent.is_some() {
            worker.nudge();
            return Ok(());
        }
    }
    // SAFETY: `buffer` holds `count` elements of `kind` (this function's contract), and the message
    // has not been sent.
    unsafe { send_slowly(mode, buffer, count, kind, peer, tag, comm) }
}

/// The elements that a blocking receive writes to.
struct Elements {
    datatype: *const Datatype,
    buffer: *mut c_void,
    count: i64,
}

impl Elements {
    fn datatype(&self) -> &Datatype {
        // SAFETY: `receive_elements` holds the worker's lock while it uses this value, and
        // datatypes are freed only under that lock.
        unsafe { &*self.datatype }
    }
}

// SAFETY: `unpack` writes only to the `count` elements at `buffer`.
unsafe impl Place for Elements {
    fn room(&self) -> usize {
        self.datatype().bytes(self.count) as usize
    }

    unsafe fn put(&self, from: *const u8, length: usize) {
        // SAFETY: `from` is readable for `length` bytes, which is at most `room`, and the elements
        // at `buffer` are alive (contract of `Place::put`).
        unsafe { towpath_datatype::unpack(self.datatype(), self.buffer.cast(), self.count, 0, from, length) };
    }

    fn target(&self) -> Target {
        // SAFETY: the elements at `buffer` are alive and writable while the engine uses this place
        // or its target: `receive_elements` waits for the request.
        unsafe { towpath_datatype::target(self.datatype(), self.buffer.cast(), self.count) }
    }
}

/// Packs elements directly into the wire's memory, if the message can be sent at once.
///
/// # Safety
/// `buffer` must hold `count` elements of `kind`.
#[inline(always)]
unsafe fn send_packed(
    state: &mut State,
    buffer: *const c_void,
    count: i64,
    kind: &Type,
    peer: PeerIndex,
    tag: i32,
    comm: &Comm,
) -> Option<Sent> {
    let length = kind.datatype.bytes(count) as usize;
    state.engine.try_send_filled(peer, comm.context(), tag, comm.rank as u32, length, |into| {
        // SAFETY: `into` has room for `length` bytes (`try_send_filled`), and `buffer` holds
        // `count` elements (this function's contract).
        unsafe { towpath_datatype::pack(&kind.datatype, buffer.cast(), count, 0, into, length) };
    })
}

/// Sends a message that is synchronous, has gaps or cannot be sent at once, and waits for it.
///
/// # Safety
/// `buffer` must hold `count` elements of `kind`, unchanged until this returns; for `kind` and
/// `comm` as [`outgoing`].
#[cold]
unsafe fn send_slowly(
    mode: Mode,
    buffer: *const c_void,
    count: i64,
    kind: &Type,
    peer: PeerIndex,
    tag: i32,
    comm: &Arc<Comm>,
) -> Result<()> {
    let worker = progress::worker()?;
    if mode != Mode::Synchronous
        && kind.bytes(buffer, count).is_none()
        // SAFETY: `buffer` holds `count` elements of `kind` (this function's contract).
        && unsafe { send_packed(&mut worker.hold(), buffer, count, kind, peer, tag, comm) }.is_some()
    {
        worker.nudge();
        return Ok(());
    }
    let (object, context) = (comm.handle(), comm.context());
    // SAFETY: `source` reads the `count` elements at `buffer`, which stay unchanged until this
    // function returns (its contract), after the send is complete.
    let id = worker.with(|state| unsafe {
        let source = towpath_datatype::source(&kind.datatype, buffer.cast(), count);
        state.engine.isend(peer, context, tag, comm.rank as u32, source, mode)
    });
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
    Ok(received(completion))
}

#[inline(always)]
fn received(completion: &Completion) -> Status {
    Status {
        source: completion.source_rank as i32,
        tag: completion.tag,
        error: 0,
        bytes: completion.bytes as i64,
        cancelled: false,
    }
}

#[cold]
fn failed(comm: Handle, completion: &Completion) -> Completed<Status> {
    let error = failure_of(completion).unwrap_or_else(|| Error::new(ERR_OTHER, "the message failed"));
    Err(Failed::with(error.with_object(comm), received(completion)))
}

/// Functions that differ in the mode of their send only.
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
    /// As [`send`].
    ssend: send_as(Mode::Synchronous) -> ();

    /// MPI_Rsend.
    ///
    /// # Safety
    /// As [`send`].
    rsend: send_as(Mode::Ready) -> ();

    /// MPI_Isend.
    ///
    /// # Safety
    /// `buf` must hold `count` elements of `datatype`, unchanged until the request is complete.
    isend: isend_as(Mode::Standard) -> Handle;

    /// MPI_Issend.
    ///
    /// # Safety
    /// As [`isend`].
    issend: isend_as(Mode::Synchronous) -> Handle;

    /// MPI_Irsend.
    ///
    /// # Safety
    /// As [`isend`].
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
    // SAFETY: `object` and `kind` are not used after the worker is released.
    let ReceiveArguments { comm: object, kind, peer, tag, nobody } =
        unsafe { incoming(buf, count, datatype, source, tag, comm) }?;
    if nobody {
        return Ok(FROM_NOBODY);
    }
    let worker = progress::worker()?;
    let Some((_, capacity)) = kind.bytes(buf, count) else {
        // SAFETY: `buf` has room for `count` elements of `kind` until this call returns (its
        // contract), and `kind` and `object` have just been borrowed.
        return unsafe { receive_elements(buf, count, kind, peer, tag, object) };
    };
    let (rounds, context) = (worker.spin_rounds(), object.context());
    let mut state = worker.hold();
    // SAFETY: `buf` is writable for `capacity` bytes until this call returns (its contract), and a
    // request that is started here is waited for below.
    let soon = unsafe { state.engine.receive_soon(peer, context, tag, buf.cast(), capacity, rounds) };
    drop(state);
    worker.nudge();
    match soon {
        EarlyOutcome::Received(completion) => completed(comm, &completion),
        EarlyOutcome::Started(id) => wait_for_received(worker, comm, context, id),
    }
}

/// Receives elements with gaps. Unpacks directly from the wire if the message arrives soon.
///
/// # Safety
/// `buf` must have room for `count` elements of `kind`; for `kind` and `comm` as [`outgoing`].
#[inline(never)]
unsafe fn receive_elements(
    buf: *mut c_void,
    count: i64,
    kind: &Type,
    peer: Option<PeerIndex>,
    tag: Option<i32>,
    comm: &Arc<Comm>,
) -> Completed<Status> {
    let worker = progress::worker()?;
    let place = Elements { datatype: &kind.datatype, buffer: buf, count };
    let rounds = worker.spin_rounds();
    let mut state = worker.hold();
    // SAFETY: the elements at `buf` are writable until this call returns (its contract), and a
    // request that is started here is waited for below. Such a request holds its own reference to
    // the datatype.
    let soon = unsafe { state.engine.receive_soon_into(peer, comm.context(), tag, &place, rounds) };
    let (comm, context) = (comm.handle(), comm.context());
    drop(state);
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
    worker.choose_spin_rounds(process::is_oversubscribed());
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
    // SAFETY: `comm` and `kind` are not used after the worker is released.
    let SendArguments { comm, kind, peer } = unsafe { outgoing(buffer, count, datatype, dest, tag, comm) }?;
    let Some(peer) = peer else { return Ok(COMPLETE) };
    let worker = progress::worker()?;
    let mut state = worker.hold();
    let place = state.requests.place()?;
    let (context, rank) = (comm.context(), comm.rank as u32);
    let sent = match kind.bytes(buffer, count) {
        _ if mode == Mode::Synchronous => None,
        // SAFETY: `pointer` and `length` describe the `count` elements at `buffer`, which are
        // readable (this function's contract).
        Some((pointer, length)) => unsafe { state.engine.try_send_now(peer, context, tag, rank, pointer, length) },
        // SAFETY: `buffer` holds `count` elements of `kind` (this function's contract).
        None => unsafe { send_packed(&mut state, buffer, count, kind, peer, tag, comm) },
    };
    // Even a message that has been sent needs a request: an unmatched send can still be cancelled.
    let work = match sent {
        Some(sent) => RequestWork::Sent(sent),
        None => {
            // SAFETY: `source` reads the `count` elements at `buffer`, which stay unchanged until
            // the request is complete (this function's contract).
            RequestWork::Send(unsafe {
                let source = towpath_datatype::source(&kind.datatype, buffer.cast(), count);
                state.engine.isend(peer, context, tag, rank, source, mode)
            })
        }
    };
    let request = state.requests.fill(place, work, comm.handle(), None);
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
    // SAFETY: `comm` and `kind` are not used after the worker is released.
    let ReceiveArguments { comm, kind, peer, tag, nobody } =
        unsafe { incoming(buf, count, datatype, source, tag, comm) }?;
    if nobody {
        return Ok(COMPLETE_RECEIVE);
    }
    let worker = progress::worker()?;
    let mut state = worker.hold();
    let place = state.requests.place()?;
    // SAFETY: `target` covers the `count` elements at `buf`, which are writable until the request
    // is complete (this function's contract).
    let id = unsafe {
        let target = match kind.bytes(buf, count) {
            Some((pointer, length)) => Target::Bytes { pointer: pointer.cast_mut(), length },
            None => towpath_datatype::target(&kind.datatype, buf.cast(), count),
        };
        state.engine.irecv(peer, comm.context(), tag, target)
    };
    let request = state.requests.fill(place, RequestWork::Receive(id), comm.handle(), None);
    drop(state);
    worker.nudge();
    Ok(request)
}
