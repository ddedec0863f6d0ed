//! The sending side of large messages: regions that are published, and their way into a window.
//!
//! A region gets one of the sender's own windows if one is free and is filled at once, before anybody asks: the
//! announcement then says where, and the receiver needs no word to the sender. Without a free window the region waits
//! until its receiver names one of *its* windows.

use towpath_base::transfer::{Source, Step};

use super::layout::OUT_WINDOWS;
use super::segment::Segment;
use super::window::{Shape, Window, WindowId, resting_count};
use crate::RegionKey;
use crate::regions::{Published, Regions};

/// How far one call came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advance {
    /// Nothing could move.
    Nothing,
    /// Something moved.
    Some,
    /// The transfer is complete.
    Done,
}

const NOTHING: Source = Source::Bytes { pointer: std::ptr::null(), length: 0 };

/// Where a region's key says that its bytes are: length, and the sender's window and its shape if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Whereabouts {
    pub(crate) length: u64,
    pub(crate) window: Option<(u32, Shape)>,
}

const LENGTH_BITS: u32 = 48;

impl Whereabouts {
    pub(crate) fn encode(self) -> u64 {
        let window = self.window.map_or(0, |(index, shape)| u64::from(index + 1) | u64::from(shape.log()) << 8);
        self.length | window << LENGTH_BITS
    }

    pub(crate) fn decode(word: u64) -> Whereabouts {
        let window = word >> LENGTH_BITS;
        let index = (window & 0xFF) as u32;
        Whereabouts {
            length: word & ((1 << LENGTH_BITS) - 1),
            window: (index > 0).then(|| (index - 1, Shape::from_log((window >> 8) as u32))),
        }
    }
}

/// A message on its way into a window.
struct Push {
    to: u32,
    /// Name of the region while it can be withdrawn or released unread; what to report.
    region: Option<(u64, u64)>,
    source: Source,
    remaining: usize,
    window: Window,
    filled: u32,
    /// What the sender knows of the receiver's count.
    drained: u32,
    ended: bool,
}

impl Push {
    fn new(to: u32, region: Option<(u64, u64)>, source: Source, length: usize, window: Window) -> Push {
        let remaining = source.length().min(length);
        let start = window.start();
        Push { to, region, source, remaining, window, filled: start, drained: start, ended: false }
    }

    /// Fills every free chunk. Done when all is filled and the receiver has begun to drain.
    fn step(&mut self, segment: &Segment) -> Advance {
        let mut advance = Advance::Nothing;
        let chunks = self.window.shape().chunks();
        while !self.ended {
            if self.filled.wrapping_sub(self.drained) == chunks {
                self.drained = self.window.drained();
                if self.filled.wrapping_sub(self.drained) == chunks {
                    return advance;
                }
            }
            let capacity = self.window.shape().chunk_bytes().min(self.remaining);
            let place = self.window.chunk(segment, self.filled);
            // SAFETY: the chunk is ours until counted, and `publish` promised that the source lives.
            let Step::Done(bytes) = (unsafe { self.source.fill(place, capacity) }) else { return advance };
            self.remaining -= bytes;
            self.ended = self.remaining == 0 || bytes == 0;
            self.window.fill(self.filled, bytes, self.ended);
            self.filled = self.filled.wrapping_add(1);
            advance = Advance::Some;
        }
        if self.has_begun() { Advance::Done } else { advance }
    }

    /// True when the receiver has drained something.
    fn has_begun(&mut self) -> bool {
        if self.drained == self.window.start() {
            self.drained = self.window.drained();
        }
        self.drained != self.window.start()
    }
}

/// All regions of a sender.
pub(crate) struct Pushes {
    own: u32,
    regions: Regions,
    running: Vec<Push>,
    /// Which own windows a push holds.
    held: [bool; OUT_WINDOWS],
    /// Bytes of each own window whose pages are provided.
    provided: [usize; OUT_WINDOWS],
}

