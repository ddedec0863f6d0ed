//! Where the elements of a collection are. Every index has a home, a rank that all can compute,
//! which knows where its element is; other ranks remember what they were told. No rank has a table
//! of all elements.

use rustc_hash::{FxBuildHasher, FxHashMap};
use serde::{Deserialize, Serialize};
use std::hash::BuildHasher;

use crate::index::{Index, LONGEST};

/// Places of elements whose home is elsewhere that a rank remembers, at most. It forgets all when
/// there are more.
const REMEMBERED: usize = 1 << 16;

/// Elements with which an array begins, at most.
pub(crate) const MOST: u64 = 1 << 32;

/// Which rank is the home of an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HomeMap {
    /// Blocks of equal size, in row-major order, of an array with these extents.
    Block(Vec<u32>),
    /// Round robin, in row-major order, of an array with these extents.
    RoundRobin(Vec<u32>),
    /// By a hash of the index.
    Hash,
    /// The first word of the index: branches of groups.
    FirstWord,
    /// The first word of the index, or what is left of it where a checkpoint was of more ranks.
    SingleChares,
}

impl HomeMap {
    /// The extents, if they are not those of an array: more of them than an index has words, or one
    /// that is more than a word can count, or more elements than ranks can hold.
    pub(crate) fn check(&self, is_filled: bool) -> Result<(), Vec<u32>> {
        match self {
            HomeMap::Block(extents) | HomeMap::RoundRobin(extents)
                if extents.len() > LONGEST
                    || extents.iter().any(|extent| *extent > i32::MAX.cast_unsigned())
                    || (is_filled && product(extents) > MOST) =>
            {
                Err(extents.clone())
            }
            _ => Ok(()),
        }
    }

    /// The home of an index among so many ranks.
    #[must_use]
    pub fn home(&self, index: &Index, ranks: u32) -> u32 {
        let first = index.words().first().map_or(0, |word| word.cast_unsigned());
        match self {
            HomeMap::FirstWord => first.min(ranks - 1),
            HomeMap::SingleChares => first % ranks,
            HomeMap::Hash => (FxBuildHasher.hash_one(index) >> 32) as u32 % ranks,
            HomeMap::Block(extents) => {
                let all = product(extents).max(1);
                let place = place(index, extents).min(all - 1);
                match place.checked_mul(u64::from(ranks)) {
                    Some(scaled) => (scaled / all) as u32,
                    None => (u128::from(place) * u128::from(ranks) / u128::from(all)) as u32,
                }
            }
            HomeMap::RoundRobin(extents) => (place(index, extents) % u64::from(ranks)) as u32,
        }
    }

    /// The indexes within the extents whose home is this rank, in row-major order.
    pub fn homed(&self, rank: u32, ranks: u32) -> Box<dyn Iterator<Item = Index> + '_> {
        let wide = |number: u32| u64::from(number);
        match self {
            HomeMap::Block(extents) => {
                let all = product(extents);
                let places = block(rank, ranks, all)..block(rank + 1, ranks, all);
                Box::new(places.map(|place| at(place, extents)))
            }
            HomeMap::RoundRobin(extents) => {
                let places = (wide(rank)..product(extents)).step_by(ranks as usize);
                Box::new(places.map(|place| at(place, extents)))
            }
            HomeMap::FirstWord => Box::new(std::iter::once(Index::one(rank.cast_signed()))),
            HomeMap::Hash | HomeMap::SingleChares => Box::new(std::iter::empty()),
        }
    }

    /// How many indexes within the extents have this rank as their home; `None` without extents.
    #[must_use]
    pub fn homed_count(&self, rank: u32, ranks: u32) -> Option<u64> {
        match self {
            HomeMap::Block(extents) => {
                let all = product(extents);
                Some(block(rank + 1, ranks, all) - block(rank, ranks, all))
            }
            HomeMap::RoundRobin(extents) => {
                let left = product(extents).saturating_sub(u64::from(rank));
                Some(left.div_ceil(u64::from(ranks)))
            }
            HomeMap::Hash | HomeMap::FirstWord | HomeMap::SingleChares => None,
        }
    }

    /// The first index within the extents whose home is this rank, in row-major order, and the
    /// distance to the next one; `None` without extents.
    pub(crate) fn first_and_step(&self, rank: u32, ranks: u32) -> Option<(u64, u64)> {
        match self {
            HomeMap::Block(extents) => Some((block(rank, ranks, product(extents)), 1)),
            HomeMap::RoundRobin(_) => Some((u64::from(rank), u64::from(ranks))),
            HomeMap::Hash | HomeMap::FirstWord | HomeMap::SingleChares => None,
        }
    }

    /// Where an index is in row-major order; `None` unless it is within the extents.
    #[inline]
    pub(crate) fn position(&self, index: &Index) -> Option<u64> {
        match self {
            HomeMap::Block(extents) | HomeMap::RoundRobin(extents) => {
                within(index, extents).then(|| place(index, extents))
            }
            HomeMap::Hash | HomeMap::FirstWord | HomeMap::SingleChares => None,
        }
    }

    /// Whether an element can have this index at all.
    #[must_use]
    pub fn contains(&self, index: &Index, ranks: u32) -> bool {
        match self {
            HomeMap::Block(extents) | HomeMap::RoundRobin(extents) => within(index, extents),
            HomeMap::Hash | HomeMap::SingleChares => true,
            HomeMap::FirstWord => index
                .words()
                .first()
                .is_some_and(|word| u32::try_from(*word).is_ok_and(|word| word < ranks)),
        }
    }
}

