//! Boards of ranks that run concurrently, each in its own thread with its own mapping, and that
//! sleep while they wait. In every round each rank sees what the others posted, no wake-up is lost,
//! and memory is reclaimed.

#[allow(dead_code)]
mod machine;

use std::sync::Barrier;

use machine::{Traffic, wires};
use towpath_base::ids::PeerIndex;
use towpath_base::sync::{AtomicUsize, Ordering};
use towpath_machine::wait::Waiter;
use towpath_shm::board::{Board, Posted, Want};
use towpath_shm::{Segment, Settings};
use towpath_wires::Wires;

const ROUNDS: u64 = 3000;

/// What a rank posts in a round: nothing, or this many bytes. Every rank can compute it for every
/// other.
fn length(rank: usize, round: u64, largest: usize) -> Option<usize> {
    let mut random = Traffic::new(rank as u64 * 1_000_003 + round + 1);
    match random.below(20) {
        0..4 if !everybody_posts(round) => None,
        0..12 => Some(random.below(60)),
        12..19 => Some(random.below(2000)),
        _ => Some(random.below(largest + 1)),
    }
}

/// True in rounds in which every rank posts, so that a rank can wait for all lines at once.
fn everybody_posts(round: u64) -> bool {
    round % 4 == 3
}

fn pattern(rank: usize, round: u64, index: usize) -> u8 {
    (rank as u64 * 37 + round * 11 + index as u64) as u8
}

fn check(posted: Posted, rank: usize, round: u64) {
    // SAFETY: posted bytes stay readable until this rank finishes the round.
    let bytes = unsafe { std::slice::from_raw_parts(posted.pointer.as_ptr(), posted.length) };
    assert_eq!(posted.stamp, round as u16);
    assert!(
        bytes.iter().enumerate().all(|(at, &byte)| byte == pattern(rank, round, at)),
        "rank {rank} round {round}"
    );
}

/// Waits as the library does: idles until `ready`. The caller has stated on the board what it waits
/// for.
fn wait<R>(segment: &Segment, waiter: &mut Waiter, mut ready: impl FnMut() -> Option<R>) -> R {
    waiter.reset();
    loop {
        if let Some(result) = ready() {
            return result;
        }
        let mut found = None;
        waiter.idle(segment.sources(), || {
            found = ready();
            found.is_some()
        });
        if let Some(result) = found {
            return result;
        }
    }
}

fn run_rank(board: &mut Board, segment: &Segment, waiter: &mut Waiter, random: &mut Traffic) {
    let (own, size, largest) = (board.own(), board.size(), board.largest());
    for round in 0..ROUNDS {
        if let Some(length) = length(own, round, largest) {
            while let Err(slowest) = board.has_room(length) {
                board.want(Want::End(slowest));
                wait(segment, waiter, || (board.has_room(length) != Err(slowest)).then_some(()));
            }
            let bytes: Vec<u8> = (0..length).map(|at| pattern(own, round, at)).collect();
            // SAFETY: there is room, this rank posts once in each round, and `bytes` has `length`
            // bytes.
            unsafe {
                board.post(round as u16, length, |mut room| room.copy(bytes.as_ptr(), 0, length))
            };
        }
        // A rank that reads nothing runs ahead, like the leaves of a gather.
        if random.below(3) > 0 {
            if everybody_posts(round) && random.below(2) == 0 {
                board.want(Want::AllLines);
                wait(segment, waiter, || {
                    (0..size).all(|member| board.look(member).is_some()).then_some(())
                });
            }
            for member in (0..size).filter(|&member| member != own) {
                if let Some(length) = length(member, round, largest) {
                    if board.look(member).is_none() {
                        board.want(Want::Line(member));
                    }
                    let posted = wait(segment, waiter, || board.look(member));
                    assert_eq!(posted.length, length);
                    check(posted, member, round);
                }
            }
        }
        board.finish();
    }
}

