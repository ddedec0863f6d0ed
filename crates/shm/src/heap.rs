//! Shared heap: memory that programs allocate and that the other ranks of the host can access.
//!
//! Every rank maps the heaps of all ranks at startup, so peers need no lookup for an address inside
//! a block and need not be told when a block is freed.
//!
//! Recently freed blocks keep their pages ([`Warm`]): programs allocate blocks of the same size
//! again and again, and fresh pages cost more than copying data into them.
//!
//! A forked child would share the blocks with its parent. [`Heap::leave_to_parent`] gives it
//! private copies before either process continues.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use towpath_base::control::PAGE;
use towpath_machine::memory::Mapping;

use super::arena::Arena;
use super::segment::Segment;

/// Smallest block. Smaller ones would waste pages and are not worth a copy without a bounce buffer.
const BLOCK_AT_LEAST: usize = 64 << 10;
/// Largest block whose pages are populated at once even if they may never be touched: populating
/// takes a third of the time of the page faults.
const PROVIDED_AT_MOST: usize = 16 << 20;

/// An allocated block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapBlock {
    /// First byte.
    pub address: *mut u8,
    /// True if all of its bytes are 0.
    pub zeroed: bool,
}

/// A range of this rank's heap: offset and length, in whole pages.
type Range = (usize, usize);

/// The heap of this rank.
pub struct Heap {
    segment: Segment,
    arena: Arena,
    /// By address.
    blocks: HashMap<usize, Range>,
    warm: Warm,
    /// True if free memory may hold arbitrary data because pages could not be given back to the
    /// system.
    stained: bool,
    /// True in a forked child of the rank, whose blocks are private.
    child: bool,
}

impl Heap {
    /// The heap of this rank, with everything free.
    pub fn new(segment: Segment) -> Heap {
        let bytes = segment.heaps().map_or(0, |_| segment.layout().heap_bytes());
        let (blocks, warm) = (HashMap::new(), Warm::default());
        Heap { segment, arena: Arena::new(bytes), blocks, warm, stained: false, child: false }
    }

    /// Bytes of the heap; 0 if it is not mapped.
    pub fn bytes(&self) -> usize {
        self.segment.heaps().map_or(0, |_| self.segment.layout().heap_bytes())
    }

    /// Address of the heap, if it is mapped.
    pub fn address(&self) -> Option<*mut u8> {
        self.segment.heap_address(self.own())
    }

    /// True if there is as much room as for private memory, so that all large blocks of a program
    /// may be allocated here.
    pub fn is_boundless(&self) -> bool {
        self.bytes() > 0 && self.segment.is_boundless()
    }

    /// Offset of this rank's heap in the heaps of all ranks.
    fn own(&self) -> usize {
        self.segment.own_rank() * self.segment.layout().heap_bytes()
    }

    /// Allocates a block and populates all its pages; `None` if the block is too small to be worth
    /// it, or there is no room for it.
    pub fn allocate(&mut self, bytes: usize, alignment: usize) -> Option<*mut u8> {
        self.take(bytes, alignment, usize::MAX).map(|block| block.address)
    }

    /// Like [`Heap::allocate`], for a program that may never touch most of a very large block: the
    /// pages of such a block are allocated on first touch, if that does no more harm than with
    /// private memory.
    pub fn allocate_for_malloc(&mut self, bytes: usize, alignment: usize) -> Option<HeapBlock> {
        let limit = if self.segment.is_unlimited() { PROVIDED_AT_MOST } else { usize::MAX };
        self.take(bytes, alignment, limit)
    }

    fn take(
        &mut self,
        bytes: usize,
        alignment: usize,
        provided_at_most: usize,
    ) -> Option<HeapBlock> {
        if bytes < BLOCK_AT_LEAST || bytes > self.bytes() || alignment > self.bytes() || self.child
        {
            return None;
        }
        let slack = if alignment > PAGE { alignment } else { 0 };
        let length = (bytes + slack).next_multiple_of(PAGE);
        let (range, zeroed) = match self.warm.take(length) {
            Some(range) => (range, false),
            None => (self.take_fresh(length, length <= provided_at_most)?, !self.stained),
        };
        let address = self.segment.heap_address(self.own() + range.0)?;
        let address = address.wrapping_add(address.align_offset(alignment));
        self.blocks.insert(address as usize, range);
        Some(HeapBlock { address, zeroed })
    }

    /// Allocates a range without old data, as far as possible. If there is no room, releases warm
    /// blocks.
    fn take_fresh(&mut self, length: usize, provide: bool) -> Option<Range> {
        loop {
            if let Some(first) = self.arena.take(length) {
                if !provide || self.segment.populate_heap(self.own() + first, length) {
                    return Some((first, length));
                }
                self.cool((first, length));
            }
            let oldest = self.warm.oldest()?;
            self.cool(oldest);
        }
    }

