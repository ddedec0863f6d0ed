//! The Ethernet interfaces of this host, and detection of changes to one since it was first
//! queried.

use std::ffi::CString;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use towpath_machine::network::{Network, chosen};

/// Longer packets are not used: a window of them would not fit into a socket buffer.
const LONGEST: u16 = 16 << 10;
/// Interfaces with a smaller MTU are not used: they are not worth the effort (and IPv6 requires
/// this much).
const SHORTEST: u16 = 1280;

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its index in this network namespace.
    pub index: u32,
    /// Its Ethernet address; all zero for the loopback, `None` if it is not Ethernet.
    pub hardware: Option<[u8; 6]>,
    /// Its IP address and network.
    pub network: Network,
    /// Longest packet in bytes that CLIC sends over it: including the IP header, without the
    /// Ethernet header.
    pub mtu: u16,
    /// Nominal speed in Mbit/s, 0 if the system does not report one.
    pub speed: u32,
}

/// The interfaces over which other hosts may reach this one, fastest first: all that are up and
/// have an IP address, or only those that `choice` names, in the syntax of
/// [`towpath_machine::network::networks`]. The loopback only if there are no others.
pub fn interfaces(choice: Option<&str>) -> Vec<Interface> {
    let Ok(socket) =
        socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
    else {
        return Vec::new();
    };
    let mut all: Vec<Interface> = Vec::new();
    for (name, network) in chosen(choice) {
        // The first network of an interface is the preferred one.
        if all.iter().all(|known| known.name != name) {
            all.extend(ask(&socket, name, network));
        }
    }
    all.sort_by_key(|interface| std::cmp::Reverse(interface.speed));
    all
}

/// Queries an interface by ioctls, which refer to the network namespace of the process regardless
/// of what is mounted at /sys.
fn ask(socket: &OwnedFd, name: String, network: Network) -> Option<Interface> {
    let mut request = request(&name)?;
    // SAFETY: these ioctls take an `ifreq` without pointers, and each sets the union field that is
    // read after it.
    let (index, mtu, hardware) = unsafe {
        call(socket, libc::SIOCGIFINDEX, &mut request)?;
        let index = request.ifr_ifru.ifru_ifindex;
        call(socket, libc::SIOCGIFMTU, &mut request)?;
        let mtu = request.ifr_ifru.ifru_mtu;
        call(socket, libc::SIOCGIFHWADDR, &mut request)?;
        (index, mtu, request.ifr_ifru.ifru_hwaddr)
    };
    let is_ethernet = [libc::ARPHRD_ETHER, libc::ARPHRD_LOOPBACK].contains(&hardware.sa_family);
    let bytes = hardware.sa_data.first_chunk::<6>().map(|bytes| bytes.map(|byte| byte as u8));
    let mtu = u16::try_from(mtu).unwrap_or(LONGEST).min(LONGEST);
    let usable = mtu >= SHORTEST && index > 0;
    usable.then(|| Interface {
        index: index as u32,
        hardware: bytes.filter(|_| is_ethernet),
        network,
        mtu,
        speed: speed(socket, &name),
        name,
    })
}

/// Maximum number of IPv4 addresses that are searched; a host with more is assumed to have kept its
/// own.
const ADDRESSES: usize = 256;

/// The current state of an interface.
pub(super) enum Now {
    /// Peers can reach it as before. Its current MTU.
    Same(u16),
    /// Peers cannot reach it; the reason, for the user.
    Other(String),
}

impl Interface {
    /// Queries the interface again, in the network namespace of the socket.
    pub(super) fn now(&self, socket: &OwnedFd) -> Now {
        // SAFETY: an all-zero `ifreq` is valid.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        request.ifr_ifru.ifru_ifindex = self.index as i32;
        // SAFETY: these ioctls take an `ifreq` without pointers, and each sets the field that is
        // read after it; the first one sets the name.
        let asked = unsafe {
            call(socket, libc::SIOCGIFNAME, &mut request)
                .and_then(|()| call(socket, libc::SIOCGIFMTU, &mut request))
                .map(|()| request.ifr_ifru.ifru_mtu)
                .and_then(|mtu| call(socket, libc::SIOCGIFHWADDR, &mut request).map(|()| mtu))
        };
        let name = &self.name;
        let Some(mtu) = asked else { return Now::Other(format!("{name} is gone")) };
        // SAFETY: the last ioctl has set the hardware address.
        let hardware = unsafe { request.ifr_ifru.ifru_hwaddr };
        let bytes = hardware.sa_data.first_chunk::<6>().map(|bytes| bytes.map(|byte| byte as u8));
        if let Some(before) = self.hardware.filter(|before| Some(*before) != bytes) {
            let now = bytes.map_or_else(|| "another".to_owned(), |bytes| shown(&bytes));
            let before = shown(&before);
            return Now::Other(format!(
                "the Ethernet address of {name} was {before} when the job started and is {now}"
            ));
        }
        if let IpAddr::V4(address) = self.network.address
            && addresses(socket).is_some_and(|all| !all.contains(&address))
        {
            return Now::Other(format!(
                "{name} had the address {address} when the job started and no longer has it"
            ));
        }
        Now::Same(u16::try_from(mtu).unwrap_or(LONGEST))
    }
}

