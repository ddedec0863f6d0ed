//! Launches the transfers by kernel that wait for each other (`launch_queue`).

use std::sync::Arc;

use crate::abi::StreamHandle;
use crate::context::DeviceContext;
use crate::driver::Result;
use crate::grid::Demand;
use crate::kernel::KernelEnd;
use crate::kernel_names::Kernel;
use crate::launch_queue::{Launch, LaunchQueue, Moves, ReadyMove};

impl DeviceContext {
    /// Launches a transfer together with others that become ready soon. What it waits for.
    ///
    /// # Safety
    /// The memory that the transfer names must be valid until its end, or until
    /// [`DeviceContext::forget`] has removed it.
    pub(crate) unsafe fn launch_soon(&self, ready: ReadyMove) -> Arc<Launch> {
        let mut queue = self.launch_queue();
        let launch = queue.add(ready);
        if queue.is_full() {
            self.launch_all(&mut queue);
        }
        launch
    }

    /// Launches the transfers that wait.
    pub(crate) fn launch_queued(&self) {
        self.launch_all(&mut self.launch_queue());
    }

    /// Removes the transfer that announces its end so, if it still waits for `launch`. Otherwise
    /// the stream in which it has been launched.
    pub(crate) fn forget(&self, launch: &Launch, end: KernelEnd) -> Option<StreamHandle> {
        self.launch_queue().remove(launch, end)
    }

    fn launch_all(&self, queue: &mut LaunchQueue) {
        // SAFETY: what the transfers name is valid until their ends: those for which it is not have
        // been removed (contract of `launch_soon`).
        queue.launch_all(|stream, ready| unsafe { self.launch_together(stream, ready) });
    }

    /// # Safety
    /// What the transfers name must be valid until their ends.
    unsafe fn launch_together(&self, stream: StreamHandle, ready: &[ReadyMove]) -> Result<()> {
        let _entered = self.enter()?;
        let together = if ready.len() > 1 { self.kernel(Kernel::MoveMany)? } else { None };
        // SAFETY: `towpath_move_many` takes a `Moves`, and the kernel of each transfer its `Move`.
        // What they name is valid (this function's contract).
        unsafe {
            if let Some(function) = together {
                let demands: Vec<Demand> = ready.iter().map(|one| one.demand).collect();
                let blocks = self.grid.divided(&demands);
                let mut arguments = Moves::new(ready, &blocks);
                return self.launch(stream, function, blocks.iter().sum(), &mut arguments);
            }
            ready.iter().copied().try_for_each(|mut one| {
                let blocks = self.grid.blocks(one.demand);
                self.launch(stream, one.function, blocks, &mut one.arguments)
            })
        }
    }
}
