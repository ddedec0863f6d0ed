//! Pools of equally sized buffers for operations, registered slab by slab, with the contexts that
//! the operations carry. A pool grows by slabs up to its limit.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ffi::c_void;
use std::ptr;

use super::endpoint::{FabricEndpoint, MemoryRegion};

/// Bytes at the start of a context that belong to the provider while the operation is in flight.
pub(super) const SCRATCH_BYTES: usize = 64;
/// Slabs start at page boundaries: some devices register whole pages.
const PAGE: usize = 4096;

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A buffer posted for a message from any process.
    Receive,
    /// A message that fits into a small buffer.
    Small,
    /// Any other message.
    Large,
    /// A read of a peer's memory.
    Read,
    /// Memory only, without operations of its own.
    Bounce,
}

/// The context of an operation.
#[repr(C)]
struct Context {
    scratch: [u64; SCRATCH_BYTES / 8],
    ticket: OperationTicket,
}

/// Identifies an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OperationTicket {
    pub(super) kind: Kind,
    /// The buffer's index in its pool.
    pub(super) slot: u32,
    /// The peer that the operation was posted to.
    pub(super) peer: u32,
}

/// The ticket in a context of a pool.
///
/// # Safety
/// `context` must come from [`Pool::context`] of a live pool.
#[inline]
pub(super) unsafe fn ticket(context: *mut c_void) -> OperationTicket {
    // SAFETY: `context` points to a live `Context` (this function's contract), and providers write
    // to its scratch only.
    unsafe { (*context.cast::<Context>()).ticket }
}

struct PoolSlab {
    region: Option<MemoryRegion>,
    memory: *mut u8,
    layout: Option<Layout>,
    contexts: *mut Context,
    count: usize,
}

impl Drop for PoolSlab {
    fn drop(&mut self) {
        self.region = None;
        if let Some(layout) = self.layout {
            // SAFETY: `memory` was allocated with this layout, and its registration has ended.
            unsafe { dealloc(self.memory, layout) };
        }
        // SAFETY: `contexts` came from a boxed slice of `count` contexts and is freed only here.
        drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(self.contexts, self.count)) });
    }
}

/// A pool of buffers of one size.
pub(super) struct Pool {
    kind: Kind,
    /// Size of a buffer in bytes; 0 for contexts only.
    stride: usize,
    /// How providers access the memory; 0 if it need not be registered.
    access: u64,
    per_slab: u32,
    slabs_at_most: usize,
    slabs: Vec<PoolSlab>,
    free: Vec<u32>,
}

impl Pool {
    /// A pool of at most `pieces` buffers, allocated `per_slab` at a time.
    pub(super) fn new(kind: Kind, stride: usize, per_slab: u32, pieces: u32, access: u64) -> Pool {
        let slabs_at_most = pieces.div_ceil(per_slab) as usize;
        Pool { kind, stride, access, per_slab, slabs_at_most, slabs: Vec::new(), free: Vec::new() }
    }

    /// Takes a buffer, if one is free or can be allocated.
    #[inline]
    pub(super) fn take(&mut self, endpoint: &mut FabricEndpoint) -> Option<u32> {
        if self.free.is_empty() {
            self.grow(endpoint);
        }
        self.free.pop()
    }

    /// Returns a buffer to the pool.
    #[inline]
    pub(super) fn give_back(&mut self, slot: u32) {
        self.free.push(slot);
    }

    #[cold]
    fn grow(&mut self, endpoint: &mut FabricEndpoint) {
        if self.slabs.len() >= self.slabs_at_most {
            return;
        }
        let (first, count) = (self.slabs.len() as u32 * self.per_slab, self.per_slab as usize);
        let bytes = (self.stride * count).next_multiple_of(PAGE);
        let layout = Layout::from_size_align(bytes, PAGE).ok().filter(|layout| layout.size() > 0);
        let memory = layout.map_or(ptr::null_mut(), |layout| {
            // SAFETY: the layout's size is not 0.
            let memory = unsafe { alloc_zeroed(layout) };
            if memory.is_null() {
                handle_alloc_error(layout);
            }
            memory
        });
        let context = |slot| Context {
            scratch: [0; _],
            ticket: OperationTicket { kind: self.kind, slot, peer: 0 },
        };
        let contexts: Box<[Context]> = (first..first + self.per_slab).map(context).collect();
        let contexts = Box::into_raw(contexts).cast::<Context>();
        let mut slab = PoolSlab { region: None, memory, layout, contexts, count };
        if self.access != 0 {
            // SAFETY: `memory` has `bytes` bytes, and the slab drops its region before it frees
            // them.
            match unsafe { endpoint.register(memory, bytes, self.access) } {
                Ok(region) => slab.region = Some(region),
                // As if the pool were at its limit: the caller waits for a buffer.
                Err(_) => return,
            }
        }
        self.slabs.push(slab);
        self.free.extend((first..first + self.per_slab).rev());
    }

    #[inline]
    fn slab(&self, slot: u32) -> (&PoolSlab, usize) {
        (&self.slabs[(slot / self.per_slab) as usize], (slot % self.per_slab) as usize)
    }

    /// The address of a buffer of `stride` bytes.
    #[inline]
    pub(super) fn at(&self, slot: u32) -> *mut u8 {
        let (slab, index) = self.slab(slot);
        slab.memory.wrapping_add(index * self.stride)
    }

    /// The descriptor of a buffer for local operations.
    #[inline]
    pub(super) fn local(&self, slot: u32) -> *mut c_void {
        self.slab(slot).0.region.as_ref().map_or(ptr::null_mut(), MemoryRegion::local)
    }

    /// The address and key of a buffer for remote reads.
    pub(super) fn remote(&self, slot: u32, endpoint: &FabricEndpoint) -> (u64, u64) {
        let slab = self.slab(slot).0;
        let key = slab.region.as_ref().map_or(0, MemoryRegion::key);
        (endpoint.remote_address(slab.memory, self.at(slot)), key)
    }

    /// The context of an operation on a buffer, posted to the peer at index `peer`.
    #[inline]
    pub(super) fn context(&mut self, slot: u32, peer: u32) -> *mut c_void {
        let (slab, index) = self.slab(slot);
        let context = slab.contexts.wrapping_add(index);
        // SAFETY: the slab has more than `index` contexts, and no operation is in flight with this
        // one.
        unsafe { (*context).ticket.peer = peer };
        context.cast()
    }

    /// True if no slab was ever allocated.
    pub(super) fn is_empty(&self) -> bool {
        self.slabs.is_empty()
    }

    /// Ends all registrations. Must be called before the endpoint is closed. The memory stays
    /// allocated.
    pub(super) fn unregister(&mut self) {
        self.slabs.iter_mut().for_each(|slab| slab.region = None);
    }

    /// Keeps everything until the process ends, for an endpoint that stays open.
    pub(super) fn abandon(&mut self) {
        self.free.clear();
        std::mem::forget(std::mem::take(&mut self.slabs));
    }
}
