//! Paths to peers and groups: everything about a destination that is known before the first frame.

use std::net::{IpAddr, SocketAddr};

use super::craft::{HeaderTemplate, StreamEnd};
use super::system::SocketName;
use super::{Address, ETHERTYPE, GroupAddress, Port, PortOutput};
use towpath_clic::frame::{HEADER_BYTES, HeaderBytes};

const IPV4_HEADERS: u16 = 20 + 8;
const IPV6_HEADERS: u16 = 40 + 8;

/// The encapsulation of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// Raw frames of CLIC's ethertype, one by one.
    Raw,
    /// UDP datagrams; bulk in super-frames.
    Udp,
    /// For bulk: UDP datagrams in super-frames whose headers CLIC builds.
    Crafted,
}

impl Carrier {
    /// True if it sends bulk frame by frame, so that connections are quicker for large messages.
    pub fn sends_frame_by_frame(self) -> bool {
        self == Carrier::Raw
    }
}

/// A frame to be sent.
#[derive(Clone, Copy, Debug)]
pub struct OutgoingFrame {
    /// The header.
    pub header: HeaderBytes,
    /// The body.
    pub body: *const u8,
    /// Its length in bytes.
    pub length: usize,
}

/// How one class of frames is sent to a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameRoute {
    Raw(SocketName),
    Udp(SocketName),
    Crafted(HeaderTemplate),
}

impl FrameRoute {
    fn carrier(&self) -> Carrier {
        match self {
            FrameRoute::Raw(_) => Carrier::Raw,
            FrameRoute::Udp(_) => Carrier::Udp,
            FrameRoute::Crafted(_) => Carrier::Crafted,
        }
    }
}

/// A path to a destination: a route for each class of frames.
#[derive(Clone, Copy)]
pub struct Way {
    pub(super) small: FrameRoute,
    /// For several small frames that are sent together.
    pub(super) train: FrameRoute,
    pub(super) bulk: FrameRoute,
    /// UDP destinations for small frames and for bulk: frames that are too long for the interface
    /// are sent there with IP fragmentation.
    pub(super) by_udp: [SocketName; 2],
    payload: u16,
    /// Number of bytes by which the longest packet exceeds a small frame with a body of `payload`.
    spare: u16,
}

impl Way {
    /// Longest body of a frame in bytes, over all carriers of this path.
    pub fn payload(&self) -> u16 {
        self.payload
    }

    /// The body length that makes a small frame as long as the longest packet.
    pub fn longest_body(&self) -> u16 {
        self.payload + self.spare
    }

    /// The carriers of small frames and of bulk.
    pub fn carriers(&self) -> [Carrier; 2] {
        [self.small.carrier(), self.bulk.carrier()]
    }
}

impl Port {
    /// The path to a port of a peer: raw if requested and supported at both ends, otherwise by UDP.
    pub fn way(&self, to: &Address, raw: bool) -> Way {
        match raw {
            true => self.way_by(to, Carrier::Raw, Carrier::Crafted),
            false => self.way_by(to, Carrier::Udp, Carrier::Udp),
        }
    }

    /// Like [`Port::way`], with separate carriers for small frames and for bulk. A carrier that one
    /// of the ends does not support is replaced by UDP.
    pub fn way_by(&self, to: &Address, small: Carrier, bulk: Carrier) -> Way {
        let route = |carrier, place: SocketAddr| match (carrier, self.reaches(to)) {
            (Carrier::Raw, Some(hardware)) => FrameRoute::Raw(self.packet(hardware)),
            (Carrier::Crafted, Some(_)) => self
                .template(to, place.port())
                .map_or(FrameRoute::Udp(SocketName::internet(place)), FrameRoute::Crafted),
            _ => FrameRoute::Udp(SocketName::internet(place)),
        };
        // Trains use the carrier of bulk, which is the cheapest, but the destination port of small
        // frames.
        let (small, train, bulk) = (
            route(small, to.socket_address()),
            route(bulk, to.socket_address()),
            route(bulk, to.bulk_socket_address()),
        );
        let by_udp = [to.socket_address(), to.bulk_socket_address()].map(SocketName::internet);
        let headers = match (small, bulk) {
            (FrameRoute::Raw(_), FrameRoute::Raw(_)) => 0,
            _ if to.network.address.is_ipv4() => IPV4_HEADERS,
            _ => IPV6_HEADERS,
        };
        let spare = if matches!(small, FrameRoute::Raw(_)) { headers } else { 0 };
        Way {
            small,
            train,
            bulk,
            by_udp,
            payload: payload(self.interface.mtu.min(to.mtu), headers),
            spare,
        }
    }

    /// See [`PortOutput::group_way`].
    pub fn group_way(&self, to: &GroupAddress, by: Carrier) -> Way {
        self.output.group_way(to, by)
    }

    fn packet(&self, hardware: [u8; 6]) -> SocketName {
        SocketName::packet(self.interface.index, hardware, ETHERTYPE)
    }

    /// The Ethernet address of a peer, if both ends have a raw side.
    fn reaches(&self, to: &Address) -> Option<[u8; 6]> {
        to.hardware.filter(|_| self.output.raw.is_some())
    }

    fn template(&self, to: &Address, to_port: u16) -> Option<HeaderTemplate> {
        let IpAddr::V4(address) = to.network.address else { return None };
        Some(HeaderTemplate::new(
            self.output.end?,
            StreamEnd { hardware: to.hardware?, address, port: to_port },
        ))
    }
}

impl PortOutput {
    /// The path of bulk to all members of a group: by this carrier if this end supports it,
    /// otherwise by UDP. Single frames are sent raw or by UDP.
    pub fn group_way(&self, to: &GroupAddress, by: Carrier) -> Way {
        let name = SocketName::internet((to.internet, to.port).into());
        let udp = FrameRoute::Udp(name);
        let (small, bulk, headers) = match (by, &self.raw, self.end) {
            (Carrier::Raw, Some(_), _) => {
                let raw = FrameRoute::Raw(SocketName::packet(self.index, to.hardware, ETHERTYPE));
                (raw, raw, 0)
            }
            (Carrier::Crafted, Some(_), Some(from)) => {
                (udp, FrameRoute::Crafted(HeaderTemplate::new(from, to.end())), IPV4_HEADERS)
            }
            _ => (udp, udp, IPV4_HEADERS),
        };
        Way {
            small,
            train: bulk,
            bulk,
            by_udp: [name; 2],
            payload: payload(self.mtu, headers),
            spare: 0,
        }
    }
}

/// Longest body of an IPv4 datagram in packets of this length.
pub(super) fn ipv4_payload(mtu: u16) -> u16 {
    payload(mtu, IPV4_HEADERS)
}

fn payload(mtu: u16, headers: u16) -> u16 {
    mtu.saturating_sub(headers + HEADER_BYTES as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_raw_frames_are_sent_one_by_one() {
        let carriers = [Carrier::Raw, Carrier::Udp, Carrier::Crafted];
        assert_eq!(carriers.map(Carrier::sends_frame_by_frame), [true, false, false]);
    }
}
