//! CLIC's ports on real sockets: over the loopback without privileges, and between network
//! namespaces if those can be created.

mod hosts;
mod outage;
mod shapes;
mod strangers;
mod traffic;
mod trial;

use std::ops::Range;

use hosts::with_hosts;
use towpath_clic::frame::Kind;
use towpath_clic_wire::port::{Carrier, GroupAddress, OutgoingFrame, Port, RawSide, interfaces};
use traffic::{Inbox, body, frame, until};

fn loopback() -> Port {
    Port::open(&interfaces(Some("lo"))[0], None, RawSide::Whole).unwrap()
}

/// Sends small frames of many lengths and bulk in blocks of many shapes, and checks that every byte
/// arrives unchanged.
fn everything_arrives(sender: &mut Port, receiver: &mut Port, carriers: [Carrier; 2]) {
    let way = sender.way_by(&receiver.address(), carriers[0], carriers[1]);
    assert_eq!(way.carriers(), carriers);
    let longest = usize::from(way.payload());
    let mut inbox = Inbox::default();
    for (number, length) in
        [0, 1, 14, 32, 500, longest - 1, longest].into_iter().cycle().take(2000).enumerate()
    {
        let body = body(number as u32, length);
        let header = frame(receiver.endpoint(), Kind::Eager, number as u32, length);
        // SAFETY: `body` outlives the call.
        until("a frame is taken", || unsafe {
            sender.output().send(&way, &header, body.as_ptr(), length)
        });
        until("a frame arrives", || receiver.receive(1, &mut |frame| inbox.take_small(frame)));
    }
    assert_eq!(inbox.numbers(), (0..2000).collect::<Vec<u32>>());
    for last in [1, 100, longest - 1, longest] {
        for count in [1, 2, 45, 64] {
            inbox.bulk(sender, receiver, &way, count, longest, last);
        }
    }
    for lengths in [
        vec![0; 3],
        vec![49; 64],
        vec![longest; 7],
        [vec![longest; 5], vec![17]].concat(),
        vec![3, 500, 500, 900, 0, 1],
    ] {
        inbox.train(sender, receiver, &way, &lengths);
    }
    assert_eq!(receiver.counters().truncated, 0);
}

#[test]
fn datagrams_arrive() {
    let (mut one, mut other) = (loopback(), loopback());
    assert_ne!(one.endpoint(), other.endpoint());
    everything_arrives(&mut one, &mut other, [Carrier::Udp; 2]);
    // Not every host has IPv6.
    if let Some(interface) = interfaces(Some("::1/128")).first() {
        let [mut one, mut other] =
            [(); 2].map(|()| Port::open(interface, None, RawSide::Whole).unwrap());
        assert!(one.address().network.address.is_ipv6());
        everything_arrives(&mut one, &mut other, [Carrier::Udp; 2]);
    }
}

#[test]
fn frames_arrive() {
    for mtu in [1500, 9000] {
        with_hosts("frames_arrive", 2, mtu, |hosts| {
            let (mut one, mut other) = (hosts.port(0), hosts.port(1));
            assert!(one.without_raw().is_none(), "{:?}", one.without_raw());
            for carriers in [
                [Carrier::Raw; 2],
                [Carrier::Raw, Carrier::Udp],
                [Carrier::Raw, Carrier::Crafted],
                [Carrier::Udp; 2],
            ] {
                everything_arrives(&mut one, &mut other, carriers);
            }
        });
    }
}

#[test]
fn groups_reach_their_members_and_nobody_of_the_same_host() {
    with_hosts("groups_reach_their_members_and_nobody_of_the_same_host", 3, 1500, |hosts| {
        let homes = [0, 1, 2, 0, 1];
        let mut ports: Vec<Port> = homes.into_iter().map(|host| hosts.port(host)).collect();
        for by in [Carrier::Raw, Carrier::Crafted, Carrier::Udp] {
            let [group, strange] = [1, 2].map(|number| GroupAddress::new(99, number));
            let way = ports[0].group_way(&group, by);
            assert_eq!(way.carriers()[1], by);
            for (port, home) in ports.iter_mut().zip(homes) {
                hosts.enter(home);
                port.join(&group, by).unwrap();
            }
            let mut heard = vec![Inbox::default(); ports.len()];
            let round = |group: &GroupAddress, ports: &mut [Port], numbers: Range<u32>| {
                let way = ports[0].group_way(group, by);
                let bodies: Vec<Vec<u8>> =
                    numbers.clone().map(|number| body(number, 700)).collect();
                let named = |(number, body): (u32, &Vec<u8>)| OutgoingFrame {
                    header: frame(0xffff, Kind::Broadcast, number, body.len()),
                    body: body.as_ptr(),
                    length: body.len(),
                };
                let frames: Vec<OutgoingFrame> = numbers.zip(&bodies).map(named).collect();
                // SAFETY: `bodies` outlives the call.
                assert_eq!(unsafe { ports[0].output().send_bulk(&way, &frames) }, frames.len());
            };
            for number in 0..4 {
                round(&group, &mut ports, 5 * number..5 * number + 5);
                round(&strange, &mut ports, 1000 + number..1001 + number);
            }
            let all: Vec<u32> = (0..20).collect();
            until("all members hear it", || {
                for (port, inbox) in ports.iter_mut().zip(&mut heard) {
                    port.receive(64, &mut |frame| inbox.take_small(frame));
                }
                [1, 2, 4].iter().all(|member| heard[*member].among(&all) == all)
            });
            for host_mate in [0, 3] {
                assert!(
                    heard[host_mate].numbers().is_empty(),
                    "{by:?}: port {host_mate} hears its own host: {:?}",
                    heard[host_mate].numbers()
                );
            }
            assert_eq!(usize::from(way.payload()), if by == Carrier::Raw { 1468 } else { 1440 });
            if by != Carrier::Raw {
                assert!(
                    heard.iter().all(|inbox| inbox.numbers().iter().all(|number| *number < 1000)),
                    "not joined"
                );
            }
            for port in &mut ports {
                port.leave(&group, by);
            }
        }
    });
}
