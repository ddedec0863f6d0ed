//! The networks of this host: the addresses by which others may reach it.

use std::ffi::CStr;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// An address of a host and how many of its leading bits name the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// The address.
    pub address: IpAddr,
    /// Leading bits that all addresses of the network share.
    pub prefix: u8,
    /// Of a link-local address of this host: the number of its interface. Else 0; to other hosts it
    /// means nothing.
    pub scope: u32,
}

impl Network {
    /// A network that every route may lead to.
    pub fn new(address: IpAddr, prefix: u8) -> Network {
        Network { address, prefix, scope: 0 }
    }

    /// Whether the address holds for one link only.
    pub fn is_link_local(&self) -> bool {
        matches!(self.address, IpAddr::V6(address) if address.is_unicast_link_local())
    }

    /// Whether addresses of one can be reached from the other by a route.
    pub fn is_routed_to(&self, other: &Network) -> bool {
        let is_wide = |network: &Network| !network.is_link_local() && !network.address.is_loopback();
        is_wide(self) && is_wide(other) && self.address.is_ipv4() == other.address.is_ipv4()
    }

    /// Whether the other address lies in the same network.
    pub fn holds(&self, other: &IpAddr) -> bool {
        let differ = match (self.address, other) {
            (IpAddr::V4(own), IpAddr::V4(other)) => u128::from(own.to_bits() ^ other.to_bits()) << 96,
            (IpAddr::V6(own), IpAddr::V6(other)) => own.to_bits() ^ other.to_bits(),
            _ => return false,
        };
        differ.leading_zeros() >= u32::from(self.prefix)
    }

    /// The port at this address, over an interface if that is not 0.
    pub fn place(&self, port: u16, scope: u32) -> SocketAddr {
        match self.address {
            IpAddr::V6(address) => SocketAddrV6::new(address, port, 0, scope).into(),
            address => SocketAddr::new(address, port),
        }
    }

    /// Reads `address/prefix`; `None` when the text is none.
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
struct Found {
    interface: String,
    network: Network,
    /// Nominal speed of the link in Mbit/s, 0 where the system does not say.
    speed: u64,
}

/// The networks in which this host can be reached, the fastest first, link-local ones last: those
/// of all interfaces that are up, or only those that `wanted` names (interfaces or
/// `address/prefix`, separated by commas). Without any, the host's own loopback.
pub fn networks(wanted: Option<&str>) -> Vec<Network> {
    sorted(all(), wanted).into_iter().map(|found| found.network).collect()
}

/// As [`networks`] without those that hold for one link only, each with the name of its interface.
pub fn chosen(wanted: Option<&str>) -> Vec<(String, Network)> {
    let wide: Vec<Found> = all().into_iter().filter(|found| !found.network.is_link_local()).collect();
    sorted(wide, wanted).into_iter().map(|found| (found.interface, found.network)).collect()
}

fn sorted(mut found: Vec<Found>, wanted: Option<&str>) -> Vec<Found> {
    let names: Vec<&str> = wanted.into_iter().flat_map(|text| text.split(',')).map(str::trim).collect();
    found.retain(|found| names.is_empty() || is_named(found, &names));
    if found.iter().any(|found| !found.network.address.is_loopback()) {
        found.retain(|found| !found.network.address.is_loopback());
    }
    let speed = |found: &Found| std::cmp::Reverse(found.speed);
    found.sort_by_key(|found| (found.network.is_link_local(), speed(found), found.network.address.is_ipv6()));
    found
}

fn is_named(found: &Found, names: &[&str]) -> bool {
    let holds = |name: &str| Network::parse(name).is_some_and(|network| network.holds(&found.network.address));
    names.iter().any(|name| *name == found.interface || holds(name))
}

fn all() -> Vec<Found> {
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: the call fills the list in, or fails.
    if unsafe { libc::getifaddrs(&raw mut list) } != 0 {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut next = list;
    // SAFETY: the entries are a list that ends with NULL and lives until it is freed.
    while let Some(entry) = unsafe { next.as_ref() } {
        // SAFETY: as above; the addresses of an entry are NULL or valid.
        found.extend(unsafe { usable(entry) });
        next = entry.ifa_next;
    }
    // SAFETY: the list came from `getifaddrs`, and nothing of it is used any more.
    unsafe { libc::freeifaddrs(list) };
    found
}

/// The address of an entry, if others may reach it.
///
/// # Safety
/// The pointers in the entry must be NULL or valid.
unsafe fn usable(entry: &libc::ifaddrs) -> Option<Found> {
    let wanted = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_uint;
    if entry.ifa_flags & wanted != wanted {
        return None;
    }
    // SAFETY: promised by the caller.
    let (address, mask) = unsafe { (address_of(entry.ifa_addr)?, address_of(entry.ifa_netmask)?) };
    let prefix = match mask {
        IpAddr::V4(mask) => mask.to_bits().leading_ones(),
        IpAddr::V6(mask) => mask.to_bits().leading_ones(),
    };
    // Those of IPv4 have no scope by which a link could be told.
    if matches!(address, IpAddr::V4(address) if address.is_link_local()) {
        return None;
    }
    let mut network = Network::new(address, prefix as u8);
    if network.is_link_local() {
        // SAFETY: promised by the caller; an address of this family has this form.
        network.scope = unsafe { entry.ifa_addr.cast::<libc::sockaddr_in6>().read_unaligned() }.sin6_scope_id;
    }
    // SAFETY: the name of an entry is a text.
    let interface = unsafe { CStr::from_ptr(entry.ifa_name) }.to_string_lossy().into_owned();
    let speed = std::fs::read_to_string(format!("/sys/class/net/{interface}/speed")).unwrap_or_default();
    Some(Found { interface, network, speed: speed.trim().parse().unwrap_or(0) })
}

/// # Safety
/// The pointer must be NULL or lead to an address of the family that it names.
unsafe fn address_of(address: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: promised by the caller; addresses of the two families have these forms.
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
