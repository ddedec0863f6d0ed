//! The bounce buffers that a rank fills itself: for regions of its own, or as the slots of a
//! pipeline between devices.

use towpath_base::control::PAGE;
use towpath_base::transfer::Source;
use towpath_base::transfer::pipeline::{PIPELINE_BYTES, PinnedMemory};

use super::bounce::{BounceBuffer, BounceId, resting_count};
use super::layout::{BOUNCE_BYTES, OUT_BOUNCES};
use super::segment::Segment;

// The slots begin at the first page border in a bounce buffer.
const _: () = assert!(PIPELINE_BYTES + PAGE <= BOUNCE_BYTES);

/// Address of the slots in a bounce buffer: whole pages, because devices pin pages.
///
/// # Panics
/// If there is no such bounce buffer.
pub(super) fn slots_in(segment: &Segment, owner: u32, index: u32) -> *mut u8 {
    assert!(
        (index as usize) < OUT_BOUNCES,
        "slots in bounce buffer {index}: the segment is damaged"
    );
    let at = segment.layout().bounce_bytes(owner as usize, index as usize);
    segment.at(at.next_multiple_of(PAGE))
}

/// The bounce buffers of this rank's regions.
pub(crate) struct OutBounces {
    own: u32,
    /// True for each that a transfer holds.
    held: [bool; OUT_BOUNCES],
    /// Populated bytes of each.
    provided: [usize; OUT_BOUNCES],
    /// Keeps the slots in each pinned.
    pinned: [Option<PinnedMemory>; OUT_BOUNCES],
}

impl OutBounces {
    pub(crate) fn new(segment: &Segment) -> OutBounces {
        let mut provided = [0; OUT_BOUNCES];
        provided[0] = segment.provide_first_bounce();
        let (held, pinned) = ([false; OUT_BOUNCES], [const { None }; OUT_BOUNCES]);
        OutBounces { own: segment.own_rank() as u32, held, provided, pinned }
    }

    /// Takes one for a message of `length` bytes.
    pub(crate) fn take(&mut self, segment: &Segment, length: usize) -> Option<BounceBuffer> {
        let (index, start) = self.free(segment)?;
        let id = self.id(index);
        let shape = segment.provide_bounce(id, &mut self.provided[index], start, length)?;
        self.held[index] = true;
        Some(BounceBuffer::new(segment, id, shape, start))
    }

    /// Takes one for the slots of a pipeline, and pins them for the device of `source`. Returns its
    /// index and the slots.
    pub(super) fn take_slots(
        &mut self,
        segment: &Segment,
        source: &mut Source,
    ) -> Option<(u32, *mut u8)> {
        let (index, _) = self.free(segment)?;
        let id = self.id(index);
        let provided = &mut self.provided[index];
        if !segment.provide_bounce_bytes(id, provided, PIPELINE_BYTES + PAGE) {
            return None;
        }
        let slots = slots_in(segment, self.own, index as u32);
        if self.pinned[index].is_none() {
            // SAFETY: the slots are in the segment, which the wire holds longer than this object.
            self.pinned[index] = unsafe { source.pipeline()?.pin(slots, PIPELINE_BYTES) };
        }
        self.held[index] = self.pinned[index].is_some();
        self.held[index].then_some((index as u32, slots))
    }

    /// Ends the use of one.
    pub(super) fn release(&mut self, index: Option<u32>) {
        index.into_iter().for_each(|index| self.held[index as usize] = false);
    }

    /// One that is free, and its count.
    fn free(&self, segment: &Segment) -> Option<(usize, u32)> {
        let count = |index| Some((index, resting_count(segment, self.id(index))?));
        (0..OUT_BOUNCES).filter(|&index| !self.held[index]).find_map(count)
    }

    fn id(&self, index: usize) -> BounceId {
        BounceId { owner: self.own, index: index as u32 }
    }
}
