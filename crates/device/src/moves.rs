//! Starts to move the bytes of a message: by a copy of the driver, by a kernel, or block by block.

use crate::abi::{Address, StreamHandle};
use crate::completion::TransferCompletion;
use crate::context::DeviceContext;
use crate::driver::Result;
use crate::kernel;
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

/// Starts to move bytes `position..position + length` of a message. The context must be
/// current.
///
/// # Safety
/// Both placements must hold these bytes, in memory that the device can access, until the
/// transfer has completed.
pub(crate) unsafe fn start(
    context: &DeviceContext,
    stream: StreamHandle,
    sides: (&PlacedElements, &PlacedElements),
    (position, length): (usize, usize),
    engine: CopyEngine,
    completion: &mut TransferCompletion,
) -> Result<()> {
    let (from, to) = (&sides.0.placement, &sides.1.placement);
    let contiguous = from.dense().is_some() && to.dense().is_some();
    // SAFETY: both sides hold the bytes until the transfer has completed (this function's
    // contract). The flag is never freed.
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
            let threads = (arguments.words, choice.scattered);
            return context.launch(stream, function, threads, &mut arguments);
        }
        runs::copy(&context.driver, stream, sides, (position, length))?;
        completion.end_copy(&context.driver, stream)
    }
}
