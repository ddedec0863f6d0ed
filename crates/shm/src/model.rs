//! The lock-free parts under a model checker, which runs every interleaving of a small program
//! under the memory model of the language instead of this machine's. Run with `RUSTFLAGS="--cfg
//! loom" cargo test -p towpath-shm --lib --profile quick model`.
//!
//! Payload is in checked cells, so a read that is not ordered after its write fails. Each test
//! asserts that it has reached the branch that it tests.

use loom::sync::Arc;
use loom::sync::atomic::Ordering;
use loom::thread;
use towpath_base::model::{Flags, Payload, Reached, model};
use towpath_base::sync::LongWords;
use towpath_machine::wait::model::{ModelHost, ModelWord};
use towpath_machine::wait::sleep::{AWAKE, HostWords, ON_WORD, SleepWord, SleeperWords};

use super::board::{RoundMemory, Rounds, Sleepers, Want};
use super::claims::{self, Claims, NextUnit};
use super::layout::RingPlace;
use super::registered::{self, MemoryAccess, MemoryRow, RegisteredRange, is_accessing};
use super::ring::{LINE_WORDS, RingReceiver, RingSender};
use super::share::Mark;
use super::slot::{SlotReceiver, SlotSender};

const LINES: usize = 2;

fn ring() -> (RingSender<Flags>, RingReceiver<Flags>) {
    let (lines, progress) = (Flags::new(LINES, LINE_WORDS), Flags::new(1, 1));
    let bytes = 64 * LINES as u32;
    let place = RingPlace { offset: 0, lines: LINES as u32, bytes, provided: bytes };
    let sender = RingSender::new(lines.clone(), progress.clone(), &place);
    (sender, RingReceiver::new(lines, progress, &place))
}

#[test]
fn a_ring_keeps_order_and_reuses_lines_only_when_read() {
    let (refused, empty) = (Reached::default(), Reached::default());
    let (full, none) = (refused.clone(), empty.clone());
    model(move || {
        let ((mut sender, mut receiver), payload) = (ring(), Payload::new(LINES));
        let (into, full) = (payload.clone(), full.clone());
        let sending = thread::spawn(move || {
            for value in 1..=3 {
                let claim = loop {
                    match sender.claim(1) {
                        Some(claim) => break claim,
                        None => {
                            full.mark();
                            thread::yield_now();
                        }
                    }
                };
                into.write(claim.payload / 64, value);
                sender.commit();
            }
        });
        let mut offset = 0;
        for value in 1..=3 {
            while receiver.ready().is_none() {
                receiver.rest();
                none.mark();
                thread::yield_now();
            }
            // The offset that the sender chose for the payload, as far as the receiver can infer
            // it: FIFO order.
            let place = [0, 1]
                .into_iter()
                .map(|step| (offset + step) % LINES)
                .find(|at| payload.read(*at) == value);
            offset = place.expect("the payload of the entry is in the ring") + 1;
            receiver.advance(64);
        }
        sending.join().unwrap();
    });
    refused.assert("a full ring");
    empty.assert("an empty ring");
}

#[test]
fn a_slot_alternates_between_its_two_owners() {
    let waited = Reached::default();
    let busy = waited.clone();
    model(move || {
        let (line, payload) = (Flags::new(1, 1), Payload::new(1));
        let (mut sender, mut receiver) = (SlotSender::new(line.clone()), SlotReceiver::new(line));
        let (into, busy) = (payload.clone(), busy.clone());
        let sending = thread::spawn(move || {
            for value in 1..=2 {
                while !sender.is_free() {
                    busy.mark();
                    thread::yield_now();
                }
                into.write(0, value);
                sender.commit();
            }
        });
        for value in 1..=2 {
            while !receiver.is_full() {
                thread::yield_now();
            }
            assert_eq!(payload.read(0), value);
            receiver.advance();
        }
        sending.join().unwrap();
    });
    waited.assert("a slot that is still full");
}

