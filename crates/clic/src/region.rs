//! The publishing side of bulk transfers: regions that the peer may request, and the answers that
//! are still to be sent.
//!
//! A request is answered from the region alone. The sender keeps no record of what it sent, because
//! the receiver asks again for what is missing. Bounded: at most [`ANSWERS`] requests are pending;
//! later ones are dropped. Once a region is released or withdrawn it is never read again, whatever
//! requests are still pending.

#![forbid(unsafe_code)]

use std::collections::VecDeque;

use slab::Slab;

use super::frame::BlockRequest;
use super::refusal::Refusal;

/// Maximum number of pending requests of a peer.
pub const ANSWERS: usize = 128;

/// Identifies a region to its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RegionName {
    /// Slot in the owner's table.
    pub slot: u32,
    /// How many regions were published to this receiver before it, modulo 2^32.
    pub generation: u32,
    /// Length of the region in bytes.
    pub length: u64,
}

#[derive(Clone, Copy, Debug)]
struct ClicRegion {
    generation: u32,
    token: u64,
    length: u64,
    asked: bool,
}

#[derive(Clone, Copy, Debug)]
struct Answer {
    rail: u8,
    request: u32,
    stamp: u32,
    token: u64,
    ask: BlockRequest,
}

/// One frame of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The rail to send it over.
    pub rail: u8,
    /// The request that it answers.
    pub request: u32,
    /// Its index in the request.
    pub index: u32,
    /// The timestamp of the request.
    pub stamp: u32,
    /// The owner's name for the region.
    pub token: u64,
    /// Offset of the bytes in the region.
    pub offset: u64,
    /// Their length.
    pub length: u16,
}

/// The regions published to one peer, and the pending answers.
#[derive(Debug, Default)]
pub struct ClicRegions {
    regions: Slab<ClicRegion>,
    /// How many regions were published so far: the generation of the next one.
    published: u32,
    answers: VecDeque<Answer>,
}

impl ClicRegions {
    /// Makes `length` bytes fetchable. `token` is the caller's name for them.
    pub fn publish(&mut self, token: u64, length: u64) -> RegionName {
        let generation = self.published;
        self.published = generation.wrapping_add(1);
        let slot =
            self.regions.insert(ClicRegion { generation, token, length, asked: false }) as u32;
        RegionName { slot, generation, length }
    }

    /// Withdraws a region that the peer has not requested yet; false if it has.
    pub fn withdraw(&mut self, key: RegionName) -> bool {
        let untouched = self.find(key.slot, key.generation).is_ok_and(|region| !region.asked);
        if untouched {
            self.regions.try_remove(key.slot as usize);
        }
        untouched
    }

    /// The peer is done with a region. Returns its token.
    pub fn release(&mut self, slot: u32, generation: u32) -> Result<u64, Refusal> {
        let token = self.find(slot, generation)?.token;
        self.answers
            .retain(|answer| (answer.ask.slot, answer.ask.generation) != (slot, generation));
        self.regions.try_remove(slot as usize);
        Ok(token)
    }

    /// True if nothing is published.
    pub fn is_empty(&self) -> bool {
        self.regions.is_empty()
    }

    /// True if answers are pending.
    pub fn has_answers(&self) -> bool {
        !self.answers.is_empty()
    }

    /// Handles a request of the peer, over a rail whose frames carry `payload` bytes.
    pub fn asked(
        &mut self,
        ask: BlockRequest,
        request: u32,
        stamp: u32,
        rail: u8,
        payload: usize,
    ) -> Result<(), Refusal> {
        ask.chunks().ok_or(Refusal::Length)?;
        if ask.chunk as usize > payload {
            return Err(Refusal::Length);
        }
        let region = self.find(ask.slot, ask.generation)?;
        if ask.offset.checked_add(u64::from(ask.length)).is_none_or(|end| end > region.length) {
            return Err(Refusal::Range);
        }
        region.asked = true;
        let token = region.token;
        // Repeated while the first answer is still pending: one answer is enough. It keeps its
        // place in the queue, so it must also keep its timestamp: a newer one would tell the
        // receiver that all requests in between have been overtaken.
        if let Some(answer) =
            self.answers.iter_mut().find(|answer| answer.request == request && answer.rail == rail)
        {
            *answer = Answer { rail, request, stamp: answer.stamp, token, ask };
            return Ok(());
        }
        if self.answers.len() >= ANSWERS {
            return Err(Refusal::Room);
        }
        self.answers.push_back(Answer { rail, request, stamp, token, ask });
        Ok(())
    }

