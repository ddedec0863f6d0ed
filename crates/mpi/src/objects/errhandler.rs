//! Error handlers, and the error classes, codes and messages of this process (MPI 5.0, chapter 9).
//! The C functions are in `chapters::errors`.
//!
//! A neutral error code is `class | slot << 8`. The slot identifies one of the last 63 error
//! messages, so that `MPI_Error_string` can return the specific message and not only the one of the
//! class. Classes and codes that the program adds start above `MPI_ERR_LASTCODE`.

use std::collections::HashMap;
use std::sync::Mutex;

use towpath_base::sync::AtomicU32;
use towpath_neutral::abi::{Callback, Handle, Kind};
use towpath_neutral::constants::ERR_LASTCODE;

/// First class or code added by the program.
pub(crate) const FIRST_ADDED: i32 = ERR_LASTCODE + 1;
/// Number of error messages kept.
const SLOTS: usize = 63;

/// The action of an error handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Ends the job: MPI_ERRORS_ARE_FATAL.
    Fatal,
    /// Ends the processes of the communicator, here by ending the job: MPI_ERRORS_ABORT.
    Abort,
    /// Returns the code: MPI_ERRORS_RETURN.
    Return,
    /// Calls the program's function.
    Call(Callback),
}

/// An error handler, as attached to objects.
#[derive(Debug)]
pub(crate) struct Errhandler {
    /// Its handle; stale after the program has freed it.
    pub handle: Handle,
    /// The kind of object it may be attached to; `None`: any (predefined handlers).
    pub kind: Option<Kind>,
    /// Its action.
    pub action: Action,
    /// Number of times that the program must still free the handle.
    pub(crate) references: AtomicU32,
}

impl Errhandler {
    /// A predefined error handler.
    pub(crate) fn predefined(handle: Handle, action: Action) -> Errhandler {
        Errhandler { handle, kind: None, action, references: AtomicU32::new(1) }
    }
}

/// Classes, codes and messages of this process.
#[derive(Default)]
pub(crate) struct ErrorCodes {
    pub(crate) sentences: Mutex<Sentences>,
    pub(crate) added: Mutex<Added>,
}

/// The last messages.
#[derive(Default)]
pub(crate) struct Sentences {
    next: usize,
    pub(crate) kept: Vec<String>,
}

/// The classes, codes and strings that the program has added.
#[derive(Default)]
pub(crate) struct Added {
    /// Indexed by number - FIRST_ADDED: the class of the code (of a class: itself); `None` if
    /// removed.
    pub(crate) classes: Vec<Option<i32>>,
    /// Strings of added classes and codes.
    pub(crate) strings: HashMap<i32, String>,
}

impl ErrorCodes {
    /// Keeps a message and returns the code that names it.
    pub(crate) fn keep(&self, class: i32, sentence: String) -> i32 {
        if !(0..256).contains(&class) {
            return class;
        }
        let mut sentences = self.sentences.lock().unwrap();
        let slot = sentences.next;
        sentences.next = (slot + 1) % SLOTS;
        if slot < sentences.kept.len() {
            sentences.kept[slot] = sentence
        } else {
            sentences.kept.push(sentence)
        }
        class | (slot as i32 + 1) << 8
    }

    /// The class of a code; `None` if it is not a code.
    pub(crate) fn class_of(&self, code: i32) -> Option<i32> {
        if code >= FIRST_ADDED {
            let added = self.added.lock().unwrap();
            return added.classes.get((code - FIRST_ADDED) as usize).copied().flatten();
        }
        (code >= 0 && code >> 8 <= SLOTS as i32).then_some(code & 0xff)
    }

    /// Highest code in use (MPI_LASTUSEDCODE).
    pub(crate) fn last_used(&self) -> i32 {
        ERR_LASTCODE + self.added.lock().unwrap().classes.len() as i32
    }
}
