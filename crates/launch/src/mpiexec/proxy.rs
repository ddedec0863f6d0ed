//! The proxy: `mpiexec` on another host. It starts that host's ranks under a guardian, as `mpiexec`
//! does on its own host, and forwards everything over its stdin and stdout: the ranks' output,
//! their PMI requests, how they end. It makes no decisions. When its input ends, because `mpiexec`
//! or the connection is gone, everything on this host is killed.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use towpath_base::control::RankState;
use towpath_base::sync::Ordering;

use super::activity::Activity;
use super::brief;
use super::descendants;
use super::events::{Event, Events};
use super::frames::{FrameReader, JobText, PREAMBLE, ProxyFrame};
use super::guardian::{self, COMMAND_SIZE};
use super::job::ending;
use super::link::ProxyLink;
use super::plan::{LaunchPlan, StartRefusal};
use super::relay::Feed;
use super::requests::RequestConnection;
use super::signals::Set;
use super::start::{ENDED, Report, send_record};
use super::streams::{OutputSink, Streams};
use super::verdict::CHECK;
use crate::segment::View;

/// Bytes of a stream in flight to `mpiexec` above which the ranks are throttled.
const UNDER_WAY: usize = 1 << 20;
/// How long to wait at the end for a connection without progress. The remaining output is then
/// lost.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs this process as a proxy and returns its exit code.
pub(super) fn main() -> i32 {
    let mask = Set::answered().block();
    descendants::adopt_orphans();
    let copy = |number| rustix::io::fcntl_dupfd_cloexec(number, 3);
    let (Ok(input), Ok(output)) = (copy(rustix::stdio::stdin()), copy(rustix::stdio::stdout()))
    else {
        return 1;
    };
    let mut link = ProxyLink::new(input, output, FrameReader::new(false));
    link.send_bytes(PREAMBLE);
    let Some(job) = first_frame(&mut link) else {
        // No message if the connection has ended: mpiexec is gone.
        if rustix::termios::isatty(rustix::stdio::stdin()) {
            eprintln!("mpiexec: --proxy is for mpiexec's own use.");
        }
        return 2;
    };
    match Proxy::start(link, &job, mask) {
        Ok(proxy) => {
            proxy.run();
            0
        }
        Err(failed) => {
            let (mut link, refusal) = *failed;
            link.send(&ProxyFrame::Refused {
                code: refusal.code,
                sentence: refusal.sentence.into_bytes(),
            });
            link.drain(PATIENCE);
            refusal.code
        }
    }
}

fn first_frame(link: &mut ProxyLink) -> Option<Box<JobText>> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match link.next() {
            Ok(Some(ProxyFrame::Job(job))) => return Some(job),
            Ok(None) if link.receive(&mut buffer) => {}
            _ => return None,
        }
    }
}

struct Proxy {
    link: ProxyLink,
    /// The ranks of this host by their numbers in the job, ascending.
    numbers: Vec<u32>,
    ranks: Vec<RequestConnection>,
    streams: Streams,
    view: View,
    /// `None`: closed, which makes the guardian end everything.
    commands: Option<OwnedFd>,
    reports: OwnedFd,
    feed: Feed,
    events: Events,
    /// Bytes of each stream that `mpiexec` has not acknowledged yet.
    under_way: [usize; 2],
    link_watched: bool,
    feed_watched: bool,
    link_ended: bool,
    /// When to check next for ranks that are in MPI after another rank has ended without calling
    /// MPI_Init.
    next_look: Option<Instant>,
    guardian_gone: bool,
    buffer: Vec<u8>,
}

/// The forked guardian with the ranks of this host, and the connections to them.
struct Forked {
    numbers: Vec<u32>,
    ranks: Vec<RequestConnection>,
    streams: Streams,
    view: View,
    commands: OwnedFd,
    reports: OwnedFd,
    input: Option<OwnedFd>,
}

impl Forked {
    fn make(link: &ProxyLink, job: &JobText, mask: Set) -> Result<Forked, StartRefusal> {
        let failed =
            |what: &str, error: std::io::Error| StartRefusal::from(format!("{what} ({error})."));
        let (request, part, around) = brief::understand(job)?;
        let numbers = part.ranks();
        let plan = LaunchPlan::make(&request, part, &around, mask)?;
        let view = View::map(plan.segment.as_fd(), numbers.len())
            .map_err(|error| StartRefusal::from(error.to_string()))?;
        let (commands_of_guardian, commands) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
                .map_err(|error| failed("The guardian cannot be reached", error.into()))?;
        let mut own = plan.own_descriptors();
        own.extend([commands.as_raw_fd(), link.input().as_raw_fd(), link.output().as_raw_fd()]);
        guardian::fork_guardian(plan.starts, plan.common, commands_of_guardian, &own).map_err(
            |error| failed("No process can be started", std::io::Error::from_raw_os_error(error)),
        )?;
        let (mut ranks, mut pipes) =
            (Vec::with_capacity(numbers.len()), Vec::with_capacity(numbers.len()));
        for (number, ends) in numbers.iter().zip(plan.ends) {
            ranks.push(RequestConnection::new(ends.pmi));
            pipes.push((
                [ends.output, ends.errors],
                request.tag_lines.then(|| format!("[{number}] ")),
            ));
        }
        let streams = Streams::new(pipes.into_iter());
        Ok(Forked {
            numbers,
            ranks,
            streams,
            view,
            commands,
            reports: plan.reports,
            input: plan.input,
        })
    }

