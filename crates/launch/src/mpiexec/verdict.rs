//! The state of a job: which ranks run, which failure came first, and what to do about it. The
//! owner of the ranks (`job` on this host, `job_on_hosts` over several) reports events and carries
//! out the orders.
//!
//! Phases: running; ending (the ranks have been asked to end and get a grace period); closing
//! (everything left is killed). Only the first failure is reported, because failures while the job
//! is being ended are consequences of that.
#![forbid(unsafe_code)]

use std::time::{Duration, Instant};

use towpath_base::control::RankState;

use super::report::{JobFailure, LastCall, cause};
use super::server::Server;
use super::start::{CANNOT_ENTER, CANNOT_EXECUTE, CANNOT_FORK};

/// Grace period for the ranks when the job ends, before they are killed.
const GRACE: Duration = Duration::from_millis(1000);
/// Grace period after a signal from the user.
const GRACE_AFTER_SIGNAL: Duration = Duration::from_secs(3);
/// How long killing everything may take.
const PATIENCE_WITH_GUARDIAN: Duration = Duration::from_secs(20);
/// How often to check for ranks that wait in MPI for a rank that has exited without MPI_Init.
pub(super) const CHECK: Duration = Duration::from_millis(500);

/// Signals by which a rank dies because the job is being ended: those that it is sent, and those
/// with which it then ends itself (`abort` in a handler, a write to a process that is gone).
const AT_AN_END: [i32; 7] = [
    libc::SIGTERM,
    libc::SIGKILL,
    libc::SIGINT,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGABRT,
    libc::SIGPIPE,
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum JobPhase {
    Running,
    Ending { kill_at: Instant },
    Closing { give_up_at: Instant },
}

/// An action on the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobOrder {
    /// Forward this signal to all ranks; the job continues.
    Signal(i32),
    /// Tell all ranks that the job ends, with this signal.
    End(i32),
    /// Kill everything that is left.
    Close,
    /// Killing has failed: exit anyway.
    GiveUp,
}

/// How a rank has ended, as its host saw it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RankEnd {
    /// Status of waitpid.
    pub(super) status: i32,
    /// State in its control page.
    pub(super) state: u32,
    /// Number of its last MPI call.
    pub(super) last_call: u32,
    /// Not 0 if it was inside that call.
    pub(super) in_call: u32,
}

#[derive(Clone, Default)]
struct RankRecord {
    pid: i32,
    ended: bool,
}

impl RankEnd {
    /// True if the rank has ended normally without calling MPI_Init, as far as its host can tell.
    pub(super) fn is_without_init(&self) -> bool {
        self.status == 0 && self.state == RankState::Starting as u32
    }
}

/// The state of a job.
pub(super) struct Verdict {
    ranks: Vec<RankRecord>,
    running: usize,
    command_names: Vec<String>,
    phase: JobPhase,
    failures: Vec<JobFailure>,
    /// Exit code of a rank that failed after MPI_Finalize.
    late_code: i32,
    /// A rank that ended normally without calling MPI_Init.
    left_without_init: Option<usize>,
    timeout: Option<(Instant, Duration)>,
    next_check: Instant,
    asked: bool,
}

impl Verdict {
    /// Creates the state of a job whose ranks run these commands.
    pub(super) fn new(command_names: Vec<String>, timeout: Option<Duration>) -> Verdict {
        Verdict {
            ranks: vec![RankRecord::default(); command_names.len()],
            running: command_names.len(),
            command_names,
            phase: JobPhase::Running,
            failures: Vec::new(),
            late_code: 0,
            left_without_init: None,
            // A limit beyond the range of `Instant` is no limit.
            timeout: timeout.and_then(|limit| Some((Instant::now().checked_add(limit)?, limit))),
            next_check: Instant::now() + CHECK,
            asked: false,
        }
    }

    /// True until the job is being ended.
    pub(super) fn is_running(&self) -> bool {
        self.phase == JobPhase::Running
    }

    /// True if the job runs and a failure has been recorded.
    pub(super) fn is_about_to_end(&self) -> bool {
        self.is_running() && !self.failures.is_empty()
    }

    pub(super) fn is_closing(&self) -> bool {
        matches!(self.phase, JobPhase::Closing { .. })
    }

