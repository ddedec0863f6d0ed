//! Tables from handles to objects, in chunks that never move and are read without a lock. MPI 5.0,
//! chapter 20, leaves the values of these handles to the implementation.
//!
//! A handle contains kind, generation and index. A stale handle, or one of another kind, is an
//! error and never a crash. Objects are in an `Arc`, so operations in flight keep objects alive
//! that the program has freed. [`Table::share`] clones the `Arc`; [`Table::borrow`] avoids the lock
//! and the reference count, for the fast path.

use std::sync::{Arc, Mutex};

use towpath_base::sync::{AtomicPtr, AtomicU32, Ordering, UnsafeCell};

use crate::abi::{Handle, Kind};
use crate::constants::{
    COMM_NULL, COMM_SELF, COMM_WORLD, ERRHANDLER_NULL, ERRORS_ABORT, ERRORS_ARE_FATAL,
    ERRORS_RETURN, FILE_NULL, GROUP_EMPTY, GROUP_NULL, INFO_ENV, INFO_NULL, MESSAGE_NO_PROC,
    MESSAGE_NULL, OP_NULL, REQUEST_NULL, SESSION_NULL, WIN_NULL, datatype_name,
};

const CHUNK: usize = 1024;
const CHUNKS: usize = 1024;
const INDEX_BITS: u32 = 20;
const GENERATIONS: u32 = 64;

/// Builds a created handle (docs/design/abi.md).
pub fn compose(kind: Kind, generation: u32, index: usize) -> Handle {
    Handle(
        0xC000_0000 | (kind as u32) << 26 | (generation % GENERATIONS) << INDEX_BITS | index as u32,
    )
}

/// Splits a created handle of this kind into generation and index.
#[inline]
pub fn decompose(handle: Handle, kind: Kind) -> Option<(u32, usize)> {
    if handle.0 >> 26 != 0x30 | kind as u32 {
        return None;
    }
    Some((
        handle.0 >> INDEX_BITS & (GENERATIONS - 1),
        (handle.0 & ((1 << INDEX_BITS) - 1)) as usize,
    ))
}

/// Names of the predefined handles other than datatypes.
const NAMES: [(Handle, &str); 18] = [
    (COMM_NULL, "MPI_COMM_NULL"),
    (COMM_WORLD, "MPI_COMM_WORLD"),
    (COMM_SELF, "MPI_COMM_SELF"),
    (GROUP_NULL, "MPI_GROUP_NULL"),
    (GROUP_EMPTY, "MPI_GROUP_EMPTY"),
    (WIN_NULL, "MPI_WIN_NULL"),
    (FILE_NULL, "MPI_FILE_NULL"),
    (SESSION_NULL, "MPI_SESSION_NULL"),
    (MESSAGE_NULL, "MPI_MESSAGE_NULL"),
    (MESSAGE_NO_PROC, "MPI_MESSAGE_NO_PROC"),
    (INFO_NULL, "MPI_INFO_NULL"),
    (INFO_ENV, "MPI_INFO_ENV"),
    (ERRHANDLER_NULL, "MPI_ERRHANDLER_NULL"),
    (ERRORS_ARE_FATAL, "MPI_ERRORS_ARE_FATAL"),
    (ERRORS_ABORT, "MPI_ERRORS_ABORT"),
    (ERRORS_RETURN, "MPI_ERRORS_RETURN"),
    (REQUEST_NULL, "MPI_REQUEST_NULL"),
    (OP_NULL, "MPI_OP_NULL"),
];

/// For error messages: predefined handles by name, others by number. 0 is a value that a binding
/// could not translate.
impl std::fmt::Display for Handle {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = NAMES
            .iter()
            .find(|(handle, _)| handle == self)
            .map_or(datatype_name(*self), |(_, name)| name);
        match (name, self.0) {
            ("", 0) => formatter.write_str("a value that is not a handle"),
            ("", number) => write!(formatter, "{number:#x}"),
            (name, _) => formatter.write_str(name),
        }
    }
}

struct Entry<T> {
    /// Generation shifted left once; lowest bit set while the entry holds an object.
    state: AtomicU32,
    object: UnsafeCell<Option<Arc<T>>>,
}

/// All created objects of one kind. Not a [`Slab`](towpath_base::slab::Slab), because threads read
/// an entry without a lock while others are added, so entries must never move.
pub struct Table<T> {
    kind: Kind,
    chunks: [AtomicPtr<Entry<T>>; CHUNKS],
    vacant: Mutex<Vacant>,
}

