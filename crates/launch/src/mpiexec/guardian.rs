//! The guardian: a process between `mpiexec` and its ranks that briefly outlives `mpiexec`.
//!
//! It forks the ranks, adopts their orphans and holds the read end of a pipe from `mpiexec`. When
//! that pipe is closed, or `mpiexec` commands it, it kills all its descendants, including stopped
//! processes and other sessions. Neither a terminal's signals nor a kill of `mpiexec`'s process
//! group reach it ([`leave_group`]). If the guardian itself is killed, the ranks get their
//! parent-death signal, and `mpiexec` adopts and kills the rest.

use std::os::fd::{OwnedFd, RawFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::descendants::{self, Reaped};
use super::signals::{self, Set};
use super::start::{
    CANNOT_FORK, CANNOT_WATCH, Common, ENDED, RankStart, Report, STARTED, errno, fork_rank,
};

/// Size of a command in bytes: the number of a signal for all ranks, or 0 to end.
pub(crate) const COMMAND_SIZE: usize = 4;

/// How long it tries to kill what does not end; longer than `mpiexec` waits for it.
const KILLING: Duration = Duration::from_secs(60);

/// Forks the guardian. `not_its_own` are descriptors of `mpiexec` that it must not hold.
///
/// # Errors
/// The errno if `fork` fails.
pub(crate) fn fork_guardian(
    starts: Vec<RankStart>,
    common: Common,
    commands: OwnedFd,
    not_its_own: &[RawFd],
) -> Result<i32, i32> {
    // SAFETY: the process has a single thread, so no lock is held at the `fork` and the child may
    // allocate.
    match unsafe { libc::fork() } {
        -1 => Err(errno()),
        0 => {
            for &descriptor in not_its_own {
                // SAFETY: the child does not use these descriptors again. It ends inside `guard`
                // without running the destructors of their owners.
                unsafe { libc::close(descriptor) };
            }
            guard(starts, common, commands)
        }
        pid => Ok(pid),
    }
}

struct Ranks {
    /// Process ID of each rank that runs.
    running: Vec<Option<i32>>,
}

impl Ranks {
    /// Reports the end of a child if it is a rank; false if the report cannot be sent.
    fn ended(&mut self, pid: i32, status: i32, report: &OwnedFd) -> bool {
        let Some(rank) = self.running.iter().position(|&running| running == Some(pid)) else {
            return true;
        };
        self.running[rank] = None;
        Report { kind: ENDED, rank: rank as u32, value: status, pid }.send(report)
    }

    /// Signals the process groups of all ranks that have not been reaped, whose IDs therefore
    /// cannot have been reused.
    fn signal(&self, signal: i32) {
        for pid in self.running.iter().flatten() {
            signals::send(-pid, signal);
        }
    }
}

/// The main function of the guardian.
fn guard(starts: Vec<RankStart>, common: Common, commands: OwnedFd) -> ! {
    detach();
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
        let watched = child_ended
            .and_then(|child_ended| watch(&commands, &child_ended, &mut ranks, &common.report));
        if let Err(error) = watched {
            Report { kind: CANNOT_WATCH, rank: 0, value: error, pid: 0 }.send(&common.report);
        }
    }
    ranks.signal(libc::SIGKILL);
    descendants::kill_all(&[], KILLING, |pid, status| {
        ranks.ended(pid, status, &common.report);
    });
    // SAFETY: `_exit` is always sound; it runs no destructor and no exit handler.
    unsafe { libc::_exit(0) }
}

/// Gets a process group and a name of its own, blocks all signals and becomes the parent of all
/// orphans.
fn detach() {
    Set::all().block();
    leave_group();
    let _ = rustix::thread::set_name(c"towpath-guard");
    descendants::adopt_orphans();
    rename_command_line();
    if let Ok(nowhere) = std::fs::File::open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(nowhere);
    }
}

/// Leaves the process group of `mpiexec`, and its session too if that has a terminal, which could
/// stop ranks that use it. Without need it makes no session: to the kernel that is a group which
/// gets its share of the processors as a whole (autogroups, sched(7)). A rank that yields gives its
/// core to ranks of its own group only, so hosts of one machine wait for each other in vain. 8
/// hosts of 8 ranks on two cores, a barrier: 0.75 instead of 1.45 ms (2026-11-28).
fn leave_group() {
    let _ = match std::fs::File::open("/dev/tty") {
        Ok(_) => rustix::process::setsid().map(drop),
        Err(_) => rustix::process::setpgid(None, None),
    };
}

/// Overwrites the command line that `ps` and `pkill -f` show, so that killing `mpiexec` by name
/// does not hit the guardian.
fn rename_command_line() {
    let bounds = std::fs::read_to_string("/proc/self/stat").ok().and_then(|text| {
        // proc(5): fields 48 and 49 are the begin and end of the arguments; the first field after
        // the name is field 3.
        let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(48 - 3);
        Some((fields.next()?.parse::<usize>().ok()?, fields.next()?.parse::<usize>().ok()?))
    });
    let Some((begin, end)) =
        bounds.filter(|&(begin, end)| begin != 0 && begin < end && end - begin < 1 << 22)
    else {
        return;
    };
    let name = b"towpath-guardian";
    // SAFETY: the kernel reports this range as the argument strings of this process. After the fork
    // the memory is private to the guardian, which has a single thread and does not read its
    // arguments. The last byte stays zero.
    unsafe {
        std::ptr::write_bytes(begin as *mut u8, 0, end - begin);
        std::ptr::copy_nonoverlapping(
            name.as_ptr(),
            begin as *mut u8,
            name.len().min(end - begin - 1),
        );
    }
}

/// Handles commands and exits of ranks. Returns when everything is to be ended, for instance
/// because `mpiexec` no longer reads the reports.
///
/// # Errors
/// The errno if waiting fails.
fn watch(
    commands: &OwnedFd,
    child_ended: &OwnedFd,
    ranks: &mut Ranks,
    report: &OwnedFd,
) -> Result<(), i32> {
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
        let mut sources =
            [PollFd::new(commands, PollFlags::IN), PollFd::new(child_ended, PollFlags::IN)];
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

/// Executes one command; false if it is the command to end, or if `mpiexec` is gone.
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
