//! The one error type of the core: a class of the standard and a sentence that names argument and
//! value.
//!
//! Nothing here decides what happens with an error; [`crate::errors::raise`] finds the error
//! handler (MPI 5.0, chapter 9).

use std::borrow::Cow;

use crate::face::Handle;

/// Why an operation was refused or failed.
#[derive(Debug, Clone)]
pub struct Error(Box<Body>);

#[derive(Debug, Clone)]
struct Body {
    class: i32,
    text: Cow<'static, str>,
    object: Option<Handle>,
}

/// Result of every body.
pub type Result<T> = std::result::Result<T, Error>;

/// Result of a body with results that the standard defines on failure too (3.7.3, 3.7.5: a
/// completion call says which request failed).
pub type Completed<T> = std::result::Result<T, Failed<T>>;

/// Why a body failed, and its results where there are some.
#[derive(Debug)]
pub struct Failed<T>(Box<(Error, Option<T>)>);

impl<T> Failed<T> {
    /// A failure with results.
    #[cold]
    pub fn with(error: Error, results: T) -> Failed<T> {
        Failed(Box::new((error, Some(results))))
    }

    /// The same failure with these results instead of its own, if it has some.
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

/// The two kinds of failures of a body that returns `T`.
pub trait Failing<T> {
    /// The error, and the results that are defined although the body failed.
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
    /// An error of a class of the standard (neutral number) with its sentence.
    #[cold]
    pub fn new(class: i32, text: impl Into<Cow<'static, str>>) -> Error {
        Error(Box::new(Body { class, text: text.into(), object: None }))
    }

    /// The class, or a code that a user's callback returned.
    pub fn class(&self) -> i32 {
        self.0.class
    }

    /// The same error, decided by the error handler of this communicator (completion functions have
    /// no communicator).
    pub fn with_object(mut self, comm: Handle) -> Error {
        self.0.object = Some(comm);
        self
    }

    /// The communicator whose handler decides, where the function that fails does not name it.
    pub fn object(&self) -> Option<Handle> {
        self.0.object
    }

    /// The sentence.
    pub fn text(&self) -> &str {
        &self.0.text
    }
}

/// Leaves the function with an error: `fail!(ERR_RANK, "argument dest is {dest}, ...")`.
macro_rules! fail {
    ($class:ident, $($text:tt)+) => {
        return Err($crate::error::Error::new($crate::constants::$class, format!($($text)+)))
    };
}
pub(crate) use fail;

impl From<towpath_datatype::Error> for Error {
    fn from(error: towpath_datatype::Error) -> Error {
        Error::new(crate::datatypes::class_of(&error), error.to_string())
    }
}
