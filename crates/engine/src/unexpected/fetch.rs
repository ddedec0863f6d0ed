//! Fetching postponed messages before they are matched: the operations on the unexpected queue.

use towpath_base::copy;
use towpath_base::ids::PeerIndex;
use towpath_transport::RegionKey;

use super::Unexpected;
use super::node::{ANNOUNCED_WORDS, INLINE_BYTES, NodeContent, NodePlace};
use crate::buffers::MessageBuffer;

impl Unexpected {
    /// Region key and length of the message with this sequence number of its pair, if it is in node
    /// `at` and may be fetched.
    pub(crate) fn fetchable(
        &self,
        at: u32,
        from: PeerIndex,
        sequence: u32,
    ) -> Option<(RegionKey, usize)> {
        if !self.nodes.0.was_given_out(at) || !self.is_message(at, from, sequence) {
            return None;
        }
        let node = self.nodes.get(at);
        if node.content != NodeContent::Fetchable || node.place == NodePlace::Free {
            return None;
        }
        let [first, second, length] = self.announced(node);
        Some((RegionKey([first, second]), length as usize))
    }

    /// Allocates the buffer for a postponed message, which `request` fills. A message of length 0
    /// can be completed immediately.
    pub(crate) fn begin_fetch(&mut self, at: u32, request: u32, length: usize) -> MessageBuffer {
        let node = self.nodes.get(at);
        let announcement = self.buffers.at(node.number(0), node.length as usize);
        self.buffers.remove(announcement);
        let buffer = self.buffers.add(length.max(1));
        let node = self.nodes.get_mut(at);
        node.content = NodeContent::Fetching;
        node.length = length as u32;
        node.set_numbers(buffer.slot(), request);
        buffer
    }

    /// Marks a fetched message as complete in its buffer.
    pub(crate) fn end_fetch(&mut self, at: u32, buffer: MessageBuffer) {
        let node = self.nodes.get_mut(at);
        node.content = NodeContent::Fetched;
        if node.length as usize <= INLINE_BYTES {
            // SAFETY: node and buffer hold at least `node.length` bytes.
            unsafe {
                copy::contiguous(buffer.pointer, node.payload.as_mut_ptr(), node.length as usize)
            };
            self.buffers.remove(buffer);
        }
    }

    /// Handles the loss of a message that was being fetched. If a matched probe has extracted it,
    /// it stays as an announced message.
    pub(crate) fn lose_fetch(&mut self, at: u32, buffer: MessageBuffer) {
        self.buffers.remove(buffer);
        if self.nodes.get(at).place != NodePlace::Extracted {
            self.take(at);
            return;
        }
        let words = [0, 0, u64::from(self.nodes.get(at).length)];
        let announcement = self.buffers.add(size_of_val(&words));
        // SAFETY: the buffer has room for three words and is aligned to 8 bytes.
        unsafe { announcement.pointer.cast::<[u64; ANNOUNCED_WORDS]>().write(words) };
        let node = self.nodes.get_mut(at);
        node.content = NodeContent::Announced;
        node.length = size_of_val(&words) as u32;
        node.set_numbers(announcement.slot(), 0);
    }
}
