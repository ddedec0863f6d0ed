//! The memory that the protocol only has names for: messages that wait to be acknowledged, parts of
//! messages that come, regions that a peer fetches and targets that regions are fetched to. Rows of
//! bytes are used where they lie; bytes that are made or taken in order pass through a buffer of a
//! few [`SPAN`]s, which is as far as the protocol asks out of order.

use std::collections::BTreeMap;

use towpath_base::transfer::{Source, Step, Target};

use towpath_clic::pull::SPAN;

/// Things under names that are used again.
#[derive(Debug)]
pub(super) struct Table<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Table<T> {
    pub(super) fn add(&mut self, thing: T) -> u64 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        self.slots[place as usize] = Some(thing);
        u64::from(place)
    }

    pub(super) fn of(&mut self, name: u64) -> Option<&mut T> {
        self.slots.get_mut(usize::try_from(name).ok()?)?.as_mut()
    }

    pub(super) fn take(&mut self, name: u64) -> Option<T> {
        let thing = self.slots.get_mut(usize::try_from(name).ok()?)?.take()?;
        self.free.push(name as u32);
        Some(thing)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    /// Takes everything out that answers to `which`.
    pub(super) fn take_all(&mut self, which: impl Fn(&T) -> bool) -> Vec<T> {
        let names: Vec<u64> =
            (0..self.slots.len() as u64).filter(|&name| self.of(name).is_some_and(|t| which(t))).collect();
        names.into_iter().filter_map(|name| self.take(name)).collect()
    }
}

/// Messages that wait to be acknowledged. Their memory is used again for later ones.
#[derive(Debug, Default)]
pub(super) struct Messages {
    messages: Vec<Message>,
    free: Vec<u32>,
}

#[derive(Debug, Default)]
struct Message {
    /// For whom it is, while it waits.
    to: Option<u32>,
    bytes: Vec<u8>,
}

impl Messages {
    /// Memory for a message of `length` bytes to a peer: its name and where the bytes go.
    pub(super) fn begin(&mut self, to: u32, length: usize) -> (u64, *mut u8) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.messages.push(Message::default());
            self.messages.len() as u32 - 1
        });
        let message = &mut self.messages[place as usize];
        message.to = Some(to);
        message.bytes.clear();
        message.bytes.reserve(length);
        (u64::from(place), message.bytes.as_mut_ptr())
    }

    /// Where the bytes of a message lie.
    #[inline]
    pub(super) fn at(&self, name: u64) -> *const u8 {
        self.messages[name as usize].bytes.as_ptr()
    }

    /// The peer has the message.
    #[inline]
    pub(super) fn end(&mut self, name: u64) {
        if let Some(message) = self.messages.get_mut(name as usize)
            && message.to.take().is_some()
        {
            self.free.push(name as u32);
        }
    }

    /// All messages to a peer end.
    pub(super) fn forget(&mut self, peer: u32) {
        for name in 0..self.messages.len() as u64 {
            if self.messages[name as usize].to == Some(peer) {
                self.end(name);
            }
        }
    }
}

/// What is to be had of bytes that a peer asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// They lie here, for the moment.
    Here(*const u8),
    /// A device is at work on them.
    Later,
    /// No honest peer asks for them.
    Never,
}

/// A region that a peer may fetch.
pub(super) struct Origin {
    pub(super) to: u32,
    pub(super) token: u64,
    bytes: Made,
}

enum Made {
    Row { pointer: *const u8, length: usize },
    InOrder(Packed),
}

/// Bytes that a packer makes in order; those of the last [`SPAN`] and more are kept.
struct Packed {
    source: Source,
    length: u64,
    /// Offset of the first byte that is kept.
    first: u64,
    kept: Vec<u8>,
}

impl Origin {
    pub(super) fn new(to: u32, token: u64, source: Source) -> Origin {
        let bytes = match source {
            Source::Bytes { pointer, length } => Made::Row { pointer, length },
            source => Made::InOrder(Packed { length: source.length() as u64, source, first: 0, kept: Vec::new() }),
        };
        Origin { to, token, bytes }
    }

    /// Whether its bytes go out from user memory: nothing has copied them yet.
    pub(super) fn is_users(&self) -> bool {
        matches!(self.bytes, Made::Row { .. })
    }

    /// Whether bytes have to be made before these are there; that may move others.
    pub(super) fn must_make(&self, offset: u64, length: usize) -> bool {
        match &self.bytes {
            Made::Row { .. } => false,
            Made::InOrder(packed) => packed.first + (packed.kept.len() as u64) < offset + length as u64,
        }
    }

