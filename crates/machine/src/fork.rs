//! Fork handlers, and a parent that waits for its child.

use std::os::fd::OwnedFd;

use rustix::pipe::{PipeFlags, pipe_with};

/// Registers functions to be called around each fork() in the forking thread: `before` it, then one
/// in each of the two processes. False if the system cannot register them. vfork, posix_spawn and
/// clone call none of them.
pub fn around(
    before: extern "C" fn(),
    in_parent: extern "C" fn(),
    in_child: extern "C" fn(),
) -> bool {
    let function = |function: extern "C" fn()| Some(function as unsafe extern "C" fn());
    // SAFETY: the functions are safe to call at any time, and this library is never unloaded.
    unsafe { libc::pthread_atfork(function(before), function(in_parent), function(in_child)) == 0 }
}

/// Registers a function to be called in each child of a later fork(), in its only thread. False if
/// the system cannot register it. vfork, posix_spawn and clone do not call it.
pub fn in_child(function: extern "C" fn()) -> bool {
    let function: unsafe extern "C" fn() = function;
    // SAFETY: the function is safe to call at any time, and this library is never unloaded.
    unsafe { libc::pthread_atfork(None, None, Some(function)) == 0 }
}

/// Writes to standard error without taking a lock that another thread may have held when this
/// process was forked.
pub fn say(line: &str) {
    let _ = rustix::io::write(rustix::stdio::stderr(), line.as_bytes());
}

/// Lets a parent wait until its child has completed a step; created before the fork.
#[derive(Debug)]
pub struct Handover {
    done: OwnedFd,
    doing: OwnedFd,
}

impl Handover {
    /// `None` if the process has no descriptors left.
    pub fn new() -> Option<Handover> {
        let (done, doing) = pipe_with(PipeFlags::CLOEXEC).ok()?;
        Some(Handover { done, doing })
    }

    /// Signals completion, in the child. Termination of the child has the same effect.
    pub fn finish(self) {}

    /// Waits, in the parent, until the child has completed the step or ended. **Blocks.**
    pub fn wait(self) {
        drop(self.doing);
        while rustix::io::read(&self.done, &mut [0; 1]) == Err(rustix::io::Errno::INTR) {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_waits_until_its_child_is_done_or_has_ended() {
        for ends in [false, true] {
            let handover = Handover::new().unwrap();
            let (mark, marked) = pipe_with(PipeFlags::CLOEXEC).unwrap();
            // SAFETY: the child calls only async-signal-safe functions and leaves by `_exit`,
            // without running handlers or destructors of its parent.
            let child = unsafe { libc::fork() };
            if child == 0 {
                let _ = rustix::io::write(&marked, b"x");
                if !ends {
                    handover.finish();
                    std::thread::sleep(std::time::Duration::from_millis(20));
                }
                // SAFETY: `_exit` takes no pointers.
                unsafe { libc::_exit(0) };
            }
            handover.wait();
            rustix::io::ioctl_fionbio(&mark, true).unwrap();
            assert_eq!(rustix::io::read(&mark, &mut [0; 8]), Ok(1), "the parent did not wait");
            // SAFETY: `waitpid` accepts NULL for the status.
            unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
        }
    }
}
