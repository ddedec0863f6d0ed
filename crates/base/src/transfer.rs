//! How bytes come out of and go into user memory without the wires knowing what they are.
//!
//! A wire lends memory and asks a [`Fill`] to write the next bytes into it, or shows received bytes
//! to a [`Drain`]. Contiguous buffers are described directly, so that a wire may copy them with the
//! routine that suits it, or let the peer read them in place. User buffers are raw pointers all the
//! way: they may be unaligned, padded, aliased or NULL with `MPI_BOTTOM`.

use std::any::Any;

use crate::copy;

/// Words of a [`Strides`].
pub const STRIDES_WORDS: usize = 11;

/// How the bytes of a message lie between the lowest and the highest one, in words that mean
/// something to who made them, in whatever process. All 0: in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strides(pub [u64; STRIDES_WORDS]);

impl Strides {
    /// In a row.
    pub const ROW: Strides = Strides([0; STRIDES_WORDS]);
}

/// Where all bytes of a message are, for whoever sees that memory, be it at another address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The lowest byte.
    pub lowest: *mut u8,
    /// Bytes from there to behind the highest one.
    pub span: usize,
    /// How they lie in between.
    pub strides: Strides,
}

impl Layout {
    /// `length` bytes in a row.
    pub fn row(pointer: *mut u8, length: usize) -> Layout {
        Layout { lowest: pointer, span: length, strides: Strides::ROW }
    }
}

/// Copies bytes `position..position + length` of a message from where they are to where they go.
/// Whoever knows strides gives it to a wire.
///
/// # Safety
/// Both layouts must hold that many bytes, in memory that can be read, and written; they must not
/// overlap.
///
/// # Panics
/// When strides leave the span of its layout: then the memory it came through is damaged.
pub type CopyAcross = unsafe fn(from: &Layout, to: &Layout, position: usize, length: usize);

/// What one call of a packer achieved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// So many bytes were moved. Fewer than asked for only at the end of the data or before an
    /// indivisible block.
    Done(usize),
    /// Another device is at work; ask again. Nothing of this call counts yet.
    Pending,
}

/// Produces the bytes of one message in order.
///
/// # Safety
/// An implementation must stay inside the memory it was created for, and write at most `capacity`
/// bytes.
pub unsafe trait Fill {
    /// Writes the next bytes of the message to `into`.
    ///
    /// # Safety
    /// `into` must be valid for writes of `capacity` bytes, and the user memory behind the packer
    /// must still live.
    unsafe fn fill(&mut self, into: *mut u8, capacity: usize) -> Step;

    /// Where all bytes of the message are, if that can be said in a few words.
    fn layout(&self) -> Option<Layout> {
        None
    }

    /// What the implementation is, for a target that knows a shorter way than by packed bytes
    /// ([`Drain::take`]).
    fn as_any(&mut self) -> Option<&mut dyn Any> {
        None
    }
}

/// Consumes the bytes of one message in order.
///
/// # Safety
/// An implementation must stay inside the memory it was created for; bytes beyond the end of its
/// buffer are dropped.
pub unsafe trait Drain {
    /// Takes the next bytes of the message from `from`. All are taken: `Done` always carries
    /// `length`.
    ///
    /// # Safety
    /// `from` must be valid for reads of `length` bytes, and the user memory behind the unpacker
    /// must still live.
    unsafe fn drain(&mut self, from: *const u8, length: usize) -> Step;

    /// Where all bytes of the message go, if that can be said in a few words.
    fn layout(&self) -> Option<Layout> {
        None
    }

    /// Takes all that `source` yields straight from its memory, where it knows how; says how many
    /// bytes. Else nothing has happened.
    ///
    /// # Safety
    /// The user memory behind both must still live.
    unsafe fn take(&mut self, source: &mut dyn Fill) -> Option<usize> {
        let _ = source;
        None
    }
}

/// Where a message goes that a call waits for. It lies in the frame of that call, so that nothing
/// need be allocated for it.
///
/// # Safety
/// An implementation must stay inside the memory it was created for.
pub unsafe trait Place {
    /// How many bytes fit.
    fn room(&self) -> usize;

