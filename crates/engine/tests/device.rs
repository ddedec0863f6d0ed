//! Messages from and to the memory of a device, which answers that it is busy: nobody spins inside
//! a round of progress, and nothing else is held up.

mod support;

use support::{World, bytes, pattern, room};
use towpath_base::transfer::{Source, Target};
use towpath_datatype::device::simulated::SimulatedDevice;
use towpath_datatype::device::{source_on, target_on};
use towpath_datatype::{Basic, Datatype};
use towpath_engine::testing::Manners;
use towpath_engine::{Limits, Mode};

fn source(data: &[u8]) -> Source {
    let byte = Datatype::named(Basic::Byte);
    // SAFETY: the tests keep the data alive until the send is complete.
    unsafe { source_on(Some(&SimulatedDevice), &byte, data.as_ptr(), data.len() as i64) }
}

fn target(data: &mut [u8]) -> Target {
    let byte = Datatype::named(Basic::Byte);
    // SAFETY: the tests keep the memory alive until the receive is complete.
    unsafe { target_on(Some(&SimulatedDevice), &byte, data.as_mut_ptr(), data.len() as i64) }
}

#[test]
fn every_protocol_reaches_and_leaves_a_device() {
    let small = Limits { eager_bytes: usize::MAX, unexpected_bytes: 8 << 10 };
    for (manners, limits) in [
        (Manners::PLAIN, Limits { unexpected_bytes: 1 << 20, ..small }),
        (Manners::ROUGH, Limits { unexpected_bytes: 1 << 20, ..small }),
        (Manners::ROUGH, small),
    ] {
        let mut world = World::new(2, manners, limits);
        for length in [0, 1, 8, 41, 4096, 4097, 300_000] {
            for choice in 0..12 {
                let mode = [Mode::Standard, Mode::Synchronous][choice & 1];
                let spaces = [[true, false], [false, true], [true, true]][choice % 3];
                let (data, mut got) = (pattern(length as u64, length), vec![0; length]);
                let from = if spaces[0] { source(&data) } else { bytes(&data) };
                let (sent, received);
                if choice & 2 == 0 {
                    let to = if spaces[1] { target(&mut got) } else { room(&mut got) };
                    received = world.receive(1, Some(0), Some(5), to);
                    sent = world.send(0, 1, 5, from, mode);
                } else {
                    sent = world.send(0, 1, 5, from, mode);
                    (0..4).for_each(|_| _ = world.progress());
                    let to = if spaces[1] { target(&mut got) } else { room(&mut got) };
                    received = world.receive(1, None, None, to);
                }
                let done = world.wait(1, received);
                assert_eq!((done.bytes, done.truncated, done.lost), (length as u64, false, false));
                assert_eq!(world.wait(0, sent).bytes, length as u64);
                assert!(got == data, "{length} bytes, {choice}");
                world.settle();
            }
        }
    }
}

/// An eager message for a busy device does not hold up the next one, and progress is reported
/// while the device works, so that no waiting process goes to sleep.
#[test]
fn others_go_on_while_a_device_is_busy() {
    let mut world = World::plain(2);
    let (data, mut slow, mut quick) = (pattern(1, 100), [0; 80], [0; 100]);
    let first = world.receive(1, Some(0), Some(1), target(&mut slow));
    let second = world.receive(1, Some(0), Some(2), room(&mut quick));
    for tag in [1, 2] {
        let sent = world.send(0, 1, tag, bytes(&data), Mode::Standard);
        world.wait(0, sent);
    }
    let mut rounds = 0;
    while !world.engines[1].is_complete(second) {
        world.engines[1].progress();
    }
    assert!(!world.engines[1].is_complete(first) && world.engines[1].busy());
    while !world.engines[1].is_complete(first) {
        assert!(world.engines[1].progress(), "a device is working");
        rounds += 1;
    }
    assert!(rounds > 0 && !world.engines[1].busy() && !world.engines[1].progress());
    let done = world.wait(1, first);
    assert_eq!((done.bytes, done.truncated, &slow[..]), (80, true, &data[..80]));
    assert_eq!(quick[..], data);
}

#[test]
fn a_message_that_has_arrived_survives_its_sender() {
    let mut world = World::plain(2);
    let (data, mut got) = (pattern(2, 64), [0; 64]);
    let received = world.receive(1, Some(0), Some(1), target(&mut got));
    let sent = world.send(0, 1, 1, bytes(&data), Mode::Standard);
    world.wait(0, sent);
    world.engines[1].progress();
    assert!(!world.engines[1].is_complete(received));
    world.network.lose(0);
    let done = world.wait(1, received);
    assert_eq!((done.bytes, done.lost, &got[..]), (64, false, &data[..]));
}