/// A message and the marker are sent through the slot, the next messages through the ring. The
/// ring's entry may become visible before the marker.
#[test]
fn a_marker_keeps_the_order_between_slot_and_ring() {
    const MARKER: u32 = 99;
    let overtaken = Reached::default();
    let early = overtaken.clone();
    model(move || {
        let line = Flags::new(1, 1);
        let (mut slot_out, mut slot_in) = (SlotSender::new(line.clone()), SlotReceiver::new(line));
        let (mut ring_out, mut ring_in) = ring();
        let (slot_payload, ring_payload) = (Payload::new(1), Payload::new(LINES));
        let (into_slot, into_ring) = (slot_payload.clone(), ring_payload.clone());
        let sending = thread::spawn(move || {
            into_slot.write(0, MARKER);
            slot_out.commit();
            let claim = ring_out.claim(0).expect("a new ring is empty");
            into_ring.write(claim.line, 1);
            ring_out.commit();
        });
        let mut seen = Vec::new();
        while !slot_in.is_full() {
            thread::yield_now();
        }
        seen.push(slot_payload.read(0));
        slot_in.advance();
        if ring_in.ready().is_some() {
            early.mark();
        }
        let line = loop {
            match ring_in.ready() {
                Some(line) => break line,
                None => thread::yield_now(),
            }
        };
        seen.push(ring_payload.read(line));
        ring_in.advance(0);
        sending.join().unwrap();
        assert_eq!(seen, [MARKER, 1]);
    });
    overtaken.assert("a ring that is filled when the marker is read");
}

/// The 64-bit words of a board as atomics of the checker.
#[derive(Clone)]
struct LongFlags(Arc<Vec<loom::sync::atomic::AtomicU64>>);

impl LongFlags {
    fn new(count: usize) -> LongFlags {
        LongFlags(Arc::new((0..count).map(|_| loom::sync::atomic::AtomicU64::new(0)).collect()))
    }
}

impl LongWords for LongFlags {
    fn load_acquire(&self, index: usize) -> u64 {
        self.0[index].load(Ordering::Acquire)
    }
    fn store_release(&self, index: usize, value: u64) {
        self.0[index].store(value, Ordering::Release);
    }
    fn replace(&self, index: usize, old: u64, new: u64) -> bool {
        self.0[index].compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
    fn fence(&self) {
        loom::sync::atomic::fence(Ordering::SeqCst);
    }
}

/// Members of a board that keeps the lines of two rounds.
fn board<const MEMBERS: usize>() -> [Rounds<LongFlags>; MEMBERS] {
    let [done, claims, wants, told, uppers] = [0; 5].map(|_| LongFlags::new(MEMBERS));
    let lines = LongFlags::new(2 * MEMBERS);
    let memory = RoundMemory { done, claims, wants, lines, told, uppers };
    std::array::from_fn(|own| Rounds::new(MEMBERS, own, 2, memory.clone()))
}

/// The members of a board as processes of a host of the checker.
#[derive(Clone)]
struct ModelMembers<const BARRIER: bool>(Arc<ModelHost<BARRIER>>);

impl<const BARRIER: bool> Sleepers for ModelMembers<BARRIER> {
    type Word = ModelWord<BARRIER>;
    fn host(&self) -> HostWords<'_, Self::Word> {
        self.0.head()
    }
    fn words(&self, member: usize) -> SleeperWords<'_, Self::Word> {
        self.0.page(member)
    }
    fn wake(&self, member: usize) {
        self.words(member).wake(|| unreachable!("nobody has a bell"));
    }
}

#[test]
fn a_line_of_a_board_is_written_again_only_when_all_have_read_it() {
    let (refused, waited) = (Reached::default(), Reached::default());
    let (full, empty) = (refused.clone(), waited.clone());
    model(move || {
        let ([mut writer, mut reader], payload) = (board(), Payload::new(2));
        let (into, full) = (payload.clone(), full.clone());
        let writing = thread::spawn(move || {
            for round in 0..3 {
                while writer.line_is_free().is_err() {
                    full.mark();
                    thread::yield_now();
                }
                into.write(round % 2, round as u32 + 1);
                writer.commit();
                writer.finish();
            }
        });
        for round in 0..3 {
            while !reader.is_written(0) {
                empty.mark();
                thread::yield_now();
            }
            assert_eq!(payload.read(round % 2), round as u32 + 1);
            reader.finish();
        }
        writing.join().unwrap();
    });
    refused.assert("a line that is not free");
    waited.assert("a line that is not written");
}

