//! A job on this host: one loop over everything that can happen, until the ranks have ended and nothing is left of them.
//! What follows from what happens is decided in `verdict`.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use towpath_base::control::RankState;
use towpath_base::sync::Ordering;

use super::descendants;
use super::events::{Event, Events};
use super::guardian::COMMAND_SIZE;
use super::input::Terminal;
use super::output::{Destination, Reading, Sink, Stream};
use super::plan::Ends;
use super::report::Failure;
use super::server::{self, Server};
use super::signals;
use super::start::{ENDED, Report, STARTED};
use super::verdict::{CHECK, Ending, Order, Verdict};
use crate::segment::View;
use crate::wire::LineReader;

struct Rank {
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
    verdict: Verdict,
    server: Server,
    view: View,
    commands: OwnedFd,
    reports: OwnedFd,
    signals: OwnedFd,
    terminal: Terminal,
    destinations: [Destination; 2],
    guardian: i32,
    spared: Vec<i32>,
    events: Events,
    /// Streams that are not read because their destination is full.
    paused: [bool; 2],
    next_release: Option<Instant>,
    guardian_gone: bool,
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
            ranks.push(Rank { pmi: Some(ends.pmi), lines: LineReader::default(), streams });
        }
        Ok(Job {
            ranks,
            verdict: Verdict::new(parts.command_names, parts.timeout),
            server: parts.server,
            view: parts.view,
            commands: parts.commands,
            reports: parts.reports,
            signals: parts.signals,
            terminal: parts.terminal,
            destinations: parts.destinations,
            guardian: parts.guardian,
            spared: parts.spared,
            events,
            paused: [false; 2],
            next_release: None,
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
            self.pause_what_nobody_reads();
            self.events.wait(&mut ready, self.nearest_deadline());
            for event in ready.drain(..) {
                self.handle(event);
            }
            self.after_events();
        }
        self.finish()
    }

    /// Watches what ranks print exactly while there is room for it.
    fn pause_what_nobody_reads(&mut self) {
        for which in 0..2 {
            let pause = self.destinations[which].is_full();
            if std::mem::replace(&mut self.paused[which], pause) == pause {
                continue;
            }
            for (number, rank) in self.ranks.iter().enumerate() {
                match &rank.streams[which] {
                    Some(stream) if pause => self.events.remove(stream.as_fd()),
                    Some(stream) => {
                        let _ = self.events.add(stream.as_fd(), Event::Output { rank: number, which });
                    }
                    None => {}
                }
            }
        }
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
            Event::Link { .. } | Event::LinkRoom { .. } => {}
        }
    }

    /// Deadlines and changes of phase.
    fn after_events(&mut self) {
        let now = Instant::now();
        if self.next_release.is_some_and(|at| at <= now) {
            self.release_incomplete_lines(now);
        }
        if self.destinations[0].is_gone() && self.verdict.is_running() {
            self.verdict.fail(Failure::OutputGone);
        }
        if self.verdict.is_about_to_end() {
            // The MPI_Abort that made this rank give up may still lie in another rank's socket.
            (0..self.ranks.len()).for_each(|rank| self.read_pmi(rank));
        }
        let (view, server, ranks) = (&self.view, &self.server, self.ranks.len());
        let others_inside = |verdict: &Verdict| {
            let inside = |rank| {
                server.inside(rank) || view.page(rank).state.load(Ordering::Acquire) == RankState::Running as u32
            };
            server.somebody_waits() || (0..ranks).any(|rank| !verdict.has_ended(rank) && inside(rank))
        };
        if let Some(order) = self.verdict.next_order(others_inside) {
            self.carry_out(order);
        }
    }

    fn carry_out(&mut self, order: Order) {
        match order {
            Order::Signal(signal) => self.command(signal),
            Order::End(signal) => {
                self.view.head().aborting.store(1, Ordering::Release);
                self.command(signal);
                self.command(libc::SIGCONT);
            }
            Order::Close => self.command(0),
            Order::GiveUp => {
                eprintln!("mpiexec: some processes of the job could not be killed; they may still run.");
                self.guardian_gone = true;
            }
        }
    }

    /// Sends a command to the guardian: the number of a signal for all ranks, or 0 to end.
    fn command(&self, command: i32) {
        let bytes: [u8; COMMAND_SIZE] = command.to_ne_bytes();
        while rustix::io::write(&self.commands, &bytes) == Err(rustix::io::Errno::INTR) {}
    }

    fn signalled(&mut self, signal: i32) {
        if signal == libc::SIGTSTP {
            self.command(libc::SIGSTOP);
            signals::send(std::process::id() as i32, libc::SIGSTOP);
            return;
        }
        let order = self.verdict.signalled(signal);
        self.carry_out(order);
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
            STARTED => self.verdict.started(rank, report.pid),
            ENDED => {
                self.read_pmi(rank);
                let ending = ending(&self.view, rank, report.value);
                self.verdict.ended(rank, ending, &self.server);
            }
            kind => self.verdict.not_started(rank, kind, report.value),
        }
    }

    fn guardian_ended(&mut self) {
        self.guardian_gone = true;
        if !self.verdict.is_closing() {
            self.verdict.fail_first(Failure::GuardianGone);
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
                server::Event::Abort { rank, code, sentence } => {
                    self.verdict.fail(Failure::Abort { rank, code, sentence })
                }
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
        // Nobody tells when mpiexec comes to the terminal's foreground.
        let look_at_terminal =
            (!self.terminal.is_over() && !self.terminal.wants_lines()).then(|| Instant::now() + CHECK);
        let nearest = [self.verdict.deadline(), look_at_terminal, self.next_release].into_iter().flatten().min();
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
        let (sentence, code) = self.verdict.result();
        if let Some(sentence) = sentence {
            self.destinations[1].write(format!("{sentence}\n").as_bytes());
        }
        self.destinations[1].drain(Duration::from_secs(5));
        code
    }
}

/// What the control page of a rank says at its end.
pub(super) fn ending(view: &View, local_rank: usize, status: i32) -> Ending {
    let page = view.page(local_rank);
    Ending {
        status,
        state: page.state.load(Ordering::Acquire),
        last_call: page.last_call.load(Ordering::Relaxed),
        in_call: page.in_call.load(Ordering::Relaxed),
    }
}
