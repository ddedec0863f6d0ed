//! Memory that ranks of a host share: where an array is in it, and how a peer sees it.
//!
//! Towpath gives each rank a heap in one file of the host, which all of its ranks map: there are
//! the large blocks of `MPI_Alloc_mem`, and of malloc if it is replaced (docs/memory.md). Other MPI
//! libraries may do the same. Nothing but `MPI_Alloc_mem` is asked of them; the kernel says which
//! file a mapping shows.

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::fmt;
use std::ptr;
use std::rc::Rc;

use towpath_actors::{ArrayMemory, MessageArray, WritableArray};
use towpath_machine::view::{SharedMapping, SharedView};

use crate::abi::BinaryInterface;
use crate::library::{Functions, LibraryError};
use crate::slots::succeeded;
use crate::spare::SpareBlocks;

/// Towpath takes blocks from this length on from the shared memory.
const SHORTEST_BLOCK: usize = 64 << 10;
/// Shorter arrays are not copied there.
pub(crate) const SHORTEST_SHARED: usize = 16 << 10;
/// From so many blocks in use on, 16 MiB at least, messages pile up.
const MANY_BLOCKS: usize = 256;
/// Bytes for which an MPI library takes shared memory, if ever.
const PROBE: isize = 1 << 20;

/// The memory that this rank shares with others.
pub(crate) struct SharedMemory {
    mapping: SharedMapping,
    /// Where this rank reads arrays of others.
    view: SharedView,
    /// Where it writes to those that were given to it.
    given: SharedView,
    /// For each rank, whether it maps the same memory.
    has: Vec<bool>,
    has_all: bool,
}

impl SharedMemory {
    /// Looks where the MPI library allocates memory, and asks all ranks the same.
    pub(crate) fn open<A: BinaryInterface>(
        mpi: &Functions<A>,
        comm: A::Handle,
        ranks: u32,
    ) -> Result<Option<SharedMemory>, LibraryError> {
        let shared = allocated_in(mpi)?;
        // A rank without address space for more mappings does without.
        let shared = shared.and_then(SharedMemory::seen);
        let own = shared.as_ref().and_then(|shared| shared.mapping.identity()).unwrap_or(0);
        let mut all = vec![0_u64; ranks as usize];
        let (from, into) = ((&raw const own).cast(), all.as_mut_ptr().cast());
        let count = size_of::<u64>() as c_int;
        // SAFETY: every rank gives so many bytes, for which there is room.
        let code = unsafe { (mpi.allgather)(from, count, A::BYTE, into, count, A::BYTE, comm) };
        succeeded("MPI_Allgather", code)?;
        let has: Vec<bool> = all.into_iter().map(|other| other != 0 && other == own).collect();
        let has_all = has.iter().all(|has| *has);
        Ok(shared.map(|shared| SharedMemory { has, has_all, ..shared }))
    }

    /// Further mappings of the same memory, which no other rank is known to have.
    fn seen(mapping: SharedMapping) -> Option<SharedMemory> {
        let (view, given) = (SharedView::read_only(mapping), SharedView::writable(mapping));
        let (view, given) = (view.ok()?, given.ok()?);
        Some(SharedMemory { mapping, view, given, has: Vec::new(), has_all: false })
    }

    /// Whether another rank maps the same memory.
    pub(crate) fn has(&self, rank: u32) -> bool {
        self.has.get(rank as usize).copied().unwrap_or(false)
    }

    /// Whether all other ranks map the same memory.
    pub(crate) fn has_all(&self) -> bool {
        self.has_all
    }

    /// Where an array is in the file that these ranks map; `None` if it is elsewhere.
    pub(crate) fn offset_of(&self, array: &[u8]) -> Option<u64> {
        let offset = self.mapping.offset_of(array).or_else(|| self.view.offset_of(array));
        offset.or_else(|| self.given.offset_of(array))
    }

    /// Whether this address is in the file.
    pub(crate) fn shows(&self, address: *const u8) -> bool {
        self.mapping.contains(address.addr())
    }

    /// An array of another rank, at a place in the file.
    pub(crate) fn at(&self, offset: u64, bytes: u64) -> Option<*const u8> {
        self.view.at(offset, bytes).map(<*mut u8>::cast_const)
    }

