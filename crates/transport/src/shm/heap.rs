//! Memory for programs that the other ranks of the host can reach: blocks of the own heap.
//!
//! Every rank maps the heaps of all ranks when it starts, so an address inside a block needs no lookup at the peers, and
//! nobody must be told when a block is freed. The memory is shared with child processes too (fork): what they write there,
//! their parent sees.

use std::collections::HashMap;

use towpath_base::control::PAGE;

use super::arena::Arena;
use super::segment::Segment;

/// Smallest block: smaller ones would waste pages and are not worth a copy without a window.
const BLOCK_AT_LEAST: usize = 64 << 10;

/// The own heap.
pub struct Heap {
    segment: Segment,
    arena: Arena,
    /// By address: where a block begins in the own heap, and how long it is.
    blocks: HashMap<usize, (usize, usize)>,
}

impl Heap {
    /// The heap of this rank, all of it free.
    pub fn new(segment: Segment) -> Heap {
        let bytes = segment.heaps().map_or(0, |_| segment.layout().heap_bytes());
        Heap { segment, arena: Arena::new(bytes), blocks: HashMap::new() }
    }

    /// Bytes of the heap; 0 where it is not mapped.
    pub fn bytes(&self) -> usize {
        self.segment.heaps().map_or(0, |_| self.segment.layout().heap_bytes())
    }

    /// A block with all its pages, zeroed; `None` where a block is not worth it, or there is no room for it.
    pub fn allocate(&mut self, bytes: usize, alignment: usize) -> Option<*mut u8> {
        if bytes < BLOCK_AT_LEAST || bytes > self.bytes() || alignment > self.bytes() {
            return None;
        }
        let slack = if alignment > PAGE { alignment } else { 0 };
        let length = (bytes + slack).next_multiple_of(PAGE);
        let first = self.arena.take(length)?;
        let own = self.segment.own_rank() * self.segment.layout().heap_bytes();
        let provided = self.segment.populate_heap(own + first, length);
        let address = self.segment.heap_address(own + first);
        let Some(address) = address.filter(|_| provided) else {
            self.give(first, length);
            return None;
        };
        let begin = address.wrapping_add(address.align_offset(alignment));
        self.blocks.insert(begin as usize, (first, length));
        Some(begin)
    }

    /// Frees a block; false when the address is that of none.
    pub fn free(&mut self, block: *mut u8) -> bool {
        let Some((first, length)) = self.blocks.remove(&(block as usize)) else { return false };
        self.give(first, length);
        true
    }

    fn give(&mut self, first: usize, length: usize) {
        let own = self.segment.own_rank() * self.segment.layout().heap_bytes();
        if let Some(heaps) = self.segment.heaps() {
            heaps.discard(own + first, length);
        }
        self.arena.give(first, length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use towpath_machine::memory::create_file;

    #[test]
    fn blocks_are_aligned_zeroed_and_seen_by_peers() {
        let file = create_file("towpath-test").unwrap();
        let segments = [0, 1].map(|own| Segment::map(&file, 2, own).unwrap());
        let mut heap = Heap::new(segments[1].clone());
        for alignment in [1, 64, PAGE, 1 << 20] {
            let block = heap.allocate(100_000, alignment).unwrap();
            assert_eq!(block as usize % alignment, 0);
            let offset = segments[1].in_heaps(block, 100_000).unwrap();
            let seen = segments[0].heap_address(offset).unwrap();
            // SAFETY: both addresses are those of the block, which has 100,000 bytes.
            unsafe {
                assert_eq!(block.add(99_999).read(), 0);
                block.add(99_999).write(7);
                assert_eq!(seen.add(99_999).read(), 7);
            }
            assert!(heap.free(block) && !heap.free(block));
        }
        assert_eq!(heap.allocate(1000, 1), None);
        assert_eq!(heap.allocate(usize::MAX - PAGE, 1), None);
        assert_eq!(segments[0].in_heaps(std::ptr::null(), 1), None);
    }
}
