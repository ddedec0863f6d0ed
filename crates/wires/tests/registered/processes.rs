//! Memory of another process, which the kernel copies.

use super::{Memory, deregister, get, put, set_pid};
use crate::machine::wires;
use crate::settings;
use towpath_transport::{AccessError, MemoryWire};

/// A forked child that does nothing; ended and waited for when dropped.
struct Child(libc::pid_t);

impl Child {
    fn fork() -> Child {
        // SAFETY: the child only calls `pause`, which is safe after a fork of a process with
        // threads.
        match unsafe { libc::fork() } {
            0 => loop {
                // SAFETY: `pause` accesses no memory.
                unsafe { libc::pause() };
            },
            child => {
                assert!(child > 0, "{}", std::io::Error::last_os_error());
                Child(child)
            }
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // SAFETY: the child was forked by this test and has not been waited for, so the number is
        // its own; `waitpid` writes no status.
        unsafe {
            libc::kill(self.0, libc::SIGKILL);
            libc::waitpid(self.0, std::ptr::null_mut(), 0);
        }
    }
}

#[test]
fn private_memory_of_another_process_is_reached_until_that_process_dies() {
    let mut wires = wires(2, settings());
    let (memory, shared) = (Memory::private(), Memory::in_heap(wires[1].segment()));
    let keys = [&memory, &shared].map(|memory| memory.register(&mut wires[1]));
    // The child has a copy of the memory, and of what identifies its owner: it takes the place of
    // rank 1.
    let child = Child::fork();
    set_pid(wires[1].segment(), child.0 as u32);
    put(&mut wires[0], 1, keys[0], 70_000, b"written").unwrap();
    assert_eq!(get(&mut wires[0], 1, keys[0], 69_999, 9), Ok(b"\0written\0".to_vec()));
    assert_eq!(memory.byte(70_000), 0, "it was written into the child, not here");
    drop(child);
    let refused = Err(AccessError::NotOffered);
    assert_eq!(put(&mut wires[0], 1, keys[0], 0, b"late"), refused);
    assert_eq!(get(&mut wires[0], 1, keys[0], 0, 1).map(|_| ()), refused);
    // What is in a heap outlives its owner.
    put(&mut wires[0], 1, keys[1], 0, b"kept").unwrap();
    assert_eq!(shared.byte(3), b't');
    keys.into_iter().for_each(|key| deregister(&mut wires[1], key));
}

#[test]
fn private_memory_that_the_kernel_does_not_copy_is_not_offered_and_a_heap_is() {
    let mut wires = wires(2, settings());
    for pid in [0, i32::MAX as u32, 1] {
        set_pid(wires[1].segment(), pid);
        let (memory, shared) = (Memory::private(), Memory::in_heap(wires[1].segment()));
        let keys = [&memory, &shared].map(|memory| memory.register(&mut wires[1]));
        for length in [0, 1] {
            let read = get(&mut wires[0], 1, keys[0], 0, length);
            assert_eq!(read, Err(AccessError::NotOffered), "{length} bytes of process {pid}");
            assert_eq!(get(&mut wires[1], 1, keys[0], 0, length), Ok(vec![0; length]));
            assert_eq!(get(&mut wires[0], 1, keys[1], 0, length), Ok(vec![0; length]));
        }
        assert_eq!(put(&mut wires[0], 1, keys[0], 0, &[1]), Err(AccessError::NotOffered));
        assert_eq!(memory.byte(0), 0);
        keys.into_iter().for_each(|key| deregister(&mut wires[1], key));
    }
}

#[test]
fn a_copy_that_the_kernel_breaks_off_is_an_error() {
    let mut wires = wires(2, settings());
    set_pid(wires[1].segment(), std::process::id());
    // SAFETY: the kernel chooses the address.
    let page = unsafe {
        let (none, flags) = (std::ptr::null_mut(), libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        libc::mmap(none, 4096, libc::PROT_NONE, flags, -1, 0)
    };
    assert_ne!(page, libc::MAP_FAILED);
    // SAFETY: the page is not readable, against the contract, but only the kernel copies it.
    let key = unsafe { wires[1].register(page.cast(), 4096) }.unwrap();
    assert_eq!(put(&mut wires[0], 1, key, 0, &[1]), Err(AccessError::Failed));
    assert_eq!(get(&mut wires[0], 1, key, 0, 1), Err(AccessError::Failed));
    assert_eq!(get(&mut wires[0], 1, key, 0, 0), Ok(Vec::new()));
    deregister(&mut wires[1], key);
    // SAFETY: nothing refers to the page any more.
    unsafe { libc::munmap(page, 4096) };
}
