//! The segment, the shared-memory file of a job on one host: how it is created, how ranks that did
//! not inherit it open it, and a view of its control pages.
//!
//! The file leaves no name behind. It is a memfd or, if memfd is refused, a file in /dev/shm or
//! TMPDIR that is unlinked right after its creation. A rank that did not inherit it opens it
//! through `/proc/PID/fd/N`. If that fails (the process is non-dumpable or in another PID
//! namespace), it asks the creator for the descriptor over an abstract socket. The last resort is a
//! named file that is removed once all ranks have opened it. This module lays out the head and the
//! control pages of `towpath_base::control`; the transport extends the file.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;

use towpath_base::config;
use towpath_base::control::{self, ControlPage, MAGIC, SegmentHead};
use towpath_base::ids::JobId;
use towpath_base::sync::Ordering;
use towpath_machine::memory::{
    FileOrigin, Mapping, Shortage, check_headroom, create_file_some_way,
};

use crate::error::Error;

/// Returns the identifier of a new job.
pub(crate) fn new_job() -> JobId {
    let mut bytes = [0u8; 16];
    let from_system =
        File::open("/dev/urandom").and_then(|random| random.read_exact_at(&mut bytes, 0));
    if from_system.is_err() {
        let now = std::time::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_nanos());
        bytes = (now ^ u128::from(std::process::id()) << 96).to_ne_bytes();
    }
    JobId(u128::from_ne_bytes(bytes))
}

/// Returns the number that identifies the segment of one host of a job; never 0. Different hosts,
/// as the launcher counts them, may share a kernel, for instance in a test, and must not open each
/// other's segments.
pub(crate) fn nonce_of_host(job: JobId, host: u32) -> u64 {
    let folded = (job.0 ^ job.0 >> 64) as u64;
    folded.wrapping_add(u64::from(host)).max(1)
}

/// Returns a random number for a segment that belongs to no job; never 0.
pub fn new_nonce() -> u64 {
    nonce_of_host(new_job(), 0)
}

/// Creates the segment of a job: a file without a name, with head and control pages. The magic word
/// is written last.
///
/// # Errors
/// [`Error::Segment`] if neither memfd nor a file can be created, or memory for the pages is short.
pub fn make(nonce: u64, local_ranks: usize) -> Result<OwnedFd, Error> {
    make_some_way(nonce, local_ranks).map(|(file, _)| file)
}

/// Like [`make`]; also returns how the file was created.
pub fn make_some_way(nonce: u64, local_ranks: usize) -> Result<(OwnedFd, FileOrigin), Error> {
    let (file, way) = create_file_some_way("towpath").map_err(not_made)?;
    lay_out(&file, nonce, local_ranks).map_err(not_made)?;
    Ok((file, way))
}

/// Creates the segment as a named file, for ranks that cannot open it in any other way. The caller
/// removes it.
pub(crate) fn make_named(nonce: u64, local_ranks: usize) -> Result<(OwnedFd, PathBuf), Error> {
    let (file, path) = named_file(nonce)?;
    let file = OwnedFd::from(file);
    match lay_out(&file, nonce, local_ranks) {
        Ok(()) => Ok((file, path)),
        Err(shortage) => {
            let _ = std::fs::remove_file(&path);
            Err(not_made(shortage))
        }
    }
}

fn not_made(shortage: Shortage) -> Error {
    Error::Segment {
        action: "created",
        detail: shortage.to_string().trim_end_matches('.').to_owned(),
    }
}

fn named_file(number: u64) -> Result<(File, PathBuf), Error> {
    let temporary = config::environment("TMPDIR").unwrap_or_else(|| "/tmp".to_owned());
    let mut refusals = Vec::new();
    for directory in ["/dev/shm", &temporary] {
        let path = PathBuf::from(directory).join(format!("towpath-{number:016x}"));
        match OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => return Ok((file, path)),
            Err(refusal) => refusals.push(format!("{} ({refusal})", path.display())),
        }
    }
    Err(Error::Segment {
        action: "created",
        detail: format!("no file could be created: {}", refusals.join(", ")),
    })
}

/// Largest number of local ranks for which the creator allocates the header slots too. Above it
/// they would take much memory that the program may never use, so each rank allocates its own.
const SLOTS_PROVIDED: usize = 512;

/// Allocates the pages, so that a shortage of memory is an error now instead of SIGBUS later, and
/// fills in the head. A rank writes into the slots of others before they have started, so their
/// pages must exist from the beginning.
fn lay_out(file: &OwnedFd, nonce: u64, local_ranks: usize) -> Result<(), Shortage> {
    let slots =
        if local_ranks <= SLOTS_PROVIDED { control::slot_table_bytes(local_ranks) } else { 0 };
    let length = control::behind_control_pages(local_ranks) + slots;
    check_headroom(length as u64)?;
    let mapping = Mapping::new(file, length)?;
    mapping.populate(0, length)?;
    let view = View { mapping, local_ranks };
    view.head().nonce.store(nonce, Ordering::Relaxed);
    view.head().local_ranks.store(local_ranks as u32, Ordering::Relaxed);
    view.head().magic.store(MAGIC, Ordering::Release);
    Ok(())
}

