//! A job over several hosts. `mpiexec` starts a proxy on each host through the launch command and
//! exchanges frames with it. The PMI server runs in `mpiexec`, so the puts, gets and fences of all
//! hosts use one store. The verdict about the job is reached here too.
//!
//! A proxy is accepted once it has returned the job's secret. A host whose connection ends before
//! it has reported the end of its work is lost, and the job fails.

use std::io;
use std::os::fd::OwnedFd;
use std::process::Child;
use std::time::{Duration, Instant};

use super::descendants;
use super::events::{Event, Events};
use super::frames::{JobText, ProxyFrame};
use super::host_choice::Hosts;
use super::merge::Merger;
use super::options::JobRequest;
use super::output::{LineSink, OutputStream, last_words};
use super::plan::StartRefusal;
use super::relay::Relay;
use super::report::JobFailure;
use super::server::{self, Server};
use super::signals::{self, Set};
use super::start::{CANNOT_ENTER, CANNOT_EXECUTE, CANNOT_FORK, CANNOT_WATCH, STARTED};
use super::station::Station;
use super::survey::HostSurvey;
use super::topology::ShownByLauncher;
use super::verdict::{JobOrder, RankEnd, Verdict};
use super::{brief, timeout_of_environment};
use crate::client::patience;
use crate::hosts::write_mapping;
use crate::key::JobKey;
use crate::segment;
use crate::topology::JobTopology;

/// A job over several hosts.
pub(super) struct JobOnHosts {
    stations: Vec<Station>,
    node_of_rank: Vec<u32>,
    /// Ranks that their proxies have reported to be in MPI. If all ranks are on one host, they
    /// start without a request to the server, so the server cannot tell.
    told_inside: Vec<bool>,
    server: Server,
    shown: ShownByLauncher,
    verdict: Verdict,
    key: JobKey,
    destinations: [OutputStream; 2],
    /// The output of the hosts, one merger per stream.
    mergers: [Merger; 2],
    relay: Relay,
    signals: OwnedFd,
    events: Events,
    spared: Vec<i32>,
    /// Deadline for all proxies to answer.
    ready_by: Option<Instant>,
    given_up: bool,
    survey: Option<HostSurvey>,
    /// True once the hosts have been asked what their ranks are doing before they end them.
    asked_at_end: bool,
    /// How the hosts are to end their ranks when the survey is over.
    ending: Option<i32>,
    buffer: Vec<u8>,
}

impl JobOnHosts {
    /// Starts a proxy on each host that has ranks.
    ///
    /// # Errors
    /// Exit code and error message.
    pub(super) fn start(
        request: &JobRequest,
        hosts: Hosts,
        (topology, names): (Option<&JobTopology>, Vec<String>),
        arguments: &[std::ffi::OsString],
        signals: OwnedFd,
        mask: Set,
    ) -> Result<JobOnHosts, StartRefusal> {
        let failed =
            |what: &str, error: io::Error| StartRefusal::from(format!("{what} ({error})."));
        let spared = descendants::children();
        let (node_of_rank, used) = hosts.place(request);
        let key = JobKey::random().map_err(|error| failed("The job gets no secret", error))?;
        let (id, mapping) = (segment::new_job(), write_mapping(&node_of_rank));
        let program = std::env::current_exe()
            .map_err(|error| failed("mpiexec does not know its own path", error))?;
        let mut events = Events::new().map_err(|error| failed("Nothing can be watched", error))?;
        events
            .add(&signals, Event::Signal)
            .map_err(|error| failed("Signals cannot be watched", error))?;
        let mut stations = Vec::with_capacity(used);
        let job = brief::describe(arguments, request, id, &key.0, &mapping);
        for (number, host) in hosts.hosts.iter().take(used).enumerate() {
            let mut station =
                Station::start(&host.name, &hosts.way.command(&host.name, &program), mask)?;
            events
                .add(station.link.input(), Event::Link { host: number })
                .map_err(|error| failed("The hosts cannot be watched", error))?;
            station
                .link
                .send(&ProxyFrame::Job(Box::new(JobText { host: number as u32, ..job.clone() })));
            stations.push(station);
        }
        Ok(JobOnHosts {
            stations,
            server: Server::new(id, &key, topology, &request.appnums(), &node_of_rank),
            shown: ShownByLauncher::new(topology, names),
            verdict: Verdict::new(
                request.command_names(),
                request.timeout.or_else(timeout_of_environment),
            ),
            told_inside: vec![false; node_of_rank.len()],
            node_of_rank,
            key,
            destinations: [rustix::stdio::stdout(), rustix::stdio::stderr()].map(OutputStream::new),
            mergers: [Merger::new(used), Merger::new(used)],
            relay: Relay::new(!request.no_input),
            signals,
            events,
            spared,
            ready_by: Some(Instant::now() + patience()),
            given_up: false,
            survey: None,
            asked_at_end: false,
            ending: None,
            buffer: vec![0; 64 * 1024],
        })
    }

