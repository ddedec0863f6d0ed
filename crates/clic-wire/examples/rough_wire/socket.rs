//! Packet sockets: all frames that arrive at a device, and frames that leave by it.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// Bytes of frames that may wait, where the system allows it.
const ROOM: libc::c_int = 64 << 20;

/// One device's frames.
#[derive(Debug)]
pub(crate) struct Socket {
    socket: OwnedFd,
}

fn checked(result: libc::c_int, what: &str) -> Result<libc::c_int, String> {
    if result < 0 { Err(format!("{what}: {}", io::Error::last_os_error())) } else { Ok(result) }
}

impl Socket {
    /// Takes all frames that arrive at a device, for whomever they are.
    pub(crate) fn open(device: &str) -> Result<Socket, String> {
        let name = std::ffi::CString::new(device).map_err(|_| format!("{device:?} names no device"))?;
        // SAFETY: the name ends with a zero.
        let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
        if index == 0 {
            return Err(format!("there is no device {device}"));
        }
        let everything = (libc::ETH_P_ALL as u16).to_be();
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: only numbers are handed over, and what comes back is a descriptor of nobody else.
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
        // SAFETY: an address of zeros is one; its fields are set below.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        (address.sll_family, address.sll_protocol, address.sll_ifindex) =
            (libc::AF_PACKET as u16, everything, index as i32);
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the address is as long as is said.
        let bound = unsafe { libc::bind(socket.raw(), (&raw const address).cast(), length) };
        checked(bound, &format!("{device} does not give its frames"))?;
        Ok(socket)
    }

    fn raw(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    fn set<T>(&self, level: libc::c_int, option: libc::c_int, value: &T) -> Result<(), String> {
        let length = size_of::<T>() as libc::socklen_t;
        // SAFETY: the value is as long as is said.
        let done = unsafe { libc::setsockopt(self.raw(), level, option, std::ptr::from_ref(value).cast(), length) };
        checked(done, &format!("socket option {option} is refused")).map(drop)
    }

    /// The next frame that waits: its length.
    pub(crate) fn take(&self, frame: &mut [u8]) -> Option<usize> {
        // SAFETY: the slice is writable.
        let taken = unsafe { libc::recv(self.raw(), frame.as_mut_ptr().cast(), frame.len(), 0) };
        usize::try_from(taken).ok()
    }

    /// Sends a frame; false where the system does not take it.
    pub(crate) fn give(&self, frame: &[u8]) -> bool {
        // SAFETY: the slice is readable.
        let given = unsafe { libc::send(self.raw(), frame.as_ptr().cast(), frame.len(), 0) };
        given == frame.len() as isize
    }

    /// Frames that came while there was no room, since this was asked last.
    pub(crate) fn overflown(&self) -> u32 {
        let mut counts = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        let place = (&raw mut counts).cast();
        // SAFETY: the place is as long as is said.
        unsafe { libc::getsockopt(self.raw(), libc::SOL_PACKET, libc::PACKET_STATISTICS, place, &raw mut length) };
        counts.tp_drops
    }
}

/// Sleeps until frames or input wait, or the time is over. True when the input has ended or says
/// anything.
pub(crate) fn wait<'a>(sockets: impl Iterator<Item = &'a Socket>, most: Option<Duration>) -> Result<bool, String> {
    let watched = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut list: Vec<_> = std::iter::once(watched(0)).chain(sockets.map(|socket| watched(socket.raw()))).collect();
    let time =
        most.map(|most| libc::timespec { tv_sec: most.as_secs() as libc::time_t, tv_nsec: most.subsec_nanos().into() });
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the list is as long as is said; the time is there or null; signals stay as they are.
    let result = unsafe { libc::ppoll(list.as_mut_ptr(), list.len() as libc::nfds_t, time, std::ptr::null()) };
    match result {
        -1 if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted => {
            checked(-1, "cannot wait").map(|_| true)
        }
        _ => Ok(list[0].revents != 0),
    }
}
