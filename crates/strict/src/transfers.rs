//! Large messages in strict mode: the receiver requests them, and the sender appends them piece by
//! piece to its stream to the receiver.

use towpath_base::transfer::{Source, Step, Target};

use super::stream::{Bytes, Frames, Kind, StreamFrame};
use towpath_transport::regions::Regions;

/// Bytes that are appended to a stream at a time.
pub(super) const PIECE_BYTES: usize = 16 * 1024;

/// A region that is being sent.
struct StrictPush {
    to: u32,
    /// The receiver's number for the pull.
    pull: u64,
    token: u64,
    source: Source,
    left: usize,
    /// The receiver wants more than the source has, so it must be told of the end.
    short: bool,
}

/// All regions that this process has published.
#[derive(Default)]
pub(super) struct StrictPushes {
    pub(super) regions: Regions,
    running: Vec<StrictPush>,
}

/// The result of a step of a push.
pub(super) enum Fed {
    /// No bytes were sent: the source waits for a device.
    Nothing,
    /// Some bytes were sent.
    Some,
    /// All bytes were sent: the region with this token is released.
    All(u64),
}

impl StrictPushes {
    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty() && self.regions.is_empty()
    }

    /// Starts to send `wanted` bytes of a region; false if the region does not exist any more.
    pub(super) fn begin(&mut self, to: u32, name: u64, pull: u64, wanted: u64) -> bool {
        let Some(region) = self.regions.take(name) else { return false };
        let (length, wanted) =
            (region.source.length(), usize::try_from(wanted).unwrap_or(usize::MAX));
        let (left, short) = (length.min(wanted), length < wanted);
        self.running.push(StrictPush {
            to,
            pull,
            token: region.token,
            source: region.source,
            left,
            short,
        });
        true
    }

    pub(super) fn running(&self) -> usize {
        self.running.len()
    }

    pub(super) fn receiver(&self, index: usize) -> usize {
        self.running[index].to as usize
    }

    /// Appends the next piece of push `index` to the stream to its receiver.
    pub(super) fn feed(&mut self, index: usize, stream: &mut Bytes) -> Fed {
        let push = &mut self.running[index];
        let frame = StreamFrame::control(Kind::Data, [push.pull, 0]);
        let fill = |into: *mut u8| {
            // SAFETY: the stream lends as many bytes at `into`, and the memory behind the source
            // lives until the region is released (contract of `Strict::publish`).
            match unsafe { push.source.fill(into, push.left.min(PIECE_BYTES)) } {
                Step::Done(bytes) => Some(bytes),
                Step::Pending => None,
            }
        };
        let Some(bytes) = stream.append_some(frame, push.left.min(PIECE_BYTES), fill) else {
            return Fed::Nothing;
        };
        push.left -= bytes;
        if push.left > 0 && bytes > 0 {
            return Fed::Some;
        }
        let push = self.running.swap_remove(index);
        if push.short || push.left > 0 {
            // The source has yielded less than its length, or has less than the receiver requested.
            stream.append_frame(&StreamFrame::control(Kind::End, [push.pull, 0]), |_| {});
        }
        Fed::All(push.token)
    }

    /// Ends everything for one peer without a report.
    pub(super) fn drop_peer(&mut self, peer: u32) {
        self.running.retain(|push| push.to != peer);
        self.regions.take_all_of(peer);
    }
}

/// A region that is being fetched.
struct StrictPull {
    from: u32,
    token: u64,
    target: Target,
}

/// All pulls of this process; a pull's number is its index.
#[derive(Default)]
pub(super) struct StrictPulls {
    places: Vec<Option<StrictPull>>,
}

impl StrictPulls {
    pub(super) fn is_empty(&self) -> bool {
        self.places.iter().all(Option::is_none)
    }

    /// Adds a pull and returns its number.
    pub(super) fn begin(&mut self, from: u32, token: u64, target: Target) -> u64 {
        let free = self.places.iter().position(Option::is_none);
        let place = free.unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        });
        self.places[place] = Some(StrictPull { from, token, target });
        place as u64
    }

    /// Passes the next bytes to a pull. `None` while a device is busy; otherwise the token of the
    /// pull, if it is complete.
    ///
    /// # Panics
    /// If there is no such pull from this peer: the shared memory is damaged.
    pub(super) fn take(&mut self, from: u32, number: u64, bytes: &[u8]) -> Option<Option<u64>> {
        let pull = self
            .places
            .get_mut(number as usize)
            .and_then(Option::as_mut)
            .filter(|pull| pull.from == from);
        let Some(pull) = pull else {
            panic!("local rank {from} sends data that nobody wants: the segment is damaged")
        };
        // SAFETY: `bytes` is readable for its length, and the memory behind the target lives until
        // the pull is reported (contract of `Strict::pull`).
        match unsafe { pull.target.drain(bytes.as_ptr(), bytes.len()) } {
            Step::Pending => None,
            Step::Done(_) if pull.target.length() > 0 => Some(None),
            Step::Done(_) => Some(self.end(number)),
        }
    }

    /// Ends a pull and returns its token.
    pub(super) fn end(&mut self, number: u64) -> Option<u64> {
        self.places.get_mut(number as usize).and_then(Option::take).map(|pull| pull.token)
    }

    /// Ends everything from one peer without a report.
    pub(super) fn drop_peer(&mut self, peer: u32) {
        for place in &mut self.places {
            if place.as_ref().is_some_and(|pull| pull.from == peer) {
                *place = None;
            }
        }
    }
}
