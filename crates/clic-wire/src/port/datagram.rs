//! The UDP side, which needs no privileges: one socket for small frames and one for bulk.
//!
//! Bulk is sent as super-frames (UDP_SEGMENT), which the interface or the kernel segments into
//! datagrams with a CLIC header each, and is received as such (UDP_GRO).
//!
//! A third socket, opened on first use, sends frames that have become too long for the interface:
//! IP fragments them.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};

use super::bulk::{Arrivals, LONGEST_SUPER, ScatterReceiver};
use super::group::{self, Members};
use super::segmentation::{SEGMENTS, UDP_GRO, UDP_SEGMENT, super_frame};
use super::system::{SendOutcome, SocketName, iovec, send, set_number, take_error, widen};
use super::{Counters, GroupAddress, OutgoingFrame};
use towpath_clic::credit::CEILING;
use towpath_clic::frame::{HEADER_BYTES, HeaderBytes};

/// Receive buffer sizes in bytes; for bulk, everything that a process may have requested at a time.
const SMALL_BUFFER: i32 = 1 << 20;
const BULK_BUFFER: i32 = CEILING as i32;
/// Maximum number of error reports that are cleared in one call.
const REPORTS: usize = 64;

/// The sending half.
#[derive(Debug)]
pub(super) struct DatagramOutput {
    small: Arc<OwnedFd>,
    bulk: Arc<OwnedFd>,
    /// The socket that sends with IP fragmentation, and its source address.
    fragments: Option<OwnedFd>,
    address: IpAddr,
    iovecs: Vec<libc::iovec>,
    /// True while the interface or the kernel segments super-frames.
    cuts: bool,
}

/// The receiving half.
#[derive(Debug)]
pub(super) struct DatagramInput {
    small: Arc<OwnedFd>,
    bulk: Arc<OwnedFd>,
    groups: Option<Members>,
    ports: [u16; 2],
    buffer: Vec<u8>,
    scatter: Option<ScatterReceiver>,
}

// SAFETY: the raw pointers in `iovecs` are used only during the `send_bulk` call that stores them;
// afterwards they are stale and never dereferenced.
unsafe impl Send for DatagramOutput {}

/// Room for a control message with one integer.
#[repr(C, align(8))]
struct ControlBuffer([u8; 64]);

/// Opens the sockets on an address, on ports that the system chooses.
pub(super) fn open(address: IpAddr, index: u32) -> io::Result<(DatagramOutput, DatagramInput)> {
    let (small, port) = bound(address, libc::IP_PMTUDISC_PROBE)?;
    let (bulk, bulk_port) = bound(address, libc::IP_PMTUDISC_PROBE)?;
    widen(&small, SMALL_BUFFER);
    widen(&bulk, BULK_BUFFER);
    for socket in [&small, &bulk] {
        // A kernel without UDP_GRO delivers datagrams one by one.
        let _ = set_number(socket, libc::SOL_UDP, UDP_GRO, 1);
    }
    if address.is_ipv4() {
        // If this fails, frames to groups are lost and repaired by unicast.
        let _ = group::prepare(&small, index).and_then(|()| group::prepare(&bulk, index));
    }
    let (small, bulk) = (Arc::new(small), Arc::new(bulk));
    let iovecs = Vec::with_capacity(2 * SEGMENTS);
    let (to_small, to_bulk) = (Arc::clone(&small), Arc::clone(&bulk));
    let outgoing = DatagramOutput {
        small: to_small,
        bulk: to_bulk,
        fragments: None,
        address,
        iovecs,
        cuts: true,
    };
    let buffer = vec![0; LONGEST_SUPER];
    Ok((
        outgoing,
        DatagramInput {
            small,
            bulk,
            groups: None,
            ports: [port, bulk_port],
            buffer,
            scatter: None,
        },
    ))
}

