//! A slab allocator: slots of one size in page-backed blocks, which hold the unexpected messages.
//!
//! A slot number has the block in its high bits and the index within the block in its low bits.
//! Freed slots are reused. The pages of an empty block are returned to the system, except for one
//! spare block, so that a steady flow of messages does not cause a system call each. Slots that
//! were never used cost no memory, since their pages are not touched. That is why this is not
//! `base::slab`, whose `Vec` never shrinks and moves its values when it grows.

use towpath_machine::pages::Pages;

use crate::matching::NONE;

/// Bits of a slot number that hold the index within the block.
const INDEX_BITS: u32 = 12;
/// Maximum number of slots in a block.
const MOST_SLOTS: usize = 1 << INDEX_BITS;
/// Approximate size of a block of small slots; a larger slot has a block to itself.
const BLOCK_BYTES: usize = 256 << 10;
/// Minimum slot size: a free slot stores the index of the next free one.
const LEAST_BYTES: usize = 8;

#[derive(Debug)]
struct SlabBlock {
    pages: Pages,
    /// Head of the free list of used indices.
    free: u32,
    /// Indices from here on were never used.
    fresh: u32,
    /// Indices in use.
    live: u32,
}

/// Slots of one size.
#[derive(Debug)]
pub(crate) struct PageSlab {
    slot_bytes: usize,
    per_block: u32,
    blocks: Vec<Option<SlabBlock>>,
    /// Blocks with free slots.
    open: Vec<u32>,
    /// Indices of blocks that were freed.
    vacant: Vec<u32>,
}

impl PageSlab {
    /// Creates a slab with slots of `slot_bytes` bytes, a multiple of 8.
    pub(crate) fn new(slot_bytes: usize) -> PageSlab {
        debug_assert!(slot_bytes >= LEAST_BYTES && slot_bytes.is_multiple_of(LEAST_BYTES));
        let per_block = (BLOCK_BYTES / slot_bytes).clamp(1, MOST_SLOTS) as u32;
        PageSlab { slot_bytes, per_block, blocks: Vec::new(), open: Vec::new(), vacant: Vec::new() }
    }

    /// Allocates a slot. Its content is unspecified.
    pub(crate) fn add(&mut self) -> u32 {
        let number = self.open.last().copied().unwrap_or_else(|| self.grow());
        let (per_block, slot_bytes) = (self.per_block, self.slot_bytes);
        let block = self.block(number);
        let index = block.free;
        let index = if index == NONE {
            block.fresh += 1;
            block.fresh - 1
        } else {
            // SAFETY: an index on the free list is inside the pages, and its first bytes hold the
            // next free index.
            block.free = unsafe {
                block.pages.pointer().add(index as usize * slot_bytes).cast::<u32>().read()
            };
            index
        };
        block.live += 1;
        if block.live == per_block {
            self.open.pop();
        }
        number << INDEX_BITS | index
    }

    /// Frees a slot. Its bytes must not be accessed afterwards.
    pub(crate) fn remove(&mut self, slot: u32) {
        let (number, index) = (slot >> INDEX_BITS, slot % MOST_SLOTS as u32);
        let (per_block, slot_bytes) = (self.per_block, self.slot_bytes);
        let block = self.block(number);
        // SAFETY: the slot is inside the pages, aligned to 8 bytes and no longer in use.
        unsafe {
            block.pages.pointer().add(index as usize * slot_bytes).cast::<u32>().write(block.free)
        };
        block.free = index;
        block.live -= 1;
        let (was_full, empty) = (block.live + 1 == per_block, block.live == 0);
        if was_full {
            self.open.push(number);
        }
        if empty && self.open.len() > 1 {
            self.open.retain(|other| *other != number);
            self.blocks[number as usize] = None;
            self.vacant.push(number);
        }
    }

    /// First byte of a slot in use, aligned to 8 bytes.
    #[inline]
    pub(crate) fn pointer(&self, slot: u32) -> *mut u8 {
        let block = self.blocks[(slot >> INDEX_BITS) as usize]
            .as_ref()
            .expect("the block of a slot in use");
        let index = slot as usize % MOST_SLOTS;
        // SAFETY: `add` returned the slot, so it is inside the pages of its block.
        unsafe { block.pages.pointer().add(index * self.slot_bytes) }
    }

    /// True if the slot has been allocated at least once and its block still exists.
    pub(crate) fn was_given_out(&self, slot: u32) -> bool {
        let block = self.blocks.get((slot >> INDEX_BITS) as usize).and_then(Option::as_ref);
        block.is_some_and(|block| slot % (MOST_SLOTS as u32) < block.fresh)
    }

    /// Bytes of memory that the blocks occupy when all their pages have been written.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.blocks.iter().flatten().map(|block| block.pages.length()).sum()
    }

    fn block(&mut self, number: u32) -> &mut SlabBlock {
        self.blocks[number as usize].as_mut().expect("the block of a slot in use")
    }

    #[cold]
    fn grow(&mut self) -> u32 {
        let length = self.per_block as usize * self.slot_bytes;
        let Some(pages) = Pages::new(length) else {
            let layout = std::alloc::Layout::from_size_align(length, LEAST_BYTES);
            std::alloc::handle_alloc_error(
                layout.expect("a block is smaller than the address space"),
            );
        };
        let block = Some(SlabBlock { pages, free: NONE, fresh: 0, live: 0 });
        let number = match self.vacant.pop() {
            Some(number) => {
                self.blocks[number as usize] = block;
                number
            }
            None => {
                self.blocks.push(block);
                self.blocks.len() as u32 - 1
            }
        };
        self.open.push(number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_do_not_overlap_and_are_used_again() {
        for slot_bytes in [8, 56, 80, 1024, 300_000] {
            let mut slab = PageSlab::new(slot_bytes);
            let count = 3 * slab.per_block + 1;
            let slots: Vec<u32> = (0..count).map(|_| slab.add()).collect();
            for slot in &slots {
                // SAFETY: the slot is in use and has `slot_bytes` bytes, a multiple of 8; this
                // writes the last eight.
                unsafe {
                    slab.pointer(*slot).add(slot_bytes - 8).cast::<u64>().write(u64::from(*slot))
                };
            }
            // SAFETY: `slot` is in use, and its last eight bytes have been written.
            let read = |slab: &PageSlab, slot| unsafe {
                slab.pointer(slot).add(slot_bytes - 8).cast::<u64>().read()
            };
            assert!(slots.iter().all(|slot| read(&slab, *slot) == u64::from(*slot)));
            let bytes = slab.bytes();
            slab.remove(slots[1]);
            slab.remove(slots[0]);
            let again = [slab.add(), slab.add()];
            assert!(
                slab.bytes() == bytes && again.contains(&slots[0]) && again.contains(&slots[1])
            );
        }
    }

    #[test]
    fn blocks_go_back_in_any_order() {
        for reverse in [false, true] {
            let mut slab = PageSlab::new(64);
            let mut slots: Vec<u32> = (0..100_000).map(|_| slab.add()).collect();
            assert!(slab.bytes() < 100_000 * 64 + 2 * BLOCK_BYTES);
            if reverse {
                slots.reverse();
            }
            slots.drain(..).for_each(|slot| slab.remove(slot));
            assert!(slab.bytes() <= BLOCK_BYTES, "{} bytes stay", slab.bytes());
            let more: Vec<u32> = (0..10_000).map(|_| slab.add()).collect();
            more.into_iter().for_each(|slot| slab.remove(slot));
        }
    }
}
