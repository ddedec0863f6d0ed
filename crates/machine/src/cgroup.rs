//! What the control groups of this process allow: processor quota and memory, for hierarchies of version 1 and 2.
//!
//! A container usually sees its own group mounted at the root, a service sees the path that /proc/self/cgroup names;
//! both are looked at, and every ancestor counts, because each of them can set a limit.

use std::fs;
use std::path::{Path, PathBuf};

/// The directories, from own group to root, that hold files of a controller (`cpu`, `memory`).
fn directories(controller: &str) -> Vec<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let roots: Vec<PathBuf> = if controllers.is_empty() {
            vec!["/sys/fs/cgroup".into(), "/sys/fs/cgroup/unified".into()]
        } else if controllers.split(',').any(|c| c == controller) {
            vec![format!("/sys/fs/cgroup/{controllers}").into(), format!("/sys/fs/cgroup/{controller}").into()]
        } else {
            continue;
        };
        for root in roots {
            let own = root.join(path.trim_start_matches('/'));
            found.extend(own.ancestors().take_while(|at| at.starts_with(&root)).map(Path::to_owned));
        }
    }
    found.dedup();
    found
}

fn number(path: PathBuf) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Cores' worth of processor time that the groups grant, rounded up; `None` without a quota.
pub fn processor_quota() -> Option<usize> {
    directories("cpu").iter().filter_map(|at| quota_of(at)).min()
}

fn quota_of(group: &Path) -> Option<usize> {
    let version2 = fs::read_to_string(group.join("cpu.max")).ok().and_then(|text| parse_cpu_max(&text));
    version2.or_else(|| {
        let quota = number(group.join("cpu.cfs_quota_us"))?;
        Some(cores(quota, number(group.join("cpu.cfs_period_us"))?))
    })
}

/// "max 100000" or "150000 100000".
fn parse_cpu_max(text: &str) -> Option<usize> {
    let mut words = text.split_whitespace();
    let quota = words.next()?.parse().ok()?;
    Some(cores(quota, words.next()?.parse().ok()?))
}

fn cores(quota: u64, period: u64) -> usize {
    quota.div_ceil(period.max(1)).max(1) as usize
}

/// Bytes that may still be taken before a group's memory limit is reached; `None` without a limit.
pub fn memory_headroom() -> Option<u64> {
    directories("memory").iter().filter_map(|at| headroom_of(at)).min()
}

fn headroom_of(group: &Path) -> Option<u64> {
    let (limit, used, reclaimable) = match number(group.join("memory.max")) {
        Some(limit) => (limit, number(group.join("memory.current"))?, "inactive_file"),
        None => {
            let limit = number(group.join("memory.limit_in_bytes")).filter(|limit| *limit < 1 << 62)?;
            (limit, number(group.join("memory.usage_in_bytes"))?, "total_inactive_file")
        }
    };
    // Cached file pages count as used, but the kernel drops them before it refuses anything.
    let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let cached = stat.lines().find_map(|line| line.strip_prefix(reclaimable)?.trim().parse::<u64>().ok()).unwrap_or(0);
    Some(limit.saturating_sub(used.saturating_sub(cached)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quota_counts_started_cores() {
        assert_eq!(parse_cpu_max("max 100000\n"), None);
        assert_eq!(parse_cpu_max("150000 100000\n"), Some(2));
        assert_eq!(parse_cpu_max("20000 100000\n"), Some(1));
        assert_eq!(parse_cpu_max(""), None);
    }

    #[test]
    fn headroom_reads_both_versions_of_the_files() {
        let directory = std::env::temp_dir().join(format!("towpath-cgroup-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let write = |name: &str, text: &str| fs::write(directory.join(name), text).unwrap();
        assert_eq!(headroom_of(&directory), None);
        write("memory.limit_in_bytes", "1000\n");
        write("memory.usage_in_bytes", "900\n");
        write("memory.stat", "cache 5\ntotal_inactive_file 50\n");
        assert_eq!(headroom_of(&directory), Some(150));
        write("memory.max", "500\n");
        write("memory.current", "450\n");
        assert_eq!(headroom_of(&directory), Some(50));
        fs::remove_dir_all(&directory).unwrap();
    }
}
