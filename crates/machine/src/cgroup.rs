//! Limits set by the control groups of this process: processor quota and memory, for cgroup
//! versions 1 and 2.
//!
//! A container usually sees its own group mounted at the root, whereas a service sees the path in
//! /proc/self/cgroup. Both are checked, with all ancestors, because each of them can set a limit.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The directories with files of a controller (`cpu`, `memory`), from the process's own group to
/// the root.
fn directories(controller: &str) -> Vec<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let roots: Vec<PathBuf> = if controllers.is_empty() {
            vec!["/sys/fs/cgroup".into(), "/sys/fs/cgroup/unified".into()]
        } else if controllers.split(',').any(|c| c == controller) {
            vec![
                format!("/sys/fs/cgroup/{controllers}").into(),
                format!("/sys/fs/cgroup/{controller}").into(),
            ]
        } else {
            continue;
        };
        for root in roots {
            let own = root.join(path.trim_start_matches('/'));
            found
                .extend(own.ancestors().take_while(|at| at.starts_with(&root)).map(Path::to_owned));
        }
    }
    found.dedup();
    found
}

fn number(path: PathBuf) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// The CPU quota of the groups in cores, rounded up; `None` without a quota.
pub fn processor_quota() -> Option<usize> {
    ProcessorQuota::open().cores()
}

/// The CPU quotas of this process's groups. They may change while it runs, so their files stay
/// open: reading them again costs one system call per file.
#[derive(Debug)]
pub struct ProcessorQuota {
    groups: Vec<GroupQuota>,
}

impl ProcessorQuota {
    /// Finds the groups of this process.
    pub fn open() -> ProcessorQuota {
        ProcessorQuota {
            groups: directories("cpu").iter().filter_map(|at| GroupQuota::open(at)).collect(),
        }
    }

    /// The current CPU quota of the groups in cores, rounded up; `None` without a quota.
    pub fn cores(&self) -> Option<usize> {
        self.groups.iter().filter_map(GroupQuota::cores).min()
    }
}

/// The open files of one group.
#[derive(Debug)]
enum GroupQuota {
    /// cpu.max.
    Version2(File),
    /// cpu.cfs_quota_us and cpu.cfs_period_us.
    Version1(File, File),
}

impl GroupQuota {
    fn open(group: &Path) -> Option<GroupQuota> {
        let open = |name: &str| File::open(group.join(name)).ok();
        open("cpu.max").map(GroupQuota::Version2).or_else(|| {
            Some(GroupQuota::Version1(open("cpu.cfs_quota_us")?, open("cpu.cfs_period_us")?))
        })
    }

    fn cores(&self) -> Option<usize> {
        match self {
            GroupQuota::Version2(max) => parse_cpu_max(&reread(max)?),
            // Without a quota the file contains -1, and the period does not matter.
            GroupQuota::Version1(quota, period) => Some(cores(
                reread(quota)?.trim().parse().ok()?,
                reread(period)?.trim().parse().ok()?,
            )),
        }
    }
}

/// Reads an open, short file again from the start.
fn reread(file: &File) -> Option<String> {
    let mut bytes = [0; 64];
    let length = file.read_at(&mut bytes, 0).ok()?;
    std::str::from_utf8(&bytes[..length]).ok().map(str::to_owned)
}

/// Parses "max 100000" or "150000 100000".
fn parse_cpu_max(text: &str) -> Option<usize> {
    let mut words = text.split_whitespace();
    let quota = words.next()?.parse().ok()?;
    Some(cores(quota, words.next()?.parse().ok()?))
}

fn cores(quota: u64, period: u64) -> usize {
    quota.div_ceil(period.max(1)).max(1) as usize
}

/// Bytes that may be allocated before a group's memory limit is reached; `None` without a limit.
pub fn memory_headroom() -> Option<u64> {
    directories("memory").iter().filter_map(|at| headroom_of(at)).min()
}

fn headroom_of(group: &Path) -> Option<u64> {
    let (limit, used, reclaimable) = match number(group.join("memory.max")) {
        Some(limit) => (limit, number(group.join("memory.current"))?, "inactive_file"),
        None => {
            let limit =
                number(group.join("memory.limit_in_bytes")).filter(|limit| *limit < 1 << 62)?;
            (limit, number(group.join("memory.usage_in_bytes"))?, "total_inactive_file")
        }
    };
    // Cached file pages count as used, but the kernel reclaims them before it fails an allocation.
    let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let cached = stat
        .lines()
        .find_map(|line| line.strip_prefix(reclaimable)?.trim().parse::<u64>().ok())
        .unwrap_or(0);
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
    fn a_quota_that_changes_is_seen_without_opening_files_again() {
        let group = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(group.path().join(name), text).unwrap();
        assert!(GroupQuota::open(group.path()).is_none());
        write("cpu.cfs_quota_us", "-1\n");
        write("cpu.cfs_period_us", "100000\n");
        let first = GroupQuota::open(group.path()).unwrap();
        assert_eq!(first.cores(), None);
        write("cpu.cfs_quota_us", "250000\n");
        assert_eq!(first.cores(), Some(3));
        write("cpu.max", "max 100000\n");
        let second = GroupQuota::open(group.path()).unwrap();
        assert_eq!(second.cores(), None);
        write("cpu.max", "150000 100000\n");
        assert_eq!(second.cores(), Some(2));
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
