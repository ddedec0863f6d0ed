//! The CUDA driver that the program has loaded, behind calls with readable errors.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;

use crate::abi::{
    Address, CAPTURE_MODE_RELAXED, Code, ContextHandle, DeviceNumber, Functions, attribute, code,
};

/// The name under which programs load the driver.
pub(crate) const LIBRARY: &CStr = c"libcuda.so.1";

/// What the driver says about a failed call, as a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeviceError(pub(crate) String);

pub(crate) type Result<T> = std::result::Result<T, DeviceError>;

/// The driver's functions. The library is never unloaded: the reference that
/// [`CudaDriver::of_program`] takes is kept.
#[derive(Clone, Copy)]
pub(crate) struct CudaDriver {
    pub(crate) calls: Functions,
}

impl std::fmt::Debug for CudaDriver {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("CudaDriver")
    }
}

impl CudaDriver {
    /// The driver, if the program has loaded it. Does not load it.
    ///
    /// # Errors
    /// Which function the driver lacks.
    pub(crate) fn of_program() -> Option<std::result::Result<CudaDriver, String>> {
        // SAFETY: the name is a C string, and a library that is loaded already runs no
        // initializers.
        let library = unsafe { libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
        if library.is_null() {
            return None;
        }
        // SAFETY: `library` is loaded, and the reference to it is never given back.
        Some(unsafe { Functions::of(library) }.map(|calls| CudaDriver { calls }))
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
        DeviceError(format!("the CUDA driver failed to {what}: {about} ({name})"))
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
            if state != code::SUCCESS || active == 0 {
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
        // SAFETY: `context` is a handle from the driver, which checks it.
        self.check("use the context of the memory", unsafe { (self.calls.push_context)(context) })?;
        let mut mode = CAPTURE_MODE_RELAXED;
        // SAFETY: `mode` is a local variable.
        unsafe { (self.calls.exchange_capture_mode)(&raw mut mode) };
        Ok(Entered { driver: self, mode })
    }
}

/// A context that is current. The thread's calls do not disturb a stream capture that the program
/// has under way.
pub(crate) struct Entered<'a> {
    driver: &'a CudaDriver,
    /// The thread's own mode.
    mode: c_int,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let mut context = ContextHandle(ptr::null_mut());
        // SAFETY: both pointers are to variables of this function or of `self`. Results do not
        // matter: a driver that is shutting down refuses everything.
        unsafe {
            (self.driver.calls.exchange_capture_mode)(&raw mut self.mode);
            (self.driver.calls.pop_context)(&raw mut context);
        }
    }
}
