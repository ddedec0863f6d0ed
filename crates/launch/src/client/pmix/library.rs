//! The launcher's PMIx library, opened at run time: safe methods around the eight functions used.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use towpath_machine::library::{loader_error, symbol};

use super::layout::{
    ALL_RANKS, Abort, Commit, ErrorText, Fence, Finalize, GLOBAL, Get, Init, Instruction,
    PmixValue, Process, Put, kind, number,
};

/// The value of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum KeyContent {
    Text(String),
    Number(i64),
    /// A type that is not used here.
    Other,
}

/// The functions of an opened library. It is never closed, because it runs threads of its own.
#[derive(Clone, Copy)]
pub(super) struct PmixLibrary {
    init: Init,
    put: Put,
    commit: Commit,
    fence: Fence,
    get: Get,
    finalize: Finalize,
    abort: Abort,
    error_text: ErrorText,
}

impl PmixLibrary {
    /// Opens a library.
    ///
    /// # Errors
    /// The loader's message, or which function is missing.
    pub(super) fn open(path: &Path) -> Result<PmixLibrary, String> {
        let name = CString::new(path.as_os_str().as_bytes())
            .map_err(|_| "its name contains a zero byte".to_owned())?;
        // SAFETY: `name` is NUL-terminated. `dlopen` runs the constructors of the PMIx library,
        // which every program under this launcher is expected to load.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(loader_error());
        }
        // SAFETY: `handle` is an open library. `symbol` returns no null pointers, and the types are
        // those that PMIx 4 and 5 declare for these names.
        unsafe {
            Ok(PmixLibrary {
                init: std::mem::transmute::<*mut c_void, Init>(symbol(handle, c"PMIx_Init")?),
                put: std::mem::transmute::<*mut c_void, Put>(symbol(handle, c"PMIx_Put")?),
                commit: std::mem::transmute::<*mut c_void, Commit>(symbol(handle, c"PMIx_Commit")?),
                fence: std::mem::transmute::<*mut c_void, Fence>(symbol(handle, c"PMIx_Fence")?),
                get: std::mem::transmute::<*mut c_void, Get>(symbol(handle, c"PMIx_Get")?),
                finalize: std::mem::transmute::<*mut c_void, Finalize>(symbol(
                    handle,
                    c"PMIx_Finalize",
                )?),
                abort: std::mem::transmute::<*mut c_void, Abort>(symbol(handle, c"PMIx_Abort")?),
                error_text: std::mem::transmute::<*mut c_void, ErrorText>(symbol(
                    handle,
                    c"PMIx_Error_string",
                )?),
            })
        }
    }

    fn result(&self, code: c_int) -> Result<(), String> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: PMIx_Error_string accepts any number and returns null or a static string.
        let text = unsafe { (self.error_text)(code) };
        Err(match text.is_null() {
            true => format!("PMIx error {code}"),
            // SAFETY: `text` is not null and points to a static NUL-terminated string of the
            // library.
            false => format!("{} ({code})", unsafe { CStr::from_ptr(text) }.to_string_lossy()),
        })
    }

    /// Connects to the server and returns the identity of this process.
    pub(super) fn init(&self) -> Result<Process, String> {
        let mut own = Process::empty();
        // SAFETY: the library writes one `pmix_proc_t` to `own`, which has its layout; a null list
        // of length 0 passes no directives.
        let code = unsafe { (self.init)(&mut own, std::ptr::null_mut(), 0) };
        self.result(code)?;
        own.namespace[super::layout::NAMESPACE_BYTES - 1] = 0;
        Ok(own)
    }

    /// Stores a text under a key; the next commit sends it.
    pub(super) fn put(&self, key: &str, text: &str) -> Result<(), String> {
        let (key, text) = (
            padded_key(key)?,
            CString::new(text).map_err(|_| "a zero byte in a value".to_owned())?,
        );
        let mut value = PmixValue { kind: kind::STRING, data: [text.as_ptr() as u64, 0, 0] };
        // SAFETY: `key` and `value`, and the string it points to, live during the call, which
        // copies them. `key` has KEY_BYTES bytes, as many as the library may read.
        self.result(unsafe { (self.put)(GLOBAL, key.as_ptr(), &mut value) })
    }

    /// Sends what was put to the server and waits for all processes of the namespace.
    pub(super) fn meet(&self, own: Process) -> Result<(), String> {
        // SAFETY: PMIx_Commit has no arguments.
        self.result(unsafe { (self.commit)() })?;
        let (everyone, collect) = (own.with_rank(ALL_RANKS), Instruction::yes("pmix.collect"));
        // SAFETY: `everyone` is one process and `collect` one directive, and both live during the
        // call.
        self.result(unsafe { (self.fence)(&everyone, 1, &collect, 1) })
    }

    /// Fetches what a rank has put under a key and published by a fence. Blocks for a key that was
    /// never put.
    pub(super) fn get_put(&self, own: Process, rank: u32, key: &str) -> Result<KeyContent, String> {
        self.ask(own.with_rank(rank), key, &[])
    }

    /// Fetches what the launcher provides about the job.
    pub(super) fn get_of_job(&self, own: Process, key: &str) -> Option<KeyContent> {
        self.ask(own.with_rank(ALL_RANKS), key, &[Instruction::yes("pmix.immediate")]).ok()
    }

    /// Fetches what the launcher provides about a process.
    pub(super) fn get_of_rank(&self, own: Process, rank: u32, key: &str) -> Option<KeyContent> {
        self.ask(own.with_rank(rank), key, &[Instruction::yes("pmix.immediate")]).ok()
    }

    fn ask(
        &self,
        who: Process,
        key: &str,
        instructions: &[Instruction],
    ) -> Result<KeyContent, String> {
        let key = padded_key(key)?;
        let mut value: *mut PmixValue = std::ptr::null_mut();
        let list = if instructions.is_empty() { std::ptr::null() } else { instructions.as_ptr() };
        // SAFETY: `who`, `key` and the directives live during the call, and `key` has KEY_BYTES
        // bytes. On success the library stores a pointer to a newly allocated value.
        let code = unsafe { (self.get)(&who, key.as_ptr(), list, instructions.len(), &mut value) };
        self.result(code)?;
        if value.is_null() {
            return Err("no value came".to_owned());
        }
        // SAFETY: `value` is not null; the library allocated it with malloc and passed ownership to
        // the caller. It is not used after the `free`.
        unsafe {
            let content = take(&*value);
            libc::free(value.cast());
            Ok(content)
        }
    }

    /// Leaves PMIx; the server is told that this process ends normally.
    pub(super) fn finalize(&self) -> Result<(), String> {
        // SAFETY: a null list of length 0 passes no directives.
        self.result(unsafe { (self.finalize)(std::ptr::null(), 0) })
    }

    /// Requests the end of the whole namespace.
    pub(super) fn abort(&self, code: i32, sentence: &str) -> Result<(), String> {
        let sentence = CString::new(sentence.replace('\0', " ")).unwrap_or_default();
        // SAFETY: `sentence` is NUL-terminated and lives during the call; a null list of length 0
        // means all processes of the namespace.
        self.result(unsafe { (self.abort)(code, sentence.as_ptr(), std::ptr::null_mut(), 0) })
    }
}

