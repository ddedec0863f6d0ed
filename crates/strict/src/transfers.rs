//! Large messages of the strict mode: pulled by their receiver, sent piece by piece in the stream
//! to it.

use towpath_base::transfer::{Source, Step, Target};

use super::stream::{Bytes, Frame, Frames, Kind};
use towpath_transport::regions::Regions;

/// Bytes that go into a stream at a time.
pub(super) const PIECE_BYTES: usize = 16 * 1024;

/// A region on its way to its receiver.
struct Push {
    to: u32,
    /// The receiver's number for it.
    pull: u64,
    token: u64,
    source: Source,
    left: usize,
    /// The receiver wants more than there is, so it must hear of the end.
    short: bool,
}

/// All regions that this process has published.
#[derive(Default)]
pub(super) struct Pushes {
    pub(super) regions: Regions,
    running: Vec<Push>,
}

/// What a step of a push came to.
pub(super) enum Fed {
    /// Its bytes wait for a device.
    Nothing,
    /// Some bytes went.
    Some,
    /// All bytes went: the region with this token is free.
    All(u64),
}

impl Pushes {
    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty() && self.regions.is_empty()
    }

    /// The receiver wants so many bytes of a region; false when the region is gone.
    pub(super) fn begin(&mut self, to: u32, name: u64, pull: u64, wanted: u64) -> bool {
        let Some(region) = self.regions.take(name) else { return false };
        let (length, wanted) = (region.source.length(), usize::try_from(wanted).unwrap_or(usize::MAX));
        let (left, short) = (length.min(wanted), length < wanted);
        self.running.push(Push { to, pull, token: region.token, source: region.source, left, short });
        true
    }

    pub(super) fn running(&self) -> usize {
        self.running.len()
    }

    pub(super) fn receiver(&self, index: usize) -> usize {
        self.running[index].to as usize
    }

    /// Puts the next piece of push `index` into the stream to its receiver.
    pub(super) fn feed(&mut self, index: usize, stream: &mut Bytes) -> Fed {
        let push = &mut self.running[index];
        let frame = Frame::control(Kind::Data, [push.pull, 0]);
        let fill = |into: *mut u8| {
            // SAFETY: the stream lends that many bytes; `publish` promised that the source lives.
            match unsafe { push.source.fill(into, push.left.min(PIECE_BYTES)) } {
                Step::Done(bytes) => Some(bytes),
                Step::Pending => None,
            }
        };
        let Some(bytes) = stream.append_some(frame, push.left.min(PIECE_BYTES), fill) else { return Fed::Nothing };
        push.left -= bytes;
        if push.left > 0 && bytes > 0 {
            return Fed::Some;
        }
        let push = self.running.swap_remove(index);
        if push.short || push.left > 0 {
            // The source has yielded less than it said, or than was wanted.
            stream.append_frame(&Frame::control(Kind::End, [push.pull, 0]), |_| {});
        }
        Fed::All(push.token)
    }

    /// Everything for one peer ends, unreported.
    pub(super) fn bury(&mut self, peer: u32) {
        self.running.retain(|push| push.to != peer);
        self.regions.take_all_of(peer);
    }
}

/// A region on its way here.
struct Pull {
    from: u32,
    token: u64,
    target: Target,
}

/// All regions that this process brings; a pull's number is its place.
#[derive(Default)]
pub(super) struct Pulls {
    places: Vec<Option<Pull>>,
}

impl Pulls {
    pub(super) fn is_empty(&self) -> bool {
        self.places.iter().all(Option::is_none)
    }

    /// Enters a pull: its number.
    pub(super) fn begin(&mut self, from: u32, token: u64, target: Target) -> u64 {
        let free = self.places.iter().position(Option::is_none);
        let place = free.unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        });
        self.places[place] = Some(Pull { from, token, target });
        place as u64
    }

    /// The next bytes of a pull. `None` while a device is at work; else the token of the pull if it
    /// is complete.
    ///
    /// # Panics
    /// When there is no such pull from this peer: then the shared memory is damaged.
    pub(super) fn take(&mut self, from: u32, number: u64, bytes: &[u8]) -> Option<Option<u64>> {
        let pull = self.places.get_mut(number as usize).and_then(Option::as_mut).filter(|pull| pull.from == from);
        let Some(pull) = pull else { panic!("local rank {from} sends data that nobody wants: the segment is damaged") };
        // SAFETY: the bytes are a slice; `pull` promised that the target lives.
        match unsafe { pull.target.drain(bytes.as_ptr(), bytes.len()) } {
            Step::Pending => None,
            Step::Done(_) if pull.target.length() > 0 => Some(None),
            Step::Done(_) => Some(self.end(number)),
        }
    }

    /// A pull is over: its token.
    pub(super) fn end(&mut self, number: u64) -> Option<u64> {
        self.places.get_mut(number as usize).and_then(Option::take).map(|pull| pull.token)
    }

    /// Everything from one peer ends, unreported.
    pub(super) fn bury(&mut self, peer: u32) {
        for place in &mut self.places {
            if place.as_ref().is_some_and(|pull| pull.from == peer) {
                *place = None;
            }
        }
    }
}
