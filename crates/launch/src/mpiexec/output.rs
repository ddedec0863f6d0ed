//! Forwards the output of the ranks in whole lines, so that lines of different ranks never mix. Any
//! bytes are allowed. An incomplete line (a prompt) is printed if nothing follows it for a while,
//! unless lines are tagged. A long line is printed in pieces, and no other rank's lines are printed
//! in between.
//!
//! `mpiexec` must never block on a slow reader of its own output, because it has ranks to watch. An
//! [`OutputStream`] therefore has a queue and writes only as much as `poll` guarantees. While the
//! queue is long, nothing more is read from the ranks (back-pressure).

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FileType;
use rustix::io::{Errno, retry_on_intr};

use super::report::JobFailure;
use super::signals;
use super::verdict::Verdict;

/// How long an incomplete line waits for its end.
pub(crate) const PATIENCE: Duration = Duration::from_millis(200);
/// Maximum number of bytes of a line to hold back. A rank with a longer line gets exclusive use of
/// the output until the line ends.
const LONGEST_LINE: usize = 64 * 1024;
/// Queue length in bytes above which an output stream accepts no more.
const LONGEST_QUEUE: usize = 1 << 20;
/// What a writable pipe takes without blocking (PIPE_BUF).
const CERTAIN: usize = 4096;

/// True if a descriptor becomes writable within `limit`, which begins again after a signal. True if
/// `poll` fails: the write then returns the error, or blocks.
pub(crate) fn is_writable(descriptor: BorrowedFd<'_>, limit: Duration) -> bool {
    let limit =
        Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: i64::from(limit.subsec_nanos()) };
    let ready =
        retry_on_intr(|| poll(&mut [PollFd::new(&descriptor, PollFlags::OUT)], Some(&limit)));
    ready.map_or(true, |ready| ready > 0)
}

/// Writes as much of a queue as possible without blocking (`at_once`: all of it).
///
/// # Errors
/// The error of a write that can never succeed; the queue is discarded.
pub(crate) fn write_ready(
    descriptor: BorrowedFd<'_>,
    queue: &mut Vec<u8>,
    at_once: bool,
) -> Result<(), Errno> {
    let (mut written, mut outcome) = (0, Ok(()));
    while written < queue.len() && (at_once || is_writable(descriptor, Duration::ZERO)) {
        let piece = &queue[written..];
        let piece = if at_once { piece } else { &piece[..piece.len().min(CERTAIN)] };
        match rustix::io::write(descriptor, piece) {
            Ok(count) => written += count,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => break,
            Err(error) => (written, outcome) = (queue.len(), Err(error)),
        }
    }
    queue.drain(..written);
    outcome
}

/// A destination of lines.
pub(crate) trait LineSink {
    /// Takes bytes, which stay together. `more`: the next bytes belong to the same line.
    fn write(&mut self, bytes: &[u8], more: bool);
}

/// `mpiexec`'s own stdout or stderr.
pub(crate) struct OutputStream {
    descriptor: BorrowedFd<'static>,
    queue: Vec<u8>,
    /// Regular files never block.
    is_file: bool,
    /// The error that has ended all writing.
    lost: Option<Errno>,
}

impl OutputStream {
    pub(crate) fn new(descriptor: BorrowedFd<'static>) -> OutputStream {
        let is_file = rustix::fs::fstat(descriptor)
            .is_ok_and(|status| FileType::from_raw_mode(status.st_mode) == FileType::RegularFile);
        OutputStream { descriptor, queue: Vec::new(), is_file, lost: None }
    }

    /// Writes what can be written without blocking.
    pub(crate) fn flush(&mut self) {
        if let Err(error) = write_ready(self.descriptor, &mut self.queue, self.is_file) {
            self.lost = self.lost.or(Some(error));
        }
    }

