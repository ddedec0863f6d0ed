//! Reductions over the chares of a collection.
//!
//! The reductions of a collection are numbered, and every element contributes to one after another.
//! A rank reports to its parent in the tree of the collection's root once all its elements have
//! contributed to the next number and all its children have reported it. A rank without elements
//! does not know that a reduction is under way; its parent asks it.
//!
//! Elements migrate, are made and are deleted meanwhile, so what counts is their number: a report
//! says how many contributions it combines, and how many elements the reporting ranks have seen
//! begin less those that they have seen end. What happens after a rank has reported a number it
//! tells the root directly. The reduction is complete when the root has heard of as many
//! contributions as there are elements. A new element begins with the first reduction that is not
//! under way on its rank, so no rank reports fewer elements than will contribute.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::callback::ChareCallback;
use crate::tree::SpanningTree;

/// What one element contributes, or what was combined of several contributions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contribution {
    /// How contributions are combined ([`crate::Chares::combine`]).
    pub reducer: u32,
    /// How many elements have contributed. The runtime sets it.
    pub elements: u64,
    /// Who gets the result; the first that contributes one decides.
    pub callback: Option<ChareCallback>,
    /// The value.
    pub value: Vec<u8>,
}

/// What ranks tell each other about reductions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReductionMessage {
    /// To the parent: all of this subtree.
    Report {
        /// The sender.
        rank: u32,
        /// The reduction.
        number: u32,
        /// Elements that have begun less those that have ended.
        elements: i64,
        /// Whether the subtree has ranks that must be asked for the next number.
        ask: bool,
        /// What the elements contributed, if any did.
        combined: Option<Contribution>,
    },
    /// To a child: this reduction is under way.
    Ask(u32),
    /// To the parent: the sender must be asked from this number on.
    AskMe {
        /// The sender.
        rank: u32,
        /// The number that it reports next.
        number: u32,
    },
    /// To the root: what happened after the rank's report.
    Late {
        /// The reduction.
        number: u32,
        /// Elements that have ended, negative.
        elements: i64,
        /// What an element contributed.
        contribution: Option<Contribution>,
    },
}

/// What a rank has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReductionStep {
    /// Send this to a rank.
    Send(u32, ReductionMessage),
    /// At the root: a reduction is complete; its result.
    Complete(Contribution),
}

/// Combines two values of a reducer: the second into the first.
pub type Combine<'a> = &'a dyn Fn(u32, &mut Vec<u8>, &[u8]) -> Result<(), String>;

/// One rank's part of the reductions of a collection.
#[derive(Debug)]
pub struct Reductions {
    tree: SpanningTree,
    /// Reductions begin when all first elements are there.
    open: bool,
    /// The next number that this rank reports.
    next: u32,
    /// Elements here, by the number that they contribute to next.
    local: BTreeMap<u32, u64>,
    /// Elements that have begun here less those that have ended here, for the number `next`.
    elements: i64,
    /// What changes that for later numbers.
    changes: BTreeMap<u32, i64>,
    /// Reductions from `next` on.
    under_way: BTreeMap<u32, UnderWay>,
    children: Vec<Child>,
    /// Whether the parent knows that it must ask.
    told_to_ask: bool,
    /// At the root: reported by all and not complete.
    gathered: BTreeMap<u32, Gathered>,
    /// At the root: the next one to complete.
    incomplete: u32,
}

#[derive(Debug, Default)]
struct UnderWay {
    combined: Option<Contribution>,
    /// Of the children that have reported.
    elements: i64,
    reported: Vec<u32>,
    asked: Vec<u32>,
}

#[derive(Debug)]
struct Child {
    rank: u32,
    /// Whether it must be asked.
    ask: bool,
    /// The number that it reported next when it said so: what it says may overtake what it said.
    from: u32,
}

#[derive(Debug, Default)]
struct Gathered {
    by_all: bool,
    elements: i64,
    combined: Option<Contribution>,
}

impl Reductions {
    /// The part of a rank, before it has elements.
    #[must_use]
    pub fn new(tree: SpanningTree) -> Reductions {
        Reductions {
            tree,
            open: false,
            next: 0,
            local: BTreeMap::new(),
            elements: 0,
            changes: BTreeMap::new(),
            under_way: BTreeMap::new(),
            // A parent does not know at first which children have elements.
            children: tree.children().map(|rank| Child { rank, ask: true, from: 0 }).collect(),
            told_to_ask: true,
            gathered: BTreeMap::new(),
            incomplete: 0,
        }
    }

    /// The same, where elements contribute to this reduction first.
    #[must_use]
    pub fn starting_with(tree: SpanningTree, first: u32) -> Reductions {
        Reductions { next: first, incomplete: first, ..Reductions::new(tree) }
    }

