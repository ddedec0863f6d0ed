//! Finds the launcher's own PMIx library. A client of another version works too, but may print
//! warnings, so the library that the launcher itself has loaded comes before the system's.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};

use towpath_base::config;

/// File name of the library.
const NAME: &str = "libpmix.so.2";
/// How many ancestors to check for a loaded library. The launcher's daemon is the parent, possibly
/// with shells in between.
const ANCESTORS: usize = 4;

/// Libraries to try, in this order: only the one that TOWPATH_PMIX names, if it is set; the
/// launcher's prefix; what an ancestor of this process has loaded; what the loader finds; Debian's
/// location.
pub(super) fn candidates() -> Vec<PathBuf> {
    if let Some(own) = config::setting("TOWPATH_PMIX") {
        return vec![own.into()];
    }
    let mut found = Vec::new();
    if let Some(prefix) = config::environment("PMIX_PREFIX") {
        found.extend(
            ["lib/openmpi", "lib", "lib64"]
                .map(|directory| Path::new(&prefix).join(directory).join(NAME)),
        );
    }
    found.extend(loaded_by_ancestors());
    found.push(NAME.into());
    let machine = format!("/usr/lib/{}-linux-gnu/pmix2/lib", std::env::consts::ARCH);
    found.push(Path::new(&machine).join(NAME));
    found
}

/// PMIx libraries that the ancestors of this process have mapped, nearest first.
fn loaded_by_ancestors() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pid = std::os::unix::process::parent_id();
    for _ in 0..ANCESTORS {
        if pid <= 1 {
            break;
        }
        // The kernel refuses this if the daemon runs as another user; the next candidate is tried
        // then.
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        found.extend(library_in(&maps));
        let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        pid = parent_in(&status).unwrap_or(0);
    }
    found
}

/// The PMIx library in a list of mappings (proc(5)).
fn library_in(maps: &str) -> Option<PathBuf> {
    maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..])).map(PathBuf::from).find(
        |path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libpmix.so"))
        },
    )
}

/// The parent in a process's `stat` file. The name in parentheses may contain anything; state and
/// parent follow it.
fn parent_in(status: &str) -> Option<u32> {
    status.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_found_among_mappings() {
        let maps = "7f00-7f10 r-xp 00000000 00:31 12 /usr/lib/libc.so.6\n\
                    7f10-7f20 r-xp 00000000 00:31 13                 /opt/o m/lib/libpmix.so.2.13.7\n";
        assert_eq!(library_in(maps), Some("/opt/o m/lib/libpmix.so.2.13.7".into()));
        assert_eq!(library_in("7f00-7f10 rw-p 00000000 00:00 0 [heap]\n"), None);
        assert_eq!(parent_in("12 (a ) b) S 7 12 12"), Some(7));
        assert_eq!(parent_in("12 (a"), None);
    }
}
