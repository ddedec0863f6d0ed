//! An MPI library for tests of the layer: one rank of two, which the test lets receive messages,
//! and whose sends are complete when the test says so.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;

use crate::abi::{BinaryInterface, Standard, StandardStatus};
use crate::layer::MpiLayer;
use crate::library::Functions;

/// What the layer has sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SentBytes {
    pub(crate) tag: c_int,
    pub(crate) bytes: Vec<u8>,
}

#[derive(Default)]
struct FakeLibrary {
    requests: usize,
    /// Persistent receives: their memory.
    receives: BTreeMap<usize, *mut u8>,
    arrivals: VecDeque<(c_int, Vec<u8>)>,
    sent: Vec<SentBytes>,
    incomplete: Vec<usize>,
    /// Requests of all sends, and their tags.
    all: Vec<(usize, c_int)>,
    are_kept_incomplete: bool,
    last_count: c_int,
    /// Tags of receives.
    received: Vec<c_int>,
    /// How much was sent when the layer began to wait.
    sent_before_wait: Option<usize>,
}

thread_local! {
    static LIBRARY: RefCell<FakeLibrary> = RefCell::default();
}

/// Lets sends be complete only when [`complete`] is called.
pub(crate) fn keep_incomplete() {
    LIBRARY.with_borrow_mut(|library| library.are_kept_incomplete = true);
}

/// All sends are complete, and later ones are so at once.
pub(crate) fn complete() {
    LIBRARY.with_borrow_mut(|library| {
        library.incomplete.clear();
        library.are_kept_incomplete = false;
    });
}

/// A message arrives from the other rank.
pub(crate) fn arrive(tag: c_int, bytes: &[u8]) {
    LIBRARY.with_borrow_mut(|library| library.arrivals.push_back((tag, bytes.to_vec())));
}

/// What the layer has sent since this was called last.
pub(crate) fn take_sent() -> Vec<SentBytes> {
    LIBRARY.with_borrow_mut(|library| std::mem::take(&mut library.sent))
}

/// Only what was sent with this tag is not complete.
pub(crate) fn complete_all_but(tag: c_int) {
    LIBRARY.with_borrow_mut(|library| {
        let kept = library.all.iter().filter(|(_, one)| *one == tag).map(|(request, _)| *request);
        library.incomplete = kept.collect();
    });
}

/// The tags of long messages and arrays that the layer has begun to receive.
pub(crate) fn received() -> Vec<c_int> {
    LIBRARY.with_borrow_mut(|library| std::mem::take(&mut library.received))
}

/// How many persistent receives have been made.
pub(crate) fn receives_made() -> usize {
    LIBRARY.with_borrow(|library| library.receives.len())
}

/// How much of that it had sent when it began to wait.
pub(crate) fn sent_before_wait() -> Option<usize> {
    LIBRARY.with_borrow_mut(|library| library.sent_before_wait.take())
}

/// The layer of rank 0 of two, of which the program has initialized MPI or not.
pub(crate) fn layer(has_initialized: bool) -> MpiLayer<Standard> {
    LIBRARY.replace(FakeLibrary::default());
    let mut layer = MpiLayer::open(functions()).expect("nothing of this library fails");
    layer.has_initialized = has_initialized;
    layer
}

impl FakeLibrary {
    fn request(&mut self) -> usize {
        self.requests += 1;
        0x1000 + self.requests
    }

    /// Whether a request is complete.
    fn test(&mut self, request: usize, status: &mut StandardStatus) -> bool {
        let Some(memory) = self.receives.get(&request) else {
            return request != Standard::REQUEST_NULL && !self.incomplete.contains(&request);
        };
        let Some((tag, bytes)) = self.arrivals.pop_front() else { return false };
        // SAFETY: the memory of a receive of the layer has room for its messages.
        unsafe { memory.copy_from(bytes.as_ptr(), bytes.len()) };
        self.last_count = bytes.len() as c_int;
        *status = StandardStatus::from(1, tag);
        true
    }

    fn send(&mut self, bytes: Vec<u8>, tag: c_int) -> usize {
        let request = self.request();
        self.all.push((request, tag));
        self.sent.push(SentBytes { tag, bytes });
        if self.are_kept_incomplete {
            self.incomplete.push(request);
        }
        request
    }
}

/// The bytes at this address.
fn copied(from: *const c_void, count: usize) -> Vec<u8> {
    // SAFETY: the layer sends bytes that are there.
    unsafe { std::slice::from_raw_parts(from.cast(), count) }.to_vec()
}

fn put<T>(place: *mut T, value: T) {
    // SAFETY: results of functions of MPI are where the layer says.
    unsafe { place.write(value) };
}

