//! The memory of a message: one block for the header and the payload, and the arrays beside it. A
//! message is a pointer to it, because messages are moved often. On the path of every message.

use std::cell::RefCell;
use std::rc::Rc;

use crate::arrays::MessageArray;
use crate::header::{ActorHeader, HEADER_BLOCKS, HEADER_BYTES, LONG_PRIORITY};
use crate::pool::{Block, MemoryPool, PooledMemory};
use crate::priority::front_bytes;

/// Memory of a message, aligned to 16 bytes.
#[derive(Debug)]
pub struct MessageMemory {
    blocks: Box<[Block]>,
    /// How many bytes of it are used.
    bytes: usize,
    /// Most messages have none.
    #[expect(clippy::box_collection, reason = "this is one word, and there are many messages")]
    arrays: Option<Box<Vec<MessageArray>>>,
}

impl PooledMemory for Box<MessageMemory> {
    fn fresh(bytes: usize) -> Box<MessageMemory> {
        let blocks: Vec<Block> = PooledMemory::fresh(bytes);
        Box::new(MessageMemory { blocks: blocks.into_boxed_slice(), bytes, arrays: None })
    }

    fn bytes(&self) -> usize {
        self.room()
    }
}

thread_local! {
    static POOL: RefCell<MemoryPool<Box<MessageMemory>>> = const { RefCell::new(MemoryPool::new()) };
}

impl MessageMemory {
    /// Memory for so many bytes, whose content is arbitrary, and no arrays.
    #[inline]
    pub(crate) fn take(bytes: usize) -> Box<MessageMemory> {
        let mut buffer = POOL.with_borrow_mut(|pool| pool.take(bytes));
        buffer.bytes = bytes;
        buffer
    }

    /// Keeps memory, so that `take` finds it.
    #[inline]
    pub(crate) fn give(mut buffer: Box<MessageMemory>) {
        buffer.arrays = None;
        // The pool of a thread that ends may be gone.
        let _ = POOL.try_with(|pool| pool.borrow_mut().give(buffer));
    }

    /// How many bytes the header and the payload may have.
    #[must_use]
    pub fn room(&self) -> usize {
        size_of_val(&self.blocks[..])
    }

    /// Changes how many bytes are used.
    ///
    /// # Panics
    /// If that is less than a header, or more than the memory.
    pub fn resize(&mut self, bytes: usize) {
        assert!((HEADER_BYTES..=self.room()).contains(&bytes), "a message of {bytes} bytes");
        self.bytes = bytes;
    }

    /// The header and the payload.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.blocks)[..self.bytes]
    }

    /// The header and the payload, to be written.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.blocks)[..self.bytes]
    }

    /// The header; arbitrary before it is written.
    #[inline]
    #[must_use]
    pub fn header(&self) -> &ActorHeader {
        &bytemuck::cast_slice(&self.blocks[..HEADER_BLOCKS])[0]
    }

    /// Where the payload begins: behind the header, and a priority that is no integer.
    #[inline]
    #[must_use]
    pub fn payload_begin(&self) -> usize {
        if self.header().flags & LONG_PRIORITY == 0 {
            return HEADER_BYTES;
        }
        let bits = self.front().first().copied().unwrap_or(0);
        self.bytes.min(HEADER_BYTES + front_bytes(bits))
    }

    /// What is in front of the payload or begins it.
    pub(crate) fn front(&self) -> &[u32] {
        bytemuck::cast_slice(&self.blocks[HEADER_BLOCKS..])
    }

    #[inline]
    pub(crate) fn blocks_mut(&mut self) -> &mut [Block] {
        &mut self.blocks
    }

    /// The arrays beside it.
    #[inline]
    #[must_use]
    pub fn arrays(&self) -> &[MessageArray] {
        self.arrays.as_ref().map_or(&[], |arrays| arrays)
    }

    /// Adds an array.
    pub fn add_array(&mut self, array: MessageArray) {
        self.arrays.get_or_insert_default().push(array);
    }

    /// The bytes of an array, to be written; `None` if there is none, or others have it too.
    pub fn own_array(&mut self, number: usize) -> Option<&mut [u8]> {
        Rc::get_mut(self.arrays.as_mut()?.get_mut(number)?)?.owned_bytes()
    }

    /// Replaces all arrays, and returns those before.
    pub(crate) fn set_arrays(&mut self, arrays: Vec<MessageArray>) -> Vec<MessageArray> {
        let arrays = (!arrays.is_empty()).then(|| Box::new(arrays));
        std::mem::replace(&mut self.arrays, arrays).map_or_else(Vec::new, |all| *all)
    }
}
