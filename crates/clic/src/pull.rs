//! The receiving side of bulk transfers. Regions of the peer are fetched in blocks of up to 64
//! chunks. A block is requested as soon as the process has credit for it, over the rail with the
//! earliest estimated completion. Chunks are placed by offset, in any order. Missing chunks of a
//! block are requested again, over another rail if the first is down.
//!
//! Chunks of a block count as missing if its last chunk arrived before others, if the answer to a
//! later request over the same rail arrived first, or on a timeout. Stale answers are harmless: a
//! request number is not reused for 16 million blocks, and a chunk is placed only once.
//!
//! Bounded: at most [`BLOCKS`] blocks are in flight. The list of pulls grows only by what this
//! process itself asks for.

#![forbid(unsafe_code)]

use std::collections::VecDeque;

use slab::Slab;

use super::Time;
use super::credit::{CreditShare, Credits};
use super::frame::{BlockRequest, ones, since};
use super::rails::Rails;
use super::refusal::Refusal;
use super::region::RegionName;
use super::timer::sooner;

/// Maximum number of blocks of a peer in flight.
pub const BLOCKS: usize = 64;

/// Maximum length of a block in bytes.
pub const BLOCK_BYTES: u64 = 64 << 10;

/// Minimum length of a block in bytes, except at the end of a pull. Each block costs a request, so
/// small amounts of returned credit are accumulated.
const LEAST_BYTES: u64 = 16 << 10;

/// No block of a pull begins this many bytes or more after an incomplete one. A receiver that
/// requests some offset never again requests anything more than this far before it, so both ends
/// can limit what they keep of bytes that are packed or unpacked in order.
pub const SPAN: u64 = 4 << 20;

#[derive(Debug)]
struct ClicPull {
    token: u64,
    key: RegionName,
    wanted: u64,
    /// Number of bytes from the front for which blocks have been created.
    opened: u64,
    arrived: u64,
}

#[derive(Debug)]
struct PullBlock {
    /// Index into the table of pulls.
    pull: usize,
    offset: u64,
    length: u32,
    chunk: u32,
    missing: u64,
    rail: u8,
    /// When it was last requested; `None`: the request is still to be sent.
    asked: Option<Time>,
    deadline: Time,
    tries: u32,
}

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    block: Option<PullBlock>,
}

/// The destination of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedChunk {
    /// The caller's name for the pull.
    pub token: u64,
    /// Offset in the pull's target.
    pub offset: u64,
}

/// A chunk that is expected to arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The caller's name for the pull.
    pub token: u64,
    /// Offset in the pull's target.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u32,
    /// The request that it answers.
    pub request: u32,
    /// Its index in the request.
    pub index: u32,
}

/// A pull that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinishedPull {
    /// The caller's name for the pull.
    pub token: u64,
    /// The region, which can now be released.
    pub key: RegionName,
}

/// A request to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockToRequest {
    /// The rail to send it over.
    pub rail: u8,
    /// The number of the request.
    pub number: u32,
    /// What it asks for.
    pub ask: BlockRequest,
}

/// The pulls from one peer.
#[derive(Debug)]
pub struct ClicPulls {
    rank: u32,
    pulls: Slab<ClicPull>,
    /// Pulls for which blocks are still to be created, oldest first.
    queue: VecDeque<usize>,
    /// At most [`BLOCKS`]. No slab: a slot outlives its block, because its generation tells the
    /// answers to requests for different blocks apart.
    blocks: Vec<Slot>,
    share: CreditShare,
    /// Number of blocks, and how many of them have a request still to be sent.
    under_way: usize,
    unasked: usize,
    /// The timestamp that the newest answer echoed.
    stamp: u32,
}

/// The chunk size: the same on all rails, so that a block can move to another rail at any time, and
/// a multiple of the cache line.
fn chunk_of(rails: &Rails) -> u32 {
    let payload = rails.least_payload();
    (if payload > 64 { payload & !63 } else { payload.max(1) }) as u32
}

