//! Bringing postponed messages here before they are matched: the queue's part of it.

use towpath_base::copy;
use towpath_base::ids::PeerIndex;
use towpath_transport::RegionKey;

use super::Unexpected;
use super::node::{ANNOUNCED_WORDS, Content, INLINE_BYTES, Place};
use crate::buffers::Buffer;

impl Unexpected {
    /// Region and length of the message with this number of its pair, if it waits in `at` and its
    /// sender waits for room.
    pub(crate) fn postponed(&self, at: u32, from: PeerIndex, sequence: u32) -> Option<(RegionKey, usize)> {
        if !self.nodes.0.was_given_out(at) || !self.is_message(at, from, sequence) {
            return None;
        }
        let node = self.nodes.get(at);
        if node.content != Content::Postponed || node.place == Place::Free {
            return None;
        }
        let [first, second, length] = self.announced(node);
        Some((RegionKey([first, second]), length as usize))
    }

    /// A buffer for a postponed message, which `request` fills. A message without bytes is here at
    /// once.
    pub(crate) fn begin_fetch(&mut self, at: u32, request: u32, length: usize) -> Buffer {
        let node = self.nodes.get(at);
        let announcement = self.buffers.at(node.number(0), node.length as usize);
        self.buffers.remove(announcement);
        let buffer = self.buffers.add(length.max(1));
        let node = self.nodes.get_mut(at);
        node.content = Content::Fetching;
        node.length = length as u32;
        node.set_numbers(buffer.slot(), request);
        buffer
    }

    /// The bytes of a fetched message are in its buffer.
    pub(crate) fn end_fetch(&mut self, at: u32, buffer: Buffer) {
        let node = self.nodes.get_mut(at);
        node.content = Content::Fetched;
        if node.length as usize <= INLINE_BYTES {
            // SAFETY: node and buffer hold that many bytes.
            unsafe { copy::row(buffer.pointer, node.payload.as_mut_ptr(), node.length as usize) };
            self.buffers.remove(buffer);
        }
    }

    /// The bytes of a message that was being fetched never come. A matched probe may have named it:
    /// then it stays announced.
    pub(crate) fn lose_fetch(&mut self, at: u32, buffer: Buffer) {
        self.buffers.remove(buffer);
        if self.nodes.get(at).place != Place::Extracted {
            self.take(at);
            return;
        }
        let words = [0, 0, u64::from(self.nodes.get(at).length)];
        let announcement = self.buffers.add(size_of_val(&words));
        // SAFETY: the buffer holds three words and is aligned to 8 bytes.
        unsafe { announcement.pointer.cast::<[u64; ANNOUNCED_WORDS]>().write(words) };
        let node = self.nodes.get_mut(at);
        node.content = Content::Announced;
        node.length = size_of_val(&words) as u32;
        node.set_numbers(announcement.slot(), 0);
    }
}
