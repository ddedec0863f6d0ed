//! Persistent channels: memory of a rank, into which other ranks put arrays again and again
//! ([`crate::putting`]).

use crate::arrays::WritableArray;

/// The memory of a channel.
pub trait ChannelMemory {
    /// So many bytes at its beginning, to be written.
    fn first(&self, bytes: usize) -> Box<dyn WritableArray>;
}

/// An open channel of this rank.
pub(crate) struct OpenChannel {
    pub(crate) memory: Box<dyn ChannelMemory>,
    pub(crate) bytes: usize,
}

/// Names a channel in the whole job. It can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PersistentChannel {
    /// Whose memory it is.
    pub rank: u32,
    /// Which one of that rank.
    pub number: u32,
    /// How many bytes fit into it.
    pub bytes: usize,
    /// Where the memory is in what ranks of a host share, if it is there.
    pub shared: Option<u64>,
}
