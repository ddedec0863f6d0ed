//! The system's sockets: opening them, and reading and writing straight from and into the memory of
//! the program.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, acceptfrom_with, bind, connect, listen, socket_with, sockopt,
};

/// Strangers that may be connected at the same time.
pub(super) const STRANGERS: usize = 64;
/// Connections that may wait to be accepted.
const BACKLOG: i32 = 4096;
/// How long the other end of a connection may leave everything unanswered until the connection
/// counts as broken.
pub(super) const TIMEOUT: Duration = Duration::from_secs(120);
/// A silent connection is asked whether its other end still lives after half of that, and so often
/// in the other half.
const QUESTIONS: u32 = 6;

/// What a read or write came to.
#[derive(Debug)]
pub(super) enum Moved {
    /// So many bytes.
    Some(usize),
    /// None: the socket is full, or empty.
    None,
    /// Nothing will come any more: the other end has closed.
    End,
    /// The connection is broken.
    Broken(io::Error),
}

impl Moved {
    fn of(result: isize) -> Moved {
        if result >= 0 {
            return Moved::Some(result as usize);
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Moved::None,
            _ => Moved::Broken(error),
        }
    }

    fn read(result: isize) -> Moved {
        if result == 0 { Moved::End } else { Moved::of(result) }
    }
}

/// A row of bytes as the system wants it.
pub(super) fn row(pointer: *const u8, length: usize) -> libc::iovec {
    libc::iovec { iov_base: pointer.cast_mut().cast(), iov_len: length }
}

/// Writes the rows one after the other, as far as the socket takes them.
///
/// # Safety
/// The rows must be readable.
pub(super) unsafe fn write(socket: &OwnedFd, rows: &mut [libc::iovec]) -> Moved {
    // SAFETY: a message header of zeros is empty; it names the rows, for whose memory the caller
    // vouches.
    let sent = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = rows.as_mut_ptr();
        message.msg_iovlen = rows.len() as _;
        libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT)
    };
    Moved::of(sent)
}

/// As [`write`], of bytes in private memory.
pub(super) fn write_bytes(socket: &OwnedFd, bytes: &[u8]) -> Moved {
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: the slice is readable.
    Moved::of(unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) })
}

/// Reads into the rows, one after the other.
///
/// # Safety
/// The rows must be writable.
pub(super) unsafe fn read(socket: &OwnedFd, rows: &[libc::iovec]) -> Moved {
    // SAFETY: the caller vouches for the rows.
    Moved::read(unsafe {
        match rows {
            [row] => libc::recv(socket.as_raw_fd(), row.iov_base, row.iov_len, libc::MSG_DONTWAIT),
            _ => libc::readv(socket.as_raw_fd(), rows.as_ptr(), rows.len() as i32),
        }
    })
}

/// As [`read`], into private memory.
pub(super) fn read_bytes(socket: &OwnedFd, bytes: &mut [u8]) -> Moved {
    // SAFETY: the slice is writable.
    unsafe { read(socket, &[row(bytes.as_ptr(), bytes.len())]) }
}

/// Sets what a connection between two ranks wants. Whatever the system refuses only costs speed.
fn prepare(socket: &OwnedFd) {
    let _ = sockopt::set_tcp_nodelay(socket, true);
    // The default of some systems (bbr) paces messages on fast links at a third of what they carry.
    let _ = sockopt::set_tcp_congestion(socket, "cubic");
    set_timeout(socket, TIMEOUT);
}

/// Sets how long the other end may leave what is sent to it, or the question whether it lives,
/// unanswered: whole seconds, at least one.
pub(super) fn set_timeout(socket: &OwnedFd, timeout: Duration) {
    let question = (timeout / (2 * QUESTIONS)).max(Duration::from_secs(1));
    // Refused, a loss is noticed later.
    let _ = sockopt::set_tcp_user_timeout(socket, u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX));
    let _ = sockopt::set_socket_keepalive(socket, true);
    let _ = sockopt::set_tcp_keepidle(socket, (timeout / 2).max(Duration::from_secs(1)));
    let _ = sockopt::set_tcp_keepintvl(socket, question);
    let _ = sockopt::set_tcp_keepcnt(socket, QUESTIONS);
}

