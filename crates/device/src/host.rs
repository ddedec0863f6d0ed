//! Memory that is certainly host memory, so that the driver, which takes 200 ns to deny an address,
//! need not be asked: the heap that grows by `brk`, the library's own heap, and the calling
//! thread's stack.

use std::cell::Cell;
use std::ops::Range;
use std::sync::OnceLock;

/// The addresses of the library's own heap.
static OWN_HEAP: OnceLock<Range<usize>> = OnceLock::new();

/// Remembers the addresses of host memory that programs allocate from the library and that stays
/// mapped as long as the process lives.
pub fn set_own_heap(addresses: Range<usize>) {
    OWN_HEAP.get_or_init(|| addresses);
}

/// The start of the heap, as it was at the start of the program; 0 if it is not known.
#[derive(Debug)]
pub(crate) struct BrkHeap {
    start: usize,
}

impl BrkHeap {
    pub(crate) fn new() -> BrkHeap {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        // Field 47 (`start_brk`, proc_pid_stat(5)); the name before field 3 may contain spaces.
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
        let start = fields.split_whitespace().nth(47 - 3);
        BrkHeap { start: start.and_then(|field| field.parse().ok()).unwrap_or(0) }
    }

    fn contains(&self, address: usize) -> bool {
        // SAFETY: an increment of 0 changes nothing.
        self.start > 0 && self.start <= address && address < unsafe { libc::sbrk(0) } as usize
    }
}

thread_local! {
    /// The lowest and the end address of the thread's stack; 0 and 0 until they are asked for.
    static STACK: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// Bytes below a local variable that may be of the same function, inlined into its caller.
const FRAME: usize = 64 << 10;

/// True if the address is in a heap or in this thread's stack.
pub(crate) fn is_host(heap: &BrkHeap, address: usize) -> bool {
    let (mut lowest, mut end) = STACK.get();
    if end == 0 {
        (lowest, end) = stack();
        STACK.set((lowest, end));
    }
    // Below the stack pointer there may be other mappings: the bounds are those of its growth.
    let local = 0u8;
    let pointer = (&raw const local) as usize;
    let used = pointer.saturating_sub(FRAME)..end;
    let grown = lowest <= pointer && used.contains(&address);
    let is_own = || OWN_HEAP.get().is_some_and(|own| own.contains(&address));
    grown || heap.contains(address) || is_own()
}

/// The bounds of the calling thread's stack; those of one byte if they are not known.
#[cold]
fn stack() -> (usize, usize) {
    let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut lowest, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: the attributes are initialized by the first call, if it succeeds, and destroyed
    // after the second one has written two numbers.
    unsafe {
        let thread = libc::pthread_self();
        if libc::pthread_getattr_np(thread, attributes.as_mut_ptr()) != 0 {
            return (0, 1);
        }
        libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut lowest, &raw mut size);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
    }
    (lowest as usize, (lowest as usize).saturating_add(size).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stack_and_heap_are_host_memory_and_mappings_are_not_known_to_be() {
        let heap = BrkHeap::new();
        let local = 0u8;
        assert!(is_host(&heap, (&raw const local) as usize));
        assert!(!is_host(&heap, stack().0), "the lowest address of the stack is below its pointer");
        // SAFETY: an increment of 0 changes nothing.
        let end = unsafe { libc::sbrk(0) } as usize;
        assert!(heap.start > 0 && heap.start < end && is_host(&heap, end - 1));
        assert!(!is_host(&heap, end) && !is_host(&heap, 0) && !is_host(&heap, heap.start - 1));
        let mapped = vec![0u8; 64 << 20];
        let first = mapped.as_ptr() as usize;
        assert!(!is_host(&heap, first));
        set_own_heap(first..first + mapped.len());
        assert!(is_host(&heap, first) && !is_host(&heap, first + mapped.len()));
        std::thread::spawn(|| {
            let local = 0u8;
            assert!(is_host(&BrkHeap::new(), (&raw const local) as usize));
        })
        .join()
        .unwrap();
    }
}
