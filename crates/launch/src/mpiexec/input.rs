//! The standard input of the ranks: rank 0 reads the standard input of `mpiexec`, the other ranks
//! read /dev/null.
//!
//! A file, pipe or socket is inherited, so `mpiexec` consumes nothing that rank 0 does not want. A
//! terminal cannot be inherited, because the ranks are not in its foreground process group. In that
//! case `mpiexec` reads lines and forwards them, but only while it is in the foreground itself.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::termios::{isatty, tcgetpgrp};

/// Maximum number of bytes to queue for rank 0.
const LONGEST_QUEUE: usize = 64 * 1024;

/// An empty input.
pub(crate) fn nothing() -> io::Result<OwnedFd> {
    std::fs::File::open("/dev/null").map(OwnedFd::from)
}

/// The input of rank 0. If `mpiexec` must forward a terminal's lines, `writer` becomes the write
/// end of the pipe.
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

/// Creates the input of rank 0 as a pipe; `writer` becomes its write end.
pub(crate) fn by_pipe(writer: &mut Option<OwnedFd>) -> io::Result<OwnedFd> {
    let (reader, own_end) = pipe_with(PipeFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&own_end, true)?;
    *writer = Some(own_end);
    Ok(reader)
}

/// Forwards a terminal's lines to rank 0.
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

    /// True if lines are wanted and may be read. Reading from the background would stop `mpiexec`.
    pub(crate) fn wants_lines(&self) -> bool {
        !self.ended
            && self.queue.len() < LONGEST_QUEUE
            && tcgetpgrp(std::io::stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
    }

    /// The pipe to rank 0 while data is queued for it.
    pub(crate) fn waiting_pipe(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().filter(|_| !self.queue.is_empty()).map(AsFd::as_fd)
    }

    /// True if there is no terminal, or its input has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.pipe.is_none()
    }

    /// Reads from the terminal once.
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

    /// Writes as much as the pipe takes. If rank 0 has closed its input, forwarding ends.
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
