//! The elements that a message is sent from or received into: a buffer, a count and a datatype of
//! the program, looked up and checked.
//!
//! Invariant: the elements are alive from the start of each operation on them until it is complete,
//! and their datatype until it is started or, if another thread frees it then, until the worker's
//! lock is released. [`Elements::new`] requires it, and the other methods rely on it. On the fast
//! path of sends and receives.

use std::ffi::c_void;

use towpath_base::ids::PeerIndex;
use towpath_base::transfer::{Place, Target};
use towpath_datatype::Datatype;
use towpath_datatype::device::{Device, source_on, target_on};
use towpath_engine::{EarlyOutcome, Engine, MessageId, Mode, RequestId, Sent};
use towpath_neutral::error::{Result, fail};
use towpath_wires::Wires;

use super::comm::Comm;
use super::datatype::Type;
use crate::process::devices;

/// `count` elements of a datatype in the program's memory.
#[derive(Clone, Copy)]
pub(crate) struct Elements {
    kind: *const Type,
    buffer: *mut c_void,
    count: i64,
    /// Length in bytes if the elements are contiguous in host memory or the count is 0;
    /// [`ON_DEVICE`] if they are in the memory of a device; otherwise negative.
    contiguous: i64,
}

/// No count of elements with gaps gives this product with -1.
const ON_DEVICE: i64 = i64::MIN;

// SAFETY: `buffer` points to memory of the program and `kind` to an object of a table, which are
// valid in every thread.
unsafe impl Send for Elements {}

impl Elements {
    /// The `count` elements of `kind` at `buffer`.
    ///
    /// # Safety
    /// [`Type::can_have`] must allow the count. `kind` must stay alive until an operation on the
    /// elements is started. From then until the operation is complete, the program must not change
    /// the memory of the elements, which must be readable for a send and writable for a receive.
    #[inline(always)]
    pub(crate) unsafe fn new(kind: &Type, buffer: *const c_void, count: i64) -> Elements {
        let on_device = devices::may_exist() && count > 0 && devices::device_of(&kind.datatype, buffer).is_some();
        let contiguous = if on_device { ON_DEVICE } else { kind.contiguous * count };
        Elements { kind, buffer: buffer.cast_mut(), count, contiguous }
    }

    /// The bytes of the elements if they are contiguous. Only here is it decided that the engine
    /// uses the program's memory directly; everything else goes through the packing and unpacking
    /// of `towpath_datatype`.
    #[inline(always)]
    pub(crate) fn contiguous(self) -> Option<ContiguousBytes> {
        let length = self.contiguous;
        (length >= 0).then_some(ContiguousBytes { pointer: self.buffer.cast(), length: length as usize })
    }

    #[inline(always)]
    fn datatype(&self) -> &Datatype {
        // SAFETY: the datatype lives until the operation is started (contract of `new`). Sources
        // and targets have their own reference; only `receive_soon` uses this one while it waits,
        // under the worker's lock, under which datatypes are freed.
        unsafe { &(*self.kind).datatype }
    }

    /// True if they are in the memory of a device.
    #[inline]
    pub(crate) fn is_on_device(self) -> bool {
        self.contiguous == ON_DEVICE
    }

