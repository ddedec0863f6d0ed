//! Memory for programs that the other ranks of the host can reach: blocks of the own heap.
//!
//! Every rank maps the heaps of all ranks when it starts, so an address inside a block needs no
//! lookup at the peers, and nobody must be told when a block is freed.
//!
//! Blocks that were freed a moment ago keep their pages ([`Warm`]): programs take blocks of the
//! same size again and again, and fresh pages cost more than copying what goes into them.
//!
//! A child process (fork) would share the blocks with its parent. [`Heap::leave_to_parent`] gives
//! it private ones with the same content, before either goes on.

use std::collections::{HashMap, VecDeque};

use towpath_base::control::PAGE;
use towpath_machine::memory::Mapping;

use super::arena::Arena;
use super::segment::Segment;

/// Smallest block: smaller ones would waste pages and are not worth a copy without a window.
const BLOCK_AT_LEAST: usize = 64 << 10;
/// Largest block whose pages are provided at once whether they will be touched or not: that takes a
/// third of the time of as many faults.
const PROVIDED_AT_MOST: usize = 16 << 20;

/// A block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// First byte.
    pub address: *mut u8,
    /// All of its bytes are 0.
    pub zeroed: bool,
}

/// Pages of the own heap: the first byte, and how many bytes.
type Range = (usize, usize);

/// The own heap.
pub struct Heap {
    segment: Segment,
    arena: Arena,
    /// By address.
    blocks: HashMap<usize, Range>,
    warm: Warm,
    /// Pages that the system did not take back are free: they may hold anything.
    stained: bool,
    /// This process is a child of the rank; its blocks are private.
    child: bool,
}

impl Heap {
    /// The heap of this rank, all of it free.
    pub fn new(segment: Segment) -> Heap {
        let bytes = segment.heaps().map_or(0, |_| segment.layout().heap_bytes());
        let (blocks, warm) = (HashMap::new(), Warm::default());
        Heap { segment, arena: Arena::new(bytes), blocks, warm, stained: false, child: false }
    }

    /// Bytes of the heap; 0 where it is not mapped.
    pub fn bytes(&self) -> usize {
        self.segment.heaps().map_or(0, |_| self.segment.layout().heap_bytes())
    }

    /// Where the heap begins, if it is mapped.
    pub fn address(&self) -> Option<*mut u8> {
        self.segment.heap_address(self.own())
    }

    /// True when there is as much room as for private memory, so that all large blocks of a program
    /// may come from here.
    pub fn is_boundless(&self) -> bool {
        self.bytes() > 0 && self.segment.is_boundless()
    }

    /// Where the own heap begins in all of them.
    fn own(&self) -> usize {
        self.segment.own_rank() * self.segment.layout().heap_bytes()
    }

    /// A block with all its pages; `None` where a block is not worth it, or there is no room for
    /// it.
    pub fn allocate(&mut self, bytes: usize, alignment: usize) -> Option<*mut u8> {
        self.take(bytes, alignment, usize::MAX).map(|block| block.address)
    }

    /// As [`Heap::allocate`], for a program that may never touch most of a very large block: its
    /// pages are provided when they are touched, if that does no more harm than with private
    /// memory.
    pub fn allocate_for_malloc(&mut self, bytes: usize, alignment: usize) -> Option<Block> {
        let limit = if self.segment.is_unlimited() { PROVIDED_AT_MOST } else { usize::MAX };
        self.take(bytes, alignment, limit)
    }

    fn take(&mut self, bytes: usize, alignment: usize, provided_at_most: usize) -> Option<Block> {
        if bytes < BLOCK_AT_LEAST || bytes > self.bytes() || alignment > self.bytes() || self.child {
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
        Some(Block { address, zeroed })
    }

    /// A range that nobody has used, or whose pages went back. Where there is no room, blocks that
    /// are kept warm make some.
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

    /// Frees a block; false when the address is that of none.
    pub fn free(&mut self, block: *mut u8) -> bool {
        let Some(range) = self.blocks.remove(&(block as usize)) else { return false };
        if self.child {
            let own = self.own();
            // SAFETY: a child's blocks are private, and this one is freed.
            self.segment.heaps().inspect(|heaps| unsafe { heaps.forget(own + range.0, range.1) });
        } else if let Some(range) = self.warm.keep(range) {
            self.cool(range);
        }
        while let Some(range) = self.warm.too_much() {
            self.cool(range);
        }
        true
    }

    /// Gives a range back with its pages.
    fn cool(&mut self, (first, length): Range) {
        let own = self.own();
        let clean = self.segment.heaps().is_none_or(|heaps| heaps.discard(own + first, length));
        self.stained |= !clean;
        self.arena.give(first, length);
    }

    /// How many bytes of a block may be used; `None` when the address is that of none.
    pub fn size(&self, block: *const u8) -> Option<usize> {
        let (first, length) = *self.blocks.get(&(block as usize))?;
        let begin = self.segment.heap_address(self.own() + first)?;
        Some(length - (block as usize - begin as usize))
    }

    /// Gives a block another size where it lies; false when it must move. A block that needs less
    /// than half of its room should.
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
        if !self.segment.is_unlimited() && !self.segment.populate_heap(self.own() + first + length, more) {
            self.cool((first + length, more));
            return false;
        }
        self.blocks.insert(block as usize, (first, length + more));
        true
    }

