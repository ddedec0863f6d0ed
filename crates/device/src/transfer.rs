//! One side of a message in device memory, and a copy between two sides that the device makes by
//! itself.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock};

use towpath_base::transfer::{Export, Step};

use crate::abi::StreamHandle;
use crate::completion::TransferCompletion;
use crate::context::DeviceContext;
use crate::driver::Result;
use crate::failure::Reporter;
use crate::ipc::{Opened, Processes};
use crate::kernel;
use crate::moves::{self, CopyEngine};
use crate::paths::{AllowedPaths, DevicePath};
use crate::pointer::DeviceAllocation;
use crate::tables::PlacedElements;

/// What all transfers of a process share.
#[derive(Debug)]
pub(crate) struct SharedState {
    pub(crate) processes: Processes,
    pub(crate) reporter: Reporter,
    pub(crate) paths: AllowedPaths,
    /// Set once the driver has said that it registers no host memory.
    pub(crate) pins_nothing: OnceLock<()>,
    /// Allocations that were used last, by their numbers.
    recent: Mutex<VecDeque<u64>>,
}

impl SharedState {
    pub(crate) fn new(reporter: Reporter) -> SharedState {
        let paths = AllowedPaths::of_setting(reporter.0);
        SharedState {
            processes: Processes::new(),
            reporter,
            paths,
            pins_nothing: OnceLock::new(),
            recent: Mutex::default(),
        }
    }

    /// True unless the allocation is one of those that were used last.
    pub(crate) fn is_new(&self, buffer: u64) -> bool {
        let mut recent = self.recent.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if recent.contains(&buffer) {
            return false;
        }
        recent.truncate(REMEMBERED - 1);
        recent.push_front(buffer);
        true
    }
}

/// Allocations that are remembered.
const REMEMBERED: usize = 16;

/// The memory of elements.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SideMemory {
    /// In one allocation.
    One(DeviceAllocation),
    /// In several allocations of device memory.
    Several,
    /// Some of them in host memory.
    Mixed,
}

/// The elements of one side of a message.
#[derive(Debug)]
pub(crate) struct Side {
    pub(crate) shared: Arc<SharedState>,
    pub(crate) context: Arc<DeviceContext>,
    memory: SideMemory,
    pub(crate) placed: PlacedElements,
    pub(crate) stream: StreamHandle,
    /// The copy to or from another process, once it has started.
    direct: Option<DirectCopy>,
}

/// A copy that the device makes between this process's memory and another one's.
#[derive(Debug)]
struct DirectCopy {
    completion: TransferCompletion,
    /// Keeps the other process's memory open.
    _opened: Vec<Arc<Opened>>,
}

/// The direction of a direct copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From this process.
    Out,
    /// To this process.
    In,
}

impl Side {
    pub(crate) fn new(
        shared: Arc<SharedState>,
        context: Arc<DeviceContext>,
        memory: SideMemory,
        placed: PlacedElements,
    ) -> Side {
        let stream = context.stream();
        Side { shared, context, memory, placed, stream, direct: None }
    }

    /// Which copies are left to the driver, if usually `usual`.
    pub(crate) fn engine(&self, usual: CopyEngine) -> CopyEngine {
        match self.memory {
            SideMemory::One(_) => usual,
            SideMemory::Several if usual == CopyEngine::ByBlocks => usual,
            SideMemory::Several => CopyEngine::Never,
            SideMemory::Mixed => CopyEngine::ByBlocks,
        }
    }

    /// Describes the elements for another process; `None` if it cannot open the memory, which is
    /// opened by allocations.
    pub(crate) fn export(&self) -> Option<Export> {
        let SideMemory::One(allocation) = &self.memory else { return None };
        if !self.shared.paths.allow(DevicePath::Ipc) {
            return None;
        }
        self.export_elements(allocation, &self.placed)
    }

    /// Describes elements in an allocation of the context for another process.
    pub(crate) fn export_elements(
        &self,
        allocation: &DeviceAllocation,
        placed: &PlacedElements,
    ) -> Option<Export> {
        let entered = self.context.enter().ok()?;
        let export = self.shared.processes.export(&self.context, allocation, placed);
        drop(entered);
        export
    }

    /// Describes the elements, or at least the device, for another process. `None` if neither side
    /// may open the memory of the other, and no pipeline is allowed.
    pub(crate) fn announce(&self) -> Option<Export> {
        let paths = self.shared.paths;
        let named = || paths.allow_any().then(|| self.shared.processes.name(&self.context));
        self.export().or_else(named)
    }

