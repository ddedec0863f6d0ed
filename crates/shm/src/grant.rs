//! The protocol that moves the stream of an ordered pair between its header slot and rings: the
//! receiver decides, the sender obeys.
//!
//! A stream starts in the header slot. The receiver may at any time *grant* another place: a ring,
//! or the slot again, which revokes a ring. A grant carries a number. The sender writes a *marker*
//! with that number as the last entry in the old place and continues in the new one; a newer grant
//! replaces one that was not obeyed yet. The receiver reads the old place up to the marker, then
//! the new one. So nothing has to be drained, order is kept, and a ring is free again as soon as
//! its marker (or a newer one) is consumed.

use std::collections::VecDeque;

use super::layout::{LINE, RingPlace};

/// Bit positions of the populated payload (in lines) and of the payload bytes in the word that
/// describes a ring; the header lines are its lowest bits.
const PROVIDED_AT: u32 = 16;
const BYTES_AT: u32 = 32;

/// A place for a stream: a ring, or the header slot.
pub(crate) type Place = Option<RingPlace>;

/// A grant: number and place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) number: u64,
    pub(crate) place: Place,
}

impl Grant {
    /// Encodes the grant as two words and the extra word of a control entry.
    pub(crate) fn encode(&self) -> ([u64; 2], u64) {
        let words = match self.place {
            Some(ring) => {
                let provided = u64::from(ring.provided / LINE as u32);
                [
                    ring.offset,
                    u64::from(ring.lines)
                        | provided << PROVIDED_AT
                        | u64::from(ring.bytes) << BYTES_AT,
                ]
            }
            None => [0, 0],
        };
        (words, self.number)
    }

    /// Decodes a grant from a control entry.
    pub(crate) fn decode(words: [u64; 2], extra: u64) -> Grant {
        let lines = words[1] as u32 & ((1 << PROVIDED_AT) - 1);
        let provided = (words[1] as u32 >> PROVIDED_AT) * LINE as u32;
        let ring =
            RingPlace { offset: words[0], lines, bytes: (words[1] >> BYTES_AT) as u32, provided };
        Grant { number: extra, place: (lines > 0).then_some(ring) }
    }
}

/// The sender's side: counts sends until the pair is hot, and keeps the grant that is to be obeyed.
#[derive(Debug)]
pub(crate) struct SenderGrantState {
    sends: u32,
    ask_at: u32,
    asked: bool,
    pending: Option<Grant>,
}

impl SenderGrantState {
    /// Asks after `hot_sends` sends; 0 never asks.
    pub(crate) fn new(hot_sends: u32) -> SenderGrantState {
        SenderGrantState { sends: 0, ask_at: hot_sends, asked: hot_sends == 0, pending: None }
    }

    /// Counts a message through the slot; true if it is to carry the request for a ring.
    #[inline]
    pub(crate) fn count(&mut self) -> bool {
        self.sends = self.sends.saturating_add(1);
        let ask = !self.asked && self.sends >= self.ask_at;
        self.asked |= ask;
        ask
    }

    /// The receiver has granted a place.
    pub(crate) fn granted(&mut self, grant: Grant) {
        self.pending = Some(grant);
    }

    /// The receiver has no ring at the moment: asks again after sixteen times as many sends.
    pub(crate) fn refused(&mut self) {
        if self.ask_at > 0 {
            self.ask_at = self.sends.max(1).saturating_mul(16);
            self.asked = false;
        }
    }

    /// The grant to obey next.
    pub(crate) fn pending(&self) -> Option<Grant> {
        self.pending
    }

    /// The marker has been written. A pair that is back in the slot may become hot again.
    pub(crate) fn obeyed(&mut self) {
        if self.pending.take().is_some_and(|grant| grant.place.is_none()) {
            self.refused();
        }
    }
}

/// The receiver's side: where the stream is now, and which grants are outstanding.
#[derive(Debug, Default)]
pub(crate) struct ReceiverGrantState {
    current: Place,
    number: u64,
    out: VecDeque<Grant>,
}

/// The effect of a consumed marker.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MarkerMeaning {
    /// Where the stream continues.
    pub(crate) to: Place,
    /// Rings that the sender no longer writes.
    pub(crate) freed: Vec<RingPlace>,
}

impl ReceiverGrantState {
    /// Where the stream is now.
    pub(crate) fn current(&self) -> Place {
        self.current
    }

    /// Where the stream is, or will be once its sender has obeyed.
    pub(crate) fn latest(&self) -> Place {
        self.out.back().map_or(self.current, |grant| grant.place)
    }

    /// True if the stream is in the slot and no grant is outstanding.
    pub(crate) fn is_cold(&self) -> bool {
        self.current.is_none() && self.out.is_empty()
    }

    /// Grants a place. The result must be sent to the stream's sender.
    pub(crate) fn grant(&mut self, place: Place) -> Grant {
        self.number += 1;
        let grant = Grant { number: self.number, place };
        self.out.push_back(grant);
        grant
    }

    /// Handles a consumed marker: the stream continues in the place that the grant with its number
    /// names.
    ///
    /// # Panics
    /// If no such grant is outstanding: the sender wrote a marker that it was not asked for.
    pub(crate) fn marker(&mut self, number: u64) -> MarkerMeaning {
        let mut freed: Vec<RingPlace> = self.current.take().into_iter().collect();
        loop {
            let grant = self.out.pop_front().expect("a switch marker without a grant");
            if grant.number == number {
                self.current = grant.place;
                return MarkerMeaning { to: grant.place, freed };
            }
            freed.extend(grant.place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(offset: u64) -> Place {
        Some(RingPlace { offset, lines: 64, bytes: 4096, provided: 1024 })
    }

    #[test]
    fn a_grant_survives_its_journey() {
        for place in [ring(4096), None] {
            let grant = Grant { number: 7, place };
            let (words, extra) = grant.encode();
            assert_eq!(Grant::decode(words, extra), grant);
        }
    }

    #[test]
    fn asks_once_when_hot_and_later_after_a_refusal() {
        let mut side = SenderGrantState::new(4);
        let asked: Vec<u32> = (1..=10).filter(|_| side.count()).collect();
        assert_eq!(asked, [4]);
        side.refused();
        assert!((11..160).all(|_| !side.count()));
        assert!(side.count());
    }

    #[test]
    fn one_that_never_asks_does_not_begin_after_its_ring_was_taken() {
        let (mut receiver, mut sender) = (ReceiverGrantState::default(), SenderGrantState::new(0));
        for place in [ring(1), None] {
            sender.granted(receiver.grant(place));
            sender.obeyed();
        }
        assert_eq!(receiver.latest(), None);
        assert!((0..100).all(|_| !sender.count()));
    }

    #[test]
    fn a_newer_grant_replaces_one_that_was_not_obeyed() {
        let (mut receiver, mut sender) = (ReceiverGrantState::default(), SenderGrantState::new(1));
        sender.granted(receiver.grant(ring(1)));
        sender.granted(receiver.grant(ring(2)));
        assert!(!receiver.is_cold());
        let number = sender.pending().unwrap().number;
        sender.obeyed();
        let moved = receiver.marker(number);
        assert_eq!(moved, MarkerMeaning { to: ring(2), freed: vec![ring(1).unwrap()] });
        sender.granted(receiver.grant(None));
        let number = sender.pending().unwrap().number;
        assert_eq!(
            receiver.marker(number),
            MarkerMeaning { to: None, freed: vec![ring(2).unwrap()] }
        );
        assert!(receiver.is_cold());
    }
}