    fn device(self) -> Option<&'static dyn Device> {
        if self.is_on_device() { devices::holder(self.datatype(), self.buffer) } else { None }
    }

    /// Their length in bytes when packed.
    pub(crate) fn packed_length(self) -> usize {
        self.datatype().bytes(self.count) as usize
    }

    /// Packs the elements directly into the wire's memory, if they are in host memory and the
    /// message can be sent at once. Otherwise returns `None` and has no effect.
    #[inline(always)]
    pub(crate) fn try_send_packed(
        self,
        engine: &mut Engine<Wires>,
        comm: &Comm,
        to: PeerIndex,
        tag: i32,
    ) -> Option<Sent> {
        if self.is_on_device() {
            return None;
        }
        let length = self.packed_length();
        engine.try_send_filled(to, comm.context(), tag, comm.rank as u32, length, |into| {
            // SAFETY: the elements are readable (contract of `new`), and `into` has room for
            // `length` bytes (`try_send_filled`).
            unsafe { towpath_datatype::pack(self.datatype(), self.buffer.cast(), self.count, 0, into, length) };
        })
    }

    /// Starts a send.
    pub(crate) fn isend(
        self,
        engine: &mut Engine<Wires>,
        comm: &Comm,
        to: PeerIndex,
        tag: i32,
        mode: Mode,
    ) -> RequestId {
        // SAFETY: the elements stay readable and unchanged until the send is complete (contract of
        // `new`), and `source` reads only them.
        unsafe {
            let source = source_on(self.device(), self.datatype(), self.buffer.cast(), self.count);
            engine.isend(to, comm.context(), tag, comm.rank as u32, source, mode)
        }
    }

    /// Receives with at most `rounds` rounds of progress, and unpacks directly from the wire if the
    /// message arrives soon. A receive that is still incomplete continues as a request.
    pub(crate) fn receive_soon(
        self,
        engine: &mut Engine<Wires>,
        comm: &Comm,
        from: Option<PeerIndex>,
        tag: Option<i32>,
        rounds: u32,
    ) -> EarlyOutcome {
        // SAFETY: the elements are writable until the receive is complete (contract of `new`).
        unsafe { engine.receive_soon_into(from, comm.context(), tag, &self, rounds) }
    }

    /// Starts a receive.
    #[inline]
    pub(crate) fn irecv(
        self,
        engine: &mut Engine<Wires>,
        comm: &Comm,
        from: Option<PeerIndex>,
        tag: Option<i32>,
    ) -> RequestId {
        // SAFETY: the elements are writable and not accessed until the receive is complete
        // (contract of `new`), and the target covers only them.
        unsafe { engine.irecv(from, comm.context(), tag, self.target()) }
    }

    /// Starts the receive of a message that a matched probe has taken out.
    ///
    /// # Panics
    /// If the message has been received already.
    pub(crate) fn imrecv(self, engine: &mut Engine<Wires>, message: MessageId) -> RequestId {
        // SAFETY: the elements are writable and not accessed until the receive is complete
        // (contract of `new`), and the target covers only them.
        unsafe { engine.imrecv(message, self.target()) }.expect("a message is received once")
    }

    /// A packed copy of the elements.
    ///
    /// # Errors
    /// MPI_ERR_NO_MEM; nothing is read then.
    pub(crate) fn packed(self) -> Result<Vec<u8>> {
        let length = self.packed_length();
        let mut copy = Vec::<u8>::new();
        if copy.try_reserve_exact(length).is_err() {
            fail!(ERR_NO_MEM, "there is no memory for the copy of a message of {length} bytes");
        }
        // SAFETY: the elements are readable (contract of `new`). `copy` has room for their `length`
        // bytes, which `pack` or `fill_all` initializes.
        unsafe {
            match self.device() {
                None => {
                    let into = copy.as_mut_ptr();
                    towpath_datatype::pack(self.datatype(), self.buffer.cast(), self.count, 0, into, length);
                }
                device => source_on(device, self.datatype(), self.buffer.cast(), self.count).fill_all(
                    copy.as_mut_ptr(),
                    length,
                    &mut std::thread::yield_now,
                ),
            }
            copy.set_len(length);
        }
        Ok(copy)
    }
}

// SAFETY: `unpack` and the target write only to the elements.
unsafe impl Place for Elements {
    fn room(&self) -> usize {
        self.packed_length()
    }

    unsafe fn put(&self, from: *const u8, length: usize) {
        // SAFETY: `from` is readable for `length` bytes (contract of `Place::put`), and the
        // elements are writable (contract of `new`).
        unsafe { towpath_datatype::unpack(self.datatype(), self.buffer.cast(), self.count, 0, from, length) };
    }

    #[inline]
    fn target(&self) -> Target {
        if let Some(ContiguousBytes { pointer, length }) = self.contiguous() {
            return Target::Bytes { pointer, length };
        }
        // SAFETY: the elements are writable until the operation that uses the target is complete
        // (contract of `new`).
        unsafe { target_on(self.device(), self.datatype(), self.buffer.cast(), self.count) }
    }
}

/// Elements that are contiguous, as bytes of the program's memory.
///
/// Invariant: that of [`Elements`], from which they are made.
pub(crate) struct ContiguousBytes {
    pointer: *mut u8,
    length: usize,
}

impl ContiguousBytes {
    /// Sends them if the engine can do so at once. Otherwise returns `None` and has no effect.
    #[inline(always)]
    pub(crate) fn try_send_now(self, engine: &mut Engine<Wires>, comm: &Comm, to: PeerIndex, tag: i32) -> Option<Sent> {
        // SAFETY: `pointer` is readable for `length` bytes (invariant).
        unsafe { engine.try_send_now(to, comm.context(), tag, comm.rank as u32, self.pointer, self.length) }
    }

    /// Like [`Elements::receive_soon`].
    #[inline(always)]
    pub(crate) fn receive_soon(
        self,
        engine: &mut Engine<Wires>,
        comm: &Comm,
        from: Option<PeerIndex>,
        tag: Option<i32>,
        rounds: u32,
    ) -> EarlyOutcome {
        // SAFETY: `pointer` is writable for `length` bytes until the receive is complete
        // (invariant).
        unsafe { engine.receive_soon(from, comm.context(), tag, self.pointer, self.length, rounds) }
    }
}
