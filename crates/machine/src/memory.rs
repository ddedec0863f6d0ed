//! Memory that processes share: an anonymous memory file, its mapping, and the checks that make a shortage a sentence
//! instead of a signal.
//!
//! A page of a memory file that cannot be provided kills the process that touches it (SIGBUS, or SIGKILL by the memory
//! group). So pages are asked for first, with [`Mapping::populate`], and the group's limit is looked at before.

use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{MemfdFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags};
use towpath_base::config::environment;

/// Why shared memory could not be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortage(String);

impl fmt::Display for Shortage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Shortage {}

/// Makes an empty memory file without a name: memfd, or a file in /dev/shm or the temporary directory that is unlinked
/// at once where memfd is forbidden. Closed on exec.
pub fn create_file(label: &str) -> Result<OwnedFd, Shortage> {
    match rustix::fs::memfd_create(label, MemfdFlags::CLOEXEC) {
        Ok(file) => Ok(file),
        Err(refusal) => unlinked_file(label).ok_or_else(|| {
            Shortage(format!(
                "no shared memory file can be made: memfd_create failed ({refusal}) and neither /dev/shm nor the \
                 temporary directory takes a file; allow one of them to this process."
            ))
        }),
    }
}

fn unlinked_file(label: &str) -> Option<OwnedFd> {
    let temporary = environment("TMPDIR").unwrap_or_else(|| "/tmp".to_owned());
    ["/dev/shm".to_owned(), temporary].iter().find_map(|directory| {
        (0..100).find_map(|attempt| {
            let path = PathBuf::from(directory).join(format!(".{label}-{}-{attempt}", std::process::id()));
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
            let file = rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR).ok()?;
            rustix::fs::unlink(&path).ok()?;
            Some(file)
        })
    })
}

/// Checks that `bytes` more fit into the memory group of this process.
pub fn check_headroom(bytes: u64) -> Result<(), Shortage> {
    match crate::cgroup::memory_headroom() {
        Some(left) if left < bytes => Err(Shortage(format!(
            "{bytes} bytes of shared memory are wanted, but the memory limit of this container or service (memory \
             control group) leaves {left}; raise the limit or start fewer ranks."
        ))),
        _ => Ok(()),
    }
}

/// A shared mapping of the first bytes of a file; unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    pointer: *mut u8,
    length: usize,
}

// SAFETY: the mapping is only an address range; whoever reads or writes through it answers for the accesses.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Grows the file to `length` bytes (sparse) if it is shorter, and maps it readable and writable.
    pub fn new(file: impl AsFd, length: usize) -> Result<Mapping, Shortage> {
        let file = file.as_fd();
        let fail = |what: &str, error: Errno| {
            Shortage(format!("{length} bytes of shared memory cannot be mapped: {what} failed ({error})."))
        };
        let present = rustix::fs::fstat(file).map_err(|error| fail("fstat", error))?.st_size;
        if (present as usize) < length {
            rustix::fs::ftruncate(file, length as u64).map_err(|error| fail("ftruncate", error))?;
        }
        // SAFETY: the kernel chooses the address, so no memory in use is replaced.
        let pointer = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED | MapFlags::NORESERVE,
                file,
                0,
            )
        }
        .map_err(|error| fail("mmap", error))?;
        Ok(Mapping { pointer: pointer.cast(), length })
    }

    /// First byte.
    #[inline]
    pub fn pointer(&self) -> *mut u8 {
        self.pointer
    }

    /// Length in bytes.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Provides the pages of a range now; an error where the file system or the memory group has none left.
    /// Does nothing on kernels that cannot (before 5.14).
    pub fn populate(&self, offset: usize, length: usize) -> Result<(), Shortage> {
        assert!(offset + length <= self.length, "populate outside the mapping");
        let page = rustix::param::page_size();
        let begin = offset / page * page;
        let end = (offset + length).next_multiple_of(page).min(self.length.next_multiple_of(page));
        // SAFETY: the range is inside the mapping and the advice changes no content.
        let outcome =
            unsafe { rustix::mm::madvise(self.pointer.add(begin).cast(), end - begin, Advice::LinuxPopulateWrite) };
        match outcome {
            Ok(()) | Err(Errno::INVAL | Errno::NOSYS) => Ok(()),
            Err(error) => Err(Shortage(format!(
                "{length} bytes of shared memory cannot be provided ({error}); the shared memory file system or the \
                 memory limit is full: raise it or start fewer ranks."
            ))),
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` and nobody may use it after its owner is gone. Unmapping what was
        // mapped cannot fail.
        let _ = unsafe { rustix::mm::munmap(self.pointer.cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_mappings_of_one_file_see_the_same_bytes() {
        let file = create_file("towpath-test").unwrap();
        let first = Mapping::new(&file, 8192).unwrap();
        let second = Mapping::new(&file, 8192).unwrap();
        first.populate(4096, 10).unwrap();
        // SAFETY: both mappings are 8192 bytes long.
        unsafe {
            first.pointer().add(5000).write(7);
            assert_eq!(second.pointer().add(5000).read(), 7);
        }
    }

    #[test]
    fn a_file_without_a_name_replaces_memfd() {
        let file = unlinked_file("towpath-test").unwrap();
        assert_eq!(rustix::fs::fstat(&file).unwrap().st_nlink, 0);
        assert_eq!(Mapping::new(&file, 4096).unwrap().length(), 4096);
    }

    #[test]
    fn wanting_more_than_the_limit_is_a_sentence() {
        if crate::cgroup::memory_headroom().is_some() {
            let sentence = check_headroom(u64::MAX).unwrap_err().to_string();
            assert!(sentence.contains("raise the limit"), "{sentence}");
        }
        check_headroom(0).unwrap();
    }
}
