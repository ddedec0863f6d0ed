//! Broadcasts to the chares of a collection. The root of the collection numbers them and sends them
//! down its tree, and every rank accepts them in the order of their numbers. An element gets a
//! broadcast from the rank where it is when that rank accepts it.
//!
//! An element that is between two ranks then gets it from the rank that it left. The new rank says
//! how many broadcasts it had accepted when the element arrived; the old one sends copies of those
//! that it accepted after the element left, up to this number. So every broadcast reaches every
//! element once, and no rank keeps broadcasts longer than elements that left it are under way.

use std::collections::BTreeMap;
use std::rc::Rc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::index::Index;
use crate::message::ActorMessage;

/// What is sent down the tree between broadcasts of the program: no rank accepts a later one before
/// it has constructed the elements that a rank asked for earlier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InsertBarrier {
    /// Who asked for the elements.
    pub source: u32,
    /// How many barriers it had sent before.
    pub epoch: u32,
    /// How many elements it has asked for since, by the rank that constructs them.
    pub asked: Vec<(u32, u64)>,
    /// Whether reductions may begin: the first elements are all there.
    pub opens: bool,
}

/// What a rank accepts in the order of numbers.
#[derive(Clone, Debug)]
pub enum Numbered {
    /// A message for all elements.
    Message(Rc<ActorMessage>),
    /// A condition for what follows.
    Barrier(InsertBarrier),
}

/// An element that has left and has not settled elsewhere.
#[derive(Debug)]
struct InTransit {
    index: Index,
    migrations: u32,
    /// Broadcasts that it has had, or has been sent.
    had: u32,
    /// Broadcasts that its new rank had accepted when it arrived, once that is known.
    settled: Option<u32>,
}

/// An element that leaves.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// Which one.
    pub index: Index,
    /// How often elements of this index have migrated, with this time.
    pub migrations: u32,
    /// It gets broadcasts with greater numbers from this rank.
    pub since: u32,
    /// Where among the elements of this rank it is.
    pub place: usize,
}

/// One rank's part of the broadcasts of a collection.
#[derive(Debug, Default)]
pub struct Broadcasts {
    /// At the root: the last number.
    numbered: u32,
    /// All up to this number have been accepted.
    accepted: u32,
    /// Those that have arrived and not been accepted.
    early: BTreeMap<u32, Numbered>,
    /// Those that have been accepted and not yet been delivered to the elements.
    undelivered: Vec<(u32, Rc<ActorMessage>)>,
    /// The one that is being delivered, and how many places of elements are behind it.
    delivering: Option<(u32, usize)>,
    /// Those that elements under way may lack.
    kept: Vec<(u32, Rc<ActorMessage>)>,
    in_transit: Vec<InTransit>,
    /// Elements constructed here that no barrier has counted, by who asked for them and how many
    /// barriers that rank had sent before.
    constructed: FxHashMap<(u32, u32), u64>,
}

impl Broadcasts {
    /// At the root: the next number.
    pub fn number(&mut self) -> u32 {
        self.numbered += 1;
        self.numbered
    }

    /// How many have been accepted: what a new element has missed.
    #[must_use]
    pub fn accepted(&self) -> u32 {
        self.accepted
    }

    /// One has arrived.
    pub fn arrived(&mut self, number: u32, item: Numbered) {
        self.early.insert(number, item);
    }

    /// An element that a rank asked for has been constructed here.
    pub fn constructed(&mut self, source: u32, epoch: u32) {
        *self.constructed.entry((source, epoch)).or_default() += 1;
    }

    /// Accepts the next one if it is here and nothing holds it up.
    pub fn accept(&mut self, rank: u32) -> Option<(u32, Numbered)> {
        let number = self.accepted + 1;
        if let Numbered::Barrier(barrier) = self.early.get(&number)? {
            let asked = barrier.asked.iter().find(|(at, _)| *at == rank).map_or(0, |asked| asked.1);
            let counted = (barrier.source, barrier.epoch);
            if self.constructed.get(&counted).copied().unwrap_or(0) < asked {
                return None;
            }
            self.constructed.remove(&counted);
        }
        self.accepted = number;
        let item = self.early.remove(&number)?;
        if let Numbered::Message(message) = &item {
            self.undelivered.push((number, message.clone()));
            if self.in_transit.iter().any(|element| element.settled.is_none()) {
                self.kept.push((number, message.clone()));
            }
        }
        Some((number, item))
    }

    /// Elements that have left and shall get a copy of the broadcast that was just accepted, and
    /// how often each had migrated then.
    pub fn owed(&mut self) -> Vec<(Index, u32)> {
        let number = self.accepted;
        let owed = |element: &&InTransit| {
            number > element.had && element.settled.is_some_and(|until| number <= until)
        };
        let names = self.in_transit.iter().filter(owed);
        let names = names.map(|element| (element.index, element.migrations)).collect();
        self.in_transit.retain(|element| element.settled.is_none_or(|until| number < until));
        names
    }