/// The member that writes the last line wakes the member that sleeps until all lines are written.
/// `BARRIER`: the sleeper issues a barrier; otherwise the others fence.
fn the_last_line_wakes_those_that_want_all<const BARRIER: bool>() {
    let (slept, awake) = (Reached::default(), Reached::default());
    let (sleeps, stays) = (slept.clone(), awake.clone());
    model(move || {
        let ([first, second, mut reader], host) = (board(), Arc::new(ModelHost::<BARRIER>::new(3)));
        let mut sleeper = host.sleeper(2, BARRIER);
        reader.commit();
        let posting = [first, second].map(|poster| {
            let members = ModelMembers(host.clone());
            thread::spawn(move || poster.post(&members))
        });
        reader.want(Want::AllLines);
        host.sleep(2, &mut sleeper, || reader.all_are_written(), [&sleeps, &stays]);
        assert!(reader.all_are_written(), "nobody wakes it earlier");
        posting.into_iter().for_each(|posting| posting.join().unwrap());
    });
    slept.assert("a member that sleeps");
    awake.assert("a member that need not sleep");
}

#[test]
fn whoever_writes_the_last_line_wakes_those_that_want_all_with_barriers() {
    the_last_line_wakes_those_that_want_all::<true>();
}

#[test]
fn whoever_writes_the_last_line_wakes_those_that_want_all_with_fences() {
    the_last_line_wakes_those_that_want_all::<false>();
}

/// A call that is polled finds a line in the recheck before a sleep, and waits for another one from
/// then on. That one may have been written before the writer could know, so the member must
/// announce its sleep once more and look again. `BARRIER`: as above.
fn whoever_waits_for_another_line_looks_again<const BARRIER: bool>() {
    let (slept, moved) = (Reached::default(), Reached::default());
    let (sleeps, moves) = (slept.clone(), moved.clone());
    model(move || {
        let ([first, second, mut reader], host) = (board(), Arc::new(ModelHost::<BARRIER>::new(3)));
        let mut sleeper = host.sleeper(2, BARRIER);
        let posting = [first, second].map(|poster| {
            let members = ModelMembers(host.clone());
            thread::spawn(move || poster.post(&members))
        });
        let mut waits_for = 0;
        reader.want(Want::Line(0));
        while waits_for < 2 {
            let poll = || {
                let before = waits_for;
                while waits_for < 2 && reader.is_written(waits_for) {
                    waits_for += 1;
                    reader.want(Want::Line(waits_for));
                }
                waits_for > before
            };
            host.sleep(2, &mut sleeper, poll, [&sleeps, &moves]);
        }
        posting.into_iter().for_each(|posting| posting.join().unwrap());
    });
    slept.assert("a member that sleeps");
    moved.assert("a member that moves in the recheck");
}

#[test]
fn a_polled_call_is_woken_for_its_next_line_with_barriers() {
    whoever_waits_for_another_line_looks_again::<true>();
}

#[test]
fn a_polled_call_is_woken_for_its_next_line_with_fences() {
    whoever_waits_for_another_line_looks_again::<false>();
}

/// The reader sleeps before anybody posts, so no fence of the sleep protocol comes between the
/// store to a line and the check of all lines.
#[test]
fn one_of_those_that_write_the_last_lines_together_sees_all() {
    model(|| {
        let ([first, second, mut reader], host) = (board(), Arc::new(ModelHost::<false>::new(3)));
        reader.commit();
        reader.want(Want::AllLines);
        host.head().sleepers.store(1, Ordering::Relaxed);
        host.page(2).sleep.store(ON_WORD, Ordering::Relaxed);
        let posting = [first, second].map(|poster| {
            let members = ModelMembers(host.clone());
            thread::spawn(move || poster.post(&members))
        });
        posting.into_iter().for_each(|posting| posting.join().unwrap());
        assert_eq!(
            host.page(2).sleep.load(Ordering::Relaxed),
            AWAKE,
            "nobody has woken the reader"
        );
    });
}

#[test]
fn whoever_leaves_a_round_wakes_those_that_wait_for_its_end() {
    let (slept, awake) = (Reached::default(), Reached::default());
    let (sleeps, stays) = (slept.clone(), awake.clone());
    model(move || {
        let ([mut waiting, mut leaving], host) = (board(), Arc::new(ModelHost::<true>::new(2)));
        let mut sleeper = host.sleeper(0, true);
        let members = ModelMembers(host.clone());
        let thread = thread::spawn(move || leaving.leave(&members));
        waiting.finish();
        waiting.want(Want::End(1));
        host.sleep(0, &mut sleeper, || waiting.all_have_finished(1).is_ok(), [&sleeps, &stays]);
        assert_eq!(waiting.all_have_finished(1), Ok(()));
        thread.join().unwrap();
    });
    slept.assert("a member that sleeps");
    awake.assert("a member that need not sleep");
}

