//! Super-frames with headers built in user space: this module writes the Ethernet, IPv4 and UDP
//! headers. A packet socket sends them with a header that requests segmentation and checksum
//! offload (PACKET_VNET_HDR, `struct virtio_net_hdr`). The receiver sees UDP datagrams.
//!
//! It bypasses the system's IP stack, so it needs CAP_NET_RAW and a peer on the same segment.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};

use super::OutgoingFrame;
use super::segmentation::{SEGMENTS, super_frame};
use super::system::{SendOutcome, SocketName, bind_packet, iovec, packet_socket, set_number};
use towpath_clic::frame::HEADER_BYTES;

const ETHERNET: usize = 14;
const IP: usize = 20;
const UDP: usize = 8;
const HEADERS: usize = ETHERNET + IP + UDP;

const NEEDS_CHECKSUM: u8 = 1;
/// VIRTIO_NET_HDR_GSO_UDP_L4, which Linux supports since 6.2.
const CUT_UDP: u8 = 5;
const TIME_TO_LIVE: u8 = 64;
/// Time to live of multicast packets, which do not leave the segment.
const ONE_HOP: u8 = 1;

/// The kernel's `struct virtio_net_hdr`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Instructions {
    flags: u8,
    sort: u8,
    headers: u16,
    segment: u16,
    checksum_from: u16,
    checksum_at: u16,
}

/// One end of a flow of crafted frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StreamEnd {
    pub(super) hardware: [u8; 6],
    pub(super) address: Ipv4Addr,
    pub(super) port: u16,
}

/// The headers of a flow; lengths and checksums are filled in for each frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeaderTemplate([u8; HEADERS]);

impl HeaderTemplate {
    pub(super) fn new(from: StreamEnd, to: StreamEnd) -> HeaderTemplate {
        let mut bytes = [0; HEADERS];
        bytes[0..6].copy_from_slice(&to.hardware);
        bytes[6..12].copy_from_slice(&from.hardware);
        bytes[12..14].copy_from_slice(&(libc::ETH_P_IP as u16).to_be_bytes());
        // Version 4, header of five words, don't fragment.
        (bytes[14], bytes[20]) = (0x45, 0x40);
        let hops = if to.address.is_multicast() { ONE_HOP } else { TIME_TO_LIVE };
        (bytes[22], bytes[23]) = (hops, libc::IPPROTO_UDP as u8);
        bytes[26..30].copy_from_slice(&from.address.octets());
        bytes[30..34].copy_from_slice(&to.address.octets());
        bytes[34..36].copy_from_slice(&from.port.to_be_bytes());
        bytes[36..38].copy_from_slice(&to.port.to_be_bytes());
        HeaderTemplate(bytes)
    }

    /// The destination as an address for a UDP socket.
    pub(super) fn name(&self) -> SocketName {
        let [one, two, three, four] = [self.0[30], self.0[31], self.0[32], self.0[33]];
        let port = u16::from_be_bytes([self.0[36], self.0[37]]);
        SocketName::internet(SocketAddr::from(([one, two, three, four], port)))
    }

    /// The headers for a payload of `length` bytes.
    fn filled(&self, length: usize) -> [u8; HEADERS] {
        let mut bytes = self.0;
        let datagram = (UDP + length) as u16;
        bytes[16..18].copy_from_slice(&(IP as u16 + datagram).to_be_bytes());
        bytes[38..40].copy_from_slice(&datagram.to_be_bytes());
        let header = !folded(&bytes[ETHERNET..ETHERNET + IP], 0);
        bytes[24..26].copy_from_slice(&header.to_be_bytes());
        // The sum of the pseudo header; the device or kernel that segments adds the rest.
        let pseudo =
            folded(&bytes[26..34], u32::from(libc::IPPROTO_UDP as u8) + u32::from(datagram));
        bytes[40..42].copy_from_slice(&pseudo.to_be_bytes());
        bytes
    }
}

