//! Long runs with random parameters: rings that wrap around, right and wrong predictions, full
//! interfaces.

use std::os::fd::AsRawFd;

use towpath_clic::frame::Kind;
use towpath_clic_wire::port::{Carrier, OutgoingFrame, Port, Way};

use crate::hosts::{ip, tool, with_hosts};
use crate::traffic::{Block, Inbox, Random, body, frame, until};

#[test]
fn a_ring_comes_round_many_times() {
    with_hosts("shapes::a_ring_comes_round_many_times", 2, 9000, |hosts| {
        let (mut sender, mut receiver) = (hosts.port(0), hosts.port(1));
        let way = sender.way_by(&receiver.address(), Carrier::Raw, Carrier::Raw);
        let mut random = Random(1);
        let mut inbox = Inbox::default();
        let (mut sent, mut wanted) = (0, Vec::new());
        while sent < 20_000 {
            // Up to a full ring.
            for _ in 0..random.below(256) + 1 {
                let longest = if random.below(20) == 0 { usize::from(way.payload()) } else { 1500 };
                let body = body(sent, random.below(longest as u64 + 1) as usize);
                let header = frame(receiver.endpoint(), Kind::Eager, sent, body.len());
                // SAFETY: `body` outlives the call.
                until("a frame is taken", || unsafe {
                    sender.output().send(&way, &header, body.as_ptr(), body.len())
                });
                wanted.push(sent);
                sent += 1;
            }
            until("they all come", || {
                receiver
                    .receive(random.below(100) as usize + 1, &mut |frame| inbox.take_small(frame));
                inbox.numbers().len() == wanted.len()
            });
        }
        assert_eq!(inbox.numbers(), wanted);
        assert_eq!(receiver.counters(), Default::default());
    });
}

/// Blocks whose frames arrive in any order, some twice, some with unexpected lengths, with right or
/// wrong predictions.
fn predictions(sender: &mut Port, receiver: &mut Port, way: &Way, seed: u64) {
    let mut random = Random(seed);
    let longest = usize::from(way.payload());
    let (mut in_place, mut moved) = (0, 0);
    for round in 0..150 {
        let count = 1 + random.below(64) as usize;
        let length = [longest, longest & !63, 1 + random.below(longest as u64) as usize]
            [random.below(3) as usize];
        let shortest = if random.below(3) == 0 { 0 } else { length };
        let mut lengths: Vec<usize> = (0..count)
            .map(|_| shortest + random.below((length - shortest) as u64 + 1) as usize)
            .collect();
        lengths[count - 1] = random.below(length as u64 + 1) as usize;
        let bodies: Vec<Vec<u8>> =
            (0..count).map(|index| body(index as u32, lengths[index])).collect();
        let mut order: Vec<usize> = (0..count).collect();
        let disorder = [0, 1, 5, 100][random.below(4) as usize];
        for _ in 0..disorder {
            let (one, other) =
                (random.below(count as u64) as usize, random.below(count as u64) as usize);
            order.swap(one, other);
        }
        for _ in 0..disorder / 5 {
            order.insert(
                random.below(order.len() as u64) as usize,
                random.below(count as u64) as usize,
            );
        }
        let frames: Vec<OutgoingFrame> = order
            .iter()
            .map(|index| OutgoingFrame {
                header: frame(receiver.endpoint(), Kind::Data, *index as u32, lengths[*index]),
                body: bodies[*index].as_ptr(),
                length: lengths[*index],
            })
            .collect();
        let mut block = Block::new(lengths, length);
        block.astray = random.below(4) as usize;
        block.random = Random(seed + round);
        let mut sent = 0;
        until("a block arrives", || {
            if sent < frames.len() {
                let most = (sent + 1 + random.below(64) as usize).min(frames.len());
                // SAFETY: `bodies` outlives the call.
                sent += unsafe { sender.output().send_bulk(way, &frames[sent..most]) };
            }
            receiver.receive_bulk(1 + random.below(3) as usize, &mut block);
            block.missing.is_empty() && block.in_place + block.moved + block.again == frames.len()
        });
        assert!(block.is_whole(), "wrong bytes in round {round}");
        in_place += block.in_place;
        moved += block.moved;
    }
    assert!(in_place > 500 && moved > 500, "{in_place} in place, {moved} moved");
    assert_eq!(receiver.counters().truncated, 0);
}

#[test]
fn predictions_of_datagrams_are_only_hints() {
    let (mut one, mut other) = (crate::loopback(), crate::loopback());
    let way = one.way(&other.address(), false);
    predictions(&mut one, &mut other, &way, 1);
}

#[test]
fn predictions_of_frames_are_only_hints() {
    for mtu in [1500, 9000] {
        with_hosts("shapes::predictions_of_frames_are_only_hints", 2, mtu, |hosts| {
            let (mut one, mut other) = (hosts.port(0), hosts.port(1));
            for (seed, carrier) in
                [Carrier::Raw, Carrier::Udp, Carrier::Crafted].into_iter().enumerate()
            {
                let way = one.way_by(&other.address(), Carrier::Raw, carrier);
                assert_eq!(way.carriers()[1], carrier);
                predictions(&mut one, &mut other, &way, 100 * seed as u64);
            }
        });
    }
}

