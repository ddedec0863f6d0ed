//! The nodes in which messages wait: 56 bytes each, with up to eight bytes of payload.

use crate::bins::{Links, Neighbors};
use crate::matching::Pattern;
use crate::slab::Slab;

/// Payload bytes that a node holds.
pub(crate) const INLINE_BYTES: usize = 8;
/// What is kept of an announcement: the region's key and the length of the message.
pub(super) const ANNOUNCED_WORDS: usize = 3;

/// What a node holds of its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Content {
    /// The message.
    Eager,
    /// The sender's request, then the message.
    Synchronous,
    /// [`ANNOUNCED_WORDS`].
    Announced,
    /// As `Announced`; the sender had no credit and waits for room rather than for a receive.
    Postponed,
    /// Number of a buffer and of the request that fills it.
    Fetching,
    /// As `Eager`; it was fetched, so its sender cannot take it back.
    Fetched,
}

/// Where a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Place {
    /// Nowhere.
    Free,
    /// In the front.
    Front,
    /// In arrival order behind the front.
    Binned,
    /// Taken by a matched probe, waits for its receive.
    Extracted,
}

/// A waiting message.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Node {
    pub(super) context: u64,
    /// Source and tag, as in [`Pattern`].
    pub(super) key: u64,
    pub(super) rank: u32,
    /// Low half of the number of the message in its pair.
    pub(super) sequence: u32,
    /// Bytes that are kept.
    pub(super) length: u32,
    /// Tells matched probes apart.
    pub(super) generation: u16,
    pub(super) content: Content,
    pub(super) place: Place,
    /// The bytes that are kept, or the number of their buffer.
    pub(super) payload: [u8; INLINE_BYTES],
    /// In order of arrival.
    pub(super) arrival: Neighbors,
    /// In the bins of exact patterns.
    pub(super) exact: Neighbors,
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

/// The nodes.
#[derive(Debug)]
pub(super) struct Nodes(pub(super) Slab);

impl Nodes {
    pub(super) fn get(&self, at: u32) -> &Node {
        // SAFETY: the slots of this slab are as large as a node and aligned to 8 bytes; `add` has
        // written a node there.
        unsafe { &*self.0.pointer(at).cast() }
    }

    pub(super) fn get_mut(&mut self, at: u32) -> &mut Node {
        // SAFETY: as above, and the slab is borrowed alone.
        unsafe { &mut *self.0.pointer(at).cast() }
    }

    pub(super) fn add(&mut self, node: Node) -> u32 {
        let at = self.0.add();
        // SAFETY: the slot is in use, as large as a node and aligned to 8 bytes.
        unsafe { self.0.pointer(at).cast::<Node>().write(node) };
        at
    }
}

/// The links of one kind of bins: of exact patterns in the nodes, of wildcards in a column beside
/// them.
pub(super) struct Column<'a> {
    pub(super) nodes: &'a mut Nodes,
    pub(super) wild: Option<&'a mut Vec<Neighbors>>,
}

impl Links for Column<'_> {
    fn of(&mut self, entry: u32) -> &mut Neighbors {
        let Some(wild) = &mut self.wild else { return &mut self.nodes.get_mut(entry).exact };
        if wild.len() <= entry as usize {
            wild.resize(entry as usize + 1, Neighbors::NONE);
        }
        &mut wild[entry as usize]
    }
}