/// The folded ones' complement sum of the internet checksum (RFC 1071), plus `more`.
fn folded(bytes: &[u8], more: u32) -> u16 {
    let (pairs, _) = bytes.as_chunks::<2>();
    let sum: u32 =
        more + pairs.iter().map(|pair| u32::from(u16::from_be_bytes(*pair))).sum::<u32>();
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

/// A socket that sends such frames and receives nothing.
#[derive(Debug)]
pub(super) struct Crafter {
    socket: OwnedFd,
    iovecs: Vec<libc::iovec>,
    /// The GSO type that requests segmentation; `None` once the kernel has rejected it.
    pub(super) cut: Option<u8>,
}

// SAFETY: the raw pointers in `iovecs` are used only during the `send_bulk` call that stores them;
// afterwards they are stale and never dereferenced.
unsafe impl Send for Crafter {}

impl Crafter {
    pub(super) fn open(index: u32) -> io::Result<Crafter> {
        let socket = packet_socket(libc::SOCK_RAW)?;
        set_number(&socket, libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1)?;
        bind_packet(&socket, index, false)?;
        Ok(Crafter { socket, iovecs: Vec::with_capacity(2 + 2 * SEGMENTS), cut: Some(CUT_UDP) })
    }

    /// Sends one super-frame. Returns how many of the frames it contains, and the outcome. If the
    /// kernel cannot segment, it has accepted none of them, and `cut` becomes `None`: from then on
    /// frames are sent by UDP.
    ///
    /// # Safety
    /// The bodies must be readable for their lengths.
    pub(super) unsafe fn send_bulk(
        &mut self,
        template: &HeaderTemplate,
        frames: &[OutgoingFrame],
    ) -> (usize, SendOutcome) {
        let count = super_frame(frames);
        let Some(first) = frames.first() else { return (0, SendOutcome::Taken) };
        let instructions = Instructions {
            flags: NEEDS_CHECKSUM,
            sort: self.cut.filter(|_| count > 1).unwrap_or(0),
            headers: HEADERS as u16,
            segment: if count > 1 { (HEADER_BYTES + first.length) as u16 } else { 0 },
            checksum_from: (ETHERNET + IP) as u16,
            checksum_at: 6,
        };
        let length = frames[..count].iter().map(|frame| HEADER_BYTES + frame.length).sum();
        let headers = template.filled(length);
        self.iovecs.clear();
        self.iovecs.push(iovec((&raw const instructions).cast(), size_of::<Instructions>()));
        self.iovecs.push(iovec(headers.as_ptr(), HEADERS));
        for frame in &frames[..count] {
            self.iovecs.extend([
                iovec(frame.header.as_ptr(), HEADER_BYTES),
                iovec(frame.body, frame.length),
            ]);
        }
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        // SAFETY: an all-zero `msghdr` is valid. `iovecs` points to `instructions`, `headers` and
        // frame headers, which outlive the call, and to bodies, which are readable (this function's
        // contract).
        let sent = unsafe {
            let mut message: libc::msghdr = std::mem::zeroed();
            message.msg_iov = self.iovecs.as_mut_ptr();
            message.msg_iovlen = self.iovecs.len() as _;
            libc::sendmsg(self.socket.as_raw_fd(), &raw const message, flags)
        };
        let sent = SendOutcome::of(sent);
        if count > 1 && sent.is_refusal_to_cut() {
            self.cut = None;
            return (0, SendOutcome::Taken);
        }
        (count, sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_those_of_the_standards() {
        assert_eq!(size_of::<Instructions>(), 10);
        let from = StreamEnd {
            hardware: [2, 1, 1, 1, 1, 1],
            address: Ipv4Addr::new(10, 77, 0, 1),
            port: 4000,
        };
        let to = StreamEnd {
            hardware: [2, 2, 2, 2, 2, 2],
            address: Ipv4Addr::new(10, 77, 0, 2),
            port: 5000,
        };
        let bytes = HeaderTemplate::new(from, to).filled(100);
        assert_eq!(folded(&bytes[14..34], 0), 0xffff, "a header with its checksum sums up to ones");
        assert_eq!(bytes[16..18], 128u16.to_be_bytes());
        assert_eq!(bytes[38..40], 108u16.to_be_bytes());
        // The example in RFC 1071.
        assert_eq!(folded(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7], 0), 0xddf2);
    }
}