#[test]
fn a_full_interface_refuses_and_loses_nothing_that_it_took() {
    with_hosts(
        "shapes::a_full_interface_refuses_and_loses_nothing_that_it_took",
        2,
        1500,
        |hosts| {
            let (mut sender, mut receiver) = (hosts.port(0), hosts.port(1));
            hosts.enter(0);
            tool("tc", "qdisc add dev eth root tbf rate 20mbit burst 4kb limit 20kb").unwrap();
            for carrier in [Carrier::Raw, Carrier::Udp] {
                let way = sender.way_by(&receiver.address(), carrier, Carrier::Raw);
                let body = body(0, 1000);
                let (mut taken, mut refused, mut inbox) = (Vec::new(), 0, Inbox::default());
                for number in 0..2000 {
                    let header = frame(receiver.endpoint(), Kind::Eager, number, 1000);
                    // SAFETY: `body` has 1000 bytes and outlives the call.
                    match unsafe { sender.output().send(&way, &header, body.as_ptr(), 1000) } {
                        true => taken.push(number),
                        false => refused += 1,
                    }
                }
                assert!(
                    refused > 1000 && taken.len() > 10,
                    "{carrier:?}: {} taken, {refused} refused",
                    taken.len()
                );
                until("what was taken comes", || {
                    receiver.receive(64, &mut |frame| inbox.note(frame));
                    inbox.numbers().len() == taken.len()
                });
                assert_eq!(inbox.numbers(), taken);
            }
            let way = sender.way_by(&receiver.address(), Carrier::Raw, Carrier::Raw);
            let before = sender.counters().unsent;
            Inbox::default().bulk(&mut sender, &mut receiver, &way, 500, 1400, 7);
            assert_eq!(sender.counters().unsent, before);
        },
    );
}

/// Number of descriptors of the port that would wake up a sleeper now.
fn awake(port: &Port) -> usize {
    let descriptors = port.descriptors().map(|descriptor| descriptor.as_raw_fd());
    let mut asked: Vec<libc::pollfd> =
        descriptors.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect();
    // SAFETY: `asked` is writable for its length.
    let found = unsafe { libc::poll(asked.as_mut_ptr(), asked.len() as libc::nfds_t, 0) };
    usize::try_from(found).unwrap()
}

#[test]
fn an_interface_that_goes_down_and_up_loses_frames_and_keeps_nobody_awake() {
    let name = "shapes::an_interface_that_goes_down_and_up_loses_frames_and_keeps_nobody_awake";
    with_hosts(name, 2, 1500, |hosts| {
        let (mut sender, mut receiver) = (hosts.port(0), hosts.port(1));
        let ways = [Carrier::Raw, Carrier::Udp]
            .map(|carrier| sender.way_by(&receiver.address(), carrier, carrier));
        let endpoint = receiver.endpoint();
        let mut send = |way: &Way, number: u32| {
            let header = frame(endpoint, Kind::Eager, number, 0);
            // SAFETY: the body has no bytes.
            unsafe { sender.output().send(way, &header, std::ptr::null(), 0) }
        };
        for host in [0, 1] {
            hosts.enter(host);
            ip("link set eth down").unwrap();
        }
        assert!(ways.iter().all(|way| send(way, 1)), "frames that cannot be sent are lost frames");
        for host in [0, 1] {
            hosts.enter(host);
            ip("link set eth up").unwrap();
        }
        hosts.wait_for_link(1).unwrap();
        for way in &ways {
            until("frames come again", || {
                let mut came = false;
                assert!(send(way, 2));
                receiver.receive(64, &mut |_| came = true);
                came
            });
        }
        assert!(sender.counters().unsent > 0);
        until("the receiver falls asleep", || {
            receiver.receive(64, &mut |_| ());
            awake(&receiver) == 0
        });
        until("the sender falls asleep", || {
            sender.receive(64, &mut |_| ());
            awake(&sender) == 0
        });
    });
}

#[test]
fn a_peer_that_is_gone_costs_nothing_but_its_frames() {
    let (mut sender, mut alive) = (crate::loopback(), crate::loopback());
    let gone = sender.way(&crate::loopback().address(), false);
    let way = sender.way(&alive.address(), false);
    let mut inbox = Inbox::default();
    for number in 0..500 {
        for (way, endpoint) in [(&gone, 1), (&way, alive.endpoint())] {
            let header = frame(endpoint, Kind::Eager, number, 0);
            // SAFETY: the body has no bytes.
            assert!(unsafe { sender.output().send(way, &header, std::ptr::null(), 0) });
        }
        // The system reports that the port is unreachable; no other error is expected.
        sender.receive(4, &mut |_| panic!("nobody answers"));
        until("the other frame comes", || alive.receive(1, &mut |frame| inbox.take_small(frame)));
    }
    assert_eq!(inbox.numbers(), (0..500).collect::<Vec<u32>>());
    assert_eq!(sender.counters().unsent, 0);
}
