//! Shared memory: anonymous memory files, their mappings, and checks that turn a shortage into an
//! error message instead of a signal.
//!
//! Touching a page of a memory file that cannot be allocated kills the process (by SIGBUS, or by
//! SIGKILL from the memory control group). So pages are allocated in advance by
//! [`Mapping::populate`], after a check of the control group's limit.

use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{MemfdFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MremapFlags, ProtFlags};
use towpath_base::config::environment;

use crate::limits;

/// Why shared memory could not be allocated; a complete sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortage(String);

impl fmt::Display for Shortage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Shortage {}

/// How an unnamed memory file was created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileOrigin {
    /// By memfd_create.
    Memfd,
    /// As a file that was unlinked immediately, because memfd_create was refused.
    Unlinked {
        /// Directory of the file.
        directory: String,
        /// Why memfd_create was refused.
        refusal: Errno,
    },
}

/// Creates an empty, unnamed memory file: a memfd or, if memfd_create is forbidden, an unlinked
/// file in /dev/shm or the temporary directory. Closed on exec.
pub fn create_file(label: &str) -> Result<OwnedFd, Shortage> {
    create_file_some_way(label).map(|(file, _)| file)
}

/// Like [`create_file`], but also returns how the file was created.
pub fn create_file_some_way(label: &str) -> Result<(OwnedFd, FileOrigin), Shortage> {
    match rustix::fs::memfd_create(label, MemfdFlags::CLOEXEC) {
        Ok(file) => Ok((file, FileOrigin::Memfd)),
        Err(refusal) => match unlinked_file(label) {
            Some((file, directory)) => Ok((file, FileOrigin::Unlinked { directory, refusal })),
            None => Err(Shortage(format!(
                "no shared memory file can be created: memfd_create failed ({refusal}), and no \
                 file can be created in /dev/shm or the temporary directory; allow this \
                 process one of them."
            ))),
        },
    }
}

fn unlinked_file(label: &str) -> Option<(OwnedFd, String)> {
    let temporary = environment("TMPDIR").unwrap_or_else(|| "/tmp".to_owned());
    ["/dev/shm".to_owned(), temporary].into_iter().find_map(|directory| {
        (0..100).find_map(|attempt| {
            let path = PathBuf::from(&directory)
                .join(format!(".{label}-{}-{attempt}", std::process::id()));
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
            let file = rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR).ok()?;
            rustix::fs::unlink(&path).ok()?;
            Some((file, directory.clone()))
        })
    })
}

/// Size and free bytes of the file system that contains `path`; `None` if that cannot be
/// determined.
pub fn file_system(path: &str) -> Option<(u64, u64)> {
    let figures = rustix::fs::statvfs(path).ok()?;
    Some((figures.f_blocks * figures.f_frsize, figures.f_bavail * figures.f_frsize))
}

/// Reads memory of another process into `bytes` (process_vm_readv, "cross-memory attach").
///
/// # Errors
/// The kernel's error (not permitted, no such process, address not mapped), or end of file if fewer
/// bytes were read.
pub fn read_process(pid: u32, address: u64, bytes: &mut [u8]) -> std::io::Result<()> {
    // SAFETY: `bytes` is writable for `bytes.len()` bytes.
    unsafe { read_process_into(pid, address, bytes.as_mut_ptr(), bytes.len()) }
}

/// Like [`read_process`], into raw memory.
///
/// # Safety
/// `into` must be writable for `length` bytes.
pub unsafe fn read_process_into(
    pid: u32,
    address: u64,
    into: *mut u8,
    length: usize,
) -> std::io::Result<()> {
    let (own, other) = ranges(into, address, length);
    // SAFETY: `into` is writable for `length` bytes (this function's contract), and the kernel
    // writes at most that many. `address` is resolved in the other process only.
    let count = unsafe { libc::process_vm_readv(pid as libc::pid_t, &own, 1, &other, 1, 0) };
    all_of(length, count)
}

/// Writes `length` bytes at `from` into memory of another process (process_vm_writev).
///
/// # Errors
/// As for [`read_process`]; some of the bytes may have been written.
///
/// # Safety
/// `from` must be readable for `length` bytes.
pub unsafe fn write_process_from(
    pid: u32,
    address: u64,
    from: *const u8,
    length: usize,
) -> std::io::Result<()> {
    let (own, other) = ranges(from.cast_mut(), address, length);
    // SAFETY: `from` is readable for `length` bytes (this function's contract), and the kernel
    // reads at most that many. `address` is resolved in the other process only.
    let count = unsafe { libc::process_vm_writev(pid as libc::pid_t, &own, 1, &other, 1, 0) };
    all_of(length, count)
}

