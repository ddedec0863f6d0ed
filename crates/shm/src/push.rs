//! The sending side of large messages: published regions and their copies into bounce buffers.
//!
//! If one of the sender's own bounce buffers is free, a region is copied into it at once, before
//! the receiver asks. The announcement then names the bounce buffer, and the receiver need not send
//! anything back. Without a free bounce buffer the region waits until its receiver names one of
//! *its* bounce buffers. A region in a heap needs no bounce buffer: its receiver copies it
//! directly, and the sender helps if it can reach the target. A region in the memory of a device is
//! copied by the device ([`super::exported`]).

use towpath_base::sync::MappedLongWords;
use towpath_base::transfer::{CopyAcross, Layout, Source, Step, Strides};

use super::bounce::{BounceBuffer, BounceShape};
use super::claims::{Claims, MOST_UNITS, NextUnit};
use super::direct::{DirectCopies, SHORTEST};
use super::exported::ExportedPush;
use super::layout::{OUT_BOUNCES, SHARES};
use super::out_bounces::OutBounces;
use super::segment::Segment;
use super::share::{
    InHeap, Mark, MessagePlace, SHARED_AT_LEAST, ShareLines, Shares, copy_unit, direct_unit,
};
use crate::stores::Stores;
use towpath_transport::RegionKey;
use towpath_transport::regions::{Published, Regions};

/// How far a transfer got in one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advance {
    /// Nothing could be copied.
    Nothing,
    /// Something was copied.
    Some,
    /// The transfer is complete, and the other side may be waiting for its end.
    Done,
    /// The transfer is complete, and the other side does not wait for it: it need not be woken.
    Over,
    /// The transfer cannot go on this way, and waits to begin another way.
    Waits,
}

impl Advance {
    /// True if the transfer is complete.
    pub(crate) fn is_end(self) -> bool {
        matches!(self, Advance::Done | Advance::Over)
    }

    /// The final state of a transfer after this step.
    fn end(self) -> Advance {
        if self == Advance::Nothing { Advance::Over } else { Advance::Done }
    }
}

const NOTHING: Source = Source::Bytes { pointer: std::ptr::null(), length: 0 };

/// Where a region's bytes are, as encoded in its key: the length, the sender's bounce buffer and
/// its shape if it has one, and the number of the lines if the receiver may copy too. Lines but no
/// bounce buffer mean that the bytes are in a heap or exported from the memory of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RegionDescriptor {
    pub(crate) length: u64,
    pub(crate) bounce: Option<(u32, BounceShape)>,
    pub(crate) share: Option<u32>,
}

const LENGTH_BITS: u32 = 48;
/// Bits of the number of a bounce buffer and of that of its shape; those of the lines' number
/// follow.
const BOUNCE_BITS: u32 = 3;
const SHAPE_BITS: u32 = 6;
const _: () = assert!(OUT_BOUNCES < 1 << BOUNCE_BITS);
const _: () = assert!(SHARES < 1 << (u64::BITS - LENGTH_BITS - BOUNCE_BITS - SHAPE_BITS));

impl RegionDescriptor {
    pub(crate) fn encode(self) -> u64 {
        let bounce = self.bounce.map_or(0, |(index, shape)| {
            u64::from(index + 1) | u64::from(shape.number()) << BOUNCE_BITS
        });
        let share = self.share.map_or(0, |index| u64::from(index + 1));
        self.length | (bounce | share << (BOUNCE_BITS + SHAPE_BITS)) << LENGTH_BITS
    }

    pub(crate) fn decode(word: u64) -> RegionDescriptor {
        let place = word >> LENGTH_BITS;
        let bits = |from: u32, count: u32| (place >> from) as u32 & ((1 << count) - 1);
        let (index, shape) = (bits(0, BOUNCE_BITS), bits(BOUNCE_BITS, SHAPE_BITS));
        let share = (place >> (BOUNCE_BITS + SHAPE_BITS)) as u32;
        RegionDescriptor {
            length: word & ((1 << LENGTH_BITS) - 1),
            bounce: (index > 0).then(|| (index - 1, BounceShape::from_number(shape))),
            share: share.checked_sub(1),
        }
    }
}

