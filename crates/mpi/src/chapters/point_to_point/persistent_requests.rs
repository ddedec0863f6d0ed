//! Persistent sends and receives (MPI 5.0, section 3.9).

use std::ffi::c_void;

use towpath_engine::Mode;
use towpath_neutral::abi::Handle;
use towpath_neutral::error::Result;

use super::{ReceiveArguments, SendArguments, by_mode, incoming, outgoing};
use crate::chapters::persistent::{create, nothing};
use crate::objects::persistent::{PersistentMessage, Start};

/// Creates a persistent send.
///
/// # Safety
/// `buffer` must hold `count` elements of `datatype` whenever the request is active.
unsafe fn prepared(
    start: impl FnOnce(PersistentMessage) -> Start,
    buffer: *const c_void,
    count: i64,
    datatype: Handle,
    dest: i32,
    tag: i32,
    comm: Handle,
) -> Result<Handle> {
    // SAFETY: `comm` and `kind` are only cloned, and `buffer` holds `count` elements whenever the
    // request is active (this function's contract).
    let SendArguments { comm, kind, elements, peer } = unsafe { outgoing(buffer, count, datatype, dest, tag, comm) }?;
    if peer.is_none() {
        return create(nothing(false), comm.handle());
    }
    let message = PersistentMessage { comm: comm.clone(), elements, kind: kind.clone(), peer, tag: Some(tag) };
    create(start(message), comm.handle())
}

by_mode! {
    /// MPI_Send_init.
    ///
    /// # Safety
    /// `buf` must hold `count` elements of `datatype` whenever the request is active.
    send_init: prepared(|message| Start::Send(message, Mode::Standard)) -> Handle;

    /// MPI_Ssend_init.
    ///
    /// # Safety
    /// Same as for [`send_init`].
    ssend_init: prepared(|message| Start::Send(message, Mode::Synchronous)) -> Handle;

    /// MPI_Rsend_init.
    ///
    /// # Safety
    /// Same as for [`send_init`].
    rsend_init: prepared(|message| Start::Send(message, Mode::Ready)) -> Handle;

    /// MPI_Bsend_init.
    ///
    /// # Safety
    /// Same as for [`send_init`].
    bsend_init: prepared(Start::Buffered) -> Handle;
}

/// MPI_Recv_init.
///
/// # Safety
/// `buf` must have room for `count` elements of `datatype` whenever the request is active.
pub unsafe fn recv_init(
    buf: *mut c_void,
    count: i64,
    datatype: Handle,
    source: i32,
    tag: i32,
    comm: Handle,
) -> Result<Handle> {
    // SAFETY: `comm` and `kind` are only cloned, and `buf` has room for `count` elements whenever
    // the request is active (this function's contract).
    let ReceiveArguments { comm, kind, elements, peer, tag, nobody } =
        unsafe { incoming(buf, count, datatype, source, tag, comm) }?;
    if nobody {
        return create(nothing(true), comm.handle());
    }
    let message = PersistentMessage { comm: comm.clone(), elements, kind: kind.clone(), peer, tag };
    create(Start::Receive(message), comm.handle())
}
