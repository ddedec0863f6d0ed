//! A running job: one loop over everything that can happen, until the ranks have ended and nothing is left of them.
//!
//! Phases: running; ending (the ranks have been asked to end and have a moment for it); closing (the guardian kills
//! whatever is left). Only the first failure is told: what fails after the job is being ended is a consequence.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use towpath_base::control::RankState;
use towpath_base::sync::Ordering;

use super::descendants;
use super::events::{Event, Events};
use super::guardian::COMMAND_SIZE;
use super::input::Terminal;
use super::output::{Destination, Reading, Stream};
use super::plan::Ends;
use super::report::{Failure, LastCall, cause};
use super::server::{self, Server};
use super::signals;
use super::start::{CANNOT_ENTER, CANNOT_EXECUTE, CANNOT_FORK, ENDED, Report, STARTED};
use crate::segment::View;
use crate::wire::LineReader;

/// How long ranks have to end by themselves when the job ends, before they are killed.
const GRACE: Duration = Duration::from_millis(1000);
/// The same after a person's signal.
const GRACE_AFTER_SIGNAL: Duration = Duration::from_secs(3);
/// How long the guardian may take to kill everything.
const PATIENCE_WITH_GUARDIAN: Duration = Duration::from_secs(20);
/// How often ranks are compared with those that have left.
const CHECK: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Running,
    Ending { kill_at: Instant },
    Closing { give_up_at: Instant },
}

struct Rank {
    pid: i32,
    ended: bool,
    pmi: Option<OwnedFd>,
    lines: LineReader,
    streams: [Option<Stream>; 2],
}

/// What a job is made of.
pub(super) struct Parts {
    pub(super) ends: Vec<Ends>,
    pub(super) server: Server,
    pub(super) view: View,
    pub(super) commands: OwnedFd,
    pub(super) reports: OwnedFd,
    pub(super) signals: OwnedFd,
    pub(super) terminal: Terminal,
    pub(super) destinations: [Destination; 2],
    pub(super) guardian: i32,
    /// Children that `mpiexec` had before.
    pub(super) spared: Vec<i32>,
    pub(super) tag: bool,
    pub(super) timeout: Option<Duration>,
    pub(super) command_names: Vec<String>,
}

/// A running job.
pub(super) struct Job {
    ranks: Vec<Rank>,
    running: usize,
    server: Server,
    view: View,
    commands: OwnedFd,
    reports: OwnedFd,
    signals: OwnedFd,
    terminal: Terminal,
    destinations: [Destination; 2],
    guardian: i32,
    spared: Vec<i32>,
    command_names: Vec<String>,
    events: Events,
    phase: Phase,
    failures: Vec<Failure>,
    /// Exit code of a rank that failed after MPI_Finalize.
    late_code: i32,
    /// A rank that ended well without ever entering MPI.
    left_without_init: Option<usize>,
    timeout: Option<(Instant, Duration)>,
    next_release: Option<Instant>,
    next_check: Instant,
    guardian_gone: bool,
    asked: bool,
    buffer: Vec<u8>,
}

impl Job {
    /// Takes over a job whose guardian has been forked.
    ///
    /// # Errors
    /// What the system said when the events cannot be watched.
    pub(super) fn new(parts: Parts) -> std::io::Result<Job> {
        let mut events = Events::new()?;
        events.add(&parts.reports, Event::Report)?;
        events.add(&parts.signals, Event::Signal)?;
        let mut ranks = Vec::with_capacity(parts.ends.len());
        for (number, ends) in parts.ends.into_iter().enumerate() {
            let tag = parts.tag.then(|| format!("[{number}] "));
            let stream = |pipe: Option<OwnedFd>| pipe.map(|pipe| Stream::new(pipe, tag.clone()));
            let streams = [stream(ends.output), stream(ends.errors)];
            for (which, stream) in streams.iter().enumerate() {
                if let Some(stream) = stream {
                    events.add(stream.as_fd(), Event::Output { rank: number, which })?;
                }
            }
            events.add(&ends.pmi, Event::Pmi { rank: number })?;
            ranks.push(Rank { pid: 0, ended: false, pmi: Some(ends.pmi), lines: LineReader::default(), streams });
        }
        Ok(Job {
            running: ranks.len(),
            ranks,
            server: parts.server,
            view: parts.view,
            commands: parts.commands,
            reports: parts.reports,
            signals: parts.signals,
            terminal: parts.terminal,
            destinations: parts.destinations,
            guardian: parts.guardian,
            spared: parts.spared,
            command_names: parts.command_names,
            events,
            phase: Phase::Running,
            failures: Vec::new(),
            late_code: 0,
            left_without_init: None,
            timeout: parts.timeout.map(|limit| (Instant::now() + limit, limit)),
            next_release: None,
            next_check: Instant::now() + CHECK,
            guardian_gone: false,
            asked: false,
            buffer: vec![0; 64 * 1024],
        })
    }