/// A message that is being copied into a bounce buffer.
struct Filling {
    source: Source,
    remaining: usize,
    bounce: BounceBuffer,
    filled: u32,
    /// The receiver's count as last read by the sender.
    drained: u32,
    ended: bool,
    /// Set if the receiver may claim and read chunks from the end itself.
    share: Option<(u32, Claims<MappedLongWords>)>,
}

impl Filling {
    fn new(source: Source, length: usize, bounce: BounceBuffer) -> Filling {
        let remaining = source.length().min(length);
        let start = bounce.start();
        Filling {
            source,
            remaining,
            bounce,
            filled: start,
            drained: start,
            ended: false,
            share: None,
        }
    }

    /// Fills every free chunk. Complete when all is filled and the receiver has begun to drain.
    fn step(&mut self, segment: &Segment, reader: u32, stores: &mut Stores) -> Advance {
        let mut advance = Advance::Nothing;
        let chunks = self.bounce.shape().chunks();
        while !self.ended {
            if self.filled.wrapping_sub(self.drained) == chunks {
                self.drained = self.bounce.drained();
                if self.filled.wrapping_sub(self.drained) == chunks {
                    return advance;
                }
            }
            match self.share.as_ref().map(|(_, claims)| claims.next_unit()) {
                Some(NextUnit::Wait) => return advance,
                Some(NextUnit::Done) => return advance.end(),
                Some(NextUnit::Copy(_)) | None => {}
            }
            let capacity = self.bounce.shape().chunk_bytes().min(self.remaining);
            let place = self.bounce.chunk(segment, self.filled);
            // SAFETY: the receiver does not access a free chunk before it is counted, and the chunk
            // has room for `capacity` bytes. `publish` requires that the source stays valid.
            let Step::Done(bytes) =
                (unsafe { stores.fill(reader as usize, &mut self.source, place, capacity) })
            else {
                return advance;
            };
            self.remaining -= bytes;
            self.ended = self.remaining == 0 || bytes == 0;
            self.bounce.fill(self.filled, bytes, self.ended);
            self.filled = self.filled.wrapping_add(1);
            advance = Advance::Some;
        }
        if self.has_begun() { advance.end() } else { advance }
    }

    /// True if the receiver has drained or claimed anything.
    fn has_begun(&mut self) -> bool {
        if self.drained == self.bounce.start() {
            self.drained = self.bounce.drained();
        }
        let shared = |claims: &Claims<_>| claims.taken().is_none_or(|(_, back)| back > 0);
        self.drained != self.bounce.start()
            || self.share.as_ref().is_some_and(|(_, claims)| shared(claims))
    }
}

/// A message in a heap. Its receiver copies it, and so does this side if the receiver's memory is
/// in a heap too.
struct HeapPush {
    /// Kept for a receiver that cannot reach the heap.
    source: Source,
    from: Layout,
    lines: ShareLines,
    index: u32,
    claims: Claims<MappedLongWords>,
    joined: bool,
    /// The target and the number of bytes wanted; `None` if only the receiver can write to the
    /// target.
    target: Option<(Layout, usize)>,
}

/// Maximum number of units that one step copies, so that other messages make progress too.
pub(super) const UNITS_OF_A_STEP: u32 = 8;

impl HeapPush {
    fn step(&mut self, segment: &Segment, across: Option<CopyAcross>) -> Advance {
        if !self.joined && !self.join(segment, across.is_some()) {
            return Advance::Nothing;
        }
        let mut advance = Advance::Nothing;
        if let Some((target, wanted)) = &self.target {
            for _ in 0..UNITS_OF_A_STEP {
                let Some(number) = self.claims.claim() else { break };
                // SAFETY: this side has claimed the unit, so the other one does not copy it. Source
                // and target stay valid until all units are copied. `target` is only set if both
                // are contiguous or `across` is set.
                unsafe { copy_unit(&self.from, target, number, *wanted, across) };
                self.claims.finish();
                advance = Advance::Some;
            }
        }
        if self.claims.is_complete() { advance.end() } else { advance }
    }

