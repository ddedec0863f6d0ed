//! The memory that the protocol knows only by handle: unacknowledged messages, partially received
//! messages, regions that a peer fetches, and targets of pulls. Contiguous bytes are used in place.
//! Bytes that are packed or unpacked in order pass through a buffer of a few [`SPAN`]s, which is as
//! far as the protocol requests out of order.

use std::collections::BTreeMap;

use towpath_base::transfer::{Source, Step, Target};

use towpath_clic::pull::SPAN;

/// Messages that are not acknowledged yet. No [`Slab`](towpath_base::slab::Slab), because an entry
/// keeps the memory of its message for a later one.
#[derive(Debug, Default)]
pub(super) struct UnackedMessages {
    messages: Vec<UnackedMessage>,
    free: Vec<u32>,
}

#[derive(Debug, Default)]
struct UnackedMessage {
    /// The receiver, while the message is unacknowledged.
    to: Option<u32>,
    bytes: Vec<u8>,
}

impl UnackedMessages {
    /// Reserves memory for a message of `length` bytes to a peer. Returns its handle and a pointer
    /// to the memory.
    pub(super) fn begin(&mut self, to: u32, length: usize) -> (u64, *mut u8) {
        let index = self.free.pop().unwrap_or_else(|| {
            self.messages.push(UnackedMessage::default());
            self.messages.len() as u32 - 1
        });
        let message = &mut self.messages[index as usize];
        message.to = Some(to);
        message.bytes.clear();
        message.bytes.reserve(length);
        (u64::from(index), message.bytes.as_mut_ptr())
    }

    /// A pointer to the bytes of a message.
    #[inline]
    pub(super) fn at(&self, name: u64) -> *const u8 {
        self.messages[name as usize].bytes.as_ptr()
    }

    /// The peer has acknowledged the message.
    #[inline]
    pub(super) fn end(&mut self, name: u64) {
        if let Some(message) = self.messages.get_mut(name as usize)
            && message.to.take().is_some()
        {
            self.free.push(name as u32);
        }
    }

    /// Ends all messages to a peer.
    pub(super) fn forget(&mut self, peer: u32) {
        for name in 0..self.messages.len() as u64 {
            if self.messages[name as usize].to == Some(peer) {
                self.end(name);
            }
        }
    }
}

/// The availability of bytes that a peer requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// In this process's memory, until it ends the region.
    Here(*const u8),
    /// A device is still working on them.
    Later,
    /// Invalid: a correct peer never requests them.
    Never,
}

/// A region that a peer may fetch.
pub(super) struct Origin {
    pub(super) to: u32,
    pub(super) token: u64,
    bytes: Made,
}

enum Made {
    Contiguous { pointer: *const u8, length: usize },
    InOrder(Packed),
}

/// Bytes that a packer produces in order; at least the last [`SPAN`] of them are kept.
struct Packed {
    source: Source,
    length: u64,
    /// Offset of the first byte kept.
    first: u64,
    kept: Vec<u8>,
}

impl Origin {
    pub(super) fn new(to: u32, token: u64, source: Source) -> Origin {
        let bytes = match source {
            Source::Bytes { pointer, length } => Made::Contiguous { pointer, length },
            source => Made::InOrder(Packed {
                length: source.length() as u64,
                source,
                first: 0,
                kept: Vec::new(),
            }),
        };
        Origin { to, token, bytes }
    }

    /// True if its bytes are sent directly from user memory.
    pub(super) fn is_users(&self) -> bool {
        matches!(self.bytes, Made::Contiguous { .. })
    }

    /// True if bytes must be packed before this range is available; packing may move those kept.
    pub(super) fn must_make(&self, offset: u64, length: usize) -> bool {
        match &self.bytes {
            Made::Contiguous { .. } => false,
            Made::InOrder(packed) => {
                packed.first + (packed.kept.len() as u64) < offset + length as u64
            }
        }
    }

    /// Returns a pointer to `length` bytes from `offset` on, if they are available.
    ///
    /// # Safety
    /// The memory behind the source must be valid.
    pub(super) unsafe fn at(&mut self, offset: u64, length: usize) -> At {
        match &mut self.bytes {
            Made::Contiguous { pointer, length: all } => match offset.checked_add(length as u64) {
                Some(end) if end <= *all as u64 => At::Here(pointer.wrapping_add(offset as usize)),
                _ => At::Never,
            },
            // SAFETY: the memory behind the source is valid (this function's contract).
            Made::InOrder(packed) => unsafe { packed.at(offset, length) },
        }
    }
}

