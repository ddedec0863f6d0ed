//! What ends a job that did not end itself.

use crate::checkpoint::files::CheckpointError;
use crate::index::Index;

/// Why the runtime ended the job. The texts are for the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActorError {
    /// No element can have this index.
    #[error("{method} was invoked on {chare}{index}, but the array has no element with that index")]
    NoSuchIndex { chare: String, method: String, index: Index },
    /// No element can be a member of a section.
    #[error(
        "a section was made with {chare}{index}, but the collection has no element with that index"
    )]
    NoSuchMember { chare: String, index: Index },
    /// There are fewer ranks.
    #[error("rank {rank} was named, but the job has {ranks} ranks, which are numbered from 0")]
    NoSuchRank { rank: u32, ranks: u32 },
    /// An array cannot have these extents.
    #[error(
        "an array with the extents {extents:?} cannot be made: it may have six dimensions, each of \
         at most 2147483647 elements, and begin with 4294967296 elements in all"
    )]
    Extents { extents: Vec<u32> },
    /// A single chare contributes to a reduction.
    #[error("contribute was called for single chare {index}, which belongs to no array or group")]
    NoReduction { index: Index },
    /// A section of single chares.
    #[error("a section was made of single chares, which belong to no array or group")]
    NoSection,
    /// Nobody has made this section.
    #[error(
        "a message was sent to section {number} of rank {root}, which that rank has not made; name \
         sections as create_section has"
    )]
    NoSuchSection { root: u32, number: u32 },
    /// A section of the job that has written the checkpoint.
    #[error(
        "section {number} of rank {root} was made before the restart; sections are not saved, so \
         the program makes them again"
    )]
    OldSection { root: u32, number: u32 },
    /// A chare contributes to a section to which it does not belong.
    #[error(
        "{chare}{index} contributed to a section to which it does not belong; a member may do so \
         once it has had a multicast of the section"
    )]
    NoMember { chare: String, index: Index },
    /// A method has failed.
    #[error("{method} of {chare}{index} failed: {reason}")]
    Method { chare: String, method: String, index: Index, reason: String },
    /// The function that makes the first chares has failed.
    #[error("the main function failed: {reason}")]
    Main { reason: String },
    /// A function that is the callback of a result has failed.
    #[error("a function that was called with a result on rank {rank} failed: {reason}")]
    Function { rank: u32, reason: String },
    /// A chare that cannot leave would.
    #[error(
        "{chare}{index} cannot migrate or be deleted while methods of it are suspended or memory \
         of it is lent; let it do so in a method that does not wait, when all is back"
    )]
    Suspended { chare: String, index: Index },
    /// An element is ready and says so again.
    #[error(
        "at_sync was called for {chare}{index}, which waits for load balancing already; call it again \
         once it has gone on"
    )]
    ReadyTwice { chare: String, index: Index },
    /// Only elements of arrays are balanced.
    #[error("at_sync was called for {chare}{index}, which is no element of an array")]
    NotInArray { chare: String, index: Index },
    /// The function that says how many bytes an object has when it is packed has failed.
    #[error("a {chare} cannot be measured for load balancing: {reason}")]
    Measuring { chare: String, reason: String },
    /// Ranks run different programs.
    #[error("rank {rank} cannot begin: {reason}")]
    Begin { rank: u32, reason: String },
    /// A checkpoint was not read.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A checkpoint was not written, without which the program does not go on.
    #[error("{reason}")]
    NoCheckpoint { reason: String },
    /// A checkpoint cannot be used.
    #[error("the job cannot restart from the checkpoint in {directory}: {reason}")]
    Restart { directory: String, reason: String },
    /// Contributions do not fit together.
    #[error("a reduction over {chare} failed: {reason}")]
    Reduction { chare: String, reason: String },
    /// Another version of the library has sent something.
    #[error(
        "rank {rank} received a message that it does not understand; do all ranks run the same \
         program?"
    )]
    Unknown { rank: u32 },
    /// A chare calls the runtime about itself and is not there.
    #[error("{what} was called for a chare that is not on rank {rank}")]
    NotHere { what: &'static str, rank: u32 },
    /// A method wants more of an array than was sent.
    #[error(
        "memory of {memory} bytes was posted for an array of {array} bytes; post as many bytes as \
         are sent, or fewer"
    )]
    ShortArray { array: usize, memory: usize },
    /// An array does not fit into a persistent channel.
    #[error("{array} bytes were put into a persistent channel of {channel} bytes")]
    ShortChannel { array: usize, channel: usize },
    /// A persistent channel was closed, or never opened.
    #[error(
        "an array was put into persistent channel {number} of rank {rank}, which is not open there"
    )]
    ClosedChannel { rank: u32, number: u32 },
    /// Nothing is left to do, and messages wait for chares that do not exist.
    #[error(
        "nothing is left to do, but {method} waits for {chare}, which {why}; {waiting} messages \
         wait on this rank"
    )]
    Undelivered { chare: String, method: String, why: &'static str, waiting: u64 },
    /// Nothing is left to do, and the arrays of a message wait for memory.
    #[error("nothing is left to do, but {awaited}")]
    Held { awaited: String },
    /// Nothing is left to do, and nothing will be.
    #[error(
        "no rank has anything left to do, and the program has not ended the job: it lacks an exit, \
         or a message that it waits for was never sent"
    )]
    Stalled,
}