    /// Puts the first `length` bytes of the message, which fit, to where they go.
    ///
    /// # Safety
    /// `from` must be valid for reads of `length` bytes, and the user memory behind the place must
    /// still live.
    unsafe fn put(&self, from: *const u8, length: usize);

    /// The same place for a request, which may take the bytes piece by piece.
    fn target(&self) -> Target;
}

/// Where the bytes of a message that is sent come from.
pub enum Source {
    /// `length` bytes in a row.
    Bytes {
        /// First byte.
        pointer: *const u8,
        /// How many.
        length: usize,
    },
    /// Anything else: a packer that yields `length` bytes.
    Packer {
        /// Produces them.
        fill: Box<dyn Fill>,
        /// How many in all.
        length: usize,
    },
}

/// Where the bytes of a message that is received go.
pub enum Target {
    /// A row of `length` bytes.
    Bytes {
        /// First byte.
        pointer: *mut u8,
        /// How many fit.
        length: usize,
    },
    /// Anything else: an unpacker with room for `length` bytes.
    Unpacker {
        /// Consumes them.
        drain: Box<dyn Drain>,
        /// How many fit in all.
        length: usize,
    },
}

impl Source {
    /// Length of the message in bytes.
    pub fn length(&self) -> usize {
        match self {
            Source::Bytes { length, .. } | Source::Packer { length, .. } => *length,
        }
    }

    /// Where all bytes are, if that can be said in a few words.
    pub fn layout(&self) -> Option<Layout> {
        match self {
            Source::Bytes { pointer, length } => Some(Layout::row(pointer.cast_mut(), *length)),
            Source::Packer { fill, .. } => fill.layout(),
        }
    }

    /// Produces the next bytes: a contiguous source moves its pointer along.
    ///
    /// # Safety
    /// As [`Fill::fill`].
    pub unsafe fn fill(&mut self, into: *mut u8, capacity: usize) -> Step {
        match self {
            Source::Bytes { pointer, length } => {
                let step = capacity.min(*length);
                // SAFETY: the caller lends `capacity` bytes; `length` bytes are left behind
                // `pointer`.
                unsafe {
                    copy::row(*pointer, into, step);
                    *pointer = pointer.add(step);
                }
                *length -= step;
                Step::Done(step)
            }
            // SAFETY: handed through.
            Source::Packer { fill, length } => match unsafe { fill.fill(into, capacity.min(*length)) } {
                Step::Done(step) => {
                    *length -= step;
                    Step::Done(step)
                }
                Step::Pending => Step::Pending,
            },
        }
    }

    /// Writes the next `length` bytes to `into`, for memory that is lent for this call only: a
    /// device that is still busy is waited for. Bytes that a packer owes at its end are zero.
    ///
    /// # Safety
    /// `into` must be valid for writes of `length` bytes, and the user memory behind the source
    /// must still live.
    pub unsafe fn fill_all(&mut self, into: *mut u8, length: usize) {
        // SAFETY: the caller lends the bytes that each step fills.
        unsafe { self.fill_all_by(into, length, |source, into, capacity| source.fill(into, capacity)) };
    }

    /// As [`Source::fill_all`], each step by `fill`: source, where to, how many bytes at most.
    ///
    /// # Safety
    /// As there; `fill` must write no more than it may.
    pub unsafe fn fill_all_by(
        &mut self,
        into: *mut u8,
        length: usize,
        mut fill: impl FnMut(&mut Source, *mut u8, usize) -> Step,
    ) {
        let mut done = 0;
        while done < length {
            // SAFETY: `length - done` bytes are left behind the pointer.
            let rest = unsafe { into.add(done) };
            match fill(self, rest, length - done) {
                // SAFETY: as above.
                Step::Done(0) => return unsafe { rest.write_bytes(0, length - done) },
                Step::Done(step) => done += step,
                Step::Pending => std::hint::spin_loop(),
            }
        }
    }
}

impl Target {
    /// Room in bytes.
    pub fn length(&self) -> usize {
        match self {
            Target::Bytes { length, .. } | Target::Unpacker { length, .. } => *length,
        }
    }

    /// Where all bytes go, if that can be said in a few words.
    pub fn layout(&self) -> Option<Layout> {
        match self {
            Target::Bytes { pointer, length } => Some(Layout::row(*pointer, *length)),
            Target::Unpacker { drain, .. } => drain.layout(),
        }
    }

