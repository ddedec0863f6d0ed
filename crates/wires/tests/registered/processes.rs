//! Memory of another process: private memory, which the kernel copies, and heaps.

use super::{LENGTH, Memory, Silence, deregister, get, put, set_pid};
use crate::machine::wires;
use crate::settings;
use towpath_base::ids::PeerIndex;
use towpath_machine::pages::Pages;
use towpath_transport::{AccessError, MemoryKey, MemoryWire, RemoteRange, Wire};
use towpath_wires::Wires;

/// A forked child that repeats one function; killed and reaped when dropped.
struct Child(libc::pid_t);

impl Child {
    /// # Safety
    /// `work` must be safe after a fork of a process with threads: no allocation, lock or panic.
    unsafe fn fork(mut work: impl FnMut()) -> Child {
        // SAFETY: the child does nothing but `work`, which is safe then (this function's contract).
        match unsafe { libc::fork() } {
            0 => {
                // SAFETY: `prctl` accesses no memory here. If the test is killed, so is the child.
                unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
                loop {
                    work();
                }
            }
            child => {
                assert!(child > 0, "{}", std::io::Error::last_os_error());
                Child(child)
            }
        }
    }

    fn idle() -> Child {
        // SAFETY: `pause` accesses no memory.
        unsafe { Child::fork(|| _ = libc::pause()) }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // SAFETY: the child was forked by this test and has not been waited for, so the PID is
        // still its own; `waitpid` writes no status.
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
    let child = Child::idle();
    set_pid(wires[1].segment(), child.0 as u32);
    put(&mut wires[0], 1, keys[0], 70_000, b"written").unwrap();
    assert_eq!(get(&mut wires[0], 1, keys[0], 69_999, 9), Ok(b"\0written\0".to_vec()));
    assert_eq!(memory.byte(70_000), 0, "it was written into the child, not here");
    drop(child);
    let refused = Err(AccessError::NotOffered);
    assert_eq!(put(&mut wires[0], 1, keys[0], 0, b"late"), refused);
    assert_eq!(get(&mut wires[0], 1, keys[0], 0, 1).map(|_| ()), refused);
    // Memory in a heap outlives its owner.
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
    let page = Pages::new(4096).unwrap();
    // SAFETY: nothing else accesses the page.
    let refused = unsafe { libc::mprotect(page.pointer().cast(), 4096, libc::PROT_NONE) };
    assert_eq!(refused, 0);
    // SAFETY: the page is not readable, against the contract, but only the kernel copies it.
    let key = unsafe { wires[1].register(page.pointer(), 4096) }.unwrap();
    assert_eq!(put(&mut wires[0], 1, key, 0, &[1]), Err(AccessError::Failed));
    assert_eq!(get(&mut wires[0], 1, key, 0, 1), Err(AccessError::Failed));
    assert_eq!(get(&mut wires[0], 1, key, 0, 0), Ok(Vec::new()));
    deregister(&mut wires[1], key);
}

/// A child that acts as the process of `origin`, and writes to the memory of rank 1 or reads it.
fn accessing_child(origin: &mut Wires, key: MemoryKey, puts: bool) -> Child {
    let mut bytes = vec![WRITTEN; LENGTH];
    let (owner, range) =
        (PeerIndex(1), RemoteRange { key, offset: EDGE, length: LENGTH - 2 * EDGE });
    // SAFETY: `bytes` lives as long as the child, is longer than the range, and is no registered
    // memory. An access in shared memory only copies.
    unsafe {
        Child::fork(|| {
            _ = match puts {
                true => origin.put(owner, range, bytes.as_ptr()),
                false => origin.get(owner, range, bytes.as_mut_ptr()),
            }
        })
    }
}

/// What such a child writes.
const WRITTEN: u8 = 3;
/// Bytes at each end of the memory that the child does not access.
const EDGE: usize = 1000;

/// Registers memory of rank 1, and kills processes of rank 0 that access it until one has died in
/// the middle of an access. Returns the key, which `deregister` has already revoked.
fn die_in_an_access(wires: &mut [Wires], memory: &Memory, puts: bool) -> MemoryKey {
    for milliseconds in 1..1000 {
        let key = memory.register(&mut wires[1]);
        let child = accessing_child(&mut wires[0], key, puts);
        std::thread::sleep(std::time::Duration::from_millis(milliseconds));
        drop(child);
        if !wires[1].deregister(key) {
            return key;
        }
    }
    panic!("no process has died in the middle of an access");
}

#[test]
fn an_origin_that_dies_in_the_middle_of_an_access_is_not_waited_for() {
    // SAFETY: `prctl` accesses no memory here. Children may then access this process's memory where
    // Yama forbids it.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY) };
    for (heap, puts) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut wires = wires(3, settings());
        set_pid(wires[1].segment(), std::process::id());
        let memory = if heap { Memory::in_heap(wires[1].segment()) } else { Memory::private() };
        let key = die_in_an_access(&mut wires, &memory, puts);
        assert!(!wires[1].deregister(key), "the access is not known to have ended");
        wires[1].mark_lost(PeerIndex(0));
        assert!(wires[1].deregister(key), "a lost origin is waited for");
        assert_eq!(put(&mut wires[2], 1, key, 0, &[1]), Err(AccessError::BadKey));
        let inside = |at: usize| (EDGE..LENGTH - EDGE).contains(&at);
        assert!((0..LENGTH).all(|at| {
            let byte = memory.byte(at);
            byte == 0 || puts && inside(at) && byte == WRITTEN
        }));
        // The row and the memory can be used again, by the owner and by other peers.
        let next = memory.register(&mut wires[1]);
        put(&mut wires[2], 1, next, 0, &[9; LENGTH]).unwrap();
        assert_eq!(get(&mut wires[1], 1, next, 0, LENGTH), Ok(vec![9; LENGTH]));
        wires[1].progress(&mut Silence);
        assert!(wires[1].deregister(next));
    }
}
