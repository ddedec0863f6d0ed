//! The shared segment of one job on one host, as mapped by one rank.

use std::os::fd::AsFd;
use std::sync::Arc;

use towpath_base::control::{ControlPage, PAGE, SegmentHead, control_page_offset};
use towpath_base::sync::{AtomicU64, MappedLongWords, MappedWords, Ordering};
use towpath_machine::memory::{Mapping, check_headroom, has_no_limit};
use towpath_machine::wait;

use super::bounce::{BounceId, BounceShape};
use super::layout::{CELL_BYTES, OUT_BOUNCES, RANK_LIMIT, RingPlace, SegmentLayout};
use super::ring::LINE_WORDS;
use super::walk::{self, Walk};
use towpath_transport::error::Error;

/// A mapped segment. Cheap to clone; unmapped with the last clone.
#[derive(Clone, Debug)]
pub struct Segment {
    mapping: Arc<Mapping>,
    /// The heaps of all ranks; `None` if address space or file sizes are limited.
    heaps: Option<Arc<Mapping>>,
    /// True if the segment's file system has no size limit of its own.
    boundless: bool,
    layout: SegmentLayout,
    ranks: usize,
    own: usize,
    /// Bytes that this rank may allocate before it checks the limit of its memory cgroup again;
    /// `None` without a limit.
    allowance: Option<Arc<AtomicU64>>,
    bounce_buffers: bool,
    walk: Walk,
}

impl Segment {
    /// Maps the memory file of the job's segment as rank `own` of the host's `ranks` ranks.
    ///
    /// Grows the (sparse) file to the length for this number of ranks; any rank may be the first.
    /// Populates the pages that this rank needs to be reachable and to receive messages of any
    /// length, if slowly. A memory shortage is therefore an error here, and later only costs speed.
    pub fn map(file: impl AsFd, ranks: usize, own: usize) -> Result<Segment, Error> {
        if ranks > RANK_LIMIT {
            return Err(Error::TooManyRanks { ranks, limit: RANK_LIMIT });
        }
        if own >= ranks {
            return Err(Error::NoSuchRank { rank: own, ranks });
        }
        let (file, layout) = (file.as_fd(), SegmentLayout::new(ranks));
        let needed = [
            (0, PAGE),
            (control_page_offset(own), PAGE),
            (layout.slot(own, 0), SegmentLayout::slots_bytes(ranks)),
            (layout.cell(own, 0), CELL_BYTES),
            (layout.bounce_lines(own, 0), PAGE),
        ];
        let left = check_headroom(needed.iter().map(|(_, length)| *length as u64).sum())?;
        let mapping = Mapping::new(file, layout.length())?;
        for (offset, length) in needed {
            mapping.populate(offset, length)?;
        }
        let allowance = left.map(|_| Arc::new(AtomicU64::new(0)));
        let heaps =
            Mapping::part(file, layout.heaps_at(), ranks * layout.heap_bytes()).ok().map(Arc::new);
        let boundless = has_no_limit(file);
        let mapping = Arc::new(mapping);
        let walk = if boundless { Walk::of_host(ranks, left) } else { Walk::SHORTEST };
        Ok(Segment {
            mapping,
            heaps,
            boundless,
            layout,
            ranks,
            own,
            allowance,
            bounce_buffers: true,
            walk,
        })
    }

    /// Sets whether the wire may use bounce buffers, or only the reserve of the first one.
    pub(crate) fn with_bounce_buffers(self, bounce_buffers: bool) -> Segment {
        Segment { bounce_buffers, ..self }
    }

    /// Sets whether this rank uses the heaps.
    pub fn with_heaps(self, heaps: bool) -> Segment {
        Segment { heaps: self.heaps.filter(|_| heaps), ..self }
    }

    /// Number of ranks on the host.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// This process's local rank.
    pub fn own_rank(&self) -> usize {
        self.own
    }

    /// The head of the segment.
    #[inline]
    pub fn head(&self) -> &SegmentHead {
        // SAFETY: the first page of the mapping is a `SegmentHead`, which consists of atomics; the
        // mapping lives as long as `self`.
        unsafe { &*self.mapping.pointer().cast::<SegmentHead>() }
    }

    /// The control page of a local rank.
    #[inline]
    pub fn control(&self, local_rank: usize) -> &ControlPage {
        assert!(local_rank < self.ranks, "local rank {local_rank} of {}", self.ranks);
        // SAFETY: `local_rank < ranks`, so the page is inside the mapping. It consists of atomics;
        // the mapping lives as long as `self`.
        unsafe {
            &*self.mapping.pointer().add(control_page_offset(local_rank)).cast::<ControlPage>()
        }
    }

    /// This rank's own control page.
    pub fn own_control(&self) -> &ControlPage {
        self.control(self.own)
    }

