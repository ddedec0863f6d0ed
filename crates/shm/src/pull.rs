//! The receiving side of large messages: drains bounce buffers, the sender's or this rank's.
//!
//! If the sender has found a bounce buffer for a region, the region is drained from there. For any
//! other region, the receiver lends one of its own bounce buffers to the sender; if all are in use,
//! the pull waits. The first of them has a reserve that is populated from the start
//! ([`BounceShape::RESERVE`]): if memory is short, large messages are sent through it one after the
//! other. A region in a heap is copied directly, and one in the memory of a device by the device.

use std::collections::VecDeque;

use towpath_base::sync::MappedLongWords;
use towpath_base::transfer::{CopyAcross, Layout, Step, Strides, Target};

use super::bounce::{BounceBuffer, BounceId, BounceShape, drained_count};
use super::claims::Claims;
use super::cma_read::{CmaRead, Readers};
use super::exported::{ExportedPull, PinnedSlots, PullStep};
use super::layout::{IN_BOUNCES, OUT_BOUNCES};
use super::push::{Advance, RegionDescriptor, UNITS_OF_A_STEP};
use super::segment::Segment;
use super::share::{InHeap, ShareLines, copy_unit, direct_unit};
use crate::stores::{Fetches, Stores};
use crate::streaming::Streaming;

/// A message that is being copied out of a bounce buffer.
struct Draining {
    target: Target,
    /// True if the message is long enough to be streamed.
    long: bool,
    bounce: BounceBuffer,
    drained: u32,
    /// Set if chunks may be read from the sender's process.
    cma_read: Option<CmaRead>,
}

impl Draining {
    fn new(target: Target, bounce: BounceBuffer, cma_read: Option<CmaRead>) -> Draining {
        let long = target.length() >= STREAMED_AT_LEAST;
        Draining { target, long, drained: bounce.start(), bounce, cma_read }
    }

    /// Drains every filled chunk.
    fn step(
        &mut self,
        segment: &Segment,
        from: u32,
        readers: &mut Readers,
        routines: &mut Routines,
    ) -> Advance {
        let mut advance = Advance::Nothing;
        while self.bounce.filled() != self.drained {
            let (length, end) = self.bounce.look(self.drained);
            let place = self.bounce.chunk(segment, self.drained);
            // SAFETY: the sender does not write to a filled chunk before it is counted as drained,
            // and the chunk holds `length` bytes. `Shm::pull` requires that the target stays valid.
            match unsafe { routines.drain(&mut self.target, place, length, self.long) } {
                Step::Done(_) => {}
                Step::Pending => return advance,
            }
            self.drained = self.drained.wrapping_add(1);
            self.bounce.drain(self.drained);
            advance = Advance::Some;
            if end || self.is_all() {
                return Advance::Done;
            }
        }
        let Some(cma_read) = &mut self.cma_read else { return advance };
        if advance == Advance::Some {
            cma_read.starved = 0;
        } else if cma_read.step(segment, from, readers) {
            return if self.is_all() { Advance::Done } else { Advance::Some };
        }
        advance
    }

    /// True if the drained and the read chunks together are the whole message.
    fn is_all(&self) -> bool {
        let drained = self.drained.wrapping_sub(self.bounce.start());
        self.cma_read.as_ref().is_some_and(|cma_read| drained + cma_read.read == cma_read.units)
    }
}

/// A message in a heap, which this side copies, and the sender too if it can reach the target.
struct HeapPull {
    from: Layout,
    target: Target,
    wanted: usize,
    claims: Claims<MappedLongWords>,
    /// A unit that is claimed but that the target has not accepted yet.
    unit: Option<u32>,
    /// Layout of the target if its bytes may be written in any order.
    to: Option<Layout>,
}

impl HeapPull {
    fn step(&mut self, across: Option<CopyAcross>) -> Advance {
        let mut advance = Advance::Nothing;
        for _ in 0..UNITS_OF_A_STEP {
            let Some(number) = self.unit.take().or_else(|| self.claims.claim()) else { break };
            if self.copy(number, across) == Step::Pending {
                self.unit = Some(number);
                return advance;
            }
            self.claims.finish();
            advance = Advance::Some;
        }
        if self.unit.is_none() && self.claims.is_complete() { Advance::Done } else { advance }
    }