    /// Frees a block; false if no block has this address.
    pub fn free(&mut self, block: *mut u8) -> bool {
        let Some(range) = self.blocks.remove(&(block as usize)) else { return false };
        if self.child {
            let own = self.own();
            // SAFETY: a child's blocks are private, and this one was just removed from `blocks`.
            self.segment.heaps().inspect(|heaps| unsafe { heaps.forget(own + range.0, range.1) });
        } else if let Some(range) = self.warm.keep(range) {
            self.cool(range);
        }
        while let Some(range) = self.warm.too_much() {
            self.cool(range);
        }
        true
    }

    /// Frees a range and returns its pages to the system.
    fn cool(&mut self, (first, length): Range) {
        let own = self.own();
        let clean = self.segment.heaps().is_none_or(|heaps| heaps.discard(own + first, length));
        self.stained |= !clean;
        self.arena.give(first, length);
    }

    /// Usable bytes of a block; `None` if no block has this address.
    pub fn size(&self, block: *const u8) -> Option<usize> {
        let (first, length) = *self.blocks.get(&(block as usize))?;
        let begin = self.segment.heap_address(self.own() + first)?;
        Some(length - (block as usize - begin as usize))
    }

    /// Resizes a block in place; false if it must move. A block that would use less than half of
    /// its room should move.
    pub fn resize(&mut self, block: *mut u8, bytes: usize) -> bool {
        let Some(size) = self.size(block) else { return false };
        if bytes <= size {
            return bytes >= size / 2;
        }
        if self.child || bytes > self.bytes() {
            return false;
        }
        let (first, length) = self.blocks[&(block as usize)];
        let more = (bytes - size).next_multiple_of(PAGE);
        if !self.arena.take_at(first + length, more) {
            return false;
        }
        if !self.segment.is_unlimited()
            && !self.segment.populate_heap(self.own() + first + length, more)
        {
            self.cool((first + length, more));
            return false;
        }
        self.blocks.insert(block as usize, (first, length + more));
        true
    }

    /// True if a forked child has no blocks to copy.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty() || self.child
    }

    /// In a forked child, while its parent waits: makes all blocks private. False if memory is
    /// short; the blocks that could not be copied then stay shared.
    pub fn leave_to_parent(&mut self) -> bool {
        let own = self.own();
        // SAFETY: the parent waits and this process has one thread, so neither writes to the range.
        // A peer writes to it only if a pending receive of the parent has its target there.
        let detach =
            |heaps: &Mapping, range: Range| unsafe { heaps.detach(own + range.0, range.1).is_ok() };
        let was_child = std::mem::replace(&mut self.child, true);
        let Some(heaps) = self.segment.heaps().filter(|_| !was_child) else { return true };
        let before = self.blocks.len();
        let private: Vec<bool> = self.blocks.values().map(|range| detach(heaps, *range)).collect();
        let mut private = private.into_iter();
        // Shared blocks are freed by the parent.
        self.blocks.retain(|_, _| private.next() == Some(true));
        self.blocks.len() == before
    }
}

/// Freed ranges that keep their pages. Programs free and allocate many blocks at a time, so each is
/// found without a look at the others.
#[derive(Debug, Default)]
struct Warm {
    /// By when they were freed, which is a number that grows.
    ranges: BTreeMap<u64, Range>,
    /// Length and when it was freed.
    lengths: BTreeSet<(usize, u64)>,
    bytes: usize,
    freed: u64,
}

impl Warm {
    /// Maximum total bytes, as much as glibc's malloc keeps.
    const BYTES: usize = 64 << 20;
    /// Largest range that is kept.
    const LARGEST: usize = 32 << 20;

    /// Keeps a range, or returns it if it is too large.
    fn keep(&mut self, range: Range) -> Option<Range> {
        if range.1 > Warm::LARGEST {
            return Some(range);
        }
        self.freed += 1;
        self.bytes += range.1;
        self.ranges.insert(self.freed, range);
        self.lengths.insert((range.1, self.freed));
        None
    }

    /// Removes the oldest range if there are too many bytes.
    fn too_much(&mut self) -> Option<Range> {
        if self.bytes > Warm::BYTES { self.oldest() } else { None }
    }

    fn oldest(&mut self) -> Option<Range> {
        let when = *self.ranges.first_key_value()?.0;
        self.remove(when)
    }

    /// Takes the shortest range that is long enough and at most a quarter longer than needed, of
    /// several the most recent one.
    fn take(&mut self, length: usize) -> Option<Range> {
        let longest = length + length / 4;
        let (shortest, _) = *self.lengths.range((length, 0)..=(longest, u64::MAX)).next()?;
        let (_, when) = *self.lengths.range(..=(shortest, u64::MAX)).next_back()?;
        self.remove(when)
    }

