//! The state from which a persistent operation is started again (MPI 5.0, sections 3.9 and 6.13).
//! The C functions are in `chapters::persistent`.

use std::sync::Arc;

use towpath_base::ids::PeerIndex;
use towpath_collective::LoneCall;
use towpath_engine::Mode;
use towpath_neutral::abi::Status;

use super::comm::Comm;
use super::datatype::Type;
use super::elements::Elements;
use crate::progress::runs::CollectiveRun;

/// The arguments of a persistent send or receive.
#[derive(Clone)]
pub(crate) struct PersistentMessage {
    /// The communicator.
    pub comm: Arc<Comm>,
    /// The elements that are sent, or received into, while the request is active.
    pub elements: Elements,
    /// The type of the elements, which lives as long as they do.
    #[expect(dead_code, reason = "it only keeps the type alive")]
    pub kind: Arc<Type>,
    /// Destination or source; `None` for any source.
    pub peer: Option<PeerIndex>,
    /// Tag; `None` for any tag.
    pub tag: Option<i32>,
}

impl PersistentMessage {
    /// Destination and tag of a send.
    #[inline(always)]
    pub(crate) fn envelope(&self) -> (PeerIndex, i32) {
        (self.peer.expect("a send names its receiver"), self.tag.expect("a send has a tag"))
    }
}

/// How a persistent request is started.
///
/// `repr` gives the tag a word of its own, so that MPI_Start and MPI_Wait decode it with one load.
#[repr(u32)]
pub(crate) enum Start {
    /// A send in this mode.
    Send(PersistentMessage, Mode),
    /// A buffered send.
    Buffered(PersistentMessage),
    /// A receive.
    Receive(PersistentMessage),
    /// A send to or receive from MPI_PROC_NULL, which completes with this status.
    Nothing(Status),
    /// A collective operation of one rank.
    Alone(LoneCall),
    /// A collective operation. Holds the run while the request is inactive.
    Collective(Option<CollectiveRun>),
}
