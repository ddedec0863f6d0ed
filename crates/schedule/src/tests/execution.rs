//! Executes the plans of all ranks with symbols in the place of data. Every message waits for its
//! receive, so a schedule that ends here ends on any network (see [`crate::simulation`]).

use std::collections::{HashMap, VecDeque};

use super::content::{Front, Memory, Origin, Run, length_of};
use super::definition::{Case, Content, Duty};
use super::folds::{FoldId, Folds, LITERAL, Literals};
use super::knowledge::Ranks;
use super::order::Order;
use super::steps::{Action, Place, Steps, check_order};
use crate::buffers::{Element, Scratch};
use crate::plan::{Expansion, Plan};

mod reductions;

/// What is wrong with a schedule, in words.
pub(super) type Fault = String;

/// One rank under way.
#[derive(Default)]
struct RankState {
    steps: Steps,
    left: usize,
    memory: Memory,
    /// Where it may write: first and last addresses, ascending.
    writable: Vec<(i64, i64)>,
    /// Of a plan with expansions.
    expanding: Option<Box<Expanding>>,
    /// For a barrier, the ranks that have begun, as each step knows.
    known: Vec<Ranks>,
    knows: Ranks,
}

/// What later steps of a plan need.
struct Expanding {
    expansions: Vec<Expansion>,
    /// Bytes that each receive has got.
    received: HashMap<u32, i64>,
    memory: Vec<Scratch>,
    order: Order,
}

/// Steps that wait for their partner.
#[derive(Default)]
struct Channel {
    sent: VecDeque<u32>,
    expected: VecDeque<u32>,
}

pub(super) struct Execution<'a> {
    case: &'a Case,
    element: Element,
    ranks: Vec<RankState>,
    ready: VecDeque<(u32, u32)>,
    /// By sender, receiver and turn.
    channels: HashMap<(u32, u32, u16), Channel>,
    folds: Folds,
    literals: Literals,
    /// What the call has folded, if all ranks must get the same.
    result: Option<FoldId>,
    is_over: usize,
}

/// Checks a case. `alter` may change the plan of a rank.
pub(super) fn check(case: &Case, alter: &mut dyn FnMut(usize, &mut Plan)) -> Result<(), Fault> {
    let mut execution = Execution::of(case);
    for rank in 0..case.size() {
        let state = execution.prepare(rank, alter);
        let state = state.map_err(|fault| format!("rank {rank}: {fault}"))?;
        execution.ranks.push(state);
    }
    for rank in 0..case.size() {
        execution.release(rank, 0);
        if execution.ranks[rank].left == 0 {
            execution.finish(rank).map_err(|fault| format!("rank {rank}: {fault}"))?;
        }
    }
    execution.run()
}