    fn copy(&mut self, unit: u32, across: Option<CopyAcross>) -> Step {
        let size = direct_unit(self.wanted);
        let at = unit as usize * size;
        let length = size.min(self.wanted - at);
        // SAFETY: this side has claimed the unit, so the sender does not copy it, and the unit is
        // inside both layouts. Source and target stay valid until all units are copied. If `to` is
        // `None`, the source is contiguous (`Pulls::join`).
        unsafe {
            match &self.to {
                Some(to) => copy_unit(&self.from, to, unit, self.wanted, across),
                None => return self.target.drain(self.from.lowest.add(at), length),
            }
        }
        Step::Done(length)
    }
}

// SAFETY: the pointers are those of the message's source and target, which are only accessed under
// the worker's lock.
unsafe impl Send for HeapPull {}

enum PullWork {
    Draining(Draining),
    Direct(HeapPull),
    /// With the name of the region.
    Exported(Box<ExportedPull>, u64),
}

/// A message that is being received.
struct Pull {
    from: u32,
    token: u64,
    work: PullWork,
}

/// How chunks are copied.
struct Routines {
    streaming: Streaming,
    fetches: Fetches,
    /// True if the peer shares no cache with this process, as measured with messages to the peer.
    far: bool,
    /// Bounce buffer for chunks that are unpacked afterwards.
    fetched: Vec<u8>,
}

impl Routines {
    /// Like [`Target::drain`], with the copy routine that suits the chunk. Unpackers load a few
    /// bytes at a time, and each load would wait for a distant core.
    ///
    /// # Safety
    /// `place` must be readable for `length` bytes, and the memory behind `target` must be valid.
    unsafe fn drain(
        &mut self,
        target: &mut Target,
        place: *const u8,
        length: usize,
        long: bool,
    ) -> Step {
        let Target::Bytes { pointer, length: room } = target else {
            if !self.far {
                // SAFETY: `place` is readable for `length` bytes and `target` is valid (this
                // function's contract).
                return unsafe { target.drain(place, length) };
            }
            if self.fetched.len() < length {
                self.fetched.resize(length, 0);
            }
            // SAFETY: `place` is readable for `length` bytes (this function's contract), and
            // `fetched` has room for that many.
            unsafe {
                self.fetches.copy(place, self.fetched.as_mut_ptr(), length);
                return target.drain(self.fetched.as_ptr(), length);
            }
        };
        let step = length.min(*room);
        // SAFETY: `place` is readable for `length` bytes (this function's contract), `pointer` is
        // writable for `room` bytes, and `step` is at most either of them.
        unsafe {
            let fetches = &mut self.fetches;
            match long {
                true => self
                    .streaming
                    .copy(place, *pointer, step, |from, to, length| fetches.copy(from, to, length)),
                false => fetches.copy(place, *pointer, step),
            }
            *pointer = pointer.add(step);
        }
        *room -= step;
        Step::Done(length)
    }
}

/// A program may not read all of a message of at least this length soon, so such messages may
/// bypass the caches.
const STREAMED_AT_LEAST: usize = 1 << 20;

/// A pull that waits for a bounce buffer.
struct WaitingPull {
    from: u32,
    name: u64,
    token: u64,
    target: Target,
}

/// What the sender must be told when a pull starts in one of this rank's bounce buffers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PullStarted {
    pub(crate) from: u32,
    pub(crate) name: u64,
    pub(crate) length: u64,
    pub(crate) index: u32,
    pub(crate) shape: BounceShape,
    pub(crate) start: u32,
}

impl PullStarted {
    /// Encodes the third word of the control entry.
    pub(crate) fn encode(&self) -> u64 {
        u64::from(self.index) | u64::from(self.shape.number()) << 8 | u64::from(self.start) << 32
    }

    /// Decodes bounce buffer, shape and start from the third word.
    pub(crate) fn decode(extra: u64) -> (u32, BounceShape, u32) {
        (
            (extra & 0xFF) as u32,
            BounceShape::from_number((extra >> 8 & 0xFF) as u32),
            (extra >> 32) as u32,
        )
    }
}

/// All pulls of a receiver.
pub(crate) struct Pulls {
    own: u32,
    /// Count of each bounce buffer of this rank while it is idle; `None` while a message uses it.
    resting: [Option<u32>; IN_BOUNCES],
    provided: [usize; IN_BOUNCES],
    waiting: VecDeque<WaitingPull>,
    running: Vec<Pull>,
    routines: Routines,
    readers: Readers,
    pinned: PinnedSlots,
    /// Copies between strided layouts. Without it, only contiguous messages are copied without a
    /// bounce buffer.
    across: Option<CopyAcross>,
}

impl Pulls {
    pub(crate) fn new(own: usize) -> Pulls {
        Pulls {
            own: own as u32,
            resting: [Some(0); IN_BOUNCES],
            provided: [0; IN_BOUNCES],
            waiting: VecDeque::new(),
            running: Vec::new(),
            routines: Routines {
                streaming: Streaming::new(),
                fetches: Fetches::new(),
                far: false,
                fetched: Vec::new(),
            },
            readers: Readers::default(),
            pinned: PinnedSlots::default(),
            across: None,
        }
    }

