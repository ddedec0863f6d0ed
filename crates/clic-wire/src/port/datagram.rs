//! The UDP side, which needs no right: a socket for small frames and one for bulk.
//!
//! Bulk is sent as super-frames (UDP_SEGMENT), which the interface or the kernel cuts into
//! datagrams with a header of CLIC each, and received as such (UDP_GRO).
//!
//! A third socket, opened when it is needed first, sends what has become too long for the
//! interface: IP cuts it into fragments.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};

use super::bulk::{Arrivals, LONGEST_SUPER, Scatter};
use super::group::{self, Members};
use super::system::{Name, Sent, row, send, set_number, take_error, widen};
use super::{Counters, Frame, GroupAddress};
use towpath_clic::credit::CEILING;
use towpath_clic::frame::HEADER_BYTES;

const UDP_SEGMENT: i32 = 103;
pub(super) const UDP_GRO: i32 = 104;
/// Segments of a super-frame that every kernel takes.
pub(super) const SEGMENTS: usize = 64;
/// Bytes of a super-frame, headers of IP and UDP excluded.
const SUPER_BYTES: usize = 65_535 - 48;
/// Bytes that may wait to be received; of bulk all that a process has asked for at a time.
const SMALL_BUFFER: i32 = 1 << 20;
const BULK_BUFFER: i32 = CEILING as i32;
/// Reports of errors that are cleared away in one go.
const REPORTS: usize = 64;

/// What sends.
#[derive(Debug)]
pub(super) struct Outgoing {
    small: Arc<OwnedFd>,
    bulk: Arc<OwnedFd>,
    /// What sends in fragments, and from where.
    fragments: Option<OwnedFd>,
    address: IpAddr,
    rows: Vec<libc::iovec>,
    /// The interface cuts super-frames, or the kernel does for it.
    cuts: bool,
}

/// What receives.
#[derive(Debug)]
pub(super) struct Incoming {
    small: Arc<OwnedFd>,
    bulk: Arc<OwnedFd>,
    groups: Option<Members>,
    ports: [u16; 2],
    buffer: Vec<u8>,
    scatter: Option<Scatter>,
}

// SAFETY: pointers are kept from one call to the next only as worn-out room.
unsafe impl Send for Outgoing {}

/// Room for a control message with one number.
#[repr(C, align(8))]
struct Control([u8; 64]);

/// Opens the sockets on an address, on ports that the system chooses.
pub(super) fn open(address: IpAddr, index: u32) -> io::Result<(Outgoing, Incoming)> {
    let (small, port) = bound(address, libc::IP_PMTUDISC_PROBE)?;
    let (bulk, bulk_port) = bound(address, libc::IP_PMTUDISC_PROBE)?;
    widen(&small, SMALL_BUFFER);
    widen(&bulk, BULK_BUFFER);
    for socket in [&small, &bulk] {
        // A kernel that does not know it delivers datagrams one by one.
        let _ = set_number(socket, libc::SOL_UDP, UDP_GRO, 1);
    }
    if address.is_ipv4() {
        // Without it frames to groups get lost, and are repaired one by one.
        let _ = group::prepare(&small, index).and_then(|()| group::prepare(&bulk, index));
    }
    let (small, bulk) = (Arc::new(small), Arc::new(bulk));
    let rows = Vec::with_capacity(2 * SEGMENTS);
    let (to_small, to_bulk) = (Arc::clone(&small), Arc::clone(&bulk));
    let outgoing = Outgoing { small: to_small, bulk: to_bulk, fragments: None, address, rows, cuts: true };
    let buffer = vec![0; LONGEST_SUPER];
    Ok((outgoing, Incoming { small, bulk, groups: None, ports: [port, bulk_port], buffer, scatter: None }))
}

/// Whether the kernel takes super-frames by UDP to cut them, and hands some out in one piece.
pub fn super_frames() -> (bool, bool) {
    let Ok(socket) = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None) else {
        return (false, false);
    };
    let knows = |option, value| set_number(&socket, libc::SOL_UDP, option, value).is_ok();
    (knows(UDP_SEGMENT, 1000), knows(UDP_GRO, 1))
}