impl Execution<'_> {
    /// Without ranks.
    fn of(case: &Case) -> Execution<'_> {
        Execution {
            case,
            element: case.element(),
            ranks: Vec::new(),
            ready: VecDeque::new(),
            channels: HashMap::new(),
            folds: Folds::new(case.size()),
            literals: Literals::default(),
            result: None,
            is_over: 0,
        }
    }

    fn prepare(
        &mut self,
        rank: usize,
        alter: &mut dyn FnMut(usize, &mut Plan),
    ) -> Result<RankState, Fault> {
        let Duty { operation, inputs, outputs } = self.case.duty(rank);
        let mut plan = self.case.plan(rank, &operation);
        alter(rank, &mut plan);
        let mut state = RankState::default();
        for (place, content) in &inputs {
            self.fill(&mut state.memory, place, content);
        }
        for output in outputs.iter().filter(|output| !output.is_kept) {
            state.permit(&output.place);
        }
        self.add_memory(&mut state, &mut plan.memory);
        let mut order = Order::default();
        let expands = !plan.expansions.is_empty();
        if expands || self.case.checks_order(rank) {
            let posted = |step| plan.expansions.iter().any(|one| one.posted.contains(&step));
            check_order(&mut order, &plan, &self.element, None, &posted)?;
        }
        state.steps = Steps::of(&plan, &self.element);
        state.left = state.steps.actions.len();
        if self.case.is_barrier() {
            let own = Ranks::of(rank);
            state.known = vec![own.clone(); state.left];
            state.knows = own;
        }
        if expands {
            let (expansions, memory, received) = (plan.expansions, plan.memory, HashMap::new());
            state.expanding = Some(Box::new(Expanding { expansions, received, memory, order }));
        }
        Ok(state)
    }

    /// Stores what memory contains before the call.
    fn fill(&self, memory: &mut Memory, place: &Place, content: &Content) {
        let Content::Data(runs) = content else { panic!("inputs are data") };
        let mut front = Front::of(runs);
        let stored = place.each(|address, length| {
            let mut row = Vec::new();
            front.take(length, &mut row);
            memory.write(address, &row);
            Ok::<(), ()>(())
        });
        stored.expect("nothing forbids that");
    }

    /// Lets a rank use the memory of its plan.
    fn add_memory(&mut self, state: &mut RankState, memory: &mut [Scratch]) {
        for scratch in memory {
            let address = scratch.pointer().addr() as i64;
            state.permit(&Place::Row(address, scratch.bytes() as i64));
            // What the signals of a barrier are, nobody reads.
            let signals = if self.case.is_barrier() { scratch.bytes() } else { 0 };
            let written = scratch.written().chain(std::iter::repeat_n(0, signals));
            let (offset, length) = self.literals.add(written.take(scratch.bytes()));
            if length > 0 {
                state.memory.write(address, &[Run::of(Origin { fold: LITERAL, offset }, length)]);
            }
        }
        state.writable.sort_unstable();
    }

    /// Makes the steps from `first` on ready that wait for nothing.
    fn release(&mut self, rank: usize, first: u32) {
        let waiting = self.ranks[rank].steps.waiting.iter().enumerate().skip(first as usize);
        let ready = waiting.filter(|(_, waiting)| **waiting == 0);
        self.ready.extend(ready.map(|(step, _)| (rank as u32, step as u32)));
    }

    fn run(mut self) -> Result<(), Fault> {
        while let Some((rank, step)) = self.ready.pop_front() {
            self.start(rank as usize, step).map_err(|fault| {
                let action = self.ranks[rank as usize].steps.actions.get(step as usize);
                format!("rank {rank}, step {step} ({action:?}): {fault}")
            })?;
        }
        let waiting = self.channels.iter().find(|(_, channel)| !channel.is_empty());
        if let Some((&(from, to, turn), channel)) = waiting {
            let (sends, receives) = (&channel.sent, &channel.expected);
            return Err(format!(
                "deadlock: sends {sends:?} of rank {from} and receives {receives:?} of rank {to} \
                 with turn {turn} wait"
            ));
        }
        if self.is_over < self.ranks.len() {
            return Err("deadlock: steps wait for each other".into());
        }
        Ok(())
    }

    fn start(&mut self, rank: usize, step: u32) -> Result<(), Fault> {
        let action = self.ranks[rank].steps.actions[step as usize].clone();
        match action {
            Action::Join => {}
            Action::Copy { from, to } => {
                let runs = self.ranks[rank].read(&from)?;
                self.ranks[rank].write(&to, &runs)?;
            }
            Action::Reduce(chain) => self.reduce(rank, &chain)?,
            Action::Expand { expansion } => self.expand(rank, step, expansion)?,
            Action::Send { to, turn, .. } => {
                let key = (rank as u32, to as u32, turn);
                self.channels.entry(key).or_default().sent.push_back(step);
                return self.meet(key);
            }
            Action::Receive { from, turn, .. } => {
                let key = (from as u32, rank as u32, turn);
                self.channels.entry(key).or_default().expected.push_back(step);
                return self.meet(key);
            }
        }
        self.complete(rank, step)
    }

    /// Transfers the first message of a channel, if a receive expects it.
    fn meet(&mut self, key: (u32, u32, u16)) -> Result<(), Fault> {
        let channel = self.channels.get_mut(&key).expect("a step has just used it");
        let (Some(&send), Some(&receive)) = (channel.sent.front(), channel.expected.front()) else {
            return Ok(());
        };
        channel.sent.pop_front();
        channel.expected.pop_front();
        if channel.is_empty() {
            self.channels.remove(&key);
        }
        let (from, to) = (key.0 as usize, key.1 as usize);
        let Action::Send { place, .. } = &self.ranks[from].steps.actions[send as usize] else {
            unreachable!("only sends are sent")
        };
        let runs = self.ranks[from].read(place)?;
        let Action::Receive { place, .. } = self.ranks[to].steps.actions[receive as usize].clone()
        else {
            unreachable!("only receives receive")
        };
        let (sent, room) = (length_of(&runs), place.bytes());
        let is_counted = self.ranks[to].expanding.is_some();
        if sent > room || (sent < room && !is_counted) {
            return Err(format!("{sent} bytes meet a receive of {room} at rank {to}"));
        }
        self.ranks[to].write(&place, &runs).map_err(|fault| format!("rank {to}: {fault}"))?;
        if let Some(expanding) = &mut self.ranks[to].expanding {
            expanding.received.insert(receive, sent);
        }
        if self.case.is_barrier() {
            let known = self.ranks[from].known[send as usize].clone();
            self.ranks[to].known[receive as usize].add(&known);
        }
        self.complete(from, send)?;
        self.complete(to, receive)
    }

    /// Adds the steps that follow from what a rank has received.
    fn expand(&mut self, rank: usize, step: u32, number: usize) -> Result<(), Fault> {
        let mut expanding = self.ranks[rank].expanding.take().expect("it has expansions");
        let expansion = &expanding.expansions[number];
        let mut messages = Vec::new();
        for &receive in &expansion.receives {
            let Action::Receive { place: Place::Row(address, _), .. } =
                self.ranks[rank].steps.actions[receive as usize]
            else {
                return Err("an expansion reads what is not received in a row".into());
            };
            let length = expanding.received.get(&receive).copied();
            let length = length.ok_or("an expansion reads what has not been received")?;
            messages.push(self.text(&self.ranks[rank].read(&Place::Row(address, length))?));
        }
        let messages: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
        let mut expanded = (expansion.build)(&messages).map_err(|error| error.to_string())?;
        if expanded.is_truncated || !expanded.plan.expansions.is_empty() {
            return Err("ranks disagree about lengths".into());
        }
        let withdrawn: Vec<u32> =
            expanded.withdrawn.iter().map(|&index| expansion.posted[index]).collect();
        let kept = expansion.posted.iter().filter(|step| !withdrawn.contains(step));
        for &step in kept {
            let mut found = Ok(());
            super::steps::accesses(&self.ranks[rank].steps.actions[step as usize], |access| {
                found = found.and(expanding.order.access(step, access));
            });
            found.map_err(|other| format!("step {other} may write what step {step} receives"))?;
        }
        check_order(&mut expanding.order, &expanded.plan, &self.element, Some(step), &|_| false)?;
        let mut state = std::mem::take(&mut self.ranks[rank]);
        self.add_memory(&mut state, &mut expanded.plan.memory);
        let added = Steps::of_all(&expanded.plan, &self.element);
        state.left += added.actions.len();
        let first = state.steps.append(added);
        expanding.memory.append(&mut expanded.plan.memory);
        state.expanding = Some(expanding);
        self.ranks[rank] = state;
        self.release(rank, first);
        withdrawn.into_iter().try_for_each(|step| self.withdraw(rank, step))
    }

    /// Completes a receive for which nothing is sent.
    fn withdraw(&mut self, rank: usize, step: u32) -> Result<(), Fault> {
        let Action::Receive { from, turn, .. } = self.ranks[rank].steps.actions[step as usize]
        else {
            unreachable!("only receives are posted")
        };
        let key = (from as u32, rank as u32, turn);
        let channel = self.channels.entry(key).or_default();
        let position = channel.expected.iter().position(|&expected| expected == step);
        let position = position.ok_or("a message came for a receive that is withdrawn")?;
        channel.expected.remove(position);
        if channel.is_empty() {
            self.channels.remove(&key);
        }
        self.complete(rank, step)
    }

    /// The bytes of a message. Only those that plans have written are known.
    fn text(&self, runs: &[Run]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (first, length) in runs.iter().flat_map(|run| run.chunks()) {
            match first.fold {
                LITERAL => bytes.extend(self.literals.bytes(first.offset, length)),
                _ => bytes.resize(bytes.len() + length as usize, 0xA5),
            }
        }
        bytes
    }

    fn complete(&mut self, rank: usize, step: u32) -> Result<(), Fault> {
        let state = &mut self.ranks[rank];
        let known = self.case.is_barrier().then(|| std::mem::take(&mut state.known[step as usize]));
        let Steps { waiting, .. } = &mut state.steps;
        let mut waiting = std::mem::take(waiting);
        for &follower in state.steps.followers.of(step) {
            if let Some(known) = &known {
                state.known[follower as usize].add(known);
            }
            waiting[follower as usize] -= 1;
            if waiting[follower as usize] == 0 {
                self.ready.push_back((rank as u32, follower));
            }
        }
        state.steps.waiting = waiting;
        if let Some(known) = &known {
            state.knows.add(known);
        }
        state.left -= 1;
        if state.left == 0 { self.finish(rank) } else { Ok(()) }
    }

    /// Compares what a rank has in the end with the definition, and forgets the rank.
    fn finish(&mut self, rank: usize) -> Result<(), Fault> {
        self.is_over += 1;
        let state = std::mem::take(&mut self.ranks[rank]);
        let all = self.case.size();
        if self.case.is_barrier() && !state.knows.are_all(all) {
            return Err(format!("rank {rank} leaves before all others have entered"));
        }
        for output in self.case.duty(rank).outputs {
            let runs =
                state.read(&output.place).map_err(|fault| format!("rank {rank}: {fault}"))?;
            match output.content {
                Content::Data(expected) => {
                    if runs != expected && !is_same(&runs, &expected) {
                        return Err(format!("rank {rank} has {runs:?} instead of {expected:?}"));
                    }
                }
                Content::Fold { ranks, offset } => {
                    self.check_fold(&runs, ranks, offset)
                        .map_err(|fault| format!("rank {rank} {fault}"))?;
                }
            }
        }
        Ok(())
    }

    /// Checks that each element of a result, which begins at `offset`, is the fold of the first
    /// `ranks` ranks.
    fn check_fold(&mut self, runs: &[Run], ranks: usize, mut offset: i64) -> Result<(), Fault> {
        let commutes = self.case.commutes();
        for (first, length) in runs.iter().flat_map(|run| run.chunks()) {
            if first.offset != offset || !self.folds.is_of_all(first.fold, ranks, commutes) {
                let mut leaves = self.folds.leaves(first.fold);
                leaves.truncate(50);
                return Err(format!(
                    "has the fold of {leaves:?}, byte {} at {offset}",
                    first.offset
                ));
            }
            if self.case.is_same_everywhere() {
                self.check_association(first.fold)?;
            }
            offset += length;
        }
        Ok(())
    }

    /// Checks that all ranks and elements associate alike, and as documented.
    fn check_association(&mut self, fold: FoldId) -> Result<(), Fault> {
        match self.result {
            Some(known) if known == fold => return Ok(()),
            Some(_) => return Err("associates otherwise than another rank or element".into()),
            None => self.result = Some(fold),
        }
        let Some(hosts) = self.case.association() else { return Ok(()) };
        let mut of_hosts = Vec::new();
        for members in hosts {
            of_hosts.extend(self.folds.left(members.iter().map(|&rank| rank as i64)));
        }
        let documented = self.folds.left(of_hosts).expect("there are ranks");
        match self.folds.sorted(documented) == self.folds.sorted(fold) {
            true => Ok(()),
            false => Err("associates otherwise than documented".into()),
        }
    }
}

