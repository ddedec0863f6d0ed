//! What a random program has done, as one observer of all ranks sees it, and what must be true then
//! in every order of delivery.

use std::collections::{BTreeMap, BTreeSet};

use towpath_actors::Index;

use crate::MORTAL;

/// One life of an element: an index may be used again after its element was deleted.
#[derive(Debug)]
struct Life {
    index: Index,
    /// The moment in which it was constructed.
    born: u64,
    died: bool,
    /// Messages and broadcasts that it has had.
    invoked: u64,
    broadcasts: BTreeSet<u64>,
    /// The next reduction to which it contributes, of the array and of sections.
    reductions: BTreeMap<Scope, u32>,
    /// The next round for which it gets ready, whether it waits for the one before, and how often
    /// it has been asked to get ready while it waited.
    round: Option<u32>,
    waits: bool,
    owed: u32,
}

/// Over what a reduction is: the array, or one of the sections.
pub(crate) type Scope = Option<usize>;

#[derive(Debug)]
struct Reduction {
    sum: u64,
    elements: u64,
    complete: bool,
}

/// What has happened so far.
#[derive(Debug, Default)]
pub(crate) struct Model {
    now: u64,
    lives: Vec<Life>,
    current: BTreeMap<Index, usize>,
    /// Messages that have not been delivered, and for whom they are.
    sent: BTreeMap<u64, Index>,
    /// When broadcasts were sent.
    broadcasts: BTreeMap<u64, u64>,
    reductions: BTreeMap<Scope, BTreeMap<u32, Reduction>>,
    /// The members of sections.
    sections: Vec<BTreeSet<Index>>,
    /// The sections to which multicasts were sent.
    multicasts: BTreeMap<u64, usize>,
    pub(crate) seen: Seen,
    /// Whether elements wait for each other.
    balances: bool,
}

/// How often what is not in every program has happened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) quiescences: u32,
    /// Members that have had a multicast.
    pub(crate) multicasts: u32,
    pub(crate) section_reductions: u32,
    /// How often an element has gone on.
    pub(crate) resumed: u32,
}

impl Model {
    /// The model of a job whose elements wait for each other to balance loads, or do not.
    pub(crate) fn new(balances: bool) -> Model {
        Model { balances, ..Model::default() }
    }

