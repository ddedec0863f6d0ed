//! The shared segment of one job on one host, as one rank has mapped it.

use std::os::fd::AsFd;
use std::sync::Arc;

use towpath_base::control::{ControlPage, PAGE, SegmentHead, control_page_offset};
use towpath_base::sync::{AtomicU64, MappedLongWords, MappedWords, Ordering};
use towpath_machine::memory::{Mapping, check_headroom, has_no_limit};
use towpath_machine::wait;

use super::layout::{CELL_BYTES, Layout, OUT_WINDOWS, RANK_LIMIT};
use super::walk::{self, Walk};
use super::window::{Shape, WindowId};
use towpath_transport::error::Error;

/// A mapped segment. Cheap to clone; unmapped with the last clone.
#[derive(Clone, Debug)]
pub struct Segment {
    mapping: Arc<Mapping>,
    /// The heaps of all ranks; `None` where address space or file sizes are limited.
    heaps: Option<Arc<Mapping>>,
    /// The file system of the segment has no limit of its own.
    boundless: bool,
    layout: Layout,
    ranks: usize,
    own: usize,
    /// Bytes that this rank takes before it looks at the limit of its memory group again; `None`
    /// without a limit.
    allowance: Option<Arc<AtomicU64>>,
    windows: bool,
    walk: Walk,
}

impl Segment {
    /// Maps the memory file of the job's segment for the rank `own` of the host's `ranks` ranks.
    ///
    /// The file is grown (sparse) to the length that the number of ranks asks for; every rank may
    /// be the first. The pages that this rank needs to be reached and to receive messages of any
    /// length, if slowly, are provided here: a shortage is an error now, and later only costs
    /// speed.
    pub fn map(file: impl AsFd, ranks: usize, own: usize) -> Result<Segment, Error> {
        if ranks > RANK_LIMIT {
            return Err(Error::TooManyRanks { ranks, limit: RANK_LIMIT });
        }
        if own >= ranks {
            return Err(Error::NoSuchRank { rank: own, ranks });
        }
        let (file, layout) = (file.as_fd(), Layout::new(ranks));
        let needed = [
            (0, PAGE),
            (control_page_offset(own), PAGE),
            (layout.slot(own, 0), Layout::row_bytes(ranks)),
            (layout.cell(own, 0), CELL_BYTES),
            (layout.window_lines(own, 0), PAGE),
        ];
        let left = check_headroom(needed.iter().map(|(_, length)| *length as u64).sum())?;
        let mapping = Mapping::new(file, layout.length())?;
        for (offset, length) in needed {
            mapping.populate(offset, length)?;
        }
        let allowance = left.map(|_| Arc::new(AtomicU64::new(0)));
        let heaps = Mapping::part(file, layout.heaps_at(), ranks * layout.heap_bytes()).ok().map(Arc::new);
        let boundless = has_no_limit(file);
        let mapping = Arc::new(mapping);
        let walk = if boundless { Walk::of_host(ranks, left) } else { Walk::SHORTEST };
        Ok(Segment { mapping, heaps, boundless, layout, ranks, own, allowance, windows: true, walk })
    }

    /// The segment for a wire that may use windows, or must do with the reserve of the first one.
    pub(crate) fn with_windows(self, windows: bool) -> Segment {
        Segment { windows, ..self }
    }

