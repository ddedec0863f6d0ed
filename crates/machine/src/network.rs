//! The networks of this host: the addresses by which other hosts may reach it.

use std::ffi::CStr;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// The setting that selects the interfaces through which other hosts reach this one.
pub const INTERFACES: &str = "TOWPATH_TCP_INTERFACES";

/// An address of a host and its prefix length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// The address.
    pub address: IpAddr,
    /// Number of leading bits that all addresses of the network share.
    pub prefix: u8,
    /// Interface index of a link-local address of this host; otherwise 0. It has no meaning on
    /// other hosts.
    pub scope: u32,
}

impl Network {
    /// A network without an interface scope: any route may lead to it.
    pub fn new(address: IpAddr, prefix: u8) -> Network {
        Network { address, prefix, scope: 0 }
    }

    /// Whether the address is valid on one link only.
    pub fn is_link_local(&self) -> bool {
        matches!(self.address, IpAddr::V6(address) if address.is_unicast_link_local())
    }

    /// Whether addresses of one network may be reachable from the other through a router.
    pub fn is_routed_to(&self, other: &Network) -> bool {
        let is_wide =
            |network: &Network| !network.is_link_local() && !network.address.is_loopback();
        is_wide(self) && is_wide(other) && self.address.is_ipv4() == other.address.is_ipv4()
    }

    /// Whether the address is in this network.
    pub fn holds(&self, other: &IpAddr) -> bool {
        let differ = match (self.address, other) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                u128::from(own.to_bits() ^ other.to_bits()) << 96
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => own.to_bits() ^ other.to_bits(),
            _ => return false,
        };
        differ.leading_zeros() >= u32::from(self.prefix)
    }

    /// The socket address of `port` at this address; `scope` is the interface index, or 0.
    pub fn socket_address(&self, port: u16, scope: u32) -> SocketAddr {
        match self.address {
            IpAddr::V6(address) => SocketAddrV6::new(address, port, 0, scope).into(),
            address => SocketAddr::new(address, port),
        }
    }

    /// Parses `address/prefix`; `None` if the text has another form.
    pub fn parse(text: &str) -> Option<Network> {
        let (address, prefix) = text.split_once('/')?;
        let network = Network::new(address.parse().ok()?, prefix.parse().ok()?);
        (network.prefix <= if network.address.is_ipv4() { 32 } else { 128 }).then_some(network)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.address, self.prefix)
    }
}

/// An address of an interface.
struct FoundAddress {
    interface: String,
    network: Network,
    /// Nominal link speed in Mbit/s; 0 if the system does not report it.
    speed: u64,
}

/// The networks through which this host can be reached, fastest first and link-local ones last:
/// those of all interfaces that are up, or only those named in `wanted` (interfaces or
/// `address/prefix`, separated by commas). The loopback network only if there is no other.
pub fn networks(wanted: Option<&str>) -> Vec<Network> {
    sorted(all(), wanted).into_iter().map(|found| found.network).collect()
}

/// Like [`networks`] without link-local ones, each with the name of its interface.
pub fn chosen(wanted: Option<&str>) -> Vec<(String, Network)> {
    let wide: Vec<FoundAddress> =
        all().into_iter().filter(|found| !found.network.is_link_local()).collect();
    sorted(wide, wanted).into_iter().map(|found| (found.interface, found.network)).collect()
}

/// Nominal rate of the fastest of [`networks`] in bytes per second, in each direction; `None` if
/// the system does not report it.
pub fn fastest_rate(wanted: Option<&str>) -> Option<u64> {
    let megabits = sorted(all(), wanted).first().map_or(0, |found| found.speed);
    (megabits > 0).then(|| megabits.saturating_mul(1_000_000 / 8))
}

fn sorted(mut found: Vec<FoundAddress>, wanted: Option<&str>) -> Vec<FoundAddress> {
    let names: Vec<&str> =
        wanted.into_iter().flat_map(|text| text.split(',')).map(str::trim).collect();
    found.retain(|found| names.is_empty() || is_named(found, &names));
    if found.iter().any(|found| !found.network.address.is_loopback()) {
        found.retain(|found| !found.network.address.is_loopback());
    }
    let speed = |found: &FoundAddress| std::cmp::Reverse(found.speed);
    found.sort_by_key(|found| {
        (found.network.is_link_local(), speed(found), found.network.address.is_ipv6())
    });
    found
}

