//! Turns a forked process into a rank: its descriptors, process group, cores and program.
//!
//! What a rank is started with is prepared before the fork. A rank keeps exactly five descriptors:
//! stdin, stdout, stderr, its PMI socket and the segment, the last two at fixed numbers that shells
//! do not use by themselves.

use std::ffi::CString;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use rustix::process::{
    Pid, Resource, Rlimit, Signal, getppid, set_parent_process_death_signal, setpgid, setrlimit,
};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

use super::signals::Set;

/// Numbers of the descriptors that a rank has in addition to its standard streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbers {
    /// Of its PMI socket.
    pub(crate) pmi: RawFd,
    /// Of the segment.
    pub(crate) segment: RawFd,
}

impl Numbers {
    /// Chooses numbers that shells do not use by themselves, within this limit of open files.
    pub(crate) fn within(limit: u64) -> Numbers {
        let segment = RawFd::try_from(limit).unwrap_or(RawFd::MAX).saturating_sub(1).clamp(4, 65);
        Numbers { pmi: segment - 1, segment }
    }

    /// Duplicates a descriptor that a rank still needs while these two are put in place, so that it
    /// has neither number.
    pub(crate) fn apart(self, descriptor: &OwnedFd) -> rustix::io::Result<OwnedFd> {
        let mut copies = Vec::new();
        loop {
            let copy = rustix::io::fcntl_dupfd_cloexec(descriptor, 3)?;
            if copy.as_raw_fd() != self.pmi && copy.as_raw_fd() != self.segment {
                return Ok(copy);
            }
            // Kept open, so that the next duplicate gets another number.
            copies.push(copy);
        }
    }
}

/// Everything that one rank is started with.
pub(crate) struct RankStart {
    pub(crate) program: CString,
    pub(crate) arguments: Vec<CString>,
    pub(crate) environment: Vec<CString>,
    pub(crate) directory: Option<CString>,
    /// Logical processors to bind to; empty: not bound.
    pub(crate) cores: Vec<usize>,
    pub(crate) input: OwnedFd,
    pub(crate) output: OwnedFd,
    pub(crate) errors: OwnedFd,
    pub(crate) pmi: OwnedFd,
}

/// What all ranks are started with.
pub(crate) struct Common {
    pub(crate) segment: OwnedFd,
    /// Write end of the pipe on which a rank reports that it cannot start.
    pub(crate) report: OwnedFd,
    /// Descriptor numbers of a rank's PMI socket and of the segment.
    pub(crate) numbers: Numbers,
    /// Mask of blocked signals that `mpiexec` was started with.
    pub(crate) mask: Set,
    /// Limit of open files that `mpiexec` was started with.
    pub(crate) files: Rlimit,
}

/// A report of the guardian to `mpiexec`; 16 bytes, so the write to the pipe is atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) kind: u32,
    pub(crate) rank: u32,
    pub(crate) value: i32,
    pub(crate) pid: i32,
}

/// The rank runs as process `pid`.
pub(crate) const STARTED: u32 = 1;
/// The rank could not be forked; `value` is the errno.
pub(crate) const CANNOT_FORK: u32 = 2;
/// The rank could not change to its directory; `value` is the errno.
pub(crate) const CANNOT_ENTER: u32 = 3;
/// The rank's program could not be executed; `value` is the errno.
pub(crate) const CANNOT_EXECUTE: u32 = 4;
/// The rank has ended; `value` is the status of waitpid.
pub(crate) const ENDED: u32 = 5;
/// The guardian cannot wait for ranks and commands any more; `value` is the errno.
pub(crate) const CANNOT_WATCH: u32 = 6;

impl Report {
    /// Size on the pipe in bytes.
    pub(crate) const SIZE: usize = 16;

    pub(crate) fn to_bytes(self) -> [u8; Report::SIZE] {
        let mut bytes = [0; Report::SIZE];
        bytes[..4].copy_from_slice(&self.kind.to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.rank.to_ne_bytes());
        bytes[8..12].copy_from_slice(&self.value.to_ne_bytes());
        bytes[12..].copy_from_slice(&self.pid.to_ne_bytes());
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8; Report::SIZE]) -> Report {
        let word = |at: usize| [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        Report {
            kind: u32::from_ne_bytes(word(0)),
            rank: u32::from_ne_bytes(word(4)),
            value: i32::from_ne_bytes(word(8)),
            pid: i32::from_ne_bytes(word(12)),
        }
    }

    /// Sends the report; false if that fails, for instance because the reader is gone.
    pub(crate) fn send(self, to: &OwnedFd) -> bool {
        send_record(to, &self.to_bytes())
    }
}

/// Writes a record to a pipe, atomically because it is short; false if that fails.
pub(crate) fn send_record(to: &OwnedFd, bytes: &[u8]) -> bool {
    loop {
        match rustix::io::write(to, bytes) {
            Err(rustix::io::Errno::INTR) => {}
            written => return written == Ok(bytes.len()),
        }
    }
}

