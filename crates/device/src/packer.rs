//! Packs a message in device memory into host memory, in pieces that overlap.

use std::any::Any;
use std::collections::VecDeque;
use std::ptr;

use towpath_base::transfer::pipeline::{FillSlots, PinnedMemory};
use towpath_base::transfer::{Export, Fill, MemorySpace, Step};

use crate::abi::Address;
use crate::context::{PinnedSlot, SLOT_BYTES};
use crate::driver::Result;
use crate::failure::FailedTransfer;
use crate::moves::{self, CopyEngine};
use crate::pipeline::{self, Pipeline};
use crate::scratch::ScratchMemory;
use crate::tables::PlacedElements;
use crate::transfer::{Direction, Side};

/// Pieces that are packed ahead.
const AHEAD: usize = 4;

/// Packed bytes in a slot, or on their way there.
struct PackedPiece {
    slot: PinnedSlot,
    length: usize,
    /// Bytes that have been passed on.
    taken: usize,
}

/// A packer of elements in device memory. The device packs pieces into pinned memory while earlier
/// ones are sent.
pub(crate) struct Packer {
    side: Side,
    total: usize,
    /// Packed position of the next piece to start.
    position: usize,
    pieces: VecDeque<PackedPiece>,
    failed: Option<FailedTransfer>,
    /// Memory of the device for the slots of a pipeline that has not begun.
    slots: Option<ScratchMemory>,
    pipeline: Option<Pipeline>,
}

impl Packer {
    pub(crate) fn new(side: Side, total: usize) -> Packer {
        let pieces = VecDeque::new();
        Packer { side, total, position: 0, pieces, failed: None, slots: None, pipeline: None }
    }

    /// The elements and their size, if nothing has been packed yet.
    pub(crate) fn unbegun(&self) -> Option<(&Side, usize)> {
        (self.position == 0).then_some((&self.side, self.total))
    }

    /// Ends the packer: everything has been copied otherwise.
    pub(crate) fn end(&mut self) {
        self.position = self.total;
    }

    /// Bytes that have not been passed on.
    fn left(&self) -> usize {
        let packed = self.pieces.iter().map(|piece| piece.length - piece.taken).sum::<usize>();
        self.total - self.position + packed
    }

    /// Starts pieces until enough are under way.
    ///
    /// # Safety
    /// The elements must be readable until the packer is dropped.
    unsafe fn start_pieces(&mut self) -> Result<()> {
        if self.pieces.len() == AHEAD || self.position == self.total {
            return Ok(());
        }
        let context = self.side.context.clone();
        let _entered = context.enter()?;
        while self.pieces.len() < AHEAD && self.position < self.total {
            let mut slot = context.take_slot()?;
            let length = SLOT_BYTES.min(self.total - self.position);
            let range = (self.position, length);
            let packed = PlacedElements::packed(slot.memory as Address, range);
            // SAFETY: the elements hold these bytes (this function's contract), the slot has room
            // for them, and both stay valid until the piece is done: dropping the packer waits for
            // it.
            unsafe {
                moves::start(
                    &context,
                    self.side.stream,
                    (&self.side.placed, &packed),
                    range,
                    self.side.engine(CopyEngine::Always),
                    &mut slot.completion,
                )?;
            }
            self.pieces.push_back(PackedPiece { slot, length, taken: 0 });
            self.position += length;
        }
        Ok(())
    }

    /// # Safety
    /// See [`Fill::fill`].
    unsafe fn step(&mut self, into: *mut u8, capacity: usize) -> Result<Step> {
        // SAFETY: the elements are readable (this function's contract).
        unsafe { self.start_pieces()? };
        let Some(piece) = self.pieces.front_mut() else { return Ok(Step::Done(0)) };
        if piece.taken == 0 && !piece.slot.completion.has_happened(&self.side.context)? {
            return Ok(Step::Pending);
        }
        let step = capacity.min(piece.length - piece.taken);
        // SAFETY: the device has written `length` bytes of the slot, and `into` has room for
        // `capacity` bytes (this function's contract).
        unsafe { ptr::copy_nonoverlapping(piece.slot.memory.add(piece.taken), into, step) };
        piece.taken += step;
        if piece.taken == piece.length
            && let Some(piece) = self.pieces.pop_front()
        {
            self.side.context.free_slot(piece.slot);
        }
        Ok(Step::Done(step))
    }
}

// SAFETY: the device reads only the elements, and `step` writes at most `capacity` bytes. Dropping
// waits for the device.
unsafe impl Fill for Packer {
    unsafe fn fill(&mut self, into: *mut u8, capacity: usize) -> Step {
        if self.failed.is_none() {
            // SAFETY: `into` has room for `capacity` bytes, and the elements are readable (this
            // function's contract).
            let step = unsafe { self.step(into, capacity) };
            if let Some(step) = self.side.shared.reporter.ok(step) {
                return step;
            }
        }
        let left = self.left();
        let failed = self.failed.get_or_insert_with(|| FailedTransfer::new(left));
        // SAFETY: `into` has room for `capacity` bytes (this function's contract).
        unsafe { failed.fill(into, capacity) }
    }

    fn space(&self) -> MemorySpace {
        MemorySpace::Device
    }

    fn export(&mut self) -> Option<Export> {
        self.side.announce()
    }

    fn pipeline(&mut self) -> Option<&mut dyn FillSlots> {
        Some(self)
    }

    fn as_any(&mut self) -> Option<&mut dyn Any> {
        Some(self)
    }

    unsafe fn write_to(&mut self, target: &Export, length: usize) -> Option<Step> {
        // SAFETY: the memory of both sides is valid and does not overlap (this function's
        // contract).
        unsafe { self.side.copy(target, length, Direction::Out) }
    }
}

// SAFETY: the device reads only the elements and writes only slots that are free. Dropping waits
// for the device.
unsafe impl FillSlots for Packer {
    unsafe fn pin(&mut self, memory: *mut u8, length: usize) -> Option<PinnedMemory> {
        // SAFETY: this function has the same contract.
        unsafe { pipeline::pin(&self.side, memory, length) }
    }

    fn slots_on_device(&mut self, length: usize) -> Option<Export> {
        let (slots, export) = pipeline::slots_on_device(&self.side, length)?;
        self.slots = Some(slots);
        Some(export)
    }

    unsafe fn begin(&mut self, host_slots: Option<*mut u8>, length: usize) {
        let length = length.min(self.total);
        let on_device = self.slots.take();
        self.pipeline = match host_slots {
            Some(slots) => Some(Pipeline::on_host(&self.side, Direction::Out, slots, length)),
            None => on_device.map(|slots| Pipeline::on_device(&self.side, slots, length)),
        };
    }

    unsafe fn fill(&mut self, emptied: u64) -> u64 {
        let Some(pipeline) = &mut self.pipeline else { return 0 };
        // SAFETY: the elements are readable and the slots belong to the pipeline (this function's
        // contract and that of `begin`).
        unsafe { pipeline.fill(&self.side, emptied) }
    }

    fn end(&mut self) {
        self.pipeline = None;
    }
}

impl Drop for Packer {
    fn drop(&mut self) {
        // Its pieces use the lists of blocks, which `side` holds.
        self.pipeline = None;
        for piece in self.pieces.drain(..) {
            piece.slot.completion.wait(&self.side.context);
            self.side.context.free_slot(piece.slot);
        }
    }
}
