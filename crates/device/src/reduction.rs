//! Reductions of vectors in the memory of a device: the kernels in `kernels/reduce.cu`.

use std::sync::Arc;

use towpath_datatype::device::DeviceWork;

use crate::abi::Address;
use crate::completion::TransferCompletion;
use crate::context::DeviceContext;
use crate::driver::Result;
use crate::failure::Reporter;
use crate::grid::Demand;
use crate::kernel::KernelEnd;
use crate::kernel_names::Kernel;

/// Arguments of a kernel: `inout[i] = input[i] op inout[i]` for `count` elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Reduction {
    pub(crate) input: Address,
    pub(crate) inout: Address,
    pub(crate) count: u64,
    pub(crate) end: KernelEnd,
    /// The sign bit of a NaN that the processor makes of other numbers.
    nan_sign: u32,
    unused: u32,
}

impl Reduction {
    pub(crate) fn new(input: Address, inout: Address, count: u64) -> Reduction {
        let zero = std::hint::black_box(0.0f32);
        let nan_sign = u32::from((zero * f32::INFINITY).is_sign_negative());
        Reduction { input, inout, count, end: KernelEnd::default(), nan_sign, unused: 0 }
    }
}

/// A reduction that a device computes.
#[derive(Debug)]
pub(crate) struct StartedReduction {
    context: Arc<DeviceContext>,
    /// `None` once its end has been seen.
    completion: Option<TransferCompletion>,
    reporter: Reporter,
}

impl StartedReduction {
    /// Starts a reduction. `None` if the device has no kernel for it.
    ///
    /// # Safety
    /// Both vectors must be memory of the context, valid until the result is dropped, and aligned
    /// to their elements; they must not overlap.
    pub(crate) unsafe fn start(
        context: &Arc<DeviceContext>,
        kernel: Kernel,
        mut reduction: Reduction,
        reporter: Reporter,
    ) -> Result<Option<StartedReduction>> {
        let _entered = context.enter()?;
        let Some(function) = context.kernel(kernel)? else { return Ok(None) };
        let (stream, mut completion) = (context.stream(), context.take_completion()?);
        reduction.end = completion.begin_kernel(stream);
        let blocks = context.grid.blocks(Demand { elements: reduction.count, all: false });
        // SAFETY: the kernel takes a `Reduction`, whose vectors are valid until its end (this
        // function's contract).
        unsafe { context.launch(stream, function, blocks, &mut reduction)? };
        let completion = Some(completion);
        Ok(Some(StartedReduction { context: context.clone(), completion, reporter }))
    }
}

impl DeviceWork for StartedReduction {
    fn has_ended(&mut self) -> bool {
        let Some(completion) = &mut self.completion else { return true };
        if self.reporter.ok(completion.has_happened(&self.context)) == Some(false) {
            return false;
        }
        self.completion.take().into_iter().for_each(|done| self.context.free_completion(done));
        true
    }
}

impl Drop for StartedReduction {
    fn drop(&mut self) {
        if let Some(completion) = self.completion.take() {
            completion.wait(&self.context);
            self.context.free_completion(completion);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structure_has_the_size_of_the_source() {
        assert_eq!(size_of::<Reduction>(), 56);
    }
}
