//! Frames of strangers and unexpected frames: the packet filter, truncated frames, floods.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use towpath_clic::frame::Kind;
use towpath_clic_wire::port::{Carrier, ETHERTYPE, Port, RawSide};

use crate::hosts::{Hosts, with_hosts};
use crate::traffic::{Block, Inbox, body, frame, until};

/// A packet socket on a host that does not follow CLIC's protocol.
struct Stranger {
    socket: OwnedFd,
    to: libc::sockaddr_ll,
}

impl Stranger {
    fn new(hosts: &Hosts, host: usize, to: &Port) -> Stranger {
        let interface = hosts.interface(host);
        // SAFETY: an all-zero `sockaddr_ll` is valid; the new descriptor is owned by this struct
        // alone.
        unsafe {
            let socket = libc::socket(libc::AF_PACKET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
            assert!(socket >= 0);
            let mut to_name: libc::sockaddr_ll = std::mem::zeroed();
            to_name.sll_family = libc::AF_PACKET as u16;
            to_name.sll_protocol = ETHERTYPE.to_be();
            to_name.sll_ifindex = interface.index as i32;
            to_name.sll_halen = 6;
            to_name.sll_addr[..6].copy_from_slice(&to.interface().hardware.unwrap());
            Stranger { socket: OwnedFd::from_raw_fd(socket), to: to_name }
        }
    }

    fn send(&self, bytes: &[u8]) {
        let length = size_of_val(&self.to) as u32;
        // SAFETY: `bytes` and `to` are readable for the given lengths during the call.
        let sent = unsafe {
            let name = (&raw const self.to).cast();
            libc::sendto(
                self.socket.as_raw_fd(),
                bytes.as_ptr().cast(),
                bytes.len(),
                0,
                name,
                length,
            )
        };
        assert_eq!(sent, bytes.len() as isize, "{}", std::io::Error::last_os_error());
    }
}

fn whole(endpoint: u16, kind: Kind, number: u32, length: usize) -> Vec<u8> {
    [&frame(endpoint, kind, number, length)[..], &body(number, length)].concat()
}

#[test]
fn the_filter_lets_in_what_is_for_this_endpoint() {
    with_hosts("strangers::the_filter_lets_in_what_is_for_this_endpoint", 2, 1500, |hosts| {
        let (mut sender, mut port, mut neighbour) = (hosts.port(0), hosts.port(1), hosts.port(1));
        let stranger = Stranger::new(hosts, 0, &port);
        let endpoint = port.endpoint();
        let mut wrong_version = whole(endpoint, Kind::Eager, 10, 100);
        wrong_version[16] = 0x20 | Kind::Eager as u8;
        for nonsense in [
            wrong_version,
            whole(endpoint ^ 0x100, Kind::Eager, 11, 100),
            whole(endpoint ^ 1, Kind::Eager, 12, 0),
            whole(0xffff, Kind::Data, 13, 100),
            whole(endpoint, Kind::Eager, 14, 100)[..31].to_vec(),
            vec![0; 60],
        ] {
            stranger.send(&nonsense);
        }
        stranger.send(&whole(endpoint, Kind::Data, 0, 50));
        // Ethernet pads short frames.
        stranger.send(&[&whole(endpoint, Kind::Eager, 1, 3)[..], &[0xee; 20]].concat());
        stranger.send(&whole(0xffff, Kind::Broadcast, 2, 100));
        let mut inbox = Inbox::default();
        until("the last frame comes", || {
            port.receive(64, &mut |frame| inbox.take_small(frame));
            inbox.numbers().ends_with(&[2])
        });
        assert_eq!(inbox.numbers(), [1, 2]);
        let mut block = Block::new(vec![50], 50);
        until("bulk comes", || port.receive_bulk(1, &mut block));
        assert!(block.missing.is_empty() && !port.receive_bulk(1, &mut block));
        // Only frames to all endpoints reach the neighbour.
        let mut others = Inbox::default();
        neighbour.receive(64, &mut |frame| others.take_small(frame));
        assert_eq!(others.numbers(), [2]);
        // A process does not receive its own frames, whatever endpoint number it writes into them.
        let way = sender.way_by(&port.address(), Carrier::Raw, Carrier::Raw);
        for endpoint in [sender.endpoint(), 0xffff] {
            let header = frame(endpoint, Kind::Broadcast, 3, 0);
            // SAFETY: the body has no bytes.
            assert!(unsafe { sender.output().send(&way, &header, std::ptr::null(), 0) });
        }
        until("the frame to everybody comes", || {
            port.receive(1, &mut |frame| inbox.take_small(frame))
        });
        assert!(!sender.receive(64, &mut |_| ()));
        assert_eq!(inbox.numbers(), [1, 2, 3]);
        assert_eq!(port.counters(), Default::default());
    });
}

#[test]
fn frames_that_are_too_long_are_counted_and_dropped() {
    with_hosts("strangers::frames_that_are_too_long_are_counted_and_dropped", 2, 9000, |hosts| {
        let mut interface = hosts.interface(1);
        interface.mtu = 3000;
        let mut port = Port::open(&interface, None, RawSide::Whole).unwrap();
        let stranger = Stranger::new(hosts, 0, &port);
        let endpoint = port.endpoint();
        for (number, length) in [(1, 2968), (2, 2969), (3, 8000), (4, 1900), (5, 2000)] {
            stranger.send(&whole(endpoint, Kind::Eager, number, length));
        }
        let mut inbox = Inbox::default();
        until("the last frame comes", || {
            port.receive(1, &mut |frame| inbox.take_small(frame));
            inbox.numbers().ends_with(&[5])
        });
        assert_eq!(inbox.numbers(), [1, 4, 5]);
        assert_eq!(port.counters().truncated, 2);
        // Bulk has room for a destination and a frame: anything longer than both is truncated.
        stranger.send(&whole(endpoint, Kind::Data, 0, 8000));
        stranger.send(&whole(endpoint, Kind::Data, 0, 2000));
        let mut block = Block::new(vec![2000], 2000);
        until("bulk comes", || {
            port.receive_bulk(1, &mut block);
            block.missing.is_empty()
        });
        assert_eq!(port.counters().truncated, 3);
    });
}

#[test]
fn datagrams_that_are_too_short_are_harmless() {
    let mut port = crate::loopback();
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = port.address();
    for bytes in [0, 1, 31] {
        for number in [address.port, address.bulk_port] {
            socket.send_to(&vec![7; bytes], ("127.0.0.1", number)).unwrap();
        }
    }
    let mut lengths = Vec::new();
    until("all come", || {
        port.receive(1, &mut |frame| lengths.push(frame.len()));
        lengths.len() == 3
    });
    assert_eq!(lengths, [0, 1, 31], "whoever decodes them sees that they are short");
    let mut block = Block::new(vec![100], 100);
    until("all come", || {
        port.receive_bulk(1, &mut block);
        port.counters().truncated == 3
    });
    assert_eq!(block.missing.len(), 1);
}

#[test]
fn a_flood_costs_bounded_memory_and_ends() {
    with_hosts("strangers::a_flood_costs_bounded_memory_and_ends", 3, 9000, |hosts| {
        let (mut sender, mut port) = (hosts.port(0), hosts.port(1));
        let stranger = Stranger::new(hosts, 2, &port);
        let endpoint = port.endpoint();
        // Small, as long as a slot, and bulk.
        let sorts = [(Kind::Eager, 10), (Kind::Eager, 8000), (Kind::Data, 8000)];
        for (kind, length) in sorts {
            let frame = whole(endpoint, kind, 0, length);
            (0..5000).for_each(|_| stranger.send(&frame));
        }
        let mut came = 0;
        while port.receive(64, &mut |_| came += 1) {}
        assert!((250..=256).contains(&came), "{came} of 10000 frames were kept");
        let mut block = Block::careless();
        while port.receive_bulk(1, &mut block) {}
        assert!(
            block.strange > 0 && block.strange * 8000 < 8 << 20,
            "{} frames were kept",
            block.strange
        );
        // On a busy machine some frames are lost before they reach a socket.
        let gone = 15_000 - came - block.strange as u64;
        let dropped = port.counters().dropped;
        assert!(dropped > gone / 2 && dropped <= gone, "{dropped} of {gone} are counted");
        // Afterwards everything works as before.
        let way = sender.way_by(&port.address(), Carrier::Raw, Carrier::Raw);
        let mut inbox = Inbox::default();
        let header = frame(endpoint, Kind::Eager, 9, 0);
        // SAFETY: the body has no bytes.
        assert!(unsafe { sender.output().send(&way, &header, std::ptr::null(), 0) });
        until("a frame comes after the flood", || {
            port.receive(1, &mut |frame| inbox.take_small(frame))
        });
        assert_eq!(inbox.numbers(), [9]);
    });
}