impl ClicPulls {
    /// Pulls from the peer of this rank (its identity in the credit queue).
    pub fn new(rank: u32) -> ClicPulls {
        ClicPulls {
            rank,
            pulls: Slab::new(),
            queue: VecDeque::new(),
            blocks: Vec::new(),
            share: CreditShare::default(),
            under_way: 0,
            unasked: 0,
            stamp: 0,
        }
    }

    /// Fetches the first `wanted` bytes of a region. `wanted` must not be zero; it is limited to
    /// the length of the region.
    pub fn add(&mut self, token: u64, key: RegionName, wanted: u64) {
        let pull = ClicPull { token, key, wanted: wanted.min(key.length), opened: 0, arrived: 0 };
        self.queue.push_back(self.pulls.insert(pull));
    }

    /// True if nothing is being fetched.
    pub fn is_empty(&self) -> bool {
        self.pulls.is_empty()
    }

    /// This peer has reached the head of the credit queue.
    pub fn called(&mut self, credits: &Credits) {
        credits.called(&mut self.share);
    }

    /// Creates blocks as far as there is credit.
    pub fn open(&mut self, now: Time, rails: &mut Rails, credits: &mut Credits) {
        while let Some(&index) = self.queue.front() {
            let Some(place) = self.free_block() else { break };
            let lowest = self.lowest_of(index);
            let Some(pull) = self.pulls.get_mut(index) else { break };
            if lowest.is_some_and(|lowest| pull.opened + BLOCK_BYTES > lowest + SPAN) {
                break;
            }
            credits.pulls(&mut self.share, true);
            let left = (pull.wanted - pull.opened).min(BLOCK_BYTES);
            let rail = rails.for_block(left, now);
            let chunk = chunk_of(rails);
            let least = left.min(LEAST_BYTES.max(2 * u64::from(chunk)));
            let most = left.min(64 * u64::from(chunk));
            let Some(mut taken) = credits.take(&mut self.share, self.rank, least, most) else {
                return;
            };
            if taken < most {
                // Whole chunks only, otherwise every block would end with a short one.
                let crumb = (taken - least) % u64::from(chunk);
                credits.give(&mut self.share, crumb);
                taken -= crumb;
            }
            let length = taken as u32;
            rails.asked(rail, taken);
            let missing = ones(length.div_ceil(chunk));
            let (offset, asked) = (pull.opened, None);
            let block = PullBlock {
                pull: index,
                offset,
                length,
                chunk,
                missing,
                rail,
                asked,
                deadline: now,
                tries: 0,
            };
            let slot = &mut self.blocks[place];
            (slot.generation, slot.block) = (slot.generation.wrapping_add(1), Some(block));
            self.unasked += 1;
            self.under_way += 1;
            pull.opened += taken;
            if pull.opened == pull.wanted {
                self.queue.pop_front();
            }
        }
        if self.queue.is_empty() {
            credits.pulls(&mut self.share, false);
        }
    }

    /// The offset of the first incomplete block of a pull.
    fn lowest_of(&self, pull: usize) -> Option<u64> {
        let blocks = self.blocks.iter().filter_map(|slot| slot.block.as_ref());
        blocks.filter(|block| block.pull == pull).map(|block| block.offset).min()
    }

    /// The next request to send over a rail that is not in the bitmap `blocked`.
    pub fn next(&self, blocked: u8) -> Option<BlockToRequest> {
        if self.unasked == 0 {
            return None;
        }
        let wants = |(_, slot): &(usize, &Slot)| {
            slot.block
                .as_ref()
                .is_some_and(|block| block.asked.is_none() && blocked >> block.rail & 1 == 0)
        };
        let (place, slot) = self.blocks.iter().enumerate().find(wants)?;
        let block = slot.block.as_ref()?;
        let key = self.pulls.get(block.pull)?.key;
        let PullBlock { offset, length, chunk, missing, .. } = *block;
        let ask = BlockRequest {
            slot: key.slot,
            generation: key.generation,
            offset,
            length,
            chunk,
            missing,
        };
        Some(BlockToRequest { rail: block.rail, number: slot.generation << 8 | place as u32, ask })
    }

