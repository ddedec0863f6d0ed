//! Forwards `mpiexec`'s own standard input to rank 0 on another host: [`Relay`] reads it as long as
//! rank 0 consumes it, [`Feed`] writes it to rank 0 on that host.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::termios::{isatty, tcgetpgrp};

use super::events::{Event, Events};

/// Maximum number of bytes in flight to rank 0.
const UNDER_WAY: usize = 64 * 1024;

/// The input at `mpiexec`.
pub(super) struct Relay {
    ended: bool,
    under_way: usize,
    watched: bool,
    /// Regular files cannot be watched with epoll and are always readable.
    is_file: bool,
    terminal: bool,
}

impl Relay {
    /// Reads `mpiexec`'s input, or nothing if it is not `wanted`.
    pub(super) fn new(wanted: bool) -> Relay {
        Relay {
            ended: !wanted,
            under_way: 0,
            watched: false,
            is_file: false,
            terminal: isatty(io::stdin()),
        }
    }

    /// True if input is wanted and may be read. Reading a terminal from the background would stop
    /// `mpiexec`.
    fn wants(&self) -> bool {
        !self.ended && self.under_way < UNDER_WAY && (!self.terminal || self.in_foreground())
    }

    fn in_foreground(&self) -> bool {
        tcgetpgrp(io::stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
    }

    /// Watches the input exactly while it is wanted. Returns true if it can be read now without an
    /// event.
    pub(super) fn watch(&mut self, events: &mut Events) -> bool {
        let wanted = self.wants();
        if self.is_file {
            return wanted;
        }
        if wanted != self.watched {
            self.watched = wanted;
            if !wanted {
                events.remove(io::stdin());
            } else if events.add(io::stdin(), Event::Typed).is_err() {
                self.is_file = true;
                return true;
            }
        }
        false
    }

    /// When to check again without an event: no event reports that `mpiexec` has moved to the
    /// foreground of the terminal, and a regular file is readable whenever there is room.
    pub(super) fn look_again(&self) -> Option<Instant> {
        if self.is_file && self.wants() {
            return Some(Instant::now());
        }
        (self.terminal && !self.ended && !self.in_foreground())
            .then(|| Instant::now() + Duration::from_millis(500))
    }

    /// Reads once. An empty result is the end of the input, which is returned once. `None`: nothing
    /// to read now.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Option<Vec<u8>> {
        if self.ended {
            return None;
        }
        match rustix::io::read(io::stdin(), &mut buffer[..UNDER_WAY / 2]) {
            Ok(count) if count > 0 => {
                self.under_way += count;
                Some(buffer[..count].to_vec())
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => None,
            _ => {
                self.ended = true;
                Some(Vec::new())
            }
        }
    }

    /// Rank 0's host has forwarded `count` bytes.
    pub(super) fn taken(&mut self, count: usize) {
        self.under_way = self.under_way.saturating_sub(count);
    }
}

/// The input at the host of rank 0.
pub(super) struct Feed {
    /// `None`: rank 0 has closed its input, or is not on this host.
    pipe: Option<OwnedFd>,
    queue: Vec<u8>,
    ended: bool,
}

impl Feed {
    /// Writes to this pipe.
    pub(super) fn new(pipe: Option<OwnedFd>) -> Feed {
        Feed { pipe, queue: Vec::new(), ended: false }
    }

    /// The pipe while it is open, and whether data is queued for it.
    pub(super) fn pipe(&self) -> Option<(&OwnedFd, bool)> {
        self.pipe.as_ref().map(|pipe| (pipe, !self.queue.is_empty()))
    }

    /// Queues bytes, or notes the end if there are none, and returns how many bytes `mpiexec` may
    /// consider delivered.
    pub(super) fn take(&mut self, bytes: &[u8]) -> usize {
        self.ended |= bytes.is_empty();
        self.queue.extend_from_slice(bytes);
        self.write()
    }

    /// Writes as much as the pipe takes, and returns how many bytes were written or discarded. Data
    /// is discarded if rank 0 has closed its input.
    pub(super) fn write(&mut self) -> usize {
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