    /// Whether all first elements were here.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Whether this rank knows of a contribution to a reduction that is not complete.
    #[must_use]
    pub fn are_under_way(&self) -> bool {
        let under_way = self.under_way.values().map(|one| &one.combined);
        let gathered = self.gathered.values().map(|one| &one.combined);
        under_way.chain(gathered).any(Option::is_some)
    }

    /// All first elements are here.
    pub fn open(&mut self, combine: Combine) -> Result<Vec<ReductionStep>, String> {
        self.open = true;
        self.advance(combine)
    }

    /// So many elements take part in all reductions, and are on their way to the ranks where they
    /// contribute.
    pub fn begin_elsewhere(&mut self, elements: i64) {
        self.open = true;
        self.elements += elements;
    }

    /// An element begins here: the number of its first reduction.
    pub fn created(&mut self) -> u32 {
        // Before the collection is open, all elements take part in the first reduction.
        let last = self.under_way.last_key_value().filter(|_| self.open);
        let first = last.map_or(self.next, |(last, _)| last + 1);
        *self.local.entry(first).or_default() += 1;
        self.change(first, 1);
        first
    }

    /// An element has come that contributes to `number` next.
    pub fn arrived(&mut self, number: u32) {
        *self.local.entry(number).or_default() += 1;
    }

    /// An element has left that would have contributed to `number` next.
    pub fn departed(
        &mut self,
        number: u32,
        combine: Combine,
    ) -> Result<Vec<ReductionStep>, String> {
        self.remove(number);
        let mut steps = self.advance(combine)?;
        self.tell_to_ask(&mut steps);
        Ok(steps)
    }

    /// An element has ended that would have contributed to `number` next.
    pub fn deleted(&mut self, number: u32, combine: Combine) -> Result<Vec<ReductionStep>, String> {
        let mut steps = Vec::new();
        for late in number..self.next {
            self.late(late, -1, None, &mut steps, combine)?;
        }
        self.change(number, -1);
        steps.extend(self.departed(number, combine)?);
        Ok(steps)
    }

    /// An element here contributes to `number`, its next one.
    pub fn contribute(
        &mut self,
        number: u32,
        contribution: Contribution,
        combine: Combine,
    ) -> Result<Vec<ReductionStep>, String> {
        self.remove(number);
        *self.local.entry(number + 1).or_default() += 1;
        let mut steps = Vec::new();
        if number < self.next {
            self.late(number, 0, Some(contribution), &mut steps, combine)?;
        } else {
            let under_way = self.under_way.entry(number).or_default();
            add(&mut under_way.combined, Some(contribution), combine)?;
        }
        steps.extend(self.advance(combine)?);
        Ok(steps)
    }

    /// At the root: how many are complete.
    #[must_use]
    pub fn completed(&self) -> u32 {
        self.incomplete
    }

    /// Another rank says something.
    pub fn message(
        &mut self,
        message: ReductionMessage,
        combine: Combine,
    ) -> Result<Vec<ReductionStep>, String> {
        let mut steps = Vec::new();
        match message {
            ReductionMessage::Report { rank, number, elements, ask, combined } => {
                self.hear(rank, number + 1, ask, false);
                let under_way = self.under_way.entry(number).or_default();
                under_way.reported.push(rank);
                under_way.elements += elements;
                add(&mut under_way.combined, combined, combine)?;
            }
            ReductionMessage::Ask(number) => {
                if number >= self.next {
                    self.under_way.entry(number).or_default();
                }
            }
            ReductionMessage::AskMe { rank, number } => {
                self.hear(rank, number, true, true);
                self.tell_to_ask(&mut steps);
            }
            ReductionMessage::Late { number, elements, contribution } => {
                self.gather(number, elements, contribution, combine)?;
                self.complete(&mut steps);
            }
        }
        steps.extend(self.advance(combine)?);
        Ok(steps)
    }

    /// A child says whether it must be asked from a number on. A report is what it says first of
    /// that number.
    fn hear(&mut self, rank: u32, from: u32, ask: bool, again: bool) {
        let Some(child) = self.children.iter_mut().find(|child| child.rank == rank) else { return };
        if from > child.from || again && from == child.from {
            (child.from, child.ask) = (from, ask);
        }
    }

    fn remove(&mut self, number: u32) {
        if let Some(elements) = self.local.get_mut(&number) {
            *elements -= 1;
            if *elements == 0 {
                self.local.remove(&number);
            }
        }
    }

    /// Counts elements from `number` on.
    fn change(&mut self, number: u32, elements: i64) {
        if number <= self.next {
            self.elements += elements;
        } else {
            *self.changes.entry(number).or_default() += elements;
        }
    }