fn within(index: &Index, extents: &[u32]) -> bool {
    let mut words = index.words().iter().zip(extents);
    index.words().len() == extents.len()
        && words.all(|(word, extent)| u32::try_from(*word).is_ok_and(|word| word < *extent))
}

/// Where the block of a rank begins, in row-major order, among so many elements.
fn block(rank: u32, ranks: u32, all: u64) -> u64 {
    let (rank, ranks) = (u64::from(rank), u64::from(ranks));
    match rank.checked_mul(all) {
        Some(scaled) => scaled.div_ceil(ranks),
        None => (u128::from(rank) * u128::from(all)).div_ceil(u128::from(ranks)) as u64,
    }
}

fn product(extents: &[u32]) -> u64 {
    extents.iter().fold(1, |all, extent| all.saturating_mul(u64::from(*extent)))
}

/// The place of an index in row-major order.
fn place(index: &Index, extents: &[u32]) -> u64 {
    let words = index.words().iter().zip(extents);
    words.fold(0, |place, (word, extent)| {
        // An array with more elements than this can count is never filled.
        place.wrapping_mul(u64::from(*extent)).wrapping_add(u64::from(word.cast_unsigned()))
    })
}

/// The index at a place in row-major order.
fn at(mut place: u64, extents: &[u32]) -> Index {
    let mut words = vec![0; extents.len()];
    for (word, extent) in words.iter_mut().zip(extents).rev() {
        *word = (place % u64::from(*extent)) as i32;
        place /= u64::from(*extent);
    }
    Index::new(&words).expect("arrays have as many dimensions as an index has words")
}

/// What a rank knows of an element that it does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// It is at this rank, or was.
    At(u32),
    /// This rank is its home, and it does not exist yet.
    NotCreated,
    /// This rank is its home, and it exists no more.
    Deleted,
}

#[derive(Clone, Copy, Debug)]
struct KnownPlace {
    rank: u32,
    migrations: u32,
    deleted: bool,
}

/// What one rank knows about the elements of a collection that are elsewhere.
#[derive(Debug)]
pub struct Location {
    map: HomeMap,
    rank: u32,
    ranks: u32,
    /// Elements whose home this rank is.
    homed: FxHashMap<Index, KnownPlace>,
    /// Others.
    remembered: FxHashMap<Index, KnownPlace>,
}

impl Location {
    /// The knowledge of a rank before there are elements.
    #[must_use]
    pub fn new(map: HomeMap, rank: u32, ranks: u32) -> Location {
        let (homed, remembered) = (FxHashMap::default(), FxHashMap::default());
        Location { map, rank, ranks, homed, remembered }
    }

    /// The homes of all indexes.
    #[must_use]
    pub fn map(&self) -> &HomeMap {
        &self.map
    }

    /// The home of an index.
    #[must_use]
    pub fn home(&self, index: &Index) -> u32 {
        self.map.home(index, self.ranks)
    }

    /// Whether an element can have this index.
    #[must_use]
    pub fn contains(&self, index: &Index) -> bool {
        self.map.contains(index, self.ranks)
    }

    /// Whether these are the elements of an array.
    #[must_use]
    pub fn is_of_array(&self) -> bool {
        !matches!(self.map, HomeMap::FirstWord | HomeMap::SingleChares)
    }

