//! Ending everything that hangs below this process. With PR_SET_CHILD_SUBREAPER set, whatever loses
//! its parent below us becomes our child, also after `setsid` or a double fork; so "kill all
//! children, reap, again until there are none" reaches every descendant.

use std::time::Duration;

use super::signals;

/// Makes this process the parent of all orphans below it.
pub(crate) fn adopt_orphans() {
    // SAFETY: changes one attribute of this process.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

/// The children of this process.
pub(crate) fn children() -> Vec<i32> {
    let own = std::process::id();
    match std::fs::read_to_string(format!("/proc/self/task/{own}/children")) {
        Ok(list) => list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect(),
        Err(_) => children_by_search(own),
    }
}

/// For kernels without the list of children: looks at the parent of every process.
fn children_by_search(own: u32) -> Vec<i32> {
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    processes
        .flatten()
        .filter_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let status = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            // The name in parentheses may hold anything; after it come state and parent.
            let parent: u32 = status.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
            (parent == own).then_some(pid)
        })
        .collect()
}

/// What waiting for any child gave.
pub(crate) enum Reaped {
    /// This child has ended with this status.
    Child(i32, i32),
    /// Children live, none has ended.
    NoneEnded,
    /// There is no child.
    NoChild,
    /// The system does not say: its error.
    Failed(i32),
}

/// Looks for a child that has ended.
pub(crate) fn reap() -> Reaped {
    let mut status = 0;
    // SAFETY: waitpid writes one status.
    match unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) } {
        0 => Reaped::NoneEnded,
        pid if pid > 0 => Reaped::Child(pid, status),
        _ => match super::start::errno() {
            libc::EINTR => Reaped::NoneEnded,
            libc::ECHILD => Reaped::NoChild,
            error => Reaped::Failed(error),
        },
    }
}

/// Kills all children but `spared`, and all that become children thereby, until none is left or
/// `limit` is over. Every child that ends is told to `ended`.
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
                // Without news of their ends, they have been killed once.
                Reaped::NoChild | Reaped::Failed(_) => return,
            }
        }
        // Those that nobody may kill end by their parent-death signal, when this process ends.
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
