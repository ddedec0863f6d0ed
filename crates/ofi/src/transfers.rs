//! Large messages: regions that peers read, and pulls that fetch regions of peers.

use std::collections::VecDeque;

use towpath_base::slab::Slab;
use towpath_base::transfer::{Source, Target};

use super::endpoint::MemoryRegion;

/// A region that a peer has requested.
pub(super) struct OfiPush {
    /// The peer, and its number for the pull.
    pub(super) to: u32,
    pub(super) number: u32,
    /// The publisher's token.
    pub(super) token: u64,
    pub(super) source: Source,
    /// Bytes that have not been granted yet.
    pub(super) left: usize,
    /// The source cannot be registered as a whole.
    pub(super) in_pieces: bool,
    /// The registration of the whole source, once it is granted.
    pub(super) region: Option<MemoryRegion>,
    /// Grants that the peer has not read, in order: the bounce buffer of each, if it is one.
    pub(super) granted: VecDeque<Option<u32>>,
    /// The last grant has been sent.
    pub(super) over: bool,
}

/// Memory of a peer that may be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadGrant {
    pub(super) address: u64,
    pub(super) key: u64,
    pub(super) length: u64,
    /// Bytes for which reads have started.
    pub(super) asked: u64,
    /// Bytes that are in the target.
    pub(super) finished: u64,
}

/// A region that is being fetched.
pub(super) struct OfiPull {
    pub(super) from: u32,
    /// The publisher's name for it.
    pub(super) name: u64,
    pub(super) token: u64,
    pub(super) target: Target,
    /// Bytes of the target that no grant covers yet.
    pub(super) room: u64,
    /// Bytes for which reads have started.
    pub(super) asked: usize,
    /// The registration of the whole target, if its memory must be registered.
    pub(super) region: Option<MemoryRegion>,
    /// The target is not contiguous, or cannot be registered.
    pub(super) bounces: bool,
    pub(super) grants: VecDeque<ReadGrant>,
    /// Reads that are not processed yet, in order.
    pub(super) reads: VecDeque<u32>,
    /// No more grants come.
    pub(super) last: bool,
    /// It is in `Ofi::working`.
    pub(super) listed: bool,
}

impl OfiPull {
    pub(super) fn new(from: u32, name: u64, token: u64, target: Target) -> OfiPull {
        let bounces = !matches!(target, Target::Bytes { .. });
        let room = target.length() as u64;
        OfiPull {
            from,
            name,
            token,
            target,
            room,
            asked: 0,
            region: None,
            bounces,
            grants: VecDeque::new(),
            reads: VecDeque::new(),
            last: false,
            listed: false,
        }
    }

    /// Adds a grant; false if the peer grants more than was requested.
    pub(super) fn grant(&mut self, address: u64, key: u64, length: u64, last: bool) -> bool {
        if self.last || length > self.room {
            return false;
        }
        self.room -= length;
        self.last = last;
        if length > 0 {
            self.grants.push_back(ReadGrant { address, key, length, asked: 0, finished: 0 });
        }
        true
    }

    pub(super) fn is_complete(&self) -> bool {
        self.last && self.grants.is_empty()
    }
}

/// A read in flight.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FabricRead {
    /// The pull that it is for; `None` if the pull has ended while the read is in flight.
    pub(super) pull: Option<u32>,
    pub(super) length: usize,
    /// The bounce buffer that it goes to, if any.
    pub(super) bounce: Option<u32>,
    pub(super) complete: bool,
    /// It has failed.
    pub(super) failed: bool,
}

/// All pulls of this process; a pull's number is its index.
#[derive(Default)]
pub(super) struct OfiPulls(Slab<OfiPull>);

impl OfiPulls {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a pull and returns its number.
    pub(super) fn begin(&mut self, pull: OfiPull) -> u32 {
        self.0.insert(pull).index()
    }

    pub(super) fn at(&mut self, number: u32) -> Option<&mut OfiPull> {
        self.0.at_mut(number)
    }

    /// Removes a pull.
    pub(super) fn end(&mut self, number: u32) -> Option<OfiPull> {
        self.0.remove_at(number)
    }

    /// The numbers of the pulls from one peer.
    pub(super) fn of_peer(&self, peer: u32) -> Vec<u32> {
        self.0.iter().filter(|(_, pull)| pull.from == peer).map(|(key, _)| key.index()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_granted_than_was_asked_for() {
        let mut room = [0u8; 100];
        let mut pull =
            OfiPull::new(1, 2, 3, Target::Bytes { pointer: room.as_mut_ptr(), length: 100 });
        assert!(!pull.grant(0, 0, 101, true) && !pull.grant(0, 0, u64::MAX, false));
        assert!(
            pull.grant(0, 0, 60, false)
                && !pull.grant(0, 0, 41, false)
                && pull.grant(0, 0, 40, true)
        );
        assert!(!pull.grant(0, 0, 0, true) && !pull.is_complete());
        pull.grants.clear();
        assert!(pull.is_complete());
    }
}
