//! Signals as events: `mpiexec` reads the signals that it handles from a descriptor (signalfd)
//! instead of installing handlers.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, OwnedFd};

/// Signals that `mpiexec` forwards to its ranks or that end the job.
const ANSWERED: &[i32] = &[
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTSTP,
    libc::SIGCONT,
];

/// A set of signals.
#[derive(Clone, Copy)]
pub(crate) struct Set(libc::sigset_t);

impl Set {
    pub(crate) fn of(signals: &[i32]) -> Set {
        let mut set = MaybeUninit::uninit();
        // SAFETY: `sigemptyset` initializes the set; `sigaddset` rejects numbers that are not
        // signals.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for &signal in signals {
                libc::sigaddset(set.as_mut_ptr(), signal);
            }
            Set(set.assume_init())
        }
    }

    pub(crate) fn all() -> Set {
        let mut set = MaybeUninit::uninit();
        // SAFETY: `sigfillset` initializes the set.
        unsafe {
            libc::sigfillset(set.as_mut_ptr());
            Set(set.assume_init())
        }
    }

    /// The signals that `mpiexec` handles. A signal that its parent has set to be ignored (nohup, a
    /// shell's background job) stays ignored.
    pub(crate) fn answered() -> Set {
        let wanted: Vec<i32> =
            ANSWERED.iter().copied().filter(|&signal| !is_ignored(signal)).collect();
        Set::of(&wanted)
    }

    /// Makes this the mask of blocked signals and returns the previous mask.
    pub(crate) fn block(&self) -> Set {
        let mut before = Set::of(&[]);
        // SAFETY: both pointers are to initialized sets. The process has a single thread, as
        // `sigprocmask` requires.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &self.0, &mut before.0) };
        before
    }

    /// Creates a signalfd from which the blocked signals of the set are read.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn descriptor(&self) -> io::Result<OwnedFd> {
        // SAFETY: the set is initialized, and the result is checked.
        let number = unsafe { libc::signalfd(-1, &self.0, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if number < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `signalfd` has just created this descriptor, so nothing else owns it.
        Ok(unsafe { OwnedFd::from_raw_fd(number) })
    }
}

fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action, `sigaction` only writes the current one to `action`, which is
    // all zero, and thus valid, if the call fails.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr());
        action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// Sets SIGCHLD to its default, so that this process can wait for its children. If the parent
/// ignored SIGCHLD, which survives exec, the kernel would reap them silently.
pub(crate) fn notice_ends_of_children() {
    // SAFETY: sets the action of one signal to the default; no handler runs any more.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// Reads the next signal from a signalfd; `None` if none is pending.
///
/// # Errors
/// The errno if signals cannot be read.
pub(crate) fn next(descriptor: &OwnedFd) -> Result<Option<i32>, i32> {
    let mut record = [0u8; size_of::<libc::signalfd_siginfo>()];
    match rustix::io::read(descriptor, &mut record) {
        // The record begins with the signal's number (signalfd(2)).
        Ok(count) if count == record.len() => {
            Ok(Some(i32::from_ne_bytes([record[0], record[1], record[2], record[3]])))
        }
        Ok(_) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(None),
        Err(error) => Err(error.raw_os_error()),
    }
}

/// Sends a signal to a process (`pid` > 0) or a process group (`pid` < -1). A process that no
/// longer exists is not an error. False if the kernel refuses.
pub(crate) fn send(pid: i32, signal: i32) -> bool {
    if (-1..=0).contains(&pid) {
        return false;
    }
    // SAFETY: `kill` accesses no memory of this process.
    unsafe { libc::kill(pid, signal) == 0 || super::start::errno() == libc::ESRCH }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_and_everybody_are_never_signalled() {
        // These would end the test process, its process group, or everything that the user runs.
        assert!(!send(0, libc::SIGKILL) && !send(-1, libc::SIGKILL));
    }
}
