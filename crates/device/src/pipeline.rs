//! One side of a pipeline: the device packs the pieces of a message into slots that another process
//! can access, or unpacks them from there (`towpath_base::transfer::pipeline`).

use std::collections::VecDeque;
use std::ffi::c_void;
use std::sync::Arc;

use towpath_base::transfer::Export;
use towpath_base::transfer::pipeline::{
    Emptied, PIPELINE_SLOT_BYTES, PIPELINE_SLOTS, PinnedMemory, PipelineSlots,
};
use towpath_datatype::device::DeviceMemory as _;

use crate::abi::{Address, HOST_REGISTER_FLAGS, code};
use crate::completion::TransferCompletion;
use crate::context::DeviceContext;
use crate::driver::Result;
use crate::ipc::Opened;
use crate::moves::{self, CopyEngine};
use crate::paths::DevicePath;
use crate::pointer;
use crate::scratch::ScratchMemory;
use crate::tables::PlacedElements;
use crate::transfer::{Direction, SharedState, Side};

/// Bytes of a slot in the memory of a device. Between two processes on one device each piece costs
/// a switch between their contexts, as long as 200 MB take within the device.
const DEVICE_SLOT_BYTES: usize = 4 << 20;

/// Host memory that devices can access until this is dropped.
struct RegisteredMemory {
    context: Arc<DeviceContext>,
    memory: *mut c_void,
}

// SAFETY: the memory is only named, not accessed.
unsafe impl Send for RegisteredMemory {}

impl Drop for RegisteredMemory {
    fn drop(&mut self) {
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: the memory is registered, and no transfer uses it (contract of
            // `FillSlots::pin`).
            unsafe { (self.context.driver.calls.unregister_host)(self.memory) };
        }
    }
}

