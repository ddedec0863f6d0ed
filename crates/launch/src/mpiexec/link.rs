//! One end of the connection between `mpiexec` and a proxy: received frames and frames queued for
//! sending. Neither end blocks: it reads once when the descriptor is readable, and writes only as
//! much as `poll` guarantees (PIPE_BUF).

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use super::frames::{FrameReader, ProxyFrame};
use super::output::{is_writable, write_ready};

/// One end of the connection.
pub(super) struct ProxyLink {
    input: OwnedFd,
    output: OwnedFd,
    reader: FrameReader,
    queue: Vec<u8>,
    gone: bool,
}

impl ProxyLink {
    pub(super) fn new(input: OwnedFd, output: OwnedFd, reader: FrameReader) -> ProxyLink {
        ProxyLink { input, output, reader, queue: Vec::new(), gone: false }
    }

    pub(super) fn input(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }

    pub(super) fn output(&self) -> BorrowedFd<'_> {
        self.output.as_fd()
    }

    /// True while data is queued.
    pub(super) fn waits(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Sends a frame, or queues it until the other end reads.
    pub(super) fn send(&mut self, frame: &ProxyFrame) {
        self.send_bytes(&frame.to_bytes());
    }

    /// Sends bytes that are not a frame: the preamble.
    pub(super) fn send_bytes(&mut self, bytes: &[u8]) {
        if !self.gone {
            self.queue.extend_from_slice(bytes);
            self.flush();
        }
    }

    /// Writes what can be written without blocking.
    pub(super) fn flush(&mut self) {
        self.gone |= write_ready(self.output.as_fd(), &mut self.queue, false).is_err();
    }

    /// Writes everything, as long as the other end makes progress within each `limit`. Returns
    /// false if it does not.
    pub(super) fn drain(&mut self, limit: Duration) -> bool {
        while self.waits() && is_writable(self.output(), limit) {
            self.flush();
        }
        !self.waits()
    }

    /// Reads once; false if the other end has closed the connection.
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

    /// The last line of what arrived instead of frames.
    pub(super) fn last_line(&self) -> String {
        self.reader.last_line()
    }

    /// The next complete frame.
    ///
    /// # Errors
    /// A description of what is wrong with the stream.
    pub(super) fn next(&mut self) -> Result<Option<ProxyFrame>, String> {
        self.reader.next_frame()
    }
}