    /// True if the user or a time limit has ended a job that had not failed.
    pub(super) fn is_ended_without_fault(&self) -> bool {
        matches!(self.failures[..], [JobFailure::Asked { .. } | JobFailure::Timeout { .. }, ..])
    }

    /// True if a rank has ended.
    pub(super) fn has_ended(&self, rank: usize) -> bool {
        self.ranks[rank].ended
    }

    /// Records a failure, unless the job is ending already.
    pub(super) fn fail(&mut self, failure: JobFailure) {
        let own_crash =
            matches!(&failure, JobFailure::Signal { signal, .. } if !AT_AN_END.contains(signal));
        if self.is_running() || (own_crash && !self.asked) {
            self.failures.push(failure);
        }
    }

    /// Records a failure that occurred after the ranks had ended; ignored if an earlier failure
    /// explains it.
    pub(super) fn fail_late(&mut self, failure: JobFailure) {
        if self.failures.is_empty() {
            self.failures.push(failure);
        }
    }

    /// Data has arrived from a host while the job is being closed: extends the time for the rest.
    pub(super) fn heard(&mut self) {
        if self.is_closing() {
            self.phase = JobPhase::Closing { give_up_at: Instant::now() + PATIENCE_WITH_GUARDIAN };
        }
    }

    /// `mpiexec` or a guardian cannot wait for events.
    pub(super) fn cannot_watch(&mut self, error: i32) -> JobOrder {
        let reason = std::io::Error::from_raw_os_error(error).to_string();
        self.fail_first(JobFailure::CannotWatch { reason });
        self.close()
    }

    /// Records a failure that explains all others.
    pub(super) fn fail_first(&mut self, failure: JobFailure) {
        self.failures.insert(0, failure);
    }

    pub(super) fn started(&mut self, rank: usize, pid: i32) {
        self.ranks[rank].pid = pid;
    }

    /// A rank could not be started, or its program could not be executed.
    pub(super) fn not_started(&mut self, rank: usize, kind: u32, error: i32) {
        let reason = std::io::Error::from_raw_os_error(error);
        let name = &self.command_names[rank];
        let (code, sentence) = match kind {
            CANNOT_ENTER => {
                (1, format!("rank {rank} cannot enter its directory ({reason}); the job is ended."))
            }
            // The program existed when the job was planned.
            CANNOT_EXECUTE if error == libc::ENOENT => {
                let what = "its interpreter (the first line of a script, the loader of a binary) does not exist";
                (
                    127,
                    format!(
                        "the program {name} of rank {rank} cannot be executed: {what}; the job is \
                         ended."
                    ),
                )
            }
            CANNOT_EXECUTE => (
                126,
                format!(
                    "the program {name} of rank {rank} cannot be executed ({reason}); the job is \
                     ended."
                ),
            ),
            _ => {
                debug_assert_eq!(kind, CANNOT_FORK);
                if !std::mem::replace(&mut self.ranks[rank].ended, true) {
                    self.running -= 1;
                }
                (
                    1,
                    format!(
                        "rank {rank} cannot be started: no further process is allowed ({reason}); the job is ended."
                    ),
                )
            }
        };
        self.fail(JobFailure::Start { code, sentence });
    }

    /// A rank has ended.
    pub(super) fn ended(&mut self, rank: usize, ending: RankEnd, server: &Server) {
        if std::mem::replace(&mut self.ranks[rank].ended, true) {
            return;
        }
        self.running -= 1;
        let RankEnd { status, state, last_call, in_call } = ending;
        let call =
            super::calls::name(last_call).map(|name| LastCall { name, inside: in_call != 0 });
        let inside = state == RankState::Running as u32 || server.inside(rank);
        let entered = state != RankState::Starting as u32 || server.initialized(rank);
        let pid = self.ranks[rank].pid;
        let aborted = self
            .failures
            .iter()
            .any(|failure| matches!(failure, JobFailure::Abort { rank: r, .. } if *r == rank));
        if aborted {
            return;
        }
        if libc::WIFSIGNALED(status) {
            let (signal, core) = (libc::WTERMSIG(status), libc::WCOREDUMP(status));
            return self.fail(JobFailure::Signal { rank, pid, signal, core, call });
        }
        match libc::WEXITSTATUS(status) {
            0 if inside => self.fail(JobFailure::WithoutFinalize { rank, pid, call }),
            0 if !entered => self.left_without_init = self.left_without_init.or(Some(rank)),
            0 => {}
            code if entered && !inside => {
                self.late_code = if self.late_code == 0 { code } else { self.late_code }
            }
            code => self.fail(JobFailure::Exit { rank, pid, code, call }),
        }
    }

