//! What calls and jobs that fail say.

use towpath_actors::ActorError;
use towpath_actors_mpi::LibraryError;

/// A call that the runtime has refused; the text is for the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ChareError(pub(crate) String);

impl From<ActorError> for ChareError {
    fn from(error: ActorError) -> ChareError {
        ChareError(error.to_string())
    }
}

/// Why a job has failed.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// Something on this rank has ended it.
    #[error(transparent)]
    Actor(#[from] ActorError),
    /// There is no MPI library, or it has failed.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// A job runs on this thread already.
    #[error("a job was started while one runs on this thread")]
    Running,
}
