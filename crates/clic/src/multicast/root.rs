//! The root's side of a group.

#![forbid(unsafe_code)]

use std::collections::VecDeque;

use super::{MulticastGroup, Time, WINDOW, pause};
use crate::refusal::Refusal;
use crate::timer::sooner;

#[derive(Debug)]
struct RootMessage {
    number: u32,
    buffer: u64,
    length: u32,
    parts: u32,
    /// Number of parts that have been multicast.
    sent: u32,
    /// Ranks that have not reported completion.
    missing: Vec<u32>,
    repairs: VecDeque<Repair>,
    nudge_at: Time,
    tries: u32,
}

#[derive(Clone, Copy, Debug)]
struct Repair {
    rank: u32,
    first: u32,
    bitmap: u32,
}

/// A frame to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RootPart {
    /// The receiving member; `None`: all of them.
    pub to: Option<u32>,
    /// Number of the message.
    pub message: u32,
    /// Length of the message.
    pub total: u32,
    /// Index of the part.
    pub index: u32,
    /// The caller's name for the message's bytes.
    pub buffer: u64,
    /// Offset of the part in the message.
    pub offset: u32,
    /// Length of the part.
    pub length: u16,
}

/// The root's state of one group.
#[derive(Debug)]
pub struct Root {
    group: MulticastGroup,
    receivers: Vec<u32>,
    next: u32,
    messages: VecDeque<RootMessage>,
}

impl Root {
    /// Creates a group with these receivers.
    pub fn new(group: MulticastGroup, receivers: &[u32]) -> Root {
        Root { group, receivers: receivers.to_vec(), next: 0, messages: VecDeque::new() }
    }

    /// The group.
    pub fn group(&self) -> &MulticastGroup {
        &self.group
    }

    /// The ranks that receive.
    pub fn receivers(&self) -> &[u32] {
        &self.receivers
    }

    /// True if another message may be started.
    pub fn has_room(&self) -> bool {
        self.messages.len() < WINDOW
    }

    /// Starts a broadcast and returns its number. `None` without [`Root::has_room`] or if the
    /// message is too long.
    pub fn start(&mut self, now: Time, buffer: u64, length: u32) -> Option<u32> {
        let parts = self.group.parts(length).filter(|_| self.has_room())?;
        let (number, missing, repairs) = (self.next, self.receivers.clone(), VecDeque::new());
        self.messages.push_back(RootMessage {
            number,
            buffer,
            length,
            parts,
            sent: 0,
            missing,
            repairs,
            nudge_at: now,
            tries: 0,
        });
        self.next = self.next.wrapping_add(1);
        Some(number)
    }

    /// The next frame to send, if any.
    pub fn next(&self) -> Option<RootPart> {
        self.messages.iter().find_map(|message| {
            let (to, index) = match message.repairs.front() {
                _ if message.sent < message.parts => (None, message.sent),
                Some(repair) => (Some(repair.rank), repair.first),
                None => return None,
            };
            let length = self.group.bytes_of(index, message.length) as u16;
            let (message, total, buffer) = (message.number, message.length, message.buffer);
            Some(RootPart {
                to,
                message,
                total,
                index,
                buffer,
                offset: index * u32::from(self.group.chunk),
                length,
            })
        })
    }

    /// The frame that [`Root::next`] returned has been sent.
    pub fn sent(&mut self, part: &RootPart, now: Time) {
        let Some(message) = self.find(part.message) else { return };
        message.nudge_at = now + pause(message.tries);
        if part.to.is_none() {
            message.sent = part.index + 1;
            return;
        }
        let end = message.parts;
        if let Some(repair) = message.repairs.front_mut() {
            // All ones stay all ones: everything to the end.
            let all = repair.bitmap == u32::MAX;
            let rest = if all { u32::MAX } else { repair.bitmap >> 1 };
            let step = if all { 1 } else { rest.trailing_zeros().min(31) + 1 };
            repair.first += step;
            repair.bitmap = if all { rest } else { rest >> (step - 1) };
            if repair.bitmap == 0 || repair.first >= end {
                message.repairs.pop_front();
            }
        }
    }

    /// A receiver reports missing parts: bit i of the bitmap is part `first + i`, all ones mean
    /// everything from `first` on.
    ///
    /// # Errors
    /// [`Refusal::Unknown`] if the message or the receiver is not pending, [`Refusal::Range`] if
    /// the bitmap names no existing part.
    pub fn repair(
        &mut self,
        rank: u32,
        number: u32,
        first: u32,
        bitmap: u32,
    ) -> Result<(), Refusal> {
        let message = self.find(number).ok_or(Refusal::Unknown)?;
        if !message.missing.contains(&rank) {
            return Err(Refusal::Unknown);
        }
        // Skips the low zero bits. Bits beyond the last part are dropped in `sent`.
        let shift = bitmap.trailing_zeros();
        if bitmap == 0 || u64::from(first) + u64::from(shift) >= u64::from(message.parts) {
            return Err(Refusal::Range);
        }
        let all = bitmap == u32::MAX;
        let repair = Repair {
            rank,
            first: first + shift,
            bitmap: if all { bitmap } else { bitmap >> shift },
        };
        match message.repairs.iter_mut().find(|known| known.rank == rank) {
            // A repair to this rank is already pending: the newer request lists what is still
            // missing.
            Some(known) => *known = repair,
            None => message.repairs.push_back(repair),
        }
        Ok(())
    }