    /// No more reports about a rank will arrive; it counts as ended.
    pub(super) fn lost(&mut self, rank: usize) {
        if !std::mem::replace(&mut self.ranks[rank].ended, true) {
            self.running -= 1;
        }
    }

    /// Handles a signal that the user sent to `mpiexec`. The caller handles SIGTSTP itself.
    pub(super) fn signalled(&mut self, signal: i32) -> JobOrder {
        match signal {
            libc::SIGUSR1 | libc::SIGUSR2 | libc::SIGCONT => JobOrder::Signal(signal),
            // The ranks are already being killed; another signal does not postpone the end.
            _ if self.is_closing() => JobOrder::Close,
            _ if self.asked => self.close(),
            _ => {
                if self.is_running() {
                    self.failures.push(JobFailure::Asked { signal });
                }
                self.asked = true;
                self.phase = JobPhase::Ending { kill_at: Instant::now() + GRACE_AFTER_SIGNAL };
                JobOrder::End(signal)
            }
        }
    }

    fn close(&mut self) -> JobOrder {
        self.phase = JobPhase::Closing { give_up_at: Instant::now() + PATIENCE_WITH_GUARDIAN };
        JobOrder::Close
    }

    /// Handles deadlines and phase changes. `others_inside` checks whether a rank that has not
    /// ended is in MPI.
    pub(super) fn next_order(
        &mut self,
        others_inside: impl FnOnce(&Verdict) -> bool,
    ) -> Option<JobOrder> {
        let now = Instant::now();
        if let Some(rank) = self.left_without_init.filter(|_| now >= self.next_check) {
            self.next_check = now + CHECK;
            // MPI_Init is collective over all ranks: if a rank has left without calling it, the
            // others wait forever.
            if others_inside(self) {
                self.fail(JobFailure::WithoutInit { rank });
            }
        }
        if let Some((_, limit)) = self.timeout.filter(|(at, _)| *at <= now) {
            self.timeout = None;
            self.fail(JobFailure::Timeout { seconds: limit.as_secs() });
        }
        match self.phase {
            // Without running ranks, a failure needs no grace period.
            JobPhase::Running if self.running == 0 => Some(self.close()),
            JobPhase::Running if !self.failures.is_empty() => {
                self.phase = JobPhase::Ending { kill_at: now + GRACE };
                Some(JobOrder::End(libc::SIGTERM))
            }
            JobPhase::Ending { kill_at } if self.running == 0 || now >= kill_at => {
                Some(self.close())
            }
            JobPhase::Closing { give_up_at } if now >= give_up_at => Some(JobOrder::GiveUp),
            _ => None,
        }
    }

