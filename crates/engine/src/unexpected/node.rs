//! The nodes of unexpected messages: 56 bytes each, with up to eight bytes of payload.

use crate::bins::{BinLinks, Links};
use crate::matching::Pattern;
use crate::slab::PageSlab;

/// Payload bytes that fit a node.
pub(crate) const INLINE_BYTES: usize = 8;
/// The words kept of an announcement: the region key and the length of the message.
pub(super) const ANNOUNCED_WORDS: usize = 3;

/// What a node holds of its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum NodeContent {
    /// The message.
    Eager,
    /// The sender's request, then the message.
    Synchronous,
    /// [`ANNOUNCED_WORDS`].
    Announced,
    /// Like `Announced`; may be fetched before a receive matches it.
    Fetchable,
    /// Slot number of a buffer, and the request that fills it.
    Fetching,
    /// Like `Eager`; the message was fetched, so its sender cannot cancel it.
    Fetched,
}

/// Where a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum NodePlace {
    /// Not in use.
    Free,
    /// In the front array.
    Front,
    /// In arrival order after the front.
    Binned,
    /// Taken by a matched probe, waiting for its receive.
    Extracted,
}

/// An unexpected message.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Node {
    pub(super) context: u64,
    /// Source and tag, as in [`Pattern`].
    pub(super) key: u64,
    pub(super) rank: u32,
    /// Low half of the message's sequence number in its pair.
    pub(super) sequence: u32,
    /// Stored bytes.
    pub(super) length: u32,
    /// Distinguishes matched probes.
    pub(super) generation: u16,
    pub(super) content: NodeContent,
    pub(super) place: NodePlace,
    /// The stored bytes, or the slot number of their buffer.
    pub(super) payload: [u8; INLINE_BYTES],
    /// Neighbours in order of arrival.
    pub(super) arrival: BinLinks,
    /// Neighbours in the bin of the exact pattern.
    pub(super) exact: BinLinks,
}

impl Node {
    pub(super) fn pattern(&self) -> Pattern {
        Pattern::of(self.context, self.key)
    }

    pub(super) fn number(&self, at: usize) -> u32 {
        let bytes: [u8; 4] = self.payload[4 * at..4 * at + 4].try_into().expect("four bytes");
        u32::from_ne_bytes(bytes)
    }

    pub(super) fn set_numbers(&mut self, first: u32, second: u32) {
        self.payload[..4].copy_from_slice(&first.to_ne_bytes());
        self.payload[4..].copy_from_slice(&second.to_ne_bytes());
    }
}

/// The slab of nodes.
#[derive(Debug)]
pub(super) struct Nodes(pub(super) PageSlab);

impl Nodes {
    pub(super) fn get(&self, at: u32) -> &Node {
        // SAFETY: slots are node-sized and aligned to 8 bytes, and `add` wrote a node into slot
        // `at`. A freed slot still holds a valid node: the slab overwrites only part of `context`.
        unsafe { &*self.0.pointer(at).cast() }
    }

    pub(super) fn get_mut(&mut self, at: u32) -> &mut Node {
        // SAFETY: slots are node-sized and aligned to 8 bytes, slot `at` holds a valid node, which
        // `add` wrote, and `self` is borrowed exclusively.
        unsafe { &mut *self.0.pointer(at).cast() }
    }

    pub(super) fn add(&mut self, node: Node) -> u32 {
        let at = self.0.add();
        // SAFETY: the slot was just allocated, is node-sized and aligned to 8 bytes.
        unsafe { self.0.pointer(at).cast::<Node>().write(node) };
        at
    }
}

/// The links of the bins of one kind: for exact patterns in the nodes, for wildcards in a separate
/// column.
pub(super) struct Column<'a> {
    pub(super) nodes: &'a mut Nodes,
    pub(super) wild: Option<&'a mut Vec<BinLinks>>,
}

impl Links for Column<'_> {
    fn of(&mut self, entry: u32) -> &mut BinLinks {
        let Some(wild) = &mut self.wild else { return &mut self.nodes.get_mut(entry).exact };
        if wild.len() <= entry as usize {
            wild.resize(entry as usize + 1, BinLinks::NONE);
        }
        &mut wild[entry as usize]
    }
}