/// A vacant entry reserved for an object.
#[must_use = "a reserved entry must be filled"]
pub struct VacantEntry(usize);

struct Vacant {
    indices: Vec<u32>,
    used: usize,
}

// SAFETY: an entry is filled only by the owner of its `VacantEntry`, is published by `state`, and
// is emptied only under the lock of `vacant`. Objects are shared between threads by reference and
// by `Arc`, which needs `T: Send + Sync`.
unsafe impl<T: Send + Sync> Sync for Table<T> {}
// SAFETY: the table owns its chunks, and moving it moves only `Arc<T>`, which is `Send` if `T` is
// `Send + Sync`.
unsafe impl<T: Send + Sync> Send for Table<T> {}

impl<T> Table<T> {
    /// An empty table.
    pub const fn new(kind: Kind) -> Table<T> {
        Table {
            kind,
            chunks: [const { AtomicPtr::new(std::ptr::null_mut()) }; CHUNKS],
            vacant: Mutex::new(Vacant { indices: Vec::new(), used: 0 }),
        }
    }

    fn entry(&self, index: usize) -> Option<&Entry<T>> {
        let chunk = self.chunks.get(index / CHUNK)?.load(Ordering::Acquire);
        if chunk.is_null() {
            return None;
        }
        // SAFETY: a published chunk has `CHUNK` entries and is never freed.
        Some(unsafe { &*chunk.add(index % CHUNK) })
    }

    /// Stores an object that needs to know its own handle.
    pub fn insert_with(&self, make: impl FnOnce(Handle) -> T) -> Option<Handle> {
        self.reserve().map(|entry| self.fill_with(entry, |handle| Arc::new(make(handle))))
    }

    /// Stores an object and returns its handle. `None` if a million objects of this kind exist.
    pub fn insert(&self, object: Arc<T>) -> Option<Handle> {
        self.reserve().map(|entry| self.fill(entry, object))
    }

    /// Reserves an entry for an object that must not be created without one.
    pub fn reserve(&self) -> Option<VacantEntry> {
        let mut vacant = self.vacant.lock().unwrap();
        if let Some(index) = vacant.indices.pop() {
            return Some(VacantEntry(index as usize));
        }
        if vacant.used == CHUNK * CHUNKS {
            return None;
        }
        if vacant.used.is_multiple_of(CHUNK) {
            self.add_chunk(vacant.used / CHUNK);
        }
        vacant.used += 1;
        Some(VacantEntry(vacant.used - 1))
    }

    /// Stores an object in a reserved entry and returns its handle.
    pub fn fill(&self, vacant: VacantEntry, object: Arc<T>) -> Handle {
        self.fill_with(vacant, |_| object)
    }

    fn fill_with(&self, vacant: VacantEntry, make: impl FnOnce(Handle) -> Arc<T>) -> Handle {
        let entry = self.entry(vacant.0).expect("a reserved entry has its chunk");
        let generation = entry.state.load(Ordering::Relaxed) >> 1;
        let handle = compose(self.kind, generation, vacant.0);
        // SAFETY: the entry is vacant and reserved by `vacant`, so no other thread accesses
        // `object`.
        unsafe { *entry.object.get() = Some(make(handle)) };
        entry.state.store(generation << 1 | 1, Ordering::Release);
        handle
    }

    fn add_chunk(&self, number: usize) {
        let entries: Vec<Entry<T>> = (0..CHUNK)
            .map(|_| Entry { state: AtomicU32::new(0), object: UnsafeCell::new(None) })
            .collect();
        self.chunks[number]
            .store(Box::leak(entries.into_boxed_slice()).as_mut_ptr(), Ordering::Release);
    }

    /// The object behind a handle; `None` if the handle is null, stale or of another kind.
    pub fn share(&self, handle: Handle) -> Option<Arc<T>> {
        let _nobody_removes = self.vacant.lock().unwrap();
        // SAFETY: objects are removed only under the lock of `vacant`, which is held.
        unsafe { self.borrow(handle) }.cloned()
    }

