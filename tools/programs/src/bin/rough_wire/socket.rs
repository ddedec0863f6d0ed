//! Packet sockets: receive all frames that arrive at a device, and send frames through it.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// Receive buffer size in bytes, if the system allows it.
const ROOM: libc::c_int = 64 << 20;

/// A packet socket of one device.
#[derive(Debug)]
pub(crate) struct Socket {
    socket: OwnedFd,
}

fn checked(result: libc::c_int, what: &str) -> Result<libc::c_int, String> {
    if result < 0 { Err(format!("{what}: {}", io::Error::last_os_error())) } else { Ok(result) }
}

impl Socket {
    /// Opens a socket that receives all frames that arrive at a device, whatever their destination.
    pub(crate) fn open(device: &str) -> Result<Socket, String> {
        let name =
            std::ffi::CString::new(device).map_err(|_| format!("{device:?} names no device"))?;
        // SAFETY: `name` is a NUL-terminated string.
        let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
        if index == 0 {
            return Err(format!("there is no device {device}"));
        }
        let everything = (libc::ETH_P_ALL as u16).to_be();
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: `socket` has no memory arguments; a descriptor that it returns is new and owned
        // by this process alone.
        let socket = unsafe {
            let descriptor = checked(libc::socket(libc::AF_PACKET, kind, 0), "no packet socket")?;
            Socket { socket: OwnedFd::from_raw_fd(descriptor) }
        };
        socket.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1i32)?;
        let member = libc::packet_mreq {
            mr_ifindex: index as i32,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        socket.set(libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &member)?;
        if socket.set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &ROOM).is_err() {
            socket.set(libc::SOL_SOCKET, libc::SO_RCVBUF, &ROOM)?;
        }
        // SAFETY: an all-zero `sockaddr_ll` is valid; its fields are set below.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        (address.sll_family, address.sll_protocol, address.sll_ifindex) =
            (libc::AF_PACKET as u16, everything, index as i32);
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: `address` is a `sockaddr_ll` of `length` bytes.
        let bound = unsafe { libc::bind(socket.raw(), (&raw const address).cast(), length) };
        checked(bound, &format!("{device} does not give its frames"))?;
        Ok(socket)
    }

    fn raw(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    fn set<T>(&self, level: libc::c_int, option: libc::c_int, value: &T) -> Result<(), String> {
        let length = size_of::<T>() as libc::socklen_t;
        // SAFETY: `value` is readable for `length` bytes, and the callers in this file pass no
        // pointers in it.
        let done = unsafe {
            libc::setsockopt(self.raw(), level, option, std::ptr::from_ref(value).cast(), length)
        };
        checked(done, &format!("socket option {option} is refused")).map(drop)
    }

    /// Receives the next pending frame; returns its length.
    pub(crate) fn take(&self, frame: &mut [u8]) -> Option<usize> {
        // SAFETY: `frame` is writable for its length.
        let taken = unsafe { libc::recv(self.raw(), frame.as_mut_ptr().cast(), frame.len(), 0) };
        usize::try_from(taken).ok()
    }

    /// Sends a frame; false if the system does not accept it.
    pub(crate) fn give(&self, frame: &[u8]) -> bool {
        // SAFETY: `frame` is readable for its length.
        let given = unsafe { libc::send(self.raw(), frame.as_ptr().cast(), frame.len(), 0) };
        given == frame.len() as isize
    }

    /// Number of frames dropped for lack of room since the last call.
    pub(crate) fn overflown(&self) -> u32 {
        let mut counts = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        let place = (&raw mut counts).cast();
        // SAFETY: `place` points to `counts`, which is writable for `length` bytes.
        unsafe {
            libc::getsockopt(
                self.raw(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                place,
                &raw mut length,
            )
        };
        counts.tp_drops
    }
}

/// Sleeps until a frame or input is pending, or the time is over. True if standard input has data
/// or has ended.
pub(crate) fn wait<'a>(
    sockets: impl Iterator<Item = &'a Socket>,
    most: Option<Duration>,
) -> Result<bool, String> {
    let watched = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut list: Vec<_> =
        std::iter::once(watched(0)).chain(sockets.map(|socket| watched(socket.raw()))).collect();
    let time = most.map(|most| libc::timespec {
        tv_sec: most.as_secs() as libc::time_t,
        tv_nsec: most.subsec_nanos().into(),
    });
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: `list` is writable for its length; `time` is null or points to a `timespec` that
    // outlives the call; the signal mask is null.
    let result = unsafe {
        libc::ppoll(list.as_mut_ptr(), list.len() as libc::nfds_t, time, std::ptr::null())
    };
    match result {
        -1 if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted => {
            checked(-1, "cannot wait").map(|_| true)
        }
        _ => Ok(list[0].revents != 0),
    }
}
