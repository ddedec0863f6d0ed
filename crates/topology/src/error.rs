//! Mistakes in a topology file.

/// A mistake in a topology file, as a sentence for its author.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    line: usize,
    sentence: String,
}

/// Result of reading a topology file.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn new(line: usize, sentence: impl Into<String>) -> Error {
        Error { line, sentence: sentence.into() }
    }

    /// The line of the mistake, counted from 1.
    pub fn line(&self) -> usize {
        self.line
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "topology file line {}: {}", self.line, self.sentence)
    }
}

impl std::error::Error for Error {}
