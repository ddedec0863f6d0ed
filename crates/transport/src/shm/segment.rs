//! The shared segment of one job on one host, as one rank has mapped it.

use std::os::fd::AsFd;
use std::sync::Arc;

use towpath_base::control::{ControlPage, PAGE, SegmentHead, control_page_offset};
use towpath_base::sync::{MappedWords, Ordering};
use towpath_machine::memory::{Mapping, check_headroom};
use towpath_machine::wait;

use super::layout::{Layout, RANK_LIMIT};
use super::window::{Shape, WindowId};
use crate::error::Error;

/// A mapped segment. Cheap to clone; unmapped with the last clone.
#[derive(Clone, Debug)]
pub struct Segment {
    mapping: Arc<Mapping>,
    layout: Layout,
    ranks: usize,
    own: usize,
}

impl Segment {
    /// Maps the memory file of the job's segment for the rank `own` of the host's `ranks` ranks.
    ///
    /// The file is grown (sparse) to the length that the number of ranks asks for; every rank may be the first. The
    /// pages that this rank needs to be reached are provided here: a shortage is an error, not a signal.
    pub fn map(file: impl AsFd, ranks: usize, own: usize) -> Result<Segment, Error> {
        if ranks > RANK_LIMIT {
            return Err(Error::TooManyRanks { ranks, limit: RANK_LIMIT });
        }
        if own >= ranks {
            return Err(Error::NoSuchRank { rank: own, ranks });
        }
        let layout = Layout::new(ranks);
        check_headroom((2 * PAGE + Layout::row_bytes(ranks)) as u64)?;
        let mapping = Mapping::new(file, layout.length())?;
        mapping.populate(0, PAGE)?;
        mapping.populate(control_page_offset(own), PAGE)?;
        mapping.populate(layout.slot(own, 0), Layout::row_bytes(ranks))?;
        Ok(Segment { mapping: Arc::new(mapping), layout, ranks, own })
    }

    /// How many ranks the host has.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// My number among them.
    pub fn own_rank(&self) -> usize {
        self.own
    }

    /// The head of the segment.
    #[inline]
    pub fn head(&self) -> &SegmentHead {
        // SAFETY: the first page is a SegmentHead of atomics; the mapping lives as long as self.
        unsafe { &*self.mapping.pointer().cast::<SegmentHead>() }
    }

    /// The control page of a local rank.
    #[inline]
    pub fn control(&self, local_rank: usize) -> &ControlPage {
        assert!(local_rank < self.ranks, "local rank {local_rank} of {}", self.ranks);
        // SAFETY: the page lies inside the mapping and consists of atomics; the mapping lives as long as self.
        unsafe { &*self.mapping.pointer().add(control_page_offset(local_rank)).cast::<ControlPage>() }
    }

    /// My own control page.
    pub fn own_control(&self) -> &ControlPage {
        self.control(self.own)
    }

    /// What a wait on this segment listens to (see [`wait::Waiter::idle`]).
    pub fn sources(&self) -> wait::Sources<'_> {
        wait::Sources::SharedMemory { own: self.own_control(), head: self.head() }
    }

    /// True once somebody has ended the job early.
    #[inline]
    pub fn aborting(&self) -> bool {
        self.head().aborting.load(Ordering::Acquire) != 0
    }

    /// Ends every wait on this host: sets the abort word and wakes all sleepers.
    pub fn abort(&self) {
        wait::abort(self.head(), (0..self.ranks).map(|rank| self.control(rank)));
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Address of an offset.
    #[inline]
    pub(crate) fn at(&self, offset: usize) -> *mut u8 {
        debug_assert!(offset < self.mapping.length());
        // SAFETY: the offset is inside the mapping.
        unsafe { self.mapping.pointer().add(offset) }
    }

    /// Provides the pages of a range.
    pub(crate) fn populate(&self, offset: usize, length: usize) -> Result<(), Error> {
        Ok(self.mapping.populate(offset, length)?)
    }

    /// Provides as much of a window as a message of `length` bytes touches; `provided` says how much already is. False
    /// where there is no page left.
    pub(crate) fn provide_window(&self, id: WindowId, provided: &mut usize, shape: Shape, length: usize) -> bool {
        let needed = shape.touched(length);
        if needed > *provided {
            let first = self.layout.window_bytes(id.owner as usize, id.index as usize) + *provided;
            if self.populate(first, needed - *provided).is_err() {
                return false;
            }
            *provided = needed;
        }
        true
    }

    /// `count` words from `offset` on, as shared words.
    ///
    /// # Safety
    /// The result must not outlive the segment.
    pub(crate) unsafe fn words(&self, offset: usize, count: usize) -> MappedWords {
        debug_assert!(offset + 4 * count <= self.mapping.length());
        // SAFETY: inside the mapping, 4-aligned by layout; only atomics are used on these words.
        unsafe { MappedWords::new(self.at(offset), count) }
    }
}