#[test]
fn one_member_of_a_board_does_the_common_work() {
    let (won, lost) = (Reached::default(), Reached::default());
    let (first, second) = (won.clone(), lost.clone());
    model(move || {
        let ([one, mut other], result) = (board(), Payload::new(1));
        let work = |member: &mut Rounds<LongFlags>, own: usize, result: &Payload| {
            if member.claim() {
                result.write(0, own as u32 + 7);
                member.finish();
                member.commit();
                own
            } else {
                let claimant = member.claimant().expect("refused, so claimed");
                member.finish();
                while !member.is_written(claimant) {
                    thread::yield_now();
                }
                assert_eq!(result.read(0), claimant as u32 + 7);
                claimant
            }
        };
        let (mut one, shared) = (one, result.clone());
        let working = thread::spawn(move || work(&mut one, 0, &shared));
        let by_other = work(&mut other, 1, &result);
        assert_eq!(working.join().unwrap(), by_other);
        if by_other == 0 { first.mark() } else { second.mark() }
    });
    won.assert("the first member claims");
    lost.assert("the second member claims");
}

/// The root of a gather exposes memory, and withdraws it when its call fails.
#[test]
fn nobody_writes_to_memory_that_is_withdrawn() {
    let (wrote, refused) = (Reached::default(), Reached::default());
    let (used, withdrawn) = (wrote.clone(), refused.clone());
    model(move || {
        let ([root, writer], memory) = (board(), Payload::new(1));
        let (into, used, withdrawn) = (memory.clone(), used.clone(), withdrawn.clone());
        root.commit();
        let writing = thread::spawn(move || {
            if writer.is_written(0) {
                if writer.begin_write() {
                    into.write(0, 7);
                    writer.end_write();
                    used.mark();
                } else {
                    withdrawn.mark();
                }
            }
        });
        while !root.withdraw() {
            thread::yield_now();
        }
        // The owner uses its memory again.
        memory.write(0, 8);
        writing.join().unwrap();
        assert_eq!(memory.read(0), 8);
    });
    wrote.assert("a member that writes");
    refused.assert("a member that comes too late");
}

/// Both sides copy a message of two units, twice over the same words. Both read all of it once it
/// is complete.
#[test]
fn both_sides_of_a_shared_copy_do_each_unit_once() {
    const UNITS: u32 = 2;
    let (helped, alone, later) = (Reached::default(), Reached::default(), Reached::default());
    let (by_both, by_one, gone_on) = (helped.clone(), alone.clone(), later.clone());
    model(move || {
        let words = LongFlags::new(claims::WORDS);
        let payloads = [Payload::new(UNITS as usize), Payload::new(UNITS as usize)];
        let (sender_words, into) = (words.clone(), payloads.clone());
        // The announcements to the receiver: two slots, so that the second one may wait there.
        let announced = LongFlags::new(2);
        let (announce, by_both, by_one) = (announced.clone(), by_both.clone(), by_one.clone());
        let sending = thread::spawn(move || {
            for (number, payload) in into.iter().enumerate() {
                let mut side = Claims::open(sender_words.clone(), number as u32 + 1, true);
                side.set_units(UNITS);
                announce.store_release(number, 1);
                let mut own = 0;
                while let Some(unit) = side.claim() {
                    payload.write(unit as usize, unit + 1);
                    side.finish();
                    own += 1;
                }
                if own == UNITS {
                    by_one.mark()
                } else {
                    by_both.mark()
                }
                while !side.is_complete() {
                    thread::yield_now();
                }
                // The source may be reused now: reading must not race with the other side's copies.
                (0..UNITS).for_each(|unit| assert_eq!(payload.read(unit as usize), unit + 1));
            }
        });
        for (number, payload) in payloads.iter().enumerate() {
            while announced.load_acquire(number) == 0 {
                thread::yield_now();
            }
            let mut side = Claims::follow(words.clone(), number as u32 + 1, false, UNITS);
            side.join();
            while let Some(unit) = side.claim() {
                payload.write(unit as usize, unit + 1);
                side.finish();
            }
            while !side.is_complete() {
                thread::yield_now();
            }
            if side.taken().is_none() {
                gone_on.mark();
            }
            (0..UNITS).for_each(|unit| assert_eq!(payload.read(unit as usize), unit + 1));
        }
        sending.join().unwrap();
    });
    helped.assert("a copy that both sides share");
    alone.assert("a copy that one side does alone");
    later.assert("a sender that is at its next message when the receiver looks");
}

