//! The proxy: `mpiexec` on another host. It starts that host's ranks under a guardian as `mpiexec` does at home, and hands
//! everything on over its own input and output: what ranks print, what they ask the PMI server, how they end. It decides
//! nothing. When its input ends, because `mpiexec` or the connection is gone, everything on this host is killed.

use std::ffi::OsString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::{Duration, Instant};

use towpath_base::config;
use towpath_base::sync::Ordering;

use super::descendants;
use super::events::{Event, Events};
use super::frames::{Frame, FrameReader, JobText, PREAMBLE};
use super::guardian::{self, COMMAND_SIZE};
use super::job::ending;
use super::link::Link;
use super::options::{self, Command};
use super::output::{Reading, Sink, Stream};
use super::plan::{Part, Plan, Refusal, Surroundings};
use super::signals::Set;
use super::start::{ENDED, Report};
use crate::hosts;
use crate::segment::View;

/// Bytes of a stream that may be under way to `mpiexec` before ranks must wait.
const UNDER_WAY: usize = 1 << 20;
/// Variables of `mpiexec`'s host that mean nothing on another.
const BOUND_TO_A_HOST: &[&str] = &["HOSTNAME", "SSH_", "DISPLAY", "XDG_", "DBUS_", "KUBERNETES_", "SLURM", "TMPDIR"];

/// Runs this process as a proxy and returns its exit code.
pub(super) fn main() -> i32 {
    let mask = Set::answered().block();
    descendants::adopt_orphans();
    let copy = |number| rustix::io::fcntl_dupfd_cloexec(number, 3);
    let (Ok(input), Ok(output)) = (copy(rustix::stdio::stdin()), copy(rustix::stdio::stdout())) else { return 1 };
    let mut link = Link::new(input, output, FrameReader::new(false));
    link.send_bytes(PREAMBLE);
    let Some(job) = first_frame(&mut link) else {
        eprintln!("mpiexec: --proxy is for mpiexec's own use.");
        return 2;
    };
    match Proxy::start(link, &job, mask) {
        Ok(proxy) => {
            proxy.run();
            0
        }
        Err((mut link, refusal)) => {
            link.send(&Frame::Refused { code: refusal.code, sentence: refusal.sentence.into_bytes() });
            link.drain(Duration::from_secs(5));
            refusal.code
        }
    }
}

fn first_frame(link: &mut Link) -> Option<Box<JobText>> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match link.next() {
            Ok(Some(Frame::Job(job))) => return Some(job),
            Ok(None) if link.receive(&mut buffer) => {}
            _ => return None,
        }
    }
}

/// The variables of this host, those of `mpiexec` over them.
fn united_environment(sent: &[Vec<u8>]) -> Vec<(OsString, OsString)> {
    let bound = |name: &[u8]| BOUND_TO_A_HOST.iter().any(|start| name.starts_with(start.as_bytes()));
    let text = |bytes: &Vec<u8>| OsString::from_vec(bytes.clone());
    let sent: Vec<(OsString, OsString)> =
        sent.chunks_exact(2).filter(|pair| !bound(&pair[0])).map(|pair| (text(&pair[0]), text(&pair[1]))).collect();
    let own = config::whole_environment().filter(|(name, _)| !sent.iter().any(|(other, _)| other == name));
    let own: Vec<_> = own.collect();
    own.into_iter().chain(sent).collect()
}

