//! Where the elements of a collection are among those of this rank: a table for the indexes with
//! which a dense array begins here, a map for others. On the path of every message.

use rustc_hash::FxHashMap;

use crate::index::Index;
use crate::location::HomeMap;

/// The places of a rank's elements by their indexes.
#[derive(Debug)]
pub(crate) struct ElementPlaces {
    dense: Option<DensePlaces>,
    others: FxHashMap<Index, usize>,
}

/// Those of the indexes of a dense array whose home this rank is.
#[derive(Debug)]
struct DensePlaces {
    map: HomeMap,
    /// The first of them in row-major order, and the distance to the next.
    first: u64,
    step: u64,
    /// Places in the order of the indexes; [`NOWHERE`] for those that are not here.
    table: Vec<u32>,
}

const NOWHERE: u32 = u32::MAX;

impl ElementPlaces {
    /// No elements. A collection that begins with all elements of its map has a table.
    pub(crate) fn new(map: &HomeMap, is_filled: bool, rank: u32, ranks: u32) -> ElementPlaces {
        let homed = if is_filled { map.homed_count(rank, ranks) } else { None };
        let homed = homed.and_then(|count| usize::try_from(count).ok());
        let dense = homed.zip(map.first_and_step(rank, ranks)).map(|(count, (first, step))| {
            DensePlaces { map: map.clone(), first, step, table: vec![NOWHERE; count] }
        });
        ElementPlaces { dense, others: FxHashMap::default() }
    }

    /// How many elements the collection begins with on this rank.
    pub(crate) fn first_elements(&self) -> usize {
        self.dense.as_ref().map_or(0, |dense| dense.table.len())
    }

    /// The place of an element, if it is here.
    #[inline]
    pub(crate) fn get(&self, index: &Index) -> Option<usize> {
        if let Some(dense) = &self.dense
            && let Some(place) = dense.slot(index).map(|slot| &dense.table[slot])
        {
            return (*place != NOWHERE).then_some(*place as usize);
        }
        self.others.get(index).copied()
    }

    /// Whether an element is here.
    #[inline]
    pub(crate) fn contains_key(&self, index: &Index) -> bool {
        self.get(index).is_some()
    }

    pub(crate) fn insert(&mut self, index: Index, place: usize) {
        match (self.slot_mut(&index), u32::try_from(place)) {
            (Some(slot), Ok(place)) if place != NOWHERE => *slot = place,
            _ => {
                self.others.insert(index, place);
            }
        }
    }

    pub(crate) fn remove(&mut self, index: &Index) -> Option<usize> {
        match self.slot_mut(index) {
            Some(slot) => {
                let place = std::mem::replace(slot, NOWHERE);
                (place != NOWHERE).then_some(place as usize)
            }
            None => self.others.remove(index),
        }
    }

    fn slot_mut(&mut self, index: &Index) -> Option<&mut u32> {
        let dense = self.dense.as_mut()?;
        let slot = dense.slot(index)?;
        Some(&mut dense.table[slot])
    }
}

impl DensePlaces {
    /// Where the table has an index, if it does.
    #[inline]
    fn slot(&self, index: &Index) -> Option<usize> {
        let behind = self.map.position(index)?.checked_sub(self.first)?;
        let slot = match self.step {
            1 => behind,
            step if behind % step == 0 => behind / step,
            _ => return None,
        };
        usize::try_from(slot).ok().filter(|slot| *slot < self.table.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_found_in_the_table_and_beside_it() {
        let maps = [
            HomeMap::Block(vec![7, 3]),
            HomeMap::RoundRobin(vec![7, 3]),
            HomeMap::Hash,
            HomeMap::FirstWord,
        ];
        for map in maps {
            for ranks in [1, 2, 5] {
                let mut places = ElementPlaces::new(&map, true, 0, ranks);
                let all: Vec<Index> = (0..21)
                    .map(|at| Index::new(&[at / 3, at % 3]).unwrap())
                    .chain([Index::one(5), Index::new(&[7, 0]).unwrap()])
                    .collect();
                for (place, index) in all.iter().enumerate() {
                    assert!(!places.contains_key(index));
                    places.insert(*index, place);
                }
                for (place, index) in all.iter().enumerate() {
                    assert_eq!(places.get(index), Some(place), "{map:?} {index}");
                }
                for (place, index) in all.iter().enumerate() {
                    assert_eq!(places.remove(index), Some(place));
                    assert_eq!((places.get(index), places.remove(index)), (None, None));
                }
                let homed = map.homed(0, ranks).count();
                let dense = matches!(map, HomeMap::Block(_) | HomeMap::RoundRobin(_));
                assert_eq!(places.first_elements(), if dense { homed } else { 0 });
            }
        }
    }
}