    /// What this rank was told of an element: its rank, and how often it has migrated.
    #[must_use]
    pub fn told(&self, index: &Index) -> Option<(u32, u32)> {
        let at_home = self.homed.get(index);
        let record = at_home.or_else(|| self.remembered.get(index));
        let record = record.filter(|known| !known.deleted)?;
        Some((record.rank, record.migrations))
    }

    /// Where to send what is for an element that this rank does not have.
    #[must_use]
    pub fn find(&self, index: &Index) -> Lookup {
        let home = self.home(index);
        let known = if home == self.rank { &self.homed } else { &self.remembered };
        match known.get(index) {
            Some(record) if record.deleted => Lookup::Deleted,
            Some(record) => Lookup::At(record.rank),
            None if home == self.rank => Lookup::NotCreated,
            None => Lookup::At(home),
        }
    }

    /// An element that has migrated so many times is at this rank.
    pub fn located(&mut self, index: Index, rank: u32, migrations: u32) {
        self.record(index, KnownPlace { rank, migrations, deleted: false });
    }

    /// An element that has migrated so many times exists no more. Only its home remembers that.
    pub fn deleted(&mut self, index: Index, migrations: u32) {
        if self.map == HomeMap::SingleChares {
            // Names of single chares are not used again.
            self.homed.remove(&index);
        } else if self.home(&index) == self.rank {
            self.record(index, KnownPlace { rank: self.rank, migrations, deleted: true });
        } else {
            self.remembered.remove(&index);
        }
    }

    /// The home lets an element be made at `rank`: how often elements of this index have migrated,
    /// or nothing if there is one.
    pub fn created(&mut self, index: Index, rank: u32) -> Option<u32> {
        let migrations = match self.homed.get(&index) {
            Some(record) if !record.deleted => return None,
            Some(record) => record.migrations + 1,
            None => 0,
        };
        self.homed.insert(index, KnownPlace { rank, migrations, deleted: false });
        Some(migrations)
    }

    /// Takes in what was heard, unless something newer is known.
    fn record(&mut self, index: Index, record: KnownPlace) {
        let known = if self.home(&index) == self.rank {
            &mut self.homed
        } else if record.rank == self.rank {
            // It is here, or has been and this comes late. What is older is wrong.
            if self.remembered.get(&index).is_some_and(|known| known.migrations < record.migrations)
            {
                self.remembered.remove(&index);
            }
            return;
        } else {
            if self.remembered.len() >= REMEMBERED {
                self.remembered.clear();
            }
            &mut self.remembered
        };
        let newest = known.entry(index).or_insert(record);
        // That it was deleted is the last news of an element.
        if (record.migrations, record.deleted) > (newest.migrations, newest.deleted) {
            *newest = record;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_homes_of_a_dense_array_are_where_its_elements_are_made() {
        for extents in [vec![1], vec![17], vec![3, 5], vec![2, 3, 4], vec![1, 2, 2, 1, 3, 2]] {
            for map in [HomeMap::Block(extents.clone()), HomeMap::RoundRobin(extents.clone())] {
                for ranks in [1, 2, 3, 7, 40] {
                    let mut all = BTreeSet::new();
                    for rank in 0..ranks {
                        for index in map.homed(rank, ranks) {
                            assert_eq!(map.home(&index, ranks), rank, "{map:?} {index}");
                            assert!(map.contains(&index, ranks));
                            assert!(all.insert(index));
                        }
                    }
                    assert_eq!(all.len() as u64, product(&extents));
                }
            }
        }
    }

    #[test]
    fn an_index_outside_the_extents_is_none() {
        let map = HomeMap::Block(vec![3, 5]);
        for words in [&[0, 5][..], &[-1, 0], &[3, 0], &[0], &[0, 0, 0]] {
            assert!(!map.contains(&Index::new(words).unwrap(), 2), "{words:?}");
        }
    }

    #[test]
    fn older_news_do_not_replace_newer_ones() {
        let mut home = Location::new(HomeMap::Block(vec![8]), 0, 4);
        let index = Index::one(0);
        assert_eq!(home.find(&index), Lookup::NotCreated);
        assert_eq!(home.created(index, 1), Some(0));
        assert_eq!(home.created(index, 2), None, "there is one");
        home.located(index, 3, 2);
        home.located(index, 2, 1);
        assert_eq!(home.find(&index), Lookup::At(3));
        home.deleted(index, 2);
        assert_eq!(home.find(&index), Lookup::Deleted);
        home.located(index, 3, 1);
        assert_eq!(home.find(&index), Lookup::Deleted);
        assert_eq!(home.created(index, 2), Some(3));
        assert_eq!(home.find(&index), Lookup::At(2));
    }
}