impl Pushes {
    pub(crate) fn new(own: usize) -> Pushes {
        Pushes {
            own: own as u32,
            regions: Regions::default(),
            running: Vec::new(),
            held: [false; OUT_WINDOWS],
            provided: [0; OUT_WINDOWS],
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.running.is_empty() && self.regions.is_empty()
    }

    /// True when steps have something to do.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    /// Makes a region available.
    pub(crate) fn publish(&mut self, segment: &Segment, to: u32, token: u64, source: Source) -> RegionKey {
        let length = source.length();
        let window = if length > 0 { self.take_window(segment, length) } else { None };
        let place = Whereabouts { length: length as u64, window: window.as_ref().map(|w| (w.id.index, w.shape())) };
        let Some(window) = window else {
            let name = self.regions.publish(Published { to, token, source });
            return RegionKey([name, place.encode()]);
        };
        let name = self.regions.publish(Published { to, token, source: NOTHING });
        self.running.push(Push::new(to, Some((name, token)), source, length, window));
        RegionKey([name, place.encode()])
    }

    /// One of the own windows for a message of `length` bytes.
    fn take_window(&mut self, segment: &Segment, length: usize) -> Option<Window> {
        let shape = Shape::of(length);
        for index in 0..OUT_WINDOWS {
            let id = WindowId { owner: self.own, index: index as u32 };
            if self.held[index] {
                continue;
            }
            let Some(start) = resting_count(segment, id) else { continue };
            if !segment.provide_window(id, &mut self.provided[index], shape, length) {
                return None;
            }
            self.held[index] = true;
            return Some(Window::new(segment, id, shape, start));
        }
        None
    }

    /// Takes a region back; false when its receiver has begun.
    pub(crate) fn withdraw(&mut self, name: u64) -> bool {
        let Some(index) = self.running.iter().position(|push| push.region.is_some_and(|(own, _)| own == name)) else {
            return self.regions.take(name).is_some();
        };
        if self.running[index].has_begun() {
            return false;
        }
        self.abandon(index);
        true
    }

    /// The receiver does not want a region: what to report.
    pub(crate) fn released(&mut self, name: u64) -> Option<u64> {
        let running = self.running.iter().position(|push| push.region.is_some_and(|(own, _)| own == name));
        match running {
            Some(index) => self.abandon(index),
            None => self.regions.take(name).map(|region| region.token),
        }
    }

    /// The receiver names a window of its own for a region. One that was withdrawn is sent as nothing.
    pub(crate) fn serve(&mut self, to: u32, name: u64, length: u64, window: Window) {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let (region, source) = match self.regions.take(name) {
            Some(region) => (Some((name, region.token)), region.source),
            None => (None, NOTHING),
        };
        self.running.push(Push::new(to, region, source, length, window));
    }

    /// One step of push `index`, which is gone when the answer is `Done`. Says for whom, how far, and what to report.
    pub(crate) fn step(&mut self, segment: &Segment, index: usize) -> (u32, Advance, Option<u64>) {
        let push = &mut self.running[index];
        let (to, advance) = (push.to, push.step(segment));
        let token = if advance == Advance::Done { self.end(index) } else { None };
        (to, advance, token)
    }

    pub(crate) fn running(&self) -> usize {
        self.running.len()
    }

    /// Everything for one peer ends, unreported.
    pub(crate) fn bury(&mut self, peer: u32) {
        while let Some(index) = self.running.iter().position(|push| push.to == peer) {
            self.abandon(index);
        }
        self.regions.take_all_of(peer);
    }

    /// Ends a push whose receiver will not drain it, and frees the window where it is our own.
    fn abandon(&mut self, index: usize) -> Option<u64> {
        let push = &self.running[index];
        if push.window.id.owner == self.own {
            push.window.drain(push.filled);
        }
        self.end(index)
    }

    fn end(&mut self, index: usize) -> Option<u64> {
        let push = self.running.swap_remove(index);
        if push.window.id.owner == self.own {
            self.held[push.window.id.index as usize] = false;
        }
        let (name, token) = push.region?;
        self.regions.take(name);
        Some(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whereabouts_survive_their_journey() {
        for window in [None, Some((0, Shape::of(1))), Some((3, Shape::of(1 << 30)))] {
            let place = Whereabouts { length: (1 << LENGTH_BITS) - 1, window };
            assert_eq!(Whereabouts::decode(place.encode()), place);
        }
    }
}
