//! Tells whether a directory is local or on a network file system.

use std::io;
use std::path::Path;

/// Magic numbers (statfs(2)) of file systems that several hosts can share: NFS, SMB and CIFS,
/// Lustre, GPFS, BeeGFS, Ceph, AFS, PanFS, OrangeFS, GFS2, OCFS2.
const SHARED: [u32; 13] = [
    0x6969,
    0x517b,
    0xff53_4d42,
    0xfe53_4d42,
    0x0bd0_0bd0,
    0x4750_4653,
    0x1983_0326,
    0x00c3_6400,
    0x5346_414f,
    0xaad7_aaea,
    0x2003_0528,
    0x0116_1970,
    0x7461_636f,
];

/// Whether processes on several hosts may see this directory.
///
/// # Errors
/// The directory does not exist or is not accessible.
pub fn is_on_network(directory: &Path) -> io::Result<bool> {
    Ok(SHARED.contains(&(rustix::fs::statfs(directory)?.f_type as u32)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_table_is_of_this_host() {
        assert!(!is_on_network(Path::new("/proc")).expect("every Linux has it"));
        assert!(is_on_network(Path::new("/proc/nowhere")).is_err());
    }
}