    /// The segment for a rank that uses the heaps, or leaves them to others.
    pub fn with_heaps(self, heaps: bool) -> Segment {
        Segment { heaps: self.heaps.filter(|_| heaps), ..self }
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
        // SAFETY: the page lies inside the mapping and consists of atomics; the mapping lives as
        // long as self.
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

    /// Where everything lies.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Address of an offset.
    #[inline]
    pub fn at(&self, offset: usize) -> *mut u8 {
        debug_assert!(offset < self.mapping.length());
        // SAFETY: the offset is inside the mapping.
        unsafe { self.mapping.pointer().add(offset) }
    }

    /// Provides the pages of a range that speeds things up but can be done without; false where
    /// memory is short.
    pub fn populate(&self, offset: usize, length: usize) -> bool {
        self.allows(length as u64) && self.mapping.populate(offset, length).is_ok()
    }

    /// The heaps, where they are mapped.
    pub(crate) fn heaps(&self) -> Option<&Mapping> {
        self.heaps.as_deref()
    }

    /// True when shared pages are as plentiful as private ones. In a small /dev/shm they are not:
    /// what one rank takes, another may need to start.
    pub(crate) fn is_boundless(&self) -> bool {
        self.boundless
    }

    /// True when pages of the heaps that are provided only when they are touched do not make a
    /// shortage worse than it is with private memory.
    pub(crate) fn is_unlimited(&self) -> bool {
        self.boundless && self.allowance.is_none()
    }

    /// Provides pages of the heaps; false where memory is short.
    pub(crate) fn populate_heap(&self, offset: usize, length: usize) -> bool {
        self.allows(length as u64) && self.heaps().is_some_and(|heaps| heaps.populate(offset, length).is_ok())
    }

    /// Where in the heaps a row of bytes lies; `None` when it does not lie there entirely.
    #[inline]
    pub(crate) fn in_heaps(&self, pointer: *const u8, length: usize) -> Option<usize> {
        let heaps = self.heaps.as_deref()?;
        let offset = (pointer as usize).checked_sub(heaps.pointer() as usize)?;
        (offset < heaps.length() && length <= heaps.length() - offset).then_some(offset)
    }

    /// Address of an offset in the heaps; `None` where they are not mapped.
    pub(crate) fn heap_address(&self, offset: usize) -> Option<*mut u8> {
        self.heaps().filter(|heaps| offset < heaps.length()).map(|heaps| heaps.pointer().wrapping_add(offset))
    }

    /// Long words from `offset` on, `stride` words apart.
    ///
    /// # Safety
    /// The result must not outlive the segment, and be used for words inside it only.
    pub(crate) unsafe fn long_words(&self, offset: usize, stride: usize) -> MappedLongWords {
        // SAFETY: promised by the caller; layouts align to lines, and only atomics are used on
        // these words.
        unsafe { MappedLongWords::new(self.at(offset), stride) }
    }

    /// Maps pages in that another rank has provided, so that the first look at them is not a fault.
    /// Nothing is lost where that fails.
    pub(crate) fn map_in(&self, offset: usize, length: usize) {
        let _ = self.mapping.populate(offset, length);
    }

    /// True when the memory group has room for so many bytes more. The kernel would not refuse
    /// them, but kill a rank. All ranks of the host may ask at once, and programs need memory too:
    /// each rank takes its share of half of what is left.
    fn allows(&self, bytes: u64) -> bool {
        let Some(allowance) = &self.allowance else { return true };
        // Two threads of this rank that take at once err by one range at most: reading and writing
        // need not be one step.
        let mut left = allowance.load(Ordering::Relaxed);
        if left < bytes {
            let room = check_headroom(0).ok().flatten();
            left = room.map_or(u64::MAX, |room| room / (2 * self.ranks as u64));
        }
        let enough = left >= bytes;
        allowance.store(if enough { left - bytes } else { 0 }, Ordering::Relaxed);
        enough
    }

    /// Provides as much of a window as a message of `length` bytes touches that begins at count
    /// `start`, and says how it goes through the window; `provided` says how much already is.
    /// `None` where there is no page left.
    pub(crate) fn provide_window(
        &self,
        id: WindowId,
        provided: &mut usize,
        start: u32,
        length: usize,
    ) -> Option<Shape> {
        let mut provide = |shape: &Shape| {
            let reach = shape.reach(start, length);
            if reach > *provided {
                let first = self.layout.window_bytes(id.owner as usize, id.index as usize) + *provided;
                if !self.windows || !self.populate(first, reach - *provided) {
                    return false;
                }
                *provided = reach;
            }
            true
        };
        // Messages under way at the same time walk round one long window and some short ones,
        // unless they are as long themselves: all together shall stay in the shared cache.
        let first = matches!(id.index as usize, 0 | OUT_WINDOWS);
        let walk = if first || length >= walk::LONGEST / 2 { self.walk } else { Walk::SHORTEST };
        [Shape::of(length, walk), Shape::of(length, Walk::SHORTEST), Shape::SMALL]
            .into_iter()
            .find(|shape| provide(shape))
    }

    /// How far this rank walks.
    pub(crate) fn walk(&self) -> Walk {
        self.walk
    }

    /// How many bytes this rank may stage: as many as it walks round, where that is worth it.
    pub(crate) fn staging_bytes(&self) -> usize {
        if self.windows && self.walk.is_long() { self.walk.bytes() } else { 0 }
    }

    /// `count` words from `offset` on, as shared words.
    ///
    /// # Safety
    /// The result must not outlive the segment.
    pub unsafe fn words(&self, offset: usize, count: usize) -> MappedWords {
        debug_assert!(offset + 4 * count <= self.mapping.length());
        // SAFETY: inside the mapping, 4-aligned by layout; only atomics are used on these words.
        unsafe { MappedWords::new(self.at(offset), count) }
    }
}