    /// When [`Verdict::next_order`] must be called at the latest.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let phase = match self.phase {
            JobPhase::Running => None,
            JobPhase::Ending { kill_at } => Some(kill_at),
            JobPhase::Closing { give_up_at } => Some(give_up_at),
        };
        let check = self.left_without_init.map(|_| self.next_check);
        [phase, check, self.timeout.map(|(at, _)| at)].into_iter().flatten().min()
    }

    /// The error message, if any, and the exit code.
    pub(super) fn result(&self) -> (Option<String>, i32) {
        let cause = cause(&self.failures);
        (cause.map(JobFailure::sentence), cause.map_or(self.late_code, JobFailure::exit_code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::JobKey;
    use towpath_base::ids::JobId;

    fn job(ranks: usize) -> (Verdict, Server) {
        let server =
            Server::new(JobId(1), &JobKey([0; 32]), None, &vec![0; ranks], &vec![0; ranks]);
        (Verdict::new(vec!["x".to_owned(); ranks], None), server)
    }

    #[test]
    fn the_first_failure_ends_the_job_and_is_told() {
        let (mut verdict, server) = job(3);
        verdict.ended(1, RankEnd { status: 3 << 8, ..RankEnd::default() }, &server);
        assert_eq!(verdict.next_order(|_| false), Some(JobOrder::End(libc::SIGTERM)));
        verdict.ended(0, RankEnd { status: libc::SIGTERM, ..RankEnd::default() }, &server);
        verdict.ended(2, RankEnd { status: libc::SIGTERM, ..RankEnd::default() }, &server);
        assert_eq!(verdict.next_order(|_| false), Some(JobOrder::Close));
        assert_eq!(verdict.next_order(|_| false), None);
        let (sentence, code) = verdict.result();
        assert!(sentence.unwrap().contains("rank 1") && code == 3);
    }

    #[test]
    fn a_job_whose_last_rank_has_failed_is_closed_at_once() {
        let (mut verdict, server) = job(2);
        verdict.ended(0, RankEnd::default(), &server);
        verdict.ended(1, RankEnd { status: 3 << 8, ..RankEnd::default() }, &server);
        assert_eq!(
            verdict.next_order(|_| false),
            Some(JobOrder::Close),
            "nobody is left to be asked to end"
        );
        assert_eq!(verdict.result().1, 3);
    }

    #[test]
    fn output_that_still_comes_gets_time_and_what_is_lost_then_is_told() {
        let (mut verdict, server) = job(1);
        let lost = || JobFailure::HostGone { name: "a".to_owned(), reason: "x".to_owned() };
        verdict.heard();
        assert!(verdict.is_running());
        verdict.ended(
            0,
            RankEnd { state: RankState::Finalized as u32, ..RankEnd::default() },
            &server,
        );
        assert_eq!(verdict.next_order(|_| false), Some(JobOrder::Close));
        let give_up_at = verdict.deadline();
        std::thread::sleep(Duration::from_millis(1));
        verdict.heard();
        assert!(verdict.deadline() > give_up_at);
        verdict.fail_late(lost());
        assert_eq!(verdict.result().1, 1);
        let (mut verdict, _) = job(1);
        verdict.signalled(libc::SIGINT);
        verdict.fail_late(lost());
        assert_eq!(verdict.result().1, 128 + libc::SIGINT);
    }

    #[test]
    fn who_aborts_when_told_to_end_is_not_the_cause_but_who_crashes_is() {
        for (signal, code) in
            [(libc::SIGABRT, 3), (libc::SIGPIPE, 3), (libc::SIGSEGV, 128 + libc::SIGSEGV)]
        {
            let (mut verdict, server) = job(2);
            verdict.ended(1, RankEnd { status: 3 << 8, ..RankEnd::default() }, &server);
            assert_eq!(verdict.next_order(|_| false), Some(JobOrder::End(libc::SIGTERM)));
            verdict.ended(0, RankEnd { status: signal, ..RankEnd::default() }, &server);
            assert_eq!(verdict.result().1, code);
        }
    }

    #[test]
    fn a_guardian_that_cannot_watch_is_the_cause_of_its_own_end() {
        let (mut verdict, _) = job(1);
        assert_eq!(verdict.cannot_watch(libc::EPERM), JobOrder::Close);
        assert!(verdict.is_closing());
        let (sentence, code) = verdict.result();
        assert!(
            sentence.unwrap().contains("cannot be watched (Operation not permitted") && code == 1
        );
    }

    #[test]
    fn a_second_signal_does_not_wait() {
        let (mut verdict, _) = job(1);
        assert_eq!(verdict.signalled(libc::SIGUSR1), JobOrder::Signal(libc::SIGUSR1));
        assert_eq!(verdict.signalled(libc::SIGINT), JobOrder::End(libc::SIGINT));
        assert_eq!(verdict.signalled(libc::SIGINT), JobOrder::Close);
        let give_up_at = verdict.deadline();
        assert_eq!(verdict.signalled(libc::SIGINT), JobOrder::Close);
        assert_eq!(verdict.deadline(), give_up_at, "asking again gives no more time");
        assert_eq!(verdict.result().1, 128 + libc::SIGINT);
    }
}