    /// Reads the location of the target once the receiver has joined. Strided targets are only used
    /// if `follows`.
    #[cold]
    fn join(&mut self, segment: &Segment, follows: bool) -> bool {
        self.joined = self.claims.is_joined();
        if self.joined {
            let (heap, wanted) = self.lines.target();
            let length = self.source.length();
            assert!(
                wanted <= length,
                "a receiver wants more of a message than there is: the segment is damaged"
            );
            let target = heap.and_then(|heap| heap.layout(segment, wanted));
            let target = target.filter(|target| target.strides == Strides::CONTIGUOUS || follows);
            self.target = target.map(|target| (target, wanted));
            self.claims.set_units(wanted.div_ceil(direct_unit(wanted)) as u32);
            if heap.is_none() {
                self.claims.leave_all();
            }
        }
        self.joined
    }
}

// SAFETY: the pointers are those of the message's source and target, which are only accessed under
// the worker's lock.
unsafe impl Send for HeapPush {}

enum PushWork {
    Filling(Filling),
    Direct(Box<HeapPush>),
    Exported(Box<ExportedPush>),
}

/// A published region whose transfer has started.
struct Push {
    to: u32,
    /// Name and token of the region, while it can be withdrawn or released unread.
    region: Option<(u64, u64)>,
    work: PushWork,
}

impl Push {
    fn step(
        &mut self,
        segment: &Segment,
        across: Option<CopyAcross>,
        (stores, bounces): (&mut Stores, &mut OutBounces),
    ) -> Advance {
        match &mut self.work {
            PushWork::Filling(filling) => filling.step(segment, self.to, stores),
            PushWork::Direct(direct) => direct.step(segment, across),
            PushWork::Exported(exported) => exported.step(segment, bounces),
        }
    }

    fn has_begun(&mut self) -> bool {
        match &mut self.work {
            PushWork::Filling(filling) => filling.has_begun(),
            PushWork::Direct(direct) => direct.claims.is_joined(),
            PushWork::Exported(exported) => exported.has_begun(),
        }
    }

    fn is_named(&self, name: u64) -> bool {
        self.region.is_some_and(|(own, _)| own == name)
    }
}

/// All regions of a sender.
pub(crate) struct Pushes {
    own: u32,
    regions: Regions,
    running: Vec<Push>,
    bounces: OutBounces,
    shares: Shares,
    direct: DirectCopies,
    /// Copies between strided layouts. Without it, only contiguous messages are copied without a
    /// bounce buffer.
    across: Option<CopyAcross>,
}

impl Pushes {
    /// `direct_bytes`: see [`super::Settings`].
    pub(crate) fn new(segment: &Segment, direct_bytes: Option<usize>) -> Pushes {
        Pushes {
            own: segment.own_rank() as u32,
            shares: Shares::new(segment),
            direct: DirectCopies::new(segment.ranks(), direct_bytes),
            regions: Regions::default(),
            running: Vec::new(),
            bounces: OutBounces::new(segment),
            across: None,
        }
    }

    /// The mark by which a reader of this process's memory recognizes it. Valid as long as `self`
    /// lives.
    pub(crate) fn mark(&self) -> Mark {
        self.shares.mark()
    }

    /// Sets the function that copies between strided layouts.
    pub(crate) fn set_across(&mut self, across: CopyAcross) {
        self.across = Some(across);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.running.is_empty() && self.regions.is_empty()
    }

    /// True if there are no steps to make.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    /// Publishes a region for a receiver that is known to be near, or not ([`Stores::is_near`]).
    pub(crate) fn publish(
        &mut self,
        segment: &Segment,
        to: u32,
        token: u64,
        source: Source,
        is_near: bool,
    ) -> RegionKey {
        let length = source.length();
        let source = match self.publish_exported(segment, to, token, source) {
            Ok(key) => return key,
            Err(source) => source,
        };
        let source = match self.publish_direct(segment, to, token, source, is_near) {
            Ok(key) => return key,
            Err(source) => source,
        };
        let bounce = if length > 0 { self.bounces.take(segment, length) } else { None };
        let mut place = RegionDescriptor {
            length: length as u64,
            bounce: bounce.as_ref().map(|w| (w.id.index, w.shape())),
            share: None,
        };
        let Some(bounce) = bounce else {
            let name = self.regions.publish(Published { to, token, source });
            return RegionKey([name, place.encode()]);
        };
        let name = self.regions.publish(Published { to, token, source: NOTHING });
        let share = self.share(segment, &source, bounce.shape());
        place.share = share.as_ref().map(|(index, _)| *index);
        let work = PushWork::Filling(Filling { share, ..Filling::new(source, length, bounce) });
        self.running.push(Push { to, region: Some((name, token)), work });
        RegionKey([name, place.encode()])
    }