impl Packed {
    /// # Safety
    /// The memory behind the source must be valid.
    unsafe fn at(&mut self, offset: u64, length: usize) -> At {
        let end = offset
            .checked_add(length as u64)
            .filter(|end| *end <= self.length && offset >= self.first);
        let Some(end) = end else { return At::Never };
        while self.first + (self.kept.len() as u64) < end {
            // SAFETY: the memory behind the source is valid (this function's contract).
            if !unsafe { self.make() } {
                return At::Later;
            }
        }
        At::Here(self.kept[(offset - self.first) as usize..].as_ptr())
    }

    /// Packs the next bytes; false if there were none.
    ///
    /// # Safety
    /// The memory behind the source must be valid.
    unsafe fn make(&mut self) -> bool {
        const STEP: usize = 64 << 10;
        if self.kept.len() >= 2 * SPAN as usize {
            let old = self.kept.len() - SPAN as usize;
            self.kept.drain(..old);
            self.first += old as u64;
        }
        self.kept.reserve(STEP);
        let end = self.kept.len();
        // SAFETY: `reserve` made room for `STEP` bytes at `end`, and the memory behind the source
        // is valid (this function's contract).
        let step = unsafe { self.source.fill(self.kept.as_mut_ptr().add(end), STEP) };
        match step {
            Step::Done(made) => {
                // SAFETY: `fill` wrote `made` bytes at `end`, at most `STEP`.
                unsafe { self.kept.set_len(end + made) };
                made > 0
            }
            Step::Pending => false,
        }
    }
}

/// The target of a pull.
pub(super) struct FetchTarget {
    pub(super) from: u32,
    pub(super) token: u64,
    bytes: FetchState,
}

enum FetchState {
    Contiguous { pointer: *mut u8, length: usize },
    InOrder { target: Target, next: u64, early: BTreeMap<u64, Box<[u8]>> },
}

impl FetchTarget {
    pub(super) fn new(from: u32, token: u64, target: Target) -> FetchTarget {
        let bytes = match target {
            Target::Bytes { pointer, length } => FetchState::Contiguous { pointer, length },
            target => FetchState::InOrder { target, next: 0, early: BTreeMap::new() },
        };
        FetchTarget { from, token, bytes }
    }

    /// The destination of `length` bytes from `offset` on, if the target is contiguous and large
    /// enough.
    pub(super) fn contiguous(&self, offset: u64, length: usize) -> Option<*mut u8> {
        match self.bytes {
            FetchState::Contiguous { pointer, length: all } => {
                let end = offset.checked_add(length as u64)?;
                (end <= all as u64).then(|| pointer.wrapping_add(offset as usize))
            }
            FetchState::InOrder { .. } => None,
        }
    }

    /// Stores received bytes, unless they are already in place.
    ///
    /// # Safety
    /// The memory behind the target must be valid.
    pub(super) unsafe fn put(&mut self, offset: u64, bytes: &[u8]) {
        if let Some(place) = self.contiguous(offset, bytes.len()) {
            if !std::ptr::eq(place, bytes.as_ptr()) {
                // SAFETY: `place` is inside the target, which is valid (this function's contract),
                // and has room for `bytes`. `copy` allows `bytes` to overlap it.
                unsafe { std::ptr::copy(bytes.as_ptr(), place, bytes.len()) };
            }
            return;
        }
        let FetchState::InOrder { target, next, early } = &mut self.bytes else { return };
        // SAFETY: `bytes` is a slice, and the memory behind the target is valid (this function's
        // contract).
        if offset == *next && unsafe { target.drain(bytes.as_ptr(), bytes.len()) } != Step::Pending
        {
            *next += bytes.len() as u64;
        } else {
            early.insert(offset, bytes.into());
        }
        // SAFETY: the memory behind the target is valid (this function's contract).
        unsafe { self.unpack_early() };
    }

    /// Unpacks bytes that arrived out of order, or while a device was working, as far as they are
    /// next in order. True if nothing is left.
    ///
    /// # Safety
    /// The memory behind the target must be valid.
    pub(super) unsafe fn unpack_early(&mut self) -> bool {
        let FetchState::InOrder { target, next, early } = &mut self.bytes else { return true };
        while let Some(entry) = early.first_entry().filter(|entry| entry.key() == next) {
            let bytes = entry.get();
            // SAFETY: `bytes` is a slice, and the memory behind the target is valid (this
            // function's contract).
            if unsafe { target.drain(bytes.as_ptr(), bytes.len()) } == Step::Pending {
                break;
            }
            *next += entry.remove().len() as u64;
        }
        early.is_empty()
    }
}