fn is_named(found: &FoundAddress, names: &[&str]) -> bool {
    let holds = |name: &str| {
        Network::parse(name).is_some_and(|network| network.holds(&found.network.address))
    };
    names.iter().any(|name| *name == found.interface || holds(name))
}

fn all() -> Vec<FoundAddress> {
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: `list` is a valid location for the result; it is set only on success.
    if unsafe { libc::getifaddrs(&raw mut list) } != 0 {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut next = list;
    // SAFETY: `next` is NULL or an entry of the list, which is not freed before the loop ends.
    while let Some(entry) = unsafe { next.as_ref() } {
        // SAFETY: `getifaddrs` fills in entries whose name is a C string and whose address and
        // netmask are NULL or valid.
        found.extend(unsafe { usable(entry) });
        next = entry.ifa_next;
    }
    // SAFETY: `list` came from `getifaddrs`, and no reference to its entries remains.
    unsafe { libc::freeifaddrs(list) };
    found
}

/// The address of an entry, if other hosts may reach it.
///
/// # Safety
/// `ifa_name` must be a C string; `ifa_addr` and `ifa_netmask` must each be NULL or point to an
/// address of the family that it names.
unsafe fn usable(entry: &libc::ifaddrs) -> Option<FoundAddress> {
    let wanted = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_uint;
    if entry.ifa_flags & wanted != wanted {
        return None;
    }
    // SAFETY: both pointers are NULL or valid socket addresses (this function's contract).
    let (address, mask) = unsafe { (address_of(entry.ifa_addr)?, address_of(entry.ifa_netmask)?) };
    let prefix = match mask {
        IpAddr::V4(mask) => mask.to_bits().leading_ones(),
        IpAddr::V6(mask) => mask.to_bits().leading_ones(),
    };
    // Link-local IPv4 addresses have no scope that would identify the link.
    if matches!(address, IpAddr::V4(address) if address.is_link_local()) {
        return None;
    }
    let mut network = Network::new(address, prefix as u8);
    if network.is_link_local() {
        // SAFETY: `ifa_addr` is an IPv6 address, as `address` shows, so it has the form of
        // `sockaddr_in6`.
        network.scope =
            unsafe { entry.ifa_addr.cast::<libc::sockaddr_in6>().read_unaligned() }.sin6_scope_id;
    }
    // SAFETY: `ifa_name` is a C string (this function's contract).
    let interface = unsafe { CStr::from_ptr(entry.ifa_name) }.to_string_lossy().into_owned();
    let speed =
        std::fs::read_to_string(format!("/sys/class/net/{interface}/speed")).unwrap_or_default();
    Some(FoundAddress { interface, network, speed: speed.trim().parse().unwrap_or(0) })
}

/// The IP address in a socket address; `None` for NULL and other families.
///
/// # Safety
/// `address` must be NULL or point to an address of the family that it names.
unsafe fn address_of(address: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: `address` is NULL or valid (this function's contract); an address of either family
    // has the form that is read.
    unsafe {
        match i32::from(address.as_ref()?.sa_family) {
            libc::AF_INET => {
                let address = address.cast::<libc::sockaddr_in>().read_unaligned();
                Some(Ipv4Addr::from_bits(u32::from_be(address.sin_addr.s_addr)).into())
            }
            libc::AF_INET6 => {
                let address = address.cast::<libc::sockaddr_in6>().read_unaligned();
                Some(Ipv6Addr::from(address.sin6_addr.s6_addr).into())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_always_a_network_and_a_name_chooses_it() {
        let every = networks(None);
        assert!(!every.is_empty());
        let first = every[0];
        let chosen = networks(Some(&format!(" {}/{} ,nothing", first.address, first.prefix)));
        assert!(chosen.contains(&first));
        assert_eq!(networks(Some("lo"))[0].address, "127.0.0.1".parse::<IpAddr>().unwrap());
        assert!(networks(Some("no-such-interface")).is_empty());
    }
}
