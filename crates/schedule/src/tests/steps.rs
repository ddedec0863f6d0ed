//! The plan of one rank as the checker executes it: with the addresses of all bytes, and without
//! the memory of the plan, so that the plans of ten thousand ranks fit into memory.

use std::sync::Arc;

use towpath_datatype::{Combiner, Datatype};

use super::order::{Access, Order};
use crate::buffers::{Element, Piece};
use crate::plan::{NONE, Plan, StepAction};

/// Bytes in the order in which they are sent: addresses and lengths.
#[derive(Clone, Debug)]
pub(super) enum Place {
    Row(i64, i64),
    Rows(Arc<[(i64, i64)]>),
}

impl Place {
    /// Calls `visit` with each row.
    pub(super) fn each<E>(
        &self,
        mut visit: impl FnMut(i64, i64) -> Result<(), E>,
    ) -> Result<(), E> {
        match *self {
            Place::Row(address, length) => visit(address, length),
            Place::Rows(ref rows) => {
                rows.iter().try_for_each(|&(address, length)| visit(address, length))
            }
        }
    }

    /// The address and length, if it is one row.
    pub(super) fn row(&self) -> Option<(i64, i64)> {
        match *self {
            Place::Row(address, length) => Some((address, length)),
            Place::Rows(_) => None,
        }
    }

    pub(super) fn bytes(&self) -> i64 {
        match self {
            Place::Row(_, length) => *length,
            Place::Rows(rows) => rows.iter().map(|row| row.1).sum(),
        }
    }

    /// Rows in the order in which they are sent.
    pub(super) fn of_rows(rows: impl IntoIterator<Item = (i64, i64)>) -> Place {
        let mut joined = Vec::new();
        rows.into_iter().for_each(|row| push(&mut joined, row));
        match joined[..] {
            [] => Place::Row(0, 0),
            [(address, length)] => Place::Row(address, length),
            _ => Place::Rows(joined.into()),
        }
    }

    pub(super) fn of(piece: &Piece) -> Place {
        let address = piece.pointer.addr() as i64;
        let Some(datatype) = piece.datatype() else { return Place::Row(address, piece.bytes()) };
        let mut rows = Vec::new();
        repeat(&rows_of(datatype), address, (piece.count, datatype.extent()), &mut rows);
        Place::of_rows(rows)
    }

    /// Elements of a vector.
    pub(super) fn of_elements(element: &Element, pointer: *const u8, count: i64) -> Place {
        Place::of(&element.piece(pointer.cast_mut(), 0, count))
    }
}

/// Appends a row to others.
fn push(rows: &mut Vec<(i64, i64)>, (address, length): (i64, i64)) {
    match rows.last_mut() {
        Some(last) if last.0 + last.1 == address => last.1 += length,
        _ if length > 0 => rows.push((address, length)),
        _ => {}
    }
}

/// Appends the rows of so many elements, the first of which is at `first`.
fn repeat(
    element: &[(i64, i64)],
    first: i64,
    (count, extent): (i64, i64),
    rows: &mut Vec<(i64, i64)>,
) {
    if let &[(address, length)] = element
        && length == extent
    {
        return push(rows, (first + address, count * length));
    }
    for index in 0..count {
        let moved = first + index * extent;
        element.iter().for_each(|&(address, length)| push(rows, (moved + address, length)));
    }
}

/// The bytes of one element at address 0, by the type map of its constructor.
fn rows_of(datatype: &Datatype) -> Vec<(i64, i64)> {
    let contents = datatype.contents();
    let numbers = [contents.integers, contents.counts, contents.addresses].concat();
    let children = &contents.datatypes;
    let of_children: Vec<Vec<(i64, i64)>> = children.iter().map(rows_of).collect();
    let mut rows = Vec::new();
    let mut add = |child: usize, count: i64, first: i64| {
        let child = child.min(children.len() - 1);
        repeat(&of_children[child], first, (count, children[child].extent()), &mut rows);
    };
    match contents.combiner {
        Combiner::Named => push(&mut rows, (0, datatype.size())),
        Combiner::Dup | Combiner::Resized => add(0, 1, 0),
        Combiner::Contiguous => add(0, numbers[0], 0),
        Combiner::Hindexed | Combiner::Struct => {
            let (lengths, places) = numbers[1..].split_at(numbers[0] as usize);
            for (index, (&length, &place)) in lengths.iter().zip(places).enumerate() {
                add(index, length, place);
            }
        }
        Combiner::HindexedBlock => {
            numbers[2..].iter().for_each(|&place| add(0, numbers[1], place));
        }
        combiner => panic!("no schedule makes types by {combiner:?}"),
    }
    rows
}

/// Reductions one after the other, `inout = input op inout`.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    /// The operands of the first one.
    pub(super) input: Place,
    pub(super) inout: Place,
    /// How many.
    pub(super) number: i64,
    /// How far the operands move from each to the next; only those in a row do.
    pub(super) distance: (i64, i64),
}