/// Forks one rank and returns its process ID, or the errno.
pub(crate) fn fork_rank(start: &RankStart, common: &Common, rank: u32) -> Result<i32, i32> {
    let pointers = |texts: &[CString]| -> Vec<*const libc::c_char> {
        texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
    };
    let (arguments, environment) = (pointers(&start.arguments), pointers(&start.environment));
    let parent = std::process::id() as i32;
    // SAFETY: the process has a single thread, so no lock is held at the `fork` and the child may
    // allocate.
    match unsafe { libc::fork() } {
        -1 => Err(errno()),
        0 => {
            let kind = become_rank(start, common, parent, &arguments, &environment);
            let pid = std::process::id() as i32;
            Report { kind, rank, value: errno(), pid }.send(&common.report);
            // SAFETY: `_exit` is always sound; it runs no destructor and no exit handler.
            unsafe { libc::_exit(127) }
        }
        pid => {
            // The child makes the same call, so the group exists before either process continues.
            let child = Pid::from_raw(pid);
            let _ = setpgid(child, child);
            Ok(pid)
        }
    }
}

/// Runs in the child. Returns only on failure: the kind of report to send, with the error in errno.
fn become_rank(
    start: &RankStart,
    common: &Common,
    parent: i32,
    arguments: &[*const libc::c_char],
    environment: &[*const libc::c_char],
) -> u32 {
    let _ = setpgid(None, None);
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    if getppid() != Pid::from_raw(parent) {
        // SAFETY: `_exit` is always sound; it runs no destructor and no exit handler.
        unsafe { libc::_exit(127) }
    }
    let _ = dup2_stdin(&start.input);
    let _ = dup2_stdout(&start.output);
    let _ = dup2_stderr(&start.errors);
    // SAFETY: these system calls change attributes of this process only. The descriptors are open,
    // because `start` and `common` own them, and the child does not use a descriptor again that
    // `dup2` replaces.
    unsafe {
        libc::dup2(start.pmi.as_raw_fd(), common.numbers.pmi);
        libc::fcntl(common.numbers.pmi, libc::F_SETFD, 0);
        libc::dup2(common.segment.as_raw_fd(), common.numbers.segment);
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
    // The fixed numbers may be above the rank's own limit.
    let _ = setrlimit(Resource::Nofile, common.files);
    bind(&start.cores);
    if let Some(directory) = &start.directory {
        // SAFETY: `directory` is NUL-terminated.
        if unsafe { libc::chdir(directory.as_ptr()) } != 0 {
            return CANNOT_ENTER;
        }
    }
    common.mask.block();
    // SAFETY: the program and all arguments and variables are NUL-terminated strings that `start`
    // owns, and both lists end with a null pointer (see `fork_rank`).
    unsafe { libc::execve(start.program.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    if errno() == libc::ENOEXEC {
        run_as_script(start, arguments, environment);
    }
    CANNOT_EXECUTE
}

/// Runs a text file without `#!` with /bin/sh, as shells do.
fn run_as_script(
    start: &RankStart,
    arguments: &[*const libc::c_char],
    environment: &[*const libc::c_char],
) {
    let mut list = vec![c"/bin/sh".as_ptr(), start.program.as_ptr()];
    list.extend_from_slice(&arguments[1..]);
    // SAFETY: the list ends with the null pointer of `arguments`; all strings are NUL-terminated
    // and owned by `start` or static.
    unsafe { libc::execve(c"/bin/sh".as_ptr(), list.as_ptr(), environment.as_ptr()) };
}

fn bind(cores: &[usize]) {
    if cores.is_empty() {
        return;
    }
    let mut set = rustix::thread::CpuSet::new();
    for &core in cores.iter().filter(|&&core| core < rustix::thread::CpuSet::MAX_CPU) {
        set.set(core);
    }
    // Fails if a core has been taken away in the meantime; the rank then runs unbound.
    let _ = rustix::thread::sched_setaffinity(None, &set);
}

pub(crate) fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_to_the_limit() {
        assert_eq!(Numbers::within(1 << 20), Numbers { pmi: 64, segment: 65 });
        assert_eq!(Numbers::within(64), Numbers { pmi: 62, segment: 63 });
        assert_eq!(Numbers::within(u64::MAX), Numbers { pmi: 64, segment: 65 });
        let file = OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
        let next = rustix::io::fcntl_dupfd_cloexec(&file, 3).unwrap().as_raw_fd();
        let numbers = Numbers { pmi: next, segment: next + 1 };
        let copy = numbers.apart(&file).unwrap().as_raw_fd();
        assert!(copy != next && copy != next + 1);
    }

    #[test]
    fn reports_cross_the_pipe_unchanged() {
        let report = Report { kind: ENDED, rank: 7, value: -3, pid: 99 };
        assert_eq!(Report::from_bytes(&report.to_bytes()), report);
    }
}
