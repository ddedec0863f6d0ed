//! Everything that can go wrong between a process and its launcher. Each text is a sentence for the
//! person who started the job.

use std::io;

/// Why the launcher could not be reached or did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The environment speaks of a job of several processes, but nobody answers.
    #[error("{0}")]
    NoServer(String),
    /// The launcher cannot do this, or this version does not ask it to.
    #[error("{operation} is not available under {launcher} in this version of Towpath.")]
    Unsupported {
        /// What was asked for, in the standard's words.
        operation: &'static str,
        /// Who started the process.
        launcher: String,
    },
    /// The launcher's answer makes no sense.
    #[error("{launcher} answered in a way that Towpath does not understand: {detail}.")]
    Protocol {
        /// Who started the process.
        launcher: String,
        /// What was wrong with the answer.
        detail: String,
    },
    /// The launcher refused a request.
    #[error("{launcher} refused the request {request}: {detail}.")]
    Refused {
        /// Who started the process.
        launcher: String,
        /// Name of the request.
        request: String,
        /// The launcher's own words.
        detail: String,
    },
    /// The connection to the launcher broke.
    #[error("The connection to {launcher} broke ({source}); the job cannot go on.")]
    Connection {
        /// Who started the process.
        launcher: String,
        /// What the system said.
        source: io::Error,
    },
    /// A key or value that the launcher's protocol cannot carry.
    #[error("{0}")]
    Unsendable(String),
    /// The memory that the ranks of this host share could not be made or reached.
    #[error("The shared memory of the job cannot be {action}: {detail}.")]
    Segment {
        /// `made` or `reached`.
        action: &'static str,
        /// Why, and what to do.
        detail: String,
    },
}
