//! The traits and types by which wires move bytes from and to user memory without knowing its
//! layout.
//!
//! A wire provides memory and asks a [`Fill`] to write the next bytes into it, or passes received
//! bytes to a [`Drain`]. Contiguous buffers are described by pointer and length, so that a wire can
//! choose the copy routine or let the peer read them in place. User buffers are always raw
//! pointers: they may be unaligned, padded, aliased or NULL with `MPI_BOTTOM`.
//!
//! A buffer may also be in the memory of a device, which only the packers of that device access.
//! Host and devices share one address space (unified virtual addressing), so addresses are compared
//! whichever memory they are in.

mod across;
pub mod pipeline;

use std::any::Any;

use crate::copy;

pub use across::across;
use pipeline::{DrainSlots, FillSlots};

/// Number of words in a [`Strides`].
pub const STRIDES_WORDS: usize = 11;

/// Encodes how the bytes of a message are placed between the lowest and the highest one. Only the
/// code that created the words interprets them, possibly in another process. All 0 means
/// contiguous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strides(pub [u64; STRIDES_WORDS]);

impl Strides {
    /// Contiguous.
    pub const CONTIGUOUS: Strides = Strides([0; STRIDES_WORDS]);
}

/// Describes where all bytes of a message are. Valid in every process that maps this memory, at its
/// own address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Address of the lowest byte.
    pub lowest: *mut u8,
    /// Distance in bytes from the lowest byte to the end of the highest one.
    pub span: usize,
    /// Placement of the bytes within the span.
    pub strides: Strides,
}

impl Layout {
    /// `length` contiguous bytes.
    pub fn contiguous(pointer: *mut u8, length: usize) -> Layout {
        Layout { lowest: pointer, span: length, strides: Strides::CONTIGUOUS }
    }
}

/// Copies bytes `position..position + length` of a message from one layout to another. Passed to
/// wires by the crate that can interpret [`Strides`].
///
/// # Safety
/// Both layouts must hold at least `position + length` bytes. The memory of `from` must be
/// readable, that of `to` writable, and the two must not overlap.
///
/// # Panics
/// If strides exceed the span of their layout, which means that the memory they were read from is
/// corrupt.
pub type CopyAcross = unsafe fn(from: &Layout, to: &Layout, position: usize, length: usize);

/// Where the memory of a message is, and so which processor can access it. All kinds of devices are
/// one space here: they differ in the packers that they make (`towpath_datatype::device`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemorySpace {
    /// In host memory. Bytes are packed and unpacked during the call.
    Host,
    /// In the memory of a device, which packs and unpacks in the background; calls return
    /// [`Step::Pending`] meanwhile.
    Device,
}

/// Number of words in an [`Export`].
pub const EXPORT_WORDS: usize = 48;

/// Describes where all bytes of a message are in the memory of a device, for a process of the same
/// host that can open that memory. Only the code that created the words interprets them, possibly
/// in another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Export(pub [u64; EXPORT_WORDS]);

/// Result of one call of a packer or unpacker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// This many bytes were moved. Fewer than requested only at the end of the data or before an
    /// indivisible block.
    Done(usize),
    /// A device is still working, and nothing was moved: call again.
    Pending,
}

/// Packs the bytes of one message in order.
///
/// # Safety
/// An implementation must read only the memory it was created for, and write at most `capacity`
/// bytes. Once it is dropped, no device accesses the memory any more. It must not depend on the
/// thread that calls or drops it.
pub unsafe trait Fill {
    /// Writes the next bytes of the message to `into`. The implementation may access `into` only
    /// during the call, even if it returns [`Step::Pending`]: the next call may pass another
    /// address and capacity. A device that works between two calls therefore packs into memory of
    /// its own.
    ///
    /// # Safety
    /// `into` must be valid for writes of `capacity` bytes, and the packer's user memory must still
    /// be valid.
    unsafe fn fill(&mut self, into: *mut u8, capacity: usize) -> Step;

    /// Where the bytes are. In [`MemorySpace::Host`], `fill` never returns [`Step::Pending`].
    fn space(&self) -> MemorySpace {
        MemorySpace::Host
    }

    /// Returns where all bytes of the message are, if a [`Layout`] can describe it.
    fn layout(&self) -> Option<Layout> {
        None
    }

    /// Describes the bytes for another process, which passes the words to [`Drain::read_from`].
    /// `None` if no other process can open the memory.
    fn export(&mut self) -> Option<Export> {
        None
    }

