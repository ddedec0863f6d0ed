//! The calls to which the rounds of a board belong, so that members that have called different
//! functions learn it instead of waiting for ever.
//!
//! Each line carries the mark of its call. A line of this round with another mark is not the line
//! that a member waits for, so the fast path compares one word. A member that has waited long
//! compares the calls of its last rounds with the lines of all others. Whoever only reads writes no
//! line, so it also *tells* its call in a word of its own, and compares the words of the others. A
//! member that exchanges messages meanwhile takes part in that.
//!
//! What is told stays true, so nobody takes it back.

use std::sync::Arc;

use towpath_base::sync::{AtomicU64, LongWords, MappedLongWords, Ordering};

use super::rounds::{RoundMemory, Rounds};
use super::{Presence, parts_of};

/// Bits of a word of a line that hold the round plus one. The mark of the call is above them.
const ROUND_BITS: u32 = 48;
/// The bits of the round plus one.
pub(super) const ROUND: u64 = (1 << ROUND_BITS) - 1;
/// Bits of the stamp of a line, the low ones of the call's number. The others change so rarely that
/// each member writes them to a word of its own.
const STAMP_BITS: u32 = 16;
const STAMP: u64 = (1 << STAMP_BITS) - 1;
/// Bits of a call's number in a word that is told. The way of the call and its mark are above them.
const NUMBER_BITS: u32 = 46;
const NUMBER: u64 = (1 << NUMBER_BITS) - 1;

/// A call as all members number it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NumberedCall {
    /// What is called; 0 if unknown.
    pub mark: u16,
    /// The number of the call, the same on all members. Later calls have higher ones.
    pub number: u64,
}

impl NumberedCall {
    /// True if a member in this call cannot meet one in a call of the same number or round whose
    /// mark is `theirs`.
    fn differs(self, theirs: u16) -> bool {
        self.mark != theirs && self.mark != 0 && theirs != 0
    }
}

/// A member that is in another call than this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherCall {
    /// The member.
    pub member: usize,
    /// The mark of the call of this member.
    pub own: u16,
    /// The mark of the other call. Equal marks mean that one call uses the board, and the other one
    /// messages.
    pub theirs: u16,
}

/// How a call is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallWay {
    OnBoard = 1,
    ByMessages = 2,
}

/// The words in which members tell the calls in which they have waited long.
#[derive(Debug)]
struct ToldCalls<'a, W> {
    words: &'a W,
    own: usize,
    members: usize,
}

impl<W: LongWords> ToldCalls<'_, W> {
    fn tell(&self, call: NumberedCall, way: CallWay) {
        let above = u64::from(call.mark) << 2 | way as u64;
        self.words.store_release(self.own, above << NUMBER_BITS | call.number & NUMBER);
    }

    /// A member that has told another call with the number of this one.
    fn find(&self, call: NumberedCall, way: CallWay) -> Option<OtherCall> {
        (0..self.members).filter(|&member| member != self.own).find_map(|member| {
            let word = self.words.load_acquire(member);
            let (their_way, theirs) = (word >> NUMBER_BITS & 3, (word >> (NUMBER_BITS + 2)) as u16);
            let same_number = their_way != 0 && word & NUMBER == call.number & NUMBER;
            let has_other = their_way != way as u64 || call.differs(theirs);
            (same_number && has_other).then_some(OtherCall { member, own: call.mark, theirs })
        })
    }
}

/// What a member remembers of the end of a round. Only its board writes, but its [`CallNotices`]
/// read too. It is private to the process, so it is no part of the memory that the model checker
/// replaces.
#[derive(Debug, Default)]
pub(super) struct RoundNote {
    /// Bytes ever allocated from its area.
    pub(super) taken: AtomicU64,
    /// The mark and the number of the call. Written after the member has announced the end of the
    /// round.
    pub(super) call: AtomicU64,
}

/// A call that a member has finished on the board, while it still exchanges messages.
#[derive(Clone, Copy, Debug)]
pub struct FinishedCall {
    /// Its last round.
    round: u64,
    /// Its mark and number.
    call: u64,
}

/// The call with its mark and number in one word: the number has as many bits as a round.
fn call_in(word: u64) -> NumberedCall {
    NumberedCall { mark: (word >> ROUND_BITS) as u16, number: word & ROUND }
}

