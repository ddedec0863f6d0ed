//! System calls that all sockets of a port share.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};

use super::ETHERTYPE;
use towpath_clic::frame::{HEADER_BYTES, HeaderBytes};

/// Sets a socket option.
///
/// # Safety
/// The option must take a value of type `T`, and pointers in the value must be valid.
pub(super) unsafe fn set<T>(
    socket: &OwnedFd,
    level: i32,
    option: i32,
    value: &T,
) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: `option` takes a value of type `T` with valid pointers (this function's contract),
    // and `length` is its size.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            std::ptr::from_ref(value).cast(),
            length,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sets an integer socket option.
pub(super) fn set_number(socket: &OwnedFd, level: i32, option: i32, value: i32) -> io::Result<()> {
    // SAFETY: the value is a readable `i32` without pointers, and the kernel rejects options that
    // need more bytes.
    unsafe { set(socket, level, option, &value) }
}

/// Returns and clears the pending error of a socket; 0 if there is none.
pub(super) fn take_error(socket: &OwnedFd) -> i32 {
    let mut error = 0i32;
    let mut length = size_of_val(&error) as libc::socklen_t;
    // SAFETY: SO_ERROR fills in an integer, and writes at most `length` bytes.
    unsafe {
        let value = (&raw mut error).cast();
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ERROR,
            value,
            &raw mut length,
        )
    };
    error
}

/// Requests a receive buffer of this size; the system may grant less.
pub(super) fn widen(socket: &OwnedFd, bytes: i32) {
    if set_number(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, bytes).is_err() {
        let _ = set_number(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, bytes);
    }
}

/// A socket address of any family, in the system's representation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SocketName {
    bytes: [u64; 4],
    length: u32,
}

impl SocketName {
    fn of<T>(name: T) -> SocketName {
        const { assert!(size_of::<T>() <= 32 && align_of::<T>() <= 8) };
        let mut bytes = [0; 4];
        // SAFETY: the assertion checks that `T` fits and is aligned, and the socket addresses used
        // here have no padding.
        unsafe { bytes.as_mut_ptr().cast::<T>().write(name) };
        SocketName { bytes, length: size_of::<T>() as u32 }
    }

    /// The address of an Ethernet station on an interface; `protocol` 0 means none.
    pub(super) fn packet(index: u32, hardware: [u8; 6], protocol: u16) -> SocketName {
        // SAFETY: an all-zero `sockaddr_ll` is valid.
        let mut name: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        name.sll_family = libc::AF_PACKET as u16;
        name.sll_protocol = protocol.to_be();
        name.sll_ifindex = index as i32;
        name.sll_halen = 6;
        name.sll_addr[..6].copy_from_slice(&hardware);
        SocketName::of(name)
    }

    /// The address of a UDP port.
    pub(super) fn internet(place: SocketAddr) -> SocketName {
        match place {
            SocketAddr::V4(place) => SocketName::of(libc::sockaddr_in {
                sin_family: libc::AF_INET as u16,
                sin_port: place.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(place.ip().octets()) },
                sin_zero: [0; 8],
            }),
            SocketAddr::V6(place) => SocketName::of(libc::sockaddr_in6 {
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

    /// A message header for this destination. It contains pointers to `iovecs` and to this address,
    /// which must outlive its use.
    pub(super) fn message(&self, iovecs: &mut [libc::iovec]) -> libc::msghdr {
        // SAFETY: an all-zero `msghdr` is valid.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_name = self.pointer().cast_mut().cast();
        message.msg_namelen = self.length;
        message.msg_iov = iovecs.as_mut_ptr();
        message.msg_iovlen = iovecs.len() as _;
        message
    }
}

/// Binds a packet socket to an interface, and to CLIC's ethertype if it is to receive.
pub(super) fn bind_packet(socket: &OwnedFd, index: u32, receives: bool) -> io::Result<()> {
    let name = SocketName::packet(index, [0; 6], if receives { ETHERTYPE } else { 0 });
    // SAFETY: `name` contains a `sockaddr_ll` of the given length.
    let result = unsafe { libc::bind(socket.as_raw_fd(), name.pointer(), name.length()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Creates a packet socket that is not bound yet, so that it receives nothing.
pub(super) fn packet_socket(sort: i32) -> io::Result<OwnedFd> {
    use std::os::fd::FromRawFd;
    let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: `socket` has no memory arguments; a descriptor that it returns is new and owned by
    // this process alone.
    unsafe {
        match libc::socket(libc::AF_PACKET, sort | flags, 0) {
            -1 => Err(io::Error::last_os_error()),
            socket => Ok(OwnedFd::from_raw_fd(socket)),
        }
    }
}

/// An `iovec` for these bytes.
pub(super) fn iovec(pointer: *const u8, length: usize) -> libc::iovec {
    libc::iovec { iov_base: pointer.cast_mut().cast(), iov_len: length }
}

/// The outcome of sending frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SendOutcome {
    /// The interface has accepted them.
    Taken,
    /// The interface is full now.
    Full,
    /// The interface will never accept them, or an earlier frame caused the error.
    Error(i32),
}

impl SendOutcome {
    pub(super) fn of(result: isize) -> SendOutcome {
        if result >= 0 {
            return SendOutcome::Taken;
        }
        match io::Error::last_os_error().raw_os_error().unwrap_or(0) {
            libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM | libc::EINTR => SendOutcome::Full,
            error => SendOutcome::Error(error),
        }
    }

    /// True if a super-frame was rejected because neither the kernel nor the interface can segment
    /// it.
    pub(super) fn is_refusal_to_cut(self) -> bool {
        matches!(
            self,
            SendOutcome::Error(libc::EIO | libc::EINVAL | libc::EOPNOTSUPP | libc::ENOPROTOOPT)
        )
    }
}

/// True if the error concerns the whole route: the interface is down or gone, has no route to the
/// destination, or must not be used, or packets are too long for it.
pub(super) fn is_of_route(error: i32) -> bool {
    use libc::{
        EACCES, EADDRNOTAVAIL, EHOSTUNREACH, EMSGSIZE, ENETDOWN, ENETUNREACH, ENODEV, ENXIO, EPERM,
    };
    [EACCES, EADDRNOTAVAIL, EHOSTUNREACH, EMSGSIZE, ENETDOWN, ENETUNREACH, ENODEV, ENXIO, EPERM]
        .contains(&error)
}

/// Sends a header and a body as one packet.
///
/// # Safety
/// `body` must be readable for `length` bytes.
#[inline]
pub(super) unsafe fn send(
    socket: &OwnedFd,
    to: &SocketName,
    header: &HeaderBytes,
    body: *const u8,
    length: usize,
) -> SendOutcome {
    let mut iovecs = [iovec(header.as_ptr(), HEADER_BYTES), iovec(body, length)];
    let message = to.message(&mut iovecs[..if length == 0 { 1 } else { 2 }]);
    // SAFETY: `message` refers to `iovecs`, `to` and `header`, which outlive the call, and to
    // `body`, which is readable for `length` bytes (this function's contract).
    SendOutcome::of(unsafe {
        libc::sendmsg(
            socket.as_raw_fd(),
            &raw const message,
            libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL,
        )
    })
}
