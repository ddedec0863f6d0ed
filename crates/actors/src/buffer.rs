//! The memory of a message: one block for the header and the payload, and the arrays beside it. A
//! message is a pointer to it, because messages are moved often. On the path of every message.

use std::cell::RefCell;

use crate::arrays::MessageArray;
use crate::message::HEADER_BYTES;
use crate::pool::{Block, Memory, Pool};

/// Memory of a message, aligned to 16 bytes.
#[derive(Debug)]
pub struct MessageBuffer {
    blocks: Vec<Block>,
    /// How many bytes of it are used.
    bytes: usize,
    arrays: Vec<MessageArray>,
}

impl Memory for Box<MessageBuffer> {
    fn fresh(bytes: usize) -> Box<MessageBuffer> {
        let blocks = Memory::fresh(bytes);
        Box::new(MessageBuffer { blocks, bytes, arrays: Vec::new() })
    }

    fn bytes(&self) -> usize {
        self.blocks.bytes()
    }
}

thread_local! {
    static POOL: RefCell<Pool<Box<MessageBuffer>>> = const { RefCell::new(Pool::new()) };
}

impl MessageBuffer {
    /// Memory for so many bytes, whose content is arbitrary, and no arrays.
    #[inline]
    pub(crate) fn take(bytes: usize) -> Box<MessageBuffer> {
        let mut buffer = POOL.with_borrow_mut(|pool| pool.take(bytes));
        buffer.bytes = bytes;
        buffer
    }

    /// Keeps memory, so that `take` finds it.
    #[inline]
    pub(crate) fn give(mut buffer: Box<MessageBuffer>) {
        buffer.arrays.clear();
        // The pool of a thread that ends may be gone.
        let _ = POOL.try_with(|pool| pool.borrow_mut().give(buffer));
    }

    /// How many bytes the header and the payload may have.
    #[must_use]
    pub fn room(&self) -> usize {
        self.blocks.bytes()
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

    #[inline]
    pub(crate) fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    #[inline]
    pub(crate) fn blocks_mut(&mut self) -> &mut [Block] {
        &mut self.blocks
    }

    /// The arrays beside it.
    #[inline]
    #[must_use]
    pub fn arrays(&self) -> &[MessageArray] {
        &self.arrays
    }

    /// The arrays, to be changed.
    pub fn arrays_mut(&mut self) -> &mut Vec<MessageArray> {
        &mut self.arrays
    }
}