const FLAGS: SocketFlags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);

/// A socket on which other processes can connect, on a port that the system chooses.
pub(super) fn listener() -> io::Result<(OwnedFd, u16)> {
    listener_on(Ipv6Addr::UNSPECIFIED.into()).or_else(|_| listener_on(Ipv4Addr::UNSPECIFIED.into()))
}

fn listener_on(address: IpAddr) -> io::Result<(OwnedFd, u16)> {
    let any = SocketAddr::new(address, 0);
    let family = if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let socket = socket_with(family, SocketType::STREAM, FLAGS, None)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, false)?;
    }
    prepare(&socket);
    bind(&socket, &any)?;
    listen(&socket, BACKLOG)?;
    let bound = SocketAddr::try_from(rustix::net::getsockname(&socket)?)?;
    Ok((socket, bound.port()))
}

/// A connection, and the address at its other end.
pub(super) type Accepted = (OwnedFd, Option<IpAddr>);

/// The next connection that waits; `None` when none does.
///
/// # Errors
/// The system has no room for the one that waits: the limit of open files is reached, or memory is
/// short.
pub(super) fn accept(listener: &OwnedFd) -> io::Result<Option<Accepted>> {
    let (socket, address) = match acceptfrom_with(listener, FLAGS) {
        Ok(accepted) => accepted,
        Err(error @ (Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM)) => return Err(error.into()),
        // None, or one that has gone again.
        Err(_) => return Ok(None),
    };
    prepare(&socket);
    let address = address.and_then(|address| SocketAddr::try_from(address).ok()).map(|address| address.ip());
    Ok(Some((socket, address)))
}

/// Begins to connect.
pub(super) fn begin(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let socket = socket_with(family, SocketType::STREAM, FLAGS, None)?;
    prepare(&socket);
    match connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => Ok(socket),
        Err(error) => Err(error.into()),
    }
}

/// Ends a connection, whoever else holds the socket. What was written still goes out.
pub(super) fn shut(socket: &OwnedFd) {
    // It may have ended already.
    let _ = rustix::net::shutdown(socket, rustix::net::Shutdown::Both);
}

/// Whether a connection that was begun is there: `None` while that is open.
pub(super) fn connected(socket: &OwnedFd) -> Option<io::Result<()>> {
    match sockopt::socket_error(socket) {
        Ok(Ok(())) if rustix::net::getpeername(socket).is_ok_and(|peer| peer.is_some()) => Some(Ok(())),
        Ok(Ok(())) => None,
        Ok(Err(error)) | Err(error) => Some(Err(error.into())),
    }
}

/// Files that connections to so many peers take at most: twice as many, because a connection may be
/// opened from both sides for a moment, and strangers.
fn files_for(peers: usize) -> u64 {
    2 * peers as u64 + STRANGERS as u64
}

/// Why the system refuses a socket for one of so many peers, for a person.
pub(super) fn refusal(error: &io::Error, peers: usize) -> String {
    use rustix::process::{Resource, getrlimit};
    match (error.raw_os_error(), getrlimit(Resource::Nofile).current) {
        (Some(libc::EMFILE), Some(limit)) => format!(
            "this process may have {limit} files open (RLIMIT_NOFILE, ulimit -n) and has them; connections to {peers} \
             rank(s) of other hosts can take {} beside those of the program",
            files_for(peers)
        ),
        _ => error.to_string(),
    }
}

/// Lets this process open the files for connections to so many peers more than it may now, where
/// the system allows it.
pub(super) fn raise_limit(peers: usize) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let Some(current) = limit.current else { return };
    let wanted = files_for(peers).saturating_add(current);
    let raised = limit.maximum.map_or(wanted, |most| wanted.min(most));
    if raised > current {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum: limit.maximum });
    }
}

/// A random number that nobody can guess.
pub(super) fn nonce() -> io::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    let mut have = 0;
    while have < bytes.len() {
        // SAFETY: so many bytes are left.
        let got = unsafe { libc::getrandom(bytes[have..].as_mut_ptr().cast(), bytes.len() - have, 0) };
        match usize::try_from(got) {
            Ok(got) => have += got,
            Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Err(io::Error::last_os_error()),
        }
    }
    Ok(bytes)
}
