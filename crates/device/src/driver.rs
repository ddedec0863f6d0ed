//! A driver that the program has loaded, behind calls with readable errors.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;

use crate::abi::{
    Address, CAPTURE_MODE_RELAXED, Code, ContextHandle, DeviceNumber, Functions, StreamHandle,
    VirtualMemory, attribute, code,
};
use crate::api::Api;

/// `hipMemcpyDefault`: the addresses tell where the memory is.
const HIP_COPY_DEFAULT: c_int = 4;

/// `hipMemcpyAsync`.
type HipCopyAsync = unsafe extern "C" fn(Address, Address, usize, c_int, StreamHandle) -> Code;

/// What the driver says about a failed call, as a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeviceError(pub(crate) String);

pub(crate) type Result<T> = std::result::Result<T, DeviceError>;

/// The driver's functions. The library is never unloaded: the reference that
/// [`Driver::of_program`] takes is kept.
#[derive(Clone, Copy)]
pub(crate) struct Driver {
    pub(crate) api: Api,
    /// Which of the API's [libraries](Api::libraries) it is.
    pub(crate) library: usize,
    pub(crate) calls: Functions,
    /// Its functions for virtual memory, which not every driver has, and which are not used of HIP.
    pub(crate) virtual_memory: Option<VirtualMemory>,
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Driver({:?})", self.api)
    }
}

impl Driver {
    /// The driver of this API, if the program has loaded it. Does not load it.
    ///
    /// # Errors
    /// Which function the driver lacks.
    pub(crate) fn of_program(api: Api) -> Option<std::result::Result<Driver, String>> {
        let how = libc::RTLD_NOW | libc::RTLD_NOLOAD;
        // SAFETY: the names are C strings, and a library that is loaded already runs no
        // initializers.
        let loaded = |name: &&CStr| unsafe { libc::dlopen(name.as_ptr(), how) };
        let mut libraries = api.libraries().iter().map(loaded).enumerate();
        let (library, handle) = libraries.find(|(_, handle)| !handle.is_null())?;
        // SAFETY: the library is loaded, and the reference to it is never given back.
        let (calls, virtual_memory) = unsafe {
            let is_cuda = api == Api::Cuda;
            let of_virtual_memory = || VirtualMemory::of(handle, api).ok();
            (Functions::of(handle, api), is_cuda.then(of_virtual_memory).flatten())
        };
        Some(calls.map(|calls| Driver { api, library, calls, virtual_memory }))
    }

