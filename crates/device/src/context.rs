//! What the library keeps for each context of the driver: streams, kernels, pinned memory.

use std::collections::HashMap;
use std::ffi::{CString, c_int, c_void};
use std::ptr;
use std::sync::{Mutex, OnceLock};

use towpath_base::sync::{AtomicUsize, Ordering};

use crate::abi::{
    Code, ContextHandle, DeviceNumber, FunctionHandle, HOST_ALLOC_FLAGS, MULTIPROCESSOR_COUNT,
    ModuleHandle, STREAM_NON_BLOCKING, StreamHandle, Uuid, code,
};
use crate::completion::TransferCompletion;
use crate::driver::{CudaDriver, DeviceError, Entered, Result};
use crate::kernel_names::Kernel;
use crate::ptx::source_of;

/// Bytes of pinned memory in a slot.
pub(crate) const SLOT_BYTES: usize = 256 << 10;
/// Slots that are allocated together.
const SLOTS_TOGETHER: usize = 4;
/// Streams of a context. Transfers in different streams overlap.
const STREAMS: usize = 4;

/// Threads of a block of the kernels.
const BLOCK_THREADS: u32 = 256;
/// Blocks of threads for each multiprocessor: as many as it can run at a time.
const BLOCKS_PER_PROCESSOR: u64 = 8;

/// Most blocks of a grid: the number of its threads fits in 32 bits with room for a step.
const MOST_BLOCKS: u64 = 1 << 22;

/// Pinned host memory that devices can access, and what tells that its use has ended.
#[derive(Debug)]
pub(crate) struct PinnedSlot {
    pub(crate) memory: *mut u8,
    pub(crate) completion: TransferCompletion,
}

// SAFETY: the slot's owner alone uses its memory, in whichever thread.
unsafe impl Send for PinnedSlot {}

/// A context and what the library has made in it. Nothing is destroyed: contexts live as long as
/// the process, and the driver frees everything with it.
#[derive(Debug)]
pub(crate) struct CudaContext {
    pub(crate) driver: CudaDriver,
    pub(crate) handle: ContextHandle,
    pub(crate) uuid: Uuid,
    processors: u64,
    streams: [StreamHandle; STREAMS],
    next_stream: AtomicUsize,
    /// Those that have been loaded.
    kernels: Mutex<HashMap<Kernel, FunctionHandle>>,
    /// Set once the driver has refused to compile a kernel.
    refusal: OnceLock<()>,
    slots: Mutex<Vec<PinnedSlot>>,
    completions: Mutex<Vec<TransferCompletion>>,
}

impl CudaContext {
    /// Makes the streams; kernels and pinned memory follow when they are needed.
    pub(crate) fn new(driver: CudaDriver, handle: ContextHandle) -> Result<CudaContext> {
        let entered = driver.enter(handle)?;
        let calls = &driver.calls;
        let (mut device, mut processors): (DeviceNumber, c_int) = (0, 0);
        let mut uuid = Uuid([0; 16]);
        let mut streams = [StreamHandle(ptr::null_mut()); STREAMS];
        // SAFETY: every pointer is to a local variable of the type that the function writes.
        unsafe {
            driver.check("name its device", (calls.device_of_context)(&raw mut device))?;
            driver.check("name its device", (calls.device_uuid)(&raw mut uuid, device))?;
            let count = (calls.device_attribute)(&raw mut processors, MULTIPROCESSOR_COUNT, device);
            driver.check("count its multiprocessors", count)?;
            for stream in &mut streams {
                let made = (calls.create_stream)(stream, STREAM_NON_BLOCKING);
                driver.check("create a stream", made)?;
            }
        }
        drop(entered);
        Ok(CudaContext {
            driver,
            handle,
            uuid,
            processors: processors.max(1) as u64,
            streams,
            next_stream: AtomicUsize::new(0),
            kernels: Mutex::default(),
            refusal: OnceLock::new(),
            slots: Mutex::new(Vec::new()),
            completions: Mutex::new(Vec::new()),
        })
    }