impl<W: LongWords> Rounds<W> {
    /// Begins a call: the following lines carry its mark.
    #[inline]
    pub(crate) fn begin(&mut self, call: NumberedCall) {
        let call = u64::from(call.mark) << ROUND_BITS | call.number & ROUND;
        if (call ^ self.call) & ROUND & !STAMP != 0 {
            self.write_upper(call);
        }
        self.call = call;
    }

    /// Writes the upper bits of the number of a call, and from which round on they hold, before any
    /// line of it.
    #[cold]
    fn write_upper(&self, call: u64) {
        let (upper, since) = ((call & ROUND) >> STAMP_BITS, (self.round + 1) as u32);
        self.memory.uppers.store_release(self.own, upper << 32 | u64::from(since));
    }

    /// Bytes that this member had ever allocated from its area before a round, if it is remembered.
    pub(super) fn taken_before(&self, round: u64) -> u64 {
        self.notes[self.slot_of(round)].taken.load(Ordering::Relaxed)
    }

    /// The call whose last round this member has just finished.
    pub(super) fn finished_call(&self) -> FinishedCall {
        FinishedCall { round: self.round - 1, call: self.call }
    }

    /// Tells the current call, and looks for a member that is in another one, or was in one of the
    /// last rounds. For members that have waited long.
    #[cold]
    pub(crate) fn find_other_call(&self) -> Option<OtherCall> {
        let calls = OwnCalls {
            memory: &self.memory,
            notes: &self.notes,
            own: self.own,
            members: self.members,
            last: FinishedCall { round: self.round, call: self.call },
        };
        calls.find_other()
    }
}

/// The calls of a member up to one of them, with what the others tell of theirs.
#[derive(Debug)]
struct OwnCalls<'a, W> {
    memory: &'a RoundMemory<W>,
    notes: &'a [RoundNote],
    own: usize,
    members: usize,
    /// The last of them. The member may still be in its round, or in later calls.
    last: FinishedCall,
}

impl<W: LongWords> OwnCalls<'_, W> {
    fn depth(&self) -> u64 {
        self.notes.len() as u64
    }

    /// The call in a round, if it is remembered: in that of the last call or one of as many before
    /// it as the board has lines. A member can be as far ahead of another one.
    fn call_of(&self, round: u64) -> Option<NumberedCall> {
        if round == self.last.round {
            return Some(call_in(self.last.call));
        }
        let note = &self.notes[((round + 1) & (self.depth() - 1)) as usize];
        let call = note.call.load(Ordering::Acquire);
        // The member may have gone on meanwhile. It has announced the end of a round before it
        // notes it.
        let done = self.memory.done.load_acquire(self.own);
        (round < self.last.round && done - round <= self.depth()).then(|| call_in(call))
    }

    /// Tells the last call, and looks for a member that is in another one, or was in one of the
    /// last rounds.
    fn find_other(&self) -> Option<OtherCall> {
        let told = ToldCalls { words: &self.memory.told, own: self.own, members: self.members };
        told.tell(call_in(self.last.call), CallWay::OnBoard);
        let rounds = self.last.round.saturating_sub(self.depth())..=self.last.round;
        let in_told = || {
            rounds
                .rev()
                .filter_map(|round| self.call_of(round))
                .find_map(|call| told.find(call, CallWay::OnBoard).map(|other| (call, other)))
        };
        let (call, other) = self.find_other_line().or_else(in_told)?;
        // The other member may wait for this call only.
        told.tell(call, CallWay::OnBoard);
        Some(other)
    }

    /// Looks for a line that a member has written in another call than this one was in the same
    /// round. In the place of a line of a past round may be that of a round to come.
    fn find_other_line(&self) -> Option<(NumberedCall, OtherCall)> {
        let lines = 0..self.notes.len() * self.members;
        lines.filter(|line| line % self.members != self.own).find_map(|line| {
            let word = self.memory.lines.load_acquire(line);
            let round = (word & ROUND).checked_sub(1)?;
            let (call, theirs) = (self.call_of(round)?, (word >> ROUND_BITS) as u16);
            let other = OtherCall { member: line % self.members, own: call.mark, theirs };
            call.differs(theirs).then_some((call, other))
        })
    }
}

