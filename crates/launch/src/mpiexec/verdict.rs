//! What becomes of a job: which ranks run, what went wrong first, and what is to be done about it.
//! Whoever holds the ranks (`job` on this host, `fleet` over several) tells what happens and
//! carries out the orders.
//!
//! Phases: running; ending (the ranks have been asked to end and have a moment for it); closing
//! (what is left is killed). Only the first failure is told: what fails after the job is being
//! ended is a consequence.
#![forbid(unsafe_code)]

use std::time::{Duration, Instant};

use towpath_base::control::RankState;

use super::report::{Failure, LastCall, cause};
use super::server::Server;
use super::start::{CANNOT_ENTER, CANNOT_EXECUTE, CANNOT_FORK};

/// How long ranks have to end by themselves when the job ends, before they are killed.
const GRACE: Duration = Duration::from_millis(1000);
/// The same after a person's signal.
const GRACE_AFTER_SIGNAL: Duration = Duration::from_secs(3);
/// How long killing everything may take.
const PATIENCE_WITH_GUARDIAN: Duration = Duration::from_secs(20);
/// How often ranks are compared with those that have left.
pub(super) const CHECK: Duration = Duration::from_millis(500);

/// Signals by which a rank dies because the job is being ended: those that it is sent, and those by
/// which it ends itself then (`abort` in a handler, a line to somebody who has gone).
const AT_AN_END: [i32; 7] =
    [libc::SIGTERM, libc::SIGKILL, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT, libc::SIGABRT, libc::SIGPIPE];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Running,
    Ending { kill_at: Instant },
    Closing { give_up_at: Instant },
}

/// What is to be done to the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Send all ranks this signal; nothing ends.
    Signal(i32),
    /// Tell all ranks that the job ends, by this signal.
    End(i32),
    /// Kill whatever is left.
    Close,
    /// It could not be killed: leave.
    GiveUp,
}

/// How a rank has ended, as its host saw it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ending {
    /// Status of waitpid.
    pub(super) status: i32,
    /// State in its control page.
    pub(super) state: u32,
    /// Number of its last MPI call.
    pub(super) last_call: u32,
    /// Whether it was inside.
    pub(super) in_call: u32,
}

#[derive(Clone, Default)]
struct Rank {
    pid: i32,
    ended: bool,
}

impl Ending {
    /// Whether the rank has ended well without ever having been in MPI, as far as its host sees.
    pub(super) fn is_without_init(&self) -> bool {
        self.status == 0 && self.state == RankState::Starting as u32
    }
}

/// The state of a job.
pub(super) struct Verdict {
    ranks: Vec<Rank>,
    running: usize,
    command_names: Vec<String>,
    phase: Phase,
    failures: Vec<Failure>,
    /// Exit code of a rank that failed after MPI_Finalize.
    late_code: i32,
    /// A rank that ended well without ever entering MPI.
    left_without_init: Option<usize>,
    timeout: Option<(Instant, Duration)>,
    next_check: Instant,
    asked: bool,
}

impl Verdict {
    /// A job whose ranks run these commands.
    pub(super) fn new(command_names: Vec<String>, timeout: Option<Duration>) -> Verdict {
        Verdict {
            ranks: vec![Rank::default(); command_names.len()],
            running: command_names.len(),
            command_names,
            phase: Phase::Running,
            failures: Vec::new(),
            late_code: 0,
            left_without_init: None,
            // A limit beyond all times is none.
            timeout: timeout.and_then(|limit| Some((Instant::now().checked_add(limit)?, limit))),
            next_check: Instant::now() + CHECK,
            asked: false,
        }
    }

    /// True until the job is being ended.
    pub(super) fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    /// True while the job runs and something has gone wrong.
    pub(super) fn is_about_to_end(&self) -> bool {
        self.is_running() && !self.failures.is_empty()
    }

    pub(super) fn is_closing(&self) -> bool {
        matches!(self.phase, Phase::Closing { .. })
    }

    /// True when a person or a time limit has ended the job, which had not failed.
    pub(super) fn is_ended_without_fault(&self) -> bool {
        matches!(self.failures[..], [Failure::Asked { .. } | Failure::Timeout { .. }, ..])
    }

    /// Whether a rank has ended.
    pub(super) fn has_ended(&self, rank: usize) -> bool {
        self.ranks[rank].ended
    }

    /// Notes a failure, if the job is not ending already.
    pub(super) fn fail(&mut self, failure: Failure) {
        let own_crash = matches!(&failure, Failure::Signal { signal, .. } if !AT_AN_END.contains(signal));
        if self.is_running() || (own_crash && !self.asked) {
            self.failures.push(failure);
        }
    }

    /// Notes what went wrong after the ranks had ended; a failure that is known already explains
    /// it.
    pub(super) fn fail_late(&mut self, failure: Failure) {
        if self.failures.is_empty() {
            self.failures.push(failure);
        }
    }

