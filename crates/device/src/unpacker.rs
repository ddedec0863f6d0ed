//! Unpacks a message from host memory into device memory, in pieces that overlap.

use std::collections::VecDeque;
use std::ptr;

use towpath_base::transfer::pipeline::{DrainSlots, Emptied, PinnedMemory, PipelineSlots};
use towpath_base::transfer::{Drain, Export, Fill, MemorySpace, Step};

use crate::abi::Address;
use crate::context::{PinnedSlot, SLOT_BYTES};
use crate::driver::Result;
use crate::moves::{self, CopyEngine};
use crate::packer::Packer;
use crate::paths::DevicePath;
use crate::pipeline::{self, Pipeline};
use crate::tables::PlacedElements;
use crate::transfer::{Direction, Side};

/// Pieces that the device may still be unpacking when the next one comes.
const BEHIND: usize = 4;

/// An unpacker of elements in device memory. The device unpacks pieces from pinned memory while
/// later ones arrive.
pub(crate) struct Unpacker {
    side: Side,
    total: usize,
    /// Packed position of the next byte to arrive.
    position: usize,
    /// Bytes that the current call of `drain` has passed before, and that are in slots.
    accepted: usize,
    /// Packed position at which the message ends, if that is known.
    end: Option<usize>,
    /// Slots that the device reads, the oldest first.
    slots: VecDeque<PinnedSlot>,
    has_failed: bool,
    pipeline: Option<Pipeline>,
}

impl Unpacker {
    pub(crate) fn new(side: Side, total: usize) -> Unpacker {
        Unpacker {
            side,
            total,
            position: 0,
            accepted: 0,
            end: None,
            slots: VecDeque::new(),
            has_failed: false,
            pipeline: None,
        }
    }

    /// Frees the slots that the device has read. True if none is left.
    fn settle(&mut self) -> Result<bool> {
        while let Some(slot) = self.slots.front_mut() {
            if !slot.completion.has_happened(&self.side.context)? {
                return Ok(false);
            }
            self.slots.pop_front().into_iter().for_each(|slot| self.side.context.free_slot(slot));
        }
        Ok(true)
    }

    /// Copies `length` bytes into a slot and starts to unpack them.
    ///
    /// # Safety
    /// `from` must be readable for `length` bytes, at most [`SLOT_BYTES`]; the elements must have
    /// room for them and be writable until the unpacker is dropped.
    unsafe fn start_piece(&mut self, from: *const u8, length: usize) -> Result<()> {
        let context = self.side.context.clone();
        let _entered = context.enter()?;
        let mut slot = context.take_slot()?;
        let range = (self.position, length);
        let packed = PlacedElements::packed(slot.memory as Address, range);
        // SAFETY: the slot has room for `length` bytes. The elements have room for them (this
        // function's contract), and both stay valid until the piece is done: dropping the
        // unpacker waits for it.
        unsafe {
            ptr::copy_nonoverlapping(from, slot.memory, length);
            moves::start(
                &context,
                self.side.stream,
                (&packed, &self.side.placed),
                range,
                self.side.engine(CopyEngine::Always),
                &mut slot.completion,
            )?;
        }
        self.slots.push_back(slot);
        self.position += length;
        self.accepted += length;
        Ok(())
    }

    /// # Safety
    /// See [`Drain::drain`].
    unsafe fn step(&mut self, from: *const u8, length: usize) -> Result<Step> {
        let mut idle = self.settle()?;
        let wanted = length.min(self.accepted + self.total - self.position);
        while self.accepted < wanted {
            if self.slots.len() == BEHIND && !self.settle()? && self.slots.len() == BEHIND {
                return Ok(Step::Pending);
            }
            let piece = SLOT_BYTES.min(wanted - self.accepted);
            // SAFETY: `from` is readable for `length` bytes (this function's contract), of which
            // `accepted + piece` are at most all, and the elements have room for `piece` more.
            unsafe { self.start_piece(from.add(self.accepted), piece)? };
            idle = false;
        }
        let more = self.end.is_some_and(|end| self.position < end.min(self.total));
        if !more && !idle && !self.settle()? {
            return Ok(Step::Pending);
        }
        self.accepted = 0;
        Ok(Step::Done(length))
    }
}

// SAFETY: the device writes only the elements, and `step` reads at most `length` bytes. Dropping
// waits for the device.
unsafe impl Drain for Unpacker {
    unsafe fn drain(&mut self, from: *const u8, length: usize) -> Step {
        if !self.has_failed {
            // SAFETY: `from` is readable for `length` bytes, and the elements are writable (this
            // function's contract).
            let step = unsafe { self.step(from, length) };
            if let Some(step) = self.side.shared.reporter.ok(step) {
                return step;
            }
            self.has_failed = true;
        }
        Step::Done(length)
    }

    fn space(&self) -> MemorySpace {
        MemorySpace::Device
    }

    fn expect(&mut self, length: usize) {
        self.end = Some(self.position.saturating_add(length));
    }

    unsafe fn read_from(&mut self, source: &Export, length: usize) -> Option<Step> {
        // SAFETY: the memory of both sides is valid and does not overlap (this function's
        // contract).
        unsafe { self.side.copy(source, length, Direction::In) }
    }

    fn lend(&mut self, source: &Export) -> Option<Export> {
        let preferred = self.side.shared.processes.prefers(&self.side.context, source);
        if preferred { self.side.export() } else { None }
    }

    fn pipeline(&mut self) -> Option<&mut dyn DrainSlots> {
        Some(self)
    }

    unsafe fn take(&mut self, source: &mut dyn Fill) -> Option<Step> {
        let source = source.as_any()?.downcast_mut::<Packer>()?;
        if self.position > 0 {
            return None;
        }
        let (from, bytes) = source.unbegun()?;
        let bytes = bytes.min(self.total);
        // SAFETY: both hold `bytes` bytes, are valid and do not overlap (this function's contract).
        let step = unsafe { self.side.copy_from(from, bytes) }?;
        if step != Step::Pending {
            self.position = self.total;
            source.end();
        }
        Some(step)
    }
}

// SAFETY: the device writes only the elements and reads only slots that are filled. Dropping waits
// for the device.
unsafe impl DrainSlots for Unpacker {
    unsafe fn pin(&mut self, memory: *mut u8, length: usize) -> Option<PinnedMemory> {
        // SAFETY: this function has the same contract.
        unsafe { pipeline::pin(&self.side, memory, length) }
    }

    fn may_open(&self, source: &Export) -> bool {
        let Side { shared, context, .. } = &self.side;
        shared.paths.allow(DevicePath::Ring) && shared.processes.may_open(context, source)
    }

    unsafe fn begin(&mut self, slots: PipelineSlots<'_>, length: usize) -> bool {
        self.pipeline = Pipeline::from(&self.side, slots, length.min(self.total));
        self.pipeline.is_some()
    }

    unsafe fn drain(&mut self, filled: u64) -> Emptied {
        let Some(pipeline) = &mut self.pipeline else { return Emptied { pieces: 0, is_all: true } };
        // SAFETY: the elements are writable, and the slots are filled so far (this function's
        // contract).
        unsafe { pipeline.drain(&self.side, filled) }
    }
}

impl Drop for Unpacker {
    fn drop(&mut self) {
        // Its pieces use the lists of blocks, which `side` holds.
        self.pipeline = None;
        for slot in self.slots.drain(..) {
            slot.completion.wait(&self.side.context);
            self.side.context.free_slot(slot);
        }
    }
}
