//! Errors between a process and its launcher. Each `Display` text is a message for the user who
//! started the job.

use std::io;

/// Why the launcher could not be reached or did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The environment describes a job of several processes, but no server answers.
    #[error("{0}")]
    NoServer(String),
    /// The launcher does not offer this operation, or this version of Towpath does not use it.
    #[error("{operation} is not available under {launcher} in this version of Towpath.")]
    Unsupported {
        /// The operation, in the standard's words.
        operation: &'static str,
        /// Name of the launcher.
        launcher: String,
    },
    /// The launcher's answer is malformed or unexpected.
    #[error("{launcher} answered in a way that Towpath does not understand: {detail}.")]
    Protocol {
        /// Name of the launcher.
        launcher: String,
        /// What is wrong with the answer.
        detail: String,
    },
    /// The launcher refused a request.
    #[error("{launcher} refused the request {request}: {detail}.")]
    Refused {
        /// Name of the launcher.
        launcher: String,
        /// Name of the PMI request.
        request: String,
        /// The reason that the launcher gave.
        detail: String,
    },
    /// The connection to the launcher broke.
    #[error("The connection to {launcher} broke ({source}); the job cannot continue.")]
    Connection {
        /// Name of the launcher.
        launcher: String,
        /// The error that the system returned.
        source: io::Error,
    },
    /// A key or value that the launcher's protocol cannot encode.
    #[error("{0}")]
    Unsendable(String),
    /// The topology file that rank 0 has read is not valid.
    #[error("{0}")]
    Topology(String),
    /// The shared memory of this host's ranks could not be created or opened.
    #[error("The shared memory of the job cannot be {action}: {detail}.")]
    Segment {
        /// What cannot be done to it: `created`, `reached` or `handed to another process`.
        action: &'static str,
        /// The reason, and what the user can do about it.
        detail: String,
    },
}
