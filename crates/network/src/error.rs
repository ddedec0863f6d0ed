//! Why the transports to other hosts cannot be set up.

/// A message for the user. The caller puts "MPI cannot start: " in front of it.
#[derive(Clone, Debug)]
pub struct Error(String);

/// Result of a step of the setup.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The error whose cause is `what`.
    pub(crate) fn new(what: impl std::fmt::Display) -> Error {
        Error(what.to_string())
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