    fn remove(&mut self, when: u64) -> Option<Range> {
        let range = self.ranges.remove(&when)?;
        self.lengths.remove(&(range.1, when));
        self.bytes -= range.1;
        Some(range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use towpath_machine::memory::create_file;

    fn heap() -> (Heap, Segment) {
        let file = create_file("towpath-test").unwrap();
        let segments = [0, 1].map(|own| Segment::map(&file, 2, own).unwrap());
        (Heap::new(segments[1].clone()), segments[0].clone())
    }

    #[test]
    fn blocks_are_aligned_and_seen_by_peers() {
        let (mut heap, peer) = heap();
        for alignment in [1, 64, PAGE, 1 << 20] {
            let block = heap.allocate(100_000, alignment).unwrap();
            assert_eq!(block as usize % alignment, 0);
            assert!(heap.size(block).unwrap() >= 100_000);
            let offset = heap.segment.in_heaps(block, 100_000).unwrap();
            let seen = peer.heap_address(offset).unwrap();
            // SAFETY: both addresses are those of the block, which has 100,000 bytes.
            unsafe {
                block.add(99_999).write(7);
                assert_eq!(seen.add(99_999).read(), 7);
            }
            assert!(heap.free(block) && !heap.free(block));
        }
        assert_eq!(heap.allocate(1000, 1), None);
        assert_eq!(heap.allocate(usize::MAX - PAGE, 1), None);
        assert_eq!(peer.in_heaps(std::ptr::null(), 1), None);
    }

    #[test]
    fn a_block_is_taken_again_with_its_pages_and_says_that_it_is_not_zeroed() {
        let (mut heap, _peer) = heap();
        let first = heap.allocate_for_malloc(200_000, 1).unwrap();
        assert!(first.zeroed);
        // SAFETY: the block has 200,000 bytes.
        unsafe { first.address.write(9) };
        assert!(heap.free(first.address));
        assert_eq!(
            heap.allocate_for_malloc(190_000, 1),
            Some(HeapBlock { zeroed: false, ..first })
        );
        let other = heap.allocate_for_malloc(190_000, 1).unwrap();
        assert!(other.zeroed && other.address != first.address);
        // Larger than the ranges that are kept.
        let large = heap.allocate_for_malloc(40 << 20, 1).unwrap();
        // SAFETY: the block has 40 MiB.
        unsafe { large.address.add(1 << 20).write(9) };
        assert!(heap.free(large.address));
        assert_eq!(heap.allocate_for_malloc(40 << 20, 1), Some(large));
        // SAFETY: the block has 40 MiB.
        assert_eq!(unsafe { large.address.add(1 << 20).read() }, 0);
    }

    #[test]
    fn hundreds_of_blocks_are_taken_again_with_their_pages() {
        let (mut heap, _peer) = heap();
        let allocate = |heap: &mut Heap| -> Vec<HeapBlock> {
            (0..500).map(|_| heap.allocate_for_malloc(64 << 10, 1).unwrap()).collect()
        };
        let first = allocate(&mut heap);
        assert!(first.into_iter().all(|block| heap.free(block.address)));
        assert!(allocate(&mut heap).iter().all(|block| !block.zeroed));
        assert_eq!(heap.warm.bytes, 0);
    }

    #[test]
    fn what_is_kept_has_a_limit_and_makes_room_when_there_is_none() {
        let (mut heap, _peer) = heap();
        let blocks: Vec<*mut u8> = (0..100).map(|_| heap.allocate(1 << 20, 1).unwrap()).collect();
        assert!(blocks.into_iter().all(|block| heap.free(block)));
        assert!(heap.warm.bytes <= Warm::BYTES && !heap.warm.ranges.is_empty());
        let all = heap.bytes();
        let block = heap.allocate_for_malloc(all, 1).map(|block| block.address);
        // Without a memory cgroup limit, no page of this block is populated yet.
        assert!(block.is_some() || !heap.segment.is_unlimited());
        assert!(heap.warm.ranges.is_empty());
    }

    #[test]
    fn a_block_grows_where_it_lies_if_what_follows_is_free() {
        let (mut heap, _peer) = heap();
        let block = heap.allocate(100_000, 1).unwrap();
        assert!(heap.resize(block, 300_000) && heap.size(block).unwrap() >= 300_000);
        assert!(heap.resize(block, 200_000) && !heap.resize(block, 100_000));
        let next = heap.allocate(100_000, 1).unwrap();
        assert!(!heap.resize(block, 400_000) && heap.resize(next, 400_000));
        assert!(!heap.resize(std::ptr::null_mut(), 1) && heap.free(block) && heap.free(next));
    }

    #[test]
    fn the_blocks_of_a_child_are_private() {
        let (mut heap, peer) = heap();
        let block = heap.allocate(100_000, 1).unwrap();
        let seen = peer.heap_address(heap.segment.in_heaps(block, 1).unwrap()).unwrap();
        // SAFETY: both addresses are those of the block; afterwards the one in the heap is private.
        unsafe {
            block.write(1);
            assert!(!heap.is_empty() && heap.leave_to_parent() && heap.is_empty());
            block.write(2);
            assert_eq!((block.read(), seen.read()), (2, 1));
        }
        assert!(heap.allocate(100_000, 1).is_none() && heap.free(block));
    }
}