    /// Where `length` bytes from `offset` on are.
    ///
    /// # Safety
    /// The memory behind the source must live.
    pub(super) unsafe fn at(&mut self, offset: u64, length: usize) -> At {
        match &mut self.bytes {
            Made::Row { pointer, length: all } => match offset.checked_add(length as u64) {
                Some(end) if end <= *all as u64 => At::Here(pointer.wrapping_add(offset as usize)),
                _ => At::Never,
            },
            // SAFETY: the caller vouches for the source.
            Made::InOrder(packed) => unsafe { packed.at(offset, length) },
        }
    }
}

impl Packed {
    /// # Safety
    /// The memory behind the source must live.
    unsafe fn at(&mut self, offset: u64, length: usize) -> At {
        let end = offset.checked_add(length as u64).filter(|end| *end <= self.length && offset >= self.first);
        let Some(end) = end else { return At::Never };
        while self.first + (self.kept.len() as u64) < end {
            // SAFETY: as promised.
            if !unsafe { self.make() } {
                return At::Later;
            }
        }
        At::Here(self.kept[(offset - self.first) as usize..].as_ptr())
    }

    /// Makes the next bytes; false when none came.
    ///
    /// # Safety
    /// The memory behind the source must live.
    unsafe fn make(&mut self) -> bool {
        const STEP: usize = 64 << 10;
        if self.kept.len() >= 2 * SPAN as usize {
            let old = self.kept.len() - SPAN as usize;
            self.kept.drain(..old);
            self.first += old as u64;
        }
        self.kept.reserve(STEP);
        let end = self.kept.len();
        // SAFETY: there is room for a step behind the end; the caller vouches for the source.
        let step = unsafe { self.source.fill(self.kept.as_mut_ptr().add(end), STEP) };
        match step {
            Step::Done(made) => {
                // SAFETY: so many bytes have been written, at most a step.
                unsafe { self.kept.set_len(end + made) };
                made > 0
            }
            Step::Pending => false,
        }
    }
}

/// Where a region is fetched to.
pub(super) struct Destination {
    pub(super) from: u32,
    pub(super) token: u64,
    bytes: Taken,
}

enum Taken {
    Row { pointer: *mut u8, length: usize },
    InOrder { target: Target, next: u64, early: BTreeMap<u64, Box<[u8]>> },
}

impl Destination {
    pub(super) fn new(from: u32, token: u64, target: Target) -> Destination {
        let bytes = match target {
            Target::Bytes { pointer, length } => Taken::Row { pointer, length },
            target => Taken::InOrder { target, next: 0, early: BTreeMap::new() },
        };
        Destination { from, token, bytes }
    }

    /// Where bytes from `offset` on go, if they go to a row with room for so many.
    pub(super) fn row(&self, offset: u64, length: usize) -> Option<*mut u8> {
        match self.bytes {
            Taken::Row { pointer, length: all } => {
                let end = offset.checked_add(length as u64)?;
                (end <= all as u64).then(|| pointer.wrapping_add(offset as usize))
            }
            Taken::InOrder { .. } => None,
        }
    }

    /// Puts bytes to where they go, unless they lie there already.
    ///
    /// # Safety
    /// The memory behind the target must live.
    pub(super) unsafe fn put(&mut self, offset: u64, bytes: &[u8]) {
        if let Some(place) = self.row(offset, bytes.len()) {
            if !std::ptr::eq(place, bytes.as_ptr()) {
                // SAFETY: the place lies in the target, which the caller vouches for. Received
                // bytes may lie at another place of it.
                unsafe { std::ptr::copy(bytes.as_ptr(), place, bytes.len()) };
            }
            return;
        }
        let Taken::InOrder { target, next, early } = &mut self.bytes else { return };
        // SAFETY: the bytes are a slice; the caller vouches for the target.
        if offset == *next && unsafe { target.drain(bytes.as_ptr(), bytes.len()) } != Step::Pending {
            *next += bytes.len() as u64;
        } else {
            early.insert(offset, bytes.into());
        }
        // SAFETY: as promised.
        unsafe { self.settle() };
    }

    /// Takes bytes that came early, or while a device was at work, as far as their turn has come.
    /// True when all that has come is taken.
    ///
    /// # Safety
    /// As [`Destination::put`].
    pub(super) unsafe fn settle(&mut self) -> bool {
        let Taken::InOrder { target, next, early } = &mut self.bytes else { return true };
        while let Some(entry) = early.first_entry().filter(|entry| entry.key() == next) {
            let bytes = entry.get();
            // SAFETY: the bytes are a slice; the caller vouches for the target.
            if unsafe { target.drain(bytes.as_ptr(), bytes.len()) } == Step::Pending {
                break;
            }
            *next += entry.remove().len() as u64;
        }
        early.is_empty()
    }
}
