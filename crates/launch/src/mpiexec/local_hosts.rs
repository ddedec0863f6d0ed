//! Host files and lists: this version runs on one host, so every name in them must be a name of this host.
#![forbid(unsafe_code)]

use std::path::Path;

/// Checks a host file: one host a line, `name`, `name:slots` or `name slots=n`, `#` begins a comment.
///
/// # Errors
/// A sentence.
pub(crate) fn check_file(path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("The host file {} cannot be read ({error}).", path.display()))?;
    text.lines()
        .filter_map(|line| line.split('#').next()?.split_whitespace().next())
        .try_for_each(|name| check_name(strip_slots(name)))
}

/// Checks a list of hosts separated by commas.
///
/// # Errors
/// A sentence.
pub(crate) fn check_list(list: &str) -> Result<(), String> {
    list.split(',').filter(|name| !name.is_empty()).try_for_each(|name| check_name(strip_slots(name)))
}

fn strip_slots(name: &str) -> &str {
    match name.split_once(':') {
        Some((host, slots)) if slots.chars().all(|digit| digit.is_ascii_digit()) && !host.is_empty() => host,
        _ => name,
    }
}

fn check_name(name: &str) -> Result<(), String> {
    let own = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let local = name == "localhost"
        || name.starts_with("127.")
        || name == "::1"
        || name.eq_ignore_ascii_case(&own)
        || (!name.contains(|c: char| c.is_ascii_digit() && name.parse::<std::net::IpAddr>().is_ok())
            && short(name) == short(&own));
    if local {
        return Ok(());
    }
    Err(format!(
        "The host {name} is not this host ({own}); this version of Towpath runs all ranks on one host. Remove it from \
         the list of hosts, or start mpiexec on {name}."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_host() {
        assert_eq!(check_list("localhost:4,127.0.0.1,::1"), Ok(()));
        assert_eq!(check_list(&rustix::system::uname().nodename().to_string_lossy()), Ok(()));
        assert!(check_list("localhost,node17").unwrap_err().contains("node17"));
        assert!(check_list("10.1.2.3").is_err());
    }

    #[test]
    fn host_files() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("hosts");
        std::fs::write(&file, "# ours\nlocalhost slots=4\nlocalhost:2  # more\n\n").unwrap();
        assert_eq!(check_file(&file), Ok(()));
        std::fs::write(&file, "localhost\nfar.away slots=2\n").unwrap();
        assert!(check_file(&file).unwrap_err().contains("far.away"));
        assert!(check_file(&folder.path().join("none")).unwrap_err().contains("cannot be read"));
    }
}
