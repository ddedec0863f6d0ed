//! A job on this host: the event loop that runs until the ranks and all their descendants have
//! ended. `verdict` decides what each event means for the job.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitOptions, waitpid};
use towpath_base::control::RankState;
use towpath_base::sync::Ordering;

use super::activity::{Activity, RankPlace, is_worth_telling, report};
use super::descendants;
use super::events::{Event, Events};
use super::guardian::COMMAND_SIZE;
use super::input::Terminal;
use super::output::{LineSink, OutputStream, last_words};
use super::plan::RankPipes;
use super::report::JobFailure;
use super::requests::RequestConnection;
use super::server::{self, Server};
use super::signals;
use super::start::{CANNOT_WATCH, ENDED, Report, STARTED, send_record};
use super::streams::Streams;
use super::verdict::{CHECK, JobOrder, RankEnd, Verdict};
use crate::segment::View;

/// The components of a job.
pub(super) struct JobParts {
    pub(super) ends: Vec<RankPipes>,
    pub(super) server: Server,
    pub(super) view: View,
    pub(super) commands: OwnedFd,
    pub(super) reports: OwnedFd,
    pub(super) signals: OwnedFd,
    pub(super) terminal: Terminal,
    pub(super) destinations: [OutputStream; 2],
    pub(super) guardian: i32,
    /// Children that `mpiexec` had before the job; they are not killed.
    pub(super) spared: Vec<i32>,
    pub(super) tag: bool,
    pub(super) timeout: Option<Duration>,
    pub(super) command_names: Vec<String>,
}

/// A running job.
pub(super) struct RunningJob {
    ranks: Vec<RequestConnection>,
    streams: Streams,
    verdict: Verdict,
    server: Server,
    view: View,
    /// `None`: closed, because a command could not be sent or the ranks cannot be watched. The
    /// guardian then ends everything.
    commands: Option<OwnedFd>,
    reports: OwnedFd,
    signals: OwnedFd,
    terminal: Terminal,
    destinations: [OutputStream; 2],
    guardian: i32,
    spared: Vec<i32>,
    events: Events,
    guardian_gone: bool,
    buffer: Vec<u8>,
}

impl RunningJob {
    /// Takes over a job whose guardian has been forked.
    ///
    /// # Errors
    /// The system's error if the events cannot be watched.
    pub(super) fn new(parts: JobParts) -> std::io::Result<RunningJob> {
        let mut events = Events::new()?;
        events.add(&parts.reports, Event::Report)?;
        events.add(&parts.signals, Event::Signal)?;
        let (mut ranks, mut pipes) =
            (Vec::with_capacity(parts.ends.len()), Vec::with_capacity(parts.ends.len()));
        for (rank, ends) in parts.ends.into_iter().enumerate() {
            events.add(&ends.pmi, Event::Pmi { rank })?;
            ranks.push(RequestConnection::new(ends.pmi));
            pipes.push(([ends.output, ends.errors], parts.tag.then(|| format!("[{rank}] "))));
        }
        let mut streams = Streams::new(pipes.into_iter());
        streams.watch(&mut events)?;
        Ok(RunningJob {
            ranks,
            streams,
            verdict: Verdict::new(parts.command_names, parts.timeout),
            server: parts.server,
            view: parts.view,
            commands: Some(parts.commands),
            reports: parts.reports,
            signals: parts.signals,
            terminal: parts.terminal,
            destinations: parts.destinations,
            guardian: parts.guardian,
            spared: parts.spared,
            events,
            guardian_gone: false,
            buffer: vec![0; 64 * 1024],
        })
    }

    /// Runs the job to its end and returns the exit code.
    pub(super) fn run(mut self) -> i32 {
        let mut ready = Vec::new();
        while !self.guardian_gone {
            self.events.watch_terminal(&self.terminal);
            self.events.watch_destinations(&self.destinations);
            for (which, destination) in self.destinations.iter().enumerate() {
                self.streams.pause(&mut self.events, which, destination.is_full());
            }
            if let Err(error) = self.events.wait(&mut ready, self.nearest_deadline()) {
                self.cannot_watch(error);
            }
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
            Event::Signal => loop {
                match signals::next(&self.signals) {
                    Ok(Some(signal)) => self.signalled(signal),
                    Ok(None) => break,
                    Err(error) => break self.cannot_watch(error),
                }
            },
            Event::Output { rank, which } => self.forward(rank, which),
            Event::Pmi { rank } => self.read_pmi(rank),
            Event::Typed => self.terminal.read(),
            Event::InputPipe => self.terminal.write(),
            Event::Destination { which } => self.destinations[which].flush(),
            Event::Link { .. } | Event::LinkRoom { .. } => {}
        }
    }

    /// Handles deadlines and phase changes.
    fn after_events(&mut self) {
        self.streams.release(&mut self.events, &mut self.destinations);
        if let Some(failure) = self.destinations[0].failure().filter(|_| self.verdict.is_running())
        {
            self.verdict.fail(failure);
        }
        if self.verdict.is_about_to_end() {
            // The MPI_Abort that made this rank give up may still be in another rank's socket.
            (0..self.ranks.len()).for_each(|rank| self.read_pmi(rank));
        }
        let (view, server, ranks) = (&self.view, &self.server, self.ranks.len());
        let others_inside = |verdict: &Verdict| {
            let inside = |rank| {
                server.inside(rank)
                    || view.page(rank).state.load(Ordering::Acquire) == RankState::Running as u32
            };
            server.somebody_waits()
                || (0..ranks).any(|rank| !verdict.has_ended(rank) && inside(rank))
        };
        if let Some(order) = self.verdict.next_order(others_inside) {
            self.carry_out(order);
        }
    }