    /// The request that [`ClicPulls::next`] returned has been sent.
    pub fn asked(&mut self, number: u32, rails: &Rails, asleep: bool, now: Time) {
        let Ok(block) = self.find(number) else { return };
        block.deadline = now + rails.bulk(block.rail).timeout(asleep, block.tries);
        block.asked = Some(now);
        self.unasked -= 1;
    }

    /// Calls `each` for the chunks that have been requested over a rail and have not arrived, in
    /// the order in which they arrive without loss, until `each` returns false.
    pub fn expected(&self, rail: u8, mut each: impl FnMut(Expected) -> bool) {
        let blocks = self.blocks.iter().enumerate();
        let asked = |(place, slot): (usize, &Slot)| {
            Some((slot.block.as_ref().filter(|b| b.rail == rail)?.asked?, place))
        };
        let mut order: Vec<(Time, usize)> = blocks.filter_map(asked).collect();
        order.sort_unstable();
        for (_, place) in order {
            let slot = &self.blocks[place];
            let Some(block) = &slot.block else { continue };
            let Some(pull) = self.pulls.get(block.pull) else { continue };
            let mut missing = block.missing;
            while missing != 0 {
                let index = missing.trailing_zeros();
                missing &= missing - 1;
                let at = index * block.chunk;
                let expected = Expected {
                    token: pull.token,
                    offset: block.offset + u64::from(at),
                    length: block.chunk.min(block.length - at),
                    request: slot.generation << 8 | place as u32,
                    index,
                };
                if !each(expected) {
                    return;
                }
            }
        }
    }

    /// Returns the destination of a chunk that arrived. Changes no state; once the chunk is stored,
    /// call [`ClicPulls::placed`].
    ///
    /// # Errors
    /// Why the chunk is rejected.
    pub fn place(
        &mut self,
        number: u32,
        index: u32,
        length: usize,
    ) -> Result<PlacedChunk, Refusal> {
        let block = self.find(number)?;
        let at = u64::from(index) * u64::from(block.chunk);
        if index >= 64 || at >= u64::from(block.length) {
            return Err(Refusal::Range);
        }
        if length as u64 != u64::from(block.chunk).min(u64::from(block.length) - at) {
            return Err(Refusal::Length);
        }
        if block.missing >> index & 1 == 0 {
            return Err(Refusal::Again);
        }
        let (pull, offset) = (block.pull, block.offset + at);
        let token = self.pulls.get(pull).ok_or(Refusal::Unknown)?.token;
        Ok(PlacedChunk { token, offset })
    }

    /// A chunk is stored where [`ClicPulls::place`] directed. `stamp` is the timestamp of the
    /// request that it answers.
    pub fn placed(
        &mut self,
        number: u32,
        index: u32,
        stamp: u32,
        now: Time,
        rails: &mut Rails,
        credits: &mut Credits,
    ) -> Option<FinishedPull> {
        let block = self.find(number).ok()?;
        block.missing &= !(1 << index);
        let length = block.chunk.min(block.length - index * block.chunk);
        let last = block.missing >> index == 0;
        let (rail, pull, complete) = (block.rail, block.pull, block.missing == 0);
        let answered = since(stamp, now);
        rails.came(rail, u64::from(length), now);
        rails.works(rail, now);
        if complete {
            let bytes = u64::from(block.length);
            self.unasked -= usize::from(block.asked.is_none());
            self.under_way -= 1;
            self.blocks[(number & 0xff) as usize].block = None;
            if let Some(trip) = answered {
                credits.came(bytes, trip, rails.bulk(rail).least());
                rails.bulk_sample(rail, trip);
            }
        } else if last {
            let soon = now + rails.trip().slack();
            block.deadline = block.deadline.min(soon);
        }
        if let Some(trip) = answered.filter(|_| self.stamp != stamp) {
            self.stamp = stamp;
            self.hurry(rail, now.saturating_sub(trip), now + rails.trip().slack());
        }
        credits.give(&mut self.share, u64::from(length));
        let entry = self.pulls.get_mut(pull)?;
        entry.arrived += u64::from(length);
        if entry.arrived < entry.wanted {
            return None;
        }
        let finished = FinishedPull { token: entry.token, key: entry.key };
        self.pulls.try_remove(pull);
        Some(finished)
    }