/// Reads what a job is: the request, this host's part of it, and its surroundings.
fn understand(job: &JobText) -> Result<(options::Request, Part, Surroundings), Refusal> {
    if job.version != env!("CARGO_PKG_VERSION").as_bytes() {
        return Err(Refusal::from(format!(
            "Towpath {} is installed here, but mpiexec is of Towpath {}; install the same version everywhere.",
            env!("CARGO_PKG_VERSION"),
            String::from_utf8_lossy(&job.version)
        )));
    }
    let folder = OsString::from_vec(job.folder.clone());
    std::env::set_current_dir(&folder).map_err(|error| {
        Refusal::from(format!("The folder {} cannot be entered ({error}).", folder.to_string_lossy()))
    })?;
    let environment = united_environment(&job.environment);
    let arguments = job.arguments.iter().map(|argument| OsString::from_vec(argument.clone()));
    let lookup = |name: &OsString| environment.iter().find(|(other, _)| other == name).cloned();
    let request = match options::parse_beside(arguments, &lookup) {
        Ok(Command::Run(request)) => request,
        _ => return Err(Refusal::from("The command line cannot be read.".to_owned())),
    };
    let node_of_rank = hosts::parse_mapping(&String::from_utf8_lossy(&job.mapping), request.size())
        .filter(|nodes| nodes.contains(&job.host))
        .ok_or_else(|| Refusal::from("The hosts of the ranks cannot be read.".to_owned()))?;
    let part = Part { nonce: job.nonce, node_of_rank, own: job.host };
    Ok((request, part, Surroundings { environment, inherit_input: false }))
}

struct Rank {
    /// Its number in the job.
    number: u32,
    pmi: Option<OwnedFd>,
    streams: [Option<Stream>; 2],
}

/// Input for rank 0.
struct Feed {
    pipe: Option<OwnedFd>,
    queue: Vec<u8>,
    ended: bool,
}

impl Feed {
    /// Takes bytes, or the end, and returns how many bytes `mpiexec` may forget.
    fn take(&mut self, bytes: &[u8]) -> usize {
        self.ended |= bytes.is_empty();
        self.queue.extend_from_slice(bytes);
        self.write()
    }

    /// Writes what the pipe takes; what nobody reads is lost.
    fn write(&mut self) -> usize {
        let mut taken = 0;
        while let Some(pipe) = self.pipe.as_ref().filter(|_| taken < self.queue.len()) {
            match rustix::io::write(pipe, &self.queue[taken..]) {
                Ok(count) => taken += count,
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => break,
                Err(_) => self.pipe = None,
            }
        }
        if self.pipe.is_none() {
            taken = self.queue.len();
        }
        self.queue.drain(..taken);
        if self.ended && self.queue.is_empty() {
            self.pipe = None;
        }
        taken
    }
}

struct Proxy {
    link: Link,
    ranks: Vec<Rank>,
    view: View,
    /// `None`: the guardian has been told to end.
    commands: Option<OwnedFd>,
    reports: OwnedFd,
    feed: Feed,
    events: Events,
    /// Bytes of each stream that `mpiexec` has not written yet.
    under_way: [usize; 2],
    paused: [bool; 2],
    next_release: Option<Instant>,
    link_watched: bool,
    feed_watched: bool,
    link_ended: bool,
    guardian_gone: bool,
    buffer: Vec<u8>,
}

impl Proxy {
    fn start(mut link: Link, job: &JobText, mask: Set) -> Result<Proxy, (Link, Refusal)> {
        let prepared = Proxy::prepare(&link, job, mask);
        match prepared {
            Ok((plan, view, commands, events)) => {
                link.send(&Frame::Ready { key: job.key.clone() });
                Proxy::over(link, plan, view, commands, events)
            }
            Err(refusal) => Err((link, refusal)),
        }
    }