fn shown(hardware: &[u8; 6]) -> String {
    hardware.map(|byte| format!("{byte:02x}")).join(":")
}

/// All IPv4 addresses in the network namespace of a socket; `None` if there are too many.
fn addresses(socket: &OwnedFd) -> Option<Vec<Ipv4Addr>> {
    // SAFETY: an all-zero `ifreq` is valid.
    let mut all: Vec<libc::ifreq> = vec![unsafe { std::mem::zeroed() }; ADDRESSES];
    let room = size_of_val(&all[..]);
    let mut list = libc::ifconf {
        ifc_len: room as i32,
        ifc_ifcu: libc::__c_anonymous_ifc_ifcu { ifcu_req: all.as_mut_ptr() },
    };
    // SAFETY: `list` points to `all` and contains its length in bytes.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFCONF as _, &raw mut list) };
    let filled =
        usize::try_from(list.ifc_len).ok().filter(|filled| result == 0 && *filled < room)?;
    let address = |request: &libc::ifreq| {
        // SAFETY: SIOCGIFCONF has filled in this entry with an IPv4 address.
        let name = unsafe {
            (&raw const request.ifr_ifru.ifru_addr).cast::<libc::sockaddr_in>().read_unaligned()
        };
        Ipv4Addr::from_bits(u32::from_be(name.sin_addr.s_addr))
    };
    Some(all[..filled / size_of::<libc::ifreq>()].iter().map(address).collect())
}

fn request(name: &str) -> Option<libc::ifreq> {
    let name = CString::new(name).ok()?;
    // SAFETY: an all-zero `ifreq` is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let bytes = name.as_bytes_with_nul();
    if bytes.len() > request.ifr_name.len() {
        return None;
    }
    for (place, byte) in request.ifr_name.iter_mut().zip(bytes) {
        *place = *byte as libc::c_char;
    }
    Some(request)
}

/// Makes an ioctl on an interface; `None` if the system refuses it.
///
/// # Safety
/// `what` must be an ioctl that takes an `ifreq`, and the pointers that it expects in the request
/// must be valid.
unsafe fn call(socket: &OwnedFd, what: libc::c_ulong, request: &mut libc::ifreq) -> Option<()> {
    // SAFETY: `what` takes an `ifreq`, and the pointers in `request` are valid (this function's
    // contract).
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), what as _, std::ptr::from_mut(request)) };
    (result == 0).then_some(())
}

/// The beginning of the kernel's `struct ethtool_cmd`, 44 bytes long.
#[repr(C)]
#[derive(Default)]
struct Settings {
    command: u32,
    supported: u32,
    advertising: u32,
    speed_low: u16,
    various: [u8; 14],
    speed_high: u16,
    more: [u8; 12],
}

const ETHTOOL_GSET: u32 = 1;

fn speed(socket: &OwnedFd, name: &str) -> u32 {
    let mut settings = Settings { command: ETHTOOL_GSET, ..Settings::default() };
    let Some(mut request) = request(name) else { return 0 };
    request.ifr_ifru.ifru_data = (&raw mut settings).cast();
    // SAFETY: SIOCETHTOOL takes an `ifreq` that points to a command; ETHTOOL_GSET fills in the 44
    // bytes of `settings`.
    if unsafe { call(socket, libc::SIOCETHTOOL, &mut request) }.is_none() {
        return 0;
    }
    match u32::from(settings.speed_high) << 16 | u32::from(settings.speed_low) {
        // Old drivers report 65535 for an unknown speed, newer ones all ones.
        0xffff | u32::MAX => 0,
        speed => speed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_known_and_named() {
        assert_eq!(size_of::<Settings>(), 44);
        assert_eq!(std::mem::offset_of!(Settings, speed_high), 28);
        let all = interfaces(Some("lo"));
        assert_eq!(
            (all[0].name.as_str(), all[0].hardware, all[0].mtu),
            ("lo", Some([0; 6]), LONGEST)
        );
        assert!(all[0].network.address.is_loopback() && all[0].index > 0);
        assert!(interfaces(Some("no-such-interface")).is_empty());
        assert!(!interfaces(None).is_empty());
    }

    #[test]
    fn an_interface_that_others_reach_no_more_is_found_out() {
        let socket =
            socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
                .unwrap();
        let loopback = interfaces(Some("lo")).remove(0);
        assert!(matches!(loopback.now(&socket), Now::Same(LONGEST..)));
        let sentence = |interface: Interface| match interface.now(&socket) {
            Now::Same(_) => String::new(),
            Now::Other(sentence) => sentence,
        };
        assert_eq!(sentence(Interface { index: 1 << 30, ..loopback.clone() }), "lo is gone");
        let hardware = Some([2, 0, 0, 0, 0, 0x1f]);
        assert_eq!(
            sentence(Interface { hardware, ..loopback.clone() }),
            "the Ethernet address of lo was 02:00:00:00:00:1f when the job started and is 00:00:00:00:00:00"
        );
        // An address reserved for documentation (RFC 5737).
        let network = Network { address: Ipv4Addr::new(192, 0, 2, 1).into(), ..loopback.network };
        assert!(
            sentence(Interface { network, ..loopback })
                .starts_with("lo had the address 192.0.2.1 ")
        );
    }
}
