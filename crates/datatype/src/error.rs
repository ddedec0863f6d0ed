//! Errors of datatype functions. Each message is a sentence for the user and names the argument and
//! its value; `towpath-mpi` maps the variants to error classes.

/// An invalid argument of a datatype function.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A count or block length is negative (`MPI_ERR_COUNT`).
    #[error("{argument} is {value}, but must not be negative")]
    Count {
        /// Name of the argument in the standard, with its index if it is an array:
        /// "array_of_blocklengths\[3\]".
        argument: String,
        /// The value given by the program.
        value: i64,
    },
    /// Any other invalid argument (`MPI_ERR_ARG`).
    #[error("{argument} is {value}, but {rule}")]
    Argument {
        /// Name of the argument in the standard, with its index if it is an array.
        argument: String,
        /// The value given by the program.
        value: i64,
        /// The requirement that the value violates.
        rule: String,
    },
    /// Arrays that belong together differ in length (`MPI_ERR_ARG`).
    #[error("{argument} has {value} entries, but {expected} are needed")]
    Length {
        /// Name of the argument in the standard.
        argument: &'static str,
        /// Number of entries given.
        value: usize,
        /// Number of entries needed.
        expected: usize,
    },
    /// Size, bounds or number of elements do not fit in 63 bits (`MPI_ERR_COUNT`).
    #[error("the {what} of the new datatype does not fit in a signed 64-bit integer; use smaller counts or strides")]
    Overflow {
        /// "size", "bounds" or "number of elements".
        what: &'static str,
    },
    /// The Fortran compilers have no such kind (`MPI_ERR_ARG`).
    #[error("no Fortran {kind} type has {precision} and {range}")]
    NoKind {
        /// "real", "complex" or "integer".
        kind: &'static str,
        /// Requested precision, in words.
        precision: String,
        /// Requested range, in words.
        range: String,
    },
    /// The packed buffer is too short (`MPI_ERR_TRUNCATE`).
    #[error("the buffer of {available} bytes is too small: {needed} bytes are needed")]
    Truncated {
        /// Bytes available.
        available: usize,
        /// Bytes needed.
        needed: usize,
    },
}

/// Result of a datatype function.
pub type Result<T> = std::result::Result<T, Error>;

/// Checks that a count argument is not negative.
pub(crate) fn count(argument: &str, value: i64) -> Result<i64> {
    if value < 0 {
        return Err(Error::Count { argument: argument.into(), value });
    }
    Ok(value)
}

/// Checks that no entry of an array of counts is negative.
pub(crate) fn counts(argument: &str, values: &[i64]) -> Result<()> {
    match values.iter().position(|&value| value < 0) {
        Some(index) => Err(Error::Count { argument: format!("{argument}[{index}]"), value: values[index] }),
        None => Ok(()),
    }
}

/// Checks that two arrays that belong together have the same length.
pub(crate) fn length(argument: &'static str, value: usize, expected: usize) -> Result<()> {
    if value != expected {
        return Err(Error::Length { argument, value, expected });
    }
    Ok(())
}