    /// Whether a child process has blocks to copy.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty() || self.child
    }

    /// In a child process, while its parent waits: makes all blocks private. False where memory is
    /// short; then the others are shared, and stay so.
    pub fn leave_to_parent(&mut self) -> bool {
        let own = self.own();
        // SAFETY: the parent waits, and this process has one thread. Blocks overlap no other.
        let detach = |heaps: &Mapping, range: Range| unsafe { heaps.detach(own + range.0, range.1).is_ok() };
        let was_child = std::mem::replace(&mut self.child, true);
        let Some(heaps) = self.segment.heaps().filter(|_| !was_child) else { return true };
        let before = self.blocks.len();
        let private: Vec<bool> = self.blocks.values().map(|range| detach(heaps, *range)).collect();
        let mut private = private.into_iter();
        // What is shared is the parent's to free.
        self.blocks.retain(|_, _| private.next() == Some(true));
        self.blocks.len() == before
    }
}

/// Freed ranges that keep their pages, the oldest first.
#[derive(Debug, Default)]
struct Warm {
    ranges: VecDeque<Range>,
    bytes: usize,
}

impl Warm {
    /// What is kept in all, as much as glibc's malloc keeps.
    const BYTES: usize = 64 << 20;
    /// How many ranges are looked at.
    const RANGES: usize = 64;
    /// Largest range that is kept.
    const LARGEST: usize = 32 << 20;

    /// Keeps a range, or gives back one that is too large.
    fn keep(&mut self, range: Range) -> Option<Range> {
        if range.1 > Warm::LARGEST {
            return Some(range);
        }
        self.bytes += range.1;
        self.ranges.push_back(range);
        None
    }

    /// The oldest range, when there are too many.
    fn too_much(&mut self) -> Option<Range> {
        if self.bytes > Warm::BYTES || self.ranges.len() > Warm::RANGES { self.oldest() } else { None }
    }

    fn oldest(&mut self) -> Option<Range> {
        let range = self.ranges.pop_front()?;
        self.bytes -= range.1;
        Some(range)
    }

    /// The youngest range that is long enough and not a quarter longer.
    fn take(&mut self, length: usize) -> Option<Range> {
        let fits = |range: &Range| range.1 >= length && range.1 <= length + length / 4;
        let index = self.ranges.iter().rposition(fits)?;
        let range = self.ranges.remove(index)?;
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
        assert_eq!(heap.allocate_for_malloc(190_000, 1), Some(Block { zeroed: false, ..first }));
        let other = heap.allocate_for_malloc(190_000, 1).unwrap();
        assert!(other.zeroed && other.address != first.address);
        // Larger than what is kept.
        let large = heap.allocate_for_malloc(40 << 20, 1).unwrap();
        // SAFETY: the block has 40 MiB.
        unsafe { large.address.add(1 << 20).write(9) };
        assert!(heap.free(large.address));
        assert_eq!(heap.allocate_for_malloc(40 << 20, 1), Some(large));
        // SAFETY: the block has 40 MiB.
        assert_eq!(unsafe { large.address.add(1 << 20).read() }, 0);
    }

    #[test]
    fn what_is_kept_has_a_limit_and_makes_room_when_there_is_none() {
        let (mut heap, _peer) = heap();
        let blocks: Vec<*mut u8> = (0..100).map(|_| heap.allocate(1 << 20, 1).unwrap()).collect();
        assert!(blocks.into_iter().all(|block| heap.free(block)));
        assert!(heap.warm.bytes <= Warm::BYTES && !heap.warm.ranges.is_empty());
        let all = heap.bytes();
        let block = heap.allocate_for_malloc(all, 1).map(|block| block.address);
        // Without a memory group's limit nothing of this block is there yet.
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
        // SAFETY: both addresses are those of the block; afterwards the one of the heap is private.
        unsafe {
            block.write(1);
            assert!(!heap.is_empty() && heap.leave_to_parent() && heap.is_empty());
            block.write(2);
            assert_eq!((block.read(), seen.read()), (2, 1));
        }
        assert!(heap.allocate(100_000, 1).is_none() && heap.free(block));
    }
}