    /// Publishes a region that a device can copy to the receiver; gives the source back if none
    /// can.
    fn publish_exported(
        &mut self,
        segment: &Segment,
        to: u32,
        token: u64,
        mut source: Source,
    ) -> Result<RegionKey, Source> {
        let Some(export) = source.export() else { return Err(source) };
        let nowhere = MessagePlace { address: 0, heap: None };
        let Some((index, claims)) = self.shares.open(segment, true, nowhere) else {
            return Err(source);
        };
        let lines = ShareLines::new(segment, self.own, index);
        lines.set_export(&export);
        let length = source.length() as u64;
        let work = PushWork::Exported(Box::new(ExportedPush::new(source, lines, index, claims)));
        Ok(self.publish_shared(to, token, index, length, work))
    }

    /// Publishes a region that the receiver finds in the lines of a split copy.
    fn publish_shared(
        &mut self,
        to: u32,
        token: u64,
        share: u32,
        length: u64,
        work: PushWork,
    ) -> RegionKey {
        let name = self.regions.publish(Published { to, token, source: NOTHING });
        self.running.push(Push { to, region: Some((name, token)), work });
        RegionKey([name, RegionDescriptor { length, bounce: None, share: Some(share) }.encode()])
    }

    /// Publishes a region that is in a heap; gives the source back if another method is better.
    fn publish_direct(
        &mut self,
        segment: &Segment,
        to: u32,
        token: u64,
        source: Source,
        is_near: bool,
    ) -> Result<RegionKey, Source> {
        let length = source.length();
        if length < SHORTEST {
            return Err(source);
        }
        let Some((from, heap)) = self.reachable(segment, &source) else { return Err(source) };
        if !self.direct.take(length, is_near) {
            return Err(source);
        }
        let place = MessagePlace { address: from.lowest as u64, heap: Some(heap) };
        let Some((index, claims)) = self.shares.open(segment, self.own < to, place) else {
            return Err(source);
        };
        let lines = ShareLines::new(segment, self.own, index);
        let direct = HeapPush { source, from, lines, index, claims, joined: false, target: None };
        let work = PushWork::Direct(Box::new(direct));
        Ok(self.publish_shared(to, token, index, length as u64, work))
    }

    /// The location of a message that its receiver can reach.
    fn reachable(&self, segment: &Segment, source: &Source) -> Option<(Layout, InHeap)> {
        let from = source
            .layout()
            .filter(|from| from.strides == Strides::CONTIGUOUS || self.across.is_some())?;
        Some((from, InHeap::of(segment, &from)?))
    }

    /// Opens lines by which the receiver can claim chunks of a message that is sent through a
    /// bounce buffer.
    fn share(
        &mut self,
        segment: &Segment,
        source: &Source,
        shape: BounceShape,
    ) -> Option<(u32, Claims<MappedLongWords>)> {
        let &Source::Bytes { pointer, length } = source else { return None };
        let units = length.div_ceil(shape.chunk_bytes());
        if length < SHARED_AT_LEAST || units > MOST_UNITS {
            return None;
        }
        let (index, mut claims) = self.shares.open(
            segment,
            true,
            MessagePlace { address: pointer as u64, heap: None },
        )?;
        claims.set_units(units as u32);
        Some((index, claims))
    }

    /// Withdraws a region; false if its receiver has begun to pull it.
    pub(crate) fn withdraw(&mut self, name: u64) -> bool {
        let Some(index) = self.running.iter().position(|push| push.is_named(name)) else {
            return self.regions.take(name).is_some();
        };
        if self.running[index].has_begun() {
            return false;
        }
        self.abandon(index);
        true
    }

    /// The receiver does not want a region. Returns the token to report.
    pub(crate) fn released(&mut self, name: u64) -> Option<u64> {
        let running = self.running.iter().position(|push| push.is_named(name));
        match running {
            Some(index) => self.abandon(index),
            None => self.regions.take(name).map(|region| region.token),
        }
    }

