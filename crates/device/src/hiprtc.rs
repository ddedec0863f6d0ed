//! Kernels for AMD's devices, which are compiled from their source when they are first needed, by
//! the library `hiprtc` of ROCm.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;

use towpath_machine::library::loader_error;

use crate::abi::{Code, code, functions};
use crate::api::Api;
use crate::kernel_names::KernelFile;

/// For each of HIP's [libraries](Api::libraries), the one of the same version.
const LIBRARIES: [&CStr; 2] = [c"libhiprtc.so.7", c"libhiprtc.so.6"];

const HEADER: &CStr = c"dialect.h";
const HEADER_TEXT: &str = include_str!("../kernels/dialect.h");
/// No two operations become one with other rounding.
const OPTIONS: [&CStr; 2] = [c"-O3", c"-ffp-contract=off"];

/// `hiprtcProgram`.
type Program = *mut c_void;

functions! {
    /// The functions in use.
    Functions;
    create = c"hiprtcCreateProgram"
        (*mut Program, *const c_char, *const c_char, c_int, *const *const c_char,
         *const *const c_char);
    compile = c"hiprtcCompileProgram"
        (Program, c_int, *const *const c_char);
    code_size = c"hiprtcGetCodeSize"
        (Program, *mut usize);
    code = c"hiprtcGetCode"
        (Program, *mut c_char);
    destroy = c"hiprtcDestroyProgram"
        (*mut Program);
}

impl Functions {
    /// Loads the library with this index.
    fn load(library: usize) -> Result<Functions, String> {
        // SAFETY: the name is a C string. The library's initializers are those of AMD.
        let library = unsafe { libc::dlopen(LIBRARIES[library].as_ptr(), libc::RTLD_NOW) };
        if library.is_null() {
            return Err(loader_error());
        }
        // SAFETY: `library` is loaded, and the reference to it is never given back.
        unsafe { Functions::of(library, Api::Hip) }
    }

    fn check(what: &str, result: Code) -> Result<(), String> {
        if result == code::SUCCESS {
            return Ok(());
        }
        Err(format!("it failed to {what} (error {result})"))
    }

    /// Compiles a program that has been created.
    ///
    /// # Safety
    /// `program` must be one.
    unsafe fn code_of(&self, program: Program) -> Result<Vec<u8>, String> {
        let options = OPTIONS.map(CStr::as_ptr);
        let mut size = 0;
        // SAFETY: there are as many options as said. The library writes one number, and then as
        // many bytes.
        unsafe {
            let compiled = (self.compile)(program, options.len() as c_int, options.as_ptr());
            Functions::check("compile the kernels", compiled)?;
            Functions::check("tell their size", (self.code_size)(program, &raw mut size))?;
            let mut code = vec![0u8; size];
            Functions::check("give their code", (self.code)(program, code.as_mut_ptr().cast()))?;
            Ok(code)
        }
    }
}

fn source(file: KernelFile) -> &'static str {
    match file {
        KernelFile::Move => include_str!("../kernels/move.cu"),
        KernelFile::Reduce => include_str!("../kernels/reduce.cu"),
    }
}

/// The code of a file of kernels for the current device. `library` is the index of the driver's
/// library.
///
/// # Errors
/// A sentence that says why it cannot be compiled.
pub(crate) fn compiled(file: KernelFile, library: usize) -> Result<Vec<u8>, String> {
    compile(file, library)
        .map_err(|why| format!("hiprtc, which compiles kernels for AMD GPUs: {why}"))
}

fn compile(file: KernelFile, library: usize) -> Result<Vec<u8>, String> {
    let functions = Functions::load(library)?;
    let text = |text: &str| CString::new(text).map_err(|error| error.to_string());
    let (source, header) = (text(source(file))?, text(HEADER_TEXT)?);
    let (headers, names) = ([header.as_ptr()], [HEADER.as_ptr()]);
    let mut program: Program = ptr::null_mut();
    // SAFETY: all texts are C strings that outlive the calls, and there is one header. The program
    // is destroyed once.
    unsafe {
        let (source, name) = (source.as_ptr(), c"towpath.cu".as_ptr());
        let (headers, names) = (headers.as_ptr(), names.as_ptr());
        let created = (functions.create)(&raw mut program, source, name, 1, headers, names);
        Functions::check("begin", created)?;
        let code = functions.code_of(program);
        (functions.destroy)(&raw mut program);
        code
    }
}
