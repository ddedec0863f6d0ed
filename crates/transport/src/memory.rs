//! Registered memory: its key, and why an access to it is refused.

/// Names registered memory of an owner to all its peers; opaque. The owner may send it in a message
/// (16 bytes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct MemoryKey(pub [u64; 2]);

/// A range of registered memory, as the origin of an access names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteRange {
    /// The key that the owner's registration returned.
    pub key: MemoryKey,
    /// First byte, counted from the start of the registered memory.
    pub offset: usize,
    /// Number of bytes; may be 0.
    pub length: usize,
}

/// The outcome of starting or flushing accesses.
pub type AccessResult<T = ()> = Result<T, AccessError>;

/// Why an access to registered memory was refused, or has ended without success.
///
/// If [`MemoryWire::put`] or [`MemoryWire::get`] returns an error, the access has ended: the origin
/// may reuse its memory, and [`MemoryWire::flush`] does not report the access again.
///
/// [`MemoryWire::put`]: crate::MemoryWire::put
/// [`MemoryWire::get`]: crate::MemoryWire::get
/// [`MemoryWire::flush`]: crate::MemoryWire::flush
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// This process cannot reach that memory without the owner's processor, or no longer can, as
    /// when the owner has died. No byte was transferred. The caller sends messages instead; they
    /// reach the owner, or its loss is reported.
    #[error("the wire to this peer does not read or write that memory")]
    NotOffered,
    /// The owner has no such memory, or has deregistered it. No byte was transferred. Do not retry:
    /// every later access with this key fails too.
    #[error("the key names no registered memory of this peer")]
    BadKey,
    /// Part of the range is outside the registered memory: an error of the caller. No byte was
    /// transferred.
    #[error("the range is not inside the registered memory")]
    OutOfRange,
    /// The owner is known to be lost. Every later access is refused as well. If `put` or `get`
    /// returns this, no byte was transferred; if `flush` does, some accesses may have succeeded.
    /// The caller gives up the access, as it gives up messages ([`Sink::lost`]).
    ///
    /// [`Sink::lost`]: crate::Sink::lost
    #[error("the peer that owns the memory is lost")]
    Lost,
    /// The copy was interrupted, for example because the owner is exiting, or has unmapped the
    /// memory in breach of the contract. Some bytes may have been transferred, so the content of
    /// the target is undefined. The caller may retry the access; it is likely to fail with a more
    /// exact error.
    #[error("the memory of this peer could not be read or written")]
    Failed,
}
