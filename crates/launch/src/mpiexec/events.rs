//! The event loop's epoll set: everything that `mpiexec` waits for.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{Timespec, epoll};

use super::input::Terminal;
use super::output::OutputStream;

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The guardian has sent a report or has ended.
    Report,
    /// A signal has arrived.
    Signal,
    /// A rank has written output (`which`: 0 stdout, 1 stderr).
    Output { rank: usize, which: usize },
    /// A rank has sent a PMI request.
    Pmi { rank: usize },
    /// Standard input is readable.
    Typed,
    /// The pipe to rank 0's input is writable.
    InputPipe,
    /// `mpiexec`'s own stdout or stderr is writable.
    Destination { which: usize },
    /// The connection to a host is readable.
    Link { host: usize },
    /// The connection to a host is writable.
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

/// A timeout that every kernel accepts.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// The epoll set.
pub(super) struct Events {
    epoll: std::os::fd::OwnedFd,
    buffer: Vec<epoll::Event>,
    terminal: bool,
    /// The input pipe is in the set; ONESHOT requires rearming it for each wait.
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
        Ok(epoll::add(
            &self.epoll,
            source,
            epoll::EventData::new_u64(event.to_number()),
            epoll::EventFlags::IN,
        )?)
    }

    /// Removes a source from the set.
    pub(super) fn remove(&mut self, source: impl AsFd) {
        let _ = epoll::delete(&self.epoll, source);
    }

    /// Watches a pipe for writability exactly while `wanted`.
    pub(super) fn watch_for_room(
        &mut self,
        pipe: impl AsFd,
        event: Event,
        wanted: bool,
        watched: &mut bool,
    ) {
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

    /// Watches terminal and input pipe exactly while needed.
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

    /// Watches stdout and stderr exactly while data is queued for them.
    pub(super) fn watch_destinations(&mut self, destinations: &[OutputStream; 2]) {
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

    /// Waits for events, at most for `limit`, and appends them to `ready`.
    ///
    /// # Errors
    /// The errno if waiting fails for a reason other than a signal.
    pub(super) fn wait(
        &mut self,
        ready: &mut Vec<Event>,
        limit: Option<Duration>,
    ) -> Result<(), i32> {
        let limit = limit.map(|limit| limit.min(LONGEST)).map(|limit| Timespec {
            tv_sec: limit.as_secs() as i64,
            // One more microsecond, so that the deadline has passed on return.
            tv_nsec: i64::from((limit.subsec_nanos() + 1000).min(999_999_999)),
        });
        self.buffer.clear();
        match epoll::wait(
            &self.epoll,
            rustix::buffer::spare_capacity(&mut self.buffer),
            limit.as_ref(),
        ) {
            Ok(_) => {
                ready.extend(self.buffer.iter().map(|event| Event::from_number(event.data.u64())))
            }
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
