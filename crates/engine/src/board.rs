//! Boards as the patterns see them: memory that all members of a team on one host read (an engine
//! capability; the messages of a board need no matching). They come from
//! [`crate::Engine::wire_mut`].

pub use towpath_shm::board::{Board, INLINE, Posted, Room, Want};
pub use towpath_transport::ahead::PrefetchHint;
