//! Argument checks of collective calls.

use std::ffi::c_void;
use std::sync::Arc;

use towpath_collective::inter::RootSide;
use towpath_collective::{Blocks, Buffer};
use towpath_neutral::abi::{Handle, Integers};
use towpath_neutral::constants::*;
use towpath_neutral::error::{Result, fail};

use crate::chapters::datatypes;
use crate::objects::comm::Comm;
use crate::objects::datatype::Type;
use crate::process::devices;

/// The names of the arguments that describe one buffer, for error messages.
#[derive(Clone, Copy)]
pub struct ArgumentNames {
    pub(crate) buffer: &'static str,
    pub(crate) count: &'static str,
    pub(crate) displacements: &'static str,
    pub(crate) datatype: &'static str,
}

/// The send side.
pub(super) const SEND: ArgumentNames =
    ArgumentNames { buffer: "sendbuf", count: "sendcount", displacements: "sdispls", datatype: "sendtype" };
/// The receive side.
pub(super) const RECEIVE: ArgumentNames =
    ArgumentNames { buffer: "recvbuf", count: "recvcount", displacements: "rdispls", datatype: "recvtype" };
/// A buffer whose count and datatype hold for the whole call, as in MPI_Bcast.
pub(crate) const BUFFER: ArgumentNames =
    ArgumentNames { buffer: "buffer", count: "count", displacements: "", datatype: "datatype" };

/// True if the buffer is MPI_IN_PLACE.
pub(super) fn is_in_place(buffer: *const c_void) -> bool {
    buffer as usize == IN_PLACE
}

/// Looks up a datatype, which must be committed. The reference may be used only until the call is
/// started; the elements made from it share the datatype.
pub(super) fn datatype<'a>(handle: Handle, name: &str) -> Result<&'a Arc<Type>> {
    // SAFETY: the reference is used only while arguments are checked, before anything is started.
    let kind = unsafe { datatypes::borrow(handle, name) }?;
    if !kind.committed() {
        fail!(ERR_TYPE, "argument {name} is not committed; call MPI_Type_commit first");
    }
    Ok(kind)
}

/// Checks a count and the buffer that holds `count` elements.
pub(crate) fn check(pointer: *const c_void, count: i64, kind: &Type, names: ArgumentNames) -> Result<()> {
    if !kind.can_have(count) {
        return datatypes::bad_count(count, kind, names.count);
    }
    if is_in_place(pointer) {
        fail!(ERR_BUFFER, "argument {} is MPI_IN_PLACE, which is not allowed here", names.buffer);
    }
    if pointer.is_null() && count > 0 && kind.needs_buffer() {
        fail!(ERR_BUFFER, "argument {} is NULL, but {} is {count}; pass a buffer", names.buffer, names.count);
    }
    Ok(())
}

/// Reads `number` values of an array of ints or counts. The array is called `name` followed by
/// `ending`.
///
/// # Safety
/// Unless it is NULL, the array must have `number` elements.
pub(super) unsafe fn read(array: Integers, number: usize, name: &str, ending: &str) -> Result<Box<[i64]>> {
    if array.is_null() && number > 0 {
        fail!(ERR_ARG, "the array {name}{ending} is NULL; pass an array of {number} elements");
    }
    devices::refuse(array.address() as *const c_void, format_args!("{name}{ending}"))?;
    // SAFETY: the array is NULL or has `number` elements (this function's contract).
    let array = unsafe { array.with_length(number as i64) };
    Ok((0..number).map(|index| array.get(index)).collect())
}

/// Reads `number` counts and rejects negative ones.
///
/// # Safety
/// Same as for [`read`].
pub(super) unsafe fn counts(array: Integers, number: usize, name: &str) -> Result<Box<[i64]>> {
    // SAFETY: the array is NULL or has `number` elements (this function's contract).
    let counts = unsafe { read(array, number, name, "s") }?;
    if let Some(index) = counts.iter().position(|&count| count < 0) {
        fail!(ERR_COUNT, "element {index} of {name}s is {}; it must not be negative", counts[index]);
    }
    Ok(counts)
}

/// Rejects buffers that share bytes (6.2) if both begin at the same address. Other overlaps are not
/// detected.
#[inline]
pub(super) fn apart(send: &Blocks, sends: usize, receive: &Blocks, receives: usize) -> Result<()> {
    let may = send.pointer() == receive.pointer() && !send.pointer().is_null() && sends > 0 && receives > 0;
    if may && send.overlaps(sends, receive, receives) {
        return aliased();
    }
    Ok(())
}

/// Like [`apart`], for one buffer and the blocks of all ranks.
#[inline]
pub(super) fn apart_from(own: &Buffer, all: &Blocks, number: usize) -> Result<()> {
    let may = own.pointer == all.pointer() && !own.pointer.is_null() && number > 0;
    if may && own.overlaps(all, number) {
        return aliased();
    }
    Ok(())
}

/// The error for buffers that share bytes.
#[cold]
pub(crate) fn aliased<T>() -> Result<T> {
    fail!(
        ERR_BUFFER,
        "the send buffer and the receive buffer begin at the same address and overlap; pass different buffers, or \
         MPI_IN_PLACE where the function allows it"
    )
}

/// The root of a call on an intracommunicator.
pub(super) fn root(comm: &Comm, root: i32) -> Result<usize> {
    let ranks = comm.group.peers.len();
    match usize::try_from(root) {
        Ok(rank) if rank < ranks => Ok(rank),
        _ => fail!(ERR_ROOT, "argument root is {root}, but the communicator has ranks 0 to {}", ranks - 1),
    }
}

/// The role of this rank in a rooted call on an intercommunicator.
pub(super) fn side(comm: &Comm, root: i32) -> Result<RootSide> {
    let ranks = comm.targets().len();
    match root {
        ROOT => Ok(RootSide::Root),
        PROC_NULL => Ok(RootSide::Idle),
        _ if root >= 0 && (root as usize) < ranks => Ok(RootSide::Leaf { root: root as usize }),
        _ => fail!(
            ERR_ROOT,
            "argument root is {root}; on an intercommunicator it is MPI_ROOT, MPI_PROC_NULL or a rank of the remote \
             group, 0 to {}",
            ranks - 1
        ),
    }
}
