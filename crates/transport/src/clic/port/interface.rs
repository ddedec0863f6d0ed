//! The Ethernet interfaces of this host.

use std::ffi::CString;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use crate::tcp::{Network, chosen};

/// Packets that are longer than this are not used: a window of them would not fit into the buffers of a socket.
const LONGEST: u16 = 16 << 10;
/// Packets that are shorter are not worth the trouble (and IPv6 asks for as much).
const SHORTEST: u16 = 1280;

/// An interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its number in this network namespace.
    pub index: u32,
    /// Its Ethernet address; all zero for the loopback, `None` where it is no Ethernet.
    pub hardware: Option<[u8; 6]>,
    /// Its internet address and network.
    pub network: Network,
    /// Longest packet in bytes that CLIC sends over it: IP header included, Ethernet header not.
    pub mtu: u16,
    /// Nominal speed in Mbit/s, 0 where the system does not say.
    pub speed: u32,
}

/// The interfaces by which other hosts may reach this one, the fastest first: all that are up and have an internet address, or only
/// those that `choice` names, in the same words as for [`crate::tcp::networks`]. The loopback only without any others.
pub fn interfaces(choice: Option<&str>) -> Vec<Interface> {
    let Ok(socket) = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None) else {
        return Vec::new();
    };
    let mut all: Vec<Interface> = Vec::new();
    for (name, network) in chosen(choice) {
        // The first network of an interface is the best.
        if all.iter().all(|known| known.name != name) {
            all.extend(ask(&socket, name, network));
        }
    }
    all.sort_by_key(|interface| std::cmp::Reverse(interface.speed));
    all
}

/// The ioctls ask in the network namespace of the process, whatever /sys shows.
fn ask(socket: &OwnedFd, name: String, network: Network) -> Option<Interface> {
    let mut request = request(&name)?;
    // SAFETY: each call fills in the part of the union that is read after it.
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

fn request(name: &str) -> Option<libc::ifreq> {
    let name = CString::new(name).ok()?;
    // SAFETY: a request of zeros is valid.
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

/// # Safety
/// `what` must be a call that takes an `ifreq`, and the pointers in the request must be what it expects.
unsafe fn call(socket: &OwnedFd, what: libc::c_ulong, request: &mut libc::ifreq) -> Option<()> {
    // SAFETY: promised by the caller.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), what as _, std::ptr::from_mut(request)) };
    (result == 0).then_some(())
}

/// The start of the kernel's `struct ethtool_cmd`; it is 44 bytes long.
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
    // SAFETY: the request leads to settings of the length that this command fills in.
    if unsafe { call(socket, libc::SIOCETHTOOL, &mut request) }.is_none() {
        return 0;
    }
    match u32::from(settings.speed_high) << 16 | u32::from(settings.speed_low) {
        // Old drivers say 65535 for unknown, newer ones all ones.
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
        assert_eq!((all[0].name.as_str(), all[0].hardware, all[0].mtu), ("lo", Some([0; 6]), LONGEST));
        assert!(all[0].network.address.is_loopback() && all[0].index > 0);
        assert!(interfaces(Some("no-such-interface")).is_empty());
        assert!(!interfaces(None).is_empty());
    }
}