    /// Creates an epoll set that watches everything.
    fn watched(&mut self, link: &ProxyLink) -> std::io::Result<Events> {
        let mut events = Events::new()?;
        events.add(link.input(), Event::Link { host: 0 })?;
        events.add(&self.reports, Event::Report)?;
        for (rank, requests) in self.ranks.iter().enumerate() {
            requests.socket().map_or(Ok(()), |socket| events.add(socket, Event::Pmi { rank }))?;
        }
        self.streams.watch(&mut events)?;
        Ok(events)
    }
}

impl Proxy {
    fn start(
        mut link: ProxyLink,
        job: &JobText,
        mask: Set,
    ) -> Result<Proxy, Box<(ProxyLink, StartRefusal)>> {
        let mut forked = match Forked::make(&link, job, mask) {
            Ok(forked) => forked,
            Err(refusal) => return Err(Box::new((link, refusal))),
        };
        let events = match forked.watched(&link) {
            Ok(events) => events,
            Err(error) => {
                return Err(Box::new((
                    link,
                    StartRefusal::from(format!("The ranks cannot be watched ({error}).")),
                )));
            }
        };
        link.send(&ProxyFrame::Ready { key: job.key.clone() });
        Ok(Proxy {
            link,
            numbers: forked.numbers,
            ranks: forked.ranks,
            streams: forked.streams,
            view: forked.view,
            commands: Some(forked.commands),
            reports: forked.reports,
            feed: Feed::new(forked.input),
            events,
            under_way: [0; 2],
            link_watched: false,
            feed_watched: false,
            link_ended: false,
            next_look: None,
            guardian_gone: false,
            buffer: vec![0; 64 * 1024],
        })
    }

