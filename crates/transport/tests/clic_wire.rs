//! CLIC as a wire, alone: what its owner sleeps on.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use towpath_base::ids::PeerIndex;
use towpath_transport::clic::key::JobKey;
use towpath_transport::clic::port::{Port, RawSide, interfaces};
use towpath_transport::clic::{Clic, Contact, Identity};
use towpath_transport::{Header, Sink};

struct Nothing;

impl Sink for Nothing {
    fn arrived(&mut self, _: PeerIndex, _: &Header, _: *const u8, _: usize) {}
    fn released(&mut self, _: u64) {}
    fn pulled(&mut self, _: u64) {}
    fn lost(&mut self, _: PeerIndex) {}
}

fn is_readable(clic: &Clic) -> bool {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(&clic.descriptor(), PollFlags::IN)], Some(&at_once)).unwrap() > 0
}

#[test]
fn bulk_that_nobody_waits_for_keeps_nobody_awake() {
    let interface = interfaces(Some("lo")).remove(0);
    let ports = [(); 2].map(|()| Port::open(&interface, None, RawSide::Closed).unwrap());
    let contact = Contact {
        peer: PeerIndex(1),
        endpoint: ports[1].endpoint(),
        incarnation: 1,
        rails: vec![(0, ports[1].address(), false)],
    };
    let [own, _other] = ports;
    let (address, endpoint) = (own.address(), own.endpoint());
    let identity = Identity { own: PeerIndex(0), endpoint, incarnation: 1, key: JobKey([1, 2]), drowsy: false };
    let mut clic = Clic::new(identity, vec![own], &[contact]).unwrap();
    let stranger = UdpSocket::bind((address.network.address, 0)).unwrap();
    for _ in 0..20 {
        stranger.send_to(&[0; 500], (address.network.address, address.bulk_port)).unwrap();
    }
    assert!(is_readable(&clic));
    let begin = Instant::now();
    while is_readable(&clic) {
        clic.progress(&mut Nothing);
        clic.fall_asleep();
        assert!(begin.elapsed() < Duration::from_secs(10), "it would never sleep again");
    }
}