    /// Copies the first `length` bytes of the message to where another process has lent its buffer
    /// ([`Drain::lend`]). Returns `None`, having done nothing, if this process cannot open that
    /// memory. On [`Step::Pending`] the caller calls again. On [`Step::Done`] the bytes are in
    /// place, and the memory of `target` is not accessed any more.
    ///
    /// # Safety
    /// The user memory of both must be valid until the bytes are in place or the packer is dropped,
    /// and must not overlap. `target` must hold `length` bytes.
    unsafe fn write_to(&mut self, target: &Export, length: usize) -> Option<Step> {
        let _ = (target, length);
        None
    }

    /// The same message as one that the device packs into slots, if it can.
    fn pipeline(&mut self) -> Option<&mut dyn FillSlots> {
        None
    }

    /// Returns the implementation, so that [`Drain::take`] can recognize it and copy without
    /// packing.
    fn as_any(&mut self) -> Option<&mut dyn Any> {
        None
    }
}

/// Unpacks the bytes of one message in order.
///
/// # Safety
/// An implementation must write only the memory it was created for; bytes beyond the end of its
/// buffer are dropped. Once it is dropped, no device accesses the memory any more. It must not
/// depend on the thread that calls or drops it.
pub unsafe trait Drain {
    /// Unpacks the next `length` bytes of the message from `from`. Consumes all of them: `Done`
    /// always carries `length`. The bytes are in place then, but see [`Drain::expect`].
    ///
    /// The implementation may access `from` only during the call, even if it returns
    /// [`Step::Pending`]: the next call passes the same bytes again, perhaps at another address and
    /// followed by more. A device that works between two calls therefore unpacks from memory
    /// of its own.
    ///
    /// # Safety
    /// `from` must be valid for reads of `length` bytes, and the unpacker's user memory must still
    /// be valid.
    unsafe fn drain(&mut self, from: *const u8, length: usize) -> Step;

    /// Where the bytes go. In [`MemorySpace::Host`], `drain` never returns [`Step::Pending`].
    fn space(&self) -> MemorySpace {
        MemorySpace::Host
    }

    /// Returns where all bytes of the message go, if a [`Layout`] can describe it.
    fn layout(&self) -> Option<Layout> {
        None
    }

    /// Announces that exactly `length` bytes will follow. Until the last of them, an unpacker that
    /// works in the background may then return [`Step::Done`] for bytes that it has taken but that
    /// are not in place yet.
    fn expect(&mut self, length: usize) {
        let _ = length;
    }

    /// Copies the first `length` bytes of a message from where another process has exported them.
    /// Returns `None`, having done nothing, if this process cannot open that memory; the bytes then
    /// come by [`Drain::drain`]. On [`Step::Pending`] the caller calls again. On [`Step::Done`] the
    /// bytes are in place, and the memory of `source` is not accessed any more.
    ///
    /// # Safety
    /// The user memory of both must be valid until the bytes are in place or the unpacker is
    /// dropped, and must not overlap. `source` must hold `length` bytes.
    unsafe fn read_from(&mut self, source: &Export, length: usize) -> Option<Step> {
        let _ = (source, length);
        None
    }

    /// Describes the buffer for the process that has exported `source`, if that process should
    /// write the bytes ([`Fill::write_to`]) rather than this one read them.
    fn lend(&mut self, source: &Export) -> Option<Export> {
        let _ = source;
        None
    }

    /// The same message as one that the device unpacks from slots, if it can.
    fn pipeline(&mut self) -> Option<&mut dyn DrainSlots> {
        None
    }

    /// Copies everything that `source` would pack directly from its memory. Returns `None`, having
    /// done nothing, if it does not know `source`. On [`Step::Pending`] the caller calls again.
    ///
    /// # Safety
    /// The user memory of both must be valid until the bytes are in place or the unpacker is
    /// dropped, and must not overlap.
    unsafe fn take(&mut self, source: &mut dyn Fill) -> Option<Step> {
        let _ = source;
        None
    }
}

/// Destination of a message that a blocking call waits for. Always in host memory, because
/// [`Place::put`] cannot return [`Step::Pending`]. The object is on that call's stack, so nothing
/// is allocated.
///
/// # Safety
/// An implementation must write only the memory it was created for.
pub unsafe trait Place {
    /// Room in bytes.
    fn room(&self) -> usize;

    /// Unpacks the first `length` bytes of the message. `length` is at most [`Place::room`].
    ///
    /// # Safety
    /// `from` must be valid for reads of `length` bytes, and the user memory of the place must
    /// still be valid.
    unsafe fn put(&self, from: *const u8, length: usize);