/// The calls of the members of a board, for a member that exchanges messages.
#[derive(Clone, Debug)]
pub struct CallNotices {
    /// Keeps the words.
    _presence: Arc<Presence>,
    memory: RoundMemory<MappedLongWords>,
    descriptions: MappedLongWords,
    notes: Arc<[RoundNote]>,
    own: usize,
    members: usize,
}

// SAFETY: the words stay those of this board while its presence is held, and are only accessed
// with atomics.
unsafe impl Send for CallNotices {}
// SAFETY: as above.
unsafe impl Sync for CallNotices {}

impl CallNotices {
    pub(super) fn new(
        presence: Arc<Presence>,
        rounds: &Rounds<MappedLongWords>,
        descriptions: MappedLongWords,
    ) -> CallNotices {
        CallNotices {
            _presence: presence,
            memory: rounds.memory.clone(),
            descriptions,
            notes: rounds.notes.clone(),
            own: rounds.own,
            members: rounds.members,
        }
    }

    /// Tells a call in which this member has finished its rounds and exchanges messages now, and
    /// looks for a member that is in another call, or was in one of the last rounds.
    pub fn find_other_than(&self, finished: FinishedCall) -> Option<OtherCall> {
        let calls = OwnCalls {
            memory: &self.memory,
            notes: &self.notes,
            own: self.own,
            members: self.members,
            last: finished,
        };
        calls.find_other()
    }

    /// Tells that this member is in `call` and exchanges messages. Returns a member that uses the
    /// board in the call of this number.
    pub fn find_other_call(&self, call: NumberedCall) -> Option<OtherCall> {
        let told = ToldCalls { words: &self.memory.told, own: self.own, members: self.members };
        told.tell(call, CallWay::ByMessages);
        told.find(call, CallWay::ByMessages).or_else(|| self.lines().find(call))
    }

    fn lines(&self) -> WrittenLines<'_, MappedLongWords> {
        WrittenLines {
            memory: &self.memory,
            descriptions: &self.descriptions,
            own: self.own,
            members: self.members,
            depth: self.notes.len(),
        }
    }
}

/// The lines of a board, for a member that exchanges messages.
#[derive(Debug)]
struct WrittenLines<'a, W> {
    memory: &'a RoundMemory<W>,
    descriptions: &'a W,
    own: usize,
    members: usize,
    depth: usize,
}

