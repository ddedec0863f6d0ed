//! What the library keeps for each context of the driver: streams, kernels, pinned memory.

use std::collections::HashMap;
use std::ffi::{CString, c_int, c_void};
use std::fmt;
use std::ptr;
use std::sync::{Mutex, MutexGuard, OnceLock};

use towpath_base::sync::{AtomicUsize, Ordering};

use crate::abi::{
    ContextHandle, DeviceNumber, FunctionHandle, HOST_ALLOC_FLAGS, ModuleHandle,
    STREAM_NON_BLOCKING, StreamHandle, Uuid, code,
};
use crate::api::Api;
use crate::completion::TransferCompletion;
use crate::driver::{DeviceError, Driver, Entered, Result};
use crate::free_blocks::FreeBlocks;
use crate::grid::{BLOCK_THREADS, Grid};
use crate::hiprtc;
use crate::kernel_names::{Kernel, KernelFile};
use crate::launch_queue::LaunchQueue;
use crate::ptx;

/// Bytes of pinned memory in a slot.
pub(crate) const SLOT_BYTES: usize = 256 << 10;
/// Slots that are allocated together.
const SLOTS_TOGETHER: usize = 4;
/// Streams of a context. Transfers in different streams overlap.
const STREAMS: usize = 4;

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
pub(crate) struct DeviceContext {
    pub(crate) driver: Driver,
    pub(crate) handle: ContextHandle,
    pub(crate) uuid: Uuid,
    pub(crate) grid: Grid,
    streams: [StreamHandle; STREAMS],
    next_stream: AtomicUsize,
    /// Those that have been loaded.
    kernels: Mutex<HashMap<Kernel, FunctionHandle>>,
    /// The modules of whole files of kernels, with HIP.
    files: Mutex<HashMap<KernelFile, ModuleHandle>>,
    /// Set once the driver has refused to compile a kernel.
    refusal: OnceLock<()>,
    slots: Mutex<Vec<PinnedSlot>>,
    completions: Mutex<Vec<TransferCompletion>>,
    free_blocks: Mutex<FreeBlocks>,
    /// Transfers that wait to be launched together.
    launch_queue: Mutex<LaunchQueue>,
}

impl fmt::Debug for DeviceContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "DeviceContext({:?})", self.handle)
    }
}

impl DeviceContext {
    /// Makes the streams; kernels and pinned memory follow when they are needed.
    pub(crate) fn new(driver: Driver, handle: ContextHandle) -> Result<DeviceContext> {
        let entered = driver.enter(handle)?;
        let calls = &driver.calls;
        let (mut device, mut processors): (DeviceNumber, c_int) = (0, 0);
        let mut uuid = Uuid([0; 16]);
        let mut streams = [StreamHandle(ptr::null_mut()); STREAMS];
        // SAFETY: every pointer is to a local variable of the type that the function writes.
        unsafe {
            driver.check("name its device", (calls.device_of_context)(&raw mut device))?;
            driver.check("name its device", (calls.device_uuid)(&raw mut uuid, device))?;
            let attribute = driver.api.attributes().multiprocessors;
            let count = (calls.device_attribute)(&raw mut processors, attribute, device);
            driver.check("count its multiprocessors", count)?;
            for stream in &mut streams {
                let made = (calls.create_stream)(stream, STREAM_NON_BLOCKING);
                driver.check("create a stream", made)?;
            }
        }
        drop(entered);
        Ok(DeviceContext {
            driver,
            handle,
            uuid,
            grid: Grid::new(processors.max(1) as u64),
            streams,
            next_stream: AtomicUsize::new(0),
            kernels: Mutex::default(),
            files: Mutex::default(),
            refusal: OnceLock::new(),
            slots: Mutex::new(Vec::new()),
            completions: Mutex::new(Vec::new()),
            free_blocks: Mutex::default(),
            launch_queue: Mutex::default(),
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

    /// Memory of the device that is kept for intermediate results.
    pub(crate) fn free_blocks(&self) -> MutexGuard<'_, FreeBlocks> {
        self.free_blocks.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Transfers that wait to be launched together.
    pub(crate) fn launch_queue(&self) -> MutexGuard<'_, LaunchQueue> {
        self.launch_queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Launches a kernel with so many blocks of threads. The context must be current.
    ///
    /// # Safety
    /// The kernel must take one parameter of this type. The memory that it names must be valid for
    /// what the kernel does, until its end.
    pub(crate) unsafe fn launch<Arguments>(
        &self,
        stream: StreamHandle,
        function: FunctionHandle,
        blocks: u32,
        arguments: &mut Arguments,
    ) -> Result<()> {
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
        let loaded = self.load_kernel(kernel, &name)?;
        kernels.extend(loaded.map(|function| (kernel, function)));
        Ok(loaded)
    }

    /// True if the driver has refused to compile a kernel.
    pub(crate) fn is_without_kernels(&self) -> bool {
        self.refusal.get().is_some()
    }

    /// Remembers that the driver does not compile kernels, and tells the user why.
    #[cold]
    fn refuse(&self, text: &str) {
        if self.refusal.set(()).is_ok() {
            eprintln!(
                "towpath: {text}; device memory with gaps is copied block by block, which is slow"
            );
        }
    }

    fn load_kernel(&self, kernel: Kernel, name: &str) -> Result<Option<FunctionHandle>> {
        let module = match self.driver.api {
            Api::Cuda => match ptx::source_of(name) {
                Some(text) => self.load_module(text.as_bytes_with_nul())?,
                None => None,
            },
            Api::Hip => self.load_file(kernel.file())?,
        };
        let (Some(module), Ok(name)) = (module, CString::new(name)) else { return Ok(None) };
        let mut function = FunctionHandle(ptr::null_mut());
        let calls = &self.driver.calls;
        // SAFETY: the name is a C string. The driver writes one handle.
        let found = unsafe { (calls.module_function)(&raw mut function, module, name.as_ptr()) };
        self.driver.check("find a kernel", found)?;
        Ok(Some(function))
    }

    /// The module of a file of kernels, compiled for the current device; `None` if it cannot be
    /// compiled.
    fn load_file(&self, file: KernelFile) -> Result<Option<ModuleHandle>> {
        let mut files = self.files.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(&known) = files.get(&file) {
            return Ok(Some(known));
        }
        let loaded = match hiprtc::compiled(file, self.driver.library) {
            Ok(code) => self.load_module(&code)?,
            Err(why) => {
                self.refuse(&why);
                None
            }
        };
        files.extend(loaded.map(|module| (file, module)));
        Ok(loaded)
    }

    /// Loads a module from PTX that ends with a zero byte, or from code; `None` if the driver
    /// cannot compile it.
    fn load_module(&self, image: &[u8]) -> Result<Option<ModuleHandle>> {
        let mut module = ModuleHandle(ptr::null_mut());
        // SAFETY: the image is a C string or says its length itself, and no options are passed. The
        // driver writes one handle.
        let loaded = unsafe {
            let image = image.as_ptr().cast();
            let none = (ptr::null_mut(), ptr::null_mut());
            (self.driver.calls.load_module)(&raw mut module, image, 0, none.0, none.1)
        };
        if code::REFUSE_TO_COMPILE.contains(&loaded)
            && let Err(DeviceError(why)) =
                self.driver.check("compile the kernels that pack", loaded)
        {
            self.refuse(&why);
            return Ok(None);
        }
        self.driver.check("load a kernel", loaded)?;
        Ok(Some(module))
    }
}
