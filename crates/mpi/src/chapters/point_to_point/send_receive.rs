//! Combined sends and receives (MPI 5.0, section 3.10).

use std::ffi::c_void;

use towpath_base::transfer::Source;
use towpath_engine::Mode;
use towpath_neutral::abi::{Handle, Status};
use towpath_neutral::error::{Completed, Failed, Result};

use super::{ReceiveArguments, SendArguments, completed, incoming, outgoing};
use crate::objects::datatype::packed;
use crate::progress;
use crate::progress::request_table::{COMPLETE_RECEIVE, Extra, FROM_NOBODY, RequestWork};
use crate::progress::state::State;
use crate::progress::wait_target::WaitTarget;

/// A send and a receive whose arguments are checked, before they are started.
struct Halves<'a> {
    out: SendArguments<'a>,
    /// Where the bytes to send are.
    source: Source,
    sendtag: i32,
    into: ReceiveArguments<'a>,
    buffer: *mut c_void,
    count: i64,
}

impl Halves<'_> {
    /// Starts both operations.
    ///
    /// # Safety
    /// The buffers, or the copy of the send buffer, must live until the work is complete.
    #[inline(always)]
    unsafe fn begin(self, state: &mut State) -> RequestWork {
        let Halves { out, source, sendtag, into, buffer, count } = self;
        // SAFETY: `target` covers the receive buffer, which lives until the work is complete (this
        // function's contract).
        let receive = (!into.nobody).then(|| unsafe {
            let target = towpath_datatype::target(&into.kind.datatype, buffer.cast(), count);
            state.engine.irecv(into.peer, into.comm.context(), into.tag, target)
        });
        // SAFETY: `source` reads the send buffer or its copy, which lives until the work is
        // complete (this function's contract).
        let send = out.peer.map(|peer| unsafe {
            state.engine.isend(peer, out.comm.context(), sendtag, out.comm.rank as u32, source, Mode::Standard)
        });
        match (send, receive) {
            (Some(send), receive) => RequestWork::Both(send, receive),
            (None, Some(receive)) => RequestWork::Receive(receive),
            (None, None) => RequestWork::Done(FROM_NOBODY),
        }
    }

    /// Starts both operations and waits for them.
    ///
    /// # Safety
    /// The buffers, or the copy of the send buffer, must live until this returns.
    unsafe fn complete(self) -> Completed<Status> {
        let (worker, comm, context) = (progress::worker()?, self.out.comm.handle(), self.out.comm.context());
        // SAFETY: the buffers live until this function returns (its contract), which waits for both
        // operations.
        let work = worker.with(|state| unsafe { self.begin(state) });
        worker.nudge();
        let (send, receive) = match work {
            RequestWork::Both(send, receive) => (Some(send), receive),
            RequestWork::Receive(receive) => (None, Some(receive)),
            _ => (None, None),
        };
        let wait = |id| worker.wait_for(|_| WaitTarget::Message(context, id), |state| state.engine.take(id));
        let (received, sent) = (receive.map(wait), send.map(wait));
        let received = received.map_or(Ok(FROM_NOBODY), |received| completed(comm, &received));
        match (sent.map(|sent| completed(comm, &sent)), received) {
            (Some(Err(failed)), Ok(status)) => Err(Failed::with(failed.into(), status)),
            (_, received) => received,
        }
    }

    /// Starts both operations and creates a request for them, which keeps the copy alive.
    ///
    /// # Safety
    /// The buffers must live until the request is complete.
    unsafe fn request(self, copy: Option<Vec<u8>>) -> Result<Handle> {
        if self.into.nobody && self.out.peer.is_none() {
            return Ok(COMPLETE_RECEIVE);
        }
        let extra = copy.map(|copy| Box::new(Extra { start: None, finish: None, keep: Some(Box::new(copy)) }));
        let worker = progress::worker()?;
        let request = worker.with(|state| {
            let place = state.requests.place()?;
            let comm = self.out.comm.handle();
            // SAFETY: the buffers live until the request is complete (this function's contract),
            // and the request owns the copy.
            let work = unsafe { self.begin(state) };
            Ok(state.requests.fill(place, work, comm, extra))
        });
        worker.nudge();
        request
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
    // SAFETY: the references are not used after the operations are started.
    let (out, into) = unsafe {
        (
            outgoing(sendbuf, sendcount, sendtype, dest, sendtag, comm)?,
            incoming(recvbuf, recvcount, recvtype, source, recvtag, comm)?,
        )
    };
    // SAFETY: `sendbuf` and `recvbuf` hold their elements until this function returns (its
    // contract).
    unsafe {
        let source = towpath_datatype::source(&out.kind.datatype, sendbuf.cast(), sendcount);
        Halves { out, source, sendtag, into, buffer: recvbuf, count: recvcount }.complete()
    }
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
    // SAFETY: the references are not used after the operations are started.
    let (out, into) = unsafe {
        (outgoing(buf, count, datatype, dest, sendtag, comm)?, incoming(buf, count, datatype, source, recvtag, comm)?)
    };
    // SAFETY: `buf` holds `count` elements (this function's contract), and `outgoing` has checked
    // the count.
    let copy = unsafe { packed(&out.kind.datatype, buf, count) }?;
    let source = Source::Bytes { pointer: copy.as_ptr(), length: copy.len() };
    let halves = Halves { out, source, sendtag, into, buffer: buf, count };
    // SAFETY: `buf` holds `count` elements until this function returns (its contract), and `copy`
    // is dropped only then.
    unsafe { halves.complete() }
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
    // SAFETY: the references are not used after the operations are started.
    let (out, into) = unsafe {
        (
            outgoing(sendbuf, sendcount, sendtype, dest, sendtag, comm)?,
            incoming(recvbuf, recvcount, recvtype, source, recvtag, comm)?,
        )
    };
    // SAFETY: `sendbuf` and `recvbuf` hold their elements until the request is complete (this
    // function's contract).
    unsafe {
        let source = towpath_datatype::source(&out.kind.datatype, sendbuf.cast(), sendcount);
        Halves { out, source, sendtag, into, buffer: recvbuf, count: recvcount }.request(None)
    }
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
    // SAFETY: the references are not used after the operations are started.
    let (out, into) = unsafe {
        (outgoing(buf, count, datatype, dest, sendtag, comm)?, incoming(buf, count, datatype, source, recvtag, comm)?)
    };
    // SAFETY: `buf` holds `count` elements (this function's contract), and `outgoing` has checked
    // the count.
    let copy = unsafe { packed(&out.kind.datatype, buf, count) }?;
    let source = Source::Bytes { pointer: copy.as_ptr(), length: copy.len() };
    let halves = Halves { out, source, sendtag, into, buffer: buf, count };
    // SAFETY: `buf` holds `count` elements until the request is complete (this function's
    // contract), and the request owns `copy`.
    unsafe { halves.request(Some(copy)) }
}