/// The ranges of a copy: the same number of bytes in this process and in another one.
fn ranges(here: *mut u8, there: u64, length: usize) -> (libc::iovec, libc::iovec) {
    let own = libc::iovec { iov_base: here.cast(), iov_len: length };
    (own, libc::iovec { iov_base: there as *mut libc::c_void, iov_len: length })
}

/// The outcome of a copy between processes that returned `count`; a short count is an error.
fn all_of(length: usize, count: isize) -> std::io::Result<()> {
    match usize::try_from(count) {
        Ok(count) if count == length => Ok(()),
        Ok(_) => Err(std::io::ErrorKind::UnexpectedEof.into()),
        Err(_) => Err(std::io::Error::last_os_error()),
    }
}

/// Checks that the memory control groups of this process leave room for `bytes` more bytes. Returns
/// the room that they leave; `None` without a limit.
pub fn check_headroom(bytes: u64) -> Result<Option<u64>, Shortage> {
    match crate::cgroup::memory_headroom() {
        Some(left) if left < bytes => Err(Shortage(format!(
            "{bytes} bytes of shared memory are needed, but the memory limit of this container or \
             service (memory control group) leaves {left}; raise the limit or start fewer ranks."
        ))),
        left => Ok(left),
    }
}

/// Bytes that this process may still allocate: what the host has available, or what its memory
/// control groups leave if that is less. 0 if /proc/meminfo cannot be read.
pub fn available() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let host = available_of(&text).unwrap_or(0);
    crate::cgroup::memory_headroom().map_or(host, |group| group.min(host))
}

/// Parses "MemAvailable:    1234 kB".
fn available_of(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// A shared mapping of part of a file; unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    pointer: *mut u8,
    length: usize,
}

// SAFETY: a `Mapping` is only an address range. It never accesses the memory through `&self` except
// by system calls, which may run in any thread.
unsafe impl Send for Mapping {}
// SAFETY: its methods only make system calls, which may run concurrently.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Grows the file to `length` bytes (sparse) if it is shorter, and maps them readable and
    /// writable.
    pub fn new(file: impl AsFd, length: usize) -> Result<Mapping, Shortage> {
        Mapping::part(file, 0, length)
    }

    /// Like [`Mapping::new`], for `length` bytes from `offset`, which must be a multiple of the
    /// page size.
    pub fn part(file: impl AsFd, offset: usize, length: usize) -> Result<Mapping, Shortage> {
        let file = file.as_fd();
        let end = offset + length;
        let fail = |what: &str, error: Errno| {
            let limit = limits::address_space().map_or_else(String::new, |limit| {
                format!("; this process may use {limit} bytes of address space (ulimit -v)")
            });
            Shortage(format!(
                "{length} bytes of shared memory cannot be mapped: {what} failed ({error}){limit}."
            ))
        };
        let present = rustix::fs::fstat(file).map_err(|error| fail("fstat", error))?.st_size;
        if (present as usize) < end {
            let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
            if limit.is_some_and(|limit| limit < end as u64) {
                // The kernel would send SIGXFSZ instead of returning an error.
                return Err(fail(
                    "growing the file beyond the limit of file sizes (ulimit -f)",
                    Errno::FBIG,
                ));
            }
            rustix::fs::ftruncate(file, end as u64).map_err(|error| fail("ftruncate", error))?;
        }
        // SAFETY: the kernel chooses the address, so no existing mapping is replaced.
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

    /// Allocates the pages of a range now; fails if the file system or the memory control group has
    /// none left. Does nothing on kernels without MADV_POPULATE_WRITE (before 5.14).
    pub fn populate(&self, offset: usize, length: usize) -> Result<(), Shortage> {
        assert!(offset + length <= self.length, "populate outside the mapping");
        let page = rustix::param::page_size();
        let begin = offset / page * page;
        let end = (offset + length).next_multiple_of(page).min(self.length.next_multiple_of(page));
        // SAFETY: the pages of the range belong to the mapping, and the advice does not change
        // their content.
        let outcome = unsafe {
            rustix::mm::madvise(
                self.pointer.add(begin).cast(),
                end - begin,
                Advice::LinuxPopulateWrite,
            )
        };
        match outcome {
            Ok(()) | Err(Errno::INVAL | Errno::NOSYS) => Ok(()),
            // EFAULT means that touching the pages would raise SIGBUS.
            Err(Errno::FAULT | Errno::NOMEM) => Err(Shortage(format!(
                "{length} bytes of shared memory cannot be provided, because the file system for it (/dev/shm, or where \
                 TMPDIR is) or the memory is full: make room, raise the limit, or start fewer ranks."
            ))),
            Err(error) => Err(Shortage(format!(
                "{length} bytes of shared memory cannot be provided ({error})."
            ))),
        }
    }
}

