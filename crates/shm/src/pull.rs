//! The receiving side of large messages: draining windows, the sender's or one's own.
//!
//! A region whose sender has found a window is drained from there. For any other region one of the
//! receiver's own windows is lent to the sender; where all are in use the pull waits. The first one
//! has a reserve that is provided from the beginning ([`Shape::RESERVE`]): where memory is short,
//! large messages go through it one after the other. A region in a heap is copied from there.

use std::collections::VecDeque;

use towpath_base::sync::MappedLongWords;
use towpath_base::transfer::{CopyAcross, Layout, Step, Strides, Target};

use super::claims::Claims;
use super::layout::{IN_WINDOWS, OUT_WINDOWS};
use super::push::{Advance, UNITS_OF_A_STEP, Whereabouts};
use super::segment::Segment;
use super::share::{InHeap, Lines, copy_unit, direct_unit};
use super::theft::{Readers, Theft};
use super::window::{Shape, Window, WindowId, drained_count};
use crate::stores::Stores;
use crate::streaming::Streaming;
use towpath_transport::copy;

/// A message on its way out of a window.
struct Draining {
    target: Target,
    /// The message is long enough to be streamed.
    long: bool,
    window: Window,
    drained: u32,
    /// Set where chunks may be read from the sender's process.
    theft: Option<Theft>,
}

impl Draining {
    fn new(target: Target, window: Window, theft: Option<Theft>) -> Draining {
        let long = target.length() >= STREAMED_AT_LEAST;
        Draining { target, long, drained: window.start(), window, theft }
    }

    /// Drains every filled chunk.
    fn step(&mut self, segment: &Segment, from: u32, readers: &mut Readers, routines: &mut Routines) -> Advance {
        let mut advance = Advance::Nothing;
        while self.window.filled() != self.drained {
            let (length, end) = self.window.look(self.drained);
            let place = self.window.chunk(segment, self.drained);
            // SAFETY: the chunk is ours until counted, and `pull` promised that the target lives.
            match unsafe { routines.drain(&mut self.target, place, length, self.long) } {
                Step::Done(_) => {}
                Step::Pending => return advance,
            }
            self.drained = self.drained.wrapping_add(1);
            self.window.drain(self.drained);
            advance = Advance::Some;
            if end || self.is_all() {
                return Advance::Done;
            }
        }
        let Some(theft) = &mut self.theft else { return advance };
        if advance == Advance::Some {
            theft.starved = 0;
        } else if theft.step(segment, from, readers) {
            return if self.is_all() { Advance::Done } else { Advance::Some };
        }
        advance
    }

    /// True when the drained and the read chunks together are the message.
    fn is_all(&self) -> bool {
        let drained = self.drained.wrapping_sub(self.window.start());
        self.theft.as_ref().is_some_and(|theft| drained + theft.read == theft.units)
    }
}

/// A message out of a heap, which this side copies, and the sender too where it can reach the
/// target.
struct Direct {
    from: Layout,
    target: Target,
    wanted: usize,
    claims: Claims<MappedLongWords>,
    /// A unit that is claimed and that the target did not take yet.
    unit: Option<u32>,
    /// Where the bytes go, if they may come in any order.
    to: Option<Layout>,
}

impl Direct {
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
        // SAFETY: the unit is claimed and lies inside both; both sides keep them until all is
        // copied. Where there is no layout to copy to, the source is a row.
        unsafe {
            match &self.to {
                Some(to) => copy_unit(&self.from, to, unit, self.wanted, across),
                None => return self.target.drain(self.from.lowest.add(at), length),
            }
        }
        Step::Done(length)
    }
}

// SAFETY: the pointers are those of the message's source and target, see `Source` and `Target`.
unsafe impl Send for Direct {}

enum Work {
    Draining(Draining),
    Direct(Direct),
}

/// A message that comes.
struct Pull {
    from: u32,
    token: u64,
    work: Work,
}

/// How chunks are copied.
struct Routines {
    streaming: Streaming,
    /// The peer shares no cache with this process, as far as messages to the peer have shown.
    far: bool,
    /// Where chunks are fetched to that are then unpacked.
    fetched: Vec<u8>,
}

impl Routines {
    /// As [`Target::drain`], with the routine that suits the chunk. Unpackers load a few bytes at a
    /// time, each of which would wait for a far core.
    ///
    /// # Safety
    /// As there.
    unsafe fn drain(&mut self, target: &mut Target, place: *const u8, length: usize, long: bool) -> Step {
        let Target::Bytes { pointer, length: room } = target else {
            if !self.far {
                // SAFETY: handed through.
                return unsafe { target.drain(place, length) };
            }
            if self.fetched.len() < length {
                self.fetched.resize(length, 0);
            }
            // SAFETY: the caller lends `length` bytes, and so many were fetched.
            unsafe {
                copy::fetch(place, self.fetched.as_mut_ptr(), length);
                return target.drain(self.fetched.as_ptr(), length);
            }
        };
        let step = length.min(*room);
        // SAFETY: the caller lends `length` bytes; `room` bytes are left behind `pointer`.
        unsafe {
            match long {
                true => self.streaming.copy(place, *pointer, step),
                false => copy::fetch(place, *pointer, step),
            }
            *pointer = pointer.add(step);
        }
        *room -= step;
        Step::Done(length)
    }
}