    /// Everything up to the fork of the guardian.
    fn prepare(link: &Link, job: &JobText, mask: Set) -> Result<(Forked, View, OwnedFd, Events), Refusal> {
        let failed = |what: &str, error: std::io::Error| Refusal::from(format!("{what} ({error})."));
        let (request, part, around) = understand(job)?;
        let numbers = part.ranks();
        let plan = Plan::make(&request, part, &around, mask)?;
        use std::os::fd::AsFd;
        let view = View::map(plan.segment.as_fd(), numbers.len()).map_err(|error| Refusal::from(error.to_string()))?;
        let events = Events::new().map_err(|error| failed("The ranks cannot be watched", error))?;
        let (commands_of_guardian, commands) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
            .map_err(|error| failed("The guardian cannot be reached", error.into()))?;
        let mut own = plan.own_descriptors();
        own.extend([commands.as_raw_fd(), link.input().as_raw_fd(), link.output().as_raw_fd()]);
        let tags = request.tag_lines;
        guardian::fork_guardian(plan.starts, plan.common, commands_of_guardian, &own)
            .map_err(|error| failed("No process can be started", std::io::Error::from_raw_os_error(error)))?;
        let ranks = numbers.iter().zip(plan.ends).map(|(&number, ends)| {
            let tag = tags.then(|| format!("[{number}] "));
            let stream = |pipe: Option<OwnedFd>| pipe.map(|pipe| Stream::new(pipe, tag.clone()));
            Rank { number, pmi: Some(ends.pmi), streams: [stream(ends.output), stream(ends.errors)] }
        });
        let forked = Forked { ranks: ranks.collect(), reports: plan.reports, input: plan.input };
        Ok((forked, view, commands, events))
    }

    fn over(
        link: Link,
        forked: Forked,
        view: View,
        commands: OwnedFd,
        mut events: Events,
    ) -> Result<Proxy, (Link, Refusal)> {
        let Forked { ranks, reports, input } = forked;
        if let Err(error) = watch_all(&mut events, &link, &reports, &ranks) {
            return Err((link, Refusal::from(format!("The ranks cannot be watched ({error})."))));
        }
        Ok(Proxy {
            link,
            ranks,
            view,
            commands: Some(commands),
            reports,
            feed: Feed { pipe: input, queue: Vec::new(), ended: false },
            events,
            under_way: [0; 2],
            paused: [false; 2],
            next_release: None,
            link_watched: false,
            feed_watched: false,
            link_ended: false,
            guardian_gone: false,
            buffer: vec![0; 64 * 1024],
        })
    }