impl<W: LongWords> WrittenLines<'_, W> {
    /// A line of the call of this number. This member has not finished the round, so its writer
    /// does not write it again.
    fn find(&self, call: NumberedCall) -> Option<OtherCall> {
        let (done, lines) = (self.memory.done.load_acquire(self.own), 0..self.depth * self.members);
        lines.filter(|line| line % self.members != self.own).find_map(|line| {
            let word = self.memory.lines.load_acquire(line);
            let is_it = word & ROUND > done && self.number(line, word) == Some(call.number & ROUND);
            let theirs = (word >> ROUND_BITS) as u16;
            is_it.then_some(OtherCall { member: line % self.members, own: call.mark, theirs })
        })
    }

    /// The number of the call in which this word of a line was written: a stamp is not enough,
    /// since another member may be any number of calls ahead. `None` if the upper bits have changed
    /// since then, or if the line is written meanwhile.
    fn number(&self, line: usize, word: u64) -> Option<u64> {
        let (stamp, ..) = parts_of(self.descriptions.load_acquire(line));
        let upper = self.memory.uppers.load_acquire(line % self.members);
        let rounds_before = (upper as u32).wrapping_sub(word as u32);
        let is_known = !(1..=self.depth as u32).contains(&rounds_before);
        let is_same = self.memory.lines.load_acquire(line) == word;
        (is_known && is_same).then_some(upper >> 32 << STAMP_BITS | u64::from(stamp))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPTH: usize = 4;
    const BARRIER: u16 = 1;
    const BCAST: u16 = 2;

    /// Two members of a board in memory that lives for ever.
    fn board() -> [Rounds<MappedLongWords>; 2] {
        let words = |number: usize| {
            let memory = Box::leak(vec![0u64; number].into_boxed_slice());
            // SAFETY: the words live for ever, are aligned, and nothing else accesses them.
            unsafe { MappedLongWords::new(memory.as_mut_ptr().cast(), 1) }
        };
        let memory = RoundMemory {
            done: words(2),
            claims: words(DEPTH),
            wants: words(2),
            lines: words(2 * DEPTH),
            told: words(2),
            uppers: words(2),
        };
        [0, 1].map(|own| Rounds::new(2, own, DEPTH, memory.clone()))
    }

    /// Begins the next call.
    fn begin(member: &mut Rounds<MappedLongWords>, mark: u16) {
        let number = call_in(member.call).number + 1;
        member.begin(NumberedCall { mark, number });
    }

    /// A call of some rounds, in each of which the member writes.
    fn call(member: &mut Rounds<MappedLongWords>, mark: u16, rounds: usize) {
        begin(member, mark);
        for _ in 0..rounds {
            assert_eq!(member.line_is_free(), Ok(()));
            member.commit();
            member.finish();
        }
    }

    fn other(member: usize, own: u16, theirs: u16) -> Option<OtherCall> {
        Some(OtherCall { member, own, theirs })
    }

    #[test]
    fn a_line_of_another_call_is_not_awaited() {
        let [mut first, mut second] = board();
        call(&mut first, BARRIER, 1);
        begin(&mut second, BCAST);
        assert!(!second.is_written(0));
        assert_eq!(second.find_other_call(), other(0, BCAST, BARRIER));
        begin(&mut second, BARRIER);
        assert!(second.is_written(0));
    }

    #[test]
    fn members_in_the_same_calls_are_in_step() {
        let [mut first, mut second] = board();
        for round in 0..3 * DEPTH {
            let mark = [BARRIER, BCAST, 0][round % 3];
            call(&mut first, mark, 1);
            assert_eq!(first.find_other_call(), None);
            // A call whose mark is unknown fits to any.
            call(&mut second, [BARRIER, BCAST, BCAST][round % 3], 1);
            assert_eq!(second.find_other_call(), None);
        }
    }

    /// What a member has noted of later rounds is not taken for that of rounds a lap before.
    #[test]
    fn a_member_that_has_gone_on_is_not_taken_for_one_in_another_call() {
        let mark = |round: usize| 1 + (round % (DEPTH + 1)) as u16;
        let [mut first, mut second] = board();
        let both = 0..2 * DEPTH - 1;
        for round in both.clone() {
            call(&mut first, mark(round), 1);
            call(&mut second, mark(round), 1);
        }
        let last = first.finished_call();
        for round in both.end..both.end + 3 * DEPTH {
            let (memory, notes) = (&first.memory, &first.notes[..]);
            let calls = OwnCalls { memory, notes, own: 0, members: 2, last };
            assert_eq!(calls.find_other(), None, "round {round}");
            call(&mut first, mark(round), 1);
            begin(&mut second, mark(round));
            second.finish();
        }
    }

    #[test]
    fn members_that_only_read_tell_their_calls() {
        let [mut first, mut second] = board();
        begin(&mut first, BARRIER);
        begin(&mut second, BCAST);
        assert_eq!(first.find_other_call(), None);
        assert_eq!(second.find_other_call(), other(0, BCAST, BARRIER));
        assert_eq!(first.find_other_call(), other(1, BARRIER, BCAST));
    }

    /// A member can be as many rounds ahead as there are lines, but for the one that it cannot
    /// write. `shared` calls come first.
    fn many_calls_later(shared: usize, rounds: usize) {
        let [mut first, mut second] = board();
        for _ in 0..shared {
            call(&mut first, BARRIER, 1);
            call(&mut second, BARRIER, 1);
        }
        begin(&mut second, BARRIER);
        for _ in 0..DEPTH / rounds {
            call(&mut first, BCAST, rounds);
        }
        begin(&mut first, BCAST);
        assert_eq!(first.line_is_free(), Err(1));
        // In the place of the lines of the rounds before is the future of `second`.
        assert_eq!(second.find_other_call(), other(0, BARRIER, BCAST));
        assert_eq!(first.find_other_call(), other(1, BCAST, BARRIER));
    }

    #[test]
    fn a_member_that_is_all_lines_ahead_is_found() {
        for shared in [0, 1, 3 * DEPTH, 8 * DEPTH + 1] {
            many_calls_later(shared, 1);
            many_calls_later(shared, 2);
        }
    }

    #[test]
    fn a_member_that_fails_tells_the_call_that_does_not_fit() {
        let [mut first, mut second] = board();
        call(&mut first, BARRIER, 1);
        begin(&mut first, BARRIER);
        begin(&mut second, BCAST);
        assert_eq!(second.find_other_call(), other(0, BCAST, BARRIER));
        assert_eq!(first.find_other_call(), other(1, BARRIER, BCAST));
    }

    #[test]
    fn calls_by_messages_meet_those_on_the_board() {
        let [mut first, second] = board();
        let told = ToldCalls { words: &second.memory.told, own: 1, members: 2 };
        let call_of = |number| NumberedCall { mark: BCAST, number };
        call(&mut first, BCAST, 1);
        begin(&mut first, BCAST);
        assert_eq!(first.find_other_call(), None);
        for (number, found) in [(1, None), (2, other(0, BCAST, BCAST)), (3, None)] {
            assert_eq!(told.find(call_of(number), CallWay::ByMessages), found);
        }
        // The first call is over for the member on the board, but it remembers it.
        told.tell(call_of(1), CallWay::ByMessages);
        assert_eq!(first.find_other_call(), other(1, BCAST, BCAST));
        assert_eq!(told.find(call_of(1), CallWay::ByMessages), other(0, BCAST, BCAST));
    }

    /// Calls with these numbers, in each of which the first member writes. Whether the second
    /// member, in call `number` by messages, finds a line of it.
    fn is_found(rounds_before: u64, numbers: &[u64], number: u64) -> bool {
        let [mut first, mut second] = board();
        let memory = Box::leak(vec![0u64; 2 * DEPTH].into_boxed_slice());
        // SAFETY: the words live for ever, are aligned, and nothing else accesses them.
        let descriptions = unsafe { MappedLongWords::new(memory.as_mut_ptr().cast(), 1) };
        for member in [&mut first, &mut second] {
            member.round = rounds_before;
            member.known = rounds_before;
            member.memory.done.store_release(member.own, rounds_before);
        }
        for &number in numbers {
            first.begin(NumberedCall { mark: BCAST, number });
            let stamp = u64::from(number as u16) << (2 * super::super::LENGTH_BITS);
            descriptions.store_release(first.line(0), stamp);
            first.commit();
            first.finish();
        }
        let lines = WrittenLines {
            memory: &second.memory,
            descriptions: &descriptions,
            own: 1,
            members: 2,
            depth: DEPTH,
        };
        let found = lines.find(NumberedCall { mark: BARRIER, number });
        assert!(found.is_none() || found == other(0, BARRIER, BCAST));
        found.is_some()
    }

    #[test]
    fn a_line_is_found_by_the_whole_number_of_its_call() {
        for rounds_before in [0, 100, u64::from(u32::MAX), ROUND / 2] {
            for number in [1, 0xFFFF, 0x1_0000, 0xFFFF_FFFF, (1 << 32) + 7, (1 << 33) - 1] {
                let is_found = |numbers: &[u64]| is_found(rounds_before, numbers, number);
                assert!(is_found(&[number]), "{number}");
                // The upper bits that a later call has changed no longer tell those of this one.
                assert_eq!(is_found(&[number, number + 1]), number & 0xFFFF != 0xFFFF, "{number}");
                assert!(!is_found(&[number + 1, number + 2]), "{number}");
                // A root that waits for nobody is exactly so far ahead.
                for ahead in [1 << 16, 1 << 17, 1 << 32] {
                    assert!(!is_found(&[number + ahead]), "{number} {ahead}");
                    assert!(!is_found(&[number + 1, number + ahead]), "{number} {ahead}");
                    assert!(!is_found(&[number + ahead, number + 2 * ahead]), "{number} {ahead}");
                }
            }
        }
    }

    #[test]
    fn what_is_told_of_a_call_is_not_told_of_one_many_calls_later() {
        let [_, second] = board();
        let told = ToldCalls { words: &second.memory.told, own: 1, members: 2 };
        let others = ToldCalls { own: 0, ..told };
        let call = |number| NumberedCall { mark: BCAST, number };
        for number in [3, 1 << 30, 1 << 33, (1 << 33) + 3] {
            others.tell(call(number), CallWay::OnBoard);
            for later in [1 << 16, 1 << 30, 1 << 31, 1 << 32, 1 << 33, 1 << 45] {
                assert_eq!(told.find(call(number + later), CallWay::ByMessages), None);
            }
            let found = told.find(call(number), CallWay::ByMessages);
            assert_eq!(found, other(0, BCAST, BCAST));
        }
    }
}