    /// Reports every number that is complete here.
    fn advance(&mut self, combine: Combine) -> Result<Vec<ReductionStep>, String> {
        let mut steps = Vec::new();
        while self.open && self.is_complete_here() {
            self.ask_children(&mut steps);
            let under_way = self.under_way.entry(self.next).or_default();
            if under_way.reported.len() < self.children.len() {
                break;
            }
            self.report(&mut steps, combine)?;
        }
        Ok(steps)
    }

    /// Whether the next reduction is under way and all elements here have contributed to it.
    fn is_complete_here(&self) -> bool {
        let behind = self.local.first_key_value().is_some_and(|(number, _)| *number <= self.next);
        // Elements that are ahead have contributed elsewhere.
        !behind && (self.under_way.contains_key(&self.next) || !self.local.is_empty())
    }

    fn ask_children(&mut self, steps: &mut Vec<ReductionStep>) {
        let number = self.next;
        let under_way = self.under_way.entry(number).or_default();
        for child in self.children.iter().filter(|child| child.ask) {
            let known = [&under_way.reported, &under_way.asked];
            if !known.iter().any(|ranks| ranks.contains(&child.rank)) {
                under_way.asked.push(child.rank);
                steps.push(ReductionStep::Send(child.rank, ReductionMessage::Ask(number)));
            }
        }
    }

    fn report(&mut self, steps: &mut Vec<ReductionStep>, combine: Combine) -> Result<(), String> {
        let number = self.next;
        let UnderWay { combined, elements, .. } =
            self.under_way.remove(&number).unwrap_or_default();
        let elements = elements + self.elements;
        self.next += 1;
        self.elements += self.changes.remove(&self.next).unwrap_or(0);
        if let Some(parent) = self.tree.parent() {
            let (rank, ask) = (self.tree.rank(), self.must_be_asked());
            self.told_to_ask = ask;
            let report = ReductionMessage::Report { rank, number, elements, ask, combined };
            steps.push(ReductionStep::Send(parent, report));
        } else {
            self.gather(number, elements, combined, combine)?;
            self.gathered.entry(number).or_default().by_all = true;
            self.complete(steps);
        }
        Ok(())
    }

    fn must_be_asked(&self) -> bool {
        self.local.is_empty() || self.children.iter().any(|child| child.ask)
    }

    /// Tells the parent that it must ask, if it does not know.
    fn tell_to_ask(&mut self, steps: &mut Vec<ReductionStep>) {
        if let Some(parent) = self.tree.parent()
            && !self.told_to_ask
            && self.must_be_asked()
        {
            self.told_to_ask = true;
            let ask_me = ReductionMessage::AskMe { rank: self.tree.rank(), number: self.next };
            steps.push(ReductionStep::Send(parent, ask_me));
        }
    }

    /// Tells the root what happened after the report.
    fn late(
        &mut self,
        number: u32,
        elements: i64,
        contribution: Option<Contribution>,
        steps: &mut Vec<ReductionStep>,
        combine: Combine,
    ) -> Result<(), String> {
        if self.tree.parent().is_some() {
            let late = ReductionMessage::Late { number, elements, contribution };
            steps.push(ReductionStep::Send(self.tree.root(), late));
        } else {
            self.gather(number, elements, contribution, combine)?;
            self.complete(steps);
        }
        Ok(())
    }

    fn gather(
        &mut self,
        number: u32,
        elements: i64,
        contribution: Option<Contribution>,
        combine: Combine,
    ) -> Result<(), String> {
        let gathered = self.gathered.entry(number).or_default();
        gathered.elements += elements;
        add(&mut gathered.combined, contribution, combine)
    }

    /// At the root: completes what is complete, in the order of numbers.
    fn complete(&mut self, steps: &mut Vec<ReductionStep>) {
        while let Some(gathered) = self.gathered.get(&self.incomplete) {
            let elements = gathered.combined.as_ref().map_or(0, |all| all.elements);
            if !gathered.by_all || i64::try_from(elements) != Ok(gathered.elements) {
                return;
            }
            let combined = self.gathered.remove(&self.incomplete).and_then(|all| all.combined);
            // Without a contribution, all elements have ended: nobody waits for the result.
            steps.extend(combined.map(ReductionStep::Complete));
            self.incomplete += 1;
        }
    }
}

/// Combines a contribution with what there is.
fn add(
    combined: &mut Option<Contribution>,
    contribution: Option<Contribution>,
    combine: Combine,
) -> Result<(), String> {
    let (Some(all), Some(one)) = (combined.as_mut(), &contribution) else {
        if combined.is_none() {
            *combined = contribution;
        }
        return Ok(());
    };
    if all.reducer != one.reducer {
        return Err("elements contribute to one reduction with different reducers".into());
    }
    combine(all.reducer, &mut all.value, &one.value)?;
    all.elements += one.elements;
    if all.callback.is_none() {
        all.callback.clone_from(&one.callback);
    }
    Ok(())
}