    /// Copies `length` bytes between these elements and those that another process has described.
    /// `None` if its memory cannot be opened here.
    ///
    /// # Safety
    /// Both sides must hold `length` bytes, valid until the copy is done or `self` is dropped, and
    /// must not overlap.
    pub(crate) unsafe fn copy(
        &mut self,
        other: &Export,
        length: usize,
        direction: Direction,
    ) -> Option<Step> {
        // SAFETY: this function has the same contract.
        let copied = unsafe { self.try_copy(other, length, direction) };
        self.or_over(copied, length)
    }

    /// Copies `length` bytes from other elements of this process. `None` if they are in another
    /// context.
    ///
    /// # Safety
    /// See [`Side::copy`].
    pub(crate) unsafe fn copy_from(&mut self, other: &Side, length: usize) -> Option<Step> {
        // SAFETY: this function has the same contract.
        let copied = unsafe { self.try_copy_from(other, length) };
        self.or_over(copied, length)
    }

    /// A copy that has failed is over.
    fn or_over(&self, copied: Result<Option<Step>>, length: usize) -> Option<Step> {
        self.shared.reporter.ok(copied).unwrap_or(Some(Step::Done(length)))
    }

    /// # Safety
    /// See [`Side::copy`].
    unsafe fn try_copy(
        &mut self,
        other: &Export,
        length: usize,
        direction: Direction,
    ) -> Result<Option<Step>> {
        if self.direct.is_none() {
            let context = self.context.clone();
            let _entered = context.enter()?;
            let opened = self.shared.processes.open(&context, other);
            let Some((theirs, opened)) = opened else { return Ok(None) };
            let engine = self.engine(CopyEngine::IfLong);
            if !theirs.is_listed()
                && (engine == CopyEngine::ByBlocks || !self.compiles(&theirs, length)?)
            {
                return Ok(None);
            }
            // SAFETY: both sides hold the bytes (this function's contract), and `opened` keeps the
            // other process's memory mapped.
            let started = unsafe { self.start(&theirs, opened, (length, engine), direction)? };
            self.direct = Some(started);
        }
        self.finish(length)
    }

    /// True if there is a kernel that copies `length` bytes between these elements and others.
    fn compiles(&self, other: &PlacedElements, length: usize) -> Result<bool> {
        let (own, other) = (&self.placed.placement, &other.placement);
        let (choice, _) = kernel::arguments(own, other, 0, length);
        let is_known = self.context.kernel(choice.kernel())?.is_some();
        Ok(own.fits() && other.fits() && is_known)
    }

    /// # Safety
    /// See [`Side::copy`].
    unsafe fn try_copy_from(&mut self, other: &Side, length: usize) -> Result<Option<Step>> {
        if !Arc::ptr_eq(&self.context, &other.context) {
            return Ok(None);
        }
        if self.direct.is_none() {
            let context = self.context.clone();
            let _entered = context.enter()?;
            let from = &other.placed;
            let engine = other.engine(self.engine(CopyEngine::IfLong));
            let how = (length, engine);
            // SAFETY: both sides hold the bytes (this function's contract).
            let started = unsafe { self.start(from, Vec::new(), how, Direction::In)? };
            self.direct = Some(started);
        }
        self.finish(length)
    }

    /// Starts a direct copy. The context must be current.
    ///
    /// # Safety
    /// See [`Side::copy`]; `opened` must keep the memory of `theirs` open.
    unsafe fn start(
        &self,
        theirs: &PlacedElements,
        opened: Vec<Arc<Opened>>,
        (length, engine): (usize, CopyEngine),
        direction: Direction,
    ) -> Result<DirectCopy> {
        let own = &self.placed;
        let sides = match direction {
            Direction::Out => (own, theirs),
            Direction::In => (theirs, own),
        };
        let mut completion = self.context.take_completion()?;
        let range = (0, length);
        // SAFETY: both sides hold the bytes, and stay valid until the copy has completed or this
        // side is dropped, which waits for it (this function's contract).
        unsafe {
            moves::start(&self.context, self.stream, sides, range, engine, &mut completion)?;
        }
        Ok(DirectCopy { completion, _opened: opened })
    }

    /// The state of the direct copy that has been started.
    fn finish(&mut self, length: usize) -> Result<Option<Step>> {
        let Some(direct) = self.direct.as_mut() else { return Ok(None) };
        if !direct.completion.has_happened(&self.context)? {
            return Ok(Some(Step::Pending));
        }
        let done = self.direct.take();
        done.into_iter().for_each(|direct| self.context.free_completion(direct.completion));
        Ok(Some(Step::Done(length)))
    }
}

impl Drop for Side {
    /// Ends the device's access to the memory.
    fn drop(&mut self) {
        if let Some(DirectCopy { completion, .. }) = self.direct.take() {
            completion.wait(&self.context);
            self.context.free_completion(completion);
        }
    }
}