/// The receiver claims a unit that it cannot copy and gives it back. The sender, which may have
/// found no unit left, copies it.
#[test]
fn a_unit_that_is_given_back_is_copied_by_the_other_side() {
    let waited = Reached::default();
    let waiting = waited.clone();
    model(move || {
        let (words, payload) = (LongFlags::new(claims::WORDS), Payload::new(2));
        let mut side = Claims::open(words.clone(), 1, true);
        side.set_units(2);
        let (into, waiting) = (payload.clone(), waiting.clone());
        let sending = thread::spawn(move || {
            loop {
                match side.next_unit() {
                    NextUnit::Copy(unit) => {
                        into.write(unit as usize, unit + 1);
                        side.finish();
                    }
                    NextUnit::Wait => {
                        waiting.mark();
                        thread::yield_now();
                    }
                    NextUnit::Done => break,
                }
            }
        });
        let other = Claims::follow(words, 1, false, 2);
        other.join();
        if other.claim().is_some() {
            other.unclaim();
        }
        while !other.is_complete() {
            thread::yield_now();
        }
        sending.join().unwrap();
        assert_eq!([payload.read(0), payload.read(1)], [1, 2]);
    });
    waited.assert("a sender that finds nothing left");
}

/// A peer accesses memory while its owner deregisters it, uses it for itself, and registers other
/// memory in the same row.
#[test]
fn deregistered_memory_is_accessed_by_nobody() {
    const ROW: u64 = 0;
    const NEXT: u64 = 1 << 32;
    let range = |length| {
        let mark = Mark { address: 1, value: 2 };
        RegisteredRange { mark, length, address: length as u64, heap: None }
    };
    let refused = Reached::default();
    let (awaited, at_next) = (Reached::default(), Reached::default());
    let reached = [refused.clone(), awaited.clone(), at_next.clone()];
    model(move || {
        let [refused, awaited, at_next] = reached.clone();
        let (row, word) = (LongFlags::new(registered::WORDS), LongFlags::new(1));
        let memory = Payload::new(2);
        MemoryRow(row.clone()).open(ROW, &range(1));
        let (peer_row, peer_word, peer_memory) = (row.clone(), word.clone(), memory.clone());
        let peer = thread::spawn(move || {
            for (index, name) in [ROW, NEXT].into_iter().enumerate() {
                match MemoryAccess::begin(peer_word.clone(), &MemoryRow(peer_row.clone()), 0, name)
                {
                    Some(access) => {
                        assert_eq!(access.memory, range(index + 1));
                        peer_memory.write(index, 7);
                        if index == 1 {
                            at_next.mark();
                        }
                    }
                    None => refused.mark(),
                }
            }
        });
        MemoryRow(row.clone()).close();
        while is_accessing(&word, 0, ROW) {
            awaited.mark();
            thread::yield_now();
        }
        memory.write(0, 1);
        MemoryRow(row).open(NEXT, &range(2));
        assert_eq!(memory.read(0), 1);
        peer.join().unwrap();
    });
    refused.assert("an access that comes late");
    awaited.assert("an access that the owner waits for");
    at_next.assert("an access to the next memory in the row");
}

/// A message in two parts, whose receiver copies the first before the second has arrived.
#[test]
fn parts_are_read_only_when_they_are_there() {
    let waited = Reached::default();
    let late = waited.clone();
    model(move || {
        let ((mut sender, mut receiver), payload) = (ring(), Payload::new(LINES));
        let (into, late) = (payload.clone(), late.clone());
        let sending = thread::spawn(move || {
            for message in 0..2 {
                while !sender.has_lines(2) {
                    thread::yield_now();
                }
                assert_eq!(sender.claim(128).expect("the ring is empty").payload, 0);
                into.write(0, 2 * message + 1);
                sender.commit();
                sender.claim(0).expect("the lines were counted");
                into.write(1, 2 * message + 2);
                sender.commit();
            }
        });
        for message in 0..2 {
            while receiver.ready().is_none() {
                receiver.rest();
                thread::yield_now();
            }
            let follower = receiver.follower();
            assert!(follower.is_here(0));
            assert_eq!(payload.read(0), 2 * message + 1);
            while !follower.is_here(1) {
                late.mark();
                thread::yield_now();
            }
            assert_eq!(payload.read(1), 2 * message + 2);
            receiver.advance(128);
            while receiver.ready().is_none() {
                thread::yield_now();
            }
            receiver.advance(0);
            receiver.rest();
        }
        sending.join().unwrap();
    });
    waited.assert("a part that was not there yet");
}
