//! The table of regions that this process has published and that no peer has started to pull.
//!
//! A key consists of an index and a generation. So the key of a region that was withdrawn or pulled
//! never names a later region (until the generation wraps after 2^32 uses of the index).

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

#[derive(Default)]
struct RegionSlot {
    generation: u32,
    region: Option<Published>,
}

/// All published regions of one wire.
#[derive(Default)]
pub struct Regions {
    places: Vec<RegionSlot>,
    free: Vec<u32>,
}

impl Regions {
    /// Adds a region and returns its name.
    pub fn publish(&mut self, region: Published) -> u64 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(RegionSlot::default());
            self.places.len() as u32 - 1
        });
        let place = &mut self.places[index as usize];
        place.region = Some(region);
        u64::from(index) | u64::from(place.generation) << 32
    }

    /// True if `name` is a published region that `receiver` may pull.
    pub fn is_for(&self, name: u64, receiver: u32) -> bool {
        let place = self.places.get(name as u32 as usize).filter(|place| place.generation == (name >> 32) as u32);
        place.and_then(|place| place.region.as_ref()).is_some_and(|region| region.to == receiver)
    }

    /// Removes a region and returns it; `None` if `name` does not name one any more.
    pub fn take(&mut self, name: u64) -> Option<Published> {
        let index = name as u32;
        let place = self.places.get_mut(index as usize).filter(|place| place.generation == (name >> 32) as u32)?;
        let region = place.region.take()?;
        place.generation = place.generation.wrapping_add(1);
        self.free.push(index);
        Some(region)
    }

    /// Removes all regions published to one peer.
    pub fn take_all_of(&mut self, peer: u32) -> Vec<Published> {
        let named = |place: &RegionSlot| place.region.as_ref().is_some_and(|region| region.to == peer);
        let names: Vec<u64> = (0u64..)
            .zip(&self.places)
            .filter(|(_, place)| named(place))
            .map(|(index, place)| index | u64::from(place.generation) << 32)
            .collect();
        names.into_iter().filter_map(|name| self.take(name)).collect()
    }

    /// True if nothing is published.
    pub fn is_empty(&self) -> bool {
        self.free.len() == self.places.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_key_names_nothing_new() {
        let mut regions = Regions::default();
        let region = |token| Published { to: 1, token, source: Source::Bytes { pointer: std::ptr::null(), length: 0 } };
        let first = regions.publish(region(1));
        assert_eq!(regions.take(first).unwrap().token, 1);
        let second = regions.publish(region(2));
        assert!(regions.take(first).is_none());
        assert_eq!(regions.take_all_of(1).len(), 1);
        assert!(regions.take(second).is_none() && regions.is_empty());
    }
}