    /// Starts to copy `bytes` bytes in a stream.
    ///
    /// # Errors
    /// If the driver refuses.
    ///
    /// # Safety
    /// The stream must be of the current context. Both addresses must be valid for the bytes until
    /// the copy is done.
    pub(crate) unsafe fn copy(
        &self,
        what: &str,
        (to, from): (Address, Address),
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<()> {
        let copy = self.calls.copy_async;
        // SAFETY: both addresses are valid until the copy is done (this function's contract). In
        // the table of HIP the function is `hipMemcpyAsync`.
        let result = unsafe {
            match self.api {
                Api::Cuda => copy(to, from, bytes, stream),
                Api::Hip => {
                    let copy = std::mem::transmute::<
                        unsafe extern "C" fn(Address, Address, usize, StreamHandle) -> Code,
                        HipCopyAsync,
                    >(copy);
                    copy(to, from, bytes, HIP_COPY_DEFAULT, stream)
                }
            }
        };
        self.check(what, result)
    }

    /// Turns the result of the call `what` into a sentence.
    pub(crate) fn check(&self, what: &str, result: Code) -> Result<()> {
        if result == code::SUCCESS { Ok(()) } else { Err(self.error(what, result)) }
    }

    #[cold]
    fn error(&self, what: &str, result: Code) -> DeviceError {
        let text = |lookup: unsafe extern "C" fn(Code, *mut *const c_char) -> Code| {
            let mut text: *const c_char = ptr::null();
            // SAFETY: the driver writes one pointer, to a static C string, or fails.
            unsafe {
                if lookup(result, &raw mut text) != code::SUCCESS || text.is_null() {
                    return format!("error {result}");
                }
                CStr::from_ptr(text).to_string_lossy().into_owned()
            }
        };
        let (name, about) = (text(self.calls.error_name), text(self.calls.error_text));
        let api = self.api.name();
        DeviceError(format!("the {api} driver failed to {what}: {about} ({name})"))
    }

    /// Reads attributes of a pointer. False if the driver does not know the pointer, or does not
    /// run.
    ///
    /// # Errors
    /// If the driver fails, so that nobody knows what the pointer is.
    ///
    /// # Safety
    /// Each of `values` must point to a variable of the type that its attribute has.
    pub(crate) unsafe fn pointer_attributes<const N: usize>(
        &self,
        address: Address,
        mut attributes: [c_int; N],
        mut values: [*mut c_void; N],
    ) -> Result<bool> {
        // SAFETY: both arrays have N entries, and each value has room for its attribute (this
        // function's contract).
        let result = unsafe {
            (self.calls.pointer_attributes)(
                N as c_uint,
                attributes.as_mut_ptr(),
                values.as_mut_ptr(),
                address,
            )
        };
        match result {
            code::INVALID_VALUE
            | code::NOT_INITIALIZED
            | code::DEINITIALIZED
            | code::INVALID_CONTEXT => Ok(false),
            // Where HIP finds no device, it answers so to every question.
            code::NO_DEVICE | code::INVALID_DEVICE if self.api == Api::Hip => Ok(false),
            result => self.check("tell what memory an address is in", result).map(|()| true),
        }
    }

    /// Makes the driver's copies of this memory complete before their calls return. The library's
    /// own streams would otherwise not wait for the last one before a send. Not all memory has
    /// this attribute.
    pub(crate) fn synchronize_copies(&self, address: Address) {
        let on: c_uint = 1;
        // SAFETY: the driver reads one number, and checks the address.
        unsafe {
            let on = (&raw const on).cast();
            (self.calls.set_pointer_attribute)(on, attribute::SYNC_MEMOPS, address)
        };
    }

    /// The primary context of a device, if it is active.
    pub(crate) fn active_primary(&self, device: DeviceNumber) -> Option<ContextHandle> {
        let (mut flags, mut active) = (0, 0);
        let mut context = ContextHandle(ptr::null_mut());
        // SAFETY: all pointers are to local variables.
        unsafe {
            let state = (self.calls.primary_state)(device, &raw mut flags, &raw mut active);
            // HIP does not count every use of a device, and has no other contexts.
            if self.api == Api::Cuda && (state != code::SUCCESS || active == 0) {
                return None;
            }
            // Only this tells the handle. The program, whose memory is in the context, keeps it.
            let retained = (self.calls.retain_primary)(&raw mut context, device);
            if retained != code::SUCCESS {
                return None;
            }
            (self.calls.release_primary)(device);
            Some(context)
        }
    }

    /// Makes a context current in this thread until the result is dropped.
    ///
    /// # Errors
    /// If the driver refuses the context.
    pub(crate) fn enter(&self, context: ContextHandle) -> Result<Entered<'_>> {
        let calls = &self.calls;
        let mut before = ContextHandle(ptr::null_mut());
        // SAFETY: `context` is a handle from the driver, which checks it. It writes one handle.
        let entered = unsafe {
            match self.api {
                Api::Cuda => (calls.push_context)(context),
                // What is popped there does not become current again.
                Api::Hip => match (calls.current_context)(&raw mut before) {
                    code::SUCCESS => (calls.set_context)(context),
                    refused => refused,
                },
            }
        };
        self.check("use the context of the memory", entered)?;
        let mut mode = CAPTURE_MODE_RELAXED;
        // SAFETY: `mode` is a local variable.
        unsafe { (self.calls.exchange_capture_mode)(&raw mut mode) };
        Ok(Entered { driver: self, before, mode })
    }
}

/// A context that is current. The thread's calls do not disturb a stream capture that the program
/// has under way.
pub(crate) struct Entered<'a> {
    driver: &'a Driver,
    /// The thread's own context, with HIP.
    before: ContextHandle,
    /// The thread's own mode.
    mode: c_int,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let calls = &self.driver.calls;
        let mut context = ContextHandle(ptr::null_mut());
        // SAFETY: both pointers are to variables of this function or of `self`. Results do not
        // matter: a driver that is shutting down refuses everything.
        unsafe {
            (calls.exchange_capture_mode)(&raw mut self.mode);
            match self.driver.api {
                Api::Cuda => (calls.pop_context)(&raw mut context),
                Api::Hip => (calls.set_context)(self.before),
            };
        }
    }
}
