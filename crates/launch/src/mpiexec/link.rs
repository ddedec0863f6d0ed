//! One end of the connection between `mpiexec` and a proxy: frames that come, frames that wait to
//! go. Neither end ever waits inside a call: it reads once when there is something, and writes only
//! what `poll` promises (PIPE_BUF).

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use super::frames::{Frame, FrameReader};
use super::output::{is_writable, write_ready};

/// One end of the connection.
pub(super) struct Link {
    input: OwnedFd,
    output: OwnedFd,
    reader: FrameReader,
    queue: Vec<u8>,
    gone: bool,
}

impl Link {
    pub(super) fn new(input: OwnedFd, output: OwnedFd, reader: FrameReader) -> Link {
        Link { input, output, reader, queue: Vec::new(), gone: false }
    }

    pub(super) fn input(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }

    pub(super) fn output(&self) -> BorrowedFd<'_> {
        self.output.as_fd()
    }

    /// True while something waits to be written.
    pub(super) fn waits(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Sends a frame, now or when the other end reads.
    pub(super) fn send(&mut self, frame: &Frame) {
        self.send_bytes(&frame.to_bytes());
    }

    /// Sends bytes that are no frame: the preamble.
    pub(super) fn send_bytes(&mut self, bytes: &[u8]) {
        if !self.gone {
            self.queue.extend_from_slice(bytes);
            self.flush();
        }
    }

    /// Writes what can be written without waiting.
    pub(super) fn flush(&mut self) {
        self.gone |= write_ready(self.output.as_fd(), &mut self.queue, false).is_err();
    }

    /// Writes everything, waiting for the other end as long as it reads something every now and
    /// then; false when it does not.
    pub(super) fn drain(&mut self, limit: Duration) -> bool {
        while self.waits() && is_writable(self.output(), limit) {
            self.flush();
        }
        !self.waits()
    }

    /// Reads once; false when the other end has closed the connection.
    pub(super) fn receive(&mut self, buffer: &mut [u8]) -> bool {
        match rustix::io::read(&self.input, &mut *buffer) {
            Ok(0) => false,
            Ok(count) => {
                self.reader.push(&buffer[..count]);
                true
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => true,
            Err(_) => false,
        }
    }

    /// The last line of what came instead of frames.
    pub(super) fn last_line(&self) -> String {
        self.reader.last_line()
    }

    /// The next whole frame that has come.
    ///
    /// # Errors
    /// What is wrong with the stream.
    pub(super) fn next(&mut self) -> Result<Option<Frame>, String> {
        self.reader.next_frame()
    }
}
