//! Argument checks of collective calls. They return the buffers and blocks that plans are built
//! from.

use std::ffi::c_void;
use std::sync::Arc;

use towpath_collective::inter::RootSide;
use towpath_collective::{Blocks, Buffer};
use towpath_neutral::abi::{Handle, HandleArray, Integers};
use towpath_neutral::constants::*;
use towpath_neutral::error::{Result, fail};

use crate::chapters::datatypes;
use crate::objects::comm::Comm;
use crate::objects::datatype::Type;

/// The names of the arguments that describe one buffer, for error messages.
#[derive(Clone, Copy)]
pub(crate) struct ArgumentNames {
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

/// The datatype of `count` elements: MPI_BYTE instead of MPI_DATATYPE_NULL or an uncommitted
/// datatype if the count is zero. MPICH and Intel MPI accept these in MPI_Bcast, MPI_Alltoallw and
/// most neighbourhood calls.
pub(super) fn of_elements(count: i64, handle: Handle) -> Handle {
    let unusable = || datatypes::lookup(handle, "datatype").is_ok_and(|kind| !kind.committed());
    if count == 0 && (handle == DATATYPE_NULL || unusable()) { BYTE } else { handle }
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

/// A buffer of `count` elements.
pub(super) fn buffer(pointer: *const c_void, count: i64, handle: Handle, names: ArgumentNames) -> Result<Buffer> {
    let kind = datatype(handle, names.datatype)?;
    check(pointer, count, kind, names)?;
    Ok(Buffer { pointer: pointer.cast_mut().cast(), count, element: kind.element_at(pointer, count) })
}

/// `number` blocks of `count` elements each.
#[inline(always)]
pub(super) fn blocks(
    pointer: *const c_void,
    count: i64,
    handle: Handle,
    number: usize,
    names: ArgumentNames,
) -> Result<Blocks> {
    let kind = datatype(handle, names.datatype)?;
    check(pointer, count, kind, names)?;
    if !count.checked_mul(number as i64).is_some_and(|all| kind.can_have(all)) {
        return too_many(count, number, names);
    }
    Ok(Blocks::Equal { pointer: pointer.cast_mut().cast(), count, element: kind.element_at(pointer, count) })
}

#[cold]
fn too_many<T>(count: i64, number: usize, names: ArgumentNames) -> Result<T> {
    fail!(
        ERR_COUNT,
        "argument {} is {count}; {number} blocks of that many elements do not fit in a signed 64-bit address",
        names.count
    )
}

/// Reads `number` values of an array of ints or counts. The array is called `name` followed by
/// `ending`.
///
/// # Safety
/// Unless it is NULL, the array must have `number` elements.
unsafe fn read(array: Integers, number: usize, name: &str, ending: &str) -> Result<Box<[i64]>> {
    if array.is_null() && number > 0 {
        fail!(ERR_ARG, "the array {name}{ending} is NULL; pass an array of {number} elements");
    }
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

/// Rejects blocks whose total length does not fit in 63 bits.
fn check_sum(mut bytes: impl Iterator<Item = i64>, names: ArgumentNames) -> Result<()> {
    if bytes.try_fold(0i64, i64::checked_add).is_none() {
        fail!(ERR_COUNT, "the blocks of {}s together have more than 2^63 - 1 bytes", names.count);
    }
    Ok(())
}

/// Rejects a block whose end does not fit in a 63-bit offset from the buffer. `offset` is that of
/// its first element; `None` if it overflows. The displacement of an empty block has no meaning.
fn check_offset(offset: Option<i64>, count: i64, kind: &Type, index: usize, names: ArgumentNames) -> Result<()> {
    let (first, length) = kind.datatype.span(count);
    let end = offset.and_then(|offset| offset.checked_add(first)?.checked_add(length));
    if end.is_none() && count > 0 && kind.datatype.size() > 0 {
        fail!(ERR_ARG, "element {index} of {} leads to an address beyond 63 bits", names.displacements);
    }
    Ok(())
}

/// Blocks with counts and displacements.
///
/// # Safety
/// The arrays must have `number` elements.
pub(super) unsafe fn varying(
    pointer: *const c_void,
    sizes: Integers,
    displacements: Integers,
    handle: Handle,
    number: usize,
    names: ArgumentNames,
) -> Result<Blocks> {
    let kind = datatype(handle, names.datatype)?;
    // SAFETY: the arrays have `number` elements (this function's contract).
    let (counts, displacements) =
        unsafe { (counts(sizes, number, names.count)?, read(displacements, number, names.displacements, "")?) };
    check(pointer, counts.iter().copied().max().unwrap_or(0), kind, names)?;
    check_sum(counts.iter().map(|&count| kind.datatype.bytes(count)), names)?;
    for (index, &count) in counts.iter().enumerate() {
        check_offset(displacements[index].checked_mul(kind.datatype.extent()), count, kind, index, names)?;
    }
    let first = (0..number).find(|&index| counts[index] > 0);
    let offset = first.map_or(0, |index| displacements[index].wrapping_mul(kind.datatype.extent()));
    let element = kind.element_at(pointer.wrapping_byte_offset(offset as isize), first.map_or(0, |_| 1));
    Ok(Blocks::Varying { pointer: pointer.cast_mut().cast(), counts, displacements, element })
}

/// Blocks with counts, displacements in bytes, and a datatype for each block.
///
/// # Safety
/// The arrays must have `number` elements.
pub(super) unsafe fn mixed(
    pointer: *const c_void,
    sizes: Integers,
    displacements: Integers,
    types: HandleArray,
    number: usize,
    names: ArgumentNames,
) -> Result<Blocks> {
    if types.is_null() && number > 0 {
        fail!(ERR_ARG, "the array {}s is NULL; pass an array of {number} datatypes", names.datatype);
    }
    // SAFETY: the arrays have `number` elements (this function's contract).
    let (counts, displacements, types) = unsafe {
        (
            counts(sizes, number, names.count)?,
            read(displacements, number, names.displacements, "")?,
            types.with_length(number as i64),
        )
    };
    // Displacements are in bytes, so NULL (MPI_BOTTOM) with absolute addresses is a valid buffer.
    let address = if pointer.is_null() { std::ptr::without_provenance(usize::MAX) } else { pointer };
    let (mut elements, mut bytes) = (Vec::with_capacity(number), Vec::with_capacity(number));
    for (index, &count) in counts.iter().enumerate() {
        let handle = of_elements(count, types.get(index));
        let kind = datatype(handle, &format!("{}s[{index}]", names.datatype))?;
        check(address, count, kind, names)?;
        check_offset(Some(displacements[index]), count, kind, index, names)?;
        bytes.push(kind.datatype.bytes(count));
        elements.push(kind.element_at(pointer.wrapping_byte_offset(displacements[index] as isize), count));
    }
    check_sum(bytes.into_iter(), names)?;
    Ok(Blocks::Mixed { pointer: pointer.cast_mut().cast(), counts, displacements, elements: elements.into() })
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