extern "C" fn no_arguments() -> c_int {
    0
}
extern "C" fn yes(flag: *mut c_int) -> c_int {
    put(flag, 1);
    0
}
extern "C" fn no(flag: *mut c_int) -> c_int {
    put(flag, 0);
    0
}
extern "C" fn init(_: *mut c_void, _: *mut c_void, _: c_int, _: *mut c_int) -> c_int {
    0
}
extern "C" fn dup(_: usize, _: *mut usize) -> c_int {
    0
}
extern "C" fn one_handle(_: *mut usize) -> c_int {
    0
}
extern "C" fn rank(_: usize, rank: *mut c_int) -> c_int {
    put(rank, 0);
    0
}
extern "C" fn size(_: usize, ranks: *mut c_int) -> c_int {
    put(ranks, 2);
    0
}
extern "C" fn recv_init(
    memory: *mut c_void,
    _: c_int,
    _: usize,
    _: c_int,
    _: c_int,
    _: usize,
    request: *mut usize,
) -> c_int {
    LIBRARY.with_borrow_mut(|library| {
        let made = library.request();
        library.receives.insert(made, memory.cast());
        put(request, made);
    });
    0
}
extern "C" fn isend(
    from: *const c_void,
    count: c_int,
    datatype: usize,
    to: c_int,
    tag: c_int,
    comm: usize,
    request: *mut usize,
) -> c_int {
    isend_c(from, i64::from(count), datatype, to, tag, comm, request)
}
extern "C" fn isend_c(
    from: *const c_void,
    count: i64,
    _: usize,
    _: c_int,
    tag: c_int,
    _: usize,
    request: *mut usize,
) -> c_int {
    let bytes = copied(from, count as usize);
    LIBRARY.with_borrow_mut(|library| put(request, library.send(bytes, tag)));
    0
}
extern "C" fn irecv_c(
    _: *mut c_void,
    _: i64,
    _: usize,
    _: c_int,
    tag: c_int,
    _: usize,
    request: *mut usize,
) -> c_int {
    LIBRARY.with_borrow_mut(|library| {
        library.received.push(tag);
        put(request, library.request());
    });
    0
}
extern "C" fn test(request: *mut usize, flag: *mut c_int, status: *mut StandardStatus) -> c_int {
    // SAFETY: as in `put`.
    let (request, status) = unsafe { (*request, &mut *status) };
    let done = LIBRARY.with_borrow_mut(|library| library.test(request, status));
    put(flag, c_int::from(done));
    0
}
extern "C" fn wait(_: *mut usize, _: *mut StandardStatus) -> c_int {
    0
}
extern "C" fn waitany(
    count: c_int,
    requests: *mut usize,
    which: *mut c_int,
    status: *mut StandardStatus,
) -> c_int {
    let mut flag = 0;
    LIBRARY.with_borrow_mut(|library| library.sent_before_wait = Some(library.sent.len()));
    testany(count, requests, which, &raw mut flag, status)
}
extern "C" fn testany(
    count: c_int,
    requests: *mut usize,
    which: *mut c_int,
    flag: *mut c_int,
    status: *mut StandardStatus,
) -> c_int {
    // SAFETY: as in `put`.
    let (requests, status) =
        unsafe { (std::slice::from_raw_parts(requests, count as usize), &mut *status) };
    let done = LIBRARY.with_borrow_mut(|library| {
        requests.iter().position(|request| library.test(*request, status))
    });
    put(flag, c_int::from(done.is_some()));
    if let Some(done) = done {
        put(which, done as c_int);
    }
    0
}
extern "C" fn get_count(_: *const StandardStatus, _: usize, count: *mut c_int) -> c_int {
    LIBRARY.with_borrow(|library| put(count, library.last_count));
    0
}
extern "C" fn ibarrier(_: usize, request: *mut usize) -> c_int {
    LIBRARY.with_borrow_mut(|library| put(request, library.request()));
    0
}
extern "C" fn alloc_mem(_: isize, _: usize, place: *mut c_void) -> c_int {
    // The layer only looks where this is: in private memory.
    static PRIVATE: u64 = 0;
    put(place.cast(), &raw const PRIVATE);
    0
}
extern "C" fn free_mem(_: *mut c_void) -> c_int {
    0
}
extern "C" fn allgather(
    _: *const c_void,
    _: c_int,
    _: usize,
    _: *mut c_void,
    _: c_int,
    _: usize,
    _: usize,
) -> c_int {
    0
}
extern "C" fn type_size(_: usize, _: *mut i64) -> c_int {
    1
}
extern "C" fn pack(
    _: *const c_void,
    _: i64,
    _: usize,
    _: *mut c_void,
    _: i64,
    _: *mut i64,
    _: usize,
) -> c_int {
    1
}
extern "C" fn abort(_: usize, _: c_int) -> c_int {
    0
}

fn functions() -> Functions<Standard> {
    Functions {
        initialized: yes,
        init_thread: init,
        finalize: no_arguments,
        finalized: no,
        comm_dup: dup,
        comm_free: one_handle,
        comm_rank: rank,
        comm_size: size,
        recv_init,
        start: one_handle,
        isend,
        isend_c,
        irecv_c,
        test,
        wait,
        waitany,
        testany,
        cancel: one_handle,
        request_free: one_handle,
        get_count,
        ibarrier,
        alloc_mem,
        free_mem,
        allgather,
        type_size_c: type_size,
        pack_c: pack,
        abort,
        abi: PhantomData,
    }
}
