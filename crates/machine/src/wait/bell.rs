//! The door-bell of a rank that sleeps on descriptors (sockets of other hosts): how posters in
//! shared memory wake it.
//!
//! A socket with a name that the kernel chooses, in no file system; its number stands in the
//! control page, and whoever posts sends a byte there. Anybody in the same network namespace could:
//! then the rank looks once for nothing. Where a byte cannot be sent the sleeper still looks again
//! after [`LONGEST`].

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, bind, getsockname, recv, sendto,
    socket_with,
};
use towpath_base::control::ControlPage;
use towpath_base::sync::Ordering;

/// The longest sleep on descriptors: their owner may have something to do that depends on time.
const LONGEST: Duration = Duration::from_millis(100);
/// Rings that are taken at a time: more than posters leave there, and few enough that nobody can
/// keep the sleeper there.
const RINGS: u32 = 64;
/// Marks the number of a bell: 0 is none.
const THERE: u32 = 1 << 31;

const FLAGS: SocketFlags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);

/// A bell, and the descriptors beside it on which its owner sleeps.
#[derive(Debug)]
pub struct Bell {
    socket: OwnedFd,
    descriptors: Vec<OwnedFd>,
    number: u32,
}

impl Bell {
    /// A bell beside descriptors that become readable when there is something to do.
    ///
    /// # Errors
    /// What the system says when it refuses a descriptor.
    pub fn beside(descriptors: &[BorrowedFd<'_>]) -> io::Result<Bell> {
        let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, FLAGS, None)?;
        bind(&socket, &SocketAddrUnix::new_unnamed())?;
        let name = SocketAddrUnix::try_from(getsockname(&socket)?)?;
        let digits = name.abstract_name().and_then(|name| std::str::from_utf8(name).ok());
        let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok().filter(|n| name_of(*n) == digits));
        let number = number.ok_or_else(|| io::Error::other("the kernel names sockets in an unknown way"))?;
        let own = |descriptor: &BorrowedFd<'_>| Ok(rustix::io::fcntl_dupfd_cloexec(descriptor, 3)?);
        let descriptors = descriptors.iter().map(own).collect::<io::Result<_>>()?;
        Ok(Bell { socket, descriptors, number })
    }

    /// Tells posters of the bell.
    pub(super) fn announce(&self, own: &ControlPage) {
        own.bell.store(self.number | THERE, Ordering::Release);
    }

    /// Sleeps until the bell has rung, a descriptor is readable or some time is over.
    pub(super) fn sleep(&self) {
        let limit = Timespec { tv_sec: 0, tv_nsec: LONGEST.as_nanos() as i64 };
        // Not an epoll of both: that would be told of every packet that comes while nobody sleeps.
        let all = std::iter::once(&self.socket).chain(&self.descriptors);
        let mut sources: Vec<PollFd<'_>> = all.map(|source| PollFd::new(source, PollFlags::IN)).collect();
        match poll(&mut sources, Some(&limit)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            // The system refuses to wait (a sandbox): the caller's loop must not burn a core
            // instead.
            Err(_) => std::thread::sleep(crate::futex::REFUSED),
        }
        for _ in 0..RINGS {
            if recv(&self.socket, &mut [0u8; 1], RecvFlags::DONTWAIT).is_err() {
                break;
            }
        }
    }
}

/// The name that the kernel makes of a number.
fn name_of(number: u32) -> String {
    format!("{number:05x}")
}

/// Rings the bell of the owner of `page`.
pub(super) fn ring(page: &ControlPage) {
    let number = page.bell.load(Ordering::Acquire);
    if number & THERE == 0 {
        return;
    }
    let name = name_of(number & !THERE);
    let sent = socket_with(AddressFamily::UNIX, SocketType::DGRAM, FLAGS, None).and_then(|socket| {
        sendto(&socket, &[1], SendFlags::NOSIGNAL, &SocketAddrUnix::new_abstract_name(name.as_bytes())?)
    });
    // A full socket has rung already; in any other case the sleeper's time ends soon.
    let _ = sent;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::time::Instant;

    #[test]
    fn bell_and_descriptor_end_a_sleep() {
        // SAFETY: a page of zeros is a page without bell; it lives until the end of the test.
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