    /// The same destination for a request, which may receive the bytes in pieces.
    fn target(&self) -> Target;
}

/// Where the bytes of an outgoing message come from.
pub enum Source {
    /// `length` contiguous bytes in host memory.
    Bytes {
        /// First byte.
        pointer: *const u8,
        /// Length in bytes.
        length: usize,
    },
    /// Any other layout or memory: a packer that yields `length` bytes.
    Packer {
        /// The packer.
        fill: Box<dyn Fill>,
        /// Remaining bytes.
        length: usize,
    },
}

/// Where the bytes of an incoming message go.
pub enum Target {
    /// `length` contiguous bytes in host memory.
    Bytes {
        /// First byte.
        pointer: *mut u8,
        /// Room in bytes.
        length: usize,
    },
    /// Any other layout or memory: an unpacker with room for `length` bytes.
    Unpacker {
        /// The unpacker.
        drain: Box<dyn Drain>,
        /// Remaining room in bytes.
        length: usize,
    },
}

impl Source {
    /// Describes the bytes for another process; see [`Fill::export`].
    pub fn export(&mut self) -> Option<Export> {
        match self {
            Source::Bytes { .. } => None,
            Source::Packer { fill, .. } => fill.export(),
        }
    }

    /// Copies the first `length` bytes to where another process has lent its buffer; see
    /// [`Fill::write_to`].
    ///
    /// # Safety
    /// See [`Fill::write_to`].
    pub unsafe fn write_to(&mut self, target: &Export, length: usize) -> Option<Step> {
        match self {
            Source::Bytes { .. } => None,
            // SAFETY: the memory of both is valid and does not overlap (this function's contract).
            Source::Packer { fill, .. } => unsafe { fill.write_to(target, length) },
        }
    }

    /// The message as one that a device packs into slots; see [`Fill::pipeline`].
    pub fn pipeline(&mut self) -> Option<&mut dyn FillSlots> {
        match self {
            Source::Bytes { .. } => None,
            Source::Packer { fill, .. } => fill.pipeline(),
        }
    }

    /// Remaining length of the message in bytes.
    pub fn length(&self) -> usize {
        match self {
            Source::Bytes { length, .. } | Source::Packer { length, .. } => *length,
        }
    }

    /// Returns where all bytes are, if a [`Layout`] can describe it.
    pub fn layout(&self) -> Option<Layout> {
        match self {
            Source::Bytes { pointer, length } => {
                Some(Layout::contiguous(pointer.cast_mut(), *length))
            }
            Source::Packer { fill, .. } => fill.layout(),
        }
    }

    /// The memory space of the bytes.
    pub fn space(&self) -> MemorySpace {
        match self {
            Source::Bytes { .. } => MemorySpace::Host,
            Source::Packer { fill, .. } => fill.space(),
        }
    }

    /// Packs the next bytes into `into` and advances.
    ///
    /// # Safety
    /// See [`Fill::fill`].
    pub unsafe fn fill(&mut self, into: *mut u8, capacity: usize) -> Step {
        match self {
            Source::Bytes { pointer, length } => {
                let step = capacity.min(*length);
                // SAFETY: `step` is at most `capacity`, for which `into` is writable, and at most
                // `length`, for which `pointer` is readable.
                unsafe {
                    copy::contiguous(*pointer, into, step);
                    *pointer = pointer.add(step);
                }
                *length -= step;
                Step::Done(step)
            }
            Source::Packer { fill, length } => {
                // SAFETY: `into` is writable for `capacity` bytes and the user memory is valid
                // (this function's contract).
                match unsafe { fill.fill(into, capacity.min(*length)) } {
                    Step::Done(step) => {
                        *length -= step;
                        Step::Done(step)
                    }
                    Step::Pending => Step::Pending,
                }
            }
        }
    }

    /// Writes the next `length` bytes to `into`, for memory that is available during this call
    /// only. Calls `wait` repeatedly while a device is busy. Pads with zeros if a packer yields
    /// too few bytes.
    ///
    /// # Safety
    /// `into` must be valid for writes of `length` bytes, and the source's user memory must
    /// still be valid.
    pub unsafe fn fill_all(&mut self, into: *mut u8, length: usize, wait: &mut dyn FnMut()) {
        // SAFETY: `into` is writable for `length` bytes (this function's contract), and each `fill`
        // gets a part of it with the capacity that remains.
        unsafe {
            self.fill_all_by(into, length, wait, |source, into, capacity| {
                source.fill(into, capacity)
            })
        };
    }

