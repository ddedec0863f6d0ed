//! The queue of posted receives. An arriving message takes the oldest one that matches (MPI 5.0,
//! 3.5).
//!
//! The oldest few entries are in a [`Front`], which is searched linearly. The others are binned by
//! kind and key, so an arrival checks at most four bins and takes the entry with the smallest order
//! number, whatever the length of the queue. Invariant: every entry in the front is older than
//! every binned one (the front accepts an entry only while no bin has any).

use towpath_base::ids::ContextId;
use towpath_base::slab::Slab;

use crate::bins::{BinLinks, Bins, Links};
use crate::matching::{Front, NONE, Pattern};

/// A binned receive.
#[derive(Debug)]
struct Binned {
    pattern: Pattern,
    /// Position in posting order; increases with every binned receive.
    order: u64,
    request: u32,
    neighbors: BinLinks,
}

impl Links for Slab<Binned> {
    fn of(&mut self, entry: u32) -> &mut BinLinks {
        &mut self.at_mut(entry).expect("a binned receive").neighbors
    }
}

/// Posted receives; values are request indices.
#[derive(Debug)]
pub(crate) struct PostedReceives {
    front: Front,
    binned: Slab<Binned>,
    order: u64,
    bins: Bins,
}

impl PostedReceives {
    /// Creates an empty queue whose front takes at most `limit` entries.
    pub(crate) fn new(limit: usize) -> PostedReceives {
        PostedReceives {
            front: Front::new(limit),
            binned: Slab::default(),
            order: 0,
            bins: Bins::default(),
        }
    }

    /// Appends a receive. Returns its link for [`PostedReceives::remove`].
    #[inline]
    pub(crate) fn add(&mut self, pattern: Pattern, request: u32) -> u32 {
        if self.binned.is_empty() && self.front.push(pattern, request) {
            return NONE;
        }
        self.bin(pattern, request)
    }

    #[cold]
    #[inline(never)]
    fn bin(&mut self, pattern: Pattern, request: u32) -> u32 {
        self.order += 1;
        let binned = Binned { pattern, order: self.order, request, neighbors: BinLinks::NONE };
        let at = self.binned.insert(binned).index();
        self.bins.append(&mut self.binned, pattern.kind(), pattern.context, pattern.key, at);
        at
    }

    /// True if there is a posted receive.
    pub(crate) fn is_any(&self) -> bool {
        !(self.front.is_empty() && self.binned.is_empty())
    }

    fn entry(&self, at: u32) -> &Binned {
        self.binned.at(at).expect("a binned receive")
    }

    fn unbin(&mut self, at: u32) -> u32 {
        let Binned { pattern, request, .. } = *self.entry(at);
        self.bins.remove(&mut self.binned, pattern.kind(), pattern.context, pattern.key, at);
        self.binned.remove_at(at);
        request
    }

    /// Removes and returns the oldest receive that matches an arriving message.
    #[inline]
    pub(crate) fn take(&mut self, message: &Pattern) -> Option<u32> {
        if let Some(position) = self.front.find(message) {
            return Some(self.front.remove(position));
        }
        if self.binned.is_empty() { None } else { self.take_binned(*message) }
    }

    #[cold]
    #[inline(never)]
    fn take_binned(&mut self, message: Pattern) -> Option<u32> {
        let oldest = (0..4)
            .filter_map(|kind| self.bins.oldest(kind, message.context, message.key))
            .min_by_key(|at| self.entry(*at).order)?;
        Some(self.unbin(oldest))
    }

    /// The context of an unmatched receive.
    pub(crate) fn context_of(&self, request: u32, link: u32) -> ContextId {
        let of_front = || self.front.position(request).map(|position| self.front.pattern(position));
        let pattern = if link == NONE { of_front() } else { Some(self.entry(link).pattern) };
        ContextId(pattern.expect("the receive is posted").context)
    }

    /// Removes an unmatched receive.
    pub(crate) fn remove(&mut self, request: u32, link: u32) {
        if link != NONE {
            self.unbin(link);
        } else if let Some(position) = self.front.position(request) {
            self.front.remove(position);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use towpath_base::ids::PeerIndex;

    #[derive(Clone, Debug)]
    enum Event {
        Post(u64, Option<u32>, Option<i32>),
        Arrive(u64, u32, i32),
        Cancel(usize),
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            4 => (0..2u64, prop::option::weighted(0.7, 0..3u32), prop::option::weighted(0.7, 0..3i32))
                .prop_map(|(c, s, t)| Event::Post(c, s, t)),
            3 => (0..2u64, 0..3u32, 0..3i32).prop_map(|(c, s, t)| Event::Arrive(c, s, t)),
            1 => (0..64usize).prop_map(Event::Cancel),
        ]
    }

    proptest! {
        #[test]
        fn the_oldest_match_is_taken(limit in prop_oneof![Just(3usize), Just(64)], events in prop::collection::vec(event(), 1..300)) {
            let mut posted = PostedReceives::new(limit);
            let mut naive: Vec<(Pattern, u32, u32)> = Vec::new();
            for (number, event) in events.into_iter().enumerate() {
                match event {
                    Event::Post(context, from, tag) => {
                        let pattern = Pattern::receive(ContextId(context), from.map(PeerIndex), tag);
                        let link = posted.add(pattern, number as u32);
                        naive.push((pattern, number as u32, link));
                    }
                    Event::Arrive(context, from, tag) => {
                        let message = Pattern::message(PeerIndex(from), &[context, u64::from(tag as u32)]);
                        let expected = naive.iter().position(|e| e.0.matches(&message)).map(|i| naive.remove(i).1);
                        prop_assert_eq!(posted.take(&message), expected);
                    }
                    Event::Cancel(which) if !naive.is_empty() => {
                        let (_, request, link) = naive.remove(which % naive.len());
                        posted.remove(request, link);
                    }
                    Event::Cancel(_) => {}
                }
            }
        }
    }
}