    /// Consumes the next bytes; what does not fit is dropped.
    ///
    /// # Safety
    /// As [`Drain::drain`].
    #[inline]
    pub unsafe fn drain(&mut self, from: *const u8, length: usize) -> Step {
        match self {
            Target::Bytes { pointer, length: room } => {
                let step = length.min(*room);
                // SAFETY: the caller lends `length` bytes; `room` bytes are left behind `pointer`.
                unsafe {
                    copy::fetch(from, *pointer, step);
                    *pointer = pointer.add(step);
                }
                *room -= step;
                Step::Done(length)
            }
            // SAFETY: the caller's contract is the same.
            Target::Unpacker { drain, length: room } => unsafe { unpack(drain.as_mut(), room, from, length) },
        }
    }

    /// As [`Target::drain`], for bytes that are lent for this call only: a device that is still
    /// busy is waited for.
    ///
    /// # Safety
    /// As [`Drain::drain`].
    #[inline]
    pub unsafe fn drain_all(&mut self, from: *const u8, length: usize) {
        // SAFETY: promised by the caller.
        while unsafe { self.drain(from, length) } == Step::Pending {
            std::hint::spin_loop();
        }
    }
}

/// Gives an unpacker the next bytes, cut to the room that is left.
///
/// # Safety
/// As [`Drain::drain`].
unsafe fn unpack(drain: &mut dyn Drain, room: &mut usize, from: *const u8, length: usize) -> Step {
    let step = length.min(*room);
    // SAFETY: the caller's contract is the same, for more bytes.
    match unsafe { drain.drain(from, step) } {
        Step::Done(_) => {
            *room -= step;
            Step::Done(length)
        }
        Step::Pending => Step::Pending,
    }
}

// SAFETY: sources and targets are moved with the request that owns them between threads that hold
// the lane's lock.
unsafe impl Send for Source {}
// SAFETY: as above.
unsafe impl Send for Target {}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device that is busy at every second call, and moves three bytes at most.
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

    // SAFETY: it writes at most `capacity` bytes.
    unsafe impl Fill for Busy {
        unsafe fn fill(&mut self, into: *mut u8, capacity: usize) -> Step {
            if self.is_busy() {
                return Step::Pending;
            }
            let step = capacity.min(3);
            // SAFETY: the caller lends `capacity` bytes.
            (0..step).for_each(|i| unsafe { into.add(i).write((self.moved + i + 1) as u8) });
            self.moved += step;
            Step::Done(step)
        }
    }

    struct BusyTarget(Busy, *mut u8);

    // SAFETY: the memory that it was made for has room for what the test drains.
    unsafe impl Drain for BusyTarget {
        unsafe fn drain(&mut self, from: *const u8, length: usize) -> Step {
            if self.0.is_busy() {
                return Step::Pending;
            }
            // SAFETY: as above, and the caller lends `length` bytes.
            unsafe { from.copy_to_nonoverlapping(self.1.add(self.0.moved), length) };
            self.0.moved += length;
            Step::Done(length)
        }
    }

    #[test]
    fn a_busy_device_is_waited_for() {
        let mut bytes = [0xff; 12];
        let mut source = Busy::source(8);
        // SAFETY: the array has room.
        unsafe { source.fill_all(bytes.as_mut_ptr(), 5) };
        assert_eq!(bytes[..6], [1, 2, 3, 4, 5, 0xff]);
        // SAFETY: as above.
        unsafe { source.fill_all(bytes.as_mut_ptr().add(5), 5) };
        assert_eq!(bytes, [1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0xff, 0xff]);
        let mut room = [0; 5];
        let drain = Box::new(BusyTarget(Busy { moved: 0, busy: false }, room.as_mut_ptr()));
        let mut target = Target::Unpacker { drain, length: 5 };
        for part in [&bytes[..2], &bytes[2..8]] {
            // SAFETY: the target takes no more than there is room for.
            unsafe { target.drain_all(part.as_ptr(), part.len()) };
        }
        assert_eq!(room, [1, 2, 3, 4, 5]);
    }
}