    /// Makes this context current until the result is dropped.
    pub(crate) fn enter(&self) -> Result<Entered<'_>> {
        self.driver.enter(self.handle)
    }

    /// A stream for a transfer.
    pub(crate) fn stream(&self) -> StreamHandle {
        self.streams[self.next_stream.fetch_add(1, Ordering::Relaxed) % STREAMS]
    }

    /// Takes a free slot. The context must be current.
    pub(crate) fn take_slot(&self) -> Result<PinnedSlot> {
        let mut slots = self.slots.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if slots.is_empty() {
            let mut memory: *mut c_void = ptr::null_mut();
            // SAFETY: the driver writes one pointer.
            let allocated = unsafe {
                let bytes = SLOTS_TOGETHER * SLOT_BYTES;
                (self.driver.calls.allocate_host)(&raw mut memory, bytes, HOST_ALLOC_FLAGS)
            };
            self.driver.check("allocate pinned memory", allocated)?;
            for index in 0..SLOTS_TOGETHER {
                let memory = memory.cast::<u8>().wrapping_add(index * SLOT_BYTES);
                slots.push(PinnedSlot { memory, completion: self.take_completion()? });
            }
        }
        Ok(slots.pop().expect("slots have just been added"))
    }

    /// Gives a slot back whose use has ended.
    pub(crate) fn free_slot(&self, slot: PinnedSlot) {
        self.slots.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(slot);
    }

    /// Takes a completion that is not in use. The context must be current.
    pub(crate) fn take_completion(&self) -> Result<TransferCompletion> {
        let mut free = self.completions.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if free.is_empty() {
            *free = TransferCompletion::allocate(&self.driver, self.stream())?;
        }
        Ok(free.pop().expect("completions have just been added"))
    }

    /// Gives a completion back whose transfer has ended.
    pub(crate) fn free_completion(&self, completion: TransferCompletion) {
        self.completions.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(completion);
    }

    /// Launches a kernel for so many elements: with a thread for each if `all`, else with as many
    /// threads as the device can run at a time, which go through the elements with strides.
    ///
    /// # Safety
    /// The kernel must take one parameter of this type. The memory that it names must be valid for
    /// what the kernel does, until its end.
    pub(crate) unsafe fn launch<Arguments>(
        &self,
        stream: StreamHandle,
        function: FunctionHandle,
        (elements, all): (u64, bool),
        arguments: &mut Arguments,
    ) -> Result<()> {
        let blocks = elements.div_ceil(BLOCK_THREADS.into()).max(1);
        let most = match all {
            true => MOST_BLOCKS,
            false => self.processors * BLOCKS_PER_PROCESSOR,
        };
        let blocks = blocks.min(most) as u32;
        let mut parameters: [*mut c_void; 1] = [ptr::from_mut(arguments).cast()];
        // SAFETY: the kernel takes one parameter of this type, which the driver copies during the
        // call, and the memory that it names is valid (this function's contract).
        let launched = unsafe {
            (self.driver.calls.launch)(
                function,
                blocks,
                1,
                1,
                BLOCK_THREADS,
                1,
                1,
                0,
                stream,
                parameters.as_mut_ptr(),
                ptr::null_mut(),
            )
        };
        self.driver.check("launch a kernel", launched)
    }

    /// A kernel; `None` if there is none or the driver cannot compile it. It is loaded when it is
    /// first needed, because the driver compiles it then, which takes some 60 ms if it has not
    /// kept the result of another process.
    pub(crate) fn kernel(&self, kernel: Kernel) -> Result<Option<FunctionHandle>> {
        if self.is_without_kernels() {
            return Ok(None);
        }
        let mut kernels = self.kernels.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(&known) = kernels.get(&kernel) {
            return Ok(Some(known));
        }
        let Some(name) = kernel.name() else { return Ok(None) };
        let loaded = self.load_kernel(&name)?;
        kernels.extend(loaded.map(|function| (kernel, function)));
        Ok(loaded)
    }

    /// True if the driver has refused to compile a kernel.
    pub(crate) fn is_without_kernels(&self) -> bool {
        self.refusal.get().is_some()
    }

    /// Remembers why the driver does not compile kernels, and tells the user.
    #[cold]
    fn refuse(&self, result: Code) {
        if let Err(DeviceError(text)) = self.driver.check("compile the kernels that pack", result)
            && self.refusal.set(()).is_ok()
        {
            eprintln!(
                "towpath: {text}; device memory with gaps is copied block by block, which is slow"
            );
        }
    }

    fn load_kernel(&self, name: &str) -> Result<Option<FunctionHandle>> {
        let calls = &self.driver.calls;
        let (Some(text), Ok(name)) = (source_of(name), CString::new(name)) else {
            return Ok(None);
        };
        let mut module = ModuleHandle(ptr::null_mut());
        let mut function = FunctionHandle(ptr::null_mut());
        // SAFETY: text and name are C strings, and no options are passed. The driver writes one
        // handle each time.
        unsafe {
            let text = text.as_ptr().cast();
            let loaded =
                (calls.load_module)(&raw mut module, text, 0, ptr::null_mut(), ptr::null_mut());
            if code::REFUSE_TO_COMPILE.contains(&loaded) {
                self.refuse(loaded);
                return Ok(None);
            }
            self.driver.check("load a kernel", loaded)?;
            let found = (calls.module_function)(&raw mut function, module, name.as_ptr());
            self.driver.check("find a kernel", found)?;
        }
        Ok(Some(function))
    }
}