    /// The same, where this rank may write.
    pub(crate) fn given_at(&self, offset: u64, bytes: u64) -> Option<*mut u8> {
        self.given.at(offset, bytes)
    }
}

/// A block of the shared memory, which this rank has allocated.
#[derive(Debug)]
pub(crate) struct SharedBlock {
    at: *mut u8,
    bytes: usize,
    /// Bytes that were allocated.
    capacity: usize,
    heap: Rc<SharedHeap>,
}

/// The blocks of the MPI library, while it is initialized.
pub(crate) struct SharedHeap {
    allocate: Box<dyn Fn(usize) -> Option<*mut u8>>,
    free: Box<dyn Fn(*mut u8)>,
    /// Blocks that were freed, which are used again while they are warm.
    spare: RefCell<SpareBlocks>,
    /// How many blocks are in use.
    in_use: Cell<usize>,
    is_closed: Cell<bool>,
}

impl SharedHeap {
    pub(crate) fn new<A: BinaryInterface>(mpi: &Functions<A>) -> Rc<SharedHeap> {
        let (alloc_mem, free_mem) = (mpi.alloc_mem, mpi.free_mem);
        let allocate = move |bytes: usize| {
            let mut at = ptr::null_mut::<c_void>();
            let (bytes, into) = (bytes.cast_signed(), (&raw mut at).cast());
            // SAFETY: MPI is initialized, and the result is local.
            let code = unsafe { alloc_mem(bytes, A::INFO_NULL, into) };
            (code == 0 && !at.is_null()).then_some(at.cast())
        };
        let free = move |at: *mut u8| {
            // SAFETY: `allocate` has given the block, nobody uses it, and MPI is initialized.
            // Nothing can be done about an error.
            unsafe { free_mem(at.cast()) };
        };
        SharedHeap::of(Box::new(allocate), Box::new(free))
    }

    fn of(
        allocate: Box<dyn Fn(usize) -> Option<*mut u8>>,
        free: Box<dyn Fn(*mut u8)>,
    ) -> Rc<SharedHeap> {
        Rc::new(SharedHeap {
            allocate,
            free,
            spare: RefCell::default(),
            in_use: Cell::new(0),
            is_closed: Cell::new(false),
        })
    }

    /// Whether so many blocks are in use that short arrays had better not take more of them: each
    /// is a block of its own.
    pub(crate) fn is_crowded(&self) -> bool {
        self.in_use.get() >= MANY_BLOCKS
    }

    /// MPI may be finalized next: blocks that are still in use are left to it.
    pub(crate) fn close(&self) {
        self.is_closed.set(true);
        self.free_spare();
    }

    /// Frees all blocks that nobody uses. Whether there were such.
    fn free_spare(&self) -> bool {
        let spare = self.spare.take().into_all();
        for (at, _) in &spare {
            (self.free)(*at);
        }
        !spare.is_empty()
    }

    /// Takes a block that nobody uses any more, and frees those for which there is no room.
    fn give(&self, at: *mut u8, capacity: usize) {
        self.in_use.set(self.in_use.get() - 1);
        if self.is_closed.get() {
            return;
        }
        let mut spare = self.spare.borrow_mut();
        spare.give(at, capacity);
        while let Some((at, _)) = spare.take_excess() {
            (self.free)(at);
        }
    }

    /// A block of memory that is shared: without room, an MPI library may give private memory.
    fn allocate_shared(
        &self,
        bytes: usize,
        is_shared: impl Fn(*const u8) -> bool,
    ) -> Option<*mut u8> {
        let at = (self.allocate)(bytes)?;
        if is_shared(at) {
            return Some(at);
        }
        (self.free)(at);
        None
    }
}

impl fmt::Debug for SharedHeap {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("SharedHeap").field("spare", &self.spare).finish_non_exhaustive()
    }
}