impl Chain {
    /// A reduction in the chain, by its number.
    pub(super) fn operands(&self, number: i64) -> (Place, Place) {
        let moved = |place: &Place, distance: i64| match *place {
            Place::Row(at, length) => Place::Row(at + distance * number, length),
            ref place => place.clone(),
        };
        (moved(&self.input, self.distance.0), moved(&self.inout, self.distance.1))
    }
}

/// What a step does, see [`StepAction`].
#[derive(Clone, Debug)]
pub(super) enum Action {
    Send { to: usize, turn: u16, place: Place },
    Receive { from: usize, turn: u16, place: Place },
    Copy { from: Place, to: Place },
    Reduce(Chain),
    Expand { expansion: usize },
    Join,
}

/// For each step some others: those that wait for it, or those that it waits for.
#[derive(Debug, Default)]
pub(super) struct Edges {
    /// For each step the end of its part of `others`.
    ends: Vec<u32>,
    others: Vec<u32>,
}

impl Edges {
    fn length(&self) -> usize {
        self.ends.len()
    }

    /// The others of a step.
    pub(super) fn of(&self, step: u32) -> &[u32] {
        let first = step.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.others[first as usize..self.ends[step as usize] as usize]
    }

    fn each(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.length() as u32).map(|step| self.of(step))
    }

    /// Adds the others of the next step, without those that repeat the one before.
    fn push(&mut self, others: impl IntoIterator<Item = u32>) {
        let first = self.others.len();
        for other in others {
            if self.others.len() == first || self.others.last() != Some(&other) {
                self.others.push(other);
            }
        }
        self.ends.push(self.others.len() as u32);
    }

    /// The same edges from their other ends, whose steps are as many: ascending for each step.
    fn reversed(&self) -> Edges {
        let mut next = vec![0; self.length() + 1];
        self.others.iter().for_each(|&other| next[other as usize + 1] += 1);
        for step in 0..self.length() {
            next[step + 1] += next[step];
        }
        next.pop();
        let mut others = vec![0; self.others.len()];
        for (step, edges) in self.each().enumerate() {
            for &other in edges {
                let slot = &mut next[other as usize];
                others[*slot as usize] = step as u32;
                *slot += 1;
            }
        }
        Edges { ends: next, others }
    }

    /// Appends the edges of other steps, the first of which has the next number.
    fn append(&mut self, other: Edges) {
        let (steps, edges) = (self.length() as u32, self.others.len() as u32);
        self.ends.extend(other.ends.into_iter().map(|end| end + edges));
        self.others.extend(other.others.into_iter().map(|step| step + steps));
    }
}

/// The steps of a rank, and which of them follow a step.
#[derive(Debug, Default)]
pub(super) struct Steps {
    pub(super) actions: Vec<Action>,
    /// Number of steps that each step waits for.
    pub(super) waiting: Vec<u32>,
    /// The steps that wait for each.
    pub(super) followers: Edges,
}

impl Steps {
    /// Appends steps. Returns the number of the first one.
    pub(super) fn append(&mut self, other: Steps) -> u32 {
        let first = self.actions.len() as u32;
        self.actions.extend(other.actions);
        self.waiting.extend(other.waiting);
        self.followers.append(other.followers);
        first
    }

    /// Translates a plan, whose reductions are of vectors of `element`.
    pub(super) fn of(plan: &Plan, element: &Element) -> Steps {
        match plan.expansions.is_empty() {
            true => Merging::of(actions_of(plan, element), &predecessors(plan)).steps(),
            // Expansions name steps by their numbers.
            false => Steps::of_all(plan, element),
        }
    }

    /// The same with all steps as they are.
    pub(super) fn of_all(plan: &Plan, element: &Element) -> Steps {
        let (actions, before) = (actions_of(plan, element), predecessors(plan));
        Merging { actions, before }.steps()
    }
}

/// The steps that each step waits for, ascending.
fn predecessors(plan: &Plan) -> Edges {
    let mut after = Edges::default();
    for step in &plan.steps {
        let edge = |number: u32| (number != NONE).then(|| plan.edges[number as usize]);
        let edges = std::iter::successors(edge(step.first_edge), |last| edge(last.next));
        after.others.extend(edges.map(|edge| edge.to));
        after.ends.push(after.others.len() as u32);
    }
    let (repeated, mut before) = (after.reversed(), Edges::default());
    for (step, edges) in plan.steps.iter().zip(repeated.each()) {
        assert_eq!(step.dependencies as usize, edges.len(), "a step counts its edges");
        before.push(edges.iter().copied());
    }
    before
}

fn actions_of(plan: &Plan, element: &Element) -> Vec<Action> {
    plan.steps.iter().map(|step| action(&step.action, element)).collect()
}

fn action(action: &StepAction, element: &Element) -> Action {
    match action {
        StepAction::Send { peer, turn, piece } => {
            Action::Send { to: peer.slot(), turn: *turn, place: Place::of(piece) }
        }
        StepAction::Receive { peer, turn, piece } => {
            Action::Receive { from: peer.slot(), turn: *turn, place: Place::of(piece) }
        }
        StepAction::Copy { from, to } => Action::Copy { from: Place::of(from), to: Place::of(to) },
        StepAction::Reduce { input, inout, count, .. } => Action::Reduce(Chain {
            input: Place::of_elements(element, *input, *count),
            inout: Place::of_elements(element, *inout, *count),
            number: 1,
            distance: (0, 0),
        }),
        StepAction::Expand { expansion } => Action::Expand { expansion: *expansion as usize },
        StepAction::Join => Action::Join,
    }
}

