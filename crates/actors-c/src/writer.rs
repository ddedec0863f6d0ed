//! What this process says before it dies of a write to an array that it was lent: which method of
//! which chare writes.

use std::ffi::CStr;
use std::ptr;

use towpath_base::sync::{AtomicPtr, Ordering};
use towpath_machine::fault::{say, set_writer};

use crate::types::{CChareId, CEntry};

/// A method that runs.
#[derive(Clone, Copy)]
pub(crate) struct RunningMethod<'a> {
    pub(crate) entry: &'a CEntry,
    pub(crate) id: &'a CChareId,
}

/// The method that runs, or null. A process has one thread that runs methods.
static RUNNING: AtomicPtr<RunningMethod<'static>> = AtomicPtr::new(ptr::null_mut());

/// Calls a method, so that it is named if it writes to what it was lent.
#[inline]
pub(crate) fn named(method: &RunningMethod<'_>, call: impl FnOnce()) {
    // One thread stores, so no atomic exchange is needed, which takes longer.
    let outer = RUNNING.load(Ordering::Relaxed);
    RUNNING.store(ptr::from_ref(method).cast_mut().cast(), Ordering::Relaxed);
    call();
    RUNNING.store(outer, Ordering::Relaxed);
}

/// Takes the method that runs off, as a thread is suspended, or puts it back.
pub(crate) fn switch(to: *mut RunningMethod<'static>) -> *mut RunningMethod<'static> {
    RUNNING.swap(to, Ordering::Relaxed)
}

/// Names the method that runs if a write faults.
pub(crate) fn install() {
    set_writer(say_who_writes);
}

extern "C" fn say_who_writes() {
    // SAFETY: what `named` was given lives until its method has returned.
    let running = unsafe { RUNNING.load(Ordering::Relaxed).as_ref() };
    let Some(RunningMethod { entry, id }) = running else {
        say(b"towpath: code outside of entry methods writes to an array of a message.\n");
        return;
    };
    say(b"towpath: ");
    // SAFETY: registered entry methods have names.
    say(unsafe { CStr::from_ptr(entry.name) }.to_bytes());
    say(b" of the chare with the index [");
    for (at, word) in id.words().iter().enumerate() {
        if at > 0 {
            say(b", ");
        }
        say_number(*word);
    }
    say(b"] writes to an array that it was lent for reading; it must copy what it changes.\n");
}

/// Says a number without allocating memory.
fn say_number(number: i32) {
    let mut digits = [0; 11];
    let mut first = digits.len();
    let mut left = number.unsigned_abs();
    loop {
        first -= 1;
        digits[first] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    if number < 0 {
        first -= 1;
        digits[first] = b'-';
    }
    say(&digits[first..]);
}
