//! The program's access to the shared heap of the host's ranks: through MPI_Alloc_mem, and through
//! malloc if `libtowpath-malloc.so` is preloaded.
//!
//! A thread that changes the heap may itself call malloc. That call must not reenter the heap, and
//! is served by the C library instead. The same holds for fork handlers of other libraries that run
//! between the handlers here.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::{MutexGuard, OnceLock};

use towpath_base::config;
use towpath_machine::fork::{self, Handover};
use towpath_machine::malloc;
use towpath_shm::Heap;

use super::{Phase, Process, phase, say_lines, this};

thread_local! {
    /// True while this thread holds the heap.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    /// The locked heap and the hand-over to the child, while this thread forks.
    static FORKING: Cell<Option<Forking>> = const { Cell::new(None) };
}

struct Forking {
    heap: MutexGuard<'static, Heap>,
    handover: Option<Handover>,
}

/// Calls `act` with the heap; `None` if there is no heap or this thread already holds it.
fn with<T>(act: impl FnOnce(&mut Heap) -> T) -> Option<T> {
    let process = this().ok()?;
    if INSIDE.replace(true) {
        return None;
    }
    let done = act(&mut process.heap.lock().unwrap());
    INSIDE.set(false);
    Some(done)
}

/// Allocates a block; `None` if it is too small to be worth sharing or there is no room. Private
/// memory is then a good substitute.
pub(crate) fn allocate(bytes: usize, alignment: usize) -> Option<*mut u8> {
    with(|heap| heap.allocate(bytes, alignment))?
}

/// Frees a block; false if the block is not from the heap.
pub(crate) fn free(block: *mut u8) -> bool {
    with(|heap| heap.free(block)) == Some(true)
}

/// Called once when MPI starts: arranges that forked children get copies of the blocks, and offers
/// the heap to malloc for large blocks.
pub(crate) fn open(process: &'static Process) {
    let refusal = attach(&process.heap.lock().unwrap());
    if let Some(why) = refusal
        && config::number("TOWPATH_MALLOC") == Some(1)
        && process.job.rank == 0
    {
        say_lines(&format!("towpath: TOWPATH_MALLOC has no effect, because {why}."));
    }
}

/// Offers the heap to malloc; returns the reason if malloc does not use it.
fn attach(heap: &Heap) -> Option<&'static str> {
    static TABLE: OnceLock<malloc::MallocTable> = OnceLock::new();
    let Some(begin) = heap.address() else {
        return Some("the ranks' heaps are switched off (TOWPATH_HEAP=0) or could not be mapped");
    };
    let (begin, length) = (begin as usize, heap.bytes());
    towpath_device::set_own_heap(begin..begin + length);
    let remembered = fork::around(before_fork, in_parent, in_child);
    if !heap.is_boundless() {
        return Some(
            "shared memory is limited: memfd_create is not allowed here, and /dev/shm or TMPDIR is used instead",
        );
    }
    let table = || malloc::MallocTable { begin, length, allocate: allocate_c, resize, free: free_c, size };
    let attached = remembered && malloc::attach(TABLE.get_or_init(table));
    let missing = "libtowpath-malloc.so is not preloaded: start the job with Towpath's mpiexec, or name the library in LD_PRELOAD";
    (!attached).then_some(missing)
}

extern "C" fn allocate_c(bytes: usize, alignment: usize, zeroed: c_int) -> *mut c_void {
    if phase() != Phase::Running {
        return std::ptr::null_mut();
    }
    let Some(Some(block)) = with(|heap| heap.allocate_for_malloc(bytes, alignment)) else {
        return std::ptr::null_mut();
    };
    if zeroed != 0 && !block.zeroed {
        // SAFETY: the block has at least `bytes` bytes, and no other code knows its address yet.
        unsafe { block.address.write_bytes(0, bytes) };
    }
    block.address.cast()
}

extern "C" fn free_c(block: *mut c_void) {
    // A block that is freed while this thread holds the heap is leaked: only fork handlers of other
    // libraries could do that.
    free(block.cast());
}

extern "C" fn resize(block: *mut c_void, bytes: usize) -> c_int {
    let done = phase() == Phase::Running && with(|heap| heap.resize(block.cast(), bytes)) == Some(true);
    c_int::from(done)
}

extern "C" fn size(block: *const c_void) -> usize {
    with(|heap| heap.size(block.cast())).flatten().unwrap_or(0)
}

/// Holds the heap across the fork, so that the child gets it in a consistent state.
extern "C" fn before_fork() {
    let Ok(process) = this() else { return };
    if INSIDE.replace(true) {
        return;
    }
    let heap = process.heap.lock().unwrap();
    let handover = if heap.is_empty() { None } else { Handover::new() };
    FORKING.set(Some(Forking { heap, handover }));
}

/// Waits until the child has its copies, because the program would change the blocks while they are
/// copied.
extern "C" fn in_parent() {
    let Some(forking) = FORKING.take() else { return };
    if let Some(handover) = forking.handover {
        handover.wait();
    }
    drop(forking.heap);
    INSIDE.set(false);
}

extern "C" fn in_child() {
    let Some(Forking { mut heap, handover }) = FORKING.take() else { return };
    let complete = heap.leave_to_parent();
    drop(heap);
    if let Some(handover) = handover {
        handover.finish();
    }
    INSIDE.set(false);
    if !complete {
        fork::say(
            "towpath: there is no memory for a child process to copy the shared blocks of its parent; it must not use them.\n",
        );
    }
}
