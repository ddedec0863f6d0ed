//! Multicast groups: frames that the switch replicates to all hosts that have joined.
//!
//! The raw side uses a locally administered multicast address. The UDP side uses an address of
//! IPv4's local scope (RFC 2365) and a port known to the whole job; datagrams have a hop limit of
//! one and are sent in super-frames like all bulk. Numbers are hashed, so groups of different jobs
//! may share an address: frames that are not for a member are rejected like any other foreign
//! frame. Frames are never delivered to processes on the host that sent them.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with, sockopt};

use super::craft::StreamEnd;
use super::segmentation::UDP_GRO;
use super::system::{set, set_number, widen};

/// Receive buffer size in bytes.
const BUFFER: i32 = 1 << 20;
/// Groups use the ports from this one to the last.
const FIRST_PORT: u16 = 0xc000;

/// The address of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupAddress {
    /// Address on the raw side.
    pub(super) hardware: [u8; 6],
    /// Address on the UDP side.
    pub(super) internet: Ipv4Addr,
    /// Port on the UDP side, the same for all groups of a job.
    pub(super) port: u16,
}

/// The finalizer of `splitmix64` (Steele, Lea and Flood, 2014): every bit of the result depends on
/// every bit of the number.
fn stir(number: u64) -> u64 {
    let one = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let two = (one ^ one >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    two ^ two >> 31
}

impl GroupAddress {
    /// The address of a group of a job. `job` should be a number that other jobs do not have; it
    /// need not be secret.
    pub fn new(job: u64, number: u32) -> GroupAddress {
        let job = stir(job.wrapping_add(0x9e37_79b9_7f4a_7c15));
        let [one, two, three, four, five, six, seven, _] =
            stir(job ^ u64::from(number)).to_le_bytes();
        GroupAddress {
            hardware: [3, one, two, three, four, five],
            internet: Ipv4Addr::new(239, 255, six, seven),
            port: FIRST_PORT | job as u16,
        }
    }

    /// The destination of crafted frames: RFC 1112, section 6.4, maps an IPv4 group to its Ethernet
    /// address.
    pub(super) fn end(&self) -> StreamEnd {
        let [_, one, two, three] = self.internet.octets();
        StreamEnd {
            hardware: [1, 0, 0x5e, one & 0x7f, two, three],
            address: self.internet,
            port: self.port,
        }
    }
}

/// The UDP side of all groups that a port has joined.
#[derive(Debug)]
pub(super) struct Members {
    pub(super) socket: OwnedFd,
    port: u16,
}

impl Members {
    /// Opens a socket on the port of a job's groups.
    pub(super) fn open(port: u16) -> io::Result<Members> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)?;
        widen(&socket, BUFFER);
        // Other processes of the host bind the same port.
        sockopt::set_socket_reuseaddr(&socket, true)?;
        // Deliver only groups that this socket has joined.
        set_number(&socket, libc::IPPROTO_IP, libc::IP_MULTICAST_ALL, 0)?;
        // A kernel without UDP_GRO delivers datagrams one by one.
        let _ = set_number(&socket, libc::SOL_UDP, UDP_GRO, 1);
        bind(&socket, &SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)))?;
        Ok(Members { socket, port })
    }

    /// Joins a group on an interface, or leaves it.
    pub(super) fn change(&self, group: &GroupAddress, index: u32, joins: bool) -> io::Result<()> {
        if group.port != self.port {
            return Err(io::Error::other("the group is of another job"));
        }
        let request = request(group.internet, index);
        let option = if joins { libc::IP_ADD_MEMBERSHIP } else { libc::IP_DROP_MEMBERSHIP };
        // SAFETY: both options take an `ip_mreqn`, which contains no pointers.
        unsafe { set(&self.socket, libc::IPPROTO_IP, option, &request) }
    }
}

fn request(group: Ipv4Addr, index: u32) -> libc::ip_mreqn {
    libc::ip_mreqn {
        imr_multiaddr: libc::in_addr { s_addr: u32::from_ne_bytes(group.octets()) },
        imr_address: libc::in_addr { s_addr: 0 },
        imr_ifindex: index as i32,
    }
}

/// Configures a socket to send to groups over an interface, without loopback to this host.
pub(super) fn prepare(socket: &OwnedFd, index: u32) -> io::Result<()> {
    let request = request(Ipv4Addr::UNSPECIFIED, index);
    // SAFETY: IP_MULTICAST_IF takes an `ip_mreqn`, which contains no pointers.
    unsafe { set(socket, libc::IPPROTO_IP, libc::IP_MULTICAST_IF, &request)? };
    set_number(socket, libc::IPPROTO_IP, libc::IP_MULTICAST_LOOP, 0)
}

/// Joins a group on the raw side, or leaves it.
pub(super) fn change_raw(
    socket: &OwnedFd,
    index: u32,
    hardware: [u8; 6],
    joins: bool,
) -> io::Result<()> {
    let mut request = libc::packet_mreq {
        mr_ifindex: index as i32,
        mr_type: libc::PACKET_MR_MULTICAST as u16,
        mr_alen: 6,
        mr_address: [0; 8],
    };
    request.mr_address[..6].copy_from_slice(&hardware);
    let option = if joins { libc::PACKET_ADD_MEMBERSHIP } else { libc::PACKET_DROP_MEMBERSHIP };
    // SAFETY: both options take a `packet_mreq`, which contains no pointers.
    unsafe { set(socket, libc::SOL_PACKET, option, &request) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_addresses_of_their_own() {
        let groups: Vec<GroupAddress> =
            (0..100).map(|number| GroupAddress::new(7, number)).collect();
        for group in &groups {
            assert_eq!(group.hardware[0] & 3, 3, "multicast, locally administered");
            assert!(group.internet.is_multicast() && group.port >= FIRST_PORT);
            assert_eq!(groups.iter().filter(|other| other.hardware == group.hardware).count(), 1);
            assert_eq!(group.port, groups[0].port);
            let [high, ..] = group.end().hardware;
            assert_eq!(high & 1, 1, "multicast");
        }
        assert_ne!(GroupAddress::new(8, 1).hardware, GroupAddress::new(7, 1).hardware);
    }
}
