//! A receiver's side of a multicast group.

#![forbid(unsafe_code)]

use std::collections::VecDeque;

use super::{MOST_PARTS, MulticastGroup, PartSet, READY, Time, WINDOW, pause};
use crate::refusal::Refusal;
use crate::timer::{MICROSECOND, sooner};

/// Reordering window: a gap counts as a loss only after this time.
const SLACK: Time = 20 * MICROSECOND;

/// Number of parts that one request names. One bit stays unused, since all ones mean everything.
const BITS: u32 = 31;

#[derive(Debug)]
struct MulticastMessage {
    number: u32,
    token: u64,
    capacity: u32,
    /// Length in bytes and number of parts; known with the first part.
    length: Option<(u32, u32)>,
    here: PartSet,
    /// Parts before this one have arrived or are lost; later ones may still be in flight.
    seen: u32,
    repair_at: Option<Time>,
    /// Parts before this one have been requested, and may be in flight until `answered_by`.
    asked: u32,
    answered_by: Time,
    tries: u32,
}

impl MulticastMessage {
    fn first_missing(&self, end: u32) -> Option<u32> {
        (0..end).find(|index| !self.here.has(*index))
    }
}

/// The destination of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedPart {
    /// The caller's name for the message.
    pub token: u64,
    /// Offset in the message.
    pub offset: u32,
    /// Number of bytes that fit; the rest exceeds the expected capacity.
    pub keep: usize,
}

/// A message that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinishedMessage {
    /// The caller's name for it.
    pub token: u64,
    /// Its length.
    pub length: u32,
    /// Its number, to be reported to the root.
    pub number: u32,
}

/// Parts to request from the root: bit i of the bitmap is part `first + i`, all ones mean
/// everything from `first` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Number of the message.
    pub message: u32,
    /// The first part.
    pub first: u32,
    /// Which parts are missing.
    pub bitmap: u32,
}

/// The receiver's state of one group.
#[derive(Debug)]
pub struct Member {
    group: MulticastGroup,
    /// Number of the next message to expect.
    next: u32,
    messages: VecDeque<MulticastMessage>,
    /// Whether parts of the next messages have been dropped because they were not expected yet.
    dropped: [bool; WINDOW],
    stands_ready: bool,
    /// Complete messages that have not been reported to the root yet.
    untold: Vec<u32>,
}

impl Member {
    /// Creates a member of this group. `missed`: bit i is set if parts of message i have already
    /// arrived. `stands_ready`: the member pre-posts buffers for messages that may never come.
    pub fn new(group: MulticastGroup, stands_ready: bool, missed: u32) -> Member {
        let dropped = std::array::from_fn(|message| missed >> message & 1 != 0);
        Member {
            group,
            next: 0,
            messages: VecDeque::new(),
            dropped,
            stands_ready,
            untold: Vec::new(),
        }
    }

    /// True if it pre-posts buffers for messages that may never come.
    pub fn stands_ready(&self) -> bool {
        self.stands_ready
    }

    /// The group.
    pub fn group(&self) -> &MulticastGroup {
        &self.group
    }

    /// True if another message may be expected.
    pub fn has_room(&self) -> bool {
        self.messages.len() < if self.stands_ready { READY } else { WINDOW }
    }

    /// A message is complete. Returns true if it may be reported to the root now. A pre-posting
    /// member reports it only while it has buffers for everything that the root may send before the
    /// next report.
    pub fn is_through(&mut self, number: u32) -> bool {
        let tells = !self.stands_ready || self.messages.len() + self.untold.len() >= WINDOW;
        if !tells {
            self.untold.push(number);
        }
        tells
    }

    /// A buffer has become free: returns the oldest complete message that may now be reported to
    /// the root.
    pub fn late(&mut self) -> Option<u32> {
        let next = self.next;
        let oldest =
            (0..self.untold.len()).max_by_key(|place| next.wrapping_sub(self.untold[*place]))?;
        Some(self.untold.swap_remove(oldest))
    }

    /// Expects the next message of the group, of at most `capacity` bytes, and returns its number.
    /// `None` without [`Member::has_room`].
    pub fn expect(&mut self, now: Time, token: u64, capacity: u32) -> Option<u32> {
        if !self.has_room() {
            return None;
        }
        let number = self.next;
        let repair_at = self.dropped[0].then_some(now);
        self.dropped.rotate_left(1);
        self.dropped[WINDOW - 1] = false;
        let here = PartSet::default();
        self.messages.push_back(MulticastMessage {
            number,
            token,
            capacity,
            length: None,
            here,
            seen: 0,
            repair_at,
            asked: 0,
            answered_by: 0,
            tries: 0,
        });
        self.next = self.next.wrapping_add(1);
        Some(number)
    }

