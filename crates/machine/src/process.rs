//! Termination of this process, descriptors of other ones, and the kernel of both.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

/// Ends the process without running `atexit` handlers or library destructors. For callers that run
/// inside one of these, where `exit` must not be called again.
pub fn exit_without_handlers(code: i32) -> ! {
    // SAFETY: `_exit` takes no pointers and does not return.
    unsafe { libc::_exit(code) }
}

/// Duplicates a file descriptor of another process (Linux 5.6). Needs the same permission as
/// [`crate::memory::read_process`]. The caller must know that the descriptor is the one meant: the
/// other process may close it and use its number for another file at any time.
///
/// # Errors
/// The kernel's error: not permitted, unknown to it, no such process, no such descriptor.
pub fn descriptor_of(pid: u32, number: i32) -> std::io::Result<OwnedFd> {
    if number < 0 {
        return Err(Errno::BADF.into());
    }
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let process = pidfd_open(pid.ok_or(Errno::SRCH)?, PidfdFlags::empty())?;
    Ok(pidfd_getfd(process, number, PidfdGetfdFlags::empty())?)
}

/// A text that is the same in two processes exactly if they run on one kernel since one boot;
/// `None` if the kernel does not say.
pub fn boot_id() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let id = text.trim();
    (!id.is_empty()).then(|| id.to_owned())
}

/// Keeps a descriptor from programs that this process starts.
pub fn close_on_exec(descriptor: &OwnedFd) {
    // It fails only for a descriptor that is not open.
    let _ = rustix::io::fcntl_setfd(descriptor, rustix::io::FdFlags::CLOEXEC);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::os::fd::AsRawFd as _;

    #[test]
    fn a_descriptor_is_duplicated() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let own = std::process::id();
        let copy = descriptor_of(own, writer.as_raw_fd()).unwrap();
        assert_ne!(copy.as_raw_fd(), writer.as_raw_fd());
        drop(writer);
        std::fs::File::from(copy).write_all(b"here").unwrap();
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "here");
    }

    #[test]
    fn what_does_not_exist_is_an_error() {
        for (pid, number) in [(0, 0), (u32::MAX, 0), (std::process::id(), -1)] {
            assert!(descriptor_of(pid, number).is_err(), "process {pid}, descriptor {number}");
        }
    }
}
