//! What a process says when it writes to memory that it was lent for reading, before it dies of
//! that.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use towpath_base::sync::{AtomicUsize, Ordering};

/// The memory: its first address and its end. One range suffices: a process has one view.
static BEGIN: AtomicUsize = AtomicUsize::new(0);
static END: AtomicUsize = AtomicUsize::new(0);
/// The function that says who writes, or 0.
static WRITER: AtomicUsize = AtomicUsize::new(0);

/// Says who writes, in a signal handler: it may only call what is safe there, such as [`say`].
pub type SayWriter = extern "C" fn();

/// Lets a write to this memory be explained. A range that was given before is no longer watched.
pub fn watch(begin: usize, length: usize) {
    END.store(0, Ordering::Release);
    BEGIN.store(begin, Ordering::Release);
    END.store(begin + length, Ordering::Release);
    install();
}

/// Ends the watch over the memory that begins here.
pub fn unwatch(begin: usize) {
    if BEGIN.load(Ordering::Acquire) == begin {
        END.store(0, Ordering::Release);
    }
}

/// Sets the function that says who writes.
pub fn set_writer(writer: SayWriter) {
    WRITER.store(writer as usize, Ordering::Release);
}

/// Writes bytes to the standard error output; may be called in a signal handler.
pub fn say(bytes: &[u8]) {
    // SAFETY: the bytes are readable. What cannot be written is lost.
    unsafe { libc::write(2, bytes.as_ptr().cast(), bytes.len()) };
}

/// What happened before on a fault.
static OTHERWISE: OnceLock<libc::sigaction> = OnceLock::new();

fn install() {
    OTHERWISE.get_or_init(|| {
        // SAFETY: all zeros is a valid sigaction: the default action, no flags, an empty mask.
        let (mut action, mut previous): (libc::sigaction, libc::sigaction) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = handle;
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: the handler has the type that SA_SIGINFO asks for, and calls only what is safe in
        // one.
        unsafe { libc::sigaction(libc::SIGSEGV, &raw const action, &raw mut previous) };
        previous
    });
}

/// Explains a write to the watched memory. The instruction is then tried again, and what happened
/// before on a fault happens.
extern "C" fn handle(_: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: the kernel passes valid information about the signal.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    if (BEGIN.load(Ordering::Acquire)..END.load(Ordering::Acquire)).contains(&address) {
        explain();
    }
    if let Some(previous) = OTHERWISE.get() {
        // SAFETY: this is an action that the kernel has given.
        unsafe { libc::sigaction(libc::SIGSEGV, previous, std::ptr::null_mut()) };
    }
    if code <= 0 {
        // A process has sent the signal: no instruction faults again.
        // SAFETY: raises a signal in this thread.
        unsafe { libc::raise(libc::SIGSEGV) };
    }
}

fn explain() {
    let writer = WRITER.load(Ordering::Acquire);
    if writer == 0 {
        say(b"towpath: this process writes to memory that it was lent for reading.\n");
        return;
    }
    // SAFETY: `set_writer` has stored a function of this type.
    let writer = unsafe { std::mem::transmute::<usize, SayWriter>(writer) };
    writer();
}
