//! What the members of a board tell of the calls in which they wait, for a member whose call goes
//! by messages, alone or in the end.

use std::sync::Arc;

use towpath_base::ids::PeerIndex;
use towpath_engine::board::{Board, CallNotices, FinishedCall, NumberedCall};
use towpath_schedule::CallSignature;

use super::team::mismatch;
use crate::failure::Failure;

/// A call that exchanges messages.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CallBeside {
    /// By messages alone; its number among the calls that may use the board.
    ByMessages(u64),
    /// After what it has done on the board.
    Apart(FinishedCall),
}

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

    /// The failure of a call with this signature if another member waits on the board in another
    /// call. Tells the others of this call.
    pub(crate) fn find_mismatch(
        &self,
        signature: CallSignature,
        call: CallBeside,
    ) -> Option<Failure> {
        let other = match call {
            CallBeside::ByMessages(number) => {
                self.notices.find_other_call(NumberedCall { mark: signature.mark(), number })
            }
            CallBeside::Apart(finished) => self.notices.find_other_than(finished),
        };
        other.map(|other| mismatch(other, &self.peers))
    }
}
