//! Ends all descendants of this process. With PR_SET_CHILD_SUBREAPER set, every process below this
//! one that loses its parent becomes its child, even after `setsid` or a double fork. Killing and
//! reaping all children until none is left therefore reaches every descendant.

use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{WaitOptions, set_child_subreaper, wait};

use super::signals;

/// Makes this process the parent of all orphaned descendants.
pub(crate) fn adopt_orphans() {
    // Linux has the attribute since version 3.4, and any process may set it.
    let _ = set_child_subreaper(Some(rustix::process::getpid()));
}

/// The children of this process.
pub(crate) fn children() -> Vec<i32> {
    let own = std::process::id();
    match std::fs::read_to_string(format!("/proc/self/task/{own}/children")) {
        Ok(list) => list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect(),
        Err(_) => children_by_search(own),
    }
}

/// For kernels that do not list a process's children: checks the parent of every process.
fn children_by_search(own: u32) -> Vec<i32> {
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    processes
        .flatten()
        .filter_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let status = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            // The name in parentheses may contain anything; state and parent follow it.
            let parent: u32 = status.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
            (parent == own).then_some(pid)
        })
        .collect()
}

/// Result of waiting for any child.
pub(crate) enum Reaped {
    /// This child has ended with this status.
    Child(i32, i32),
    /// There are children, but none has ended.
    NoneEnded,
    /// There are no children.
    NoChild,
    /// `waitpid` failed with this errno.
    Failed(i32),
}

/// Reaps a child that has ended, if there is one.
pub(crate) fn reap() -> Reaped {
    match wait(WaitOptions::NOHANG) {
        Ok(Some((pid, status))) => Reaped::Child(pid.as_raw_nonzero().get(), status.as_raw()),
        Ok(None) | Err(Errno::INTR) => Reaped::NoneEnded,
        Err(Errno::CHILD) => Reaped::NoChild,
        Err(error) => Reaped::Failed(error.raw_os_error()),
    }
}

/// Kills all children except `spared`, and all processes that become children as a result, until
/// none is left or `limit` has passed. Calls `ended` for each child that ends.
pub(crate) fn kill_all(spared: &[i32], limit: Duration, mut ended: impl FnMut(i32, i32)) {
    let begin = std::time::Instant::now();
    let mut pause = Duration::from_micros(100);
    while begin.elapsed() < limit {
        let doomed: Vec<i32> = children().into_iter().filter(|pid| !spared.contains(pid)).collect();
        let sent = doomed.iter().filter(|&&pid| signals::send(pid, libc::SIGKILL)).count();
        loop {
            match reap() {
                Reaped::Child(pid, status) => ended(pid, status),
                Reaped::NoneEnded => break,
                // After a failure no exit can be observed, but all children have been killed once.
                Reaped::NoChild | Reaped::Failed(_) => return,
            }
        }
        // Children that this user may not kill end by their parent-death signal when this process
        // ends.
        let forbidden = sent == 0 && !doomed.is_empty();
        if forbidden || doomed.is_empty() && !spared.is_empty() {
            return;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_listing_children_agree() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let found = children_by_search(std::process::id());
        assert!(found.contains(&(child.id() as i32)));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
