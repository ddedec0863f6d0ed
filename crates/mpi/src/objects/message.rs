//! Messages taken out by a matched probe (MPI 5.0, section 3.8.2).

use std::sync::Arc;

use towpath_engine::MessageId;

use super::comm::Comm;

/// A message that only its handle can receive.
#[derive(Debug)]
pub(crate) struct Matched {
    /// The engine's identifier of the message.
    pub message: MessageId,
    /// The communicator on which it was probed.
    pub comm: Arc<Comm>,
}
