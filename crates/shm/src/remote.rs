//! Access to registered memory of other ranks, and of this one: copied directly if it is in the
//! heaps, which all ranks map, and otherwise by the kernel from process to process
//! (`process_vm_readv` and `process_vm_writev`).
//!
//! An access is complete when its call returns. It never waits for the owner.

use towpath_base::sync::Ordering;
use towpath_machine::memory::{read_process_into, write_process_from};
use towpath_transport::{AccessError, AccessResult, MemoryKey, RemoteRange, copy};

use super::registered::{MemoryAccess, RegisteredRange, access_word, row};
use super::segment::Segment;

/// Maximum bytes of one copy by the kernel, which copies less than 2 GiB in a call.
const PIECE: usize = 1 << 30;

/// The memory of the origin, and with it the direction of the access.
#[derive(Clone, Copy)]
pub(crate) enum LocalSide {
    Put(*const u8),
    Get(*mut u8),
}

/// How this process reaches memory.
enum AccessPath {
    /// It is mapped here.
    Mapped(*mut u8),
    /// At this address of another process.
    Process { pid: u32, address: u64 },
}

/// Performs a put or a get.
///
/// # Safety
/// The memory of `local` must be readable (put) or writable (get) for `range.length` bytes and must
/// not overlap the range.
pub(crate) unsafe fn access(
    segment: &Segment,
    owner: u32,
    range: RemoteRange,
    local: LocalSide,
) -> AccessResult {
    let RemoteRange { key: MemoryKey([name, mark]), offset, length } = range;
    let own = segment.own_rank() as u32;
    let row = row(segment, owner, name).ok_or(AccessError::BadKey)?;
    let access = MemoryAccess::begin(access_word(segment, own), &row, owner, name)
        .ok_or(AccessError::BadKey)?;
    let registered = &access.memory;
    if registered.mark.value != mark {
        return Err(AccessError::BadKey);
    }
    if offset.checked_add(length).is_none_or(|end| end > registered.length) {
        return Err(AccessError::OutOfRange);
    }
    match path_to(segment, owner, registered).ok_or(AccessError::NotOffered)? {
        AccessPath::Mapped(memory) => {
            // SAFETY: `memory` is mapped for the registered length, which is at least `offset +
            // length`. It stays registered, and so readable and writable (the contract of
            // `MemoryWire::register`), until `access` ends. The other memory is valid and does not
            // overlap (this function's contract).
            unsafe { copy_mapped(memory.add(offset), local, length) };
            Ok(())
        }
        AccessPath::Process { pid, address } => {
            // SAFETY: the memory of `local` is valid for `length` bytes (this function's
            // contract).
            unsafe { copy_across_processes(pid, address + offset as u64, local, length) }
        }
    }
}

/// How this process reaches registered memory; `None` if it does not.
fn path_to(segment: &Segment, owner: u32, registered: &RegisteredRange) -> Option<AccessPath> {
    if owner as usize == segment.own_rank() {
        return Some(AccessPath::Mapped(registered.address as *mut u8));
    }
    let mapped = registered.heap.and_then(|offset| segment.heap_address(offset));
    if let Some(memory) =
        mapped.filter(|&memory| segment.in_heaps(memory, registered.length).is_some())
    {
        return Some(AccessPath::Mapped(memory));
    }
    // The mark is read each time: the owner may have died since, and its PID may be another
    // process's.
    let pid = segment.control(owner as usize).pid.load(Ordering::Relaxed);
    (pid != 0 && registered.mark.is_of(pid))
        .then_some(AccessPath::Process { pid, address: registered.address })
}

/// # Safety
/// Both sides must be valid for `length` bytes and must not overlap.
unsafe fn copy_mapped(memory: *mut u8, local: LocalSide, length: usize) {
    // SAFETY: both sides are valid for `length` bytes without overlap (this function's contract).
    unsafe {
        match local {
            LocalSide::Put(from) => copy::contiguous(from, memory, length),
            LocalSide::Get(to) => copy::contiguous(memory, to, length),
        }
    }
}

/// # Safety
/// The memory of `local` must be valid for `length` bytes.
unsafe fn copy_across_processes(
    pid: u32,
    address: u64,
    local: LocalSide,
    length: usize,
) -> AccessResult {
    for at in (0..length).step_by(PIECE) {
        let (there, piece) = (address + at as u64, PIECE.min(length - at));
        // SAFETY: the piece ends within `length` bytes, for which the memory is valid (this
        // function's contract).
        let copied = unsafe {
            match local {
                LocalSide::Put(from) => write_process_from(pid, there, from.add(at), piece),
                LocalSide::Get(to) => read_process_into(pid, there, to.add(at), piece),
            }
        };
        copied.map_err(|_| AccessError::Failed)?;
    }
    Ok(())
}
