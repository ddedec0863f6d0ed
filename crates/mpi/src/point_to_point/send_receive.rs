//! Combined sends and receives (MPI 5.0, section 3.10).

use std::ffi::c_void;

use towpath_base::transfer::Source;
use towpath_engine::Mode;

use super::{Incoming, Outgoing, completed, incoming, outgoing};
use crate::datatypes::packed;
use crate::error::{Completed, Failed, Result};
use crate::face::{Handle, Status};
use crate::request_table::{COMPLETE_RECEIVE, Extra, FROM_NOBODY, Work};
use crate::world;

/// Starts both halves; the send takes its bytes from `source`.
unsafe fn begin(
    out: &Outgoing,
    source: Source,
    sendtag: i32,
    into: &Incoming,
    buffer: *mut c_void,
    count: i64,
) -> Result<Work> {
    let target = crate::datatypes::target(&into.kind.datatype, buffer, count);
    let lane = world::lane()?;
    let work = lane.with(|state| {
        // SAFETY: the program lends both buffers until the operation is complete.
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
    });
    lane.nudge();
    Ok(work)
}

/// Waits for both halves.
fn finish(work: Work, comm: &std::sync::Arc<crate::comm::Comm>) -> Completed<Status> {
    let lane = world::lane()?;
    let (send, receive) = match work {
        Work::Both(send, receive) => (Some(send), receive),
        Work::Receive(receive) => (None, Some(receive)),
        _ => (None, None),
    };
    let received = receive.map(|id| lane.wait_for(|state| state.engine.take(id)));
    let sent = send.map(|id| lane.wait_for(|state| state.engine.take(id)));
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
    let out = outgoing(sendbuf, sendcount, sendtype, dest, sendtag, comm)?;
    let into = incoming(recvbuf, recvcount, recvtype, source, recvtag, comm)?;
    let bytes = crate::datatypes::source(&out.kind.datatype, sendbuf, sendcount);
    // SAFETY: promised by the caller, and waited for here.
    let work = unsafe { begin(&out, bytes, sendtag, &into, recvbuf, recvcount) }?;
    finish(work, out.comm)
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
    let out = outgoing(buf, count, datatype, dest, sendtag, comm)?;
    let into = incoming(buf, count, datatype, source, recvtag, comm)?;
    // SAFETY: promised by the caller.
    let copy = unsafe { packed(&out.kind.datatype, buf, count) }?;
    let bytes = Source::Bytes { pointer: copy.as_ptr(), length: copy.len() };
    // SAFETY: promised by the caller; the copy lives until both are complete.
    let work = unsafe { begin(&out, bytes, sendtag, &into, buf, count) }?;
    finish(work, out.comm)
}

fn request_for(work: Work, comm: Handle, keep: Option<Vec<u8>>) -> Result<Handle> {
    match work {
        Work::Done(_) => Ok(COMPLETE_RECEIVE),
        work => {
            let extra = keep.map(|copy| Box::new(Extra { start: None, finish: None, keep: Some(Box::new(copy)) }));
            world::lane()?.with(|state| state.requests.add(work, comm, extra))
        }
    }
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
    let out = outgoing(sendbuf, sendcount, sendtype, dest, sendtag, comm)?;
    let into = incoming(recvbuf, recvcount, recvtype, source, recvtag, comm)?;
    let bytes = crate::datatypes::source(&out.kind.datatype, sendbuf, sendcount);
    // SAFETY: promised by the caller.
    let work = unsafe { begin(&out, bytes, sendtag, &into, recvbuf, recvcount) }?;
    request_for(work, comm, None)
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
    let out = outgoing(buf, count, datatype, dest, sendtag, comm)?;
    let into = incoming(buf, count, datatype, source, recvtag, comm)?;
    // SAFETY: promised by the caller.
    let copy = unsafe { packed(&out.kind.datatype, buf, count) }?;
    let bytes = Source::Bytes { pointer: copy.as_ptr(), length: copy.len() };
    // SAFETY: promised by the caller; the copy is kept with the request.
    let work = unsafe { begin(&out, bytes, sendtag, &into, buf, count) }?;
    request_for(work, comm, Some(copy))
}
