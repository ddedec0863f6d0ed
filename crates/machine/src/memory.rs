//! Memory that processes share: an anonymous memory file, its mapping, and the checks that make a
//! shortage a sentence instead of a signal.
//!
//! A page of a memory file that cannot be provided kills the process that touches it (SIGBUS, or
//! SIGKILL by the memory group). So pages are asked for first, with [`Mapping::populate`], and the
//! group's limit is looked at before.

use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{MemfdFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MremapFlags, ProtFlags};
use towpath_base::config::environment;

use crate::limits;

/// Why shared memory could not be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortage(String);

impl fmt::Display for Shortage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Shortage {}

/// How a memory file without a name was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// By memfd_create.
    Memfd,
    /// As a file that was unlinked at once, because memfd_create was refused.
    Unlinked {
        /// Folder of the file.
        folder: String,
        /// Why memfd_create was refused.
        refusal: Errno,
    },
}

/// Makes an empty memory file without a name: memfd, or a file in /dev/shm or the temporary
/// directory that is unlinked at once where memfd is forbidden. Closed on exec.
pub fn create_file(label: &str) -> Result<OwnedFd, Shortage> {
    create_file_some_way(label).map(|(file, _)| file)
}

/// As [`create_file`], and says which way worked.
pub fn create_file_some_way(label: &str) -> Result<(OwnedFd, Way), Shortage> {
    match rustix::fs::memfd_create(label, MemfdFlags::CLOEXEC) {
        Ok(file) => Ok((file, Way::Memfd)),
        Err(refusal) => match unlinked_file(label) {
            Some((file, folder)) => Ok((file, Way::Unlinked { folder, refusal })),
            None => Err(Shortage(format!(
                "no shared memory file can be made: memfd_create failed ({refusal}) and neither /dev/shm nor the \
                 temporary directory takes a file; allow one of them to this process."
            ))),
        },
    }
}

fn unlinked_file(label: &str) -> Option<(OwnedFd, String)> {
    let temporary = environment("TMPDIR").unwrap_or_else(|| "/tmp".to_owned());
    ["/dev/shm".to_owned(), temporary].into_iter().find_map(|directory| {
        (0..100).find_map(|attempt| {
            let path = PathBuf::from(&directory).join(format!(".{label}-{}-{attempt}", std::process::id()));
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
            let file = rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR).ok()?;
            rustix::fs::unlink(&path).ok()?;
            Some((file, directory.clone()))
        })
    })
}

/// Size and free bytes of the file system that holds `path`; `None` when there is none.
pub fn file_system(path: &str) -> Option<(u64, u64)> {
    let figures = rustix::fs::statvfs(path).ok()?;
    Some((figures.f_blocks * figures.f_frsize, figures.f_bavail * figures.f_frsize))
}

/// Reads bytes at an address of another process into `bytes` (process_vm_readv, "cross-memory
/// attach").
///
/// # Errors
/// What the kernel says: not permitted, no such process, not mapped there; end of file when fewer
/// bytes came.
pub fn read_process(pid: u32, address: u64, bytes: &mut [u8]) -> std::io::Result<()> {
    // SAFETY: the slice is writable for its length.
    unsafe { read_process_into(pid, address, bytes.as_mut_ptr(), bytes.len()) }
}

/// As [`read_process`], into user memory.
///
/// # Safety
/// `into` must be writable for `length` bytes.
pub unsafe fn read_process_into(pid: u32, address: u64, into: *mut u8, length: usize) -> std::io::Result<()> {
    let own = libc::iovec { iov_base: into.cast(), iov_len: length };
    let other = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: length };
    // SAFETY: the kernel writes at most `length` bytes to `into`; the other address is in another
    // process and is only looked up there.
    let count = unsafe { libc::process_vm_readv(pid as libc::pid_t, &own, 1, &other, 1, 0) };
    match usize::try_from(count) {
        Ok(count) if count == length => Ok(()),
        Ok(_) => Err(std::io::ErrorKind::UnexpectedEof.into()),
        Err(_) => Err(std::io::Error::last_os_error()),
    }
}

