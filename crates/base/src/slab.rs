//! A slab: a table of values that reuses its entries, in LIFO order. A key holds the index of its
//! entry and the entry's generation, which counts its earlier values, so that the key of a removed
//! value never names a later one (until the generation wraps after 2^32 uses of the entry).
//!
//! Callers that have no room for a generation access a value by its index alone.

/// Names a value of a [`Slab`]: the index is in the low 32 bits, the generation in the high 32
/// bits. Keys cross wires as this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SlabKey(pub u64);

impl SlabKey {
    fn new(index: usize, generation: u32) -> SlabKey {
        SlabKey(index as u64 | u64::from(generation) << 32)
    }

    /// Index of the entry.
    #[inline]
    pub fn index(self) -> u32 {
        self.0 as u32
    }

    fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

#[derive(Debug)]
struct Entry<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> Entry<T> {
    /// Removes the value, which makes its key stale.
    fn take(&mut self) -> Option<T> {
        let value = self.value.take()?;
        self.generation = self.generation.wrapping_add(1);
        Some(value)
    }
}

/// Values of one type, each named by a [`SlabKey`].
#[derive(Debug)]
pub struct Slab<T> {
    entries: Vec<Entry<T>>,
    /// Indices of the entries without a value.
    vacant: Vec<u32>,
    /// Number of values.
    length: usize,
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab { entries: Vec::new(), vacant: Vec::new(), length: 0 }
    }
}

impl<T> Slab<T> {
    /// Adds a value and returns its key.
    ///
    /// # Panics
    /// If there are 2^32 values.
    pub fn insert(&mut self, value: T) -> SlabKey {
        let index = self.vacant.pop().unwrap_or_else(|| self.grow()) as usize;
        let entry = &mut self.entries[index];
        entry.value = Some(value);
        self.length += 1;
        SlabKey::new(index, entry.generation)
    }

    #[cold]
    fn grow(&mut self) -> u32 {
        let index = u32::try_from(self.entries.len()).expect("at most 2^32 values");
        self.entries.push(Entry { generation: 0, value: None });
        index
    }

    /// The value that a key names; `None` if it was removed.
    pub fn get(&self, key: SlabKey) -> Option<&T> {
        let entry = self
            .entries
            .get(key.index() as usize)
            .filter(|entry| entry.generation == key.generation())?;
        entry.value.as_ref()
    }

    /// Like [`Slab::get`], to change the value.
    pub fn get_mut(&mut self, key: SlabKey) -> Option<&mut T> {
        self.named(key)?.value.as_mut()
    }

    /// Removes the value that a key names and returns it; `None` if it was removed before.
    pub fn remove(&mut self, key: SlabKey) -> Option<T> {
        let value = self.named(key)?.take()?;
        self.vacate(key.index());
        Some(value)
    }

    /// The value at an index, whatever its generation.
    pub fn at(&self, index: u32) -> Option<&T> {
        self.entries.get(index as usize)?.value.as_ref()
    }

    /// Like [`Slab::at`], to change the value.
    pub fn at_mut(&mut self, index: u32) -> Option<&mut T> {
        self.entries.get_mut(index as usize)?.value.as_mut()
    }

    /// Removes the value at an index, whatever its generation, and returns it.
    pub fn remove_at(&mut self, index: u32) -> Option<T> {
        let value = self.entries.get_mut(index as usize)?.take()?;
        self.vacate(index);
        Some(value)
    }

    /// Removes all values for which `which` is true and returns them, in the order of their
    /// indices.
    pub fn remove_where(&mut self, which: impl Fn(&T) -> bool) -> Vec<T> {
        let keys: Vec<SlabKey> =
            self.iter().filter(|(_, value)| which(value)).map(|(key, _)| key).collect();
        keys.into_iter().filter_map(|key| self.remove(key)).collect()
    }

    /// All values with their keys, in the order of their indices.
    pub fn iter(&self) -> impl Iterator<Item = (SlabKey, &T)> {
        let entries = self.entries.iter().enumerate();
        entries.filter_map(|(index, entry)| {
            Some((SlabKey::new(index, entry.generation), entry.value.as_ref()?))
        })
    }

    /// True if there is no value.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    fn named(&mut self, key: SlabKey) -> Option<&mut Entry<T>> {
        self.entries
            .get_mut(key.index() as usize)
            .filter(|entry| entry.generation == key.generation())
    }

    fn vacate(&mut self, index: u32) {
        self.vacant.push(index);
        self.length -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_key_names_nothing() {
        let mut slab = Slab::default();
        let old = slab.insert("old");
        assert_eq!(slab.remove(old), Some("old"));
        assert!(slab.get(old).is_none() && slab.remove(old).is_none());
        let new = slab.insert("new");
        assert_eq!((new.index(), new != old), (old.index(), true), "the entry is used again");
        assert!(
            slab.get(old).is_none() && slab.get_mut(old).is_none() && slab.remove(old).is_none()
        );
        assert_eq!(slab.get(new), Some(&"new"));
    }

    #[test]
    fn a_key_of_no_entry_names_nothing() {
        let mut slab = Slab::default();
        let key = slab.insert(1);
        for wrong in [SlabKey(key.0 + 1), SlabKey(key.0 + (1 << 32)), SlabKey(u64::MAX)] {
            assert!(slab.get(wrong).is_none() && slab.remove(wrong).is_none());
        }
        assert!(slab.at(1).is_none() && slab.remove_at(u32::MAX).is_none());
    }

    #[test]
    fn the_index_is_in_the_low_half_and_the_generation_in_the_high_half() {
        let mut slab = Slab::default();
        let first = slab.insert(());
        slab.insert(());
        slab.remove(first);
        let third = slab.insert(());
        slab.remove_at(1);
        let fourth = slab.insert(());
        assert_eq!((first.0, third.0, fourth.0), (0, 1 << 32, 1 << 32 | 1));
    }

    #[test]
    fn values_are_changed_and_removed_by_key_and_by_index() {
        let mut slab = Slab::default();
        let keys = [10, 20, 30].map(|value| slab.insert(value));
        *slab.get_mut(keys[0]).unwrap() += 1;
        *slab.at_mut(1).unwrap() += 2;
        assert_eq!((slab.at(0), slab.get(keys[1])), (Some(&11), Some(&22)));
        assert_eq!(slab.remove_at(1), Some(22));
        assert!(slab.remove_at(1).is_none() && slab.get(keys[1]).is_none());
        assert_eq!(slab.iter().collect::<Vec<_>>(), [(keys[0], &11), (keys[2], &30)]);
    }

    #[test]
    fn what_is_removed_together_comes_in_order() {
        let mut slab = Slab::default();
        let keys = [1, 2, 3, 4].map(|value| slab.insert(value));
        assert_eq!(slab.remove_where(|value| value % 2 == 0), [2, 4]);
        assert_eq!(slab.iter().map(|(_, value)| *value).collect::<Vec<_>>(), [1, 3]);
        assert!(slab.get(keys[1]).is_none() && !slab.is_empty());
        assert_eq!(slab.remove_where(|_| true), [1, 3]);
        assert!(slab.is_empty());
    }
}
