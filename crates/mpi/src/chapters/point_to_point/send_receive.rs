//! Combined sends and receives (MPI 5.0, section 3.10).

use std::ffi::c_void;

use towpath_base::transfer::Source;
use towpath_engine::Mode;
use towpath_neutral::abi::{Handle, Status};
use towpath_neutral::error::{Completed, Failed, Result};

use super::{ReceiveArguments, SendArguments, completed, incoming, outgoing};
use crate::progress;
use crate::progress::request_table::{COMPLETE_RECEIVE, Extra, FROM_NOBODY, RequestWork};
use crate::progress::state::State;
use crate::progress::wait_target::WaitTarget;

/// The arguments of one half, except the communicator: buffer, count, datatype, destination or
/// source, and tag.
type HalfArguments = (*const c_void, i64, Handle, i32, i32);

/// A send and a receive whose arguments are checked, before they are started.
struct Halves<'a> {
    out: SendArguments<'a>,
    /// The packed copy that is sent instead of the elements, if the receive replaces these.
    /// Invariant: dropped only after the send is complete.
    copy: Option<Vec<u8>>,
    sendtag: i32,
    into: ReceiveArguments<'a>,
}

impl<'a> Halves<'a> {
    /// Looks up and checks the arguments of both halves.
    ///
    /// # Safety
    /// Same as for [`outgoing`] and [`incoming`].
    #[inline(always)]
    unsafe fn checked(send: HalfArguments, receive: HalfArguments, comm: Handle) -> Result<Halves<'a>> {
        let (sendbuf, sendcount, sendtype, dest, sendtag) = send;
        let (recvbuf, recvcount, recvtype, source, recvtag) = receive;
        // SAFETY: the buffers hold their elements until both operations are complete, and the
        // references are not used after these are started (this function's contract).
        let (out, into) = unsafe {
            (
                outgoing(sendbuf, sendcount, sendtype, dest, sendtag, comm)?,
                incoming(recvbuf, recvcount, recvtype, source, recvtag, comm)?,
            )
        };
        Ok(Halves { out, copy: None, sendtag, into })
    }

    /// Makes the send use a copy of the elements, since the receive replaces them.
    fn with_copy(self) -> Result<Halves<'a>> {
        Ok(Halves { copy: Some(self.out.elements.packed()?), ..self })
    }

    /// Starts both operations.
    #[inline(always)]
    fn begin(&self, state: &mut State) -> RequestWork {
        let Halves { out, copy, sendtag, into } = self;
        let engine = &mut state.engine;
        let receive = (!into.nobody).then(|| into.elements.irecv(engine, into.comm, into.peer, into.tag));
        let send = out.peer.map(|peer| match copy {
            None => out.elements.isend(engine, out.comm, peer, *sendtag, Mode::Standard),
            Some(copy) => {
                let source = Source::Bytes { pointer: copy.as_ptr(), length: copy.len() };
                let (context, rank) = (out.comm.context(), out.comm.rank as u32);
                // SAFETY: `source` reads the copy, which lives until the send is complete
                // (invariant of `Halves`).
                unsafe { engine.isend(peer, context, *sendtag, rank, source, Mode::Standard) }
            }
        });
        match (send, receive) {
            (Some(send), receive) => RequestWork::Both(send, receive),
            (None, Some(receive)) => RequestWork::Receive(receive),
            (None, None) => RequestWork::Done(FROM_NOBODY),
        }
    }

    /// Starts both operations and waits for them.
    fn complete(self) -> Completed<Status> {
        let (worker, comm, context) = (progress::worker()?, self.out.comm.handle(), self.out.comm.context());
        let work = worker.with(|state| self.begin(state));
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
    fn request(mut self) -> Result<Handle> {
        if self.into.nobody && self.out.peer.is_none() {
            return Ok(COMPLETE_RECEIVE);
        }
        let worker = progress::worker()?;
        let request = worker.with(|state| {
            let entry = state.requests.reserve()?;
            let comm = self.out.comm.handle();
            let work = self.begin(state);
            let extra =
                self.copy.take().map(|copy| Box::new(Extra { start: None, finish: None, keep: Some(Box::new(copy)) }));
            Ok(state.requests.fill(entry, work, comm, extra))
        });
        worker.nudge();
        request
    }
}

/// Functions that differ only in how the program learns of the completion.
macro_rules! by_completion {
    ($($(#[$about:meta])+ $name:ident: $how:ident -> $result:ty;)+) => {$(
        $(#[$about])+
        pub unsafe fn $name(
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
        ) -> $result {
            let send = (sendbuf, sendcount, sendtype, dest, sendtag);
            let receive = (recvbuf.cast_const(), recvcount, recvtype, source, recvtag);
            // SAFETY: `sendbuf` and `recvbuf` hold their elements until both operations are
            // complete (this function's contract). The references are not used after these are
            // started.
            unsafe { Halves::checked(send, receive, comm) }?.$how()
        }
    )+};
}

by_completion! {
    /// MPI_Sendrecv.
    ///
    /// # Safety
    /// The buffers must hold their elements and not overlap.
    sendrecv: complete -> Completed<Status>;

    /// MPI_Isendrecv.
    ///
    /// # Safety
    /// Same as for [`sendrecv`], until the request is complete.
    isendrecv: request -> Result<Handle>;
}

/// Like `by_completion`, for functions that send a copy of the elements that they replace.
macro_rules! replacing {
    ($($(#[$about:meta])+ $name:ident: $how:ident -> $result:ty;)+) => {$(
        $(#[$about])+
        pub unsafe fn $name(
            buf: *mut c_void,
            count: i64,
            datatype: Handle,
            dest: i32,
            sendtag: i32,
            source: i32,
            recvtag: i32,
            comm: Handle,
        ) -> $result {
            let buf = buf.cast_const();
            let (send, receive) = ((buf, count, datatype, dest, sendtag), (buf, count, datatype, source, recvtag));
            // SAFETY: `buf` holds `count` elements until both operations are complete (this
            // function's contract). The references are not used after these are started.
            unsafe { Halves::checked(send, receive, comm) }?.with_copy()?.$how()
        }
    )+};
}

replacing! {
    /// MPI_Sendrecv_replace.
    ///
    /// # Safety
    /// `buf` must hold `count` elements of `datatype`.
    sendrecv_replace: complete -> Completed<Status>;

    /// MPI_Isendrecv_replace.
    ///
    /// # Safety
    /// Same as for [`sendrecv_replace`], until the request is complete.
    isendrecv_replace: request -> Result<Handle>;
}