impl Outgoing {
    /// # Safety
    /// The body must be readable.
    #[inline]
    pub(super) unsafe fn send(&self, to: &Name, header: &[u8; HEADER_BYTES], body: *const u8, length: usize) -> Sent {
        // SAFETY: promised by the caller.
        match unsafe { send(&self.small, to, header, body, length) } {
            Sent::Error(error) if clear(&self.small, error) => {
                // That was about an earlier datagram.
                // SAFETY: as above.
                unsafe { send(&self.small, to, header, body, length) }
            }
            sent => sent,
        }
    }

    /// A socket of the network namespace in which it was opened.
    pub(super) fn socket(&self) -> &OwnedFd {
        &self.small
    }

    /// Sends a frame that is too long for the interface.
    ///
    /// # Safety
    /// The body must be readable.
    #[cold]
    pub(super) unsafe fn send_in_fragments(&mut self, to: &Name, frame: &Frame) -> Sent {
        if self.fragments.is_none() {
            match bound(self.address, libc::IP_PMTUDISC_OMIT) {
                Ok((socket, _)) => self.fragments = Some(socket),
                Err(error) => return Sent::Error(error.raw_os_error().unwrap_or(0)),
            }
        }
        let Some(socket) = &self.fragments else { return Sent::Full };
        let send_it = || {
            // SAFETY: promised by the caller.
            unsafe { send(socket, to, &frame.header, frame.body, frame.length) }
        };
        match send_it() {
            Sent::Error(error) if clear(socket, error) => send_it(),
            sent => sent,
        }
    }

    /// Sends one super-frame; says how many of the frames are in it, and what became of it.
    ///
    /// # Safety
    /// The bodies must be readable.
    pub(super) unsafe fn send_bulk(&mut self, to: &Name, frames: &[Frame]) -> (usize, Sent) {
        let count = if self.cuts { super_frame(frames) } else { 1 };
        self.rows.clear();
        for frame in &frames[..count] {
            self.rows.extend([row(frame.header.as_ptr(), HEADER_BYTES), row(frame.body, frame.length)]);
        }
        let mut control = Control([0; 64]);
        let mut message = to.message(&mut self.rows);
        if count > 1 {
            let segment = (HEADER_BYTES + frames[0].length) as u16;
            message.msg_control = control.0.as_mut_ptr().cast();
            // SAFETY: the room is larger than a control message with a number, and aligned for it.
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
            // SAFETY: the message names rows and control that live; the caller vouches for the
            // bodies.
            Sent::of(unsafe { libc::sendmsg(self.bulk.as_raw_fd(), &raw const message, flags) })
        };
        let sent = match send() {
            Sent::Error(error) if clear(&self.bulk, error) => send(),
            sent => sent,
        };
        if count > 1 && sent.is_refusal_to_cut() {
            // Neither this kernel nor this interface cuts: frame by frame from now on.
            self.cuts = false;
            return (0, Sent::Taken);
        }
        (count, sent)
    }
}

impl Incoming {
    /// Ports for small frames and for bulk.
    pub(super) fn ports(&self) -> [u16; 2] {
        self.ports
    }

    pub(super) fn sockets(&self) -> impl Iterator<Item = &OwnedFd> {
        let own = [&*self.small, &*self.bulk];
        own.into_iter().chain(self.groups.as_ref().map(|members| &members.socket))
    }

    /// Clears errors that wait at the sockets; says how many sockets had some.
    pub(super) fn clear_errors(&self) -> u64 {
        let clear_one = |socket: &OwnedFd| {
            let error = take_error(socket);
            clear(socket, error);
            u64::from(error != 0)
        };
        self.sockets().map(clear_one).sum()
    }

    /// Joins a group on an interface, or leaves it.
    pub(super) fn change(&mut self, group: &GroupAddress, index: u32, joins: bool) -> io::Result<()> {
        if self.groups.is_none() && joins {
            self.groups = Some(Members::open(group.port)?);
        }
        self.groups.as_ref().map_or(Ok(()), |members| members.change(group, index, joins))
    }

    /// Lends the small frames that are here to `take`, at most so many of each socket; true if
    /// there was one.
    pub(super) fn receive(&mut self, most: usize, counters: &mut Counters, take: &mut impl FnMut(&[u8])) -> bool {
        receive(&self.small, &mut self.buffer, most, counters, take)
    }

    /// Lends the frames to groups that are here to `take`, at most so many super-frames; true if
    /// there was one.
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

