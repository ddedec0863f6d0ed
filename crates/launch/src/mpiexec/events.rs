//! Everything `mpiexec` waits for, in one epoll set.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{Timespec, epoll};

use super::input::Terminal;
use super::output::Destination;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The guardian has a report, or has ended.
    Report,
    /// A signal came.
    Signal,
    /// A rank has printed (`which`: 0 stdout, 1 stderr).
    Output { rank: usize, which: usize },
    /// A rank has sent a PMI request.
    Pmi { rank: usize },
    /// Somebody has typed.
    Typed,
    /// Rank 0 can take more input.
    InputPipe,
    /// Our own stdout or stderr can take more.
    Destination { which: usize },
    /// The other end of the connection with a host has said something.
    Link { host: usize },
    /// The connection with a host can take more.
    LinkRoom { host: usize },
}

impl Event {
    fn to_number(self) -> u64 {
        let pair = |kind: u64, value: usize| kind << 32 | value as u64;
        match self {
            Event::Report => pair(0, 0),
            Event::Signal => pair(1, 0),
            Event::Output { rank, which } => pair(2 + which as u64, rank),
            Event::Pmi { rank } => pair(4, rank),
            Event::Typed => pair(5, 0),
            Event::InputPipe => pair(6, 0),
            Event::Destination { which } => pair(7, which),
            Event::Link { host } => pair(8, host),
            Event::LinkRoom { host } => pair(9, host),
        }
    }

    fn from_number(number: u64) -> Event {
        let value = (number & 0xffff_ffff) as usize;
        match number >> 32 {
            0 => Event::Report,
            1 => Event::Signal,
            kind @ (2 | 3) => Event::Output { rank: value, which: kind as usize - 2 },
            4 => Event::Pmi { rank: value },
            5 => Event::Typed,
            6 => Event::InputPipe,
            7 => Event::Destination { which: value },
            8 => Event::Link { host: value },
            _ => Event::LinkRoom { host: value },
        }
    }
}

/// Longest wait that every system takes.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// The set.
pub(super) struct Events {
    epoll: std::os::fd::OwnedFd,
    buffer: Vec<epoll::Event>,
    terminal: bool,
    /// The input pipe has been added once; it is armed again when wanted.
    pipe: bool,
    destinations: [bool; 2],
    destination_descriptors: [BorrowedFd<'static>; 2],
}

impl Events {
    pub(super) fn new() -> io::Result<Events> {
        Ok(Events {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            buffer: Vec::with_capacity(256),
            terminal: false,
            pipe: false,
            destinations: [false; 2],
            destination_descriptors: [rustix::stdio::stdout(), rustix::stdio::stderr()],
        })
    }

    /// Watches a source for input.
    pub(super) fn add(&mut self, source: impl AsFd, event: Event) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, source, epoll::EventData::new_u64(event.to_number()), epoll::EventFlags::IN)?)
    }

    /// Watches a source no more.
    pub(super) fn remove(&mut self, source: impl AsFd) {
        let _ = epoll::delete(&self.epoll, source);
    }

    /// Watches a pipe for room exactly while that is wanted.
    pub(super) fn watch_for_room(&mut self, pipe: impl AsFd, event: Event, wanted: bool, watched: &mut bool) {
        if std::mem::replace(watched, wanted) == wanted {
            return;
        }
        if wanted {
            let data = epoll::EventData::new_u64(event.to_number());
            let _ = epoll::add(&self.epoll, pipe, data, epoll::EventFlags::OUT);
        } else {
            self.remove(pipe);
        }
    }

    /// Watches terminal and input pipe exactly while they are wanted.
    pub(super) fn watch_terminal(&mut self, terminal: &Terminal) {
        if terminal.is_over() && !self.terminal {
            return;
        }
        let wanted = terminal.wants_lines();
        if wanted != self.terminal {
            self.terminal = wanted;
            if wanted {
                let _ = self.add(std::io::stdin(), Event::Typed);
            } else {
                self.remove(std::io::stdin());
            }
        }
        let Some(pipe) = terminal.waiting_pipe() else { return };
        let data = epoll::EventData::new_u64(Event::InputPipe.to_number());
        let flags = epoll::EventFlags::OUT | epoll::EventFlags::ONESHOT;
        let _ = match std::mem::replace(&mut self.pipe, true) {
            true => epoll::modify(&self.epoll, pipe, data, flags),
            false => epoll::add(&self.epoll, pipe, data, flags),
        };
    }

    /// Watches stdout and stderr exactly while something waits to be written.
    pub(super) fn watch_destinations(&mut self, destinations: &[Destination; 2]) {
        for (which, destination) in destinations.iter().enumerate() {
            let wanted = !destination.is_empty();
            if wanted == self.destinations[which] {
                continue;
            }
            self.destinations[which] = wanted;
            let descriptor = self.destination_descriptors[which];
            if wanted {
                let data = epoll::EventData::new_u64(Event::Destination { which }.to_number());
                let _ = epoll::add(&self.epoll, descriptor, data, epoll::EventFlags::OUT);
            } else {
                self.remove(descriptor);
            }
        }
    }

    /// Waits until something happens, at most for `limit`, and lists what did.
    ///
    /// # Errors
    /// The system's error when it lets nobody wait.
    pub(super) fn wait(&mut self, ready: &mut Vec<Event>, limit: Option<Duration>) -> Result<(), i32> {
        let limit = limit.map(|limit| limit.min(LONGEST)).map(|limit| Timespec {
            tv_sec: limit.as_secs() as i64,
            // One more microsecond, so that the deadline has passed on return.
            tv_nsec: i64::from((limit.subsec_nanos() + 1000).min(999_999_999)),
        });
        self.buffer.clear();
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut self.buffer), limit.as_ref()) {
            Ok(_) => ready.extend(self.buffer.iter().map(|event| Event::from_number(event.data.u64()))),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.raw_os_error()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_survive_the_kernel() {
        for event in [
            Event::Report,
            Event::Signal,
            Event::Output { rank: 70_000, which: 1 },
            Event::Pmi { rank: 3 },
            Event::Typed,
            Event::InputPipe,
            Event::Destination { which: 1 },
            Event::Link { host: 9 },
            Event::LinkRoom { host: 70_000 },
        ] {
            assert_eq!(Event::from_number(event.to_number()), event);
        }
    }
}
