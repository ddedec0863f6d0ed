//! The error type of `mpi` and the ABI crates: an error class of the standard, and a message that
//! names argument and value.
//!
//! An `Error` does not decide how it is handled: `chapters::errors::raise` invokes the error
//! handler (MPI 5.0, chapter 9).

use std::borrow::Cow;

use crate::abi::Handle;
use crate::constants::{ERR_ARG, ERR_COUNT, ERR_TRUNCATE};

/// Why an operation was refused or failed.
#[derive(Debug, Clone)]
pub struct Error(Box<ErrorBody>);

#[derive(Debug, Clone)]
struct ErrorBody {
    class: i32,
    text: Cow<'static, str>,
    object: Option<Handle>,
}

/// Result of a body.
pub type Result<T> = std::result::Result<T, Error>;

/// Result of a body with results that the standard defines even on failure (3.7.3, 3.7.5: a
/// completion call tells which request failed).
pub type Completed<T> = std::result::Result<T, Failed<T>>;

/// Why a body failed, and its results if they are defined.
#[derive(Debug)]
pub struct Failed<T>(Box<(Error, Option<T>)>);

impl<T> Failed<T> {
    /// A failure with defined results.
    #[cold]
    pub fn with(error: Error, results: T) -> Failed<T> {
        Failed(Box::new((error, Some(results))))
    }

    /// Applies `change` to the results, if there are any.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Failed<U> {
        let (error, results) = *self.0;
        Failed(Box::new((error, results.map(change))))
    }
}

impl<T> From<Error> for Failed<T> {
    fn from(error: Error) -> Failed<T> {
        Failed(Box::new((error, None)))
    }
}

impl<T> From<Failed<T>> for Error {
    fn from(failed: Failed<T>) -> Error {
        failed.0.0
    }
}

/// A failure of a body that returns `T`, with or without defined results.
pub trait Failing<T> {
    /// The error, and the results that are defined despite the failure.
    fn parts(self) -> (Error, Option<T>);
}

impl<T> Failing<T> for Error {
    fn parts(self) -> (Error, Option<T>) {
        (self, None)
    }
}

impl<T> Failing<T> for Failed<T> {
    fn parts(self) -> (Error, Option<T>) {
        *self.0
    }
}

impl Error {
    /// An error of a class of the standard (neutral number) with its message, which has no final
    /// period.
    #[cold]
    pub fn new(class: i32, text: impl Into<Cow<'static, str>>) -> Error {
        Error(Box::new(ErrorBody { class, text: text.into(), object: None }))
    }

    /// The class, or a code that a callback of the program returned.
    pub fn class(&self) -> i32 {
        self.0.class
    }

    /// Makes the error handler of this communicator handle the error (completion functions have no
    /// communicator argument).
    pub fn with_object(mut self, comm: Handle) -> Error {
        self.0.object = Some(comm);
        self
    }

    /// The communicator whose error handler handles the error, if the failing function has no such
    /// argument.
    pub fn object(&self) -> Option<Handle> {
        self.0.object
    }

    /// The message.
    pub fn text(&self) -> &str {
        &self.0.text
    }
}

/// Returns an error from the current function: `fail!(ERR_RANK, "argument dest is {dest}, ...")`.
#[macro_export]
macro_rules! fail {
    ($class:ident, $($text:tt)+) => {
        return Err($crate::error::Error::new($crate::constants::$class, format!($($text)+)))
    };
}
pub use fail;

impl From<towpath_datatype::Error> for Error {
    fn from(error: towpath_datatype::Error) -> Error {
        let class = match error {
            towpath_datatype::Error::Count { .. } | towpath_datatype::Error::Overflow { .. } => {
                ERR_COUNT
            }
            towpath_datatype::Error::Truncated { .. } => ERR_TRUNCATE,
            _ => ERR_ARG,
        };
        Error::new(class, error.to_string())
    }
}
