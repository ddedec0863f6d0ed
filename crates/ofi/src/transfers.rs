//! Large messages: regions that peers read, and pulls by which this process brings regions.

use std::collections::VecDeque;

use towpath_base::transfer::{Source, Target};

use super::endpoint::Region;

/// A region that a peer has asked for.
pub(super) struct Push {
    /// The peer, and its number for the pull.
    pub(super) to: u32,
    pub(super) number: u32,
    /// The publisher's name for it.
    pub(super) token: u64,
    pub(super) source: Source,
    /// Bytes that the peer has not been granted.
    pub(super) left: usize,
    /// The source cannot be registered as a whole.
    pub(super) in_pieces: bool,
    /// The whole source, once it is granted.
    pub(super) region: Option<Region>,
    /// Grants that the peer has not read, in order: the piece of memory where it is one of the
    /// bounce pool.
    pub(super) granted: VecDeque<Option<u32>>,
    /// The last grant is out.
    pub(super) over: bool,
}

/// Memory of a peer that may be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grant {
    pub(super) address: u64,
    pub(super) key: u64,
    pub(super) length: u64,
    /// Bytes of it that reads are under way for, or were.
    pub(super) asked: u64,
    /// Bytes of it that are in the target.
    pub(super) finished: u64,
}

/// A region on its way here.
pub(super) struct Pull {
    pub(super) from: u32,
    /// The publisher's name for it.
    pub(super) name: u64,
    pub(super) token: u64,
    pub(super) target: Target,
    /// Bytes of the target that no grant covers yet.
    pub(super) room: u64,
    /// Bytes that reads are under way for, or were.
    pub(super) asked: usize,
    /// The whole target, where its memory must be registered.
    pub(super) region: Option<Region>,
    /// The target is no row, or cannot be registered.
    pub(super) bounces: bool,
    pub(super) grants: VecDeque<Grant>,
    /// Reads under way, in order.
    pub(super) reads: VecDeque<u32>,
    /// No further grant comes.
    pub(super) last: bool,
    /// It is in the list of those that can go on.
    pub(super) listed: bool,
}

impl Pull {
    pub(super) fn new(from: u32, name: u64, token: u64, target: Target) -> Pull {
        let bounces = !matches!(target, Target::Bytes { .. });
        let room = target.length() as u64;
        Pull {
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

    /// Takes a grant; false when the peer grants more than was asked for.
    pub(super) fn grant(&mut self, address: u64, key: u64, length: u64, last: bool) -> bool {
        if self.last || length > self.room {
            return false;
        }
        self.room -= length;
        self.last = last;
        if length > 0 {
            self.grants.push_back(Grant { address, key, length, asked: 0, finished: 0 });
        }
        true
    }

    pub(super) fn is_complete(&self) -> bool {
        self.last && self.grants.is_empty()
    }
}

/// A read under way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Read {
    /// The pull that it is for; none when that has ended without it.
    pub(super) pull: Option<u32>,
    pub(super) length: usize,
    /// The piece of memory that the bytes go to first.
    pub(super) bounce: Option<u32>,
    pub(super) complete: bool,
    /// It has brought nothing.
    pub(super) failed: bool,
}

/// All regions that this process brings; a pull's number is its place.
#[derive(Default)]
pub(super) struct Pulls {
    places: Vec<Option<Pull>>,
    free: Vec<u32>,
}

impl Pulls {
    pub(super) fn is_empty(&self) -> bool {
        self.free.len() == self.places.len()
    }

    /// Enters a pull: its number.
    pub(super) fn begin(&mut self, pull: Pull) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() as u32 - 1
        });
        self.places[number as usize] = Some(pull);
        number
    }

    pub(super) fn at(&mut self, number: u32) -> Option<&mut Pull> {
        self.places.get_mut(number as usize)?.as_mut()
    }

    /// A pull is over.
    pub(super) fn end(&mut self, number: u32) -> Option<Pull> {
        let pull = self.places.get_mut(number as usize)?.take()?;
        self.free.push(number);
        Some(pull)
    }

    /// The numbers of the pulls from one peer.
    pub(super) fn of_peer(&self, peer: u32) -> Vec<u32> {
        let numbered = (0..).zip(&self.places);
        numbered.filter(|(_, pull)| pull.as_ref().is_some_and(|pull| pull.from == peer)).map(|(n, _)| n).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_granted_than_was_asked_for() {
        let mut room = [0u8; 100];
        let mut pull = Pull::new(1, 2, 3, Target::Bytes { pointer: room.as_mut_ptr(), length: 100 });
        assert!(!pull.grant(0, 0, 101, true) && !pull.grant(0, 0, u64::MAX, false));
        assert!(pull.grant(0, 0, 60, false) && !pull.grant(0, 0, 41, false) && pull.grant(0, 0, 40, true));
        assert!(!pull.grant(0, 0, 0, true) && !pull.is_complete());
        pull.grants.clear();
        assert!(pull.is_complete());
    }
}