    /// The next frame to send over a rail that is not in the bitmap `blocked`.
    pub fn next(&self, blocked: u8) -> Option<Chunk> {
        let answer = self.answers.iter().find(|answer| blocked >> answer.rail & 1 == 0)?;
        let BlockRequest { offset, length, chunk, missing, .. } = answer.ask;
        let index = missing.trailing_zeros();
        let at = index * chunk;
        Some(Chunk {
            rail: answer.rail,
            request: answer.request,
            index,
            stamp: answer.stamp,
            token: answer.token,
            offset: offset + u64::from(at),
            length: chunk.min(length - at) as u16,
        })
    }

    /// The frame that [`ClicRegions::next`] returned has been sent.
    pub fn sent(&mut self, chunk: &Chunk) {
        let same = |answer: &Answer| answer.request == chunk.request && answer.rail == chunk.rail;
        if let Some(place) = self.answers.iter().position(same) {
            let missing = &mut self.answers[place].ask.missing;
            *missing &= !(1 << chunk.index);
            if *missing == 0 {
                self.answers.remove(place);
            }
        }
    }

    fn find(&mut self, slot: u32, generation: u32) -> Result<&mut ClicRegion, Refusal> {
        let region = self.regions.get_mut(slot as usize);
        region.filter(|region| region.generation == generation).ok_or(Refusal::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(key: RegionName) -> BlockRequest {
        BlockRequest {
            slot: key.slot,
            generation: key.generation,
            offset: 100,
            length: 250,
            chunk: 100,
            missing: 0b101,
        }
    }

    fn drain(regions: &mut ClicRegions, blocked: u8) -> Vec<(u64, u16)> {
        let mut out = Vec::new();
        while let Some(chunk) = regions.next(blocked) {
            out.push((chunk.offset, chunk.length));
            regions.sent(&chunk);
        }
        out
    }

    #[test]
    fn what_is_missing_is_sent_and_nothing_else() {
        let mut regions = ClicRegions::default();
        let key = regions.publish(77, 350);
        assert_eq!(regions.asked(ask(key), 5, 9, 1, 1000), Ok(()));
        assert_eq!(regions.next(0b10), None, "that rail takes nothing now");
        let first = regions.next(0).unwrap();
        assert_eq!(
            (first.token, first.request, first.index, first.stamp, first.rail),
            (77, 5, 0, 9, 1)
        );
        assert_eq!(drain(&mut regions, 0), [(100, 100), (300, 50)]);
        assert!(!regions.has_answers());
    }

    #[test]
    fn nonsense_is_refused() {
        let mut regions = ClicRegions::default();
        let key = regions.publish(77, 349);
        let good = ask(key);
        let mut refused = |ask, payload| regions.asked(ask, 0, 0, 0, payload).unwrap_err();
        assert_eq!(refused(good, 1000), Refusal::Range);
        assert_eq!(refused(BlockRequest { offset: u64::MAX, ..good }, 1000), Refusal::Range);
        assert_eq!(refused(good, 99), Refusal::Length);
        assert_eq!(refused(BlockRequest { chunk: 0, ..good }, 99), Refusal::Length);
        assert_eq!(refused(BlockRequest { slot: 1, ..good }, 1000), Refusal::Unknown);
        assert_eq!(refused(BlockRequest { generation: 1, ..good }, 1000), Refusal::Unknown);
    }

    #[test]
    fn a_region_ends_once_and_its_slot_is_another_then() {
        let mut regions = ClicRegions::default();
        let key = regions.publish(1, 1000);
        let other = regions.publish(2, 1000);
        assert!(regions.withdraw(other) && !regions.withdraw(other));
        regions.asked(ask(key), 1, 0, 0, 1000).unwrap();
        assert!(!regions.withdraw(key));
        assert_eq!(regions.release(key.slot, key.generation), Ok(1));
        assert_eq!(drain(&mut regions, 0), [], "the memory is not ours any more");
        assert_eq!(regions.release(key.slot, key.generation), Err(Refusal::Unknown));
        assert!(regions.is_empty());
        let next = regions.publish(3, 1000);
        assert_eq!((next.slot, next.generation), (key.slot, 2), "the slot is used again");
        assert_eq!(regions.asked(ask(key), 1, 0, 0, 1000), Err(Refusal::Unknown));
    }

    #[test]
    fn a_flood_of_requests_finds_an_end() {
        let mut regions = ClicRegions::default();
        let key = regions.publish(1, 1000);
        for request in 0..1000 {
            let wanted = if request < ANSWERS as u32 { Ok(()) } else { Err(Refusal::Room) };
            assert_eq!(regions.asked(ask(key), request, 0, 0, 1000), wanted);
        }
        assert_eq!(regions.asked(ask(key), 0, 0, 0, 1000), Ok(()), "the same again takes no room");
        assert_eq!(drain(&mut regions, 0).len(), 2 * ANSWERS);
    }
}
