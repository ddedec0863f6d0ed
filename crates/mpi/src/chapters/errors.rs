//! The functions of error handlers, classes, codes and strings (MPI 5.0, chapter 9), and the
//! dispatch of errors to handlers.

use std::sync::Arc;

use towpath_base::sync::{AtomicU32, Ordering};
use towpath_neutral::abi::{AbiTable, Callback, Handle, Kind, StringArgument};
use towpath_neutral::constants::*;
use towpath_neutral::error::{Error, Result, fail};

use crate::objects::errhandler::{Action, Errhandler, FIRST_ADDED};
use crate::objects::registry::{self, OBJECTS};
use crate::process::{self, devices, ending};

/// The object whose error handler is invoked.
#[derive(Clone, Copy, Debug)]
pub enum ErrhandlerOwner {
    /// A communicator.
    Comm(Handle),
    /// A window.
    Win(Handle),
    /// A file.
    File(Handle),
    /// A session.
    Session(Handle),
    /// No object: the handler of MPI_COMM_SELF, or that of MPI_COMM_WORLD if the program has set
    /// none on MPI_COMM_SELF.
    None,
}

/// Dispatches an error: stores its message, invokes the error handler and returns the neutral code
/// for the program.
///
/// `call` is the index of the function in `towpath_base::calls::NAMES`.
#[cold]
pub fn raise(abi: &'static AbiTable, target: ErrhandlerOwner, call: u16, error: Error) -> i32 {
    let name = towpath_base::calls::NAMES.get(usize::from(call)).copied().unwrap_or("MPI");
    let sentence = format!("{name}: {}.", error.text());
    let code = OBJECTS.errors.keep(error.class(), sentence.clone());
    let target = error.object().map_or(target, ErrhandlerOwner::Comm);
    apply(abi, target, code, &sentence)
}

/// Invokes the error handler of an object with a code; returns the code for the program.
pub fn apply(abi: &'static AbiTable, target: ErrhandlerOwner, code: i32, sentence: &str) -> i32 {
    let (handler, kind, object) = handler_of(target);
    match handler.action {
        Action::Return => code,
        Action::Fatal | Action::Abort => ending::end_job(class_number(code), sentence),
        // SAFETY: the program registered `function` as an error handler for objects of kind `kind`,
        // as checked by `lookup_for`.
        Action::Call(function) => unsafe { (abi.call_errhandler)(function, kind, object, code) },
    }
}

fn class_number(code: i32) -> i32 {
    let class = OBJECTS.errors.class_of(code).unwrap_or(ERR_OTHER);
    if class == 0 { ERR_OTHER } else { class }
}

fn handler_of(target: ErrhandlerOwner) -> (Arc<Errhandler>, Kind, Handle) {
    let handle = match target {
        ErrhandlerOwner::Comm(handle) if registry::comm(handle).is_ok() => handle,
        ErrhandlerOwner::File(handle) => {
            return (OBJECTS.file_errhandler.lock().unwrap().clone(), Kind::File, handle);
        }
        ErrhandlerOwner::Session(handle) => {
            if let Some(session) = OBJECTS.sessions.share(handle) {
                return (session.errhandler.lock().unwrap().clone(), Kind::Session, handle);
            }
            without_object()
        }
        _ => without_object(),
    };
    match registry::comm(handle) {
        Ok(comm) => (comm.errhandler(), Kind::Comm, handle),
        Err(_) => (OBJECTS.initial_errhandler.lock().unwrap().clone(), Kind::Comm, handle),
    }
}

/// The communicator whose handler is invoked for an error without an object. Most programs set a
/// handler on MPI_COMM_WORLD only, and expect it to cover these errors too (docs/standard.md).
fn without_object() -> Handle {
    match registry::comm(COMM_SELF) {
        Ok(myself) if !myself.settings().errhandler_chosen => COMM_WORLD,
        _ => COMM_SELF,
    }
}

/// Looks up an error handler.
pub(crate) fn lookup(handle: Handle) -> Result<Arc<Errhandler>> {
    match handle {
        ERRORS_ARE_FATAL => Ok(OBJECTS.fatal.clone()),
        ERRORS_ABORT => Ok(OBJECTS.abort.clone()),
        ERRORS_RETURN => Ok(OBJECTS.returning.clone()),
        ERRHANDLER_NULL => {
            fail!(ERR_ARG, "argument errhandler is MPI_ERRHANDLER_NULL; pass an error handler")
        }
        _ => match OBJECTS.errhandlers.share(handle) {
            Some(found) => Ok(found),
            None => fail!(ERR_ARG, "argument errhandler ({}) is not an error handler", handle),
        },
    }
}