/// Checks that `bytes` more fit into the memory group of this process. Says what is left; `None`
/// without a limit.
pub fn check_headroom(bytes: u64) -> Result<Option<u64>, Shortage> {
    match crate::cgroup::memory_headroom() {
        Some(left) if left < bytes => Err(Shortage(format!(
            "{bytes} bytes of shared memory are wanted, but the memory limit of this container or service (memory \
             control group) leaves {left}; raise the limit or start fewer ranks."
        ))),
        left => Ok(left),
    }
}

/// Bytes that this process may still take: what the host has available, or what its memory groups
/// leave if that is less. None where that cannot be read.
pub fn available() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let host = available_of(&text).unwrap_or(0);
    crate::cgroup::memory_headroom().map_or(host, |group| group.min(host))
}

/// Reads "MemAvailable:    1234 kB".
fn available_of(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// A shared mapping of the first bytes of a file; unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    pointer: *mut u8,
    length: usize,
}

// SAFETY: the mapping is only an address range; whoever reads or writes through it answers for the
// accesses.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Grows the file to `length` bytes (sparse) if it is shorter, and maps it readable and
    /// writable.
    pub fn new(file: impl AsFd, length: usize) -> Result<Mapping, Shortage> {
        Mapping::part(file, 0, length)
    }

    /// As [`Mapping::new`], of the `length` bytes from `offset` on, a multiple of the page size.
    pub fn part(file: impl AsFd, offset: usize, length: usize) -> Result<Mapping, Shortage> {
        let file = file.as_fd();
        let end = offset + length;
        let fail = |what: &str, error: Errno| {
            let limit = limits::address_space().map_or_else(String::new, |limit| {
                format!("; this process may use {limit} bytes of address space (ulimit -v)")
            });
            Shortage(format!("{length} bytes of shared memory cannot be mapped: {what} failed ({error}){limit}."))
        };
        let present = rustix::fs::fstat(file).map_err(|error| fail("fstat", error))?.st_size;
        if (present as usize) < end {
            let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
            if limit.is_some_and(|limit| limit < end as u64) {
                // The kernel would not refuse it, but send a signal.
                return Err(fail("growing the file beyond the limit of file sizes (ulimit -f)", Errno::FBIG));
            }
            rustix::fs::ftruncate(file, end as u64).map_err(|error| fail("ftruncate", error))?;
        }
        // SAFETY: the kernel chooses the address, so no memory in use is replaced.
        let pointer = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED | MapFlags::NORESERVE,
                file,
                offset as u64,
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

    /// Provides the pages of a range now; an error where the file system or the memory group has
    /// none left. Does nothing on kernels that cannot (before 5.14).
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
            // EFAULT says that touching the pages would be a bus error.
            Err(Errno::FAULT | Errno::NOMEM) => Err(Shortage(format!(
                "{length} bytes of shared memory cannot be provided, because the file system for it (/dev/shm, or where \
                 TMPDIR is) or the memory is full: make room, raise the limit, or start fewer ranks."
            ))),
            Err(error) => Err(Shortage(format!("{length} bytes of shared memory cannot be provided ({error})."))),
        }
    }
}

impl Mapping {
    /// Gives the pages of a range back to the system; they read as zeros afterwards. False where
    /// the file system cannot do that: then they stay as they are.
    pub fn discard(&self, offset: usize, length: usize) -> bool {
        assert!(offset + length <= self.length, "discard outside the mapping");
        // SAFETY: the range is inside the mapping; whoever gives pages back says that nobody uses
        // their content.
        unsafe { rustix::mm::madvise(self.pointer.add(offset).cast(), length, Advice::LinuxRemove).is_ok() }
    }