    /// The socket of all groups, if one was joined.
    pub(super) fn group_socket(&self) -> Option<&OwnedFd> {
        self.groups.as_ref().map(|members| &members.socket)
    }

    /// Receives a super-frame of bulk; false when there was none.
    pub(super) fn receive_bulk(&mut self, counters: &mut Counters, arrivals: &mut impl Arrivals) -> bool {
        let scatter = self.scatter.get_or_insert_with(Scatter::new);
        let rows = scatter.prepare(arrivals);
        let (got, cut) = receive_message(&self.bulk, rows);
        let Ok(total) = usize::try_from(got) else {
            let Sent::Error(error) = Sent::of(got) else { return false };
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
        let (got, cut) = receive_message(socket, &mut [row(buffer.as_mut_ptr(), buffer.len())]);
        match usize::try_from(got) {
            Ok(length) => match cut {
                Cut::Into(segment) if segment > 0 => buffer[..length].chunks(segment).for_each(&mut *take),
                Cut::Into(_) => take(&buffer[..length]),
                Cut::Off => counters.truncated += 1,
            },
            Err(_) => match Sent::of(-1) {
                Sent::Error(error) => {
                    clear(socket, error);
                    counters.errors += 1;
                }
                _ => return count > 0,
            },
        }
    }
    true
}

/// What the kernel did to what was received.
enum Cut {
    /// It is a super-frame of segments of so many bytes; none if 0.
    Into(usize),
    /// Its end is missing: there was not so much room.
    Off,
}

/// Receives a datagram or a super-frame into rows that are writable; says how many bytes came, or a
/// negative number.
fn receive_message(socket: &OwnedFd, rows: &mut [libc::iovec]) -> (isize, Cut) {
    let mut control = Control([0; 64]);
    // SAFETY: a message header of zeros is empty; it names rows and control that live and are
    // writable.
    let (got, message) = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = rows.as_mut_ptr();
        message.msg_iovlen = rows.len() as _;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = control.0.len() as _;
        (libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT), message)
    };
    let is_cut_off = message.msg_flags & libc::MSG_TRUNC != 0;
    (got, if got < 0 || is_cut_off { Cut::Off } else { Cut::Into(segment_of(&message)) })
}

/// Length of the segments of a super-frame that was received, 0 if it is none.
fn segment_of(message: &libc::msghdr) -> usize {
    // SAFETY: the kernel has filled the control messages in, and said how long they are.
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

/// How many of the frames make one super-frame: all but the last of one length.
pub(super) fn super_frame(frames: &[Frame]) -> usize {
    let Some(first) = frames.first() else { return 0 };
    let segment = HEADER_BYTES + first.length;
    let most = SEGMENTS.min(SUPER_BYTES / segment).max(1);
    let equal = frames.iter().take(most).take_while(|frame| frame.length == first.length).count();
    let ends = frames.get(equal).is_some_and(|last| equal < most && last.length < first.length);
    equal + usize::from(ends)
}

/// Opens a socket on an address, on a port that the system chooses. `discovery` says whether IP may
/// cut its datagrams; the numbers are the same for both families.
fn bound(address: IpAddr, discovery: i32) -> io::Result<(OwnedFd, u16)> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::DGRAM, flags, None)?;
    // No report of a stranger makes frames smaller; a full interface says so.
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

/// Clears reports of what became of earlier datagrams away, and says whether the error was one of
/// them.
#[cold]
fn clear(socket: &OwnedFd, error: i32) -> bool {
    let mut byte = [0u8; 1];
    for _ in 0..REPORTS {
        let mut row = row(byte.as_mut_ptr(), byte.len());
        // SAFETY: a message header of zeros is empty; it names a row that lives and is writable.
        let got = unsafe {
            let mut message: libc::msghdr = std::mem::zeroed();
            message.msg_iov = &raw mut row;
            message.msg_iovlen = 1;
            libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT | libc::MSG_ERRQUEUE)
        };
        if got < 0 {
            break;
        }
    }
    use libc::{ECONNREFUSED, EHOSTDOWN, EHOSTUNREACH, ENETUNREACH, ENOPROTOOPT, EPROTO};
    [ECONNREFUSED, EHOSTUNREACH, EHOSTDOWN, ENETUNREACH, EPROTO, ENOPROTOOPT].contains(&error)
}
