//! Gathers whose members write into the root's buffer.
//!
//! If the buffer is in a heap that all ranks have mapped, the root posts its place, and members
//! that find this write their block there and post an empty message. Members that are earlier than
//! the root post their block as usual, so nobody waits for the root.

use towpath_base::transfer::Source;
use towpath_engine::board::Posted;
use towpath_schedule::Blocks;

use super::call::BoardCall;

/// Smallest block that is written into the root's buffer.
const LONG: usize = 16 << 10;

/// Where the root wants the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RootBuffer {
    /// Offset of the first block in the heaps.
    offset: usize,
    /// Bytes of a block.
    bytes: usize,
}

impl RootBuffer {
    /// Bytes of the message that says it.
    const MESSAGE: usize = 16;

    fn to_message(self) -> [u64; 2] {
        [self.offset as u64, self.bytes as u64]
    }

    /// What the root has posted; `None` if its message is something else.
    fn of(posted: Posted) -> Option<RootBuffer> {
        // SAFETY: a posted message stays readable during its round, and has two words.
        let words = (posted.length == Self::MESSAGE)
            .then(|| unsafe { posted.pointer.cast::<[u64; 2]>().read_unaligned() });
        words.map(|[offset, bytes]| RootBuffer { offset: offset as usize, bytes: bytes as usize })
    }
}

impl BoardCall<'_> {
    /// Root: tells the others where to write blocks of `bytes` bytes, if they can and it is worth
    /// it; else returns false.
    pub(super) fn announce(&mut self, receive: &Blocks, bytes: i64) -> bool {
        if bytes < LONG as i64 {
            return false;
        }
        let Some((pointer, length)) = receive.pieces(0, self.board.size()).contiguous() else {
            return false;
        };
        let Some(offset) = self.board.offset_in_heaps(pointer, length) else { return false };
        let message = RootBuffer { offset, bytes: bytes as usize }.to_message();
        self.try_post(RootBuffer::MESSAGE, |mut room| {
            // SAFETY: the words are readable, and not on the board.
            unsafe { room.copy(message.as_ptr().cast(), 0, RootBuffer::MESSAGE) };
        })
    }

    /// Writes this member's block into the root's buffer; false if the root has not announced a
    /// place for it.
    ///
    /// # Safety
    /// The memory behind the source must be valid.
    pub(super) unsafe fn write_to(&mut self, root: usize, source: &mut Source) -> bool {
        let length = source.length();
        if length < LONG {
            return false;
        }
        let posted = self.board.look(root).filter(|posted| self.is_of_this_call(*posted));
        let place = posted.and_then(RootBuffer::of).filter(|place| place.bytes == length);
        let own = self.board.own();
        let Some(mut room) = place
            .and_then(|place| place.offset.checked_add(own * length))
            .and_then(|offset| self.board.room_in_heaps(offset, length))
        else {
            return false;
        };
        // SAFETY: the memory behind the source is valid (this function's contract). The room is the
        // block of this member in the root's buffer, which the root does not access before this
        // member has posted.
        unsafe { room.fill(source, 0, length, &mut || self.waiter.progress()) };
        true
    }
}