    /// A receiver has the whole message. Calls `free` for the buffer of a message that all
    /// receivers have.
    pub fn complete(
        &mut self,
        rank: u32,
        number: u32,
        free: &mut impl FnMut(u64),
    ) -> Result<(), Refusal> {
        let message = self.find(number).ok_or(Refusal::Unknown)?;
        message.missing.retain(|missing| *missing != rank);
        message.repairs.retain(|repair| repair.rank != rank);
        message.tries = 0;
        self.finish(free);
        Ok(())
    }

    /// A receiver is lost: no message waits for it any more.
    pub fn forget(&mut self, rank: u32, free: &mut impl FnMut(u64)) {
        self.receivers.retain(|receiver| *receiver != rank);
        for message in &mut self.messages {
            message.missing.retain(|missing| *missing != rank);
            message.repairs.retain(|repair| repair.rank != rank);
        }
        self.finish(free);
    }

    /// Removes the messages that all receivers have.
    fn finish(&mut self, free: &mut impl FnMut(u64)) {
        self.messages.retain(|message| {
            let over = message.missing.is_empty();
            if over {
                free(message.buffer);
            }
            !over
        });
    }

    /// Sends the last part of the message to receivers that have not reported in time.
    pub fn expire(&mut self, now: Time) {
        for message in
            self.messages.iter_mut().filter(|message| message.is_quiet() && message.nudge_at <= now)
        {
            let last = message.parts - 1;
            message.repairs.extend(message.missing.iter().map(|rank| Repair {
                rank: *rank,
                first: last,
                bitmap: 1,
            }));
            message.tries += 1;
            message.nudge_at = now + pause(message.tries);
        }
    }

    /// When to call [`Root::expire`].
    pub fn deadline(&self) -> Option<Time> {
        let quiet = self.messages.iter().filter(|message| message.is_quiet());
        quiet.map(|message| message.nudge_at).fold(None, |a, b| sooner(a, Some(b)))
    }

    /// True if no message is in flight.
    pub fn is_idle(&self) -> bool {
        self.messages.is_empty()
    }

    fn find(&mut self, number: u32) -> Option<&mut RootMessage> {
        self.messages.iter_mut().find(|message| message.number == number)
    }
}

impl RootMessage {
    fn is_quiet(&self) -> bool {
        self.sent == self.parts && self.repairs.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timer::SECOND;

    const GROUP: MulticastGroup = MulticastGroup { number: 1, session: 2, root: 0, chunk: 100 };

    fn send_all(root: &mut Root, now: Time) -> Vec<(Option<u32>, u32, u32)> {
        let mut out = Vec::new();
        while let Some(part) = root.next() {
            root.sent(&part, now);
            out.push((part.to, part.message, part.index));
        }
        out
    }

    #[test]
    fn each_part_goes_once_and_gaps_are_repaired_for_whom_they_concern() {
        let mut root = Root::new(GROUP, &[1, 2, 3]);
        assert_eq!(root.start(0, 70, 250), Some(0));
        let last = {
            root.sent(&root.next().unwrap(), 0);
            root.sent(&root.next().unwrap(), 0);
            root.next().unwrap()
        };
        assert_eq!((last.offset, last.length, last.total, last.to), (200, 50, 250, None));
        assert_eq!(send_all(&mut root, 0), [(None, 0, 2)]);
        assert_eq!(root.repair(2, 0, 0, 0b101), Ok(()));
        assert_eq!(root.repair(3, 0, 1, u32::MAX), Ok(()));
        let repairs = [(Some(2), 0, 0), (Some(2), 0, 2), (Some(3), 0, 1), (Some(3), 0, 2)];
        assert_eq!(send_all(&mut root, 0), repairs);
        for (wrong, why) in [
            ((9, 0, 0, 1), Refusal::Unknown),
            ((2, 1, 0, 1), Refusal::Unknown),
            ((2, 0, 3, 1), Refusal::Range),
        ] {
            let (rank, number, first, bitmap) = wrong;
            assert_eq!(root.repair(rank, number, first, bitmap), Err(why));
        }
        assert_eq!(root.repair(2, 0, u32::MAX, u32::MAX), Err(Refusal::Range));
    }

    #[test]
    fn a_buffer_is_free_when_all_have_it() {
        let (mut root, mut free) = (Root::new(GROUP, &[1, 2]), Vec::new());
        root.start(0, 70, 0).unwrap();
        root.start(0, 71, 10).unwrap();
        assert_eq!((root.start(0, 72, 10), root.has_room()), (None, false));
        assert_eq!(send_all(&mut root, 0), [(None, 0, 0), (None, 1, 0)]);
        for (rank, number, freed) in [(1, 1, &[][..]), (2, 1, &[71]), (1, 0, &[71])] {
            root.complete(rank, number, &mut |buffer| free.push(buffer)).unwrap();
            assert_eq!(free, freed);
        }
        assert_eq!(root.complete(2, 1, &mut |_| {}), Err(Refusal::Unknown));
        root.forget(2, &mut |buffer| free.push(buffer));
        assert_eq!((free.as_slice(), root.is_idle()), (&[71, 70][..], true));
        assert_eq!(root.start(0, 73, 256 * 100 + 1), None, "too many parts");
    }

    #[test]
    fn the_silent_are_nudged_with_the_last_part() {
        let mut root = Root::new(GROUP, &[1, 2]);
        root.start(0, 70, 300).unwrap();
        assert_eq!(root.deadline(), None);
        send_all(&mut root, 1000);
        root.complete(1, 0, &mut |_| {}).unwrap();
        let due = root.deadline().unwrap();
        root.expire(due - 1);
        assert_eq!(root.next(), None);
        root.expire(due);
        assert_eq!(send_all(&mut root, due), [(Some(2), 0, 2)]);
        assert!(root.deadline().unwrap() > due && root.deadline().unwrap() < due + SECOND);
    }
}