    /// Blocks that were requested over this rail before `then` have been overtaken: shortens their
    /// deadline to `soon`.
    fn hurry(&mut self, rail: u8, then: Time, soon: Time) {
        // `then` comes from a timestamp in units of 64 ns.
        let then = then.saturating_sub(64);
        for block in self.blocks.iter_mut().filter_map(|slot| slot.block.as_mut()) {
            if block.rail == rail && block.asked.is_some_and(|asked| asked < then) {
                block.deadline = block.deadline.min(soon);
            }
        }
    }

    /// Requests again the blocks that have timed out, possibly over another rail.
    pub fn expire(&mut self, now: Time, rails: &mut Rails, credits: &mut Credits) {
        for block in self.blocks.iter_mut().filter_map(|slot| slot.block.as_mut()) {
            let Some(asked) = block.asked.filter(|_| block.deadline <= now) else { continue };
            let bytes = u64::from(block.missing.count_ones()) * u64::from(block.chunk);
            if now - asked >= rails.bulk(block.rail).timeout(false, 0) {
                rails.missed(block.rail, asked, now);
                block.tries += 1;
            }
            credits.lost(bytes);
            block.asked = None;
            self.unasked += 1;
        }
        self.leave_dead_rails(now, rails);
    }

    /// Moves blocks away from rails that are down.
    fn leave_dead_rails(&mut self, now: Time, rails: &mut Rails) {
        for slot in &mut self.blocks {
            let Some(block) = &mut slot.block else { continue };
            if rails.is_up(block.rail) {
                continue;
            }
            let left = u64::from(block.missing.count_ones()) * u64::from(block.chunk);
            let other = rails.for_block(left, now);
            if other == block.rail {
                continue;
            }
            rails.release(block.rail, left);
            rails.asked(other, left);
            (block.rail, block.tries) = (other, 0);
            self.unasked += usize::from(block.asked.take().is_some());
        }
    }

    /// When the next block times out.
    pub fn deadline(&self) -> Option<Time> {
        if self.under_way == self.unasked {
            return None;
        }
        let blocks = self.blocks.iter().filter_map(|slot| slot.block.as_ref());
        blocks
            .filter(|block| block.asked.is_some())
            .map(|block| block.deadline)
            .fold(None, |a, b| sooner(a, Some(b)))
    }

    /// The peer is gone: ends all pulls and returns all credit.
    pub fn forget(&mut self, credits: &mut Credits) {
        credits.forget(&mut self.share, self.rank);
        *self = ClicPulls::new(self.rank);
    }

    fn free_block(&mut self) -> Option<usize> {
        let free = self.blocks.iter().position(|slot| slot.block.is_none());
        free.or_else(|| {
            (self.blocks.len() < BLOCKS).then(|| {
                self.blocks.push(Slot::default());
                self.blocks.len() - 1
            })
        })
    }

