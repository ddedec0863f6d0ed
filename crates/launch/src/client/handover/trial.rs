//! Tests with a child process what the ranks of a host may do to each other: open a segment that
//! another rank has created, and read another rank's memory. The child stands for the other rank:
//! it runs as the same user and is not the parent's tracer.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use towpath_machine::memory::read_process;

use super::{Reached, offer, reach, serve_one};
use crate::child;
use crate::error::Error;
use crate::segment;

/// How long the child may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// What the child must read from its parent's memory.
const WORD: [u8; 8] = *b"readable";

/// Result of the test.
#[derive(Debug)]
pub struct Trial {
    /// How the child opened the segment; `None` if it could open it neither through /proc nor over
    /// a socket.
    pub reached: Option<Reached>,
    /// Whether the child could read its parent's memory; the kernel's error if not.
    pub read: Result<(), io::Error>,
}

/// Creates a segment and lets a child process open it as ranks under a foreign launcher would. The
/// calling process must have a single thread, because the child allocates memory after `fork`.
///
/// # Errors
/// [`Error::Segment`] if the segment cannot be created, the child cannot be started, or the child
/// does not answer.
pub fn try_handover() -> Result<Trial, Error> {
    let failed = |what: &str, error: io::Error| Error::Segment {
        action: "handed to another process",
        detail: format!("{what} ({error})"),
    };
    let nonce = segment::new_nonce();
    let own = segment::make(nonce, 1)?;
    let listener = offer(nonce).ok();
    let (answers, answer) =
        pipe_with(PipeFlags::CLOEXEC).map_err(|error| failed("no pipe", error.into()))?;
    let (parent, number, word) = (std::process::id(), segment::number_of(&own), Box::new(WORD));
    // SAFETY: this process has a single thread (see above), so no lock is held at the `fork` and
    // the child may allocate. It leaves by `_exit` without unwinding.
    match unsafe { libc::fork() } {
        0 => {
            let _ = rustix::io::write(&answer, &child(parent, number, nonce, word.as_ptr() as u64));
            // SAFETY: `_exit` is always sound; it runs no destructor and no exit handler of the
            // parent.
            unsafe { libc::_exit(0) }
        }
        pid if pid > 0 => {
            drop(answer);
            let text = hear(&answers, listener.as_ref(), &own);
            child::end(pid);
            text.and_then(|text| parse(text).ok_or_else(|| io::ErrorKind::UnexpectedEof.into()))
                .map_err(|error| failed("the child process that tried it did not answer", error))
        }
        _ => Err(failed("no child process can be started", io::Error::last_os_error())),
    }
}

/// Runs both tests in the child. Returns how the segment was opened and the errno of the read.
fn child(parent: u32, number: i32, nonce: u64, address: u64) -> [u8; 5] {
    let reached = match reach(parent, number, nonce) {
        Some((_, Reached::Proc)) => 1,
        Some((_, Reached::Socket)) => 2,
        None => 3,
    };
    let mut word = [0; WORD.len()];
    let read = match read_process(parent, address, &mut word) {
        Ok(()) if word == WORD => 0,
        Ok(()) => libc::EIO,
        Err(error) => error.raw_os_error().unwrap_or(libc::EIO),
    };
    let [a, b, c, d] = read.to_ne_bytes();
    [reached, a, b, c, d]
}

fn parse([reached, number @ ..]: [u8; 5]) -> Option<Trial> {
    let reached = match reached {
        1 => Some(Reached::Proc),
        2 => Some(Reached::Socket),
        3 => None,
        _ => return None,
    };
    let read = match i32::from_ne_bytes(number) {
        0 => Ok(()),
        number => Err(io::Error::from_raw_os_error(number)),
    };
    Some(Trial { reached, read })
}

/// Serves the segment until the child has answered or closed its end of the pipe.
fn hear(answers: &OwnedFd, listener: Option<&OwnedFd>, own: &OwnedFd) -> io::Result<[u8; 5]> {
    let end = Instant::now() + PATIENCE;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let limit =
            Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        let sources = [Some(answers), listener].into_iter().flatten();
        let mut sources: Vec<PollFd<'_>> =
            sources.map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        match poll(&mut sources, Some(&limit)) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready: Vec<bool> = sources.iter().map(|source| !source.revents().is_empty()).collect();
        if ready[0] {
            let mut text = [0; 5];
            return match rustix::io::read(answers, &mut text)? {
                5 => Ok(text),
                _ => Err(io::ErrorKind::UnexpectedEof.into()),
            };
        }
        if let Some(listener) = listener.filter(|_| ready[1]) {
            let _ = serve_one(listener, own);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_back() {
        let [a, b, c, d] = libc::EPERM.to_ne_bytes();
        let trial = parse([2, a, b, c, d]).unwrap();
        assert_eq!(trial.reached, Some(Reached::Socket));
        assert_eq!(trial.read.unwrap_err().raw_os_error(), Some(libc::EPERM));
        assert!(parse([3, 0, 0, 0, 0]).unwrap().reached.is_none());
        assert!(parse([0; 5]).is_none());
    }
}