    /// Like [`Source::fill_all`], for a source in host memory.
    ///
    /// # Panics
    /// If the source waits for a device.
    ///
    /// # Safety
    /// Same as for [`Source::fill_all`].
    pub unsafe fn fill_at_once(&mut self, into: *mut u8, length: usize) {
        let mut wait = || panic!("a source in host memory waits for a device");
        // SAFETY: `into` is writable for `length` bytes and the user memory is valid (this
        // function's contract).
        unsafe { self.fill_all(into, length, &mut wait) };
    }

    /// Like [`Source::fill_all`], with `fill` for each step; its arguments are the source, the
    /// destination and its capacity.
    ///
    /// # Safety
    /// Same as for [`Source::fill_all`]; `fill` must not write more than the capacity.
    pub unsafe fn fill_all_by(
        &mut self,
        into: *mut u8,
        length: usize,
        wait: &mut dyn FnMut(),
        mut fill: impl FnMut(&mut Source, *mut u8, usize) -> Step,
    ) {
        let mut done = 0;
        while done < length {
            // SAFETY: `done` is less than `length`, for which `into` is writable.
            let rest = unsafe { into.add(done) };
            match fill(self, rest, length - done) {
                // SAFETY: `into` is writable for `length` bytes, of which `rest` starts at `done`.
                Step::Done(0) => return unsafe { rest.write_bytes(0, length - done) },
                Step::Done(step) => done += step,
                Step::Pending => wait(),
            }
        }
    }
}

impl Target {
    /// Reduces the room to the length of the message that comes.
    pub fn expect(&mut self, bytes: usize) {
        match self {
            Target::Bytes { length, .. } => *length = bytes.min(*length),
            Target::Unpacker { drain, length } => {
                *length = bytes.min(*length);
                drain.expect(*length);
            }
        }
    }

    /// Copies the whole message from where another process has exported it; see
    /// [`Drain::read_from`].
    ///
    /// # Safety
    /// See [`Drain::read_from`].
    pub unsafe fn read_from(&mut self, source: &Export) -> Option<Step> {
        match self {
            Target::Bytes { .. } => None,
            // SAFETY: the memory of both is valid and does not overlap (this function's contract).
            Target::Unpacker { drain, length } => unsafe { drain.read_from(source, *length) },
        }
    }

    /// Describes the buffer for the process of `source`; see [`Drain::lend`].
    pub fn lend(&mut self, source: &Export) -> Option<Export> {
        match self {
            Target::Bytes { .. } => None,
            Target::Unpacker { drain, .. } => drain.lend(source),
        }
    }

    /// The message as one that a device unpacks from slots; see [`Drain::pipeline`].
    pub fn pipeline(&mut self) -> Option<&mut dyn DrainSlots> {
        match self {
            Target::Bytes { .. } => None,
            Target::Unpacker { drain, .. } => drain.pipeline(),
        }
    }

    /// Room in bytes.
    pub fn length(&self) -> usize {
        match self {
            Target::Bytes { length, .. } | Target::Unpacker { length, .. } => *length,
        }
    }

    /// Returns where all bytes go, if a [`Layout`] can describe it.
    pub fn layout(&self) -> Option<Layout> {
        match self {
            Target::Bytes { pointer, length } => Some(Layout::contiguous(*pointer, *length)),
            Target::Unpacker { drain, .. } => drain.layout(),
        }
    }

    /// The memory space of the buffer.
    pub fn space(&self) -> MemorySpace {
        match self {
            Target::Bytes { .. } => MemorySpace::Host,
            Target::Unpacker { drain, .. } => drain.space(),
        }
    }

    /// Unpacks the next bytes and advances; bytes beyond the room are dropped.
    ///
    /// # Safety
    /// See [`Drain::drain`].
    #[inline]
    pub unsafe fn drain(&mut self, from: *const u8, length: usize) -> Step {
        match self {
            Target::Bytes { pointer, length: room } => {
                let step = length.min(*room);
                // SAFETY: `step` is at most `length`, for which `from` is readable, and at most
                // `room`, for which `pointer` is writable.
                unsafe {
                    copy::contiguous(from, *pointer, step);
                    *pointer = pointer.add(step);
                }
                *room -= step;
                Step::Done(length)
            }
            // SAFETY: `from` is readable for `length` bytes and the user memory is valid (this
            // function's contract).
            Target::Unpacker { drain, length: room } => unsafe {
                unpack(drain.as_mut(), room, from, length)
            },
        }
    }