/// Looks up an error handler that may be attached to objects of `kind`.
pub(crate) fn lookup_for(handle: Handle, kind: Kind) -> Result<Arc<Errhandler>> {
    let handler = lookup(handle)?;
    match handler.kind {
        Some(made_for) if made_for != kind => {
            fail!(ERR_ARG, "argument errhandler was created for another kind of object ({made_for:?}, not {kind:?})")
        }
        _ => Ok(handler),
    }
}

fn insert(action: Action, kind: Kind) -> Result<Handle> {
    let references = AtomicU32::new(1);
    let made = OBJECTS.errhandlers.insert_with(|handle| Errhandler { handle, kind: Some(kind), action, references });
    made.ok_or_else(|| Error::new(ERR_NO_MEM, "too many error handlers exist; free some"))
}

fn create(function: Callback, kind: Kind) -> Result<Handle> {
    if function.0.is_null() {
        fail!(ERR_ARG, "argument errhandler function is NULL; pass a function");
    }
    insert(Action::Call(function), kind)
}

/// MPI_Comm_create_errhandler (9.3.1).
pub fn comm_create_errhandler(function: Callback) -> Result<Handle> {
    create(function, Kind::Comm)
}
/// MPI_Win_create_errhandler (9.3.2).
pub fn win_create_errhandler(function: Callback) -> Result<Handle> {
    create(function, Kind::Win)
}
/// MPI_File_create_errhandler (9.3.3).
pub fn file_create_errhandler(function: Callback) -> Result<Handle> {
    create(function, Kind::File)
}
/// MPI_Session_create_errhandler (9.3.4).
pub fn session_create_errhandler(function: Callback) -> Result<Handle> {
    create(function, Kind::Session)
}

/// MPI_Comm_set_errhandler (9.3.1).
pub fn comm_set_errhandler(comm: Handle, errhandler: Handle) -> Result<()> {
    let comm = registry::comm(comm)?;
    let handler = lookup_for(errhandler, Kind::Comm)?;
    if !matches!(handler.action, Action::Fatal | Action::Abort) {
        devices::FAILURES.keep();
    }
    let mut settings = comm.settings();
    settings.errhandler = handler;
    settings.errhandler_chosen = true;
    Ok(())
}

/// MPI_Comm_get_errhandler: the program must free the handle once per call.
pub fn comm_get_errhandler(comm: Handle) -> Result<Handle> {
    Ok(hold(&registry::comm(comm)?.errhandler()))
}

/// Rejects all files but MPI_FILE_NULL, which stands for the default handler: no file can be open.
fn check_file(file: Handle) -> Result<()> {
    if file != FILE_NULL {
        fail!(ERR_FILE, "argument file ({}) is not an open file", file);
    }
    Ok(())
}

/// MPI_File_set_errhandler. Files are not implemented yet: only the default handler (on
/// MPI_FILE_NULL) can be set.
pub fn file_set_errhandler(file: Handle, errhandler: Handle) -> Result<()> {
    check_file(file)?;
    *OBJECTS.file_errhandler.lock().unwrap() = lookup_for(errhandler, Kind::File)?;
    Ok(())
}

/// MPI_File_get_errhandler, for MPI_FILE_NULL only.
pub fn file_get_errhandler(file: Handle) -> Result<Handle> {
    check_file(file)?;
    Ok(hold(&OBJECTS.file_errhandler.lock().unwrap()))
}

/// The handle of an error handler that an object holds, which the program must free once more. A
/// new handle if the program has freed the handler before.
pub(crate) fn hold(handler: &Arc<Errhandler>) -> Handle {
    let Some(kind) = handler.kind else { return handler.handle };
    let is_known = OBJECTS.errhandlers.share(handler.handle).is_some_and(|known| Arc::ptr_eq(&known, handler));
    // Another thread may be releasing the last reference concurrently.
    let one_more = |references: u32| (references > 0).then_some(references + 1);
    if is_known && handler.references.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok() {
        return handler.handle;
    }
    insert(handler.action, kind).unwrap_or(ERRHANDLER_NULL)
}

/// MPI_Errhandler_free: objects that hold the handler keep it.
pub fn errhandler_free(errhandler: &mut Handle) -> Result<()> {
    let handler = lookup(*errhandler)?;
    if handler.kind.is_some() && handler.references.fetch_sub(1, Ordering::Relaxed) == 1 {
        OBJECTS.errhandlers.remove(*errhandler);
    }
    *errhandler = ERRHANDLER_NULL;
    Ok(())
}

/// MPI_Comm_call_errhandler.
pub fn comm_call_errhandler(comm: Handle, code: i32) -> Result<()> {
    registry::comm(comm)?;
    call(ErrhandlerOwner::Comm(comm), code)
}

