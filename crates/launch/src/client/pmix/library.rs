//! The launcher's PMIx library, opened at run time: the eight functions that are used, behind safe
//! methods.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use towpath_machine::library::{loader_error, symbol};

use super::layout::{
    ALL_RANKS, Abort, Commit, ErrorText, Fence, Finalize, GLOBAL, Get, Init, Instruction, Process, Put, Value, kind,
    number,
};

/// What a key holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Text(String),
    Number(i64),
    /// A type that is not used here.
    Other,
}

/// The functions of an opened library. It stays open for ever: it has threads of its own.
#[derive(Clone, Copy)]
pub(super) struct Library {
    init: Init,
    put: Put,
    commit: Commit,
    fence: Fence,
    get: Get,
    finalize: Finalize,
    abort: Abort,
    error_text: ErrorText,
}

impl Library {
    /// Opens a library.
    ///
    /// # Errors
    /// The loader's words, or which function is missing.
    pub(super) fn open(path: &Path) -> Result<Library, String> {
        let name = CString::new(path.as_os_str().as_bytes()).map_err(|_| "its name holds a zero byte".to_owned())?;
        // SAFETY: the name ends with a zero byte; what the library does when it is loaded is its
        // maker's business, as for every library that a launcher asks its programs to use.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(loader_error());
        }
        // SAFETY: each function has the type that the PMIx standard gives its name.
        unsafe {
            Ok(Library {
                init: std::mem::transmute::<*mut c_void, Init>(symbol(handle, c"PMIx_Init")?),
                put: std::mem::transmute::<*mut c_void, Put>(symbol(handle, c"PMIx_Put")?),
                commit: std::mem::transmute::<*mut c_void, Commit>(symbol(handle, c"PMIx_Commit")?),
                fence: std::mem::transmute::<*mut c_void, Fence>(symbol(handle, c"PMIx_Fence")?),
                get: std::mem::transmute::<*mut c_void, Get>(symbol(handle, c"PMIx_Get")?),
                finalize: std::mem::transmute::<*mut c_void, Finalize>(symbol(handle, c"PMIx_Finalize")?),
                abort: std::mem::transmute::<*mut c_void, Abort>(symbol(handle, c"PMIx_Abort")?),
                error_text: std::mem::transmute::<*mut c_void, ErrorText>(symbol(handle, c"PMIx_Error_string")?),
            })
        }
    }

    fn result(&self, code: c_int) -> Result<(), String> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: the function takes any number and gives a text that is never freed, or null.
        let text = unsafe { (self.error_text)(code) };
        Err(match text.is_null() {
            true => format!("PMIx error {code}"),
            // SAFETY: a text of the library, ended by a zero byte.
            false => format!("{} ({code})", unsafe { CStr::from_ptr(text) }.to_string_lossy()),
        })
    }

    /// Meets the server and says who this process is.
    pub(super) fn init(&self) -> Result<Process, String> {
        let mut own = Process::empty();
        // SAFETY: the library writes one process; no instructions are given.
        let code = unsafe { (self.init)(&mut own, std::ptr::null_mut(), 0) };
        self.result(code)?;
        own.namespace[super::layout::NAMESPACE_BYTES - 1] = 0;
        Ok(own)
    }

    /// Keeps a text under a key until the next commit.
    pub(super) fn put(&self, key: &str, text: &str) -> Result<(), String> {
        let (key, text) = (padded_key(key)?, CString::new(text).map_err(|_| "a zero byte in a value".to_owned())?);
        let mut value = Value { kind: kind::STRING, data: [text.as_ptr() as u64, 0, 0] };
        // SAFETY: key and value live during the call, which copies both; the key has the size of
        // the library's keys.
        self.result(unsafe { (self.put)(GLOBAL, key.as_ptr(), &mut value) })
    }

    /// Hands what was put to the server, and waits for all processes of the namespace.
    pub(super) fn meet(&self, own: Process) -> Result<(), String> {
        // SAFETY: takes nothing.
        self.result(unsafe { (self.commit)() })?;
        let (everyone, collect) = (own.with_rank(ALL_RANKS), Instruction::yes("pmix.collect"));
        // SAFETY: one process and one instruction, alive during the call.
        self.result(unsafe { (self.fence)(&everyone, 1, &collect, 1) })
    }

    /// What a rank has put under a key and shown by a fence. Waits for a key that was never put.
    pub(super) fn get_put(&self, own: Process, rank: u32, key: &str) -> Result<Content, String> {
        self.ask(own.with_rank(rank), key, &[])
    }

    /// What the launcher says about the job.
    pub(super) fn get_of_job(&self, own: Process, key: &str) -> Option<Content> {
        self.ask(own.with_rank(ALL_RANKS), key, &[Instruction::yes("pmix.immediate")]).ok()
    }

    /// What the launcher says about a process.
    pub(super) fn get_of_rank(&self, own: Process, rank: u32, key: &str) -> Option<Content> {
        self.ask(own.with_rank(rank), key, &[Instruction::yes("pmix.immediate")]).ok()
    }

    fn ask(&self, who: Process, key: &str, instructions: &[Instruction]) -> Result<Content, String> {
        let key = padded_key(key)?;
        let mut value: *mut Value = std::ptr::null_mut();
        let list = if instructions.is_empty() { std::ptr::null() } else { instructions.as_ptr() };
        // SAFETY: process, key and instructions live during the call; on success the library gives
        // a value of its own.
        let code = unsafe { (self.get)(&who, key.as_ptr(), list, instructions.len(), &mut value) };
        self.result(code)?;
        if value.is_null() {
            return Err("no value came".to_owned());
        }
        // SAFETY: the library has made this value with malloc and gives it away.
        unsafe {
            let content = take(&*value);
            libc::free(value.cast());
            Ok(content)
        }
    }

    /// Leaves; the server is told that this process ends orderly.
    pub(super) fn finalize(&self) -> Result<(), String> {
        // SAFETY: no instructions.
        self.result(unsafe { (self.finalize)(std::ptr::null(), 0) })
    }

    /// Asks for the end of the whole namespace.
    pub(super) fn abort(&self, code: i32, sentence: &str) -> Result<(), String> {
        let sentence = CString::new(sentence.replace('\0', " ")).unwrap_or_default();
        // SAFETY: the text lives during the call; no list of processes means all of the namespace.
        self.result(unsafe { (self.abort)(code, sentence.as_ptr(), std::ptr::null_mut(), 0) })
    }
}

/// Reads a value and frees what hangs on it.
///
/// # Safety
/// A value made by the library's `PMIx_Get`, used no more afterwards.
unsafe fn take(value: &Value) -> Content {
    if let Some(number) = number(value) {
        return Content::Number(number);
    }
    if value.kind != kind::STRING {
        // Whatever hangs on it is lost: freeing it needs its layout.
        return Content::Other;
    }
    let text = value.data[0] as *mut c_char;
    if text.is_null() {
        return Content::Text(String::new());
    }
    // SAFETY: the type says that this is a text, which the library has made with malloc and given
    // away.
    unsafe {
        let content = CStr::from_ptr(text).to_string_lossy().into_owned();
        libc::free(text.cast());
        Content::Text(content)
    }
}

/// A key in as many bytes as the library may read.
fn padded_key(key: &str) -> Result<Vec<c_char>, String> {
    if key.len() >= super::layout::KEY_BYTES || key.contains('\0') {
        return Err(format!("the key {key:?} is too long"));
    }
    let mut bytes: Vec<c_char> = key.bytes().map(|byte| byte as c_char).collect();
    bytes.resize(super::layout::KEY_BYTES, 0);
    Ok(bytes)
}