    /// Sets the function that copies between strided layouts.
    pub(crate) fn set_across(&mut self, across: CopyAcross) {
        self.across = Some(across);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.running.is_empty() && self.waiting.is_empty()
    }

    /// True if there are no steps to make.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    /// Starts to pull a region from the location in its key; false if it must wait for a bounce
    /// buffer of this rank.
    pub(crate) fn start(
        &mut self,
        segment: &Segment,
        from: u32,
        token: u64,
        target: Target,
        place: RegionDescriptor,
        name: u64,
    ) -> bool {
        let work = match (place.bounce, place.share) {
            (Some((index, shape)), share) => {
                let id = BounceId { owner: from, index };
                let bounce = BounceBuffer::new(segment, id, shape, drained_count(segment, id));
                let lines = share.map(|index| ShareLines::new(segment, from, index));
                let cma_read =
                    lines.and_then(|lines| CmaRead::new(lines, &target, place.length, shape));
                PullWork::Draining(Draining::new(target, bounce, cma_read))
            }
            (None, Some(index)) => {
                let lines = ShareLines::new(segment, from, index);
                match lines.export() {
                    Some(export) => {
                        let pull = ExportedPull::begin(target, export, lines);
                        PullWork::Exported(Box::new(pull), name)
                    }
                    None => match self.join(segment, from, target, lines) {
                        Ok(direct) => PullWork::Direct(direct),
                        Err(target) => {
                            self.waiting.push_back(WaitingPull { from, name, token, target });
                            return false;
                        }
                    },
                }
            }
            (None, None) => {
                self.waiting.push_back(WaitingPull { from, name, token, target });
                return false;
            }
        };
        self.running.push(Pull { from, token, work });
        true
    }

    /// Starts to copy a message from a heap. Gives the target back if the heaps are not mapped or
    /// another method is better: strided bytes are not worth it if only this side can copy (1 MiB
    /// in blocks of 64 bytes takes 1.2 to 1.9 times as long as through a bounce buffer, which both
    /// sides copy through).
    fn join(
        &self,
        segment: &Segment,
        from: u32,
        target: Target,
        lines: ShareLines,
    ) -> Result<HeapPull, Target> {
        let wanted = target.length();
        let to =
            target.layout().filter(|to| to.strides == Strides::CONTIGUOUS || self.across.is_some());
        let heap = to.as_ref().and_then(|to| InHeap::of(segment, to));
        // The lower rank copies from the front, so that each half of a buffer that is sent back and
        // forth stays near one core.
        let front = heap.is_none() || self.own < from;
        let units = wanted.div_ceil(direct_unit(wanted)) as u32;
        let (claims, place, _) = lines.follow(front, units);
        let source = place.heap.and_then(|heap| heap.layout(segment, wanted));
        let followed = |source: &Layout| {
            source.strides == Strides::CONTIGUOUS || (self.across.is_some() && heap.is_some())
        };
        let Some(source) = source.filter(followed) else { return Err(target) };
        lines.set_target(heap, wanted);
        claims.join();
        Ok(HeapPull { from: source, target, wanted, claims, unit: None, to })
    }

    /// Starts the next waiting pull if a bounce buffer of this rank is free.
    pub(crate) fn begin(&mut self, segment: &Segment) -> Option<PullStarted> {
        let length = self.waiting.front()?.target.length();
        let (slot, shape) = self.free_bounce(segment, length)?;
        let WaitingPull { from, name, token, target } = self.waiting.pop_front()?;
        let index = (OUT_BOUNCES + slot) as u32;
        let id = BounceId { owner: self.own, index };
        let start = self.resting[slot].take()?;
        let bounce = BounceBuffer::new(segment, id, shape, start);
        let work = PullWork::Draining(Draining::new(target, bounce, None));
        self.running.push(Pull { from, token, work });
        Some(PullStarted { from, name, length: length as u64, index, shape, start })
    }

    /// Finds a free bounce buffer for a message of `length` bytes and populates its pages. Returns
    /// its index and shape; if memory is short, the reserve of the first one.
    fn free_bounce(&mut self, segment: &Segment, length: usize) -> Option<(usize, BounceShape)> {
        let slot = self.resting.iter().position(Option::is_some)?;
        let id = BounceId { owner: self.own, index: (OUT_BOUNCES + slot) as u32 };
        let start = self.resting[slot]?;
        let shape = segment.provide_bounce(id, &mut self.provided[slot], start, length);
        shape.map(|shape| (slot, shape)).or((slot == 0).then_some((0, BounceShape::RESERVE)))
    }

