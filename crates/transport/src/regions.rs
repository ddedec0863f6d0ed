//! The table of regions that this process has published and nobody has begun to pull.
//!
//! A key is an index and a generation, so a key of a region that was withdrawn or pulled never
//! names a later one.

use towpath_base::transfer::Source;

/// A published region.
pub struct Published {
    /// Who may pull it, by the number that the wire has for it.
    pub to: u32,
    /// The publisher's name for it.
    pub token: u64,
    /// Its bytes.
    pub source: Source,
}

#[derive(Default)]
struct Place {
    generation: u32,
    region: Option<Published>,
}

/// All published regions of one wire.
#[derive(Default)]
pub struct Regions {
    places: Vec<Place>,
    free: Vec<u32>,
}

impl Regions {
    /// Enters a region: its name.
    pub fn publish(&mut self, region: Published) -> u64 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place::default());
            self.places.len() as u32 - 1
        });
        let place = &mut self.places[index as usize];
        place.region = Some(region);
        u64::from(index) | u64::from(place.generation) << 32
    }

    /// Whether the key names a region, and one for this receiver.
    pub fn is_for(&self, name: u64, receiver: u32) -> bool {
        let place = self.places.get(name as u32 as usize).filter(|place| place.generation == (name >> 32) as u32);
        place.and_then(|place| place.region.as_ref()).is_some_and(|region| region.to == receiver)
    }

    /// Takes a region out; `None` when the key names none any more.
    pub fn take(&mut self, name: u64) -> Option<Published> {
        let index = name as u32;
        let place = self.places.get_mut(index as usize).filter(|place| place.generation == (name >> 32) as u32)?;
        let region = place.region.take()?;
        place.generation = place.generation.wrapping_add(1);
        self.free.push(index);
        Some(region)
    }

    /// Takes out everything published to one peer.
    pub fn take_all_of(&mut self, peer: u32) -> Vec<Published> {
        let named = |place: &Place| place.region.as_ref().is_some_and(|region| region.to == peer);
        let names: Vec<u64> = (0u64..)
            .zip(&self.places)
            .filter(|(_, place)| named(place))
            .map(|(index, place)| index | u64::from(place.generation) << 32)
            .collect();
        names.into_iter().filter_map(|name| self.take(name)).collect()
    }

    /// True when nothing is published.
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
