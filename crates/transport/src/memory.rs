//! Registered memory: its key, and why an access to it is refused.

/// Names registered memory of an owner to all its peers; opaque. The owner may send it in a message
/// (16 bytes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct MemoryKey(pub [u64; 2]);

/// A range of registered memory, as the origin of an access names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteRange {
    /// The key that the owner has made.
    pub key: MemoryKey,
    /// First byte, counted from the start of the registered memory.
    pub offset: usize,
    /// Number of bytes; may be 0.
    pub length: usize,
}

/// The outcome of starting an access.
pub type AccessResult<T = ()> = Result<T, AccessError>;

/// Why an access to registered memory was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// This process cannot reach that memory without the owner's processor. No byte was
    /// transferred; messages still reach it.
    #[error("the wire to this peer does not read or write that memory")]
    NotOffered,
    /// The owner has no such memory, or has deregistered it. No byte was transferred.
    #[error("the key names no registered memory of this peer")]
    BadKey,
    /// A part of the range is outside the registered memory. No byte was transferred.
    #[error("the range is not inside the registered memory")]
    OutOfRange,
    /// The owner is lost. No byte was transferred.
    #[error("the peer that owns the memory is lost")]
    Lost,
    /// The copy was broken off, for example because the owner has died or has unmapped the memory.
    /// Some bytes may have been transferred.
    #[error("the memory of this peer could not be read or written")]
    Failed,
}