    pub(crate) fn running(&self) -> usize {
        self.running.len()
    }

    /// Makes one step of pull `index`, which is removed if the transfer is complete. Returns the
    /// peer, the progress, and the token to report. After [`Advance::Waits`] the pull waits for a
    /// bounce buffer of this rank.
    pub(crate) fn step(
        &mut self,
        segment: &Segment,
        index: usize,
        stores: &Stores,
    ) -> (u32, Advance, u64) {
        let pull = &mut self.running[index];
        let (from, token) = (pull.from, pull.token);
        self.routines.far = stores.is_far(from as usize);
        let advance = match &mut pull.work {
            PullWork::Draining(draining) => {
                draining.step(segment, from, &mut self.readers, &mut self.routines)
            }
            PullWork::Direct(direct) => direct.step(self.across),
            PullWork::Exported(exported, _) => match exported.step(segment, from, &mut self.pinned)
            {
                PullStep::Advance(advance) => advance,
                PullStep::Refused => {
                    self.wait_for_bounce(index);
                    Advance::Waits
                }
            },
        };
        if advance == Advance::Done {
            self.end(index);
        }
        (from, advance, token)
    }

    /// Lets a pull of exported bytes wait for a bounce buffer.
    fn wait_for_bounce(&mut self, index: usize) {
        let Pull { from, token, work } = self.running.swap_remove(index);
        if let PullWork::Exported(exported, name) = work {
            self.waiting.push_back(WaitingPull { from, name, token, target: exported.target });
        }
    }

    /// Ends all pulls from one peer without a report.
    pub(crate) fn drop_peer(&mut self, peer: u32) {
        self.waiting.retain(|wanted| wanted.from != peer);
        while let Some(index) = self.running.iter().position(|pull| pull.from == peer) {
            self.end(index);
        }
        self.pinned.drop_peer(peer);
    }

    fn end(&mut self, index: usize) {
        let PullWork::Draining(Draining { bounce, .. }) = self.running.swap_remove(index).work
        else {
            return;
        };
        if bounce.id.owner == self.own {
            // After a whole message the counts are equal. After a sender's death this frees the
            // bounce buffer.
            let filled = bounce.filled();
            bounce.drain(filled);
            self.resting[bounce.id.index as usize - OUT_BOUNCES] = Some(filled);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use towpath_base::transfer::{Drain, MemorySpace};

    use super::*;

    /// Accepts bytes only every other time, and records where they came from last.
    #[derive(Default)]
    struct Slow {
        taken: Vec<u8>,
        place: usize,
        calls: usize,
    }

    struct Shared(Arc<Mutex<Slow>>);

    // SAFETY: `drain` reads the `length` bytes at `from` during the call only.
    unsafe impl Drain for Shared {
        unsafe fn drain(&mut self, from: *const u8, length: usize) -> Step {
            let mut slow = self.0.lock().unwrap();
            slow.calls += 1;
            if slow.calls % 2 == 1 {
                return Step::Pending;
            }
            slow.place = from.addr();
            // SAFETY: `from` is readable for `length` bytes (the contract of `drain`).
            slow.taken.extend(unsafe { std::slice::from_raw_parts(from, length) });
            Step::Done(length)
        }

        fn space(&self) -> MemorySpace {
            MemorySpace::Device
        }
    }

    #[test]
    fn chunks_from_far_are_fetched_before_they_are_unpacked() {
        let chunk: Vec<u8> = (0..9000).map(|at| (at * 7 + at / 256) as u8).collect();
        for far in [false, true] {
            let slow = Arc::<Mutex<Slow>>::default();
            let mut routines = Routines {
                streaming: Streaming::new(),
                fetches: Fetches::new(),
                far,
                fetched: Vec::new(),
            };
            let mut target =
                Target::Unpacker { drain: Box::new(Shared(slow.clone())), length: 2 * chunk.len() };
            for _ in 0..2 {
                // SAFETY: `chunk` is readable for `chunk.len()` bytes.
                let mut step =
                    || unsafe { routines.drain(&mut target, chunk.as_ptr(), chunk.len(), false) };
                assert_eq!((step(), step()), (Step::Pending, Step::Done(chunk.len())));
            }
            assert!(slow.lock().unwrap().taken == [&chunk[..], &chunk[..]].concat());
            assert_eq!(slow.lock().unwrap().place == chunk.as_ptr().addr(), !far);
        }
    }
}