    /// The wake-up sources of a wait on this segment (see [`wait::Waiter::idle`]).
    pub fn sources(&self) -> wait::Sources<'_> {
        wait::Sources::SharedMemory { own: self.own_control(), head: self.head() }
    }

    /// True once a process has aborted the job.
    #[inline]
    pub fn aborting(&self) -> bool {
        self.head().aborting.load(Ordering::Acquire) != 0
    }

    /// Ends every wait on this host: sets the abort word and wakes all sleepers.
    pub fn abort(&self) {
        wait::abort(self.head(), (0..self.ranks).map(|rank| self.control(rank)));
    }

    /// The layout of the segment.
    pub fn layout(&self) -> &SegmentLayout {
        &self.layout
    }

    /// Address of an offset.
    #[inline]
    pub fn at(&self, offset: usize) -> *mut u8 {
        debug_assert!(offset < self.mapping.length());
        // SAFETY: `offset` is inside the mapping: it comes from the layout, or from an entry that
        // names bytes of the segment. Debug builds check this.
        unsafe { self.mapping.pointer().add(offset) }
    }

    /// Populates the pages of a range that improve speed but are not required; false if memory is
    /// short.
    pub fn populate(&self, offset: usize, length: usize) -> bool {
        self.allows(length as u64) && self.mapping.populate(offset, length).is_ok()
    }

    /// The heaps, if they are mapped.
    pub(crate) fn heaps(&self) -> Option<&Mapping> {
        self.heaps.as_deref()
    }

    /// True if shared pages are as plentiful as private ones. In a small /dev/shm they are not: a
    /// rank may need at startup what another one has taken.
    pub(crate) fn is_boundless(&self) -> bool {
        self.boundless
    }

    /// True if heap pages that are allocated on first touch do not make a memory shortage worse
    /// than private memory would.
    pub(crate) fn is_unlimited(&self) -> bool {
        self.boundless && self.allowance.is_none()
    }

    /// Populates pages of the heaps; false if memory is short.
    pub(crate) fn populate_heap(&self, offset: usize, length: usize) -> bool {
        self.allows(length as u64)
            && self.heaps().is_some_and(|heaps| heaps.populate(offset, length).is_ok())
    }

    /// Offset in the heaps of `length` contiguous bytes; `None` unless all of them are there.
    #[inline]
    pub(crate) fn in_heaps(&self, pointer: *const u8, length: usize) -> Option<usize> {
        let heaps = self.heaps.as_deref()?;
        let offset = (pointer as usize).checked_sub(heaps.pointer() as usize)?;
        (offset < heaps.length() && length <= heaps.length() - offset).then_some(offset)
    }

    /// Address of an offset in the heaps; `None` if they are not mapped.
    pub(crate) fn heap_address(&self, offset: usize) -> Option<*mut u8> {
        self.heaps()
            .filter(|heaps| offset < heaps.length())
            .map(|heaps| heaps.pointer().wrapping_add(offset))
    }

    /// 64-bit words from `offset` on, `stride` words apart.
    ///
    /// # Safety
    /// `offset` must be a multiple of 8. The result must not outlive the segment, and may only be
    /// used for words inside it.
    pub(crate) unsafe fn long_words(&self, offset: usize, stride: usize) -> MappedLongWords {
        // SAFETY: the words used are inside the segment, which outlives the result, and `offset` is
        // 8-aligned (this function's contract). All processes access these words with atomics only.
        unsafe { MappedLongWords::new(self.at(offset), stride) }
    }

    /// Maps pages that another rank has populated, so that the first access does not fault. Errors
    /// are ignored: they only cost speed.
    pub(crate) fn map_in(&self, offset: usize, length: usize) {
        let _ = self.mapping.populate(offset, length);
    }

    /// True if the memory cgroup has room for `bytes` more. The kernel would not refuse the
    /// allocation but kill a rank. All ranks of the host may allocate at once, and programs need
    /// memory too, so each rank uses its share of half of what is left.
    fn allows(&self, bytes: u64) -> bool {
        let Some(allowance) = &self.allowance else { return true };
        // The load and the store need not be one atomic step: if two threads of this rank race, the
        // error is one range at most.
        let mut left = allowance.load(Ordering::Relaxed);
        if left < bytes {
            let room = check_headroom(0).ok().flatten();
            left = room.map_or(u64::MAX, |room| room / (2 * self.ranks as u64));
        }
        let enough = left >= bytes;
        allowance.store(if enough { left - bytes } else { 0 }, Ordering::Relaxed);
        enough
    }

    /// Populates as much of a bounce buffer as a message of `length` bytes touches if it starts at
    /// count `start`. `provided` is the number of bytes populated so far. Returns the shape for the
    /// message, or `None` if memory is short.
    pub(crate) fn provide_bounce(
        &self,
        id: BounceId,
        provided: &mut usize,
        start: u32,
        length: usize,
    ) -> Option<BounceShape> {
        // Messages in flight at the same time use one long walk and several short ones, unless they
        // are that long themselves: together they must stay in the shared cache.
        let first = matches!(id.index as usize, 0 | OUT_BOUNCES);
        let walk = if first || length >= walk::LONGEST / 2 { self.walk } else { Walk::SHORTEST };
        [BounceShape::of(length, walk), BounceShape::of(length, Walk::SHORTEST), BounceShape::SMALL]
            .into_iter()
            .find(|shape| self.provide_bounce_bytes(id, provided, shape.reach(start, length)))
    }

    /// Populates the first `bytes` bytes of a bounce buffer, of which `provided` are populated;
    /// false if memory is short.
    pub(crate) fn provide_bounce_bytes(
        &self,
        id: BounceId,
        provided: &mut usize,
        bytes: usize,
    ) -> bool {
        if bytes > *provided {
            let first = self.layout.bounce_bytes(id.owner as usize, id.index as usize) + *provided;
            if !self.bounce_buffers || !self.populate(first, bytes - *provided) {
                return false;
            }
            *provided = bytes;
        }
        true
    }

    /// How much memory this rank cycles through.
    pub(crate) fn walk(&self) -> Walk {
        self.walk
    }

    /// Populates this rank's staging area and returns its length: `bytes`, or the length of the
    /// walk if staging is worthwhile; 0 if memory is short.
    pub(crate) fn provide_staging(&self, bytes: Option<usize>) -> usize {
        self.provided(self.layout.staging(self.own), bytes.unwrap_or(self.early_bytes()))
    }

    /// Populates this rank's first bounce buffer if its walk is long, and returns how many bytes of
    /// it are populated.
    pub(crate) fn provide_first_bounce(&self) -> usize {
        self.provided(self.layout.bounce_bytes(self.own, 0), self.early_bytes())
    }

    /// Bytes to populate at start-up in each area that a sender cycles through. Otherwise each of
    /// the first thousand messages of a program would pay for fresh pages, at 2.6 us a page in a
    /// virtual machine.
    fn early_bytes(&self) -> usize {
        if self.bounce_buffers && self.ranks > 1 && self.walk.is_long() {
            self.walk.bytes()
        } else {
            0
        }
    }

    /// Populates `bytes` bytes at `offset`. Returns `bytes`, or 0 if memory is short.
    fn provided(&self, offset: usize, bytes: usize) -> usize {
        if bytes > 0 && self.populate(offset, bytes) { bytes } else { 0 }
    }

    /// `count` 32-bit words from `offset` on.
    ///
    /// # Safety
    /// The words must be inside the segment, and `offset` must be a multiple of 4. The result must
    /// not outlive the segment.
    pub unsafe fn words(&self, offset: usize, count: usize) -> MappedWords {
        debug_assert!(offset + 4 * count <= self.mapping.length());
        // SAFETY: the words are inside the mapping, which outlives the result, and 4-aligned (this
        // function's contract). All processes access these words with atomics only.
        unsafe { MappedWords::new(self.at(offset), count) }
    }

    /// The words of a ring's header lines, and the word of its receiver's progress.
    ///
    /// # Safety
    /// The ring must be inside the segment, with line-aligned parts. The result must not outlive
    /// the segment.
    pub(crate) unsafe fn ring_words(&self, place: &RingPlace) -> (MappedWords, MappedWords) {
        // SAFETY: both are parts of the ring, which is inside the segment, and line-aligned; the
        // result does not outlive the segment (this function's contract).
        unsafe {
            let lines = self.words(place.lines_at(), place.lines as usize * LINE_WORDS);
            (lines, self.words(place.offset as usize, 1))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::walk::MOST_DOUBLINGS;
    use super::*;
    use towpath_machine::memory::create_file;

    fn segment(ranks: usize, walk: Walk) -> Segment {
        let file = create_file("towpath-segment").unwrap();
        Segment { walk, ..Segment::map(&file, ranks, 0).unwrap() }
    }

    #[test]
    fn a_rank_with_a_long_walk_populates_what_it_cycles_through() {
        let long = Walk::from_number(MOST_DOUBLINGS);
        let populated =
            |segment: &Segment| [segment.provide_staging(None), segment.provide_first_bounce()];
        assert_eq!(populated(&segment(2, long)), [walk::LONGEST; 2]);
        assert_eq!(populated(&segment(2, Walk::SHORTEST)), [0; 2]);
        assert_eq!(populated(&segment(1, long)), [0; 2], "nobody is sent anything");
        assert_eq!(populated(&segment(2, long).with_bounce_buffers(false)), [0; 2]);
    }

    #[test]
    fn messages_find_the_first_bounce_buffer_populated() {
        let segment = segment(2, Walk::from_number(MOST_DOUBLINGS));
        let mut provided = segment.provide_first_bounce();
        let id = BounceId { owner: 0, index: 0 };
        assert!(segment.provide_bounce(id, &mut provided, 0, walk::LONGEST / 4).is_some());
        assert_eq!(provided, walk::LONGEST, "no page was added");
    }
}