impl SharedBlock {
    /// A block of so many bytes, whose content is arbitrary; `None` if there is no room.
    pub(crate) fn new(
        heap: &Rc<SharedHeap>,
        bytes: usize,
        is_shared: impl Fn(*const u8) -> bool,
    ) -> Option<SharedBlock> {
        let length = bytes.max(SHORTEST_BLOCK);
        let block = |(at, capacity)| {
            heap.in_use.set(heap.in_use.get() + 1);
            SharedBlock { at, bytes, capacity, heap: heap.clone() }
        };
        if let Some(spare) = { heap.spare.borrow_mut().take(length) } {
            return Some(block(spare));
        }
        let first = heap.allocate_shared(length, &is_shared);
        // What is kept for other lengths may make room.
        let again = || heap.free_spare().then(|| heap.allocate_shared(length, &is_shared))?;
        first.or_else(again).map(|at| block((at, length)))
    }
}

impl WritableArray for SharedBlock {
    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the block has so many bytes of mapped memory, and nobody else knows of it.
        unsafe { std::slice::from_raw_parts_mut(self.at, self.bytes) }
    }

    fn into_array(self: Box<Self>) -> MessageArray {
        Rc::from(self as Box<dyn ArrayMemory>)
    }
}

impl ArrayMemory for SharedBlock {
    fn bytes(&self) -> &[u8] {
        // SAFETY: the block has so many bytes of mapped memory, which only `bytes_mut` changes, or
        // the one rank that the array was given to: that has no slice of them here then.
        unsafe { std::slice::from_raw_parts(self.at, self.bytes) }
    }

    fn owned_bytes(&mut self) -> Option<&mut [u8]> {
        Some(self.bytes_mut())
    }
}

impl Drop for SharedBlock {
    fn drop(&mut self) {
        self.heap.give(self.at, self.capacity);
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

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: usize = 1 << 20;

    /// A heap whose blocks are numbers: those of even ones are shared. Says which ones were freed.
    fn numbered() -> (Rc<SharedHeap>, Rc<RefCell<Vec<usize>>>) {
        let (made, freed) = (Cell::new(0), Rc::new(RefCell::new(Vec::new())));
        let allocate = move |_| {
            made.set(made.get() + 1);
            Some(ptr::without_provenance_mut(made.get()))
        };
        let freed_here = freed.clone();
        let free = move |at: *mut u8| freed_here.borrow_mut().push(at.addr());
        (SharedHeap::of(Box::new(allocate), Box::new(free)), freed)
    }

    fn is_even(at: *const u8) -> bool {
        at.addr().is_multiple_of(2)
    }

    #[test]
    fn private_memory_is_given_back_and_not_kept() {
        let (heap, freed) = numbered();
        assert!(SharedBlock::new(&heap, LENGTH, is_even).is_none());
        assert_eq!(*freed.borrow(), [1]);
        let block = SharedBlock::new(&heap, LENGTH, is_even).unwrap();
        assert_eq!(block.at.addr(), 2);
    }

    #[test]
    fn blocks_that_are_kept_make_room() {
        let (heap, freed) = numbered();
        drop(SharedBlock::new(&heap, LENGTH, is_even));
        drop(SharedBlock::new(&heap, LENGTH, is_even));
        let longer = SharedBlock::new(&heap, 8 * LENGTH, is_even).unwrap();
        assert_eq!(longer.at.addr(), 4);
        assert_eq!(*freed.borrow(), [1, 3, 2]);
    }

    #[test]
    fn blocks_in_use_are_left_when_the_heap_closes() {
        let (heap, freed) = numbered();
        drop(SharedBlock::new(&heap, LENGTH, is_even));
        let block = SharedBlock::new(&heap, LENGTH, is_even);
        heap.close();
        drop(block);
        assert_eq!(*freed.borrow(), [1]);
    }

    #[test]
    fn short_arrays_take_no_more_blocks_while_many_are_in_use() {
        let (heap, _) = numbered();
        let block = || SharedBlock::new(&heap, LENGTH, |_| true).unwrap();
        let mut blocks: Vec<SharedBlock> = (1..MANY_BLOCKS).map(|_| block()).collect();
        assert!(!heap.is_crowded());
        blocks.push(block());
        assert!(heap.is_crowded());
        blocks.pop();
        assert!(!heap.is_crowded());
    }
}