/// Messages from this length on may be longer than what a program reads of them soon: they may go
/// past the caches.
const STREAMED_AT_LEAST: usize = 1 << 20;

/// A pull that waits for a window.
struct Wanted {
    from: u32,
    name: u64,
    token: u64,
    target: Target,
}

/// What the sender must be told when a pull begins in one of our windows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    pub(crate) from: u32,
    pub(crate) name: u64,
    pub(crate) length: u64,
    pub(crate) index: u32,
    pub(crate) shape: Shape,
    pub(crate) start: u32,
}

impl Begun {
    /// Third word of the control entry.
    pub(crate) fn encode(&self) -> u64 {
        u64::from(self.index) | u64::from(self.shape.number()) << 8 | u64::from(self.start) << 32
    }

    /// Window, shape and start, back from the third word.
    pub(crate) fn decode(extra: u64) -> (u32, Shape, u32) {
        ((extra & 0xFF) as u32, Shape::from_number((extra >> 8 & 0xFF) as u32), (extra >> 32) as u32)
    }
}

/// All pulls of a receiver.
pub(crate) struct Pulls {
    own: u32,
    /// Count at which each own window rests; `None` while a message runs through it.
    resting: [Option<u32>; IN_WINDOWS],
    provided: [usize; IN_WINDOWS],
    waiting: VecDeque<Wanted>,
    running: Vec<Pull>,
    routines: Routines,
    readers: Readers,
    /// Copies from strides to strides; without it, only rows are copied without a window.
    across: Option<CopyAcross>,
}

impl Pulls {
    pub(crate) fn new(own: usize) -> Pulls {
        Pulls {
            own: own as u32,
            resting: [Some(0); IN_WINDOWS],
            provided: [0; IN_WINDOWS],
            waiting: VecDeque::new(),
            running: Vec::new(),
            routines: Routines { streaming: Streaming::new(), far: false, fetched: Vec::new() },
            readers: Readers::default(),
            across: None,
        }
    }

    /// What copies from strides to strides.
    pub(crate) fn set_across(&mut self, across: CopyAcross) {
        self.across = Some(across);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.running.is_empty() && self.waiting.is_empty()
    }

    /// True when steps have something to do.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    /// Brings a region from where its key says that it is; false when it waits for one of our
    /// windows.
    pub(crate) fn start(
        &mut self,
        segment: &Segment,
        from: u32,
        token: u64,
        target: Target,
        place: Whereabouts,
        name: u64,
    ) -> bool {
        let work = match (place.window, place.share) {
            (Some((index, shape)), share) => {
                let id = WindowId { owner: from, index };
                let window = Window::new(segment, id, shape, drained_count(segment, id));
                let lines = share.map(|index| Lines::new(segment, from, index));
                let theft = lines.and_then(|lines| Theft::new(lines, &target, place.length, shape));
                Work::Draining(Draining::new(target, window, theft))
            }
            (None, Some(index)) => match self.join(segment, from, target, index) {
                Ok(direct) => Work::Direct(direct),
                Err(target) => {
                    self.waiting.push_back(Wanted { from, name, token, target });
                    return false;
                }
            },
            (None, None) => {
                self.waiting.push_back(Wanted { from, name, token, target });
                return false;
            }
        };
        self.running.push(Pull { from, token, work });
        true
    }

    /// Begins to copy a message out of a heap; gives the target back where the heaps are not
    /// mapped, or another way is better: bytes in strides are not worth it where only this side can
    /// copy (1 MiB in blocks of 64 bytes: 1.2 to 1.9 times as long as through a window, which both
    /// fill and drain).
    fn join(&self, segment: &Segment, from: u32, target: Target, index: u32) -> Result<Direct, Target> {
        let wanted = target.length();
        let to = target.layout().filter(|to| to.strides == Strides::ROW || self.across.is_some());
        let heap = to.as_ref().and_then(|to| InHeap::of(segment, to));
        let lines = Lines::new(segment, from, index);
        // Whose number is smaller takes the front, so that buffers that go to and fro keep their
        // halves near one core.
        let front = heap.is_none() || self.own < from;
        let units = wanted.div_ceil(direct_unit(wanted)) as u32;
        let (claims, place, _) = lines.follow(front, units);
        let source = place.heap.and_then(|heap| heap.layout(segment, wanted));
        let followed = |source: &Layout| source.strides == Strides::ROW || (self.across.is_some() && heap.is_some());
        let Some(source) = source.filter(followed) else { return Err(target) };
        lines.set_target(heap, wanted);
        claims.join();
        Ok(Direct { from: source, target, wanted, claims, unit: None, to })
    }

