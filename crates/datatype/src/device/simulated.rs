//! A device simulated by the processor, for tests: its memory is the host's, but its packers return
//! [`Step::Pending`] at times.

use std::sync::Mutex;

use towpath_base::transfer::{Drain, Fill, MemorySpace, Step};

use super::{Device, DeviceMemory, DeviceWork};
use crate::basic::Basic;
use crate::cursor::Cursor;
use crate::datatype::Datatype;
use crate::reduce::{self, Operation};

/// Number of calls for one piece; all but the last return [`Step::Pending`].
const CALLS: usize = 3;
/// Maximum length of a packed piece in bytes.
const PIECE: usize = 5000;

/// A device that returns [`Step::Pending`] twice before it moves a piece. It packs at most 5000
/// bytes at a time.
#[derive(Debug)]
pub struct SimulatedDevice;

struct Busy {
    cursor: Cursor,
    calls: usize,
}

impl Busy {
    /// # Safety
    /// As for [`Cursor::new`].
    unsafe fn new(datatype: &Datatype, pointer: *mut u8, count: i64) -> Box<Busy> {
        // SAFETY: the elements' memory is valid while the cursor is used (this function's
        // contract).
        Box::new(Busy { cursor: unsafe { Cursor::new(datatype, pointer, count) }, calls: 0 })
    }

    fn works(&mut self) -> bool {
        self.calls += 1;
        !self.calls.is_multiple_of(CALLS)
    }
}

// SAFETY: only the cursor accesses memory: the elements for which it was created, and at most
// `capacity` bytes of `into`.
unsafe impl Fill for Busy {
    unsafe fn fill(&mut self, into: *mut u8, capacity: usize) -> Step {
        if self.works() {
            return Step::Pending;
        }
        // SAFETY: `into` is writable for `capacity` bytes, and the elements' memory is valid (this
        // function's contract).
        unsafe { self.cursor.fill(into, capacity.min(PIECE)) }
    }

    fn space(&self) -> MemorySpace {
        MemorySpace::Device
    }
}

// SAFETY: only the cursor accesses memory: the elements for which it was created, and `from`.
unsafe impl Drain for Busy {
    unsafe fn drain(&mut self, from: *const u8, length: usize) -> Step {
        if self.works() {
            return Step::Pending;
        }
        // SAFETY: `from` is readable for `length` bytes, and the elements' memory is valid (this
        // function's contract).
        unsafe { self.cursor.drain(from, length) }
    }

    fn space(&self) -> MemorySpace {
        MemorySpace::Device
    }
}

/// A reduction that has been computed, but takes a few questions to end.
#[derive(Debug)]
struct SlowReduction {
    calls: usize,
}

impl DeviceWork for SlowReduction {
    fn has_ended(&mut self) -> bool {
        self.calls += 1;
        self.calls >= CALLS
    }
}

/// Memory that is taken for a device's, in words of the largest alignment.
#[derive(Debug)]
struct SimulatedMemory(Mutex<Vec<u128>>);

impl DeviceMemory for SimulatedMemory {
    fn pointer(&self) -> *mut u8 {
        self.0.lock().unwrap().as_mut_ptr().cast()
    }

    fn bytes(&self) -> usize {
        size_of_val(&self.0.lock().unwrap()[..])
    }
}

impl Device for SimulatedDevice {
    unsafe fn packer(&self, datatype: &Datatype, pointer: *const u8, count: i64) -> Box<dyn Fill> {
        // SAFETY: the memory of the elements is readable while the packer is used (this function's
        // contract), and a packer writes none of it.
        unsafe { Busy::new(datatype, pointer.cast_mut(), count) }
    }

    unsafe fn unpacker(&self, datatype: &Datatype, pointer: *mut u8, count: i64) -> Box<dyn Drain> {
        // SAFETY: the memory of the elements is writable while the unpacker is used (this
        // function's contract).
        unsafe { Busy::new(datatype, pointer, count) }
    }

    unsafe fn reduce(
        &self,
        operation: Operation,
        basic: Basic,
        (input, inout): (*const u8, *mut u8),
        count: i64,
    ) -> Option<Box<dyn DeviceWork>> {
        let kernel = reduce::reduction(operation, basic)?;
        // SAFETY: both vectors hold the elements and do not overlap (this function's contract).
        unsafe { kernel(input, inout, count.max(0) as usize) };
        Some(Box::new(SlowReduction { calls: 0 }))
    }

    fn reducing(&self, operation: Operation, basic: Basic, _: &[(*const u8, i64)]) -> Option<u64> {
        reduce::reduction(operation, basic).map(|_| 1)
    }

    fn allocate(&self, _: usize, bytes: usize) -> Option<Box<dyn DeviceMemory>> {
        let words = vec![u128::MAX; bytes.div_ceil(size_of::<u128>()).max(1)];
        Some(Box::new(SimulatedMemory(Mutex::new(words))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basic::Basic;
    use crate::datatype::Form;
    use crate::device::{source_on, target_on};
    use towpath_base::transfer::across;

    #[test]
    fn columns_move_between_host_and_device_in_both_directions() {
        let column = Datatype::vector(100, 1, 7, &Datatype::named(Basic::Int32), Form::Small).unwrap();
        column.commit();
        let from: Vec<u32> = (0..700).collect();
        let device: &dyn Device = &SimulatedDevice;
        for (out, back) in [(Some(device), None), (None, Some(device)), (Some(device), Some(device))] {
            let mut to = vec![0u32; 700];
            // SAFETY: both vectors hold 100 blocks, seven elements apart, and outlive the copy.
            let (mut source, mut target) = unsafe {
                (source_on(out, &column, from.as_ptr().cast(), 1), target_on(back, &column, to.as_mut_ptr().cast(), 1))
            };
            let spaces = [source.space(), target.space()];
            assert_eq!(spaces.map(|space| space == MemorySpace::Device), [out.is_some(), back.is_some()]);
            let (mut bounce, mut held, mut pending) = ([0u8; 64], 0, 0);
            while target.length() > 0 {
                // SAFETY: both vectors are alive, and `held` is what the last call left.
                pending += usize::from(unsafe { across(&mut source, &mut target, &mut bounce, &mut held) }.is_none());
            }
            assert!(pending > 0 && (0..100).all(|row| to[7 * row] == from[7 * row]));
        }
    }
}