    /// Writes everything and blocks until the reader has taken it or is gone. Returns false if a
    /// signal from the user has ended the wait.
    pub(crate) fn drain(&mut self, signals: &OwnedFd) -> bool {
        self.flush();
        while !self.queue.is_empty() {
            let mut sources = [
                PollFd::new(&self.descriptor, PollFlags::OUT),
                PollFd::new(signals, PollFlags::IN),
            ];
            match poll(&mut sources, None) {
                Ok(_) | Err(Errno::INTR) => {}
                // `poll` has failed: try to write anyway, after a pause.
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
            match signals::next(signals) {
                Ok(Some(libc::SIGTSTP)) => {
                    signals::send(std::process::id() as i32, libc::SIGSTOP);
                }
                Ok(None | Some(libc::SIGCONT | libc::SIGUSR1 | libc::SIGUSR2 | libc::SIGQUIT)) => {}
                Ok(Some(_)) | Err(_) => return false,
            }
            self.flush();
        }
        true
    }

    /// True if the ranks must be throttled.
    pub(crate) fn is_full(&self) -> bool {
        self.queue.len() > LONGEST_QUEUE
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The failure of the job if nothing can be written any more; `None` as long as writing works.
    pub(crate) fn failure(&self) -> Option<JobFailure> {
        self.lost.map(|error| match error {
            // The reader is gone: of a pipe, of a connection, of a terminal.
            Errno::PIPE | Errno::CONNRESET => JobFailure::OutputGone,
            Errno::IO if !self.is_file => JobFailure::OutputGone,
            other => JobFailure::OutputFails { reason: io::Error::from(other).to_string() },
        })
    }
}

impl LineSink for OutputStream {
    /// Queues bytes and writes what can be written now.
    fn write(&mut self, bytes: &[u8], _more: bool) {
        if self.lost.is_none() {
            self.queue.extend_from_slice(bytes);
            self.flush();
        }
    }
}

/// Ends all output: writes what is still queued, then the job's error message, if any. Returns the
/// exit code.
pub(crate) fn last_words(
    destinations: &mut [OutputStream; 2],
    mut verdict: Verdict,
    signals: &OwnedFd,
) -> i32 {
    destinations[0].drain(signals);
    // A reader that leaves after the ranks have ended has read enough. If the disk is full, output
    // is missing.
    if let Some(failure) =
        destinations[0].failure().filter(|failure| *failure != JobFailure::OutputGone)
    {
        verdict.fail_late(failure);
    }
    let (sentence, code) = verdict.result();
    if let Some(sentence) = sentence {
        destinations[1].write(format!("{sentence}\n").as_bytes(), false);
    }
    destinations[1].drain(signals);
    code
}

/// Result of reading a rank's stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Bytes were read; there may be more.
    Some,
    /// No bytes are available.
    Nothing,
    /// The stream has ended.
    End,
}

/// One stream of one rank.
pub(crate) struct Stream {
    pipe: OwnedFd,
    held: Vec<u8>,
    /// When the held bytes began to arrive; for a long line, when the last bytes arrived.
    since: Instant,
    tag: Vec<u8>,
    /// The beginning of the current line has been forwarded.
    in_long_line: bool,
}

impl Stream {
    /// Creates a stream that reads from a non-blocking pipe and puts `tag` before each line.
    pub(crate) fn new(pipe: OwnedFd, tag: Option<String>) -> Stream {
        let tag = tag.unwrap_or_default().into_bytes();
        Stream { pipe, held: Vec::new(), since: Instant::now(), tag, in_long_line: false }
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }

    /// Reads once and forwards whole lines; at the end of the stream also an incomplete line.
    pub(crate) fn forward(&mut self, buffer: &mut [u8], to: &mut impl LineSink) -> Reading {
        match rustix::io::read(&self.pipe, &mut *buffer) {
            Ok(0) => {
                self.release(to);
                Reading::End
            }
            Ok(count) => {
                self.take(&buffer[..count], to);
                Reading::Some
            }
            Err(Errno::AGAIN | Errno::INTR) => Reading::Nothing,
            Err(error) => {
                debug_assert_eq!(
                    io::Error::from(error).kind(),
                    io::ErrorKind::Other,
                    "a pipe gives no other error"
                );
                Reading::End
            }
        }
    }

    fn take(&mut self, bytes: &[u8], to: &mut impl LineSink) {
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        if whole > 0 {
            self.held.extend_from_slice(&bytes[..whole]);
            self.release(to);
        }
        if whole < bytes.len() {
            if self.held.is_empty() {
                // Always true for a long line, of which nothing is held.
                self.since = Instant::now();
            }
            self.held.extend_from_slice(&bytes[whole..]);
        }
        if self.in_long_line || self.held.len() > LONGEST_LINE {
            self.pass(to, true);
        }
    }

    /// Forwards everything that is held; a long line counts as ended.
    pub(crate) fn release(&mut self, to: &mut impl LineSink) {
        if !self.held.is_empty() || self.in_long_line {
            self.pass(to, false);
        }
    }

    /// True while this stream has exclusive use of the output, because its line continues.
    pub(crate) fn is_in_long_line(&self) -> bool {
        self.in_long_line
    }

    fn pass(&mut self, to: &mut impl LineSink, more: bool) {
        if self.tag.is_empty() {
            to.write(&self.held, more);
        } else {
            to.write(&self.tagged(more), more);
        }
        self.held.clear();
        self.in_long_line = more;
    }

