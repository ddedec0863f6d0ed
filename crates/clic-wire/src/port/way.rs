//! Ways to peers and groups: everything about a destination that is known before the first frame.

use std::net::{IpAddr, SocketAddr};

use super::craft::{End, Template};
use super::system::Name;
use super::{Address, ETHERTYPE, GroupAddress, Output, Port};
use towpath_clic::frame::HEADER_BYTES;

const IPV4_HEADERS: u16 = 20 + 8;
const IPV6_HEADERS: u16 = 40 + 8;

/// By what frames travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// Frames of CLIC's own ethertype, one by one.
    Raw,
    /// UDP datagrams; bulk in super-frames.
    Udp,
    /// For bulk: UDP datagrams in super-frames whose headers CLIC writes.
    Crafted,
}

/// A frame that goes out.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// The header.
    pub header: [u8; HEADER_BYTES],
    /// The body.
    pub body: *const u8,
    /// Its length in bytes.
    pub length: usize,
}

/// How one sort of frames gets there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    Raw(Name),
    Udp(Name),
    Crafted(Template),
}

impl Route {
    fn carrier(&self) -> Carrier {
        match self {
            Route::Raw(_) => Carrier::Raw,
            Route::Udp(_) => Carrier::Udp,
            Route::Crafted(_) => Carrier::Crafted,
        }
    }
}

/// A destination, and how frames get there.
#[derive(Clone, Copy)]
pub struct Way {
    pub(super) small: Route,
    /// Of several small frames that go out together.
    pub(super) train: Route,
    pub(super) bulk: Route,
    /// Where UDP leads, for small frames and for bulk: what the interface finds too long goes there
    /// in fragments.
    pub(super) by_udp: [Name; 2],
    payload: u16,
    /// By so much the longest packet is longer than a small frame with such a body.
    spare: u16,
}

impl Way {
    /// Longest body of a frame in bytes, whatever it travels by.
    pub fn payload(&self) -> u16 {
        self.payload
    }

    /// The body of a small frame that makes it as long as the longest packet.
    pub fn longest_body(&self) -> u16 {
        self.payload + self.spare
    }

    /// By what small frames travel, and by what bulk.
    pub fn carriers(&self) -> [Carrier; 2] {
        [self.small.carrier(), self.bulk.carrier()]
    }
}

impl Port {
    /// The way to a port of a peer: raw if that is wanted and both ends can, else by UDP.
    pub fn way(&self, to: &Address, raw: bool) -> Way {
        match raw {
            true => self.way_by(to, Carrier::Raw, Carrier::Crafted),
            false => self.way_by(to, Carrier::Udp, Carrier::Udp),
        }
    }

    /// As [`Port::way`], with a carrier each for small frames and for bulk. What one of the ends
    /// cannot do goes by UDP.
    pub fn way_by(&self, to: &Address, small: Carrier, bulk: Carrier) -> Way {
        let route = |carrier, place: SocketAddr| match (carrier, self.reaches(to)) {
            (Carrier::Raw, Some(hardware)) => Route::Raw(self.packet(hardware)),
            (Carrier::Crafted, Some(_)) => {
                self.template(to, place.port()).map_or(Route::Udp(Name::internet(place)), Route::Crafted)
            }
            _ => Route::Udp(Name::internet(place)),
        };
        // Trains cost least where bulk does, and go to where small frames go.
        let (small, train, bulk) = (route(small, to.place()), route(bulk, to.place()), route(bulk, to.bulk_place()));
        let by_udp = [to.place(), to.bulk_place()].map(Name::internet);
        let headers = match (small, bulk) {
            (Route::Raw(_), Route::Raw(_)) => 0,
            _ if to.network.address.is_ipv4() => IPV4_HEADERS,
            _ => IPV6_HEADERS,
        };
        let spare = if matches!(small, Route::Raw(_)) { headers } else { 0 };
        Way { small, train, bulk, by_udp, payload: payload(self.interface.mtu.min(to.mtu), headers), spare }
    }

    /// As [`Output::group_way`].
    pub fn group_way(&self, to: &GroupAddress, by: Carrier) -> Way {
        self.output.group_way(to, by)
    }

    fn packet(&self, hardware: [u8; 6]) -> Name {
        Name::packet(self.interface.index, hardware, ETHERTYPE)
    }

    /// The Ethernet address of a peer, if both ends have a raw side.
    fn reaches(&self, to: &Address) -> Option<[u8; 6]> {
        to.hardware.filter(|_| self.output.raw.is_some())
    }

    fn template(&self, to: &Address, to_port: u16) -> Option<Template> {
        let IpAddr::V4(address) = to.network.address else { return None };
        Some(Template::new(self.output.end?, End { hardware: to.hardware?, address, port: to_port }))
    }
}

impl Output {
    /// The way of bulk to all members of a group: by this carrier if this end can, else by UDP.
    /// Frames one by one go below IP or by UDP.
    pub fn group_way(&self, to: &GroupAddress, by: Carrier) -> Way {
        let name = Name::internet((to.internet, to.port).into());
        let udp = Route::Udp(name);
        let (small, bulk, headers) = match (by, &self.raw, self.end) {
            (Carrier::Raw, Some(_), _) => {
                let raw = Route::Raw(Name::packet(self.index, to.hardware, ETHERTYPE));
                (raw, raw, 0)
            }
            (Carrier::Crafted, Some(_), Some(from)) => {
                (udp, Route::Crafted(Template::new(from, to.end())), IPV4_HEADERS)
            }
            _ => (udp, udp, IPV4_HEADERS),
        };
        Way { small, train: bulk, bulk, by_udp: [name; 2], payload: payload(self.mtu, headers), spare: 0 }
    }
}

/// Longest body of a datagram of IPv4 in packets of this length.
pub(super) fn ipv4_payload(mtu: u16) -> u16 {
    payload(mtu, IPV4_HEADERS)
}

fn payload(mtu: u16, headers: u16) -> u16 {
    mtu.saturating_sub(headers + HEADER_BYTES as u16)
}
