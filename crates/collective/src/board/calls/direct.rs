//! Gathers whose members write into the root's buffer.
//!
//! If the buffer is in a heap that all ranks have mapped, the root posts its place. A member that
//! finds this, and has a block of the length that the root expects, writes it there and posts the
//! same place. Members that are earlier than the root, or cannot write there, post their block as
//! usual, so nobody waits for the root.

use towpath_base::transfer::Source;
use towpath_engine::board::Posted;
use towpath_schedule::Blocks;

use super::call::BoardCall;

/// Smallest block that is written into the root's buffer: shorter ones are written to the board at
/// the same rate.
pub(super) const LONG: i64 = 16 << 10;

/// The buffer that a root exposes, a row of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RootBuffer {
    /// Offset of the first block in the heaps.
    offset: usize,
    /// Bytes of a block.
    bytes: usize,
}

impl RootBuffer {
    /// Bytes of the message that says it.
    const MESSAGE_BYTES: usize = 16;

    fn to_message(self) -> [u64; 2] {
        [self.offset as u64, self.bytes as u64]
    }

    /// What a member has posted; `None` if its message is something else.
    fn said_in(posted: Posted) -> Option<RootBuffer> {
        // SAFETY: a posted message stays readable during its round, and has two words.
        let words = (posted.length == Self::MESSAGE_BYTES)
            .then(|| unsafe { posted.pointer.cast::<[u64; 2]>().read_unaligned() });
        words.map(|[offset, bytes]| RootBuffer { offset: offset as usize, bytes: bytes as usize })
    }

    /// True if a member has posted this message, so it has written its block.
    pub(super) fn is_said_in(self, posted: Posted) -> bool {
        RootBuffer::said_in(posted) == Some(self)
    }
}

impl BoardCall<'_> {
    /// Root: tells the others where to write their blocks, each as long as its own of `bytes`
    /// bytes, if they can. Out of the way of short calls.
    #[inline(never)]
    pub(super) fn expose(&mut self, receive: &Blocks, bytes: i64) -> Option<RootBuffer> {
        if receive.bytes(0) != bytes {
            return None;
        }
        let (pointer, length) = receive.pieces(0, self.board.size()).contiguous()?;
        let bytes = bytes as usize;
        if length != bytes * self.board.size() {
            return None;
        }
        let buffer = RootBuffer { offset: self.board.offset_in_heaps(pointer, length)?, bytes };
        self.try_post_place(buffer).then_some(buffer)
    }

    /// Posts the place of the root's buffer; false if there is no room for a message now.
    fn try_post_place(&mut self, buffer: RootBuffer) -> bool {
        let message = buffer.to_message();
        self.try_post(RootBuffer::MESSAGE_BYTES, |mut room| {
            // SAFETY: the words are readable, and not on the board.
            unsafe { room.copy(message.as_ptr().cast(), 0, RootBuffer::MESSAGE_BYTES) };
        })
    }

    /// Writes this member's block into the buffer that the root exposes, and says so. False if the
    /// root exposes none where the block fits. Out of the way of short calls.
    ///
    /// # Safety
    /// The memory behind the source must be valid.
    #[inline(never)]
    pub(super) unsafe fn write_to(&mut self, root: usize, source: &mut Source) -> bool {
        let length = source.length();
        if self.board.has_room(RootBuffer::MESSAGE_BYTES).is_err() {
            return false;
        }
        let posted = self.board.look(root).filter(|posted| self.is_of_this_call(*posted));
        let Some(buffer) = posted.and_then(RootBuffer::said_in).filter(|it| it.bytes == length)
        else {
            return false;
        };
        let offset = buffer.offset.saturating_add(self.board.own().saturating_mul(length));
        let (board, waiter) = (&mut *self.board, &mut *self.waiter);
        // SAFETY: the memory behind the source is valid (this function's contract). The root has
        // posted in this round of this call that each member may write to its block of the row,
        // which is as long as the source, and reads it when the member has posted.
        let is_written = unsafe {
            board.write_to_exposed(offset, length, |mut room| {
                room.fill(source, 0, length, &mut || waiter.progress());
            })
        };
        if is_written {
            let is_posted = self.try_post_place(buffer);
            debug_assert!(is_posted, "there was room for a message before");
        }
        is_written
    }

    /// Root: after this nobody writes to the buffer that it exposes in this round. Waits for
    /// members that do, no longer than it takes to copy a block, without being suspended: they
    /// would not wake it.
    #[cold]
    pub(super) fn withdraw(&mut self) {
        while !self.board.withdraw() {
            self.waiter.progress();
            std::thread::yield_now();
        }
    }
}
