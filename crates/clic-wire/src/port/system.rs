//! Calls of the system that all sockets of a port share.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};

use super::ETHERTYPE;
use towpath_clic::frame::HEADER_BYTES;

/// Sets an option of a socket.
///
/// # Safety
/// The option must take a value of this type, and pointers in it must be valid.
pub(super) unsafe fn set<T>(socket: &OwnedFd, level: i32, option: i32, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: promised by the caller.
    let result =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, std::ptr::from_ref(value).cast(), length) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sets an option that is a number.
pub(super) fn set_number(socket: &OwnedFd, level: i32, option: i32, value: i32) -> io::Result<()> {
    // SAFETY: options of the network are numbers unless they say otherwise, and the kernel checks
    // the length.
    unsafe { set(socket, level, option, &value) }
}

/// The error that waits at a socket, which forgets it; 0 if there is none.
pub(super) fn take_error(socket: &OwnedFd) -> i32 {
    let mut error = 0i32;
    let mut length = size_of_val(&error) as libc::socklen_t;
    // SAFETY: the option fills a number in.
    unsafe {
        let value = (&raw mut error).cast();
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ERROR, value, &raw mut length)
    };
    error
}

/// Asks for a receive buffer of so many bytes; the system may grant less.
pub(super) fn widen(socket: &OwnedFd, bytes: i32) {
    if set_number(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, bytes).is_err() {
        let _ = set_number(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, bytes);
    }
}

/// The name of a destination as the system wants it, of whatever family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name {
    bytes: [u64; 4],
    length: u32,
}

impl Name {
    fn of<T>(name: T) -> Name {
        const { assert!(size_of::<T>() <= 32 && align_of::<T>() <= 8) };
        let mut bytes = [0; 4];
        // SAFETY: the name fits, and has no padding that matters.
        unsafe { bytes.as_mut_ptr().cast::<T>().write(name) };
        Name { bytes, length: size_of::<T>() as u32 }
    }

    /// Of an Ethernet address on an interface; `protocol` 0 is none.
    pub(super) fn packet(index: u32, hardware: [u8; 6], protocol: u16) -> Name {
        // SAFETY: a name of zeros is valid.
        let mut name: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        name.sll_family = libc::AF_PACKET as u16;
        name.sll_protocol = protocol.to_be();
        name.sll_ifindex = index as i32;
        name.sll_halen = 6;
        name.sll_addr[..6].copy_from_slice(&hardware);
        Name::of(name)
    }

    /// Of a UDP port.
    pub(super) fn internet(place: SocketAddr) -> Name {
        match place {
            SocketAddr::V4(place) => Name::of(libc::sockaddr_in {
                sin_family: libc::AF_INET as u16,
                sin_port: place.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(place.ip().octets()) },
                sin_zero: [0; 8],
            }),
            SocketAddr::V6(place) => Name::of(libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as u16,
                sin6_port: place.port().to_be(),
                sin6_flowinfo: 0,
                sin6_addr: libc::in6_addr { s6_addr: place.ip().octets() },
                sin6_scope_id: place.scope_id(),
            }),
        }
    }

    pub(super) fn pointer(&self) -> *const libc::sockaddr {
        self.bytes.as_ptr().cast()
    }

    pub(super) fn length(&self) -> u32 {
        self.length
    }

    /// A message header of the system for this destination.
    ///
    /// The rows and this name must outlive its use.
    pub(super) fn message(&self, rows: &mut [libc::iovec]) -> libc::msghdr {
        // SAFETY: a message header of zeros is empty.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_name = self.pointer().cast_mut().cast();
        message.msg_namelen = self.length;
        message.msg_iov = rows.as_mut_ptr();
        message.msg_iovlen = rows.len() as _;
        message
    }
}

/// Binds a packet socket to an interface, and to CLIC's ethertype if it is to receive.
pub(super) fn bind_packet(socket: &OwnedFd, index: u32, receives: bool) -> io::Result<()> {
    let name = Name::packet(index, [0; 6], if receives { ETHERTYPE } else { 0 });
    // SAFETY: the name is one of a packet socket.
    let result = unsafe { libc::bind(socket.as_raw_fd(), name.pointer(), name.length()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A packet socket that is bound to nothing yet, so that it receives nothing.
pub(super) fn packet_socket(sort: i32) -> io::Result<OwnedFd> {
    use std::os::fd::FromRawFd;
    let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: the call makes a descriptor that nobody else owns, or fails.
    unsafe {
        match libc::socket(libc::AF_PACKET, sort | flags, 0) {
            -1 => Err(io::Error::last_os_error()),
            socket => Ok(OwnedFd::from_raw_fd(socket)),
        }
    }
}

/// A row of bytes as the system wants it.
pub(super) fn row(pointer: *const u8, length: usize) -> libc::iovec {
    libc::iovec { iov_base: pointer.cast_mut().cast(), iov_len: length }
}

/// What became of frames that were to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// The interface has them.
    Taken,
    /// It takes nothing now.
    Full,
    /// It will never take them, or says that earlier ones came back.
    Error(i32),
}

impl Sent {
    pub(super) fn of(result: isize) -> Sent {
        if result >= 0 {
            return Sent::Taken;
        }
        match io::Error::last_os_error().raw_os_error().unwrap_or(0) {
            libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM | libc::EINTR => Sent::Full,
            error => Sent::Error(error),
        }
    }

    /// Whether a super-frame was refused because neither the kernel nor the interface cuts such.
    pub(super) fn is_refusal_to_cut(self) -> bool {
        matches!(self, Sent::Error(libc::EIO | libc::EINVAL | libc::EOPNOTSUPP | libc::ENOPROTOOPT))
    }
}

/// Whether an error says that nothing goes this way: the interface is down or gone, knows no way
/// there, or may not be used, or packets are too long for it.
pub(super) fn is_of_route(error: i32) -> bool {
    use libc::{EACCES, EADDRNOTAVAIL, EHOSTUNREACH, EMSGSIZE, ENETDOWN, ENETUNREACH, ENODEV, ENXIO, EPERM};
    [EACCES, EADDRNOTAVAIL, EHOSTUNREACH, EMSGSIZE, ENETDOWN, ENETUNREACH, ENODEV, ENXIO, EPERM].contains(&error)
}

/// Sends a header and a body as one packet.
///
/// # Safety
/// The body must be readable.
#[inline]
pub(super) unsafe fn send(
    socket: &OwnedFd,
    to: &Name,
    header: &[u8; HEADER_BYTES],
    body: *const u8,
    length: usize,
) -> Sent {
    let mut rows = [row(header.as_ptr(), HEADER_BYTES), row(body, length)];
    let message = to.message(&mut rows[..if length == 0 { 1 } else { 2 }]);
    // SAFETY: the message names rows that live, for whose content the caller vouches.
    Sent::of(unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) })
}