    /// The scheduler delivers this broadcast; the elements at so many places have had it.
    pub fn delivering(&mut self, number: u32, places: usize) {
        self.delivering = Some((number, places));
    }

    /// All elements have had this broadcast.
    pub fn delivered(&mut self, number: u32) {
        self.delivering = None;
        self.undelivered.retain(|(undelivered, _)| *undelivered != number);
    }

    /// An element leaves its place, which gets broadcasts after `since` from here: those of which
    /// it shall have copies now, because the scheduler has not delivered them to it.
    pub fn departs(&mut self, leaving: Departure) -> Vec<Rc<ActorMessage>> {
        let Departure { index, migrations, since, place } = leaving;
        // A rank that it left before may have accepted more of them, and has sent it those.
        let had = self.accepted.max(since);
        self.in_transit.push(InTransit { index, migrations, had, settled: None });
        let is_behind =
            |number| self.delivering.is_some_and(|(at, end)| at == number && place < end);
        let lacks = |number| number > since && !is_behind(number);
        let late = self.undelivered.iter().filter(|(number, _)| lacks(*number));
        late.map(|(_, message)| message.clone()).collect()
    }

    /// An element that left has arrived elsewhere, where so many had been accepted: the broadcasts
    /// of which it shall have copies now.
    pub fn settled(&mut self, index: Index, migrations: u32, until: u32) -> Vec<Rc<ActorMessage>> {
        let is_it =
            |element: &InTransit| (element.index, element.migrations) == (index, migrations);
        let Some(at) = self.in_transit.iter().position(is_it) else { return Vec::new() };
        let missed = self.in_transit[at].had + 1..=until;
        let kept = self.kept.iter().filter(|(number, _)| missed.contains(number));
        let copies = kept.map(|(_, message)| message.clone()).collect();
        if until > self.accepted {
            self.in_transit[at].settled = Some(until);
        } else {
            self.in_transit.swap_remove(at);
        }
        self.forget();
        copies
    }

    /// Drops what no element under way can lack.
    fn forget(&mut self) {
        let unsettled = self.in_transit.iter().filter(|element| element.settled.is_none());
        let first = unsettled.map(|element| element.had + 1).min();
        self.kept.retain(|(number, _)| first.is_some_and(|first| *number >= first));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{ActorHeader, MessageKind};

    fn message(entry: u32) -> Numbered {
        let header = ActorHeader::new(MessageKind::Broadcast, 1, None, entry);
        Numbered::Message(Rc::new(ActorMessage::new(header, 0)))
    }

    fn accepted(broadcasts: &mut Broadcasts) -> Vec<u32> {
        std::iter::from_fn(|| broadcasts.accept(0)).map(|(number, _)| number).collect()
    }

    fn entries(messages: &[Rc<ActorMessage>]) -> Vec<u32> {
        messages.iter().map(|message| message.header().entry).collect()
    }

    #[test]
    fn broadcasts_are_accepted_in_the_order_of_their_numbers() {
        let mut broadcasts = Broadcasts::default();
        broadcasts.arrived(2, message(20));
        assert!(accepted(&mut broadcasts).is_empty());
        broadcasts.arrived(1, message(10));
        assert_eq!(accepted(&mut broadcasts), [1, 2]);
    }

    #[test]
    fn a_barrier_holds_until_the_elements_are_there() {
        let mut broadcasts = Broadcasts::default();
        let barrier =
            InsertBarrier { source: 3, epoch: 1, asked: vec![(0, 2), (1, 5)], opens: false };
        broadcasts.arrived(1, Numbered::Barrier(barrier));
        broadcasts.arrived(2, message(20));
        for (source, epoch) in [(3, 1), (4, 1), (3, 2)] {
            broadcasts.constructed(source, epoch);
        }
        assert!(accepted(&mut broadcasts).is_empty());
        broadcasts.constructed(3, 1);
        assert_eq!(accepted(&mut broadcasts), [1, 2]);
    }

    #[test]
    fn an_element_under_way_gets_what_both_ranks_accepted_meanwhile() {
        let mut old = Broadcasts::default();
        let index = Index::one(7);
        old.arrived(1, message(10));
        accepted(&mut old);
        assert_eq!(
            entries(&old.departs(Departure { index, migrations: 1, since: 0, place: 0 })),
            [10],
            "not delivered yet"
        );
        old.delivered(1);
        old.arrived(2, message(20));
        accepted(&mut old);
        assert!(old.owed().is_empty(), "it may have arrived before the new rank accepted this");
        assert_eq!(entries(&old.settled(index, 1, 3)), [20]);
        old.arrived(3, message(30));
        accepted(&mut old);
        assert_eq!(old.owed(), [(index, 1)]);
        old.arrived(4, message(40));
        accepted(&mut old);
        assert!(old.owed().is_empty(), "the new rank delivers this");
        assert!(old.in_transit.is_empty());
        assert!(old.kept.is_empty());
    }
}