/// MPI_File_call_errhandler, for MPI_FILE_NULL only.
pub fn file_call_errhandler(file: Handle, code: i32) -> Result<()> {
    check_file(file)?;
    call(ErrhandlerOwner::File(file), code)
}

pub(crate) fn call(target: ErrhandlerOwner, code: i32) -> Result<()> {
    let Some(class) = OBJECTS.errors.class_of(code) else {
        fail!(ERR_ARG, "argument errorcode ({code}) is not an error code");
    };
    let sentence = format!("the program called the error handler with code {code}: {}", string_of(code, class));
    if let Some(abi) = process::abi() {
        apply(abi, target, code, &sentence);
    }
    Ok(())
}

/// MPI_Error_class.
pub fn error_class(code: i32) -> Result<i32> {
    match OBJECTS.errors.class_of(code) {
        Some(class) => Ok(class),
        None => fail!(ERR_ARG, "argument errorcode ({code}) is not an error code"),
    }
}

/// MPI_Error_string: the message of the error if it is still kept, otherwise that of its class.
pub fn error_string(code: i32) -> Result<String> {
    let class = error_class(code)?;
    Ok(string_of(code, class))
}

fn string_of(code: i32, class: i32) -> String {
    if code >= FIRST_ADDED {
        return OBJECTS.errors.added.lock().unwrap().strings.get(&code).cloned().unwrap_or_default();
    }
    let slot = (code >> 8) as usize;
    if slot > 0
        && let Some(sentence) = OBJECTS.errors.sentences.lock().unwrap().kept.get(slot - 1)
    {
        return sentence.clone();
    }
    class_sentence(class).to_owned()
}

fn add(class: Option<i32>) -> i32 {
    let mut added = OBJECTS.errors.added.lock().unwrap();
    let number = FIRST_ADDED + added.classes.len() as i32;
    added.classes.push(Some(class.unwrap_or(number)));
    number
}

/// MPI_Add_error_class.
pub fn add_error_class() -> Result<i32> {
    Ok(add(None))
}

/// MPI_Add_error_code.
pub fn add_error_code(class: i32) -> Result<i32> {
    match OBJECTS.errors.class_of(class) {
        Some(found) if found == class => Ok(add(Some(class))),
        _ => fail!(ERR_ARG, "argument errorclass ({class}) is not an error class"),
    }
}

/// MPI_Add_error_string.
pub fn add_error_string(code: i32, string: StringArgument) -> Result<()> {
    let string = string.text("string")?;
    if code < FIRST_ADDED || OBJECTS.errors.class_of(code).is_none() {
        fail!(ERR_ARG, "argument errorcode ({code}) was not returned by MPI_Add_error_class or MPI_Add_error_code");
    }
    if string.len() >= MAX_ERROR_STRING as usize {
        fail!(ERR_ARG, "argument string has {} characters; at most {} fit", string.len(), MAX_ERROR_STRING - 1);
    }
    OBJECTS.errors.added.lock().unwrap().strings.insert(code, string);
    Ok(())
}

fn removable(number: i32, want_class: bool) -> Result<usize> {
    let added = OBJECTS.errors.added.lock().unwrap();
    let index = number.wrapping_sub(FIRST_ADDED);
    match added.classes.get(usize::try_from(index).unwrap_or(usize::MAX)) {
        Some(&Some(class)) if (class == number) == want_class => {
            if want_class && added.classes.iter().enumerate().any(|(i, &c)| c == Some(number) && i != index as usize) {
                fail!(ERR_OTHER, "error class {number} still has codes; remove them first");
            }
            Ok(index as usize)
        }
        _ => fail!(ERR_ARG, "error {number} was not added by this program, or has already been removed"),
    }
}

fn remove(number: i32, want_class: bool) -> Result<()> {
    let index = removable(number, want_class)?;
    let mut added = OBJECTS.errors.added.lock().unwrap();
    if added.strings.contains_key(&number) {
        fail!(ERR_OTHER, "error {number} still has a string; remove it first");
    }
    added.classes[index] = None;
    while added.classes.last() == Some(&None) {
        added.classes.pop();
    }
    Ok(())
}

/// MPI_Remove_error_class (4.1).
pub fn remove_error_class(class: i32) -> Result<()> {
    remove(class, true)
}

/// MPI_Remove_error_code (4.1).
pub fn remove_error_code(code: i32) -> Result<()> {
    remove(code, false)
}

/// MPI_Remove_error_string (4.1).
pub fn remove_error_string(code: i32) -> Result<()> {
    if OBJECTS.errors.added.lock().unwrap().strings.remove(&code).is_none() {
        fail!(ERR_ARG, "error {code} has no string that this program added");
    }
    Ok(())
}
