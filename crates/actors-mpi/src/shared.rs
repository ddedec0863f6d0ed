//! Memory that ranks of a host share: where an array is in it, and how a peer sees it.
//!
//! Towpath gives each rank a heap in one file of the host, which all of its ranks map: there are the
//! large blocks of `MPI_Alloc_mem`, and of malloc if it is replaced (docs/memory.md). Other MPI
//! libraries may do the same. Nothing but `MPI_Alloc_mem` is asked of them; the kernel says which
//! file a mapping shows.

use std::ffi::{c_int, c_void};
use std::ptr;

use towpath_machine::view::{ReadOnlyView, SharedMapping};

use crate::abi::BinaryInterface;
use crate::library::{Functions, LibraryError};
use crate::slots::succeeded;

/// Bytes for which an MPI library takes shared memory, if ever.
const PROBE: isize = 1 << 20;

/// The memory that this rank shares with others.
pub(crate) struct SharedMemory {
    mapping: SharedMapping,
    view: ReadOnlyView,
    /// For each rank, whether it maps the same memory.
    has: Vec<bool>,
}

impl SharedMemory {
    /// Looks where the MPI library allocates memory, and asks all ranks the same.
    pub(crate) fn open<A: BinaryInterface>(
        mpi: &Functions<A>,
        comm: A::Handle,
        ranks: u32,
    ) -> Result<Option<SharedMemory>, LibraryError> {
        let shared = allocated_in(mpi)?;
        // A rank without address space for a second mapping does without.
        let shared = shared.and_then(|mapping| Some((mapping, ReadOnlyView::new(mapping).ok()?)));
        let own = shared.as_ref().map_or(0, |(mapping, _)| mapping.identity());
        let mut all = vec![0_u64; ranks as usize];
        let (from, into) = ((&raw const own).cast(), all.as_mut_ptr().cast());
        let count = size_of::<u64>() as c_int;
        // SAFETY: every rank gives so many bytes, for which there is room.
        let code = unsafe { (mpi.allgather)(from, count, A::BYTE, into, count, A::BYTE, comm) };
        succeeded("MPI_Allgather", code)?;
        let has = all.into_iter().map(|other| other != 0 && other == own).collect();
        Ok(shared.map(|(mapping, view)| SharedMemory { mapping, view, has }))
    }

    /// Where an array is in the file that this rank and another one map; `None` if it is elsewhere.
    pub(crate) fn offset_of(&self, array: &[u8], to: u32) -> Option<u64> {
        if !self.has.get(to as usize).copied().unwrap_or(false) {
            return None;
        }
        self.mapping.offset_of(array).or_else(|| self.view.offset_of(array))
    }

    /// An array of another rank, at a place in the file.
    pub(crate) fn at(&self, offset: u64, bytes: u64) -> Option<*const u8> {
        self.view.at(offset, bytes)
    }
}

/// The shared mapping from which the MPI library allocates.
fn allocated_in<A: BinaryInterface>(
    mpi: &Functions<A>,
) -> Result<Option<SharedMapping>, LibraryError> {
    let mut block: *mut c_void = ptr::null_mut();
    // SAFETY: the result is local.
    let code = unsafe { (mpi.alloc_mem)(PROBE, A::INFO_NULL, (&raw mut block).cast()) };
    succeeded("MPI_Alloc_mem", code)?;
    let found = SharedMapping::of(block.cast());
    // SAFETY: the block was allocated above, and nobody uses it.
    succeeded("MPI_Free_mem", unsafe { (mpi.free_mem)(block) })?;
    Ok(found)
}