    /// Like [`Target::drain`], for bytes that are available during this call only. Calls `wait`
    /// repeatedly while a device is busy.
    ///
    /// # Safety
    /// See [`Drain::drain`].
    #[inline]
    pub unsafe fn drain_all(&mut self, from: *const u8, length: usize, wait: &mut dyn FnMut()) {
        // SAFETY: `from` is readable for `length` bytes and the user memory is valid (this
        // function's contract).
        while unsafe { self.drain(from, length) } == Step::Pending {
            wait();
        }
    }
}

/// Passes an unpacker the next bytes, truncated to the remaining room.
///
/// # Safety
/// See [`Drain::drain`].
unsafe fn unpack(drain: &mut dyn Drain, room: &mut usize, from: *const u8, length: usize) -> Step {
    let step = length.min(*room);
    // SAFETY: `from` is readable for `length` bytes, of which `step` are passed, and the user
    // memory is valid (this function's contract).
    match unsafe { drain.drain(from, step) } {
        Step::Done(_) => {
            *room -= step;
            Step::Done(length)
        }
        Step::Pending => Step::Pending,
    }
}

// SAFETY: only the owner of a source accesses it, and a packer does not depend on the thread
// (contract of `Fill`).
unsafe impl Send for Source {}
// SAFETY: only the owner of a target accesses it, and an unpacker does not depend on the thread
// (contract of `Drain`).
unsafe impl Send for Target {}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device that is busy at every second call, and moves at most three bytes.
    struct Busy {
        moved: usize,
        busy: bool,
    }

    impl Busy {
        fn source(length: usize) -> Source {
            Source::Packer { fill: Box::new(Busy { moved: 0, busy: false }), length }
        }

        fn is_busy(&mut self) -> bool {
            self.busy = !self.busy;
            self.busy
        }
    }

    // SAFETY: `fill` writes at most `capacity` bytes.
    unsafe impl Fill for Busy {
        unsafe fn fill(&mut self, into: *mut u8, capacity: usize) -> Step {
            if self.is_busy() {
                return Step::Pending;
            }
            let step = capacity.min(3);
            // SAFETY: `step` is at most `capacity`, for which `into` is writable.
            (0..step).for_each(|i| unsafe { into.add(i).write((self.moved + i + 1) as u8) });
            self.moved += step;
            Step::Done(step)
        }

        fn space(&self) -> MemorySpace {
            MemorySpace::Device
        }
    }

    struct BusyTarget(Busy, *mut u8);

    // SAFETY: the test drains no more bytes than the memory behind the pointer holds.
    unsafe impl Drain for BusyTarget {
        unsafe fn drain(&mut self, from: *const u8, length: usize) -> Step {
            if self.0.is_busy() {
                return Step::Pending;
            }
            // SAFETY: `from` is readable for `length` bytes, and the target has room for what the
            // test drains.
            unsafe { from.copy_to_nonoverlapping(self.1.add(self.0.moved), length) };
            self.0.moved += length;
            Step::Done(length)
        }

        fn space(&self) -> MemorySpace {
            MemorySpace::Device
        }
    }

    #[test]
    fn a_busy_device_is_waited_for() {
        let mut bytes = [0xff; 12];
        let mut source = Busy::source(8);
        // SAFETY: `bytes` holds 12 bytes.
        unsafe { source.fill_all(bytes.as_mut_ptr(), 5, &mut || {}) };
        assert_eq!(bytes[..6], [1, 2, 3, 4, 5, 0xff]);
        // SAFETY: `bytes` holds 12 bytes, 7 of them from offset 5.
        unsafe { source.fill_all(bytes.as_mut_ptr().add(5), 5, &mut || {}) };
        assert_eq!(bytes, [1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0xff, 0xff]);
        let mut room = [0; 5];
        let drain = Box::new(BusyTarget(Busy { moved: 0, busy: false }, room.as_mut_ptr()));
        let mut target = Target::Unpacker { drain, length: 5 };
        let mut waits = 0;
        for part in [&bytes[..2], &bytes[2..8]] {
            // SAFETY: `part` is readable, and `room` holds the five bytes that the target accepts.
            unsafe { target.drain_all(part.as_ptr(), part.len(), &mut || waits += 1) };
        }
        assert_eq!((room, waits), ([1, 2, 3, 4, 5], 2));
    }

    #[test]
    #[should_panic = "a source in host memory waits for a device"]
    fn a_busy_device_is_not_read_at_once() {
        let mut bytes = [0; 8];
        // SAFETY: `bytes` holds 8 bytes.
        unsafe { Busy::source(8).fill_at_once(bytes.as_mut_ptr(), 8) };
    }
}
