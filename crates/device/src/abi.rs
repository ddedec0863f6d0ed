//! Types and constants of the CUDA driver API, which are those of HIP too, declared here because no
//! toolkit is needed to build the library. A test compares them with the published header of CUDA
//! (`tests/device`).

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};

/// `CUresult`; 0 is success.
pub(crate) type Code = c_int;
/// `CUdevice`: the number of a device in this process.
pub(crate) type DeviceNumber = c_int;
/// `CUdeviceptr`.
pub(crate) type Address = u64;

/// Declares opaque handles of the driver.
macro_rules! handles {
    ($($(#[$about:meta])* $name:ident;)+) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(transparent)]
        pub(crate) struct $name(pub(crate) *mut c_void);

        // SAFETY: the driver accepts its handles in every thread.
        unsafe impl Send for $name {}
        // SAFETY: as above; a handle is only a name.
        unsafe impl Sync for $name {}
    )+};
}

handles! {
    /// `CUcontext`.
    ContextHandle;
    /// `CUstream`.
    StreamHandle;
    /// `CUevent`.
    EventHandle;
    /// `CUmodule`.
    ModuleHandle;
    /// `CUfunction`.
    FunctionHandle;
}

/// `CUipcMemHandle`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub(crate) struct IpcHandle(pub(crate) [u64; 8]);

/// `CUmemGenericAllocationHandle`.
pub(crate) type MemoryHandle = u64;

/// `CUmemAccessDesc`: what a device may do with virtual memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct AccessDescription {
    /// `CUmemLocationType`, [`LOCATION_TYPE_DEVICE`].
    pub(crate) kind: c_int,
    pub(crate) device: DeviceNumber,
    /// `CUmemAccess_flags`, [`ACCESS_READ_WRITE`].
    pub(crate) flags: c_int,
}

/// `CUuuid`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Uuid(pub(crate) [u8; 16]);

impl Uuid {
    /// Its words.
    pub(crate) fn words(self) -> [u64; 2] {
        [0, 8].map(|first| u64::from_ne_bytes(std::array::from_fn(|byte| self.0[first + byte])))
    }

    /// A number that tells devices of a host apart: their UUIDs are random. Not 0.
    pub(crate) fn number(self) -> u64 {
        let [low, high] = self.words();
        (low ^ high).max(1)
    }
}

/// Results that are no failures of the driver, depending on the call.
pub(crate) mod code {
    use super::Code;

    pub(crate) const SUCCESS: Code = 0;
    pub(crate) const INVALID_VALUE: Code = 1;
    pub(crate) const OUT_OF_MEMORY: Code = 2;
    pub(crate) const NOT_INITIALIZED: Code = 3;
    pub(crate) const DEINITIALIZED: Code = 4;
    pub(crate) const NO_DEVICE: Code = 100;
    pub(crate) const INVALID_DEVICE: Code = 101;
    pub(crate) const INVALID_CONTEXT: Code = 201;
    pub(crate) const NOT_READY: Code = 600;
    pub(crate) const NOT_SUPPORTED: Code = 801;
    /// What a driver says that cannot open memory of a process, and will not be able to later: no
    /// such device, no access between two devices, not supported.
    pub(crate) const REFUSE_TO_OPEN: [Code; 4] =
        [INVALID_DEVICE, INVALID_CONTEXT, 217, NOT_SUPPORTED];
    /// What a driver says that cannot compile a kernel for its device: no binary, invalid PTX,
    /// unsupported version, no compiler, compilation disabled.
    pub(crate) const REFUSE_TO_COMPILE: [Code; 5] = [209, 218, 222, 221, 223];
}

/// `CUpointer_attribute`.
pub(crate) mod attribute {
    use std::ffi::c_int;

    pub(crate) const CONTEXT: c_int = 1;
    pub(crate) const MEMORY_TYPE: c_int = 2;
    pub(crate) const SYNC_MEMOPS: c_int = 6;
    pub(crate) const BUFFER_ID: c_int = 7;
    pub(crate) const IS_MANAGED: c_int = 8;
    pub(crate) const DEVICE_ORDINAL: c_int = 9;
    pub(crate) const RANGE_START: c_int = 11;
    pub(crate) const RANGE_SIZE: c_int = 12;
    pub(crate) const ALLOWED_HANDLE_TYPES: c_int = 14;
    pub(crate) const MEMPOOL_HANDLE: c_int = 17;
    pub(crate) const MAPPING_SIZE: c_int = 18;
    pub(crate) const MAPPING_BASE_ADDR: c_int = 19;
    pub(crate) const MEMORY_BLOCK_ID: c_int = 20;
}

