//! The table of regions that this process has published and that no peer has started to pull.
//!
//! A region's name is its key in a slab: the name of a withdrawn or pulled region is never reused.

use towpath_base::slab::{Slab, SlabKey};
use towpath_base::transfer::Source;

/// A published region.
pub struct Published {
    /// The peer that may pull it, by the wire's own index.
    pub to: u32,
    /// The publisher's token for it, as in [`Sink::released`](crate::Sink::released).
    pub token: u64,
    /// Where its bytes come from.
    pub source: Source,
}

/// All published regions of one wire.
#[derive(Default)]
pub struct Regions(Slab<Published>);

impl Regions {
    /// Adds a region and returns its name.
    pub fn publish(&mut self, region: Published) -> u64 {
        self.0.insert(region).0
    }

    /// True if `name` is a published region that `receiver` may pull.
    pub fn is_for(&self, name: u64, receiver: u32) -> bool {
        self.0.get(SlabKey(name)).is_some_and(|region| region.to == receiver)
    }

    /// Removes a region and returns it; `None` if no region has this name any more.
    pub fn take(&mut self, name: u64) -> Option<Published> {
        self.0.remove(SlabKey(name))
    }

    /// Removes all regions published to one peer.
    pub fn take_all_of(&mut self, peer: u32) -> Vec<Published> {
        self.0.remove_where(|region| region.to == peer)
    }

    /// True if nothing is published.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_key_names_nothing_new() {
        let mut regions = Regions::default();
        let region = |token| Published {
            to: 1,
            token,
            source: Source::Bytes { pointer: std::ptr::null(), length: 0 },
        };
        let first = regions.publish(region(1));
        assert_eq!(regions.take(first).unwrap().token, 1);
        let second = regions.publish(region(2));
        assert!(regions.take(first).is_none());
        assert_eq!(regions.take_all_of(1).len(), 1);
        assert!(regions.take(second).is_none() && regions.is_empty());
    }
}
