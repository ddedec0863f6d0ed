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

    pub(super) fn bytes(&self) -> i64 {
        match self {
            Place::Row(_, length) => *length,
            Place::Rows(rows) => rows.iter().map(|row| row.1).sum(),
        }
    }

    fn of_rows(rows: Vec<(i64, i64)>) -> Place {
        let mut joined: Vec<(i64, i64)> = Vec::new();
        for (address, length) in rows.into_iter().filter(|row| row.1 > 0) {
            match joined.last_mut() {
                Some(last) if last.0 + last.1 == address => last.1 += length,
                _ => joined.push((address, length)),
            }
        }
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

/// Appends the rows of so many elements, the first of which is at `first`.
fn repeat(
    element: &[(i64, i64)],
    first: i64,
    (count, extent): (i64, i64),
    rows: &mut Vec<(i64, i64)>,
) {
    for index in 0..count {
        let moved = first + index * extent;
        rows.extend(element.iter().map(|&(address, length)| (moved + address, length)));
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
        Combiner::Named => rows.push((0, datatype.size())),
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

/// What a step does, see [`StepAction`].
#[derive(Clone, Debug)]
pub(super) enum Action {
    Send {
        to: usize,
        turn: u16,
        place: Place,
    },
    Receive {
        from: usize,
        turn: u16,
        place: Place,
    },
    Copy {
        from: Place,
        to: Place,
    },
    /// Several reductions in a row, whose operands are this far apart.
    Reduce {
        input: Place,
        inout: Place,
        number: i64,
        distance: (i64, i64),
    },
    Expand {
        expansion: usize,
    },
    Join,
}

/// The steps of a rank, and which of them follow a step.
#[derive(Debug, Default)]
pub(super) struct Steps {
    pub(super) actions: Vec<Action>,
    /// Number of steps that each step waits for.
    pub(super) waiting: Vec<u32>,
    /// Index of the first follower of each step.
    first_follower: Vec<u32>,
    followers: Vec<u32>,
}

impl Steps {
    /// The steps that wait for a step.
    pub(super) fn followers(&self, step: u32) -> &[u32] {
        let first = self.first_follower[step as usize] as usize;
        let end = self
            .first_follower
            .get(step as usize + 1)
            .map_or(self.followers.len(), |&at| at as usize);
        &self.followers[first..end]
    }

    /// Appends steps. Returns the number of the first one.
    pub(super) fn append(&mut self, other: Steps) -> u32 {
        let (first, edges) = (self.actions.len() as u32, self.followers.len() as u32);
        self.actions.extend(other.actions);
        self.waiting.extend(other.waiting);
        self.first_follower.extend(other.first_follower.into_iter().map(|at| at + edges));
        self.followers.extend(other.followers.into_iter().map(|step| step + first));
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
pub(super) fn predecessors(plan: &Plan) -> Vec<Vec<u32>> {
    let mut before = vec![Vec::new(); plan.steps.len()];
    for (number, step) in plan.steps.iter().enumerate() {
        let mut edge = step.first_edge;
        while edge != NONE {
            let follower = plan.edges[edge as usize];
            before[follower.to as usize].push(number as u32);
            edge = follower.next;
        }
    }
    for (step, before) in plan.steps.iter().zip(&mut before) {
        assert_eq!(step.dependencies as usize, before.len(), "a step counts its edges");
        before.dedup();
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
        StepAction::Reduce { input, inout, count } => Action::Reduce {
            input: Place::of_elements(element, *input, *count),
            inout: Place::of_elements(element, *inout, *count),
            number: 1,
            distance: (0, 0),
        },
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
        Action::Reduce { input, inout, .. } => {
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
    before: Vec<Vec<u32>>,
}

impl Merging {
    fn of(actions: Vec<Action>, before: &[Vec<u32>]) -> Merging {
        let mut after = vec![Vec::new(); actions.len()];
        for (step, before) in before.iter().enumerate() {
            before.iter().for_each(|&earlier| after[earlier as usize].push(step as u32));
        }
        let mut merged = Merging { actions: Vec::new(), before: Vec::new() };
        let mut number_of = Vec::with_capacity(actions.len());
        for (step, action) in actions.into_iter().enumerate() {
            let own = step as u32;
            let joined = step.checked_sub(1).and_then(|last| {
                let (old, new) = (&before[last], &before[step]);
                let is_alike = old == new && after[last] == after[step];
                let is_chain = after[last] == [own]
                    && new.iter().all(|earlier| *earlier == own - 1 || old.contains(earlier));
                join(merged.actions.last()?, &action, is_alike, is_chain)
            });
            match joined {
                Some(both) => *merged.actions.last_mut().expect("one was joined") = both,
                None => {
                    merged.actions.push(action);
                    let earlier = before[step].iter().map(|&earlier| number_of[earlier as usize]);
                    let mut earlier: Vec<u32> = earlier.collect();
                    earlier.dedup();
                    merged.before.push(earlier);
                }
            }
            number_of.push(merged.actions.len() as u32 - 1);
        }
        merged
    }

    fn steps(self) -> Steps {
        let mut number = vec![0; self.actions.len() + 1];
        self.before.iter().flatten().for_each(|&earlier| number[earlier as usize + 1] += 1);
        for step in 0..self.actions.len() {
            number[step + 1] += number[step];
        }
        let (mut next, mut followers) =
            (number.clone(), vec![0; number[self.actions.len()] as usize]);
        for (step, before) in self.before.iter().enumerate() {
            for &earlier in before {
                let slot = &mut next[earlier as usize];
                followers[*slot as usize] = step as u32;
                *slot += 1;
            }
        }
        number.pop();
        let waiting = self.before.iter().map(|before| before.len() as u32).collect();
        Steps { actions: self.actions, waiting, first_follower: number, followers }
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
        (
            &Action::Reduce {
                input: Place::Row(input, length),
                inout: Place::Row(inout, _),
                number,
                distance,
            },
            &Action::Reduce {
                input: Place::Row(next_input, more),
                inout: Place::Row(next_inout, _),
                ..
            },
        ) if is_chain && length == more => {
            let moved = (
                next_input - input - (number - 1) * distance.0,
                next_inout - inout - (number - 1) * distance.1,
            );
            (number == 1 || moved == distance).then_some(Action::Reduce {
                input: Place::Row(input, length),
                inout: Place::Row(inout, length),
                number: number + 1,
                distance: moved,
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
    for (step, before) in plan.steps.iter().zip(predecessors(plan)) {
        let mut before: Vec<u32> = before.into_iter().map(|earlier| earlier + first).collect();
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