/// `CUmemorytype`.
pub(crate) const MEMORY_TYPE_DEVICE: c_uint = 2;
/// `CU_STREAM_NON_BLOCKING`.
pub(crate) const STREAM_NON_BLOCKING: c_uint = 1;
/// `CU_EVENT_DISABLE_TIMING`.
pub(crate) const EVENT_DISABLE_TIMING: c_uint = 2;
/// `CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP`.
pub(crate) const HOST_ALLOC_FLAGS: c_uint = 3;
/// `CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP`.
pub(crate) const HOST_REGISTER_FLAGS: c_uint = 3;
/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`.
pub(crate) const IPC_LAZY_ENABLE_PEER_ACCESS: c_uint = 1;
/// `CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR`.
pub(crate) const HANDLE_TYPE_DESCRIPTOR: c_int = 1;
/// `CU_MEM_LOCATION_TYPE_DEVICE`.
pub(crate) const LOCATION_TYPE_DEVICE: c_int = 1;
/// `CU_MEM_ACCESS_FLAGS_PROT_READWRITE`.
pub(crate) const ACCESS_READ_WRITE: c_int = 3;
/// `CU_STREAM_CAPTURE_MODE_RELAXED`.
pub(crate) const CAPTURE_MODE_RELAXED: c_int = 2;

/// The exported name of a function that only one library has, or of one that two APIs have.
macro_rules! exported_name {
    ($api:expr, $only:literal) => {{
        let _ = $api;
        $only
    }};
    ($api:expr, $cuda:literal, $hip:literal) => {
        $api.choose($cuda, $hip)
    };
}
pub(crate) use exported_name;

/// Declares a table of functions of a library, with their exported names, in CUDA and in HIP if
/// both have them.
macro_rules! functions {
    (
        $(#[$about:meta])* $table:ident;
        $($name:ident = $($symbol:literal),+ ($($argument:ty),*);)+
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy)]
        pub(crate) struct $table {
            $(pub(crate) $name: unsafe extern "C" fn($($argument),*) -> $crate::abi::Code,)+
        }

        impl $table {
            /// Looks up all functions.
            ///
            /// # Errors
            /// Which one is missing.
            ///
            /// # Safety
            /// `library` must be that library of this API, loaded, and never be unloaded.
            pub(crate) unsafe fn of(
                library: *mut std::ffi::c_void,
                api: $crate::api::Api,
            ) -> Result<$table, String> {
                // SAFETY: `library` is loaded (this function's contract), and each function has
                // the type that the driver's header declares for this symbol.
                unsafe {
                    Ok($table {
                        $($name: std::mem::transmute::<
                            *mut std::ffi::c_void,
                            unsafe extern "C" fn($($argument),*) -> $crate::abi::Code,
                        >(towpath_machine::library::symbol(
                            library,
                            $crate::abi::exported_name!(api, $($symbol),+),
                        )?),)+
                    })
                }
            }
        }
    };
}
pub(crate) use functions;

functions! {
    /// The functions of the driver that messages need.
    Functions;
    error_name = c"cuGetErrorName", c"hipDrvGetErrorName"
        (Code, *mut *const c_char);
    error_text = c"cuGetErrorString", c"hipDrvGetErrorString"
        (Code, *mut *const c_char);
    push_context = c"cuCtxPushCurrent_v2", c"hipCtxPushCurrent"
        (ContextHandle);
    pop_context = c"cuCtxPopCurrent_v2", c"hipCtxPopCurrent"
        (*mut ContextHandle);
    current_context = c"cuCtxGetCurrent", c"hipCtxGetCurrent"
        (*mut ContextHandle);
    set_context = c"cuCtxSetCurrent", c"hipCtxSetCurrent"
        (ContextHandle);
    device_of_context = c"cuCtxGetDevice", c"hipCtxGetDevice"
        (*mut DeviceNumber);
    device_attribute = c"cuDeviceGetAttribute", c"hipDeviceGetAttribute"
        (*mut c_int, c_int, DeviceNumber);
    device_uuid = c"cuDeviceGetUuid", c"hipDeviceGetUuid"
        (*mut Uuid, DeviceNumber);
    primary_state = c"cuDevicePrimaryCtxGetState", c"hipDevicePrimaryCtxGetState"
        (DeviceNumber, *mut c_uint, *mut c_int);
    retain_primary = c"cuDevicePrimaryCtxRetain", c"hipDevicePrimaryCtxRetain"
        (*mut ContextHandle, DeviceNumber);
    release_primary = c"cuDevicePrimaryCtxRelease_v2", c"hipDevicePrimaryCtxRelease"
        (DeviceNumber);
    pointer_attributes = c"cuPointerGetAttributes", c"hipDrvPointerGetAttributes"
        (c_uint, *mut c_int, *mut *mut c_void, Address);
    set_pointer_attribute = c"cuPointerSetAttribute", c"hipPointerSetAttribute"
        (*const c_void, c_int, Address);
    address_range = c"cuMemGetAddressRange_v2", c"hipMemGetAddressRange"
        (*mut Address, *mut usize, Address);
    allocate = c"cuMemAlloc_v2", c"hipMalloc"
        (*mut Address, usize);
    free = c"cuMemFree_v2", c"hipFree"
        (Address);
    allocate_host = c"cuMemHostAlloc", c"hipHostMalloc"
        (*mut *mut c_void, usize, c_uint);
    register_host = c"cuMemHostRegister_v2", c"hipHostRegister"
        (*mut c_void, usize, c_uint);
    unregister_host = c"cuMemHostUnregister", c"hipHostUnregister"
        (*mut c_void);
    device_pointer = c"cuMemHostGetDevicePointer_v2", c"hipHostGetDevicePointer"
        (*mut Address, *mut c_void, c_uint);
    copy_async = c"cuMemcpyAsync", c"hipMemcpyAsync"
        (Address, Address, usize, StreamHandle);
    create_stream = c"cuStreamCreate", c"hipStreamCreateWithFlags"
        (*mut StreamHandle, c_uint);
    synchronize_stream = c"cuStreamSynchronize", c"hipStreamSynchronize"
        (StreamHandle);
    query_stream = c"cuStreamQuery", c"hipStreamQuery"
        (StreamHandle);
    create_event = c"cuEventCreate", c"hipEventCreateWithFlags"
        (*mut EventHandle, c_uint);
    record_event = c"cuEventRecord", c"hipEventRecord"
        (EventHandle, StreamHandle);
    query_event = c"cuEventQuery", c"hipEventQuery"
        (EventHandle);
    load_module = c"cuModuleLoadDataEx", c"hipModuleLoadDataEx"
        (*mut ModuleHandle, *const c_void, c_uint, *mut c_int, *mut *mut c_void);
    module_function = c"cuModuleGetFunction", c"hipModuleGetFunction"
        (*mut FunctionHandle, ModuleHandle, *const c_char);
    launch = c"cuLaunchKernel", c"hipModuleLaunchKernel"
        (FunctionHandle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, StreamHandle,
         *mut *mut c_void, *mut *mut c_void);
    export_memory = c"cuIpcGetMemHandle", c"hipIpcGetMemHandle"
        (*mut IpcHandle, Address);
    open_memory = c"cuIpcOpenMemHandle_v2", c"hipIpcOpenMemHandle"
        (*mut Address, IpcHandle, c_uint);
    close_memory = c"cuIpcCloseMemHandle", c"hipIpcCloseMemHandle"
        (Address);
    exchange_capture_mode = c"cuThreadExchangeStreamCaptureMode", c"hipThreadExchangeStreamCaptureMode"
        (*mut c_int);
}

functions! {
    /// The functions of the driver that share virtual memory with other processes. Drivers older
    /// than CUDA 11.0 lack some.
    VirtualMemory;
    retain_handle = c"cuMemRetainAllocationHandle"
        (*mut MemoryHandle, *mut c_void);
    export_handle = c"cuMemExportToShareableHandle"
        (*mut c_void, MemoryHandle, c_int, c_ulonglong);
    import_handle = c"cuMemImportFromShareableHandle"
        (*mut MemoryHandle, *mut c_void, c_int);
    release_handle = c"cuMemRelease"
        (MemoryHandle);
    reserve_addresses = c"cuMemAddressReserve"
        (*mut Address, usize, usize, Address, c_ulonglong);
    free_addresses = c"cuMemAddressFree"
        (Address, usize);
    map = c"cuMemMap"
        (Address, usize, usize, MemoryHandle, c_ulonglong);
    unmap = c"cuMemUnmap"
        (Address, usize);
    set_access = c"cuMemSetAccess"
        (Address, usize, *const AccessDescription, usize);
}