/// Where the slots are, and what keeps them there.
#[derive(Debug)]
enum SlotMemory {
    /// In host memory that the wire keeps registered.
    Host,
    /// In memory of this process's device.
    Own(#[expect(dead_code, reason = "keeps the slots allocated")] ScratchMemory),
    /// In memory of another process.
    Opened(#[expect(dead_code, reason = "keeps the slots mapped")] Vec<Arc<Opened>>),
}

/// The pieces of a message.
#[derive(Debug)]
pub(crate) struct Pipeline {
    context: Arc<DeviceContext>,
    direction: Direction,
    /// Address of the first slot.
    slots: Address,
    slot_bytes: usize,
    memory: SlotMemory,
    /// Bytes of the message.
    total: usize,
    /// Pieces under way, the oldest first.
    completions: VecDeque<TransferCompletion>,
    /// Pieces that are done.
    done: u64,
}

impl Pipeline {
    /// From or to slots in host memory that is registered.
    pub(crate) fn on_host(
        side: &Side,
        direction: Direction,
        slots: *mut u8,
        total: usize,
    ) -> Pipeline {
        let place = (slots as Address, PIPELINE_SLOT_BYTES);
        Pipeline::new(side, direction, place, SlotMemory::Host, total)
    }

    /// To slots in memory of this process's device.
    pub(crate) fn on_device(side: &Side, slots: ScratchMemory, total: usize) -> Pipeline {
        let place = (slots.pointer() as Address, DEVICE_SLOT_BYTES);
        Pipeline::new(side, Direction::Out, place, SlotMemory::Own(slots), total)
    }

    /// From the slots that another process has described; `None` if they cannot be opened.
    fn opened(side: &Side, export: &Export, total: usize) -> Option<Pipeline> {
        let entered = side.context.enter().ok()?;
        let opened = side.shared.processes.open(&side.context, export);
        drop(entered);
        let (placed, opened) = opened?;
        let place = (placed.placement.base, DEVICE_SLOT_BYTES);
        Some(Pipeline::new(side, Direction::In, place, SlotMemory::Opened(opened), total))
    }

    /// From slots that another process fills; `None` if they cannot be opened.
    pub(crate) fn from(side: &Side, slots: PipelineSlots<'_>, total: usize) -> Option<Pipeline> {
        match slots {
            PipelineSlots::Device(export) => Pipeline::opened(side, export, total),
            PipelineSlots::Host(slots) => {
                Some(Pipeline::on_host(side, Direction::In, slots, total))
            }
        }
    }

    fn new(
        side: &Side,
        direction: Direction,
        (slots, slot_bytes): (Address, usize),
        memory: SlotMemory,
        total: usize,
    ) -> Pipeline {
        let (context, completions) = (side.context.clone(), VecDeque::new());
        Pipeline { context, direction, slots, slot_bytes, memory, total, completions, done: 0 }
    }

    /// Pieces of the message.
    fn pieces(&self) -> u64 {
        self.total.div_ceil(self.slot_bytes) as u64
    }

    /// Packs or unpacks the pieces before `end`, as far as there are slots, and returns how many
    /// are done. After a failure all are, with undefined content.
    ///
    /// # Safety
    /// The elements of `side`, the same in all calls, must be valid until all pieces are done or
    /// the pipeline is dropped. The slots of these pieces must be free to be packed into, or
    /// filled.
    unsafe fn advance(&mut self, side: &Side, end: u64) -> u64 {
        if self.done == self.pieces() {
            return self.done;
        }
        // SAFETY: this function has the same contract.
        let advanced = unsafe { self.try_advance(side, end) };
        if side.shared.reporter.ok(advanced).is_none() {
            self.done = self.pieces();
        }
        self.done
    }

    /// # Safety
    /// See [`Pipeline::advance`].
    unsafe fn try_advance(&mut self, side: &Side, end: u64) -> Result<()> {
        while let Some(completion) = self.completions.front_mut() {
            if !completion.has_happened(&self.context)? {
                break;
            }
            let done = self.completions.pop_front();
            done.into_iter().for_each(|completion| self.context.free_completion(completion));
            self.done += 1;
        }
        let end = end.min(self.done + PIPELINE_SLOTS).min(self.pieces());
        if self.done + self.completions.len() as u64 >= end {
            return Ok(());
        }
        let context = self.context.clone();
        let _entered = context.enter()?;
        while self.done + (self.completions.len() as u64) < end {
            // SAFETY: the elements are valid, and the slot is free or filled (this function's
            // contract).
            unsafe { self.start_piece(side, self.done + self.completions.len() as u64)? };
        }
        Ok(())
    }

    /// Starts to pack or unpack a piece. The context must be current.
    ///
    /// # Safety
    /// See [`Pipeline::advance`].
    unsafe fn start_piece(&mut self, side: &Side, piece: u64) -> Result<()> {
        let position = piece as usize * self.slot_bytes;
        let length = self.slot_bytes.min(self.total - position);
        let slot = self.slots + piece % PIPELINE_SLOTS * self.slot_bytes as Address;
        let range = (position, length);
        let packed = PlacedElements::packed(slot, range);
        let sides = match self.direction {
            Direction::Out => (&side.placed, &packed),
            Direction::In => (&packed, &side.placed),
        };
        let usual = match self.memory {
            SlotMemory::Host => CopyEngine::Always,
            SlotMemory::Own(_) | SlotMemory::Opened(_) => CopyEngine::IfLong,
        };
        let engine = side.engine(usual);
        let mut completion = self.context.take_completion()?;
        // SAFETY: the elements hold these bytes, and the slot has room for them; both stay valid
        // until the piece is done, because dropping the pipeline waits for it (this function's
        // contract).
        unsafe {
            moves::start(&self.context, side.stream, sides, range, engine, &mut completion)?;
        }
        self.completions.push_back(completion);
        Ok(())
    }

    /// See [`FillSlots::fill`](towpath_base::transfer::pipeline::FillSlots::fill).
    ///
    /// # Safety
    /// As there, and `side` must be the same in all calls.
    pub(crate) unsafe fn fill(&mut self, side: &Side, emptied: u64) -> u64 {
        let end = emptied.min(self.done).saturating_add(PIPELINE_SLOTS);
        // SAFETY: the slots of pieces before `end` are free, because so many are emptied.
        unsafe { self.advance(side, end) }
    }

    /// See [`DrainSlots::drain`](towpath_base::transfer::pipeline::DrainSlots::drain).
    ///
    /// # Safety
    /// As there, and `side` must be the same in all calls.
    pub(crate) unsafe fn drain(&mut self, side: &Side, filled: u64) -> Emptied {
        // SAFETY: the slots of pieces before `filled` are filled (this function's contract).
        let pieces = unsafe { self.advance(side, filled) };
        Emptied { pieces, is_all: pieces == self.pieces() }
    }
}

impl Drop for Pipeline {
    /// Ends the device's access to the slots and to the elements.
    fn drop(&mut self) {
        for completion in self.completions.drain(..) {
            completion.wait(&self.context);
            self.context.free_completion(completion);
        }
    }
}

/// Registers host memory for devices; `None` if the driver refuses or knows the memory by another
/// address, or if the path is not allowed.
///
/// # Safety
/// The memory must stay mapped until the result is dropped.
pub(crate) unsafe fn pin(side: &Side, memory: *mut u8, length: usize) -> Option<PinnedMemory> {
    let SharedState { paths, pins_nothing, .. } = &*side.shared;
    if !paths.allow(DevicePath::Pinned) || pins_nothing.get().is_some() {
        return None;
    }
    let context = side.context.clone();
    let entered = context.enter().ok()?;
    let (calls, memory) = (&context.driver.calls, memory.cast::<c_void>());
    // SAFETY: the memory is mapped (this function's contract).
    let result = unsafe { (calls.register_host)(memory, length, HOST_REGISTER_FLAGS) };
    if result == code::NOT_SUPPORTED {
        pins_nothing.get_or_init(|| ());
    }
    if result != code::SUCCESS {
        return None;
    }
    let mut device: Address = 0;
    // SAFETY: the driver writes one address.
    let found = unsafe { (calls.device_pointer)(&raw mut device, memory, 0) };
    drop(entered);
    let registered = RegisteredMemory { context, memory };
    let is_same = found == code::SUCCESS && device == memory as Address;
    is_same.then(|| Box::new(registered) as PinnedMemory)
}

/// Allocates slots on the device for a message of `length` bytes, and describes them; `None` if
/// there is no memory for them, no other process can open it, or the path is not allowed.
pub(crate) fn slots_on_device(side: &Side, length: usize) -> Option<(ScratchMemory, Export)> {
    let SharedState { paths, processes, reporter, .. } = &*side.shared;
    if !paths.allow(DevicePath::Ring) || !processes.exports_any() {
        return None;
    }
    let bytes = length.min(DEVICE_SLOT_BYTES * PIPELINE_SLOTS as usize);
    let slots = reporter.ok(ScratchMemory::take(&side.context, bytes))??;
    let first = slots.pointer() as Address;
    let allocation = reporter.ok(pointer::allocation(&side.context.driver, first))??;
    let placed = PlacedElements::contiguous(first, bytes);
    let export = side.export_elements(&allocation, &placed)?;
    Some((slots, export))
}
