//! What is needed to start a persistent operation again (MPI 5.0, sections 3.9 and 6.13). The C
//! functions are in `chapters::persistent`.

use std::ffi::c_void;
use std::sync::Arc;

use towpath_base::ids::PeerIndex;
use towpath_collective::Run;
use towpath_datatype::Datatype;
use towpath_engine::Mode;
use towpath_neutral::abi::Status;

use super::comm::Comm;

/// The arguments of a persistent send or receive.
pub(crate) struct PersistentMessage {
    /// The communicator.
    pub comm: Arc<Comm>,
    /// First element.
    pub buffer: *mut c_void,
    /// Number of elements.
    pub count: i64,
    /// Type of the elements.
    pub datatype: Datatype,
    /// Destination or source; `None` for any source.
    pub peer: Option<PeerIndex>,
    /// Tag; `None` for any tag.
    pub tag: Option<i32>,
    /// Length in bytes if the elements are contiguous, else `None`.
    pub row: Option<usize>,
}

// SAFETY: `buffer` points to memory of the program that is valid in every thread. It is accessed
// only while the request is active, under the worker's lock or by the thread that starts a buffered
// send.
unsafe impl Send for PersistentMessage {}

/// How a persistent request is started.
pub(crate) enum Start {
    /// A send in this mode.
    Send(PersistentMessage, Mode),
    /// A buffered send.
    Buffered(PersistentMessage),
    /// A receive.
    Receive(PersistentMessage),
    /// A send to or receive from MPI_PROC_NULL, which completes with this status.
    Nothing(Status),
    /// A collective operation. Holds the run while the request is inactive.
    Collective(Option<Box<Run>>),
}
