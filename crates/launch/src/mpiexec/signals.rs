//! Signals as events: the set that `mpiexec` answers to, read from a descriptor instead of by
//! handlers.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, OwnedFd};

/// Signals that `mpiexec` passes on to its ranks or ends the job for.
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
        // SAFETY: sigemptyset fills the set; sigaddset only refuses numbers that are no signals.
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
        // SAFETY: sigfillset fills the set.
        unsafe {
            libc::sigfillset(set.as_mut_ptr());
            Set(set.assume_init())
        }
    }

    /// The signals that `mpiexec` answers to. One that its parent has told it to ignore (nohup, a
    /// shell's background job) stays ignored.
    pub(crate) fn answered() -> Set {
        let wanted: Vec<i32> = ANSWERED.iter().copied().filter(|&signal| !is_ignored(signal)).collect();
        Set::of(&wanted)
    }

    /// Makes this the mask of blocked signals and returns the mask before.
    pub(crate) fn block(&self) -> Set {
        let mut before = Set::of(&[]);
        // SAFETY: both point to whole sets; the process has one thread.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &self.0, &mut before.0) };
        before
    }

    /// A descriptor from which the blocked signals of the set are read.
    ///
    /// # Errors
    /// What the system said.
    pub(crate) fn descriptor(&self) -> io::Result<OwnedFd> {
        // SAFETY: the set is whole; the result is checked.
        let number = unsafe { libc::signalfd(-1, &self.0, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if number < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the system has just given this descriptor to us.
        Ok(unsafe { OwnedFd::from_raw_fd(number) })
    }
}

fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: with no new action, sigaction only writes the present one.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr());
        action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// Lets this process learn how its children end. Where its parent ignores SIGCHLD, which survives
/// exec, the system would keep that to itself.
pub(crate) fn notice_ends_of_children() {
    // SAFETY: sets the action of one signal to the system's own; no handler of this process is
    // replaced.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// The next signal read from a descriptor; `None` when there is none.
///
/// # Errors
/// The system's error when signals cannot be read.
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

/// Sends a signal to a process (`pid` > 0) or a process group (`pid` < 0); one that is gone is no
/// error. False when the system forbids it.
pub(crate) fn send(pid: i32, signal: i32) -> bool {
    if (-1..=0).contains(&pid) {
        return false;
    }
    // SAFETY: kill touches no memory of this process.
    unsafe { libc::kill(pid, signal) == 0 || super::start::errno() == libc::ESRCH }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_and_everybody_are_never_signalled() {
        // Would end the test process, its group, or everything the user runs.
        assert!(!send(0, libc::SIGKILL) && !send(-1, libc::SIGKILL));
    }
}
