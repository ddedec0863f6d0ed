//! What the members of a board tell of the calls in which they wait, for a member that exchanges
//! messages.

use std::sync::Arc;

use towpath_base::ids::PeerIndex;
use towpath_engine::board::{Board, CallNotices, NumberedCall};
use towpath_schedule::CallSignature;

use super::team::mismatch;
use crate::failure::Failure;

/// The notices of a team's board.
#[derive(Debug)]
pub struct BoardNotices {
    notices: CallNotices,
    peers: Arc<[PeerIndex]>,
}

impl BoardNotices {
    pub(super) fn new(board: &Board, peers: Arc<[PeerIndex]>) -> BoardNotices {
        BoardNotices { notices: board.notices(), peers }
    }

    /// The failure of a call by messages if another member waits on the board in the call of this
    /// number. Tells the others of this call.
    pub(crate) fn find_mismatch(&self, signature: CallSignature, number: u64) -> Option<Failure> {
        let call = NumberedCall { mark: signature.mark(), number };
        self.notices.find_other_call(call).map(|other| mismatch(other, &self.peers))
    }
}