    /// Runs the job to its end and returns the exit code.
    pub(super) fn run(mut self) -> i32 {
        let mut ready = Vec::new();
        while !self.given_up && self.stations.iter().any(|station| !station.over) {
            self.watch();
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

    fn watch(&mut self) {
        for (host, station) in self.stations.iter_mut().enumerate() {
            let wanted = station.link.waits() && !station.over;
            let Station { link, link_watched, .. } = station;
            self.events.watch_for_room(
                link.output(),
                Event::LinkRoom { host },
                wanted,
                link_watched,
            );
        }
        self.events.watch_destinations(&self.destinations);
        if self.relay.watch(&mut self.events) {
            self.pass_input();
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Link { host } => self.read_link(host),
            Event::LinkRoom { host } => self.stations[host].link.flush(),
            Event::Signal => loop {
                match signals::next(&self.signals) {
                    Ok(Some(signal)) => self.signalled(signal),
                    Ok(None) => break,
                    Err(error) => break self.cannot_watch(error),
                }
            },
            Event::Typed => self.pass_input(),
            Event::Destination { which } => self.destinations[which].flush(),
            Event::Report | Event::Output { .. } | Event::Pmi { .. } | Event::InputPipe => {}
        }
    }

    /// The hosts can no longer be watched. They end everything when their connections are closed.
    fn cannot_watch(&mut self, error: i32) {
        self.verdict.cannot_watch(error);
        self.given_up = true;
    }

    fn pass_input(&mut self) {
        let first = &mut self.stations[self.node_of_rank[0] as usize];
        if let Some(bytes) = self.relay.read(&mut self.buffer) {
            first.link.send(&ProxyFrame::Input(bytes));
        }
    }

    fn signalled(&mut self, signal: i32) {
        if signal == libc::SIGTSTP {
            self.tell_all(&ProxyFrame::Signal(libc::SIGSTOP));
            signals::send(std::process::id() as i32, libc::SIGSTOP);
            return;
        }
        if signal == libc::SIGQUIT {
            return self.ask_whereabouts(true);
        }
        let order = self.verdict.signalled(signal);
        self.carry_out(order);
    }

    /// Asks all hosts what their ranks are doing. The report is printed when all have answered.
    fn ask_whereabouts(&mut self, asked: bool) {
        let open = self.stations.iter().map(|station| station.ready && !station.over).collect();
        self.survey = Some(HostSurvey::new(self.node_of_rank.len(), open, asked));
        self.tell_all(&ProxyFrame::Ask);
    }

    /// Prints what all ranks are doing, as far as their hosts have reported it.
    fn tell_whereabouts(&mut self) {
        if let Some(survey) = self.survey.take() {
            let report = survey.report(|rank| self.verdict.has_ended(rank));
            self.destinations[1].write(report.as_bytes(), false);
        }
    }

    fn tell_all(&mut self, frame: &ProxyFrame) {
        for station in self.stations.iter_mut().filter(|station| !station.over) {
            station.link.send(frame);
        }
    }

    fn carry_out(&mut self, order: JobOrder) {
        match order {
            JobOrder::Signal(signal) => self.tell_all(&ProxyFrame::Signal(signal)),
            // A rank that has lost its partners no longer waits for what it is to be asked about.
            JobOrder::End(signal)
                if self.verdict.is_ended_without_fault() && !self.asked_at_end =>
            {
                (self.asked_at_end, self.ending) = (true, Some(signal));
                self.ask_whereabouts(false);
            }
            JobOrder::End(signal) => {
                self.ending = None;
                self.tell_all(&ProxyFrame::End(signal));
            }
            JobOrder::Close => {
                self.tell_all(&ProxyFrame::Signal(0));
                // A host that has not answered yet may never do so. What was started there ends
                // when its connection is closed.
                for host in 0..self.stations.len() {
                    if !self.stations[host].ready {
                        self.leave(host);
                    }
                }
            }
            JobOrder::GiveUp => {
                eprintln!(
                    "mpiexec: some processes of the job could not be killed; they may still run."
                );
                for host in 0..self.stations.len() {
                    self.lose(host, "it did not report that everything there has ended");
                }
                self.given_up = true;
            }
        }
    }

    /// Handles deadlines, phase changes and outstanding acknowledgements.
    fn after_events(&mut self) {
        if let Some(failure) = self.destinations[0].failure().filter(|_| self.verdict.is_running())
        {
            self.verdict.fail(failure);
        }
        if self.ready_by.is_some_and(|at| at <= Instant::now()) {
            self.ready_by = None;
            let reason = format!(
                "it did not answer for {} s (TOWPATH_LAUNCHER_SECONDS)",
                patience().as_secs()
            );
            for host in 0..self.stations.len() {
                if !self.stations[host].ready {
                    self.lose(host, &reason);
                }
            }
        }
        if self.stations.iter().all(|station| station.ready || station.over) {
            self.ready_by = None;
        }
        self.acknowledge();
        if self.survey.as_ref().is_some_and(HostSurvey::is_over) {
            self.tell_whereabouts();
            if let Some(signal) = self.ending.take() {
                self.tell_all(&ProxyFrame::End(signal));
            }
        }
        let (server, told) = (&self.server, &self.told_inside);
        let others_inside = |verdict: &Verdict| {
            let inside = |rank: usize| told[rank] || server.inside(rank);
            server.somebody_waits()
                || (0..told.len()).any(|rank| !verdict.has_ended(rank) && inside(rank))
        };
        if let Some(order) = self.verdict.next_order(others_inside) {
            self.carry_out(order);
        }
    }

    fn acknowledge(&mut self) {
        for which in 0..2 {
            if self.destinations[which].is_full() {
                continue;
            }
            for station in &mut self.stations {
                let count = std::mem::take(&mut station.owed[which]);
                if count > 0 && !station.over {
                    station.link.send(&ProxyFrame::Taken { which: which as u8, count });
                }
            }
        }
    }

    fn read_link(&mut self, host: usize) {
        let open = self.stations[host].link.receive(&mut self.buffer);
        if open {
            self.verdict.heard();
        }
        loop {
            match self.stations[host].link.next() {
                Ok(Some(frame)) => self.hear(host, frame),
                Ok(None) if open => return,
                Ok(None) => {
                    let reason = self.stations[host].why_ended();
                    break self.lose(host, &reason);
                }
                Err(reason) => break self.lose(host, &reason),
            }
        }
    }

    /// Handles a frame of a proxy. A proxy may report on its own ranks only, and only after it has
    /// proved its identity.
    fn hear(&mut self, host: usize, frame: ProxyFrame) {
        if self.stations[host].over {
            return;
        }
        let is_own = |rank: u32| self.node_of_rank.get(rank as usize) == Some(&(host as u32));
        match frame {
            ProxyFrame::Ready { key } => match key == self.key.0 {
                true => self.stations[host].ready = true,
                false => self.lose(host, "it did not know the job"),
            },
            ProxyFrame::Refused { code, sentence } => {
                let name = &self.stations[host].name;
                let sentence = format!("host {name}: {}", String::from_utf8_lossy(&sentence));
                self.verdict.fail(JobFailure::Start { code: code.max(1), sentence });
                self.leave(host);
            }
            _ if !self.stations[host].ready => {
                self.lose(host, "it sent a frame before it proved that it knows the job")
            }
            ProxyFrame::Started { rank, kind, value, pid } if is_own(rank) => match kind {
                STARTED => self.verdict.started(rank as usize, pid),
                CANNOT_FORK | CANNOT_ENTER | CANNOT_EXECUTE => {
                    self.verdict.not_started(rank as usize, kind, value)
                }
                CANNOT_WATCH => {
                    let order = self.verdict.cannot_watch(value);
                    self.carry_out(order);
                }
                _ => self.lose(host, "it sent a frame that no proxy sends"),
            },
            ProxyFrame::Ended { rank, status, state, last_call, in_call } if is_own(rank) => {
                let ending = RankEnd { status, state, last_call, in_call };
                self.verdict.ended(rank as usize, ending, &self.server);
            }
            ProxyFrame::Inside { rank } if is_own(rank) => self.told_inside[rank as usize] = true,
            ProxyFrame::Request { rank, bytes } if is_own(rank) => {
                self.serve(rank as usize, &bytes)
            }
            ProxyFrame::Output { which, more, bytes } => {
                let which = usize::from(which);
                let out = self.mergers[which].take(host, bytes, more);
                self.print(which, out);
            }
            ProxyFrame::Activity { rank, activity } if is_own(rank) => {
                let rank = rank as usize;
                let survey = self.survey.iter_mut().filter(|_| !self.verdict.has_ended(rank));
                survey.for_each(|survey| {
                    survey.note(rank, activity.clone(), self.server.inside(rank))
                });
            }
            ProxyFrame::Answered => self.survey.iter_mut().for_each(|survey| survey.answered(host)),
            ProxyFrame::InputTaken { count } => self.relay.taken(count as usize),
            ProxyFrame::Done if self.has_running_ranks(host) => {
                self.lose(host, "its guardian process was killed")
            }
            ProxyFrame::Done => self.leave(host),
            _ => self.lose(host, "it sent a frame that no proxy sends"),
        }
    }

    /// Prints output of the hosts.
    fn print(&mut self, which: usize, out: Vec<(usize, Vec<u8>)>) {
        for (host, bytes) in out {
            self.destinations[which].write(&bytes, false);
            self.stations[host].owed[which] += bytes.len() as u32;
        }
    }

    /// Passes a rank's requests to the PMI server and sends the answers to the ranks concerned.
    fn serve(&mut self, rank: usize, bytes: &[u8]) {
        let mut events = Vec::new();
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.server.line(rank, line, &mut events);
        }
        self.shown.look(&self.server, &self.node_of_rank);
        for event in events {
            match event {
                server::Event::Answer(to, bytes) => {
                    let station = &mut self.stations[self.node_of_rank[to] as usize];
                    station.link.send(&ProxyFrame::Answer { rank: to as u32, bytes });
                }
                server::Event::Abort { rank, code, sentence } => {
                    self.verdict.fail(JobFailure::Abort { rank, code, sentence });
                }
            }
        }
    }

    fn has_running_ranks(&self, host: usize) -> bool {
        let mut own =
            self.node_of_rank.iter().enumerate().filter(|&(_, &node)| node as usize == host);
        own.any(|(rank, _)| !self.verdict.has_ended(rank))
    }

    /// A host has ended prematurely.
    fn lose(&mut self, host: usize, reason: &str) {
        if !self.stations[host].over {
            let name = self.stations[host].name.clone();
            let failure = JobFailure::HostGone { name, reason: reason.to_owned() };
            match self.verdict.is_closing() {
                false => self.verdict.fail(failure),
                // Its ranks have ended, but part of their output is missing.
                true => self.verdict.fail_late(failure),
            }
        }
        self.leave(host);
    }

    /// Stops serving a host; its ranks count as ended.
    fn leave(&mut self, host: usize) {
        if std::mem::replace(&mut self.stations[host].over, true) {
            return;
        }
        self.events.remove(self.stations[host].link.input());
        self.survey.iter_mut().for_each(|survey| survey.answered(host));
        for which in 0..2 {
            let out = self.mergers[which].leave(host);
            self.print(which, out);
        }
        for (rank, _) in
            self.node_of_rank.iter().enumerate().filter(|&(_, &node)| node as usize == host)
        {
            self.verdict.lost(rank);
        }
    }

    fn nearest_deadline(&self) -> Option<Duration> {
        let look_at_input = self.relay.look_again();
        let survey = self.survey.as_ref().map(HostSurvey::due);
        let nearest = [self.verdict.deadline(), self.ready_by, look_at_input, survey]
            .into_iter()
            .flatten()
            .min();
        nearest.map(|at| at.saturating_duration_since(Instant::now()))
    }

    /// After all hosts have ended: prints the rest of the output and the error message, and returns
    /// the exit code.
    fn finish(mut self) -> i32 {
        self.tell_whereabouts();
        // Dropping the stations closes the inputs of the commands, so the proxies and the commands
        // that started them end by themselves.
        let commands: Vec<Child> =
            self.stations.into_iter().map(|station| station.command).collect();
        let begin = Instant::now();
        for mut command in commands {
            while matches!(command.try_wait(), Ok(None))
                && begin.elapsed() < Duration::from_millis(500)
            {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        descendants::kill_all(&self.spared, Duration::from_secs(2), |_, _| {});
        last_words(&mut self.destinations, self.verdict, &self.signals)
    }
}