/// True if the file is the segment with this nonce.
pub(crate) fn belongs_to(file: BorrowedFd<'_>, nonce: u64) -> bool {
    let mut head = [0u8; 16];
    matches!(rustix::io::pread(file, &mut head, 0), Ok(16))
        && head[..8] == MAGIC.to_ne_bytes()
        && head[8..] == nonce.to_ne_bytes()
}

/// Process ID of the rank that has claimed the control page of `local_rank`; 0 if it is unclaimed.
pub(crate) fn owner_of(file: BorrowedFd<'_>, local_rank: usize) -> u32 {
    let mut pid = [0u8; 4];
    let _ = rustix::io::pread(file, &mut pid, control::control_page_offset(local_rank) as u64);
    u32::from_ne_bytes(pid)
}

/// Opens descriptor `number` of another process of this user.
pub fn open_of_process(pid: u32, number: i32) -> io::Result<OwnedFd> {
    let path = format!("/proc/{pid}/fd/{number}");
    OpenOptions::new().read(true).write(true).open(path).map(OwnedFd::from)
}

/// Numbers of the descriptors of a process whose files have names that contain `label`. Other files
/// must not be opened just to inspect them.
///
/// # Errors
/// An error message for the user if the process may not be inspected.
pub fn descriptors_of_process(pid: u32, label: &str) -> Result<Vec<i32>, String> {
    let directory = format!("/proc/{pid}/fd");
    let entries = std::fs::read_dir(&directory)
        .map_err(|error| format!("Process {pid} cannot be inspected: {error}."))?;
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let has_label = |number: &i32| {
        let target = std::fs::read_link(format!("{directory}/{number}"));
        target.is_ok_and(|path| path.to_string_lossy().contains(label))
    };
    Ok(numbers.filter(has_label).collect())
}

/// The descriptor's number, for `/proc/PID/fd/N`.
pub(crate) fn number_of(file: &OwnedFd) -> i32 {
    file.as_raw_fd()
}

/// The head and control pages of a segment, mapped.
pub struct View {
    mapping: Mapping,
    local_ranks: usize,
}

impl View {
    /// Maps the head and control pages of a segment for `local_ranks` ranks.
    ///
    /// # Errors
    /// [`Error::Segment`] if the file is too short or cannot be mapped.
    pub fn map(file: BorrowedFd<'_>, local_ranks: usize) -> Result<View, Error> {
        let length = control::behind_control_pages(local_ranks);
        let refused = |detail: String| Error::Segment { action: "reached", detail };
        match rustix::fs::fstat(file) {
            Ok(status) if status.st_size >= length as i64 => {}
            Ok(_) => return Err(refused("it is shorter than its control pages".to_owned())),
            Err(error) => return Err(refused(io::Error::from(error).to_string())),
        }
        let mapping = Mapping::new(file, length)
            .map_err(|error| refused(error.to_string().trim_end_matches('.').to_owned()))?;
        Ok(View { mapping, local_ranks })
    }

    /// The head page.
    pub fn head(&self) -> &SegmentHead {
        // SAFETY: the mapping is page-aligned, longer than the head, and lives as long as `self`.
        // All fields are atomics, so any content is valid and other processes may write to it.
        unsafe { &*self.mapping.pointer().cast() }
    }

    /// The control page of a local rank.
    ///
    /// # Panics
    /// If `local_rank` is not below the number of local ranks.
    pub fn page(&self, local_rank: usize) -> &ControlPage {
        assert!(local_rank < self.local_ranks, "local rank {local_rank} of {}", self.local_ranks);
        // SAFETY: the assertion puts the page inside the mapping, which lives as long as `self`.
        // The page is page-aligned, and all its fields are atomics (apart from padding, which is
        // never read).
        unsafe { &*self.mapping.pointer().add(control::control_page_offset(local_rank)).cast() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn a_segment_has_head_and_free_pages() {
        let file = make(77, 3).unwrap();
        assert!(belongs_to(file.as_fd(), 77) && !belongs_to(file.as_fd(), 78));
        let view = View::map(file.as_fd(), 3).unwrap();
        assert_eq!(view.head().local_ranks.load(Ordering::Relaxed), 3);
        assert_eq!(owner_of(file.as_fd(), 2), 0);
        view.page(2).pid.store(4711, Ordering::Release);
        assert_eq!(owner_of(file.as_fd(), 2), 4711);
        assert!(View::map(file.as_fd(), 4).is_err());
    }

    #[test]
    fn a_named_segment_can_be_opened_by_its_name_until_it_is_removed() {
        let (file, path) = make_named(new_nonce(), 1).unwrap();
        let again = open_of_process(std::process::id(), number_of(&file)).unwrap();
        let nonce = View::map(file.as_fd(), 1).unwrap().head().nonce.load(Ordering::Relaxed);
        assert!(belongs_to(again.as_fd(), nonce));
        std::fs::remove_file(path).unwrap();
    }
}
