//! The doorbell of a rank that sleeps on descriptors (sockets to other hosts), by which posters in
//! shared memory wake it.
//!
//! The bell is a datagram socket with an abstract name that the kernel chooses (autobind). Its
//! number is in the control page, and a poster sends one byte to it. Any process in the same
//! network namespace could do so, which only costs the rank a needless poll. If a byte cannot be
//! sent, the sleeper still polls again after [`LONGEST`].

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, bind,
    getsockname, recv, sendto, socket_with,
};
use towpath_base::control::ControlPage;
use towpath_base::sync::Ordering;

/// Longest sleep on descriptors, because their owner may have timers to serve.
const LONGEST: Duration = Duration::from_millis(100);
/// Rings consumed per wake-up: more than posters leave in the socket, and few enough that a
/// flooding process cannot trap the sleeper in the loop.
const RINGS: u32 = 64;
/// Marks the number of a bell as valid; 0 means that there is no bell.
const THERE: u32 = 1 << 31;

const FLAGS: SocketFlags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);

/// A bell, and the other descriptors on which its owner sleeps.
#[derive(Debug)]
pub struct Bell {
    socket: OwnedFd,
    descriptors: Vec<OwnedFd>,
    number: u32,
}

impl Bell {
    /// Creates a bell to be polled together with `descriptors`, which become readable when there is
    /// work.
    ///
    /// # Errors
    /// The system's error if it refuses a descriptor.
    pub fn beside(descriptors: &[BorrowedFd<'_>]) -> io::Result<Bell> {
        let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, FLAGS, None)?;
        bind(&socket, &SocketAddrUnix::new_unnamed())?;
        let name = SocketAddrUnix::try_from(getsockname(&socket)?)?;
        let digits = name.abstract_name().and_then(|name| std::str::from_utf8(name).ok());
        let number = digits.and_then(|digits| {
            u32::from_str_radix(digits, 16).ok().filter(|n| name_of(*n) == digits)
        });
        let number =
            number.ok_or_else(|| io::Error::other("the kernel names sockets in an unknown way"))?;
        let own = |descriptor: &BorrowedFd<'_>| Ok(rustix::io::fcntl_dupfd_cloexec(descriptor, 3)?);
        let descriptors = descriptors.iter().map(own).collect::<io::Result<_>>()?;
        Ok(Bell { socket, descriptors, number })
    }

    /// Publishes the bell to posters.
    pub(super) fn announce(&self, own: &ControlPage) {
        own.bell.store(self.number | THERE, Ordering::Release);
    }

    /// Sleeps until the bell rings, a descriptor is readable or [`LONGEST`] has passed.
    pub(super) fn sleep(&self) {
        let limit = Timespec { tv_sec: 0, tv_nsec: LONGEST.as_nanos() as i64 };
        // No epoll set: the kernel would update it for every packet, even while the rank is awake.
        let all = std::iter::once(&self.socket).chain(&self.descriptors);
        let mut sources: Vec<PollFd<'_>> =
            all.map(|source| PollFd::new(source, PollFlags::IN)).collect();
        match poll(&mut sources, Some(&limit)) {
            // It has not rung.
            Ok(_) if sources[0].revents().is_empty() => return,
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            // The system refuses to wait (a sandbox); do not let the caller's loop burn a core.
            Err(_) => std::thread::sleep(crate::futex::REFUSED),
        }
        for _ in 0..RINGS {
            if recv(&self.socket, &mut [0u8; 1], RecvFlags::DONTWAIT).is_err() {
                break;
            }
        }
    }
}

/// The abstract name that the kernel derives from a number.
fn name_of(number: u32) -> String {
    format!("{number:05x}")
}

/// Rings the bell of the owner of `page`.
pub(super) fn ring(page: &ControlPage) {
    /// Sends to all bells; it has no name and no state of its own.
    static SENDER: OnceLock<OwnedFd> = OnceLock::new();
    let number = page.bell.load(Ordering::Acquire);
    if number & THERE == 0 {
        return;
    }
    let name = name_of(number & !THERE);
    let new = || socket_with(AddressFamily::UNIX, SocketType::DGRAM, FLAGS, None);
    let send = |socket: &OwnedFd| {
        let address = SocketAddrUnix::new_abstract_name(name.as_bytes())?;
        sendto(socket, &[1], SendFlags::NOSIGNAL, &address)
    };
    let sender = match SENDER.get() {
        Some(sender) => Ok(sender),
        None => new().map(|socket| SENDER.get_or_init(|| socket)),
    };
    let sent = match sender.and_then(send) {
        // Bytes that other bells have not consumed fill the sender's buffer: a new one is empty.
        Err(rustix::io::Errno::AGAIN) => new().and_then(|socket| send(&socket)),
        sent => sent,
    };
    // A full bell has rung; after any other error the sleep soon times out.
    let _ = sent;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::time::Instant;

    #[test]
    fn bell_and_descriptor_end_a_sleep() {
        // SAFETY: an all-zero `ControlPage` is valid; it is a page without a bell.
        let page: Box<ControlPage> = unsafe { Box::new_zeroed().assume_init() };
        let (reader, writer) = std::io::pipe().unwrap();
        let bell = Bell::beside(&[reader.as_fd()]).unwrap();
        ring(&page);
        bell.announce(&page);
        let begin = Instant::now();
        for _ in 0..1000 {
            ring(&page);
            bell.sleep();
        }
        assert!(begin.elapsed() < LONGEST * 100, "sleeps ended by time alone");
        std::io::Write::write_all(&mut &writer, b"x").unwrap();
        bell.sleep();
        assert!(begin.elapsed() < LONGEST * 100);
    }
}
