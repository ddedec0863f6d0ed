//! Access to registered memory, by the route to its owner. Only shared memory offers it, so this
//! table hands out the keys of shared memory, and only processes of this host can use them. The
//! strict mode, which has no memory outside its budget, registers nothing.

use towpath_base::ids::PeerIndex;
use towpath_transport::{AccessError, AccessResult, MemoryKey, MemoryWire, RemoteRange};

use super::{Route, Wires, on_route};

impl Wires {
    /// The route of accesses to a peer's memory. Memory of this process is in the table of shared
    /// memory too, except in the strict mode.
    #[inline]
    fn memory_route(&self, owner: PeerIndex) -> Route {
        match self.route(owner) {
            Route::Loopback if !self.is_strict() => {
                Route::Shm { rank: self.shm.segment().own_rank() as u32 }
            }
            route => route,
        }
    }
}

impl MemoryWire for Wires {
    fn offers_memory(&self, owner: PeerIndex) -> bool {
        on_route!(&self, self.memory_route(owner), |wire, peer| wire.offers_memory(peer),
            else false)
    }

    unsafe fn register(&mut self, memory: *mut u8, length: usize) -> Option<MemoryKey> {
        if self.is_strict() {
            return None;
        }
        // SAFETY: the memory is readable and writable until it is deregistered (this function's
        // contract).
        unsafe { self.shm.register(memory, length) }
    }

    fn deregister(&mut self, key: MemoryKey) -> bool {
        self.shm.deregister(key)
    }

    unsafe fn put(&mut self, to: PeerIndex, range: RemoteRange, from: *const u8) -> AccessResult {
        // SAFETY: `from` is readable for `range.length` bytes until the put is flushed, and does
        // not overlap the range (this function's contract).
        unsafe {
            on_route!(&mut self, self.memory_route(to), |wire, peer| wire.put(peer, range, from),
                else Err(AccessError::Lost))
        }
    }

    unsafe fn get(&mut self, from: PeerIndex, range: RemoteRange, to: *mut u8) -> AccessResult {
        // SAFETY: `to` is writable for `range.length` bytes until the get is flushed, and does not
        // overlap the range (this function's contract).
        unsafe {
            on_route!(&mut self, self.memory_route(from), |wire, peer| wire.get(peer, range, to),
                else Err(AccessError::Lost))
        }
    }

    fn flush(&mut self, owner: PeerIndex) -> AccessResult<bool> {
        on_route!(&mut self, self.memory_route(owner), |wire, peer| wire.flush(peer),
            else Err(AccessError::Lost))
    }
}
