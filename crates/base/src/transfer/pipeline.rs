//! Messages that devices pass through slots of memory that both processes can access, where neither
//! can open the memory of the other.
//!
//! The sender fills [`PIPELINE_SLOTS`] slots in order and again and again, so piece `n` of a
//! message is in slot `n % PIPELINE_SLOTS`. Every piece but the last one fills its slot. Each side
//! tells the other one how many pieces it has filled or emptied; how it tells is the wire's affair.

use std::any::Any;

use super::{Export, Target};

/// Slots of a pipeline.
pub const PIPELINE_SLOTS: u64 = 4;
/// Bytes of a slot in host memory.
pub const PIPELINE_SLOT_BYTES: usize = 256 << 10;
/// Bytes of all slots in host memory.
pub const PIPELINE_BYTES: usize = PIPELINE_SLOTS as usize * PIPELINE_SLOT_BYTES;

/// Host memory that devices can access until this is dropped.
pub type PinnedMemory = Box<dyn Any + Send>;

/// Where the slots of a pipeline are.
#[derive(Clone, Copy, Debug)]
pub enum PipelineSlots<'a> {
    /// In the memory of a device of the sender.
    Device(&'a Export),
    /// In [`PIPELINE_BYTES`] bytes of host memory that are pinned in this process.
    Host(*mut u8),
}

/// A device that packs a message into slots.
///
/// # Safety
/// An implementation must access only the memory it was created for and slots that are free. Once
/// it is dropped, no device accesses them any more.
pub unsafe trait FillSlots {
    /// Lets devices access host memory; see [`DrainSlots::pin`].
    ///
    /// # Safety
    /// See [`DrainSlots::pin`].
    unsafe fn pin(&mut self, memory: *mut u8, length: usize) -> Option<PinnedMemory>;

    /// Allocates slots in the memory of the device, for a message of `length` bytes, and describes
    /// them for the process of the receiver. `None` if that cannot open them.
    fn slots_on_device(&mut self, length: usize) -> Option<Export>;

    /// Begins to pack the first `length` bytes of the message into slots: those of host memory, or
    /// without any those that [`FillSlots::slots_on_device`] has described.
    ///
    /// # Safety
    /// Nothing but this pipeline may use the slots until it ends or is dropped.
    unsafe fn begin(&mut self, host_slots: Option<*mut u8>, length: usize);

    /// Packs the next pieces if slots are free: the receiver has emptied so many pieces. Returns
    /// how many are filled.
    ///
    /// # Safety
    /// The user memory must be valid until the pipeline ends or is dropped.
    unsafe fn fill(&mut self, emptied: u64) -> u64;

    /// Ends the pipeline: no device accesses the slots any more. The message can be packed again.
    fn end(&mut self);
}

/// A device that unpacks a message from slots.
///
/// # Safety
/// An implementation must access only the memory it was created for and slots that are filled. Once
/// it is dropped, no device accesses them any more.
pub unsafe trait DrainSlots {
    /// Lets devices access `length` bytes of host memory until the result is dropped. `None` if
    /// they cannot or must not.
    ///
    /// # Safety
    /// The memory must stay mapped until the result is dropped.
    unsafe fn pin(&mut self, memory: *mut u8, length: usize) -> Option<PinnedMemory>;

    /// True if this process may be able to open memory of the device that `source` is on.
    fn may_open(&self, source: &Export) -> bool;

    /// Begins to unpack `length` bytes from slots. False if this process cannot open them.
    /// Nothing has been unpacked then.
    ///
    /// # Safety
    /// The slots must stay mapped until the pipeline is dropped.
    unsafe fn begin(&mut self, slots: PipelineSlots<'_>, length: usize) -> bool;

    /// Unpacks the next pieces: the sender has filled so many.
    ///
    /// # Safety
    /// The user memory must be valid until all are emptied or the pipeline is dropped.
    unsafe fn drain(&mut self, filled: u64) -> Emptied;
}

/// How far a receiver has emptied slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emptied {
    /// Pieces that are in place, and whose slots are free.
    pub pieces: u64,
    /// True if these are the whole message.
    pub is_all: bool,
}

/// The processor's side of a pipeline into a buffer in host memory.
#[derive(Debug)]
pub struct HostDrain {
    slots: *const u8,
    length: usize,
    emptied: u64,
}

impl HostDrain {
    /// Begins to unpack `length` bytes from slots in host memory.
    pub fn new(slots: *const u8, length: usize) -> HostDrain {
        HostDrain { slots, length, emptied: 0 }
    }

    /// See [`DrainSlots::drain`].
    ///
    /// # Safety
    /// As there. `target` must be in host memory, the same in all calls, and the slots must be
    /// mapped.
    pub unsafe fn drain(&mut self, target: &mut Target, filled: u64) -> Emptied {
        let all = self.length.div_ceil(PIPELINE_SLOT_BYTES) as u64;
        while self.emptied < filled.min(all) {
            let at = self.emptied as usize * PIPELINE_SLOT_BYTES;
            let length = PIPELINE_SLOT_BYTES.min(self.length - at);
            let slot = (self.emptied % PIPELINE_SLOTS) as usize * PIPELINE_SLOT_BYTES;
            let mut wait = || panic!("a target in host memory waits for a device");
            // SAFETY: the slot is mapped and filled, and the user memory is valid (this function's
            // contract).
            unsafe { target.drain_all(self.slots.add(slot), length, &mut wait) };
            self.emptied += 1;
        }
        Emptied { pieces: self.emptied, is_all: self.emptied == all }
    }
}

// SAFETY: the slots are only accessed by the owner of the pipeline.
unsafe impl Send for HostDrain {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_drains_the_slots_that_are_filled_in_order() {
        let length = 5 * PIPELINE_SLOT_BYTES + 7;
        let sent: Vec<u8> = (0..length).map(|at| (at / 1000 * 7 + at) as u8).collect();
        let (mut slots, mut received) = (vec![0; PIPELINE_BYTES], vec![0; length]);
        let mut target = Target::Bytes { pointer: received.as_mut_ptr(), length };
        let mut drain = HostDrain::new(slots.as_ptr(), length);
        for (piece, bytes) in sent.chunks(PIPELINE_SLOT_BYTES).enumerate() {
            let slot = piece % PIPELINE_SLOTS as usize * PIPELINE_SLOT_BYTES;
            slots[slot..slot + bytes.len()].copy_from_slice(bytes);
            // SAFETY: slots and target are vectors of this function that are long enough.
            let emptied = unsafe { drain.drain(&mut target, piece as u64 + 1) };
            assert_eq!(emptied, Emptied { pieces: piece as u64 + 1, is_all: piece == 5 });
        }
        // SAFETY: as above. A count that is too high does not lead beyond the message.
        let emptied = unsafe { drain.drain(&mut target, u64::MAX) };
        assert_eq!(emptied, Emptied { pieces: 6, is_all: true });
        assert!(received == sent);
    }
}
