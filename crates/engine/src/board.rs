//! Boards as seen by collective algorithms: shared memory that all members of a team on one host
//! can read. A board is an engine capability whose messages need no matching; obtain one through
//! [`crate::Engine::wire_mut`].

pub use towpath_shm::board::{
    Board, CallNotices, FinishedCall, INLINE, NumberedCall, OtherCall, Posted, Room, Want,
};
pub use towpath_transport::ahead::PrefetchHint;