    /// Starts the next waiting pull if one of our windows is free.
    pub(crate) fn begin(&mut self, segment: &Segment) -> Option<Begun> {
        let length = self.waiting.front()?.target.length();
        let (slot, shape) = self.free_window(segment, length)?;
        let Wanted { from, name, token, target } = self.waiting.pop_front()?;
        let index = (OUT_WINDOWS + slot) as u32;
        let id = WindowId { owner: self.own, index };
        let start = self.resting[slot].take()?;
        let window = Window::new(segment, id, shape, start);
        let work = Work::Draining(Draining::new(target, window, None));
        self.running.push(Pull { from, token, work });
        Some(Begun { from, name, length: length as u64, index, shape, start })
    }

    /// A window for a message of `length` bytes, with its pages: as wide as the message wants, or
    /// what is there in any case.
    fn free_window(&mut self, segment: &Segment, length: usize) -> Option<(usize, Shape)> {
        let slot = self.resting.iter().position(Option::is_some)?;
        let id = WindowId { owner: self.own, index: (OUT_WINDOWS + slot) as u32 };
        let start = self.resting[slot]?;
        let shape = segment.provide_window(id, &mut self.provided[slot], start, length);
        shape.map(|shape| (slot, shape)).or((slot == 0).then_some((0, Shape::RESERVE)))
    }

    pub(crate) fn running(&self) -> usize {
        self.running.len()
    }

    /// One step of pull `index`, which is gone when the answer is `Done`. Says from whom, how far,
    /// and what to report.
    pub(crate) fn step(&mut self, segment: &Segment, index: usize, stores: &Stores) -> (u32, Advance, u64) {
        let pull = &mut self.running[index];
        let (from, token) = (pull.from, pull.token);
        self.routines.far = stores.is_far(from as usize);
        let advance = match &mut pull.work {
            Work::Draining(draining) => draining.step(segment, from, &mut self.readers, &mut self.routines),
            Work::Direct(direct) => direct.step(self.across),
        };
        if advance == Advance::Done {
            self.end(index);
        }
        (from, advance, token)
    }

    /// Everything from one peer ends without a report.
    pub(crate) fn bury(&mut self, peer: u32) {
        self.waiting.retain(|wanted| wanted.from != peer);
        while let Some(index) = self.running.iter().position(|pull| pull.from == peer) {
            self.end(index);
        }
    }

    fn end(&mut self, index: usize) {
        let Work::Draining(Draining { window, .. }) = self.running.swap_remove(index).work else { return };
        if window.id.owner == self.own {
            // Equal after a whole message; after a sender's death this frees the window.
            let filled = window.filled();
            window.drain(filled);
            self.resting[window.id.index as usize - OUT_WINDOWS] = Some(filled);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use towpath_base::transfer::Drain;

    use super::*;

    /// Takes bytes, every other time only, and notes where they came from last.
    #[derive(Default)]
    struct Slow {
        taken: Vec<u8>,
        place: usize,
        calls: usize,
    }

    struct Shared(Rc<RefCell<Slow>>);

    // SAFETY: reads the bytes that are lent, in the call only.
    unsafe impl Drain for Shared {
        unsafe fn drain(&mut self, from: *const u8, length: usize) -> Step {
            let mut slow = self.0.borrow_mut();
            slow.calls += 1;
            if slow.calls % 2 == 1 {
                return Step::Pending;
            }
            slow.place = from.addr();
            // SAFETY: so many bytes are lent.
            slow.taken.extend(unsafe { std::slice::from_raw_parts(from, length) });
            Step::Done(length)
        }
    }

    #[test]
    fn chunks_from_far_are_fetched_before_they_are_unpacked() {
        let chunk: Vec<u8> = (0..9000).map(|at| (at * 7 + at / 256) as u8).collect();
        for far in [false, true] {
            let slow = Rc::<RefCell<Slow>>::default();
            let mut routines = Routines { streaming: Streaming::new(), far, fetched: Vec::new() };
            let mut target = Target::Unpacker { drain: Box::new(Shared(slow.clone())), length: 2 * chunk.len() };
            for _ in 0..2 {
                // SAFETY: the chunk lives.
                let mut step = || unsafe { routines.drain(&mut target, chunk.as_ptr(), chunk.len(), false) };
                assert_eq!((step(), step()), (Step::Pending, Step::Done(chunk.len())));
            }
            assert!(slow.borrow().taken == [&chunk[..], &chunk[..]].concat());
            assert_eq!(slow.borrow().place == chunk.as_ptr().addr(), !far);
        }
    }
}
