//! The receiving side of large messages: draining windows, the sender's or one's own.
//!
//! A region whose sender has found a window is drained from there. For any other region one of the receiver's own
//! windows is lent to the sender; where all are in use the pull waits. The first one has a reserve that is provided from
//! the beginning ([`Shape::RESERVE`]): where memory is short, large messages go through it one after the other.

use std::collections::VecDeque;

use towpath_base::transfer::{Step, Target};

use super::layout::{IN_WINDOWS, OUT_WINDOWS};
use super::push::Advance;
use super::segment::Segment;
use super::window::{Shape, Window, WindowId};
use crate::routine::Routines;

/// A message on its way out of a window.
struct Pull {
    from: u32,
    token: u64,
    target: Target,
    window: Window,
    drained: u32,
}

impl Pull {
    /// Drains every filled chunk.
    fn step(&mut self, segment: &Segment, routines: &mut Routines) -> Advance {
        let mut advance = Advance::Nothing;
        while self.window.filled() != self.drained {
            let (length, end) = self.window.look(self.drained);
            let place = self.window.chunk(segment, self.drained);
            // SAFETY: the chunk is ours until counted, and `pull` promised that the target lives.
            match unsafe { drain(&mut self.target, place, length, routines) } {
                Step::Done(_) => {}
                Step::Pending => return advance,
            }
            self.drained = self.drained.wrapping_add(1);
            self.window.drain(self.drained);
            advance = Advance::Some;
            if end {
                return Advance::Done;
            }
        }
        advance
    }
}

/// As [`Target::drain`], with the routine that suits the chunk.
///
/// # Safety
/// As there.
unsafe fn drain(target: &mut Target, place: *const u8, length: usize, routines: &mut Routines) -> Step {
    let Target::Bytes { pointer, length: room } = target else {
        // SAFETY: handed through.
        return unsafe { target.drain(place, length) };
    };
    let step = length.min(*room);
    // SAFETY: the caller lends `length` bytes; `room` bytes are left behind `pointer`.
    unsafe {
        routines.copy(place, *pointer, step);
        *pointer = pointer.add(step);
    }
    *room -= step;
    Step::Done(length)
}

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
        u64::from(self.index) | u64::from(self.shape.log()) << 8 | u64::from(self.start) << 32
    }

    /// Window, shape and start, back from the third word.
    pub(crate) fn decode(extra: u64) -> (u32, Shape, u32) {
        ((extra & 0xFF) as u32, Shape::from_log((extra >> 8 & 0xFF) as u32), (extra >> 32) as u32)
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
}

impl Pulls {
    pub(crate) fn new(own: usize) -> Pulls {
        Pulls {
            own: own as u32,
            resting: [Some(0); IN_WINDOWS],
            provided: [0; IN_WINDOWS],
            waiting: VecDeque::new(),
            running: Vec::new(),
            routines: Routines::new(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.running.is_empty() && self.waiting.is_empty()
    }

    /// True when steps have something to do.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    /// Drains a region from the sender's own window.
    pub(crate) fn follow(&mut self, from: u32, token: u64, target: Target, window: Window) {
        let drained = window.start();
        self.running.push(Pull { from, token, target, window, drained });
    }

    /// Wants a region whose sender has no window for it.
    pub(crate) fn want(&mut self, from: u32, name: u64, token: u64, target: Target) {
        self.waiting.push_back(Wanted { from, name, token, target });
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
        self.running.push(Pull { from, token, target, window, drained: start });
        Some(Begun { from, name, length: length as u64, index, shape, start })
    }

    /// A window for a message of `length` bytes, with its pages: as wide as the message wants, or what is there in any case.
    fn free_window(&mut self, segment: &Segment, length: usize) -> Option<(usize, Shape)> {
        let slot = self.resting.iter().position(Option::is_some)?;
        let id = WindowId { owner: self.own, index: (OUT_WINDOWS + slot) as u32 };
        let shape = Shape::of(length);
        if segment.provide_window(id, &mut self.provided[slot], shape, length) {
            return Some((slot, shape));
        }
        (slot == 0).then_some((0, Shape::RESERVE))
    }

    pub(crate) fn running(&self) -> usize {
        self.running.len()
    }

    /// One step of pull `index`, which is gone when the answer is `Done`. Says from whom, how far, and what to report.
    pub(crate) fn step(&mut self, segment: &Segment, index: usize) -> (u32, Advance, u64) {
        let pull = &mut self.running[index];
        let (from, token, advance) = (pull.from, pull.token, pull.step(segment, &mut self.routines));
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
        let Pull { window, .. } = self.running.swap_remove(index);
        if window.id.owner == self.own {
            // Equal after a whole message; after a sender's death this frees the window.
            let filled = window.filled();
            window.drain(filled);
            self.resting[window.id.index as usize - OUT_WINDOWS] = Some(filled);
        }
    }
}