    /// Returns the destination of a part that arrived. Changes no state of the message; once the
    /// part is stored, call [`Member::placed`].
    ///
    /// # Errors
    /// Why the part is rejected.
    pub fn place(
        &mut self,
        number: u32,
        total: u32,
        index: u32,
        bytes: usize,
    ) -> Result<PlacedPart, Refusal> {
        let ahead = number.wrapping_sub(self.next) as usize;
        if ahead < WINDOW {
            self.dropped[ahead] = true;
            return Err(Refusal::Unknown);
        }
        let parts = self.group.parts(total).ok_or(Refusal::Length)?;
        if index >= parts || index >= MOST_PARTS {
            return Err(Refusal::Range);
        }
        if bytes != self.group.bytes_of(index, total) as usize {
            return Err(Refusal::Length);
        }
        let chunk = u32::from(self.group.chunk);
        let message = self.find(number).ok_or(Refusal::Again)?;
        if message.length.is_some_and(|length| length != (total, parts)) {
            return Err(Refusal::Length);
        }
        if message.here.has(index) {
            return Err(Refusal::Again);
        }
        let offset = index * chunk;
        Ok(PlacedPart {
            token: message.token,
            offset,
            keep: bytes.min(message.capacity.saturating_sub(offset) as usize),
        })
    }

    /// The part is stored where [`Member::place`] directed.
    pub fn placed(
        &mut self,
        number: u32,
        total: u32,
        index: u32,
        now: Time,
    ) -> Option<FinishedMessage> {
        let parts = self.group.parts(total)?;
        let message = self.find(number)?;
        message.length = Some((total, parts));
        message.here.insert(index);
        message.seen = message.seen.max(index + 1);
        let count = message.here.count();
        if count == parts {
            let token = message.token;
            self.messages.retain(|message| message.number != number);
            return Some(FinishedMessage { token, length: total, number });
        }
        if message.asked > 0 && message.first_missing(message.asked).is_none() {
            (message.asked, message.answered_by) = (0, 0);
        }
        // Parts arrive in order: anything missing before one that has arrived is lost.
        message.repair_at = if count < message.seen {
            sooner(message.repair_at, Some(message.answered_by.max(now + SLACK)))
        } else {
            None
        };
        None
    }

    /// What to request from the root now.
    pub fn missing(&self, now: Time) -> Option<Missing> {
        let message =
            self.messages.iter().find(|message| message.repair_at.is_some_and(|at| at <= now))?;
        let Some((_, parts)) = message.length else {
            return Some(Missing { message: message.number, first: 0, bitmap: u32::MAX });
        };
        let first = message.first_missing(message.seen)?;
        let is_missing = |index: u32| index < message.seen && !message.here.has(index);
        if message.seen == parts && first + BITS < parts && (first..parts - 1).all(is_missing) {
            return Some(Missing { message: message.number, first, bitmap: u32::MAX });
        }
        let bits = (0..BITS).filter(|bit| is_missing(first + bit));
        Some(Missing {
            message: message.number,
            first,
            bitmap: bits.fold(0, |all, bit| all | 1 << bit),
        })
    }

    /// The request that [`Member::missing`] returned has been sent.
    pub fn asked(&mut self, missing: &Missing, now: Time) {
        if let Some(message) = self.find(missing.message) {
            message.asked =
                missing.first + if missing.bitmap == u32::MAX { MOST_PARTS } else { BITS };
            message.asked = message.asked.min(message.seen);
            message.answered_by = now + pause(message.tries);
            message.repair_at = Some(message.answered_by);
            message.tries += 1;
        }
    }

    /// When to request next.
    pub fn deadline(&self) -> Option<Time> {
        self.messages
            .iter()
            .filter_map(|message| message.repair_at)
            .fold(None, |a, b| sooner(a, Some(b)))
    }

    /// True if no message is expected.
    pub fn is_idle(&self) -> bool {
        self.messages.is_empty()
    }

