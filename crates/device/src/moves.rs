//! Starts to move the bytes of a message: by a copy of the driver, by a kernel, or block by block.

use crate::abi::{Address, StreamHandle};
use crate::completion::TransferCompletion;
use crate::context::{DeviceContext, SLOT_BYTES};
use crate::driver::Result;
use crate::grid::Demand;
use crate::kernel;
use crate::launch_queue::ReadyMove;
use crate::runs;
use crate::tables::PlacedElements;

/// Which contiguous copies are left to the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyEngine {
    /// All: to and from host memory, copy engines leave the multiprocessors free.
    Always,
    /// Those of at least [`LONG`] bytes: within device memory, the driver's copies are faster then,
    /// but their end is seen later.
    IfLong,
    /// None: the bytes are in several allocations, and the driver refuses copies across their
    /// borders.
    Never,
    /// None as a whole, but each block by itself: some are in host memory that kernels cannot
    /// access.
    ByBlocks,
}

/// See [`CopyEngine::IfLong`].
const LONG: usize = 64 << 10;
/// Transfers by kernel of at least so many bytes are launched alone: an H200 takes as long for the
/// scattered words of one as the processor takes for its launch.
const ALONE: usize = 1 << 20;

impl CopyEngine {
    /// The least bytes of a transfer by kernel that waits for no other one. A piece that fills its
    /// slot is one of several.
    fn alone(self) -> usize {
        if self == CopyEngine::Always { SLOT_BYTES } else { ALONE }
    }
}

/// Starts to move bytes `position..position + length` of a message. The context must be
/// current. After a failure the device does not access them any more.
///
/// # Safety
/// Both placements must hold these bytes, in memory that the device can access, until
/// `completion` has happened or has been waited for.
pub(crate) unsafe fn start(
    context: &DeviceContext,
    stream: StreamHandle,
    sides: (&PlacedElements, &PlacedElements),
    range: (usize, usize),
    engine: CopyEngine,
    completion: &mut TransferCompletion,
) -> Result<()> {
    // SAFETY: this function has the same contract.
    let started = unsafe { try_start(context, stream, sides, range, engine, completion) };
    if started.is_err() {
        // Some copies may be in the stream already.
        // SAFETY: the stream is one of the context's, which are never destroyed.
        unsafe { (context.driver.calls.synchronize_stream)(stream) };
    }
    started
}

/// # Safety
/// See [`start`].
unsafe fn try_start(
    context: &DeviceContext,
    stream: StreamHandle,
    sides: (&PlacedElements, &PlacedElements),
    (position, length): (usize, usize),
    engine: CopyEngine,
    completion: &mut TransferCompletion,
) -> Result<()> {
    let (from, to) = (&sides.0.placement, &sides.1.placement);
    let contiguous = from.dense().is_some() && to.dense().is_some();
    // SAFETY: both sides hold the bytes until `completion` has happened or has been waited for
    // (this function's contract). The flag is never freed.
    unsafe {
        let least = match engine {
            CopyEngine::Always => 0,
            CopyEngine::IfLong => LONG,
            CopyEngine::Never | CopyEngine::ByBlocks => usize::MAX,
        };
        if length >= least && contiguous {
            let at = position as Address;
            let sides = (to.base + at, from.base + at);
            context.driver.copy("copy device memory", sides, length, stream)?;
            return completion.end_copy(&context.driver, stream);
        }
        let (choice, mut arguments) = kernel::arguments(from, to, position, length);
        let by_kernel = engine != CopyEngine::ByBlocks && from.fits() && to.fits();
        if by_kernel && let Some(function) = context.kernel(choice.kernel())? {
            arguments.end = completion.begin_kernel(stream);
            let demand = Demand { elements: arguments.words, all: choice.scattered };
            // The later pieces of a message are worked on while others travel, and do not wait.
            if choice.wide || position > 0 || length >= engine.alone() {
                let blocks = context.grid.blocks(demand);
                return context.launch(stream, function, blocks, &mut arguments);
            }
            let ready = ReadyMove { function, stream, demand, arguments };
            completion.follow(context.launch_soon(ready));
            return Ok(());
        }
        runs::copy(&context.driver, stream, sides, (position, length))?;
        completion.end_copy(&context.driver, stream)
    }
}
