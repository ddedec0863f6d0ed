//! The address of a port, which a process publishes in its card for each of its interfaces.

#![forbid(unsafe_code)]

use std::net::{IpAddr, SocketAddr};

use towpath_machine::network::Network;

/// The address of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Its Ethernet address, if it accepts raw frames.
    pub hardware: Option<[u8; 6]>,
    /// Its IP address and the prefix length of its network.
    pub network: Network,
    /// UDP port for everything but bulk.
    pub port: u16,
    /// UDP port for bulk.
    pub bulk_port: u16,
    /// Longest packet of the interface in bytes, IP header included.
    pub mtu: u16,
    /// Nominal speed of the link in Mbit/s, 0 if unknown.
    pub speed: u32,
}

impl Address {
    /// Encodes the address as text: `hardware/address/prefix/port/bulk port/mtu/speed`, hardware as
    /// 12 hexadecimal digits, or `-`.
    pub fn to_text(&self) -> String {
        let hardware = match self.hardware {
            Some(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
            None => "-".to_owned(),
        };
        let Address {
            network: Network { address, prefix, .. }, port, bulk_port, mtu, speed, ..
        } = self;
        format!("{hardware}/{address}/{prefix}/{port}/{bulk_port}/{mtu}/{speed}")
    }

    /// Parses an address; `None` if the text is malformed. Further fields, which a later version
    /// may append, are ignored.
    pub fn parse(text: &str) -> Option<Address> {
        let mut parts = text.split('/');
        let hardware = match parts.next()? {
            "-" => None,
            digits => Some(read_hardware(digits)?),
        };
        let address: IpAddr = parts.next()?.parse().ok()?;
        let prefix = parts.next()?.parse().ok()?;
        if prefix > if address.is_ipv4() { 32 } else { 128 } {
            return None;
        }
        Some(Address {
            hardware,
            network: Network::new(address, prefix),
            port: parts.next()?.parse().ok()?,
            bulk_port: parts.next()?.parse().ok()?,
            mtu: parts.next()?.parse().ok()?,
            speed: parts.next()?.parse().ok()?,
        })
    }

    pub(super) fn socket_address(&self) -> SocketAddr {
        SocketAddr::new(self.network.address, self.port)
    }

    pub(super) fn bulk_socket_address(&self) -> SocketAddr {
        SocketAddr::new(self.network.address, self.bulk_port)
    }
}

fn read_hardware(digits: &str) -> Option<[u8; 6]> {
    if digits.len() != 12 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let all = u64::from_str_radix(digits, 16).ok()?.to_be_bytes();
    all.last_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nonsense_is_no_address() {
        let right = "02aabbccddee/10.77.0.1/24/4000/4001/1500/10000";
        assert_eq!(Address::parse(right).unwrap().to_text(), right);
        assert_eq!(Address::parse(&format!("{right}/more")), Address::parse(right));
        for wrong in [
            "",
            "02aabbccddee",
            "02aabbccdde/10.77.0.1/24/4000/4001/1500/10000",
            "+2aabbccddee/10.77.0.1/24/4000/4001/1500/10000",
            "é2aabbccdde/10.77.0.1/24/4000/4001/1500/10000",
            "-/10.77.0.1/33/4000/4001/1500/10000",
            "-/10.77.0.1/24/4000/65536/1500/10000",
            "-/10.77.0/24/4000/4001/1500/10000",
            "-/10.77.0.1/24/4000/4001/1500",
        ] {
            assert_eq!(Address::parse(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn an_address_is_read_back(
            hardware: Option<[u8; 6]>, address: IpAddr, prefix in 0u8..33, port: u16, bulk_port: u16, mtu: u16, speed: u32,
        ) {
            let address = Address { hardware, network: Network::new(address, prefix), port, bulk_port, mtu, speed };
            prop_assert_eq!(Address::parse(&address.to_text()), Some(address));
        }

        #[test]
        fn any_text_is_an_address_or_refused(text in "[0-9a-f.:/-]{0,60}", other: String) {
            let _ = (Address::parse(&text), Address::parse(&other));
        }
    }
}
