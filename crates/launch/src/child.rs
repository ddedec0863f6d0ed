//! Ends child processes that answer a question for this one.

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, waitpid};

/// Kills a child that has not been waited for, and waits for it. Returns how it ended, perhaps
/// before it was killed; `None` if it was not a child.
pub(crate) fn end(child: i32) -> Option<WaitStatus> {
    let child = Pid::from_raw(child)?;
    // A child that has ended already is not an error.
    let _ = kill_process(child, Signal::KILL);
    waitpid(Some(child), WaitOptions::empty()).ok().flatten().map(|(_, status)| status)
}
