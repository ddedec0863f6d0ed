//! Sockets: opening them, and reading and writing directly between them and user memory.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, acceptfrom_with, bind, connect, listen, socket_with,
    sockopt,
};

/// Unauthenticated connections that may be open at the same time.
pub(super) const MAX_PENDING: usize = 64;
/// Length of the accept backlog.
const BACKLOG: i32 = 4096;
/// How long the peer's host may leave sent data unacknowledged before the connection counts as
/// broken.
pub(super) const TIMEOUT: Duration = Duration::from_secs(120);
/// Keepalive probes: an idle connection is probed after half of the timeout, this many times during
/// the other half.
const QUESTIONS: u32 = 6;

/// The result of a read or write.
#[derive(Debug)]
pub(super) enum Moved {
    /// The number of bytes moved.
    Some(usize),
    /// Nothing moved: the socket is full, or empty.
    None,
    /// End of stream: the other end has closed.
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

/// An `iovec` for a buffer.
pub(super) fn iovec(pointer: *const u8, length: usize) -> libc::iovec {
    libc::iovec { iov_base: pointer.cast_mut().cast(), iov_len: length }
}

/// Writes the buffers one after the other, as far as the socket accepts them.
///
/// # Safety
/// Each buffer must be readable for its length.
pub(super) unsafe fn write(socket: &OwnedFd, iovecs: &mut [libc::iovec]) -> Moved {
    // SAFETY: an all-zero `msghdr` is valid and empty. `iovecs` outlives the call, and its buffers
    // are readable (this function's contract).
    let sent = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = iovecs.as_mut_ptr();
        message.msg_iovlen = iovecs.len() as _;
        libc::sendmsg(
            socket.as_raw_fd(),
            &raw const message,
            libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT,
        )
    };
    Moved::of(sent)
}

/// Like [`write()`], for a slice.
pub(super) fn write_bytes(socket: &OwnedFd, bytes: &[u8]) -> Moved {
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: `bytes` is readable for its length.
    Moved::of(unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) })
}

/// Reads into the buffers, one after the other.
///
/// # Safety
/// Each buffer must be writable for its length.
pub(super) unsafe fn read(socket: &OwnedFd, iovecs: &[libc::iovec]) -> Moved {
    // SAFETY: the buffers are writable (this function's contract), and `iovecs` outlives the call.
    Moved::read(unsafe {
        match iovecs {
            [vector] => {
                libc::recv(socket.as_raw_fd(), vector.iov_base, vector.iov_len, libc::MSG_DONTWAIT)
            }
            _ => libc::readv(socket.as_raw_fd(), iovecs.as_ptr(), iovecs.len() as i32),
        }
    })
}

/// Like [`read()`], into a slice.
pub(super) fn read_bytes(socket: &OwnedFd, bytes: &mut [u8]) -> Moved {
    // SAFETY: `bytes` is writable for its length and borrowed exclusively.
    unsafe { read(socket, &[iovec(bytes.as_ptr(), bytes.len())]) }
}

/// Sets the options of a connection between two ranks. Options that the system refuses only cost
/// speed.
fn prepare(socket: &OwnedFd) {
    let _ = sockopt::set_tcp_nodelay(socket, true);
    // The default of some systems (bbr) paces messages on fast links to a third of their bandwidth.
    let _ = sockopt::set_tcp_congestion(socket, "cubic");
    set_timeout(socket, TIMEOUT);
}

/// Sets how long the peer's host may leave sent data or keepalive probes unacknowledged; in whole
/// seconds, at least one.
pub(super) fn set_timeout(socket: &OwnedFd, timeout: Duration) {
    let question = (timeout / (2 * QUESTIONS)).max(Duration::from_secs(1));
    // If these are refused, a loss is detected later.
    let _ = sockopt::set_tcp_user_timeout(
        socket,
        u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX),
    );
    let _ = sockopt::set_socket_keepalive(socket, true);
    let _ = sockopt::set_tcp_keepidle(socket, (timeout / 2).max(Duration::from_secs(1)));
    let _ = sockopt::set_tcp_keepintvl(socket, question);
    let _ = sockopt::set_tcp_keepcnt(socket, QUESTIONS);
}

const FLAGS: SocketFlags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);

/// A listening socket on a port that the system chooses, and the port.
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

/// A connection and the address of its other end.
pub(super) type Accepted = (OwnedFd, Option<IpAddr>);

/// Accepts the next connection in the backlog; `None` if there is none.
///
/// # Errors
/// The system has no resources for the next one: the limit of open files is reached, or memory is
/// short.
pub(super) fn accept(listener: &OwnedFd) -> io::Result<Option<Accepted>> {
    let (socket, address) = match acceptfrom_with(listener, FLAGS) {
        Ok(accepted) => accepted,
        Err(error @ (Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM)) => {
            return Err(error.into());
        }
        // The backlog is empty, or the connection is gone again.
        Err(_) => return Ok(None),
    };
    prepare(&socket);
    let address =
        address.and_then(|address| SocketAddr::try_from(address).ok()).map(|address| address.ip());
    Ok(Some((socket, address)))
}

/// Starts a non-blocking connect.
pub(super) fn begin(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let socket = socket_with(family, SocketType::STREAM, FLAGS, None)?;
    prepare(&socket);
    match connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => Ok(socket),
        Err(error) => Err(error.into()),
    }
}

/// Shuts a connection down, even if a forked process holds a copy of the socket. Data that was
/// written is still sent.
pub(super) fn shut(socket: &OwnedFd) {
    // The connection may already be closed.
    let _ = rustix::net::shutdown(socket, rustix::net::Shutdown::Both);
}

/// The result of a non-blocking connect; `None` while it is in progress.
pub(super) fn connected(socket: &OwnedFd) -> Option<io::Result<()>> {
    match sockopt::socket_error(socket) {
        Ok(Ok(())) if rustix::net::getpeername(socket).is_ok_and(|peer| peer.is_some()) => {
            Some(Ok(()))
        }
        Ok(Ok(())) => None,
        Ok(Err(error)) | Err(error) => Some(Err(error.into())),
    }
}

/// Maximum number of files that connections to `peers` peers use: two per peer, because both sides
/// may open a connection at the same time, and the pending connections.
fn files_for(peers: usize) -> u64 {
    2 * peers as u64 + MAX_PENDING as u64
}

/// Explains to the user why the system refuses a socket for one of `peers` peers.
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

/// Raises the limit of open files by what connections to `peers` peers need, as far as the hard
/// limit permits.
pub(super) fn raise_limit(peers: usize) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let Some(current) = limit.current else { return };
    let wanted = files_for(peers).saturating_add(current);
    let raised = limit.maximum.map_or(wanted, |most| wanted.min(most));
    if raised > current {
        let _ =
            setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum: limit.maximum });
    }
}

/// A nonce from the system's random generator.
pub(super) fn nonce() -> io::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    let mut have = 0;
    while have < bytes.len() {
        // SAFETY: `bytes[have..]` is writable for `bytes.len() - have` bytes.
        let got =
            unsafe { libc::getrandom(bytes[have..].as_mut_ptr().cast(), bytes.len() - have, 0) };
        match usize::try_from(got) {
            Ok(got) => have += got,
            Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Err(io::Error::last_os_error()),
        }
    }
    Ok(bytes)
}
