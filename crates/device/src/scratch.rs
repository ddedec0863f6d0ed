//! Memory of devices for intermediate results.

use std::sync::Arc;

use towpath_datatype::device::DeviceMemory;

use crate::abi::{Address, code};
use crate::context::DeviceContext;
use crate::driver::Result;
use crate::free_blocks::Block;

/// The driver allocates in multiples of so many bytes.
const GRANULE: usize = 2 << 20;

/// A block in use.
#[derive(Debug)]
pub(crate) struct ScratchMemory {
    context: Arc<DeviceContext>,
    block: Block,
}

impl ScratchMemory {
    /// Takes a block of at least `bytes` bytes. `None` if the device has no memory left.
    ///
    /// # Errors
    /// If the driver fails otherwise.
    pub(crate) fn take(
        context: &Arc<DeviceContext>,
        bytes: usize,
    ) -> Result<Option<ScratchMemory>> {
        let bytes = bytes.max(1).next_multiple_of(GRANULE);
        let found = context.free_blocks().take(bytes);
        let block = match found {
            Some(block) => Some(block),
            None => allocate(context, bytes)?,
        };
        Ok(block.map(|block| ScratchMemory { context: context.clone(), block }))
    }
}

impl DeviceMemory for ScratchMemory {
    fn pointer(&self) -> *mut u8 {
        self.block.address as *mut u8
    }

    fn bytes(&self) -> usize {
        self.block.bytes
    }
}

impl Drop for ScratchMemory {
    fn drop(&mut self) {
        let excess = self.context.free_blocks().keep(self.block);
        if excess.is_empty() {
            return;
        }
        // A driver that is shutting down refuses everything, and has freed everything.
        let Ok(_entered) = self.context.enter() else { return };
        for block in excess {
            // SAFETY: the block was allocated in this context, and nothing uses it.
            unsafe { (self.context.driver.calls.free)(block.address) };
        }
    }
}

fn allocate(context: &DeviceContext, bytes: usize) -> Result<Option<Block>> {
    let _entered = context.enter()?;
    let mut address: Address = 0;
    // SAFETY: the driver writes one address.
    let result = unsafe { (context.driver.calls.allocate)(&raw mut address, bytes) };
    if result == code::OUT_OF_MEMORY {
        return Ok(None);
    }
    context.driver.check("allocate device memory", result)?;
    Ok(Some(Block { address, bytes }))
}