    /// The receiver names a bounce buffer of its own for a region. A region that was withdrawn is
    /// sent as an empty message.
    pub(crate) fn serve(&mut self, to: u32, name: u64, length: u64, bounce: BounceBuffer) {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if let Some(source) = self.leave_lines(name) {
            self.running.push(Push {
                to,
                region: self.regions.take(name).map(|region| (name, region.token)),
                work: PushWork::Filling(Filling::new(source, length, bounce)),
            });
            return;
        }
        let (region, source) = match self.regions.take(name) {
            Some(region) => (Some((name, region.token)), region.source),
            None => (None, NOTHING),
        };
        self.running.push(Push {
            to,
            region,
            work: PushWork::Filling(Filling::new(source, length, bounce)),
        });
    }

    /// Removes a message in a heap or in the memory of a device that its receiver cannot reach, and
    /// returns its source.
    fn leave_lines(&mut self, name: u64) -> Option<Source> {
        let is_it = |push: &Push| push.is_named(name) && !matches!(push.work, PushWork::Filling(_));
        let index = self.running.iter().position(is_it)?;
        let (share, source) = match self.running.swap_remove(index).work {
            PushWork::Filling(_) => return None,
            PushWork::Direct(direct) => (direct.index, direct.source),
            PushWork::Exported(exported) => {
                let (index, slots) = (exported.index, exported.slots());
                let source = exported.into_source();
                self.bounces.release(slots);
                (index, source)
            }
        };
        self.shares.close(share);
        Some(source)
    }

    /// Makes one step of push `index`, which is removed if the transfer is complete. Returns the
    /// peer, the progress, and the token to report.
    pub(crate) fn step(
        &mut self,
        segment: &Segment,
        index: usize,
        stores: &mut Stores,
    ) -> (u32, Advance, Option<u64>) {
        let push = &mut self.running[index];
        let helpers = (stores, &mut self.bounces);
        let (to, advance) = (push.to, push.step(segment, self.across, helpers));
        let token = if advance.is_end() { self.end(index) } else { None };
        (to, advance, token)
    }

    pub(crate) fn running(&self) -> usize {
        self.running.len()
    }

    /// Ends all transfers to one peer without a report.
    pub(crate) fn drop_peer(&mut self, peer: u32) {
        while let Some(index) = self.running.iter().position(|push| push.to == peer) {
            self.abandon(index);
        }
        self.regions.take_all_of(peer);
    }

    /// Ends a push whose receiver will not drain it, and frees the bounce buffer if it belongs to
    /// this rank.
    fn abandon(&mut self, index: usize) -> Option<u64> {
        if let PushWork::Filling(filling) = &self.running[index].work
            && filling.bounce.id.owner == self.own
        {
            filling.bounce.drain(filling.filled);
        }
        self.end(index)
    }

    fn end(&mut self, index: usize) -> Option<u64> {
        let push = self.running.swap_remove(index);
        match push.work {
            PushWork::Filling(filling) => {
                if filling.bounce.id.owner == self.own {
                    self.bounces.release(Some(filling.bounce.id.index));
                }
                if let Some((share, _)) = filling.share {
                    self.shares.close(share);
                }
            }
            PushWork::Direct(direct) => self.shares.close(direct.index),
            PushWork::Exported(exported) => {
                self.shares.close(exported.index);
                self.bounces.release(exported.slots());
            }
        }
        let (name, token) = push.region?;
        self.regions.take(name);
        Some(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::walk::{MOST_DOUBLINGS, Walk};

    #[test]
    fn whereabouts_survive_their_journey() {
        let last = Some(SHARES as u32 - 1);
        let shape = |length| BounceShape::of(length, Walk::from_number(MOST_DOUBLINGS));
        for bounce in [None, Some((0, BounceShape::SMALL)), Some((3, shape(1 << 30)))] {
            for share in [None, Some(0), last] {
                let place = RegionDescriptor { length: (1 << LENGTH_BITS) - 1, bounce, share };
                assert_eq!(RegionDescriptor::decode(place.encode()), place);
            }
        }
    }
}
