//! Combined sends and receives (MPI 5.0, section 3.10).

use std::ffi::c_void;

use towpath_base::transfer::Source;
use towpath_engine::Mode;

use super::{Incoming, Outgoing, completed, incoming, outgoing};
use crate::datatypes::packed;
use crate::error::{Completed, Failed, Result};
use crate::face::{Handle, Status};
use crate::lane::State;
use crate::request_table::{COMPLETE_RECEIVE, Extra, FROM_NOBODY, Work};
use crate::wait_target::WaitTarget;
use crate::world;

/// Starts both halves; the send takes its bytes from `source`.
///
/// # Safety
/// Both buffers must hold their elements until the work is complete.
unsafe fn begin(
    state: &mut State,
    out: &Outgoing,
    source: Source,
    sendtag: i32,
    into: &Incoming,
    buffer: *mut c_void,
    count: i64,
) -> Work {
    let target = crate::datatypes::target(&into.kind.datatype, buffer, count);
    // SAFETY: promised by the caller.
    let receive =
        (!into.nobody).then(|| unsafe { state.engine.irecv(into.peer, into.comm.context(), into.tag, target) });
    // SAFETY: as above.
    let send = out.peer.map(|peer| unsafe {
        state.engine.isend(peer, out.comm.context(), sendtag, out.comm.rank as u32, source, Mode::Standard)
    });
    match (send, receive) {
        (Some(send), receive) => Work::Both(send, receive),
        (None, Some(receive)) => Work::Receive(receive),
        (None, None) => Work::Done(FROM_NOBODY),
    }
}

/// Starts both halves and waits for them.
///
/// # Safety
/// Both buffers must hold their elements.
unsafe fn both(
    out: &Outgoing,
    source: Source,
    sendtag: i32,
    into: &Incoming,
    buffer: *mut c_void,
    count: i64,
) -> Completed<Status> {
    let (lane, comm, context) = (world::lane()?, out.comm.handle(), out.comm.context());
    // SAFETY: promised by the caller, and waited for here.
    let work = lane.with(|state| unsafe { begin(state, out, source, sendtag, into, buffer, count) });
    lane.nudge();
    let (send, receive) = match work {
        Work::Both(send, receive) => (Some(send), receive),
        Work::Receive(receive) => (None, Some(receive)),
        _ => (None, None),
    };
    let wait = |id| lane.wait_for(|_| WaitTarget::Message(context, id), |state| state.engine.take(id));
    let (received, sent) = (receive.map(wait), send.map(wait));
    let received = received.map_or(Ok(FROM_NOBODY), |received| completed(comm, &received));
    match (sent.map(|sent| completed(comm, &sent)), received) {
        (Some(Err(failed)), Ok(status)) => Err(Failed::with(failed.into(), status)),
        (_, received) => received,
    }
}

/// MPI_Sendrecv.
///
/// # Safety
/// The buffers must hold their elements and not overlap.
pub unsafe fn sendrecv(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    dest: i32,
    sendtag: i32,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    source: i32,
    recvtag: i32,
    comm: Handle,
) -> Completed<Status> {
    // SAFETY: used until the operations are started.
    let (out, into) = unsafe {
        (
            outgoing(sendbuf, sendcount, sendtype, dest, sendtag, comm)?,
            incoming(recvbuf, recvcount, recvtype, source, recvtag, comm)?,
        )
    };
    let bytes = crate::datatypes::source(&out.kind.datatype, sendbuf, sendcount);
    // SAFETY: promised by the caller.
    unsafe { both(&out, bytes, sendtag, &into, recvbuf, recvcount) }
}

/// MPI_Sendrecv_replace.
///
/// # Safety
/// `buf` must hold `count` elements of `datatype`.
pub unsafe fn sendrecv_replace(
    buf: *mut c_void,
    count: i64,
    datatype: Handle,
    dest: i32,
    sendtag: i32,
    source: i32,
    recvtag: i32,
    comm: Handle,
) -> Completed<Status> {
    // SAFETY: used until the operations are started.
    let (out, into) = unsafe {
        (outgoing(buf, count, datatype, dest, sendtag, comm)?, incoming(buf, count, datatype, source, recvtag, comm)?)
    };
    // SAFETY: promised by the caller.
    let copy = unsafe { packed(&out.kind.datatype, buf, count) }?;
    let bytes = Source::Bytes { pointer: copy.as_ptr(), length: copy.len() };
    // SAFETY: promised by the caller; the copy lives until both are complete.
    unsafe { both(&out, bytes, sendtag, &into, buf, count) }
}

/// Starts both halves and names them by a request, which keeps `copy`.
///
/// # Safety
/// Both buffers must hold their elements until the request is complete.
unsafe fn request_of_both(
    out: &Outgoing,
    source: Source,
    sendtag: i32,
    into: &Incoming,
    buffer: *mut c_void,
    count: i64,
    copy: Option<Vec<u8>>,
) -> Result<Handle> {
    if into.nobody && out.peer.is_none() {
        return Ok(COMPLETE_RECEIVE);
    }
    let extra = copy.map(|copy| Box::new(Extra { start: None, finish: None, keep: Some(Box::new(copy)) }));
    let lane = world::lane()?;
    let request = lane.with(|state| {
        let place = state.requests.place()?;
        // SAFETY: promised by the caller; the copy is kept with the request.
        let work = unsafe { begin(state, out, source, sendtag, into, buffer, count) };
        Ok(state.requests.fill(place, work, out.comm.handle(), extra))
    });
    lane.nudge();
    request
}

/// MPI_Isendrecv.
///
/// # Safety
/// As [`sendrecv`], until the request is complete.
pub unsafe fn isendrecv(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    dest: i32,
    sendtag: i32,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    source: i32,
    recvtag: i32,
    comm: Handle,
) -> Result<Handle> {
    // SAFETY: used until the operations are started.
    let (out, into) = unsafe {
        (
            outgoing(sendbuf, sendcount, sendtype, dest, sendtag, comm)?,
            incoming(recvbuf, recvcount, recvtype, source, recvtag, comm)?,
        )
    };
    let bytes = crate::datatypes::source(&out.kind.datatype, sendbuf, sendcount);
    // SAFETY: promised by the caller.
    unsafe { request_of_both(&out, bytes, sendtag, &into, recvbuf, recvcount, None) }
}

/// MPI_Isendrecv_replace.
///
/// # Safety
/// As [`sendrecv_replace`], until the request is complete.
pub unsafe fn isendrecv_replace(
    buf: *mut c_void,
    count: i64,
    datatype: Handle,
    dest: i32,
    sendtag: i32,
    source: i32,
    recvtag: i32,
    comm: Handle,
) -> Result<Handle> {
    // SAFETY: used until the operations are started.
    let (out, into) = unsafe {
        (outgoing(buf, count, datatype, dest, sendtag, comm)?, incoming(buf, count, datatype, source, recvtag, comm)?)
    };
    // SAFETY: promised by the caller.
    let copy = unsafe { packed(&out.kind.datatype, buf, count) }?;
    let bytes = Source::Bytes { pointer: copy.as_ptr(), length: copy.len() };
    // SAFETY: promised by the caller; the copy is kept with the request.
    unsafe { request_of_both(&out, bytes, sendtag, &into, buf, count, Some(copy)) }
}