fn many_rounds(ranks: usize, cores: usize) {
    let location = AtomicUsize::new(0);
    let together = Barrier::new(ranks);
    let team: Vec<PeerIndex> = (0..ranks as u32).map(PeerIndex).collect();
    let run = |own: usize, mut wires: Wires| {
        let segment = wires.segment().clone();
        let mut waiter = Waiter::with_quota(ranks, cores, segment.head(), segment.own_control());
        for turn in 0..3 {
            if own == 0 {
                location.store(
                    wires.make_board(&team, None).expect("memory for a board"),
                    Ordering::SeqCst,
                );
            }
            together.wait();
            let mut board = wires.join_board(location.load(Ordering::SeqCst), &team, own);
            if own == 0 {
                assert!(board.provide_areas());
            }
            together.wait();
            run_rank(&mut board, &segment, &mut waiter, &mut Traffic::new(own as u64 + 17 * turn));
        }
        waiter.sleeps()
    };
    let sleeps: u64 = std::thread::scope(|scope| {
        let all = wires(ranks, Settings::default()).into_iter().enumerate();
        let ranks: Vec<_> = all.map(|(own, wires)| scope.spawn(move || run(own, wires))).collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).sum()
    });
    assert!(cores >= ranks || sleeps > 0, "with fewer cores than ranks some rank must have slept");
}

#[test]
fn two_ranks_on_two_cores() {
    many_rounds(2, 2);
}

#[test]
fn five_ranks_that_sleep() {
    many_rounds(5, 1);
}

/// The memory of a board is reused once all members have left it, and not before.
#[test]
fn memory_of_a_board_comes_back_when_all_have_left() {
    let mut all = wires(2, Settings::default());
    let team = [PeerIndex(0), PeerIndex(1)];
    let mut locations = Vec::new();
    for _ in 0..200 {
        let location =
            all[0].make_board(&team, None).expect("boards that were left are used again");
        let mut boards = [0, 1].map(|own| all[own].join_board(location, &team, own));
        boards.iter_mut().for_each(Board::finish);
        locations.push(location);
    }
    locations.sort_unstable();
    locations.dedup();
    assert!(
        locations.len() < 3,
        "{} locations for boards of which one lives at a time",
        locations.len()
    );

    let location = all[0].make_board(&team, None).unwrap();
    let [mut maker, mut reader] = [0, 1].map(|own| all[own].join_board(location, &team, own));
    assert_eq!(maker.has_room(3), Ok(()));
    // SAFETY: there is room, this is the first post of the round, and the source has three bytes.
    unsafe { maker.post(0, 3, |mut room| room.copy(b"abc".as_ptr(), 0, 3)) };
    maker.finish();
    drop(maker);
    assert_ne!(all[0].make_board(&team, None), Some(location), "the reader has not finished");
    assert_eq!(reader.look(0).map(|posted| posted.length), Some(3));
    reader.finish();
    assert_ne!(all[0].make_board(&team, None), Some(location), "the reader has not left");
    drop(reader);
    let again: Vec<_> = std::iter::from_fn(|| all[0].make_board(&team, None)).collect();
    assert!(again.contains(&location), "everybody has left");
}

/// The prefetch hint is right for messages of equal length, even across the end of the area.
#[test]
fn the_prefetch_hint_is_right_for_messages_of_one_length() {
    const LENGTH: usize = 200;
    let mut all = wires(2, Settings::default());
    let team = [PeerIndex(0), PeerIndex(1)];
    let location = all[0].make_board(&team, None).unwrap();
    let [mut writer, mut reader] = [0, 1].map(|own| all[own].join_board(location, &team, own));
    assert!(writer.provide_areas());
    let mut wrong = 0;
    for round in 0..20_000u32 {
        // The other rounds have an empty message, or none.
        let length = match round % 4 {
            0 => LENGTH,
            1 => 0,
            _ => {
                [&mut writer, &mut reader].into_iter().for_each(Board::finish);
                continue;
            }
        };
        let hint = reader.prefetch_hint(0).first();
        assert_eq!(writer.has_room(length), Ok(()));
        // SAFETY: there is room, this is the first post of the round, and the source has `LENGTH`
        // bytes, which is at least `length`.
        unsafe { writer.post(0, length, |mut room| room.copy([7; LENGTH].as_ptr(), 0, length)) };
        let posted = reader.look(0).unwrap();
        wrong += u32::from(length > 0 && posted.pointer.as_ptr().cast_const() != hint);
        [&mut writer, &mut reader].into_iter().for_each(Board::finish);
    }
    assert_eq!(wrong, 1, "the first message only");
}