    /// Runs the job to its end and returns the exit code.
    pub(super) fn run(mut self) -> i32 {
        let mut ready = Vec::new();
        while !self.guardian_gone {
            self.events.watch_terminal(&self.terminal);
            self.events.watch_destinations(&self.destinations);
            self.events.wait(&mut ready, self.nearest_deadline());
            for event in ready.drain(..) {
                self.handle(event);
            }
            self.after_events();
        }
        self.finish()
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Report => self.read_reports(),
            Event::Signal => {
                while let Some(signal) = signals::next(&self.signals) {
                    self.signalled(signal);
                }
            }
            Event::Output { rank, which } => self.forward(rank, which),
            Event::Pmi { rank } => self.read_pmi(rank),
            Event::Typed => self.terminal.read(),
            Event::InputPipe => self.terminal.write(),
            Event::Destination { which } => self.destinations[which].flush(),
        }
    }

    /// Deadlines and changes of phase.
    fn after_events(&mut self) {
        let now = Instant::now();
        if self.next_release.is_some_and(|at| at <= now) {
            self.release_incomplete_lines(now);
        }
        if self.left_without_init.is_some() && now >= self.next_check {
            self.next_check = now + CHECK;
            self.check_for_missing_ranks();
        }
        if let Some((at, limit)) = self.timeout.filter(|(at, _)| *at <= now) {
            debug_assert!(at <= now);
            self.timeout = None;
            self.fail(Failure::Timeout { seconds: limit.as_secs() });
        }
        if self.destinations[0].is_gone() && self.phase == Phase::Running {
            self.fail(Failure::OutputGone);
        }
        if self.phase == Phase::Running && !self.failures.is_empty() {
            // The MPI_Abort that made this rank give up may still lie in another rank's socket.
            (0..self.ranks.len()).for_each(|rank| self.read_pmi(rank));
        }
        match self.phase {
            Phase::Running if !self.failures.is_empty() => self.begin_end(libc::SIGTERM, GRACE),
            Phase::Running if self.running == 0 => self.close(),
            Phase::Ending { kill_at } if self.running == 0 || now >= kill_at => self.close(),
            Phase::Closing { give_up_at } if now >= give_up_at => {
                eprintln!("mpiexec: some processes of the job could not be killed; they may still run.");
                self.guardian_gone = true;
            }
            _ => {}
        }
    }

    /// Notes a failure, if the job is not ending already.
    fn fail(&mut self, failure: Failure) {
        let own_crash = matches!(&failure, Failure::Signal { signal, .. }
            if ![libc::SIGTERM, libc::SIGKILL, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT].contains(signal));
        if self.phase == Phase::Running || (own_crash && !self.asked) {
            self.failures.push(failure);
        }
    }

    /// Asks all ranks to end.
    fn begin_end(&mut self, signal: i32, grace: Duration) {
        self.view.head().aborting.store(1, Ordering::Release);
        self.command(signal);
        self.command(libc::SIGCONT);
        self.phase = Phase::Ending { kill_at: Instant::now() + grace };
    }

    /// Has everything killed that is left.
    fn close(&mut self) {
        self.command(0);
        self.phase = Phase::Closing { give_up_at: Instant::now() + PATIENCE_WITH_GUARDIAN };
    }

    /// Sends a command to the guardian: the number of a signal for all ranks, or 0 to end.
    fn command(&self, command: i32) {
        let bytes: [u8; COMMAND_SIZE] = command.to_ne_bytes();
        while rustix::io::write(&self.commands, &bytes) == Err(rustix::io::Errno::INTR) {}
    }

    fn signalled(&mut self, signal: i32) {
        match signal {
            libc::SIGUSR1 | libc::SIGUSR2 | libc::SIGCONT => self.command(signal),
            libc::SIGTSTP => {
                self.command(libc::SIGSTOP);
                signals::send(std::process::id() as i32, libc::SIGSTOP);
            }
            _ if self.asked || matches!(self.phase, Phase::Closing { .. }) => self.close(),
            _ => {
                if self.phase == Phase::Running {
                    self.failures.push(Failure::Asked { signal });
                }
                self.asked = true;
                self.begin_end(signal, GRACE_AFTER_SIGNAL);
            }
        }
    }

    fn read_reports(&mut self) {
        let mut bytes = [0u8; Report::SIZE];
        // One at a time: the pipe is blocking, and there may be no second.
        match rustix::io::read(&self.reports, &mut bytes) {
            Ok(Report::SIZE) => self.reported(Report::from_bytes(&bytes)),
            Err(rustix::io::Errno::INTR) => {}
            _ => self.guardian_ended(),
        }
    }

    fn reported(&mut self, report: Report) {
        let rank = report.rank as usize;
        match report.kind {
            STARTED => self.ranks[rank].pid = report.pid,
            ENDED => self.rank_ended(rank, report.value),
            kind => self.not_started(rank, kind, report.value),
        }
    }

    fn not_started(&mut self, rank: usize, kind: u32, error: i32) {
        let reason = std::io::Error::from_raw_os_error(error);
        let name = &self.command_names[rank];
        let (code, sentence) = match kind {
            CANNOT_ENTER => (1, format!("rank {rank} cannot enter its folder ({reason}); the job is ended.")),
            CANNOT_EXECUTE => {
                let code = if error == libc::ENOENT { 127 } else { 126 };
                (code, format!("the program {name} of rank {rank} cannot be executed ({reason}); the job is ended."))
            }
            _ => {
                debug_assert_eq!(kind, CANNOT_FORK);
                self.ranks[rank].ended = true;
                self.running -= 1;
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

    fn rank_ended(&mut self, rank: usize, status: i32) {
        self.read_pmi(rank);
        if std::mem::replace(&mut self.ranks[rank].ended, true) {
            return;
        }
        self.running -= 1;
        let page = self.view.page(rank);
        let state = page.state.load(Ordering::Acquire);
        let call = last_call(page.last_call.load(Ordering::Relaxed), page.in_call.load(Ordering::Relaxed));
        let inside = state == RankState::Running as u32 || self.server.inside(rank);
        let entered = state != RankState::Starting as u32 || self.server.initialised(rank);
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

    /// MPI_Init is collective over all ranks: one that has left without it leaves the others waiting for ever.
    fn check_for_missing_ranks(&mut self) {
        let Some(rank) = self.left_without_init else { return };
        let others_inside = (0..self.ranks.len()).filter(|&other| !self.ranks[other].ended).any(|other| {
            self.server.inside(other)
                || self.view.page(other).state.load(Ordering::Acquire) == RankState::Running as u32
        });
        if others_inside || self.server.somebody_waits() {
            self.fail(Failure::WithoutInit { rank });
        }
    }

    fn guardian_ended(&mut self) {
        self.guardian_gone = true;
        if !matches!(self.phase, Phase::Closing { .. }) {
            self.failures.insert(0, Failure::GuardianGone);
        }
    }

    fn read_pmi(&mut self, rank: usize) {
        let Rank { pmi, lines, .. } = &mut self.ranks[rank];
        let Some(socket) = pmi else { return };
        let mut end = false;
        loop {
            match rustix::io::read(&*socket, &mut *self.buffer) {
                Ok(0) => end = true,
                Ok(count) => {
                    lines.push(&self.buffer[..count]);
                    continue;
                }
                Err(rustix::io::Errno::INTR) => continue,
                Err(rustix::io::Errno::AGAIN) => {}
                Err(_) => end = true,
            }
            break;
        }
        let mut answers = Vec::new();
        loop {
            match lines.next_line() {
                Ok(Some(line)) => self.server.line(rank, &line, &mut answers),
                Ok(None) => break,
                Err(_) => {
                    end = true;
                    break;
                }
            }
        }
        if end && let Some(socket) = self.ranks[rank].pmi.take() {
            self.events.remove(&socket);
        }
        for answer in answers {
            match answer {
                server::Event::Answer(to, line) => self.answer(to, &line),
                server::Event::Abort { rank, code, sentence } => self.fail(Failure::Abort { rank, code, sentence }),
            }
        }
    }

    /// Answers a rank. A rank that does not read its answers loses its connection.
    fn answer(&mut self, rank: usize, line: &[u8]) {
        let Some(socket) = &self.ranks[rank].pmi else { return };
        let flags = rustix::net::SendFlags::NOSIGNAL | rustix::net::SendFlags::DONTWAIT;
        if rustix::net::send(socket, line, flags) != Ok(line.len()) {
            self.events.remove(socket);
            self.ranks[rank].pmi = None;
        }
    }

    fn forward(&mut self, rank: usize, which: usize) {
        let Some(stream) = &mut self.ranks[rank].streams[which] else { return };
        if self.destinations[which].is_full() {
            return;
        }
        match stream.forward(&mut self.buffer, &mut self.destinations[which]) {
            Reading::End => {
                self.events.remove(stream.as_fd());
                self.ranks[rank].streams[which] = None;
            }
            _ => {
                if let Some(at) = stream.deadline() {
                    self.next_release = Some(self.next_release.map_or(at, |earlier| earlier.min(at)));
                }
            }
        }
    }

    fn release_incomplete_lines(&mut self, now: Instant) {
        self.next_release = None;
        for rank in &mut self.ranks {
            for (stream, to) in rank.streams.iter_mut().zip(&mut self.destinations) {
                let Some((stream, at)) = stream.as_mut().and_then(|stream| stream.deadline().map(|at| (stream, at)))
                else {
                    continue;
                };
                if at <= now {
                    stream.release(to);
                } else {
                    self.next_release = Some(self.next_release.map_or(at, |earlier| earlier.min(at)));
                }
            }
        }
    }

    fn nearest_deadline(&self) -> Option<Duration> {
        let phase = match self.phase {
            Phase::Running => None,
            Phase::Ending { kill_at } => Some(kill_at),
            Phase::Closing { give_up_at } => Some(give_up_at),
        };
        let check = self.left_without_init.map(|_| self.next_check);
        // Nobody tells when mpiexec comes to the terminal's foreground.
        let look_at_terminal =
            (!self.terminal.is_over() && !self.terminal.wants_lines()).then(|| Instant::now() + CHECK);
        let nearest = [phase, check, look_at_terminal, self.next_release, self.timeout.map(|(at, _)| at)]
            .into_iter()
            .flatten()
            .min();
        nearest.map(|at| at.saturating_duration_since(Instant::now()))
    }

    /// After the guardian: the rest of the output, what there is to say, the exit code.
    fn finish(mut self) -> i32 {
        // SAFETY: waits for one child; its status is not wanted.
        unsafe { libc::waitpid(self.guardian, std::ptr::null_mut(), libc::WNOHANG) };
        descendants::kill_all(&self.spared, Duration::from_secs(2), |_, _| {});
        for rank in 0..self.ranks.len() {
            for which in 0..2 {
                while let Some(stream) = &mut self.ranks[rank].streams[which] {
                    let to = &mut self.destinations[which];
                    if stream.forward(&mut self.buffer, to) != Reading::Some {
                        stream.release(to);
                        break;
                    }
                    if to.is_full() {
                        to.drain(Duration::from_secs(5));
                    }
                }
            }
        }
        self.destinations[0].drain(Duration::from_secs(5));
        let cause = cause(&self.failures);
        if let Some(cause) = cause {
            self.destinations[1].write(format!("{}\n", cause.sentence()).as_bytes());
        }
        self.destinations[1].drain(Duration::from_secs(5));
        cause.map_or(self.late_code, Failure::exit_code)
    }
}

/// The last MPI call in words; `None` when the rank has made none.
fn last_call(number: u32, inside: u32) -> Option<LastCall> {
    let name = super::calls::name(number)?;
    Some(LastCall { name, inside: inside != 0 })
}
