//! The input of the ranks: rank 0 reads what `mpiexec` would read, the others read nothing.
//!
//! A file, pipe or socket is simply inherited, so `mpiexec` takes nothing from it that rank 0 does
//! not want. A terminal cannot be inherited (the ranks are not in its foreground), so there
//! `mpiexec` reads lines and passes them on, and only while it is in the foreground itself.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::termios::{isatty, tcgetpgrp};

/// Most bytes that wait for rank 0.
const LONGEST_QUEUE: usize = 64 * 1024;

/// An input that ends at once.
pub(crate) fn nothing() -> io::Result<OwnedFd> {
    std::fs::File::open("/dev/null").map(OwnedFd::from)
}

/// The input of rank 0. When `mpiexec` must pass a terminal's lines on, `writer` becomes the pipe
/// to write them to.
pub(crate) fn for_first_rank(writer: &mut Option<OwnedFd>) -> io::Result<OwnedFd> {
    let own = std::io::stdin();
    if isatty(&own) {
        return by_pipe(writer);
    }
    match rustix::io::fcntl_dupfd_cloexec(&own, 3) {
        Ok(copy) => Ok(copy),
        Err(_) => nothing(),
    }
}

/// The input of rank 0 as a pipe; `writer` becomes its other end.
pub(crate) fn by_pipe(writer: &mut Option<OwnedFd>) -> io::Result<OwnedFd> {
    let (reader, own_end) = pipe_with(PipeFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&own_end, true)?;
    *writer = Some(own_end);
    Ok(reader)
}

/// Passes a terminal's lines on to rank 0.
pub(crate) struct Terminal {
    pipe: Option<OwnedFd>,
    queue: Vec<u8>,
    ended: bool,
}

impl Terminal {
    pub(crate) fn new(pipe: Option<OwnedFd>) -> Terminal {
        let ended = pipe.is_none();
        Terminal { pipe, queue: Vec::new(), ended }
    }

    /// True when lines are wanted and may be read: reading from the background would stop
    /// `mpiexec`.
    pub(crate) fn wants_lines(&self) -> bool {
        !self.ended
            && self.queue.len() < LONGEST_QUEUE
            && tcgetpgrp(std::io::stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
    }

    /// The pipe to rank 0 while something waits to be written.
    pub(crate) fn waiting_pipe(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().filter(|_| !self.queue.is_empty()).map(AsFd::as_fd)
    }

    /// True when there is no terminal, or its input has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.pipe.is_none()
    }

    /// Reads what the terminal has.
    pub(crate) fn read(&mut self) {
        let mut buffer = [0u8; 4096];
        match rustix::io::read(std::io::stdin(), &mut buffer) {
            Ok(0) => self.ended = true,
            Ok(count) => self.queue.extend_from_slice(&buffer[..count]),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(_) => self.ended = true,
        }
        self.write();
    }

    /// Writes what the pipe takes; a rank 0 that reads no more ends it.
    pub(crate) fn write(&mut self) {
        let Some(pipe) = &self.pipe else { return };
        while !self.queue.is_empty() {
            match rustix::io::write(pipe, &self.queue) {
                Ok(count) => {
                    self.queue.drain(..count);
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return,
                Err(_) => {
                    self.queue.clear();
                    self.ended = true;
                }
            }
        }
        if self.ended {
            self.pipe = None;
        }
    }
}
