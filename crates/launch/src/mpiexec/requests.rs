//! One rank's connection to the PMI server, held by the process that started the rank. Splits
//! received data into requests and sends answers back. Neither direction blocks.

use std::os::fd::OwnedFd;

use super::events::Events;
use crate::wire::LineReader;

/// Maximum number of consecutive reads from one rank. Together they take more than a socket
/// buffers, so the requests of a rank that has ended are read completely, and a rank that never
/// stops writing cannot starve the others.
const READS: usize = 64;

/// The connection of one rank.
pub(super) struct RequestConnection {
    /// `None`: closed.
    socket: Option<OwnedFd>,
    lines: LineReader,
}

impl RequestConnection {
    /// Creates the connection over the launcher's end of the rank's socket, which is non-blocking.
    pub(super) fn new(socket: OwnedFd) -> RequestConnection {
        RequestConnection { socket: Some(socket), lines: LineReader::default() }
    }

    /// The socket, while it is open.
    pub(super) fn socket(&self) -> Option<&OwnedFd> {
        self.socket.as_ref()
    }

    /// Reads what the rank has sent and passes each complete request to `take`, without its line
    /// feed. Closes the connection if the rank has closed it, or if a request is longer than any
    /// that an MPI rank sends.
    pub(super) fn read(
        &mut self,
        events: &mut Events,
        buffer: &mut [u8],
        mut take: impl FnMut(&[u8]),
    ) {
        for _ in 0..READS {
            let Some(socket) = &self.socket else { return };
            match rustix::io::read(socket, &mut *buffer) {
                Ok(count) if count > 0 => self.lines.push(&buffer[..count]),
                Err(rustix::io::Errno::INTR) => continue,
                Err(rustix::io::Errno::AGAIN) => return,
                _ => return self.close(events),
            }
            loop {
                match self.lines.next_line() {
                    Ok(Some(line)) => take(&line),
                    Ok(None) => break,
                    Err(_) => return self.close(events),
                }
            }
        }
    }

    /// Sends an answer to the rank. A rank that does not read its answers loses its connection.
    pub(super) fn answer(&mut self, events: &mut Events, bytes: &[u8]) {
        let Some(socket) = &self.socket else { return };
        let flags = rustix::net::SendFlags::NOSIGNAL | rustix::net::SendFlags::DONTWAIT;
        if rustix::net::send(socket, bytes, flags) != Ok(bytes.len()) {
            self.close(events);
        }
    }

    fn close(&mut self, events: &mut Events) {
        if let Some(socket) = self.socket.take() {
            events.remove(&socket);
        }
        self.lines = LineReader::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    fn connected() -> (RequestConnection, UnixStream) {
        let (own, rank) = UnixStream::pair().unwrap();
        own.set_nonblocking(true).unwrap();
        (RequestConnection::new(own.into()), rank)
    }

    fn read(requests: &mut RequestConnection) -> Vec<String> {
        let mut seen = Vec::new();
        let take = |line: &[u8]| seen.push(String::from_utf8_lossy(line).into_owned());
        requests.read(&mut Events::new().unwrap(), &mut [0; 4096], take);
        seen
    }

    #[test]
    fn requests_are_taken_whole_and_the_last_ones_of_a_rank_that_has_ended_too() {
        let (mut requests, mut rank) = connected();
        rank.write_all(b"one\ntw").unwrap();
        assert_eq!(read(&mut requests), ["one"]);
        rank.write_all(b"o\nthree\n").unwrap();
        drop(rank);
        assert_eq!(read(&mut requests), ["two", "three"]);
        assert!(requests.socket().is_none());
    }

    #[test]
    fn a_request_without_end_and_answers_that_nobody_reads_close_the_connection() {
        let (mut requests, mut rank) = connected();
        let writer = std::thread::spawn(move || {
            while rank.write_all(&[b'x'; 4096]).is_ok() {}
            rank.read(&mut [0; 1]).map_err(|error| error.kind())
        });
        while requests.socket().is_some() {
            assert!(read(&mut requests).is_empty());
        }
        let end = writer.join().unwrap();
        assert!(matches!(end, Ok(0) | Err(std::io::ErrorKind::ConnectionReset)), "{end:?}");

        let (mut requests, _rank) = connected();
        let mut events = Events::new().unwrap();
        for _ in 0..10_000 {
            requests.answer(&mut events, &[b'x'; 4096]);
        }
        assert!(requests.socket().is_none());
    }
}