/// Reads a value and frees the string that it owns.
///
/// # Safety
/// `value` comes from the library's `PMIx_Get`, and its contents are not used afterwards.
unsafe fn take(value: &PmixValue) -> KeyContent {
    if let Some(number) = number(value) {
        return KeyContent::Number(number);
    }
    if value.kind != kind::STRING {
        // What the value owns is leaked: freeing it would need the layout of its type.
        return KeyContent::Other;
    }
    let text = value.data[0] as *mut c_char;
    if text.is_null() {
        return KeyContent::Text(String::new());
    }
    // SAFETY: the tag says that `text` is a string. The library allocated it with malloc and passed
    // ownership to the caller (this function's contract), and it is not used after the `free`.
    unsafe {
        let content = CStr::from_ptr(text).to_string_lossy().into_owned();
        libc::free(text.cast());
        KeyContent::Text(content)
    }
}

/// A key padded to as many bytes as the library may read.
fn padded_key(key: &str) -> Result<Vec<c_char>, String> {
    if key.len() >= super::layout::KEY_BYTES || key.contains('\0') {
        return Err(format!("the key {key:?} is too long"));
    }
    let mut bytes: Vec<c_char> = key.bytes().map(|byte| byte as c_char).collect();
    bytes.resize(super::layout::KEY_BYTES, 0);
    Ok(bytes)
}