    /// Puts private memory with the same bytes in the place of a range of whole pages; what is
    /// written there afterwards, no other process sees, and the other way round. Allocates nothing
    /// but the pages.
    ///
    /// # Errors
    /// What the kernel says where memory is short; then the range is as it was.
    ///
    /// # Safety
    /// Nobody may write to the range meanwhile.
    pub unsafe fn detach(&self, offset: usize, length: usize) -> std::io::Result<()> {
        assert!(offset + length <= self.length, "detach outside the mapping");
        let (access, none) = (ProtFlags::READ | ProtFlags::WRITE, std::ptr::null_mut());
        // SAFETY: the kernel chooses the address. The copy is as long as the range, and takes its
        // place as a whole.
        unsafe {
            let range = self.pointer.add(offset);
            let copy = rustix::mm::mmap_anonymous(none, length, access, MapFlags::PRIVATE)?;
            copy.cast::<u8>().copy_from_nonoverlapping(range, length);
            let flags = MremapFlags::MAYMOVE;
            if let Err(error) = rustix::mm::mremap_fixed(copy, length, length, flags, range.cast()) {
                let _ = rustix::mm::munmap(copy, length);
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// Frees the pages of a range that [`Mapping::detach`] has made private.
    ///
    /// # Safety
    /// The range must be private, and nobody may use its content any more.
    pub unsafe fn forget(&self, offset: usize, length: usize) {
        assert!(offset + length <= self.length, "forget outside the mapping");
        // SAFETY: inside the mapping, and the caller says that the content is not used.
        let _ = unsafe { rustix::mm::madvise(self.pointer.add(offset).cast(), length, Advice::LinuxDontNeed) };
    }
}

/// True when the file system of a memory file has no limit of its own (memfd): then a page that
/// cannot be provided when it is touched is lack of memory as with any other page, not a bus error.
pub fn has_no_limit(file: impl AsFd) -> bool {
    rustix::fs::fstatvfs(file).is_ok_and(|figures| figures.f_blocks == 0)
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` and nobody may use it after its owner is gone.
        // Unmapping what was mapped cannot fail.
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
    fn a_part_of_a_file_is_mapped_and_its_pages_go_back() {
        let file = create_file("towpath-test").unwrap();
        let (whole, part) = (Mapping::new(&file, 12288).unwrap(), Mapping::part(&file, 8192, 8192).unwrap());
        // SAFETY: both mappings are that long.
        unsafe {
            part.pointer().add(7).write(9);
            assert_eq!(whole.pointer().add(8199).read(), 9);
            part.discard(0, 4096);
            assert_eq!(whole.pointer().add(8199).read(), 0);
        }
    }

    #[test]
    fn a_detached_range_keeps_its_bytes_and_no_longer_shows_those_of_the_file() {
        let file = create_file("towpath-test").unwrap();
        let (one, other) = (Mapping::new(&file, 12288).unwrap(), Mapping::new(&file, 12288).unwrap());
        // SAFETY: all bytes lie in the mappings, and nobody else uses them.
        unsafe {
            one.pointer().add(5000).write(3);
            one.detach(4096, 4096).unwrap();
            other.pointer().add(5000).write(4);
            other.pointer().add(9000).write(5);
            assert_eq!([5000, 9000].map(|at| one.pointer().add(at).read()), [3, 5]);
            one.pointer().add(5001).write(6);
            assert_eq!(other.pointer().add(5001).read(), 0);
            one.forget(4096, 4096);
            assert_eq!([5000, 9000].map(|at| one.pointer().add(at).read()), [0, 5]);
        }
    }

    #[test]
    fn a_file_without_a_name_replaces_memfd() {
        let (file, _) = unlinked_file("towpath-test").unwrap();
        assert_eq!(rustix::fs::fstat(&file).unwrap().st_nlink, 0);
        assert_eq!(Mapping::new(&file, 4096).unwrap().length(), 4096);
    }

    #[test]
    fn memory_of_a_process_is_read_by_its_number() {
        let (there, mut here) = (*b"towpath", [0u8; 7]);
        read_process(std::process::id(), there.as_ptr() as u64, &mut here).unwrap();
        assert_eq!(here, there);
        assert!(read_process(std::process::id(), 8, &mut here).is_err());
    }

    #[test]
    fn the_available_memory_is_read() {
        assert_eq!(available_of("MemTotal:  9 kB\nMemAvailable:      12 kB\n"), Some(12 << 10));
        assert_eq!(available_of("MemTotal:  9 kB\n"), None);
        assert!(available() > 0);
    }

    #[test]
    fn file_systems_have_a_size() {
        let (size, free) = file_system("/proc/self").map_or((0, 0), |figures| figures);
        assert!(free <= size);
        assert!(file_system("/").is_some_and(|(size, _)| size > 0) && file_system("/no/such/place").is_none());
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