/// True if both are the same bytes in other runs.
fn is_same(one: &[Run], other: &[Run]) -> bool {
    let mut others = other.iter().flat_map(|run| run.chunks());
    let mut rest: Option<(Origin, i64)> = None;
    for (mut first, mut length) in one.iter().flat_map(|run| run.chunks()) {
        while length > 0 {
            let Some((expected, number)) = rest.take().or_else(|| others.next()) else {
                return false;
            };
            if first != expected {
                return false;
            }
            let both = length.min(number);
            (first, length) = (first.after(both), length - both);
            if number > both {
                rest = Some((expected.after(both), number - both));
            }
        }
    }
    rest.is_none() && others.next().is_none()
}

impl Channel {
    fn is_empty(&self) -> bool {
        self.sent.is_empty() && self.expected.is_empty()
    }
}

impl RankState {
    fn permit(&mut self, place: &Place) {
        let added = place.each(|address, length| {
            match self.writable.last_mut() {
                Some(last) if last.1 == address => last.1 += length,
                _ => self.writable.push((address, address + length)),
            }
            Ok::<(), ()>(())
        });
        added.expect("no row is refused");
    }

    fn read(&self, place: &Place) -> Result<Vec<Run>, Fault> {
        let mut runs = Vec::new();
        place.each(|address, length| {
            self.memory
                .read(address, length, &mut runs)
                .map_err(|hole| format!("the byte at {hole:#x} of {place:x?} has no content"))
        })?;
        Ok(runs)
    }

    /// Writes as many bytes as there are.
    fn write(&mut self, place: &Place, runs: &[Run]) -> Result<(), Fault> {
        let (all, mut front, mut part) = (length_of(runs), Front::of(runs), Vec::new());
        let mut left = all;
        let RankState { memory, writable, .. } = self;
        place.each(|address, length| {
            let length = length.min(left);
            if length > 0 {
                let index = writable.partition_point(|row| row.0 <= address);
                let row = index.checked_sub(1).map(|index| writable[index]);
                if row.is_none_or(|row| row.1 < address + length) {
                    return Err(format!(
                        "writes {length} bytes at {address:#x}, beyond its memory"
                    ));
                }
                match length == all {
                    true => memory.write(address, runs),
                    false => {
                        part.clear();
                        front.take(length, &mut part);
                        memory.write(address, &part);
                    }
                }
                left -= length;
            }
            Ok(())
        })
    }
}
