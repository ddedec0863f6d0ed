//! Pieces of memory for operations, of one size each, registered together, and the contexts that
//! the operations carry. A pool grows by slabs up to its bound.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ffi::c_void;
use std::ptr;

use super::endpoint::{Endpoint, Region};

/// Bytes at the beginning of a context that belong to the provider while its operation is under
/// way.
pub(super) const SCRATCH_BYTES: usize = 64;
/// Slabs begin at pages: some devices register whole pages.
const PAGE: usize = 4096;

/// What an operation was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Memory lent for a message of anybody.
    Receive,
    /// A message that fits a small piece.
    Small,
    /// Any other message.
    Large,
    /// A read of a peer's memory.
    Read,
    /// Memory alone, without operations of its own.
    Bounce,
}

/// The context of an operation.
#[repr(C)]
struct Context {
    scratch: [u64; SCRATCH_BYTES / 8],
    ticket: Ticket,
}

/// Which operation it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket {
    pub(super) kind: Kind,
    /// The piece of the pool.
    pub(super) slot: u32,
    /// The peer that the operation went to.
    pub(super) place: u32,
}

/// The ticket in a context that a pool has handed out.
///
/// # Safety
/// A context of [`Pool::context`].
#[inline]
pub(super) unsafe fn ticket(context: *mut c_void) -> Ticket {
    // SAFETY: promised by the caller; providers write to the scratch alone.
    unsafe { (*context.cast::<Context>()).ticket }
}

struct Slab {
    region: Option<Region>,
    memory: *mut u8,
    layout: Option<Layout>,
    contexts: *mut Context,
    count: usize,
}

impl Drop for Slab {
    fn drop(&mut self) {
        self.region = None;
        if let Some(layout) = self.layout {
            // SAFETY: allocated with this layout.
            unsafe { dealloc(self.memory, layout) };
        }
        // SAFETY: a boxed slice of so many contexts, given up once.
        drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(self.contexts, self.count)) });
    }
}

/// Pieces of one size.
pub(super) struct Pool {
    kind: Kind,
    /// Bytes of a piece; 0 for contexts alone.
    stride: usize,
    /// What providers do with the memory; 0 where it need not be registered.
    access: u64,
    per_slab: u32,
    slabs_at_most: usize,
    slabs: Vec<Slab>,
    free: Vec<u32>,
}

impl Pool {
    /// At most `pieces` pieces, `per_slab` of them at a time.
    pub(super) fn new(kind: Kind, stride: usize, per_slab: u32, pieces: u32, access: u64) -> Pool {
        let slabs_at_most = pieces.div_ceil(per_slab) as usize;
        Pool { kind, stride, access, per_slab, slabs_at_most, slabs: Vec::new(), free: Vec::new() }
    }

    /// A piece, where there is one.
    #[inline]
    pub(super) fn take(&mut self, endpoint: &mut Endpoint) -> Option<u32> {
        if self.free.is_empty() {
            self.grow(endpoint);
        }
        self.free.pop()
    }

    /// The piece is not used any more.
    #[inline]
    pub(super) fn give_back(&mut self, slot: u32) {
        self.free.push(slot);
    }

    #[cold]
    fn grow(&mut self, endpoint: &mut Endpoint) {
        if self.slabs.len() >= self.slabs_at_most {
            return;
        }
        let (first, count) = (self.slabs.len() as u32 * self.per_slab, self.per_slab as usize);
        let bytes = (self.stride * count).next_multiple_of(PAGE);
        let layout = Layout::from_size_align(bytes, PAGE).ok().filter(|layout| layout.size() > 0);
        let memory = layout.map_or(ptr::null_mut(), |layout| {
            // SAFETY: the size is not 0.
            let memory = unsafe { alloc_zeroed(layout) };
            if memory.is_null() {
                handle_alloc_error(layout);
            }
            memory
        });
        let context = |slot| Context { scratch: [0; _], ticket: Ticket { kind: self.kind, slot, place: 0 } };
        let contexts: Box<[Context]> = (first..first + self.per_slab).map(context).collect();
        let contexts = Box::into_raw(contexts).cast::<Context>();
        let mut slab = Slab { region: None, memory, layout, contexts, count };
        if self.access != 0 {
            // SAFETY: the slab gives its region up before its memory.
            match unsafe { endpoint.register(memory, bytes, self.access) } {
                Ok(region) => slab.region = Some(region),
                // As if the pool were at its bound: whoever asks waits for a piece.
                Err(_) => return,
            }
        }
        self.slabs.push(slab);
        self.free.extend((first..first + self.per_slab).rev());
    }

    #[inline]
    fn slab(&self, slot: u32) -> (&Slab, usize) {
        (&self.slabs[(slot / self.per_slab) as usize], (slot % self.per_slab) as usize)
    }

    /// Where a piece lies: `stride` bytes.
    #[inline]
    pub(super) fn at(&self, slot: u32) -> *mut u8 {
        let (slab, index) = self.slab(slot);
        slab.memory.wrapping_add(index * self.stride)
    }

    /// What local operations name a piece by.
    #[inline]
    pub(super) fn local(&self, slot: u32) -> *mut c_void {
        self.slab(slot).0.region.as_ref().map_or(ptr::null_mut(), Region::local)
    }

    /// What remote reads name a piece by: address and key.
    pub(super) fn remote(&self, slot: u32, endpoint: &Endpoint) -> (u64, u64) {
        let slab = self.slab(slot).0;
        let key = slab.region.as_ref().map_or(0, Region::key);
        (endpoint.remote_address(slab.memory, self.at(slot)), key)
    }

    /// The context of an operation on a piece, towards the peer at `place`.
    #[inline]
    pub(super) fn context(&mut self, slot: u32, place: u32) -> *mut c_void {
        let (slab, index) = self.slab(slot);
        let context = slab.contexts.wrapping_add(index);
        // SAFETY: the slab has so many contexts; no operation is under way with this one.
        unsafe { (*context).ticket.place = place };
        context.cast()
    }

    /// Whether there has never been a piece.
    pub(super) fn is_empty(&self) -> bool {
        self.slabs.is_empty()
    }

    /// Ends all registrations; to be called before the endpoint is closed. The memory stays.
    pub(super) fn unregister(&mut self) {
        self.slabs.iter_mut().for_each(|slab| slab.region = None);
    }

    /// Keeps everything until the process ends, for an endpoint that stays open.
    pub(super) fn abandon(&mut self) {
        self.free.clear();
        std::mem::forget(std::mem::take(&mut self.slabs));
    }
}