    fn run(mut self) {
        let mut ready = Vec::new();
        // More may have come with the first frame.
        self.obey_all(true);
        while !self.guardian_gone {
            let (link, feed) = (self.link.waits() && !self.link_ended, !self.feed.queue.is_empty());
            self.events.watch_for_room(self.link.output(), Event::LinkRoom { host: 0 }, link, &mut self.link_watched);
            if let Some(pipe) = &self.feed.pipe {
                self.events.watch_for_room(pipe, Event::InputPipe, feed, &mut self.feed_watched);
            }
            let limit = self.next_release.map(|at| at.saturating_duration_since(Instant::now()));
            self.events.wait(&mut ready, limit);
            for event in ready.drain(..) {
                self.handle(event);
            }
            if self.next_release.is_some_and(|at| at <= Instant::now()) {
                self.release_incomplete_lines();
            }
        }
        self.finish();
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Report => self.read_report(),
            Event::Output { rank, which } => self.forward(rank, which),
            Event::Pmi { rank } => self.read_pmi(rank),
            Event::Link { .. } => self.read_link(),
            Event::LinkRoom { .. } => self.link.flush(),
            Event::InputPipe => {
                let taken = self.feed.write();
                self.input_taken(taken);
            }
            Event::Signal | Event::Typed | Event::Destination { .. } => {}
        }
    }

    fn input_taken(&mut self, count: usize) {
        if self.feed.pipe.is_none() {
            // The pipe is closed and out of the set; a new one never comes.
            self.feed_watched = false;
        }
        if count > 0 {
            self.link.send(&Frame::InputTaken { count: count as u32 });
        }
    }

    fn read_report(&mut self) {
        let mut bytes = [0u8; Report::SIZE];
        match rustix::io::read(&self.reports, &mut bytes) {
            Ok(Report::SIZE) => self.report(Report::from_bytes(&bytes)),
            Err(rustix::io::Errno::INTR) => {}
            _ => self.guardian_gone = true,
        }
    }

    fn report(&mut self, report: Report) {
        let local = report.rank as usize;
        let rank = self.ranks[local].number;
        if report.kind == ENDED {
            self.read_pmi(local);
            let ending = ending(&self.view, local, report.value);
            let (state, last_call, in_call) = (ending.state, ending.last_call, ending.in_call);
            self.link.send(&Frame::Ended { rank, status: ending.status, state, last_call, in_call });
        } else {
            self.link.send(&Frame::Started { rank, kind: report.kind, value: report.value, pid: report.pid });
        }
    }

    fn read_pmi(&mut self, local: usize) {
        let Rank { number, pmi, .. } = &mut self.ranks[local];
        let Some(socket) = pmi else { return };
        loop {
            match rustix::io::read(&*socket, &mut *self.buffer) {
                Ok(count) if count > 0 => {
                    self.link.send(&Frame::Request { rank: *number, bytes: self.buffer[..count].to_vec() });
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return,
                _ => break,
            }
        }
        if let Some(socket) = pmi.take() {
            self.events.remove(socket);
        }
    }

    fn read_link(&mut self) {
        let open = self.link.receive(&mut self.buffer);
        self.obey_all(open);
    }

    /// Carries out what has come.
    fn obey_all(&mut self, open: bool) {
        loop {
            match self.link.next() {
                Ok(Some(frame)) => self.obey(frame),
                Ok(None) if open => return,
                _ => break,
            }
        }
        // mpiexec is gone, or not to be understood any more.
        self.link_ended = true;
        self.events.remove(self.link.input());
        self.commands = None;
    }

    fn obey(&mut self, frame: Frame) {
        match frame {
            Frame::Signal(0) => self.commands = None,
            Frame::Signal(signal) => self.command(signal),
            Frame::End(signal) => {
                self.view.head().aborting.store(1, Ordering::Release);
                self.command(signal);
                self.command(libc::SIGCONT);
            }
            Frame::Answer { rank, bytes } => self.answer(rank, &bytes),
            Frame::Input(bytes) => {
                let taken = self.feed.take(&bytes);
                self.input_taken(taken);
            }
            Frame::Taken { which, count } => self.taken(usize::from(which), count as usize),
            // What only a proxy says.
            _ => {}
        }
    }

    fn command(&self, command: i32) {
        let bytes: [u8; COMMAND_SIZE] = command.to_ne_bytes();
        if let Some(commands) = &self.commands {
            while rustix::io::write(commands, &bytes) == Err(rustix::io::Errno::INTR) {}
        }
    }

    /// Hands an answer to a rank. A rank that does not read its answers loses its connection.
    fn answer(&mut self, rank: u32, bytes: &[u8]) {
        let Ok(local) = self.ranks.binary_search_by_key(&rank, |rank| rank.number) else { return };
        let Some(socket) = &self.ranks[local].pmi else { return };
        let flags = rustix::net::SendFlags::NOSIGNAL | rustix::net::SendFlags::DONTWAIT;
        if rustix::net::send(socket, bytes, flags) != Ok(bytes.len()) {
            self.events.remove(socket);
            self.ranks[local].pmi = None;
        }
    }

    fn forward(&mut self, local: usize, which: usize) {
        let Some(stream) = &mut self.ranks[local].streams[which] else { return };
        let mut out = Outgoing { link: &mut self.link, which, sent: 0 };
        let reading = stream.forward(&mut self.buffer, &mut out);
        self.under_way[which] += out.sent;
        if reading == Reading::End {
            self.events.remove(stream.as_fd());
            self.ranks[local].streams[which] = None;
        } else if let Some(at) = stream.deadline() {
            self.next_release = Some(self.next_release.map_or(at, |earlier| earlier.min(at)));
        }
        if self.under_way[which] > UNDER_WAY && !self.link_ended {
            self.pause(which, true);
        }
    }

    /// Stops reading a stream of all ranks, or goes on.
    fn pause(&mut self, which: usize, pause: bool) {
        if std::mem::replace(&mut self.paused[which], pause) == pause {
            return;
        }
        for (rank, streams) in self.ranks.iter().map(|rank| &rank.streams).enumerate() {
            let Some(stream) = &streams[which] else { continue };
            if pause {
                self.events.remove(stream.as_fd());
            } else {
                let _ = self.events.add(stream.as_fd(), Event::Output { rank, which });
            }
        }
    }

    fn taken(&mut self, which: usize, count: usize) {
        self.under_way[which] = self.under_way[which].saturating_sub(count);
        if self.under_way[which] < UNDER_WAY / 2 {
            self.pause(which, false);
        }
    }

    fn release_incomplete_lines(&mut self) {
        self.next_release = None;
        let now = Instant::now();
        for rank in &mut self.ranks {
            for (which, stream) in rank.streams.iter_mut().enumerate() {
                let Some((stream, at)) = stream.as_mut().and_then(|stream| stream.deadline().map(|at| (stream, at)))
                else {
                    continue;
                };
                if at <= now {
                    let mut out = Outgoing { link: &mut self.link, which, sent: 0 };
                    stream.release(&mut out);
                    self.under_way[which] += out.sent;
                } else {
                    self.next_release = Some(self.next_release.map_or(at, |earlier| earlier.min(at)));
                }
            }
        }
    }

    /// After the guardian: the rest of the output, and that this is all.
    fn finish(mut self) {
        descendants::kill_all(&[], Duration::from_secs(2), |_, _| {});
        for rank in &mut self.ranks {
            for (which, stream) in rank.streams.iter_mut().enumerate() {
                while let Some(stream) = stream {
                    let mut out = Outgoing { link: &mut self.link, which, sent: 0 };
                    if stream.forward(&mut self.buffer, &mut out) != Reading::Some {
                        stream.release(&mut out);
                        break;
                    }
                    self.link.drain(Duration::from_secs(5));
                }
            }
        }
        self.link.send(&Frame::Done);
        self.link.drain(Duration::from_secs(5));
    }
}