impl DatagramOutput {
    /// Sends one small frame.
    ///
    /// # Safety
    /// `body` must be readable for `length` bytes.
    #[inline]
    pub(super) unsafe fn send(
        &self,
        to: &SocketName,
        header: &HeaderBytes,
        body: *const u8,
        length: usize,
    ) -> SendOutcome {
        // SAFETY: `body` is readable for `length` bytes (this function's contract).
        match unsafe { send(&self.small, to, header, body, length) } {
            SendOutcome::Error(error) if clear(&self.small, error) => {
                // The error was about an earlier datagram.
                // SAFETY: `body` is readable for `length` bytes (this function's contract).
                unsafe { send(&self.small, to, header, body, length) }
            }
            sent => sent,
        }
    }

    /// A socket of the network namespace in which the port was opened.
    pub(super) fn socket(&self) -> &OwnedFd {
        &self.small
    }

    /// Sends a frame that is too long for the interface.
    ///
    /// # Safety
    /// The body must be readable for its length.
    #[cold]
    pub(super) unsafe fn send_in_fragments(
        &mut self,
        to: &SocketName,
        frame: &OutgoingFrame,
    ) -> SendOutcome {
        if self.fragments.is_none() {
            match bound(self.address, libc::IP_PMTUDISC_OMIT) {
                Ok((socket, _)) => self.fragments = Some(socket),
                Err(error) => return SendOutcome::Error(error.raw_os_error().unwrap_or(0)),
            }
        }
        let Some(socket) = &self.fragments else { return SendOutcome::Full };
        let send_it = || {
            // SAFETY: the body of `frame` is readable for its length (this function's contract).
            unsafe { send(socket, to, &frame.header, frame.body, frame.length) }
        };
        match send_it() {
            SendOutcome::Error(error) if clear(socket, error) => send_it(),
            sent => sent,
        }
    }

    /// Sends one super-frame. Returns how many of the frames it contains, and the outcome.
    ///
    /// # Safety
    /// The bodies must be readable for their lengths.
    pub(super) unsafe fn send_bulk(
        &mut self,
        to: &SocketName,
        frames: &[OutgoingFrame],
    ) -> (usize, SendOutcome) {
        let count = if self.cuts { super_frame(frames) } else { 1 };
        self.iovecs.clear();
        for frame in &frames[..count] {
            self.iovecs.extend([
                iovec(frame.header.as_ptr(), HEADER_BYTES),
                iovec(frame.body, frame.length),
            ]);
        }
        let mut control = ControlBuffer([0; 64]);
        let mut message = to.message(&mut self.iovecs);
        if count > 1 {
            let segment = (HEADER_BYTES + frames[0].length) as u16;
            message.msg_control = control.0.as_mut_ptr().cast();
            // SAFETY: `control` is larger than a control message with a `u16`, and aligned for
            // `cmsghdr`, so `CMSG_FIRSTHDR` returns a pointer into it.
            unsafe {
                message.msg_controllen = libc::CMSG_SPACE(size_of::<u16>() as u32) as _;
                let head = libc::CMSG_FIRSTHDR(&raw const message);
                (*head).cmsg_level = libc::SOL_UDP;
                (*head).cmsg_type = UDP_SEGMENT;
                (*head).cmsg_len = libc::CMSG_LEN(size_of::<u16>() as u32) as _;
                libc::CMSG_DATA(head).cast::<u16>().write_unaligned(segment);
            }
        }
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        let send = || {
            // SAFETY: `message` refers to `to`, `iovecs` and `control`, which outlive the call; the
            // bodies are readable (this function's contract).
            SendOutcome::of(unsafe {
                libc::sendmsg(self.bulk.as_raw_fd(), &raw const message, flags)
            })
        };
        let sent = match send() {
            SendOutcome::Error(error) if clear(&self.bulk, error) => send(),
            sent => sent,
        };
        if count > 1 && sent.is_refusal_to_cut() {
            // Neither the kernel nor the interface can segment: send single frames from now on.
            self.cuts = false;
            return (0, SendOutcome::Taken);
        }
        (count, sent)
    }
}

