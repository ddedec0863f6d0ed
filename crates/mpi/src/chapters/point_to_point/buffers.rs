//! Buffered sends and attached buffers (MPI 5.0, sections 3.4 and 3.6).

use std::ffi::c_void;

use towpath_neutral::abi::Handle;
use towpath_neutral::error::{Result, fail};

use super::{SendArguments, buffered, by_mode, outgoing};
use crate::objects::buffer::AttachedBuffer;
use crate::objects::registry::{self, OBJECTS};
use crate::process::devices;
use crate::progress;
use crate::progress::request_table::{COMPLETE, RequestWork};
use crate::progress::wait_target::WaitTarget;

/// Makes a buffered send, which is complete when this returns, and returns `result`.
///
/// # Safety
/// `buffer` must hold `count` elements of `datatype`.
unsafe fn send_copy<T>(
    result: T,
    buffer: *const c_void,
    count: i64,
    datatype: Handle,
    dest: i32,
    tag: i32,
    comm: Handle,
) -> Result<T> {
    // SAFETY: `buffer` holds `count` elements (this function's contract). They are used only until
    // the message is packed, and `comm` is cloned.
    let SendArguments { comm, elements, peer, .. } = unsafe { outgoing(buffer, count, datatype, dest, tag, comm) }?;
    peer.map_or(Ok(()), |peer| buffered::send(&comm.clone(), elements, peer, tag))?;
    Ok(result)
}

by_mode! {
    /// MPI_Bsend.
    ///
    /// # Safety
    /// `buf` must hold `count` elements of `datatype`.
    bsend: send_copy(()) -> ();

    /// MPI_Ibsend: the request is complete when this returns.
    ///
    /// # Safety
    /// Same as for [`bsend`].
    ibsend: send_copy(COMPLETE) -> Handle;
}

/// The object that a buffer is attached to.
enum Owner {
    Process,
    Comm(Handle),
    Session(Handle),
}

impl Owner {
    fn with<R>(&self, f: impl FnOnce(&mut Option<AttachedBuffer>) -> Result<R>) -> Result<R> {
        match *self {
            Owner::Process => f(&mut OBJECTS.buffer.lock().unwrap()),
            Owner::Comm(comm) => f(&mut registry::comm(comm)?.settings().buffer),
            Owner::Session(session) => match OBJECTS.sessions.share(session) {
                Some(session) => f(&mut session.buffer.lock().unwrap()),
                None => fail!(ERR_SESSION, "argument session ({}) is no session", session),
            },
        }
    }

    fn attach(&self, buffer: *mut c_void, size: i64) -> Result<()> {
        if size < 0 {
            fail!(ERR_ARG, "argument size is {size}; it must not be negative");
        }
        devices::refuse(buffer, format_args!("buffer"))?;
        self.with(|place| {
            if place.is_some() {
                fail!(ERR_BUFFER, "a buffer is attached already; detach it first");
            }
            *place = Some(AttachedBuffer::new(buffer, size));
            Ok(())
        })
    }

    /// True if no message is in flight, or no buffer is attached.
    fn is_flushed(&self) -> Result<bool> {
        self.with(|place| match place {
            Some(buffer) => Ok(progress::worker()?.with(|state| buffer.reclaim(state))),
            None => Ok(true),
        })
    }

    fn flush(&self) -> Result<()> {
        let worker = progress::worker()?;
        while !self.is_flushed()? {
            let ids = self.with(|place| Ok(place.as_ref().map_or_else(Vec::new, AttachedBuffer::under_way)))?;
            // A message that another thread has reclaimed meanwhile counts as complete.
            worker.wait_for(
                |_| WaitTarget::Other,
                |state| ids.iter().all(|id| state.engine.is_complete(*id)).then_some(()),
            );
        }
        Ok(())
    }

    fn detach(&self) -> Result<(*mut c_void, i64)> {
        self.with(|place| if place.is_some() { Ok(()) } else { fail!(ERR_BUFFER, "no buffer is attached") })?;
        loop {
            self.flush()?;
            if let Some(buffer) = self.take_flushed()? {
                return Ok((buffer.address as *mut c_void, buffer.size));
            }
        }
    }

    /// Takes the buffer; `None` if another thread has sent from it since it was flushed.
    fn take_flushed(&self) -> Result<Option<AttachedBuffer>> {
        let worker = progress::worker()?;
        self.with(|place| {
            let Some(buffer) = place else { fail!(ERR_BUFFER, "no buffer is attached") };
            let is_flushed = worker.with(|state| buffer.reclaim(state));
            Ok(if is_flushed { place.take() } else { None })
        })
    }

    /// A request for the messages in flight now.
    fn iflush(&self) -> Result<Handle> {
        self.with(|place| {
            let Some(buffer) = place else { return Ok(COMPLETE) };
            progress::worker()?.with(|state| match buffer.reclaim(state) {
                true => Ok(COMPLETE),
                false => state.requests.add(RequestWork::Flush(buffer.under_way()), Handle(0), None),
            })
        })
    }
}

/// Defines the calls of each kind of owner, MPI_Buffer_attach and its relatives.
macro_rules! calls {
    ($($attach:ident $detach:ident $flush:ident $iflush:ident: $owner:expr $(, $object:ident)?;)+) => {$(
        /// Attaches a buffer.
        pub fn $attach($($object: Handle,)? buffer: *mut c_void, size: i64) -> Result<()> {
            $owner.attach(buffer, size)
        }
        /// Waits until all messages in the buffer have been sent, and detaches it.
        pub fn $detach($($object: Handle)?) -> Result<(*mut c_void, i64)> {
            $owner.detach()
        }
        /// Waits until all messages in the buffer have been sent.
        pub fn $flush($($object: Handle)?) -> Result<()> {
            $owner.flush()
        }
        /// A request for the messages in flight now.
        pub fn $iflush($($object: Handle)?) -> Result<Handle> {
            $owner.iflush()
        }
    )+};
}
calls! {
    buffer_attach buffer_detach buffer_flush buffer_iflush: Owner::Process;
    comm_attach_buffer comm_detach_buffer comm_flush_buffer comm_iflush_buffer: Owner::Comm(comm), comm;
    session_attach_buffer session_detach_buffer session_flush_buffer session_iflush_buffer:
        Owner::Session(session), session;
}