impl Mapping {
    /// Returns the pages of a range to the system; they read as zeros afterwards. False if the file
    /// system does not support that; the pages then stay unchanged.
    pub fn discard(&self, offset: usize, length: usize) -> bool {
        assert!(offset + length <= self.length, "discard outside the mapping");
        // SAFETY: the range is inside the mapping, which consists of shared memory that is accessed
        // only through raw pointers and atomics, so it may change at any time.
        unsafe {
            rustix::mm::madvise(self.pointer.add(offset).cast(), length, Advice::LinuxRemove)
                .is_ok()
        }
    }

    /// Replaces a range of whole pages by private memory with the same content. Later writes to it
    /// are not visible to other processes, nor theirs to this one. Allocates nothing but the pages.
    ///
    /// # Errors
    /// The kernel's error if memory is short; the range is then unchanged.
    ///
    /// # Safety
    /// The range must not be written to during the call, by any process.
    pub unsafe fn detach(&self, offset: usize, length: usize) -> std::io::Result<()> {
        assert!(offset + length <= self.length, "detach outside the mapping");
        let (access, none) = (ProtFlags::READ | ProtFlags::WRITE, std::ptr::null_mut());
        // SAFETY: the kernel chooses the address of `copy`, which is as long as the range. The
        // range is inside the mapping and not written to meanwhile (this function's contract), so
        // it can be copied and then replaced as a whole.
        unsafe {
            let range = self.pointer.add(offset);
            let copy = rustix::mm::mmap_anonymous(none, length, access, MapFlags::PRIVATE)?;
            copy.cast::<u8>().copy_from_nonoverlapping(range, length);
            let flags = MremapFlags::MAYMOVE;
            if let Err(error) = rustix::mm::mremap_fixed(copy, length, length, flags, range.cast())
            {
                let _ = rustix::mm::munmap(copy, length);
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// Frees the pages of a range that [`Mapping::detach`] has made private.
    ///
    /// # Safety
    /// The range must be private, and its content must no longer be used.
    pub unsafe fn forget(&self, offset: usize, length: usize) {
        assert!(offset + length <= self.length, "forget outside the mapping");
        // SAFETY: the range is inside the mapping, and its content is no longer used (this
        // function's contract).
        let _ = unsafe {
            rustix::mm::madvise(self.pointer.add(offset).cast(), length, Advice::LinuxDontNeed)
        };
    }
}

/// True if the file system of a memory file has no size limit of its own (memfd): failure to
/// allocate a page on first touch then means that the host is out of memory, as for any other page,
/// and does not raise SIGBUS.
pub fn has_no_limit(file: impl AsFd) -> bool {
    rustix::fs::fstatvfs(file).is_ok_and(|figures| figures.f_blocks == 0)
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `pointer` and `length` describe a mapping that only this value owns. Unmapping a
        // whole mapping cannot fail.
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
        // SAFETY: byte 5000 is inside both mappings of 8192 bytes.
        unsafe {
            first.pointer().add(5000).write(7);
            assert_eq!(second.pointer().add(5000).read(), 7);
        }
    }

    #[test]
    fn a_part_of_a_file_is_mapped_and_its_pages_go_back() {
        let file = create_file("towpath-test").unwrap();
        let (whole, part) =
            (Mapping::new(&file, 12288).unwrap(), Mapping::part(&file, 8192, 8192).unwrap());
        // SAFETY: all offsets are inside the mappings of 12288 and 8192 bytes.
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
        let (one, other) =
            (Mapping::new(&file, 12288).unwrap(), Mapping::new(&file, 12288).unwrap());
        // SAFETY: all offsets are inside the mappings, which no other thread uses.
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
    fn memory_of_a_process_is_written_by_its_number() {
        let (own, mut there) = (std::process::id(), *b"towpath");
        let address = there.as_mut_ptr() as u64 + 3;
        // SAFETY: the source is readable for 4 bytes.
        unsafe { write_process_from(own, address, b"boat".as_ptr(), 4) }.unwrap();
        assert_eq!(&there, b"towboat");
        // SAFETY: the source is readable for 4 bytes.
        assert!(unsafe { write_process_from(own, 8, b"boat".as_ptr(), 4) }.is_err());
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
        assert!(
            file_system("/").is_some_and(|(size, _)| size > 0)
                && file_system("/no/such/place").is_none()
        );
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