impl DatagramInput {
    /// Ports for small frames and for bulk.
    pub(super) fn ports(&self) -> [u16; 2] {
        self.ports
    }

    pub(super) fn sockets(&self) -> impl Iterator<Item = &OwnedFd> {
        let own = [&*self.small, &*self.bulk];
        own.into_iter().chain(self.groups.as_ref().map(|members| &members.socket))
    }

    /// Clears pending errors of the sockets; returns how many sockets had one.
    pub(super) fn clear_errors(&self) -> u64 {
        let clear_one = |socket: &OwnedFd| {
            let error = take_error(socket);
            clear(socket, error);
            u64::from(error != 0)
        };
        self.sockets().map(clear_one).sum()
    }

    /// Joins a group on an interface, or leaves it.
    pub(super) fn change(
        &mut self,
        group: &GroupAddress,
        index: u32,
        joins: bool,
    ) -> io::Result<()> {
        if self.groups.is_none() && joins {
            self.groups = Some(Members::open(group.port)?);
        }
        self.groups.as_ref().map_or(Ok(()), |members| members.change(group, index, joins))
    }

    /// Passes pending small frames to `take`, at most `most` datagrams or super-frames; true if
    /// there were any.
    pub(super) fn receive(
        &mut self,
        most: usize,
        counters: &mut Counters,
        take: &mut impl FnMut(&[u8]),
    ) -> bool {
        receive(&self.small, &mut self.buffer, most, counters, take)
    }

    /// Passes pending frames to groups to `take`, at most `most` super-frames; true if there were
    /// any.
    pub(super) fn receive_groups(
        &mut self,
        most: usize,
        counters: &mut Counters,
        take: &mut impl FnMut(&[u8]),
    ) -> bool {
        match &self.groups {
            Some(members) => receive(&members.socket, &mut self.buffer, most, counters, take),
            None => false,
        }
    }

    /// The socket of all groups, if any group was joined.
    pub(super) fn group_socket(&self) -> Option<&OwnedFd> {
        self.groups.as_ref().map(|members| &members.socket)
    }

    /// Receives a super-frame of bulk; false if there was none.
    pub(super) fn receive_bulk(
        &mut self,
        counters: &mut Counters,
        arrivals: &mut impl Arrivals,
    ) -> bool {
        let scatter = self.scatter.get_or_insert_with(ScatterReceiver::new);
        let iovecs = scatter.prepare(arrivals);
        let (got, cut) = receive_message(&self.bulk, iovecs);
        let Ok(total) = usize::try_from(got) else {
            let SendOutcome::Error(error) = SendOutcome::of(got) else { return false };
            clear(&self.bulk, error);
            counters.errors += 1;
            return true;
        };
        match cut {
            Cut::Into(segment) if total > 0 => scatter.hand_out(total, segment, counters, arrivals),
            _ => counters.truncated += 1,
        }
        true
    }
}

fn receive(
    socket: &OwnedFd,
    buffer: &mut [u8],
    most: usize,
    counters: &mut Counters,
    take: &mut impl FnMut(&[u8]),
) -> bool {
    for count in 0..most {
        let (got, cut) = receive_message(socket, &mut [iovec(buffer.as_mut_ptr(), buffer.len())]);
        match usize::try_from(got) {
            Ok(length) => match cut {
                Cut::Into(segment) if segment > 0 => {
                    buffer[..length].chunks(segment).for_each(&mut *take)
                }
                Cut::Into(_) => take(&buffer[..length]),
                Cut::Off => counters.truncated += 1,
            },
            Err(_) => match SendOutcome::of(-1) {
                SendOutcome::Error(error) => {
                    clear(socket, error);
                    counters.errors += 1;
                }
                _ => return count > 0,
            },
        }
    }
    true
}

