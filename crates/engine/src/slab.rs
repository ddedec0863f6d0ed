//! Slots of one size in blocks of pages: what the unexpected queue keeps its messages in.
//!
//! A slot is named by a number: its block in the high bits, its place in the block in the low ones.
//! Slots are used again, and the pages of a block that has run empty go back to the system, but for
//! one block, so that a program whose messages come and go does not ask the system for each of
//! them. Pages of slots that were never used take no memory.

use towpath_machine::pages::Pages;

use crate::matching::NONE;

/// Bits of a slot's number that say its place in the block.
const PLACE_BITS: u32 = 12;
/// The most slots of a block.
const MOST_SLOTS: usize = 1 << PLACE_BITS;
/// Bytes of a block of small slots, about; a larger slot has a block of its own.
const BLOCK_BYTES: usize = 256 << 10;
/// Smallest slot: a free one holds the number of the next free place.
const LEAST_BYTES: usize = 8;

#[derive(Debug)]
struct Block {
    pages: Pages,
    /// First of the free places that were used before.
    free: u32,
    /// Places from here on were never used.
    fresh: u32,
    /// Places in use.
    live: u32,
}

/// Slots of one size.
#[derive(Debug)]
pub(crate) struct Slab {
    slot_bytes: usize,
    per_block: u32,
    blocks: Vec<Option<Block>>,
    /// Blocks with free slots.
    open: Vec<u32>,
    /// Numbers of blocks that were given back.
    vacant: Vec<u32>,
}

impl Slab {
    /// Slots of `slot_bytes` bytes, which is a multiple of 8.
    pub(crate) fn new(slot_bytes: usize) -> Slab {
        debug_assert!(slot_bytes >= LEAST_BYTES && slot_bytes.is_multiple_of(LEAST_BYTES));
        let per_block = (BLOCK_BYTES / slot_bytes).clamp(1, MOST_SLOTS) as u32;
        Slab { slot_bytes, per_block, blocks: Vec::new(), open: Vec::new(), vacant: Vec::new() }
    }

    /// Takes a slot, whose content is anything.
    pub(crate) fn add(&mut self) -> u32 {
        let number = self.open.last().copied().unwrap_or_else(|| self.grow());
        let (per_block, slot_bytes) = (self.per_block, self.slot_bytes);
        let block = self.block(number);
        let place = block.free;
        let place = if place == NONE {
            block.fresh += 1;
            block.fresh - 1
        } else {
            // SAFETY: a free place lies in the pages and holds the number of the next one.
            block.free = unsafe { block.pages.pointer().add(place as usize * slot_bytes).cast::<u32>().read() };
            place
        };
        block.live += 1;
        if block.live == per_block {
            self.open.pop();
        }
        number << PLACE_BITS | place
    }

    /// Gives a slot back. Its bytes must not be used any more.
    pub(crate) fn remove(&mut self, slot: u32) {
        let (number, place) = (slot >> PLACE_BITS, slot % MOST_SLOTS as u32);
        let (per_block, slot_bytes) = (self.per_block, self.slot_bytes);
        let block = self.block(number);
        // SAFETY: the slot lies in the pages, is aligned to 8 bytes and no longer in use.
        unsafe { block.pages.pointer().add(place as usize * slot_bytes).cast::<u32>().write(block.free) };
        block.free = place;
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
        let block = self.blocks[(slot >> PLACE_BITS) as usize].as_ref().expect("the block of a slot in use");
        let place = slot as usize % MOST_SLOTS;
        // SAFETY: the slot was given out by `add`, so it lies in the pages of its block.
        unsafe { block.pages.pointer().add(place * self.slot_bytes) }
    }

    /// Whether the slot was given out once and its block is still here.
    pub(crate) fn was_given_out(&self, slot: u32) -> bool {
        let block = self.blocks.get((slot >> PLACE_BITS) as usize).and_then(Option::as_ref);
        block.is_some_and(|block| slot % (MOST_SLOTS as u32) < block.fresh)
    }

    /// Bytes of memory that the blocks take when all their pages are written.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.blocks.iter().flatten().map(|block| block.pages.length()).sum()
    }

    fn block(&mut self, number: u32) -> &mut Block {
        self.blocks[number as usize].as_mut().expect("the block of a slot in use")
    }

    #[cold]
    fn grow(&mut self) -> u32 {
        let length = self.per_block as usize * self.slot_bytes;
        let Some(pages) = Pages::new(length) else {
            let layout = std::alloc::Layout::from_size_align(length, LEAST_BYTES);
            std::alloc::handle_alloc_error(layout.expect("a block is smaller than the address space"));
        };
        let block = Some(Block { pages, free: NONE, fresh: 0, live: 0 });
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
            let mut slab = Slab::new(slot_bytes);
            let count = 3 * slab.per_block + 1;
            let slots: Vec<u32> = (0..count).map(|_| slab.add()).collect();
            for slot in &slots {
                // SAFETY: the slot is in use and has at least eight bytes, the last of them at its
                // end.
                unsafe { slab.pointer(*slot).add(slot_bytes - 8).cast::<u64>().write(u64::from(*slot)) };
            }
            // SAFETY: as above.
            let read = |slab: &Slab, slot| unsafe { slab.pointer(slot).add(slot_bytes - 8).cast::<u64>().read() };
            assert!(slots.iter().all(|slot| read(&slab, *slot) == u64::from(*slot)));
            let bytes = slab.bytes();
            slab.remove(slots[1]);
            slab.remove(slots[0]);
            let again = [slab.add(), slab.add()];
            assert!(slab.bytes() == bytes && again.contains(&slots[0]) && again.contains(&slots[1]));
        }
    }

    #[test]
    fn blocks_go_back_in_any_order() {
        for reverse in [false, true] {
            let mut slab = Slab::new(64);
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
