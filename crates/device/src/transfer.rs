//! One side of a message in device memory, and a copy between two sides that the device makes by
//! itself.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use towpath_base::config;
use towpath_base::transfer::{Export, Step};

use crate::abi::StreamHandle;
use crate::completion::TransferCompletion;
use crate::context::CudaContext;
use crate::driver::{DeviceError, Result};
use crate::ipc::{Opened, Processes};
use crate::kernel;
use crate::moves::{self, CopyEngine};
use crate::pointer::DeviceAllocation;
use crate::tables::PlacedElements;

/// What all transfers of a process share.
#[derive(Debug)]
pub(crate) struct SharedState {
    pub(crate) processes: Processes,
    /// Ends the job with a sentence.
    pub(crate) fail: fn(&str) -> !,
    /// False if other processes must not open this process's memory (`TOWPATH_DEVICE_PATH`).
    exports: bool,
    /// Allocations that were used last, by their numbers.
    recent: Mutex<VecDeque<u64>>,
}

impl SharedState {
    pub(crate) fn new(fail: fn(&str) -> !) -> SharedState {
        let exports = match config::setting(PATH).as_deref() {
            None => true,
            Some("pinned") => false,
            Some(other) => {
                fail(&format!("{PATH} is {other}, but only pinned is allowed; unset it"))
            }
        };
        SharedState { processes: Processes::new(), fail, exports, recent: Mutex::default() }
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

const PATH: &str = "TOWPATH_DEVICE_PATH";
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
    pub(crate) context: Arc<CudaContext>,
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
        context: Arc<CudaContext>,
        memory: SideMemory,
        placed: PlacedElements,
    ) -> Side {
        let stream = context.stream();
        Side { shared, context, memory, placed, stream, direct: None }
    }

    /// The value, or the end of the job.
    pub(crate) fn or_fail<T>(&self, result: Result<T>) -> T {
        result.unwrap_or_else(|DeviceError(text)| (self.shared.fail)(&text))
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
        if !self.shared.exports {
            return None;
        }
        let entered = self.context.enter().ok()?;
        let export = self.shared.processes.export(&self.context, allocation, &self.placed);
        drop(entered);
        export
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
        if self.direct.is_none() {
            let entered = self.context.enter();
            let _entered = self.or_fail(entered);
            let (theirs, opened) = self.shared.processes.open(&self.context, other)?;
            let engine = self.engine(CopyEngine::IfLong);
            if !theirs.is_listed()
                && (engine == CopyEngine::ByBlocks || !self.compiles(&theirs, length))
            {
                return None;
            }
            // SAFETY: both sides hold the bytes (this function's contract), and `opened` keeps the
            // other process's memory mapped.
            self.direct = Some(unsafe { self.start(&theirs, opened, (length, engine), direction) });
        }
        self.finish(length)
    }

    /// True if there is a kernel that copies `length` bytes between these elements and others.
    fn compiles(&self, other: &PlacedElements, length: usize) -> bool {
        let (own, other) = (&self.placed.placement, &other.placement);
        let (choice, _) = kernel::arguments(own, other, 0, length);
        own.fits() && other.fits() && self.or_fail(self.context.kernel(choice.kernel())).is_some()
    }

    /// Copies `length` bytes from other elements of this process. `None` if they are in another
    /// context.
    ///
    /// # Safety
    /// See [`Side::copy`].
    pub(crate) unsafe fn copy_from(&mut self, other: &Side, length: usize) -> Option<Step> {
        if !Arc::ptr_eq(&self.context, &other.context) {
            return None;
        }
        if self.direct.is_none() {
            let entered = self.context.enter();
            let _entered = self.or_fail(entered);
            let from = &other.placed;
            let engine = other.engine(self.engine(CopyEngine::IfLong));
            // SAFETY: both sides hold the bytes (this function's contract).
            self.direct =
                Some(unsafe { self.start(from, Vec::new(), (length, engine), Direction::In) });
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
    ) -> DirectCopy {
        let own = &self.placed;
        let sides = match direction {
            Direction::Out => (own, theirs),
            Direction::In => (theirs, own),
        };
        let mut completion = self.or_fail(self.context.take_completion());
        let range = (0, length);
        // SAFETY: both sides hold the bytes, and stay valid until the copy has completed or this
        // side is dropped, which waits for it (this function's contract).
        let started = unsafe {
            moves::start(&self.context, self.stream, sides, range, engine, &mut completion)
        };
        self.or_fail(started);
        DirectCopy { completion, _opened: opened }
    }

    /// The state of the direct copy that has been started.
    fn finish(&mut self, length: usize) -> Option<Step> {
        let happened = self.direct.as_mut()?.completion.has_happened(&self.context);
        if !self.or_fail(happened) {
            return Some(Step::Pending);
        }
        let DirectCopy { completion, .. } = self.direct.take()?;
        self.context.free_completion(completion);
        Some(Step::Done(length))
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