/// What the guardian's fork leaves to the proxy.
struct Forked {
    ranks: Vec<Rank>,
    reports: OwnedFd,
    input: Option<OwnedFd>,
}

fn watch_all(events: &mut Events, link: &Link, reports: &OwnedFd, ranks: &[Rank]) -> std::io::Result<()> {
    events.add(link.input(), Event::Link { host: 0 })?;
    events.add(reports, Event::Report)?;
    for (rank, parts) in ranks.iter().enumerate() {
        if let Some(pmi) = &parts.pmi {
            events.add(pmi, Event::Pmi { rank })?;
        }
        for (which, stream) in parts.streams.iter().enumerate() {
            if let Some(stream) = stream {
                events.add(stream.as_fd(), Event::Output { rank, which })?;
            }
        }
    }
    Ok(())
}

/// Output on its way to `mpiexec`.
struct Outgoing<'a> {
    link: &'a mut Link,
    which: usize,
    sent: usize,
}

impl Sink for Outgoing<'_> {
    fn write(&mut self, bytes: &[u8]) {
        self.sent += bytes.len();
        self.link.send(&Frame::Output { which: self.which as u8, bytes: bytes.to_vec() });
    }
}

/// What `mpiexec` tells a proxy about a job.
pub(super) fn describe(arguments: &[OsString], nonce: u64, key: &[u8], mapping: &str, host: u32) -> JobText {
    let bytes = |text: &OsString| text.as_bytes().to_vec();
    let folder = std::env::current_dir().unwrap_or_else(|_| "/".into());
    JobText {
        version: env!("CARGO_PKG_VERSION").as_bytes().to_vec(),
        key: key.to_vec(),
        nonce,
        host,
        mapping: mapping.as_bytes().to_vec(),
        folder: folder.into_os_string().into_vec(),
        arguments: arguments.iter().map(bytes).collect(),
        environment: config::whole_environment().flat_map(|(name, value)| [bytes(&name), bytes(&value)]).collect(),
    }
}