    fn run(mut self) {
        let mut ready = Vec::new();
        // More frames may have arrived together with the first one.
        self.obey_all(true);
        while !self.guardian_gone {
            let waits = self.link.waits() && !self.link_ended;
            self.events.watch_for_room(
                self.link.output(),
                Event::LinkRoom { host: 0 },
                waits,
                &mut self.link_watched,
            );
            if let Some((pipe, waits)) = self.feed.pipe() {
                self.events.watch_for_room(pipe, Event::InputPipe, waits, &mut self.feed_watched);
            }
            let nearest = [self.streams.deadline(), self.next_look].into_iter().flatten().min();
            if self
                .events
                .wait(&mut ready, nearest.map(|at| at.saturating_duration_since(Instant::now())))
                .is_err()
            {
                // The guardian ends everything. `mpiexec` learns of it from the reports or from the
                // end of the connection.
                break;
            }
            for event in ready.drain(..) {
                self.handle(event);
            }
            self.streams.release(
                &mut self.events,
                &mut ProxyOutput { link: &mut self.link, under_way: &mut self.under_way },
            );
            self.look_inside();
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
        if self.feed.pipe().is_none() {
            // The pipe is closed and removed from the set; there will be no other.
            self.feed_watched = false;
        }
        if count > 0 {
            self.link.send(&ProxyFrame::InputTaken { count: count as u32 });
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
        let rank = self.numbers[local];
        if report.kind == ENDED {
            self.read_pmi(local);
            let ending = ending(&self.view, local, report.value);
            if ending.is_without_init() {
                self.next_look = self.next_look.or_else(|| Some(Instant::now() + CHECK));
            }
            let (state, last_call, in_call) = (ending.state, ending.last_call, ending.in_call);
            self.link.send(&ProxyFrame::Ended {
                rank,
                status: ending.status,
                state,
                last_call,
                in_call,
            });
        } else {
            self.link.send(&ProxyFrame::Started {
                rank,
                kind: report.kind,
                value: report.value,
                pid: report.pid,
            });
        }
    }

    /// Reports once that a rank is in MPI after another one has ended without calling MPI_Init.
    /// `mpiexec` itself sees only the requests to its server.
    fn look_inside(&mut self) {
        if self.next_look.is_none_or(|at| at > Instant::now()) {
            return;
        }
        let is_inside = |local: usize| {
            self.view.page(local).state.load(Ordering::Acquire) == RankState::Running as u32
        };
        let found = (0..self.numbers.len()).find(|&local| is_inside(local));
        self.next_look = found.is_none().then(|| Instant::now() + CHECK);
        if let Some(local) = found {
            self.link.send(&ProxyFrame::Inside { rank: self.numbers[local] });
        }
    }

    fn read_pmi(&mut self, local: usize) {
        let mut bytes = Vec::new();
        let take = |line: &[u8]| {
            bytes.extend_from_slice(line);
            bytes.push(b'\n');
        };
        self.ranks[local].read(&mut self.events, &mut self.buffer, take);
        if !bytes.is_empty() {
            self.link.send(&ProxyFrame::Request { rank: self.numbers[local], bytes });
        }
    }

    fn read_link(&mut self) {
        let open = self.link.receive(&mut self.buffer);
        self.obey_all(open);
    }

    /// Executes the frames that have arrived.
    fn obey_all(&mut self, open: bool) {
        loop {
            match self.link.next() {
                Ok(Some(frame)) => self.obey(frame),
                Ok(None) if open => return,
                _ => break,
            }
        }
        // `mpiexec` is gone or has sent an invalid frame.
        self.link_ended = true;
        self.events.remove(self.link.input());
        self.commands = None;
    }

    fn obey(&mut self, frame: ProxyFrame) {
        match frame {
            ProxyFrame::Signal(0) => self.commands = None,
            ProxyFrame::Signal(signal) => self.command(signal),
            ProxyFrame::End(signal) => {
                self.view.head().aborting.store(1, Ordering::Release);
                self.command(signal);
                self.command(libc::SIGCONT);
            }
            ProxyFrame::Answer { rank, bytes } => {
                if let Ok(local) = self.numbers.binary_search(&rank) {
                    self.ranks[local].answer(&mut self.events, &bytes);
                }
            }
            ProxyFrame::Input(bytes) => {
                let taken = self.feed.take(&bytes);
                self.input_taken(taken);
            }
            ProxyFrame::Taken { which, count } => self.taken(usize::from(which), count as usize),
            ProxyFrame::Ask => self.answer(),
            // Frames that only a proxy sends.
            _ => {}
        }
    }

    /// Reports what all ranks are doing.
    fn answer(&mut self) {
        for (local, &rank) in self.numbers.iter().enumerate() {
            self.link.send(&ProxyFrame::Activity {
                rank,
                activity: Activity::read(self.view.page(local)),
            });
        }
        self.link.send(&ProxyFrame::Answered);
    }

    fn command(&mut self, command: i32) {
        let bytes: [u8; COMMAND_SIZE] = command.to_ne_bytes();
        self.commands = self.commands.take().filter(|commands| send_record(commands, &bytes));
    }

    fn forward(&mut self, local: usize, which: usize) {
        let outgoing = &mut ProxyOutput { link: &mut self.link, under_way: &mut self.under_way };
        self.streams.forward(&mut self.events, &mut self.buffer, (local, which), outgoing);
        if self.under_way[which] > UNDER_WAY && !self.link_ended {
            self.streams.pause(&mut self.events, which, true);
        }
    }

    fn taken(&mut self, which: usize, count: usize) {
        self.under_way[which] = self.under_way[which].saturating_sub(count);
        if self.under_way[which] < UNDER_WAY / 2 {
            self.streams.pause(&mut self.events, which, false);
        }
    }

    /// After the guardian has ended: sends the rest of the output and the final frame.
    fn finish(mut self) {
        self.commands = None;
        descendants::kill_all(&[], Duration::from_secs(2), |_, _| {});
        let outgoing = &mut ProxyOutput { link: &mut self.link, under_way: &mut self.under_way };
        // The limit on bytes in flight is not kept here: no more is left than the pipes hold, and
        // `mpiexec` reads it as fast as the connection permits.
        self.streams.finish(&mut self.buffer, outgoing, |to| to.link.drain(PATIENCE));
        self.link.send(&ProxyFrame::Done);
        self.link.drain(PATIENCE);
    }
}

/// The sink for output in flight to `mpiexec`.
struct ProxyOutput<'a> {
    link: &'a mut ProxyLink,
    under_way: &'a mut [usize; 2],
}

impl OutputSink for ProxyOutput<'_> {
    fn write(&mut self, which: usize, bytes: &[u8], more: bool) {
        self.under_way[which] += bytes.len();
        self.link.send(&ProxyFrame::Output { which: which as u8, more, bytes: bytes.to_vec() });
    }
}