    fn find(&mut self, number: u32) -> Option<&mut MulticastMessage> {
        self.messages.iter_mut().find(|message| message.number == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: MulticastGroup = MulticastGroup { number: 1, session: 2, root: 0, chunk: 100 };

    fn part(
        member: &mut Member,
        number: u32,
        index: u32,
        now: Time,
    ) -> Result<Option<FinishedMessage>, Refusal> {
        let bytes = GROUP.bytes_of(index, 950) as usize;
        let placed = member.place(number, 950, index, bytes)?;
        assert_eq!(
            (placed.token, placed.offset, placed.keep),
            (u64::from(number) + 50, index * 100, bytes)
        );
        Ok(member.placed(number, 950, index, now))
    }

    #[test]
    fn gaps_are_asked_for_and_every_part_counts_once() {
        let mut member = Member::new(GROUP, false, 0);
        assert_eq!(member.expect(0, 50, 2000), Some(0));
        assert_eq!(member.deadline(), None);
        for index in [0, 1, 4, 9] {
            assert_eq!(part(&mut member, 0, index, 10), Ok(None));
        }
        assert_eq!((member.deadline(), member.missing(10)), (Some(10 + SLACK), None));
        assert_eq!(part(&mut member, 0, 4, 20), Err(Refusal::Again));
        let missing = member.missing(10 + SLACK).unwrap();
        assert_eq!(missing, Missing { message: 0, first: 2, bitmap: 0b111_1011 & !(1 << 7) });
        member.asked(&missing, 20);
        assert!(member.deadline().unwrap() > 20 + SLACK);
        for index in [2, 3, 5, 6, 7] {
            assert_eq!(part(&mut member, 0, index, 30), Ok(None));
        }
        assert_eq!(
            part(&mut member, 0, 8, 30),
            Ok(Some(FinishedMessage { token: 50, length: 950, number: 0 }))
        );
        assert!(member.is_idle());
        assert_eq!(part(&mut member, 0, 8, 30), Err(Refusal::Again));
    }

    #[test]
    fn what_nobody_expected_is_repaired_when_somebody_does() {
        let mut member = Member::new(GROUP, false, 0);
        assert_eq!(member.place(0, 950, 3, 100), Err(Refusal::Unknown));
        assert_eq!(member.place(1, 950, 3, 100), Err(Refusal::Unknown));
        assert_eq!(member.place(WINDOW as u32, 950, 3, 100), Err(Refusal::Again), "from nowhere");
        member.expect(5, 50, 950).unwrap();
        assert_eq!(member.missing(5), Some(Missing { message: 0, first: 0, bitmap: u32::MAX }));
        (1..WINDOW as u64).for_each(|number| assert!(member.expect(5, 50 + number, 950).is_some()));
        assert_eq!(member.expect(5, 99, 950), None);
        (0..10).for_each(|index| assert!(part(&mut member, 0, index, 5).is_ok()));
        assert_eq!(member.missing(5), Some(Missing { message: 1, first: 0, bitmap: u32::MAX }));
        assert_eq!(
            (member.expect(5, 99, 950), member.missing(5).unwrap().message),
            (Some(WINDOW as u32), 1)
        );
    }

    #[test]
    fn the_root_is_told_while_there_is_a_place_for_what_it_sends_then() {
        for (stands_ready, places) in [(false, WINDOW), (true, READY)] {
            let mut member = Member::new(GROUP, stands_ready, 0);
            (0..places as u64)
                .for_each(|number| assert!(member.expect(0, 50 + number, 950).is_some()));
            assert_eq!(member.expect(0, 99, 950), None);
            // The last ones complete in another order.
            let (last, before) = (places as u32 - 1, places as u32 - 2);
            for number in (0..before).chain([last, before]) {
                (0..10).for_each(|index| assert!(part(&mut member, number, index, 5).is_ok()));
                assert_eq!(member.is_through(number), !stands_ready || number < before, "{number}");
            }
            for wanted in [before, last].map(|number| stands_ready.then_some(number)) {
                assert_eq!(member.late(), wanted);
                assert!(member.expect(0, 99, 950).is_some());
            }
            assert_eq!(member.late(), None);
        }
    }

    #[test]
    fn nonsense_is_refused_and_what_does_not_fit_is_cut() {
        let mut member = Member::new(GROUP, false, 0);
        member.expect(0, 50, 150).unwrap();
        for (total, index, bytes, why) in [
            (950, 10, 100, Refusal::Range),
            (950, 0, 99, Refusal::Length),
            (950, 9, 100, Refusal::Length),
            (u32::MAX, 0, 100, Refusal::Length),
        ] {
            assert_eq!(member.place(0, total, index, bytes), Err(why));
        }
        assert_eq!(member.place(0, 950, 1, 100).unwrap().keep, 50);
        assert_eq!(member.place(0, 950, 2, 100).unwrap().keep, 0);
        assert_eq!(member.placed(0, 950, 1, 0), None);
        assert_eq!(member.place(0, 951, 2, 100), Err(Refusal::Length), "it has another length now");
    }
}