    fn find(&mut self, number: u32) -> Result<&mut PullBlock, Refusal> {
        let slot = self.blocks.get_mut((number & 0xff) as usize);
        let slot = slot.filter(|slot| slot.generation & 0x00ff_ffff == number >> 8);
        slot.and_then(|slot| slot.block.as_mut()).ok_or(Refusal::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::stamp;
    use super::super::rails::RailLink;
    use super::super::timer::{ASLEEP_FLOOR, MICROSECOND};
    use super::*;

    const CHUNK: u64 = 1408;

    struct Bench {
        pulls: ClicPulls,
        rails: Rails,
        credits: Credits,
        now: Time,
        finished: Vec<u64>,
    }

    fn bench(links: usize) -> Bench {
        let rails = Rails::new(&vec![RailLink { payload: 1450, speed: 0 }; links]);
        Bench {
            pulls: ClicPulls::new(3),
            rails,
            credits: Credits::default(),
            now: 1_000_000,
            finished: Vec::new(),
        }
    }

    impl Bench {
        fn pull(&mut self, token: u64, length: u64) {
            self.pulls.add(token, RegionName { slot: token as u32, generation: 0, length }, length);
        }

        fn ask(&mut self) -> Vec<BlockToRequest> {
            self.pulls.open(self.now, &mut self.rails, &mut self.credits);
            let mut requests = Vec::new();
            while let Some(request) = self.pulls.next(0) {
                self.now += 64;
                self.pulls.asked(request.number, &self.rails, false, self.now);
                requests.push(request);
            }
            requests
        }

        fn data(
            &mut self,
            request: &BlockToRequest,
            index: u32,
            asked: Time,
        ) -> Result<PlacedChunk, Refusal> {
            let length = request.ask.chunk.min(request.ask.length - index * request.ask.chunk);
            let placed = self.pulls.place(request.number, index, length as usize)?;
            let (rails, credits) = (&mut self.rails, &mut self.credits);
            let finished =
                self.pulls.placed(request.number, index, stamp(asked), self.now, rails, credits);
            self.finished.extend(finished.map(|finished| finished.token));
            Ok(placed)
        }

        fn answer(&mut self, request: &BlockToRequest, asked: Time) {
            for index in (0..64).filter(|index| request.ask.missing >> index & 1 != 0) {
                self.data(request, index, asked).unwrap();
            }
        }
    }

    #[test]
    fn a_region_comes_in_blocks_within_the_credit() {
        let mut bench = bench(1);
        bench.pull(7, 1_000_000);
        let (mut seen, mut rounds) = (0, 0);
        while !bench.pulls.is_empty() {
            let requests = bench.ask();
            assert!(bench.credits.used() <= bench.credits.limit() && !requests.is_empty());
            for request in requests {
                assert_eq!((request.ask.offset, u64::from(request.ask.chunk)), (seen, CHUNK));
                seen += u64::from(request.ask.length);
                bench.answer(&request, bench.now);
            }
            rounds += 1;
        }
        assert_eq!(
            (bench.finished.as_slice(), seen, bench.credits.used()),
            (&[7][..], 1_000_000, 0)
        );
        assert!(rounds > 2 && bench.credits.queue() <= 1);
    }

    #[test]
    fn chunks_are_placed_once_wherever_they_come() {
        let mut bench = bench(1);
        bench.pull(7, 3 * CHUNK + 5);
        let request = bench.ask()[0];
        let now = bench.now;
        assert_eq!(bench.data(&request, 3, now), Ok(PlacedChunk { token: 7, offset: 3 * CHUNK }));
        assert_eq!(bench.data(&request, 3, now), Err(Refusal::Again));
        assert_eq!(bench.pulls.place(request.number, 4, 5), Err(Refusal::Range));
        assert_eq!(bench.pulls.place(request.number, 2, 5), Err(Refusal::Length));
        assert_eq!(
            bench.pulls.place(request.number + 256, 2, CHUNK as usize),
            Err(Refusal::Unknown)
        );
        assert_eq!(bench.pulls.place(request.number + 1, 2, CHUNK as usize), Err(Refusal::Unknown));
        (0..3).for_each(|index| assert!(bench.data(&request, index, now).is_ok()));
        assert_eq!(bench.data(&request, 0, now), Err(Refusal::Unknown), "the block is complete");
        assert_eq!(bench.finished, [7]);
    }

    #[test]
    fn what_should_come_is_told_in_order() {
        let mut bench = bench(1);
        bench.pull(7, 100 * CHUNK + 5);
        let requests = bench.ask();
        let now = bench.now;
        bench.data(&requests[0], 1, now).unwrap();
        let mut seen = Vec::new();
        bench.pulls.expected(0, |chunk| {
            seen.push(chunk);
            seen.len() < 60
        });
        let first = requests[0].ask.chunks().unwrap() as usize - 1;
        assert_eq!(seen.len(), 60);
        let chunk = |place: usize| {
            (seen[place].token, seen[place].offset, seen[place].length, seen[place].index)
        };
        assert_eq!(
            [chunk(0), chunk(1)],
            [(7, 0, CHUNK as u32, 0), (7, 2 * CHUNK, CHUNK as u32, 2)]
        );
        assert_eq!(
            (seen[0].request, seen[first].request),
            (requests[0].number, requests[1].number)
        );
        assert_eq!((chunk(first).1, chunk(first).3), (requests[1].ask.offset, 0));
        bench.pulls.expected(1, |_| panic!("nothing was asked for there"));
    }

    #[test]
    fn what_is_missing_is_asked_for_again() {
        let mut bench = bench(1);
        bench.pull(7, 3 * CHUNK);
        let request = bench.ask()[0];
        let asked = bench.now;
        assert_eq!(
            bench.pulls.deadline(),
            Some(asked + ASLEEP_FLOOR),
            "nothing is known of the way"
        );
        bench.now += 100 * MICROSECOND;
        bench.rails.sample(0, 20 * MICROSECOND, bench.now);
        bench.data(&request, 2, asked).unwrap();
        let soon = bench.pulls.deadline().unwrap();
        assert_eq!(
            soon,
            bench.now + bench.rails.trip().slack(),
            "the last chunk came and others did not"
        );
        bench.now = soon;
        bench.pulls.expire(bench.now, &mut bench.rails, &mut bench.credits);
        let again = bench.ask()[0];
        assert_eq!((again.number, again.ask.missing), (request.number, 0b011));
        bench.answer(&again, bench.now);
        assert_eq!(bench.finished, [7]);
    }

    #[test]
    fn an_overtaken_block_is_asked_for_again_soon() {
        let mut bench = bench(1);
        bench.pull(1, CHUNK);
        let lost = bench.ask()[0];
        bench.now += 10 * MICROSECOND;
        bench.pull(2, CHUNK);
        let other = bench.ask()[0];
        bench.rails.sample(0, 20 * MICROSECOND, bench.now);
        bench.answer(&other, bench.now);
        bench.now += bench.rails.trip().slack();
        bench.pulls.expire(bench.now, &mut bench.rails, &mut bench.credits);
        assert_eq!(bench.ask()[0].number, lost.number);
    }

    #[test]
    fn blocks_leave_a_dead_rail() {
        let mut bench = bench(2);
        (0..2).for_each(|rail| bench.rails.sample(rail, 20 * MICROSECOND, 0));
        bench.pull(1, 200_000);
        let requests = bench.ask();
        let on = |requests: &[BlockToRequest], rail| {
            requests.iter().filter(|request| request.rail == rail).count()
        };
        assert!(on(&requests, 0) > 0 && on(&requests, 1) > 0);
        // Rail 1 is silent.
        while bench.rails.is_up(1) {
            bench.now = bench.pulls.deadline().unwrap();
            bench.pulls.expire(bench.now, &mut bench.rails, &mut bench.credits);
            for request in bench.ask() {
                if request.rail == 0 {
                    bench.answer(&request, bench.now);
                }
            }
        }
        assert_eq!(bench.finished, [1]);
        assert!(bench.pulls.is_empty() && bench.credits.used() == 0);
    }

    #[test]
    fn a_lost_peer_gives_all_credit_back() {
        let mut bench = bench(1);
        bench.pull(1, 1 << 30);
        let request = bench.ask()[0];
        assert!(bench.credits.used() > 0);
        bench.pulls.forget(&mut bench.credits);
        assert_eq!(
            (bench.credits.used(), bench.credits.queue(), bench.pulls.is_empty()),
            (0, 0, true)
        );
        assert_eq!(bench.pulls.place(request.number, 0, CHUNK as usize), Err(Refusal::Unknown));
        bench.pull(1, CHUNK);
        assert_eq!(bench.ask().len(), 1);
    }
}
