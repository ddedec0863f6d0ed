//! What happens around a fork of this process: functions before and after it, and a parent that
//! waits for its child.

use std::os::fd::OwnedFd;

use rustix::pipe::{PipeFlags, pipe_with};

/// Has functions called around each fork(): `before` it, then one in either process, in the thread
/// that forks. False where the system cannot remember them. Processes made by vfork, posix_spawn or
/// clone call none of them.
pub fn around(before: extern "C" fn(), in_parent: extern "C" fn(), in_child: extern "C" fn()) -> bool {
    let function = |function: extern "C" fn()| Some(function as unsafe extern "C" fn());
    // SAFETY: the functions live as long as this library, which is never unloaded, and may be
    // called at any time.
    unsafe { libc::pthread_atfork(function(before), function(in_parent), function(in_child)) == 0 }
}

/// Has a function called in each child that fork() makes from now on, in its only thread. False
/// where the system cannot remember it. Processes made by vfork, posix_spawn or clone do not call
/// it.
pub fn in_child(function: extern "C" fn()) -> bool {
    let function: unsafe extern "C" fn() = function;
    // SAFETY: the function lives as long as this library, which is never unloaded, and may be
    // called at any time.
    unsafe { libc::pthread_atfork(None, None, Some(function)) == 0 }
}

/// A line on standard error, without any lock that another thread may have held when this process
/// was forked.
pub fn say(line: &str) {
    let _ = rustix::io::write(rustix::stdio::stderr(), line.as_bytes());
}

/// A parent that waits until its child has done something, made before the fork.
#[derive(Debug)]
pub struct Handover {
    done: OwnedFd,
    doing: OwnedFd,
}

impl Handover {
    /// `None` where the process has no descriptors left.
    pub fn new() -> Option<Handover> {
        let (done, doing) = pipe_with(PipeFlags::CLOEXEC).ok()?;
        Some(Handover { done, doing })
    }

    /// The child: it is done. Its end says the same.
    pub fn finish(self) {}

    /// The parent: waits until the child is done, or has ended.
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
            // SAFETY: the child calls only what is safe after a fork, and leaves without running
            // what belongs to its parent.
            let child = unsafe { libc::fork() };
            if child == 0 {
                let _ = rustix::io::write(&marked, b"x");
                if !ends {
                    handover.finish();
                    std::thread::sleep(std::time::Duration::from_millis(20));
                }
                // SAFETY: ends this process at once.
                unsafe { libc::_exit(0) };
            }
            handover.wait();
            rustix::io::ioctl_fionbio(&mark, true).unwrap();
            assert_eq!(rustix::io::read(&mark, &mut [0; 8]), Ok(1), "the parent did not wait");
            // SAFETY: the child is this process's, and NULL is allowed for its status.
            unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
        }
    }
}