/// What a step reads and writes.
pub(super) fn accesses(action: &Action, mut visit: impl FnMut(Access)) {
    let mut add = |place: &Place, writes: bool| {
        let each = place.each(|address, length| {
            if length > 0 {
                visit(Access { first: address, end: address + length, writes });
            }
            Ok::<(), ()>(())
        });
        each.expect("no visit fails");
    };
    match action {
        Action::Send { place, .. } => add(place, false),
        Action::Receive { place, .. } => add(place, true),
        Action::Copy { from, to } => {
            add(from, false);
            add(to, true);
        }
        Action::Reduce(Chain { input, inout, .. }) => {
            add(input, false);
            add(inout, true);
        }
        Action::Expand { .. } | Action::Join => {}
    }
}

/// Joins steps that do the same to bytes in a row, as one step each: the copies and reductions of
/// ten thousand blocks.
struct Merging {
    actions: Vec<Action>,
    before: Edges,
}

impl Merging {
    fn of(actions: Vec<Action>, before: &Edges) -> Merging {
        let after = before.reversed();
        let mut merged = Merging { actions: Vec::new(), before: Edges::default() };
        let mut number_of = Vec::with_capacity(actions.len());
        for (own, action) in (0u32..).zip(actions) {
            let new = before.of(own);
            let joined = own.checked_sub(1).and_then(|last| {
                let old = before.of(last);
                let is_alike = old == new && after.of(last) == after.of(own);
                let is_chain = after.of(last) == [own]
                    && new.iter().all(|earlier| *earlier == last || old.contains(earlier));
                join(merged.actions.last()?, &action, is_alike, is_chain)
            });
            match joined {
                Some(both) => *merged.actions.last_mut().expect("one was joined") = both,
                None => {
                    merged.actions.push(action);
                    merged.before.push(new.iter().map(|&earlier| number_of[earlier as usize]));
                }
            }
            number_of.push(merged.actions.len() as u32 - 1);
        }
        merged
    }

    fn steps(self) -> Steps {
        let waiting = self.before.each().map(|before| before.len() as u32).collect();
        Steps { actions: self.actions, waiting, followers: self.before.reversed() }
    }
}

/// Two steps as one. `is_alike` if they wait for the same steps and the same ones wait for them;
/// `is_chain` if only the second waits for the first, and for nothing more.
fn join(one: &Action, other: &Action, is_alike: bool, is_chain: bool) -> Option<Action> {
    match (one, other) {
        (
            &Action::Copy { from: Place::Row(from, length), to: Place::Row(to, _) },
            &Action::Copy { from: Place::Row(next_from, more), to: Place::Row(next_to, _) },
        ) if is_alike && next_from == from + length && next_to == to + length => {
            let both = length + more;
            Some(Action::Copy { from: Place::Row(from, both), to: Place::Row(to, both) })
        }
        (Action::Reduce(chain), Action::Reduce(next)) if is_chain => {
            let Chain { number, distance, .. } = *chain;
            let [(input, length), (inout, _)] = [chain.input.row()?, chain.inout.row()?];
            let [(next_input, more), (next_inout, _)] = [next.input.row()?, next.inout.row()?];
            let moved = (
                next_input - input - (number - 1) * distance.0,
                next_inout - inout - (number - 1) * distance.1,
            );
            let goes_on = length == more && (number == 1 || moved == distance);
            goes_on.then(|| {
                Action::Reduce(Chain { number: number + 1, distance: moved, ..chain.clone() })
            })
        }
        _ => None,
    }
}

/// Checks that steps which access the same bytes, and messages that match in order, are in an
/// order. The plan begins after the step `after`, and the accesses of `posted` receives come later.
pub(super) fn check_order(
    order: &mut Order,
    plan: &Plan,
    element: &Element,
    after: Option<u32>,
    posted: &dyn Fn(u32) -> bool,
) -> Result<(), String> {
    let first = order.length();
    for (step, before) in plan.steps.iter().zip(predecessors(plan).each()) {
        let mut before: Vec<u32> = before.iter().map(|earlier| earlier + first).collect();
        if before.is_empty() {
            before.extend(after);
        }
        let own = order.add(before, matches!(step.action, StepAction::Join));
        let action = action(&step.action, element);
        match &action {
            Action::Send { to, turn, .. } => order.message(own, (*to, *turn, true))?,
            Action::Receive { from, turn, .. } => order.message(own, (*from, *turn, false))?,
            _ => {}
        }
        if posted(own - first) {
            continue;
        }
        let mut outcome = Ok(());
        accesses(&action, |access| {
            let found = order.access(own, access);
            if outcome.is_ok() {
                outcome = found;
            }
        });
        outcome.map_err(|other| {
            format!(
                "step {own} ({:?}) may access bytes at the same time as step {other}",
                step.action
            )
        })?;
    }
    Ok(())
}