    /// Like [`Table::share`], but does not count a reference.
    ///
    /// # Safety
    /// The object must not be removed while the reference is used. A program may free an object as
    /// soon as it can know that the call which uses it has started. So the reference must not be
    /// used after a message has been sent, after the worker's lock was released with an operation
    /// in flight, or after a function of the program was called. Freeing the object earlier is an
    /// error in the program.
    #[inline]
    pub unsafe fn borrow(&self, handle: Handle) -> Option<&Arc<T>> {
        let (generation, index) = decompose(handle, self.kind)?;
        let entry = self.entry(index)?;
        let state = entry.state.load(Ordering::Acquire);
        if state & 1 == 0 || (state >> 1) % GENERATIONS != generation {
            return None;
        }
        // SAFETY: a live entry holds an object, which was written before `state` was stored and is
        // not removed while the reference is used (this function's contract).
        unsafe { (*entry.object.get()).as_ref() }
    }

    /// The first object that `is_wanted` accepts. `is_wanted` must not call this table.
    pub fn find(&self, is_wanted: impl Fn(&T) -> bool) -> Option<Arc<T>> {
        let vacant = self.vacant.lock().unwrap();
        let live = |entry: &&Entry<T>| entry.state.load(Ordering::Acquire) & 1 == 1;
        (0..vacant.used)
            .filter_map(|index| self.entry(index))
            .filter(live)
            // SAFETY: a live entry holds an object, and entries are emptied only under the lock of
            // `vacant`, which is held.
            .filter_map(|entry| unsafe { (*entry.object.get()).as_ref() })
            .find(|object| is_wanted(object))
            .cloned()
    }

    /// Removes an object; its handle becomes stale.
    pub fn remove(&self, handle: Handle) -> Option<Arc<T>> {
        let mut vacant = self.vacant.lock().unwrap();
        let (generation, index) = decompose(handle, self.kind)?;
        let entry = self.entry(index)?;
        let state = entry.state.load(Ordering::Acquire);
        if state & 1 == 0 || (state >> 1) % GENERATIONS != generation {
            return None;
        }
        entry.state.store(((state >> 1) + 1) << 1, Ordering::Release);
        // SAFETY: the entry was live, so its object is written, and entries are emptied only under
        // the lock of `vacant`, which is held.
        let object = unsafe { (*entry.object.get()).take() };
        vacant.indices.push(index as u32);
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_foreign_and_wrong_kind_handles_are_refused() {
        let table: Table<u32> = Table::new(Kind::Group);
        let other: Table<u32> = Table::new(Kind::Comm);
        let a = table.insert(Arc::new(1)).unwrap();
        assert_eq!(*table.share(a).unwrap(), 1);
        assert!(other.share(a).is_none());
        assert!(table.share(Handle(0)).is_none());
        assert!(table.share(Handle(a.0 + 1)).is_none());
        table.remove(a).unwrap();
        assert!(table.share(a).is_none());
        let b = table.insert(Arc::new(2)).unwrap();
        assert_ne!(a, b, "the generation differs though the index is used again");
        assert!(table.remove(a).is_none());
        assert_eq!(*table.share(b).unwrap(), 2);
    }

    #[test]
    fn handles_are_shown_by_their_names() {
        let shown = |handle: Handle| handle.to_string();
        assert_eq!(shown(REQUEST_NULL), "MPI_REQUEST_NULL");
        assert_eq!(
            (shown(Handle(0x209)), shown(Handle(0xC100_0001))),
            ("MPI_INT".into(), "0xc1000001".into())
        );
        assert_eq!(shown(Handle(0)), "a value that is not a handle");
    }

    #[test]
    fn many_objects() {
        let table: Table<usize> = Table::new(Kind::Info);
        let handles: Vec<_> = (0..5000).map(|i| table.insert(Arc::new(i)).unwrap()).collect();
        assert!(handles.iter().enumerate().all(|(i, &h)| *table.share(h).unwrap() == i));
        table.remove(handles[7]).unwrap();
        assert_eq!(table.find(|&object| object == 4999).as_deref(), Some(&4999));
        assert_eq!(table.find(|&object| object == 7), None);
    }

    #[test]
    fn what_was_found_outlives_its_removal() {
        let table: Table<Vec<u8>> = Table::new(Kind::Datatype);
        let removed = AtomicU32::new(0);
        let handles: Vec<_> =
            (0..2000).map(|_| table.insert(Arc::new(vec![7; 64])).unwrap()).collect();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for &handle in &handles {
                    assert!(table.remove(handle).is_some());
                    removed.fetch_add(1, Ordering::Relaxed);
                    table.insert(Arc::new(vec![9; 64])).unwrap();
                }
            });
            while (removed.load(Ordering::Relaxed) as usize) < handles.len() {
                for &handle in &handles {
                    assert!(
                        table.share(handle).is_none_or(|found| found.iter().all(|&byte| byte == 7))
                    );
                }
            }
        });
    }
}
