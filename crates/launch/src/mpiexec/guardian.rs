//! The guardian: a process between `mpiexec` and its ranks that outlives `mpiexec` by a moment.
//!
//! It forks the ranks, adopts their orphans and holds the reading end of a pipe from `mpiexec`.
//! When that pipe ends, or `mpiexec` says so, it kills everything below itself, stopped processes
//! and other sessions included. It has a session of its own, so neither a terminal's signals nor a
//! kill of `mpiexec`'s process group reach it; should it be killed itself, the ranks get their
//! parent-death signal and `mpiexec` adopts and kills the rest.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::descendants::{self, Reaped};
use super::signals::{self, Set};
use super::start::{CANNOT_FORK, CANNOT_WATCH, Common, ENDED, Report, STARTED, Start, errno, fork_rank};

/// Size of a command in bytes: the number of a signal for all ranks, or 0 to end.
pub(crate) const COMMAND_SIZE: usize = 4;

/// How long it kills what does not end: longer than `mpiexec` waits for it.
const KILLING: Duration = Duration::from_secs(60);

/// Forks the guardian with everything it needs. `not_its_own` are descriptors of `mpiexec` that it
/// must not hold.
///
/// # Errors
/// The system's error when fork fails.
pub(crate) fn fork_guardian(
    starts: Vec<Start>,
    common: Common,
    commands: OwnedFd,
    not_its_own: &[RawFd],
) -> Result<i32, i32> {
    // SAFETY: the process has one thread, so the child may go on as a whole copy.
    match unsafe { libc::fork() } {
        -1 => Err(errno()),
        0 => {
            for &descriptor in not_its_own {
                // SAFETY: the child never uses these again: it ends inside `guard` without running
                // destructors.
                unsafe { libc::close(descriptor) };
            }
            guard(starts, common, commands)
        }
        pid => Ok(pid),
    }
}

struct Ranks {
    /// Process number of each rank that runs.
    running: Vec<Option<i32>>,
}

impl Ranks {
    /// Reports a child that has ended, if it is a rank; false when that cannot be told.
    fn ended(&mut self, pid: i32, status: i32, report: &OwnedFd) -> bool {
        let Some(rank) = self.running.iter().position(|&running| running == Some(pid)) else { return true };
        self.running[rank] = None;
        Report { kind: ENDED, rank: rank as u32, value: status, pid }.send(report)
    }

    /// Signals the process groups of all ranks that have not been reaped (so their numbers are
    /// still theirs).
    fn signal(&self, signal: i32) {
        for pid in self.running.iter().flatten() {
            signals::send(-pid, signal);
        }
    }
}

/// The guardian's life.
fn guard(starts: Vec<Start>, common: Common, commands: OwnedFd) -> ! {
    settle();
    let child_ended = Set::of(&[libc::SIGCHLD]).descriptor();
    let mut ranks = Ranks { running: vec![None; starts.len()] };
    let mut goes_on = true;
    for (rank, start) in starts.into_iter().enumerate() {
        if waits(&commands) && !obey(&commands, &ranks) {
            goes_on = false;
            break;
        }
        let (rank, forked) = (rank as u32, fork_rank(&start, &common, rank as u32));
        let report = match forked {
            Ok(pid) => {
                ranks.running[rank as usize] = Some(pid);
                Report { kind: STARTED, rank, value: 0, pid }
            }
            Err(error) => Report { kind: CANNOT_FORK, rank, value: error, pid: 0 },
        };
        if !report.send(&common.report) {
            goes_on = false;
            break;
        }
    }
    if goes_on {
        let child_ended = child_ended.map_err(|error| error.raw_os_error().unwrap_or(0));
        let watched = child_ended.and_then(|child_ended| watch(&commands, &child_ended, &mut ranks, &common.report));
        if let Err(error) = watched {
            Report { kind: CANNOT_WATCH, rank: 0, value: error, pid: 0 }.send(&common.report);
        }
    }
    ranks.signal(libc::SIGKILL);
    descendants::kill_all(&[], KILLING, |pid, status| {
        ranks.ended(pid, status, &common.report);
    });
    // SAFETY: ends this process at once; it shares memory with nobody.
    unsafe { libc::_exit(0) }
}

/// A session and a name of its own, deaf to signals, parent of all orphans.
fn settle() {
    Set::all().block();
    // SAFETY: plain system calls on this process; the name ends with a zero byte.
    unsafe {
        libc::setsid();
        libc::prctl(libc::PR_SET_NAME, c"towpath-guard".as_ptr(), 0, 0, 0);
    }
    descendants::adopt_orphans();
    rename_command_line();
    if let Ok(nowhere) = std::fs::File::open("/dev/null") {
        // SAFETY: replaces stdin of this process only.
        unsafe { libc::dup2(nowhere.as_raw_fd(), 0) };
    }
}

/// Overwrites the command line that `ps` and `pkill -f` see: who kills `mpiexec` by its name means
/// `mpiexec`.
fn rename_command_line() {
    let bounds = std::fs::read_to_string("/proc/self/stat").ok().and_then(|text| {
        // proc(5): fields 48 and 49 are the begin and end of the arguments; field 3 is the first
        // after the name.
        let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(48 - 3);
        Some((fields.next()?.parse::<usize>().ok()?, fields.next()?.parse::<usize>().ok()?))
    });
    let Some((begin, end)) = bounds.filter(|&(begin, end)| begin != 0 && begin < end && end - begin < 1 << 22) else {
        return;
    };
    let name = b"towpath-guardian";
    // SAFETY: the kernel names this range as the argument strings of this very process, which is a
    // private copy that nobody else reads; the last byte stays zero.
    unsafe {
        std::ptr::write_bytes(begin as *mut u8, 0, end - begin);
        std::ptr::copy_nonoverlapping(name.as_ptr(), begin as *mut u8, name.len().min(end - begin - 1));
    }
}

/// Waits for commands and for the ends of ranks; returns when everything is to end, because nobody
/// hears of them any more for instance.
///
/// # Errors
/// The system's error when it lets nobody wait.
fn watch(commands: &OwnedFd, child_ended: &OwnedFd, ranks: &mut Ranks, report: &OwnedFd) -> Result<(), i32> {
    loop {
        while signals::next(child_ended)?.is_some() {}
        loop {
            match descendants::reap() {
                Reaped::Child(pid, status) if ranks.ended(pid, status, report) => {}
                Reaped::Child(..) => return Ok(()),
                Reaped::Failed(error) => return Err(error),
                Reaped::NoneEnded | Reaped::NoChild => break,
            }
        }
        let mut sources = [PollFd::new(commands, PollFlags::IN), PollFd::new(child_ended, PollFlags::IN)];
        match poll(&mut sources, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.raw_os_error()),
        }
        if !sources[0].revents().is_empty() && !obey(commands, ranks) {
            return Ok(());
        }
    }
}

fn waits(commands: &OwnedFd) -> bool {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(commands, PollFlags::IN)], Some(&at_once)).is_ok_and(|ready| ready > 0)
}

/// Carries out one command; false when it is the end, or `mpiexec` is gone.
fn obey(commands: &OwnedFd, ranks: &Ranks) -> bool {
    let mut command = [0u8; COMMAND_SIZE];
    match rustix::io::read(commands, &mut command) {
        Ok(COMMAND_SIZE) => match i32::from_ne_bytes(command) {
            0 => false,
            signal => {
                ranks.signal(signal);
                true
            }
        },
        Err(rustix::io::Errno::INTR) => true,
        _ => false,
    }
}