    fn tick(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    /// An element is constructed.
    pub(crate) fn born(&mut self, index: Index) {
        let born = self.tick();
        let life = Life {
            index,
            born,
            died: false,
            invoked: 0,
            broadcasts: BTreeSet::new(),
            reductions: BTreeMap::new(),
            round: None,
            waits: false,
            owed: 0,
        };
        self.lives.push(life);
        let before = self.current.insert(index, self.lives.len() - 1);
        assert_eq!(before, None, "{index} was constructed twice");
    }

    /// It is deleted, having been invoked so many times as it knows itself.
    pub(crate) fn died(&mut self, index: Index, invoked: u64) {
        let at = self.current.remove(&index).expect("it was alive");
        assert_eq!(self.lives[at].invoked, invoked, "{index} has lost its state");
        self.lives[at].died = true;
    }

    /// A message is sent; its number.
    pub(crate) fn sent(&mut self, index: Index) -> u64 {
        let number = self.tick();
        self.sent.insert(number, index);
        number
    }

    /// A broadcast is sent; its number.
    pub(crate) fn broadcast(&mut self) -> u64 {
        let number = self.tick();
        self.broadcasts.insert(number, number);
        number
    }

    /// A section is made; its place among all.
    pub(crate) fn section(&mut self, members: BTreeSet<Index>) -> usize {
        self.sections.push(members);
        self.sections.len() - 1
    }

    /// A multicast is sent to a section; its number.
    pub(crate) fn multicast(&mut self, section: usize) -> u64 {
        let number = self.tick();
        self.multicasts.insert(number, section);
        number
    }

    /// A message, broadcast or multicast is delivered.
    pub(crate) fn delivered(&mut self, index: Index, number: u64) {
        let life = &mut self.lives[*self.current.get(&index).expect("it is alive")];
        life.invoked += 1;
        if let Some(section) = self.multicasts.get(&number) {
            assert!(self.sections[*section].contains(&index), "{index} is no member");
            assert!(life.broadcasts.insert(number), "{index} had multicast {number} twice");
            self.seen.multicasts += 1;
        } else if self.broadcasts.contains_key(&number) {
            assert!(life.broadcasts.insert(number), "{index} had broadcast {number} twice");
        } else {
            assert_eq!(self.sent.remove(&number), Some(index), "message {number}");
        }
    }

    /// An element contributes to a reduction.
    pub(crate) fn contributed(&mut self, scope: Scope, index: Index, number: u32, value: u64) {
        let life = &mut self.lives[self.current[&index]];
        let next = life.reductions.insert(scope, number + 1);
        // Members of a section begin with its first reduction.
        let first = if scope.is_some() { 0 } else { number };
        assert_eq!(next.unwrap_or(first), number, "{index} has skipped a number");
        let none = Reduction { sum: 0, elements: 0, complete: false };
        let reduction = self.reductions.entry(scope).or_default().entry(number).or_insert(none);
        assert!(!reduction.complete, "{index} contributes to {number}, which is complete");
        reduction.sum = reduction.sum.wrapping_add(value);
        reduction.elements += 1;
    }

    /// An element is asked to get ready: whether it can.
    pub(crate) fn asked(&mut self, index: Index) -> bool {
        let life = &mut self.lives[self.current[&index]];
        life.owed += u32::from(life.waits);
        !life.waits
    }

    /// An element is about to say that it is ready.
    pub(crate) fn gets_ready(&mut self, index: Index) {
        self.lives[self.current[&index]].waits = true;
    }

    /// An element is ready for a round.
    pub(crate) fn ready(&mut self, index: Index, round: u32) {
        let life = &mut self.lives[self.current[&index]];
        assert!(life.round.is_none_or(|next| next == round), "{index} has skipped a round");
        life.round = Some(round + 1);
    }

    /// An element goes on: whether it gets ready again at once.
    pub(crate) fn goes_on(&mut self, index: Index) -> bool {
        self.seen.resumed += 1;
        let life = &mut self.lives[self.current[&index]];
        assert!(std::mem::take(&mut life.waits), "{index} goes on twice");
        let again = life.owed > 0;
        life.owed = life.owed.saturating_sub(1);
        let round = life.round;
        let mut others = self.current.values().filter_map(|at| self.lives[*at].round);
        let all = others.all(|next| Some(next) >= round);
        assert!(all || !self.balances, "{index} goes on before others are ready for {round:?}");
        again
    }

    /// A reduction is complete.
    pub(crate) fn reduced(&mut self, scope: Scope, sum: u64) {
        let all = self.reductions.get_mut(&scope).expect("somebody has contributed");
        let next = all.iter_mut().find(|(_, reduction)| !reduction.complete);
        let (number, reduction) = next.expect("one is under way");
        assert_eq!(reduction.sum, sum, "reduction {number} of {} elements", reduction.elements);
        reduction.complete = true;
        self.seen.section_reductions += u32::from(scope.is_some());
    }

    /// The runtime says that nothing is left to do.
    pub(crate) fn quiescent(&mut self) {
        assert!(self.sent.is_empty(), "messages are under way: {:?}", self.sent);
        self.check_broadcasts();
        self.seen.quiescences += 1;
    }

    fn check_broadcasts(&self) {
        for (number, section) in &self.multicasts {
            // Whoever may be deleted, or was made again, need not belong to the section.
            let members = self.sections[*section].iter().filter(|index| !is_mortal(**index));
            for life in members.map(|index| &self.lives[self.current[index]]) {
                let index = life.index;
                assert!(life.broadcasts.contains(number), "{index} lacks multicast {number}");
            }
        }
        for (number, sent) in &self.broadcasts {
            for life in self.lives.iter().filter(|life| !life.died && life.born < *sent) {
                assert!(
                    life.broadcasts.contains(number),
                    "{} lacks broadcast {number}",
                    life.index
                );
            }
        }
    }

    /// What must be true when no rank has anything left to do.
    pub(crate) fn check_end(&self, here: &BTreeMap<Index, u64>) {
        assert!(self.sent.is_empty(), "messages were lost: {:?}", self.sent);
        self.check_broadcasts();
        let expected: BTreeMap<Index, u64> =
            self.current.iter().map(|(index, at)| (*index, self.lives[*at].invoked)).collect();
        assert_eq!(&expected, here, "elements and how often they were invoked");
        let alive = || self.current.values().map(|at| &self.lives[*at]);
        for waiting in alive().filter(|life| life.waits) {
            let is_behind = |life: &Life| life.round.is_none() || life.round < waiting.round;
            assert!(alive().any(is_behind), "{} should go on", waiting.index);
        }
        for (scope, reductions) in &self.reductions {
            for (number, reduction) in reductions {
                let of_section = |section: usize, life: &Life| {
                    self.sections[section].contains(&life.index) && !is_mortal(life.index)
                };
                let alive = self.current.values().map(|at| &self.lives[*at]);
                let mut alive =
                    alive.filter(|life| scope.is_none_or(|section| of_section(section, life)));
                let behind =
                    |life: &Life| life.reductions.get(scope).is_none_or(|next| next <= number);
                if !alive.any(behind) {
                    assert!(reduction.complete, "{scope:?}: {number} should be complete");
                }
            }
        }
    }
}

fn is_mortal(index: Index) -> bool {
    index.words()[0] >= MORTAL
}