/// How the kernel delivered a packet.
enum Cut {
    /// A super-frame of segments of this many bytes; 0 if it is a single datagram.
    Into(usize),
    /// Truncated: the buffer was too small.
    Off,
}

/// Receives a datagram or a super-frame into `iovecs`, which must be writable. Returns the number
/// of bytes, or a negative number.
fn receive_message(socket: &OwnedFd, iovecs: &mut [libc::iovec]) -> (isize, Cut) {
    let mut control = ControlBuffer([0; 64]);
    // SAFETY: an all-zero `msghdr` is valid. `iovecs` and `control` outlive the call; every caller
    // passes iovecs that describe writable memory.
    let (got, message) = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = iovecs.as_mut_ptr();
        message.msg_iovlen = iovecs.len() as _;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = control.0.len() as _;
        (libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT), message)
    };
    let is_cut_off = message.msg_flags & libc::MSG_TRUNC != 0;
    (got, if got < 0 || is_cut_off { Cut::Off } else { Cut::Into(segment_of(&message)) })
}

/// Length of the segments of a received super-frame, 0 if it is a single datagram.
fn segment_of(message: &libc::msghdr) -> usize {
    // SAFETY: `recvmsg` has set the control messages and their length, and the control buffer is
    // still alive.
    unsafe {
        let mut head = libc::CMSG_FIRSTHDR(message);
        while let Some(control) = head.as_ref() {
            if (control.cmsg_level, control.cmsg_type) == (libc::SOL_UDP, UDP_GRO) {
                let segment = libc::CMSG_DATA(head).cast::<i32>().read_unaligned();
                return usize::try_from(segment).unwrap_or(0);
            }
            head = libc::CMSG_NXTHDR(message, head);
        }
    }
    0
}

/// Opens a socket on an address, on a port that the system chooses. `discovery` sets whether IP may
/// fragment its datagrams; the values are the same for both families.
fn bound(address: IpAddr, discovery: i32) -> io::Result<(OwnedFd, u16)> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::DGRAM, flags, None)?;
    // Path-MTU reports, which anyone can forge, must not shrink frames. With RECVERR, sending fails
    // when the interface is full.
    if address.is_ipv4() {
        set_number(&socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, discovery)?;
        set_number(&socket, libc::IPPROTO_IP, libc::IP_RECVERR, 1)?;
    } else {
        set_number(&socket, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, discovery)?;
        set_number(&socket, libc::IPPROTO_IPV6, libc::IPV6_RECVERR, 1)?;
    }
    bind(&socket, &SocketAddr::new(address, 0))?;
    let bound = SocketAddr::try_from(rustix::net::getsockname(&socket)?)?;
    Ok((socket, bound.port()))
}

/// Clears the error queue, which reports on earlier datagrams. True if the error is such a report.
#[cold]
fn clear(socket: &OwnedFd, error: i32) -> bool {
    let mut byte = [0u8; 1];
    for _ in 0..REPORTS {
        let mut vector = iovec(byte.as_mut_ptr(), byte.len());
        // SAFETY: an all-zero `msghdr` is valid; it refers to `vector`, which describes a writable
        // byte and outlives the call.
        let got = unsafe {
            let mut message: libc::msghdr = std::mem::zeroed();
            message.msg_iov = &raw mut vector;
            message.msg_iovlen = 1;
            libc::recvmsg(
                socket.as_raw_fd(),
                &raw mut message,
                libc::MSG_DONTWAIT | libc::MSG_ERRQUEUE,
            )
        };
        if got < 0 {
            break;
        }
    }
    use libc::{ECONNREFUSED, EHOSTDOWN, EHOSTUNREACH, ENETUNREACH, ENOPROTOOPT, EPROTO};
    [ECONNREFUSED, EHOSTUNREACH, EHOSTDOWN, ENETUNREACH, EPROTO, ENOPROTOOPT].contains(&error)
}
