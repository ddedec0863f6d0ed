//! Kills and reaps the child processes that run a trial or a query for this process.

use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, waitpid};

/// Kills a child that has not been reaped, and reaps it. Returns its wait status, which may be from
/// before the kill; `None` if it is not a child.
pub fn end(child: i32) -> Option<WaitStatus> {
    let child = Pid::from_raw(child)?;
    // A child that has ended already is not an error.
    let _ = kill_process(child, Signal::KILL);
    wait(child)
}

/// Reaps a child; `None` if it is not a child.
fn wait(child: Pid) -> Option<WaitStatus> {
    let ended = retry_on_intr(|| waitpid(Some(child), WaitOptions::empty()));
    ended.ok().flatten().map(|(_, status)| status)
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use super::*;

    extern "C" fn do_nothing(_: libc::c_int) {}

    #[test]
    fn a_signal_does_not_end_the_wait() {
        let handler = do_nothing as extern "C" fn(libc::c_int);
        // SAFETY: an action of zeros has no flags, so the signal interrupts system calls, and an
        // empty mask. The handler does nothing, so it may run at any time. `pthread_self` has no
        // precondition.
        let waiter = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as libc::sighandler_t;
            assert_eq!(libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()), 0);
            libc::pthread_self()
        };
        let mut child = Command::new("sleep").arg("0.5").spawn().unwrap();
        let status = std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..10 {
                    std::thread::sleep(Duration::from_millis(20));
                    // SAFETY: the waiting thread lives until the end of the scope.
                    unsafe { libc::pthread_kill(waiter, libc::SIGUSR1) };
                }
            });
            wait(Pid::from_raw(child.id() as i32).unwrap())
        });
        assert_eq!(status.and_then(WaitStatus::exit_status), Some(0));
        assert!(child.wait().is_err(), "it has been waited for");
    }
}