    /// What is held, with a tag before each line that begins in it, and a line feed at the end
    /// unless `more` follows.
    fn tagged(&self, more: bool) -> Vec<u8> {
        let mut tagged = Vec::with_capacity(self.held.len() + 16);
        for (number, line) in self.held.split_inclusive(|&byte| byte == b'\n').enumerate() {
            if number > 0 || !self.in_long_line {
                tagged.extend_from_slice(&self.tag);
            }
            tagged.extend_from_slice(line);
        }
        if !more && tagged.last() != Some(&b'\n') {
            tagged.push(b'\n');
        }
        tagged
    }

    /// When the incomplete line is forwarded at the latest; `None` if there is none, or it is
    /// tagged and not long.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        (self.in_long_line || !self.held.is_empty() && self.tag.is_empty())
            .then(|| self.since + PATIENCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::fd::IntoRawFd;

    /// An output stream into a pipe, and the pipe's read end.
    fn pipe_destination() -> (OutputStream, std::fs::File) {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        // SAFETY: the descriptor is leaked, so it stays open.
        let writer = unsafe { BorrowedFd::borrow_raw(writer.into_raw_fd()) };
        (OutputStream::new(writer), std::fs::File::from(reader))
    }

    fn stream(tag: Option<&str>) -> (Stream, OwnedFd) {
        let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::NONBLOCK).unwrap();
        (Stream::new(reader, tag.map(str::to_owned)), writer)
    }

    fn seen(file: &mut std::fs::File) -> String {
        let mut buffer = [0u8; 4096];
        let count = file.read(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..count]).into_owned()
    }

    #[test]
    fn lines_come_out_whole() {
        let (mut to, mut reader) = pipe_destination();
        let (mut a, into_a) = stream(None);
        let (mut b, into_b) = stream(None);
        let mut buffer = [0u8; 64];
        for (pipe, text) in [(&into_a, "one "), (&into_b, "two\nthr"), (&into_a, "more\n")] {
            rustix::io::write(pipe, text.as_bytes()).unwrap();
            a.forward(&mut buffer, &mut to);
            b.forward(&mut buffer, &mut to);
        }
        assert_eq!(seen(&mut reader), "two\none more\n");
        assert!(b.deadline().is_some() && a.deadline().is_none());
        drop(into_b);
        assert_eq!(b.forward(&mut buffer, &mut to), Reading::End);
        assert_eq!(seen(&mut reader), "thr");
    }

    #[test]
    fn tagged_lines_end_where_the_stream_ends() {
        let (mut to, mut reader) = pipe_destination();
        let (mut stream, into) = stream(Some("[3] "));
        rustix::io::write(&into, b"a\n\nb").unwrap();
        drop(into);
        let mut buffer = [0u8; 64];
        while stream.forward(&mut buffer, &mut to) != Reading::End {}
        assert_eq!(seen(&mut reader), "[3] a\n[3] \n[3] b\n");
    }

    #[test]
    fn a_long_line_has_one_tag_and_goes_on_until_it_ends_or_nothing_follows() {
        #[derive(Default)]
        struct Seen(Vec<u8>, bool);
        impl LineSink for Seen {
            fn write(&mut self, bytes: &[u8], more: bool) {
                self.0.extend_from_slice(bytes);
                self.1 = more;
            }
        }
        let (mut stream, _into) = stream(Some("[1] "));
        let mut seen = Seen::default();
        let piece = [b'x'; 40 * 1024];
        for expected in [false, true, true] {
            stream.take(&piece, &mut seen);
            assert_eq!((stream.is_in_long_line(), seen.1), (expected, expected));
        }
        stream.take(b"y\nz", &mut seen);
        assert!(!stream.is_in_long_line() && !seen.1 && stream.deadline().is_none());
        let line = format!("[1] {}y\n", "x".repeat(3 * piece.len()));
        assert!(seen.0 == line.as_bytes(), "{} bytes", seen.0.len());
        seen.0.clear();
        stream.take(&piece, &mut seen);
        stream.take(&piece, &mut seen);
        assert!(stream.deadline().is_some() && seen.1);
        stream.release(&mut seen);
        assert!(!seen.1 && seen.0.starts_with(b"[1] zx") && seen.0.ends_with(b"x\n"));
    }

    #[test]
    fn a_slow_reader_stops_nobody() {
        let (mut to, reader) = pipe_destination();
        to.write(&vec![b'x'; 3 << 20], false);
        assert!(to.is_full());
        drop(reader);
        to.flush();
        assert!(to.failure() == Some(JobFailure::OutputGone) && to.is_empty());
    }
}
