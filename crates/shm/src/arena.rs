//! First-fit allocator for the areas from which a rank grants rings and makes boards: a sorted list
//! of free ranges, in whole pages.

/// Free ranges as (offset, length), sorted, never adjacent.
#[derive(Debug)]
pub(crate) struct Arena {
    free: Vec<(usize, usize)>,
}

impl Arena {
    /// An arena of `bytes` free bytes.
    pub(crate) fn new(bytes: usize) -> Arena {
        Arena { free: vec![(0, bytes)] }
    }

    /// Number of free bytes.
    pub(crate) fn free_bytes(&self) -> usize {
        self.free.iter().map(|(_, length)| length).sum()
    }

    /// Allocates `bytes` bytes; `None` if no range is long enough.
    pub(crate) fn take(&mut self, bytes: usize) -> Option<usize> {
        let index = self.free.iter().position(|(_, length)| *length >= bytes)?;
        let (offset, length) = self.free[index];
        if length == bytes {
            self.free.remove(index);
        } else {
            self.free[index] = (offset + bytes, length - bytes);
        }
        Some(offset)
    }

    /// Allocates the `bytes` bytes at `offset`; false if they are not the start of a long enough
    /// free range.
    pub(crate) fn take_at(&mut self, offset: usize, bytes: usize) -> bool {
        let index = self.free.partition_point(|(begin, _)| *begin < offset);
        let Some(range) =
            self.free.get_mut(index).filter(|range| range.0 == offset && range.1 >= bytes)
        else {
            return false;
        };
        *range = (offset + bytes, range.1 - bytes);
        if range.1 == 0 {
            self.free.remove(index);
        }
        true
    }

    /// Frees a range.
    pub(crate) fn give(&mut self, offset: usize, bytes: usize) {
        let index = self.free.partition_point(|(begin, _)| *begin < offset);
        self.free.insert(index, (offset, bytes));
        self.join(index);
        if index > 0 {
            self.join(index - 1);
        }
    }

    /// Merges range `index` with the next one if they are adjacent.
    fn join(&mut self, index: usize) {
        if let [first, second, ..] = self.free[index..]
            && first.0 + first.1 == second.0
        {
            self.free[index].1 += second.1;
            self.free.remove(index + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_given_back_in_any_order_become_one() {
        let mut arena = Arena::new(4096);
        let taken: Vec<usize> = (0..4).map(|_| arena.take(1024).unwrap()).collect();
        assert_eq!(arena.take(1), None);
        for index in [2, 0, 3, 1] {
            arena.give(taken[index], 1024);
        }
        assert_eq!(arena.free, [(0, 4096)]);
    }

    #[test]
    fn what_follows_a_range_is_taken_if_it_is_free() {
        let mut arena = Arena::new(4096);
        let first = arena.take(1024).unwrap();
        assert!(arena.take_at(first + 1024, 1024) && !arena.take_at(first + 1024, 1024));
        assert!(!arena.take_at(first + 2048, 4096) && arena.take_at(first + 2048, 2048));
        assert_eq!((arena.take(1), arena.take_at(4096, 1)), (None, false));
    }
}