    fn carry_out(&mut self, order: JobOrder) {
        match order {
            JobOrder::Signal(signal) => self.command(signal),
            JobOrder::End(signal) => {
                if self.verdict.is_ended_without_fault() {
                    self.tell_whereabouts(false);
                }
                self.view.head().aborting.store(1, Ordering::Release);
                self.command(signal);
                self.command(libc::SIGCONT);
            }
            JobOrder::Close => self.command(0),
            JobOrder::GiveUp => {
                eprintln!(
                    "mpiexec: some processes of the job could not be killed; they may still run."
                );
                self.guardian_gone = true;
            }
        }
    }

    /// Sends a command to the guardian: the number of a signal for all ranks, or 0 to end. If that
    /// fails, the pipe is closed, which makes the guardian end everything.
    fn command(&mut self, command: i32) {
        let bytes: [u8; COMMAND_SIZE] = command.to_ne_bytes();
        self.commands = self.commands.take().filter(|commands| send_record(commands, &bytes));
    }

    /// The ranks can no longer be watched: ends everything immediately.
    fn cannot_watch(&mut self, error: i32) {
        self.verdict.cannot_watch(error);
        self.commands = None;
        self.guardian_gone = true;
    }

    fn signalled(&mut self, signal: i32) {
        if signal == libc::SIGTSTP {
            self.command(libc::SIGSTOP);
            signals::send(std::process::id() as i32, libc::SIGSTOP);
            return;
        }
        if signal == libc::SIGQUIT {
            return self.tell_whereabouts(true);
        }
        let order = self.verdict.signalled(signal);
        self.carry_out(order);
    }

    /// Prints what all ranks are doing: always if the user `asked`, else only if a rank is in MPI.
    fn tell_whereabouts(&mut self, asked: bool) {
        let place = |rank| match self.verdict.has_ended(rank) {
            true => RankPlace::Ended,
            false => RankPlace::Runs {
                activity: Activity::read(self.view.page(rank)),
                initializing: self.server.inside(rank),
            },
        };
        let ranks: Vec<RankPlace> = (0..self.ranks.len()).map(place).collect();
        if asked || is_worth_telling(&ranks) {
            self.destinations[1].write(report(&ranks).as_bytes(), false);
        }
    }

    fn read_reports(&mut self) {
        let mut bytes = [0u8; Report::SIZE];
        // Reads one report at a time: the pipe is blocking, and there may be no second report.
        match rustix::io::read(&self.reports, &mut bytes) {
            Ok(Report::SIZE) => self.reported(Report::from_bytes(&bytes)),
            Err(rustix::io::Errno::INTR) => {}
            _ => self.guardian_ended(),
        }
    }

    fn reported(&mut self, report: Report) {
        let rank = report.rank as usize;
        match report.kind {
            STARTED => self.verdict.started(rank, report.pid),
            ENDED => {
                self.read_pmi(rank);
                let ending = ending(&self.view, rank, report.value);
                self.verdict.ended(rank, ending, &self.server);
            }
            CANNOT_WATCH => {
                let order = self.verdict.cannot_watch(report.value);
                self.carry_out(order);
            }
            kind => self.verdict.not_started(rank, kind, report.value),
        }
    }

    fn guardian_ended(&mut self) {
        self.guardian_gone = true;
        if !self.verdict.is_closing() {
            self.verdict.fail_first(JobFailure::GuardianGone);
        }
    }

    fn read_pmi(&mut self, rank: usize) {
        let mut answers = Vec::new();
        let take = |line: &[u8]| self.server.line(rank, line, &mut answers);
        self.ranks[rank].read(&mut self.events, &mut self.buffer, take);
        for answer in answers {
            match answer {
                server::Event::Answer(to, line) => self.ranks[to].answer(&mut self.events, &line),
                server::Event::Abort { rank, code, sentence } => {
                    self.verdict.fail(JobFailure::Abort { rank, code, sentence })
                }
            }
        }
    }

    fn forward(&mut self, rank: usize, which: usize) {
        if !self.destinations[which].is_full() {
            self.streams.forward(
                &mut self.events,
                &mut self.buffer,
                (rank, which),
                &mut self.destinations,
            );
        }
    }

    fn nearest_deadline(&self) -> Option<Duration> {
        // No event reports that mpiexec has moved to the terminal's foreground, so poll for it.
        let look_at_terminal = (!self.terminal.is_over() && !self.terminal.wants_lines())
            .then(|| Instant::now() + CHECK);
        let nearest = [self.verdict.deadline(), look_at_terminal, self.streams.deadline()]
            .into_iter()
            .flatten()
            .min();
        nearest.map(|at| at.saturating_duration_since(Instant::now()))
    }

    /// After the guardian has ended: forwards the rest of the output, prints the error message and
    /// returns the exit code.
    fn finish(mut self) -> i32 {
        let _ = waitpid(Pid::from_raw(self.guardian), WaitOptions::NOHANG);
        descendants::kill_all(&self.spared, Duration::from_secs(2), |_, _| {});
        let signals = &self.signals;
        let makes_room =
            |to: &mut [OutputStream; 2]| to.iter_mut().all(|to| !to.is_full() || to.drain(signals));
        self.streams.finish(&mut self.buffer, &mut self.destinations, makes_room);
        last_words(&mut self.destinations, self.verdict, signals)
    }
}

/// Reads the end of a rank from its wait status and its control page.
pub(super) fn ending(view: &View, local_rank: usize, status: i32) -> RankEnd {
    let page = view.page(local_rank);
    RankEnd {
        status,
        state: page.state.load(Ordering::Acquire),
        last_call: page.last_call.load(Ordering::Relaxed),
        in_call: page.in_call.load(Ordering::Relaxed),
    }
}