    /// Something has come from where the job is being closed: it gets more time for the rest.
    pub(super) fn heard(&mut self) {
        if self.is_closing() {
            self.phase = Phase::Closing { give_up_at: Instant::now() + PATIENCE_WITH_GUARDIAN };
        }
    }

    /// The system does not let `mpiexec` or a guardian wait for what happens.
    pub(super) fn cannot_watch(&mut self, error: i32) -> Order {
        let reason = std::io::Error::from_raw_os_error(error).to_string();
        self.fail_first(Failure::CannotWatch { reason });
        self.close()
    }

    /// Notes a failure that explains all others.
    pub(super) fn fail_first(&mut self, failure: Failure) {
        self.failures.insert(0, failure);
    }

    pub(super) fn started(&mut self, rank: usize, pid: i32) {
        self.ranks[rank].pid = pid;
    }

    /// A rank could not be started, or its program not be executed.
    pub(super) fn not_started(&mut self, rank: usize, kind: u32, error: i32) {
        let reason = std::io::Error::from_raw_os_error(error);
        let name = &self.command_names[rank];
        let (code, sentence) = match kind {
            CANNOT_ENTER => (1, format!("rank {rank} cannot enter its folder ({reason}); the job is ended.")),
            // It was there when the job was planned.
            CANNOT_EXECUTE if error == libc::ENOENT => {
                let what = "its interpreter (the first line of a script, the loader of a binary) does not exist";
                (127, format!("the program {name} of rank {rank} cannot be executed: {what}; the job is ended."))
            }
            CANNOT_EXECUTE => {
                (126, format!("the program {name} of rank {rank} cannot be executed ({reason}); the job is ended."))
            }
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
        self.fail(Failure::Start { code, sentence });
    }

    /// A rank has ended.
    pub(super) fn ended(&mut self, rank: usize, ending: Ending, server: &Server) {
        if std::mem::replace(&mut self.ranks[rank].ended, true) {
            return;
        }
        self.running -= 1;
        let Ending { status, state, last_call, in_call } = ending;
        let call = super::calls::name(last_call).map(|name| LastCall { name, inside: in_call != 0 });
        let inside = state == RankState::Running as u32 || server.inside(rank);
        let entered = state != RankState::Starting as u32 || server.initialised(rank);
        let pid = self.ranks[rank].pid;
        let aborted =
            self.failures.iter().any(|failure| matches!(failure, Failure::Abort { rank: r, .. } if *r == rank));
        if aborted {
            return;
        }
        if libc::WIFSIGNALED(status) {
            let (signal, core) = (libc::WTERMSIG(status), libc::WCOREDUMP(status));
            return self.fail(Failure::Signal { rank, pid, signal, core, call });
        }
        match libc::WEXITSTATUS(status) {
            0 if inside => self.fail(Failure::WithoutFinalize { rank, pid, call }),
            0 if !entered => self.left_without_init = self.left_without_init.or(Some(rank)),
            0 => {}
            code if entered && !inside => self.late_code = if self.late_code == 0 { code } else { self.late_code },
            code => self.fail(Failure::Exit { rank, pid, code, call }),
        }
    }

    /// A rank of which nothing will be heard any more.
    pub(super) fn lost(&mut self, rank: usize) {
        if !std::mem::replace(&mut self.ranks[rank].ended, true) {
            self.running -= 1;
        }
    }

    /// A person's signal to `mpiexec`; SIGTSTP is the caller's.
    pub(super) fn signalled(&mut self, signal: i32) -> Order {
        match signal {
            libc::SIGUSR1 | libc::SIGUSR2 | libc::SIGCONT => Order::Signal(signal),
            // Killing has begun: asking again gives it no more time.
            _ if self.is_closing() => Order::Close,
            _ if self.asked => self.close(),
            _ => {
                if self.is_running() {
                    self.failures.push(Failure::Asked { signal });
                }
                self.asked = true;
                self.phase = Phase::Ending { kill_at: Instant::now() + GRACE_AFTER_SIGNAL };
                Order::End(signal)
            }
        }
    }

    fn close(&mut self) -> Order {
        self.phase = Phase::Closing { give_up_at: Instant::now() + PATIENCE_WITH_GUARDIAN };
        Order::Close
    }

    /// Deadlines and changes of phase. `others_inside` looks whether a rank that has not ended is
    /// in MPI.
    pub(super) fn next_order(&mut self, others_inside: impl FnOnce(&Verdict) -> bool) -> Option<Order> {
        let now = Instant::now();
        if let Some(rank) = self.left_without_init.filter(|_| now >= self.next_check) {
            self.next_check = now + CHECK;
            // MPI_Init is collective over all ranks: one that has left without it leaves the others
            // waiting for ever.
            if others_inside(self) {
                self.fail(Failure::WithoutInit { rank });
            }
        }
        if let Some((_, limit)) = self.timeout.filter(|(at, _)| *at <= now) {
            self.timeout = None;
            self.fail(Failure::Timeout { seconds: limit.as_secs() });
        }
        match self.phase {
            // With nobody left to be asked to end, a failure needs no grace.
            Phase::Running if self.running == 0 => Some(self.close()),
            Phase::Running if !self.failures.is_empty() => {
                self.phase = Phase::Ending { kill_at: now + GRACE };
                Some(Order::End(libc::SIGTERM))
            }
            Phase::Ending { kill_at } if self.running == 0 || now >= kill_at => Some(self.close()),
            Phase::Closing { give_up_at } if now >= give_up_at => Some(Order::GiveUp),
            _ => None,
        }
    }

    /// When [`Verdict::next_order`] is to be called at the latest.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let phase = match self.phase {
            Phase::Running => None,
            Phase::Ending { kill_at } => Some(kill_at),
            Phase::Closing { give_up_at } => Some(give_up_at),
        };
        let check = self.left_without_init.map(|_| self.next_check);
        [phase, check, self.timeout.map(|(at, _)| at)].into_iter().flatten().min()
    }

    /// What to say at the end, if anything, and the exit code.
    pub(super) fn result(&self) -> (Option<String>, i32) {
        let cause = cause(&self.failures);
        (cause.map(Failure::sentence), cause.map_or(self.late_code, Failure::exit_code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::JobKey;

    fn job(ranks: usize) -> (Verdict, Server) {
        let server = Server::new(1, &JobKey([0; 32]), &vec![0; ranks], &vec![0; ranks]);
        (Verdict::new(vec!["x".to_owned(); ranks], None), server)
    }

    #[test]
    fn the_first_failure_ends_the_job_and_is_told() {
        let (mut verdict, server) = job(3);
        verdict.ended(1, Ending { status: 3 << 8, ..Ending::default() }, &server);
        assert_eq!(verdict.next_order(|_| false), Some(Order::End(libc::SIGTERM)));
        verdict.ended(0, Ending { status: libc::SIGTERM, ..Ending::default() }, &server);
        verdict.ended(2, Ending { status: libc::SIGTERM, ..Ending::default() }, &server);
        assert_eq!(verdict.next_order(|_| false), Some(Order::Close));
        assert_eq!(verdict.next_order(|_| false), None);
        let (sentence, code) = verdict.result();
        assert!(sentence.unwrap().contains("rank 1") && code == 3);
    }

    #[test]
    fn a_job_whose_last_rank_has_failed_is_closed_at_once() {
        let (mut verdict, server) = job(2);
        verdict.ended(0, Ending::default(), &server);
        verdict.ended(1, Ending { status: 3 << 8, ..Ending::default() }, &server);
        assert_eq!(verdict.next_order(|_| false), Some(Order::Close), "nobody is left to be asked to end");
        assert_eq!(verdict.result().1, 3);
    }

    #[test]
    fn output_that_still_comes_gets_time_and_what_is_lost_then_is_told() {
        let (mut verdict, server) = job(1);
        let lost = || Failure::HostGone { name: "a".to_owned(), reason: "x".to_owned() };
        verdict.heard();
        assert!(verdict.is_running());
        verdict.ended(0, Ending { state: RankState::Finalized as u32, ..Ending::default() }, &server);
        assert_eq!(verdict.next_order(|_| false), Some(Order::Close));
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
        for (signal, code) in [(libc::SIGABRT, 3), (libc::SIGPIPE, 3), (libc::SIGSEGV, 128 + libc::SIGSEGV)] {
            let (mut verdict, server) = job(2);
            verdict.ended(1, Ending { status: 3 << 8, ..Ending::default() }, &server);
            assert_eq!(verdict.next_order(|_| false), Some(Order::End(libc::SIGTERM)));
            verdict.ended(0, Ending { status: signal, ..Ending::default() }, &server);
            assert_eq!(verdict.result().1, code);
        }
    }

    #[test]
    fn a_guardian_that_cannot_watch_is_the_cause_of_its_own_end() {
        let (mut verdict, _) = job(1);
        assert_eq!(verdict.cannot_watch(libc::EPERM), Order::Close);
        assert!(verdict.is_closing());
        let (sentence, code) = verdict.result();
        assert!(sentence.unwrap().contains("cannot be watched (Operation not permitted") && code == 1);
    }

    #[test]
    fn a_second_signal_does_not_wait() {
        let (mut verdict, _) = job(1);
        assert_eq!(verdict.signalled(libc::SIGUSR1), Order::Signal(libc::SIGUSR1));
        assert_eq!(verdict.signalled(libc::SIGINT), Order::End(libc::SIGINT));
        assert_eq!(verdict.signalled(libc::SIGINT), Order::Close);
        let give_up_at = verdict.deadline();
        assert_eq!(verdict.signalled(libc::SIGINT), Order::Close);
        assert_eq!(verdict.deadline(), give_up_at, "asking again gives no more time");
        assert_eq!(verdict.result().1, 128 + libc::SIGINT);
    }
}
