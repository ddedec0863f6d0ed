//! Memory that the ranks of a host share, as the program gets it: by MPI_Alloc_mem, and by malloc
//! where `libtowpath-malloc.so` is preloaded.
//!
//! While this thread changes the heap it may itself call malloc, which then must not come back
//! here: such a block is the C library's. The same holds for functions of others that run between
//! the two halves of a fork.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::{MutexGuard, OnceLock};

use towpath_base::config;
use towpath_machine::fork::{self, Handover};
use towpath_machine::malloc;
use towpath_shm::Heap;

use crate::world::{self, Phase, World};

thread_local! {
    /// This thread holds the heap.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    /// What is held while this thread forks.
    static FORKING: Cell<Option<Forking>> = const { Cell::new(None) };
}

struct Forking {
    heap: MutexGuard<'static, Heap>,
    handover: Option<Handover>,
}

/// Acts on the heap; `None` where there is none, or this thread holds it already.
fn with<T>(act: impl FnOnce(&mut Heap) -> T) -> Option<T> {
    let world = world::world().ok()?;
    if INSIDE.replace(true) {
        return None;
    }
    let done = act(&mut world.heap.lock().unwrap());
    INSIDE.set(false);
    Some(done)
}

/// A block; `None` where it is too small to be shared, or there is no room: then private memory
/// does as well.
pub(crate) fn allocate(bytes: usize, alignment: usize) -> Option<*mut u8> {
    with(|heap| heap.allocate(bytes, alignment))?
}

/// Frees a block; false when it is none.
pub(crate) fn free(block: *mut u8) -> bool {
    with(|heap| heap.free(block)) == Some(true)
}

/// Once, when MPI starts: children get copies of the blocks, and malloc takes large blocks from
/// here if it asks to.
pub(crate) fn open(world: &'static World) {
    let refusal = attach(&world.heap.lock().unwrap());
    if let Some(why) = refusal
        && config::number("TOWPATH_MALLOC") == Some(1)
        && world.job.rank == 0
    {
        world::say_lines(&format!("towpath: TOWPATH_MALLOC has no effect, because {why}."));
    }
}

/// Why malloc does not take blocks from the heap.
fn attach(heap: &Heap) -> Option<&'static str> {
    static TABLE: OnceLock<malloc::Heap> = OnceLock::new();
    let Some(begin) = heap.address() else {
        return Some("the ranks' heaps are switched off (TOWPATH_HEAP=0) or could not be mapped");
    };
    let remembered = fork::around(before_fork, in_parent, in_child);
    if !heap.is_boundless() {
        return Some(
            "shared memory is limited: memfd_create is not allowed here, and /dev/shm or TMPDIR takes its place",
        );
    }
    let (begin, length) = (begin as usize, heap.bytes());
    let table = || malloc::Heap { begin, length, allocate: allocate_c, resize, free: free_c, size };
    let attached = remembered && malloc::attach(TABLE.get_or_init(table));
    let missing = "libtowpath-malloc.so is not preloaded: start the job with Towpath's mpiexec, or name the library in LD_PRELOAD";
    (!attached).then_some(missing)
}

extern "C" fn allocate_c(bytes: usize, alignment: usize, zeroed: c_int) -> *mut c_void {
    if world::phase() != Phase::Running {
        return std::ptr::null_mut();
    }
    let Some(Some(block)) = with(|heap| heap.allocate_for_malloc(bytes, alignment)) else {
        return std::ptr::null_mut();
    };
    if zeroed != 0 && !block.zeroed {
        // SAFETY: the block has so many bytes, and nobody else knows it yet.
        unsafe { block.address.write_bytes(0, bytes) };
    }
    block.address.cast()
}

extern "C" fn free_c(block: *mut c_void) {
    // A block that is freed while this thread holds the heap stays taken: only other libraries'
    // functions around a fork could do that.
    free(block.cast());
}

extern "C" fn resize(block: *mut c_void, bytes: usize) -> c_int {
    let done = world::phase() == Phase::Running && with(|heap| heap.resize(block.cast(), bytes)) == Some(true);
    c_int::from(done)
}

extern "C" fn size(block: *const c_void) -> usize {
    with(|heap| heap.size(block.cast())).flatten().unwrap_or(0)
}

/// Holds the heap over the fork, so that the child gets it whole.
extern "C" fn before_fork() {
    let Ok(world) = world::world() else { return };
    if INSIDE.replace(true) {
        return;
    }
    let heap = world.heap.lock().unwrap();
    let handover = if heap.is_empty() { None } else { Handover::new() };
    FORKING.set(Some(Forking { heap, handover }));
}

/// Waits until the child has its copies: the program would change what is being copied.
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
            "towpath: a child process has no memory for copies of its parent's shared blocks, and must not use them.\n",
        );
    }
}
