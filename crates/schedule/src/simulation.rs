//! Simulates the execution of one schedule on all ranks by discrete events: when it completes, or
//! where it deadlocks.
//!
//! Steps of a rank that need its processor (sending, receiving, copying, reducing) take it one
//! after another. Costs are those of the [`CostModel`]. With rendezvous, the data leaves once the
//! sender's announcement has reached the receiver and the receiver's request has come back, which
//! takes two latencies.
//!
//! Receives name their sender and turn, so timing affects neither which messages match nor whether
//! a schedule completes: one that completes here with every message synchronous does so on any
//! network.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::fmt;

use towpath_base::ids::PeerIndex;

use crate::cost::{CostModel, Picoseconds};
use crate::plan::{NONE, Plan, StepAction, StepId};
use crate::team::Team;

/// A step that waits for a matching send or receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingStep {
    /// The rank that waits.
    pub rank: usize,
    /// Its step.
    pub step: StepId,
    /// True if it sends.
    pub sends: bool,
    /// The rank that it sends to or receives from.
    pub partner: usize,
}

/// Why a schedule does not complete: its steps wait for each other, or for messages that never
/// arrive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// The sends and receives that have started and have not completed, by rank.
    pub waiting: Vec<WaitingStep>,
}

impl fmt::Display for Deadlock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the schedule does not end")?;
        for WaitingStep { rank, step, sends, partner } in &self.waiting {
            let what = if *sends { "send to" } else { "receive from" };
            write!(formatter, "; step {step} of rank {rank} waits to {what} rank {partner}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Deadlock {}

/// Simulates the plans of all ranks, given in rank order, and returns the time at which the last of
/// them completes. `team` is that of any rank.
///
/// # Errors
/// If not all steps complete.
///
/// # Panics
/// If a plan sends to or receives from a process that is not in the team.
pub fn completion_time(
    team: &Team,
    plans: &[Plan],
    costs: &CostModel,
) -> Result<Picoseconds, Deadlock> {
    let mut simulation = Simulation::new(team, plans, costs);
    for (rank, plan) in plans.iter().enumerate() {
        let free = (0..plan.steps.len()).filter(|&step| plan.steps[step].dependencies == 0);
        free.for_each(|step| {
            simulation.at(0, Event::Ready, RankStep { rank, step: step as StepId })
        });
    }
    let mut now = 0;
    while let Some(Reverse((time, _, event, rank_step))) = simulation.events.pop() {
        now = time;
        match event {
            Event::Ready => simulation.start(now, rank_step),
            Event::Arrival => simulation.receive(now, rank_step),
            Event::Done => simulation.complete(now, rank_step),
        }
    }
    simulation.verdict().map(|()| now)
}

/// A step of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RankStep {
    rank: usize,
    step: StepId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The step waits for no other one.
    Ready,
    /// The last byte of a message has reached its receiver.
    Arrival,
    Done,
}

/// A message that is sent, and not yet received.
struct SentMessage {
    rank_step: RankStep,
    bytes: u64,
    /// When the sender's processor is done with it.
    sent: Picoseconds,
    /// When the last byte arrives, if it does not wait for its receiver.
    arrival: Option<Picoseconds>,
}

/// The messages of one sender to one receiver with one turn; one of the queues is empty.
#[derive(Default)]
struct Channel {
    sent: VecDeque<SentMessage>,
    /// Receives, and when they started.
    expected: VecDeque<(RankStep, Picoseconds)>,
}

struct RankState {
    /// Steps for which each step still waits.
    waiting: Vec<u32>,
    /// When the processor is free.
    processor: Picoseconds,
    /// When the next message may leave.
    network: Picoseconds,
    /// Steps that are not complete.
    left: usize,
}

struct Simulation<'a> {
    team: &'a Team,
    plans: &'a [Plan],
    costs: &'a CostModel,
    rank_of: HashMap<PeerIndex, usize>,
    ranks: Vec<RankState>,
    /// By sender, receiver and turn.
    channels: BTreeMap<(usize, usize, u16), Channel>,
    /// By time; events at the same time in the order in which they were caused.
    events: BinaryHeap<Reverse<(Picoseconds, u64, Event, RankStep)>>,
    caused: u64,
}

impl<'a> Simulation<'a> {
    fn new(team: &'a Team, plans: &'a [Plan], costs: &'a CostModel) -> Simulation<'a> {
        let state = |plan: &Plan| RankState {
            waiting: plan.steps.iter().map(|step| step.dependencies).collect(),
            processor: 0,
            network: 0,
            left: plan.steps.len(),
        };
        Simulation {
            team,
            plans,
            costs,
            rank_of: team.peers.iter().enumerate().map(|(rank, &peer)| (peer, rank)).collect(),
            ranks: plans.iter().map(state).collect(),
            channels: BTreeMap::new(),
            events: BinaryHeap::new(),
            caused: 0,
        }
    }

    fn at(&mut self, time: Picoseconds, event: Event, rank_step: RankStep) {
        self.caused += 1;
        self.events.push(Reverse((time, self.caused, event, rank_step)));
    }

    /// Occupies the processor of a rank once it is free. Returns the end of the occupation.
    fn occupy(&mut self, now: Picoseconds, rank: usize, duration: Picoseconds) -> Picoseconds {
        let processor = &mut self.ranks[rank].processor;
        *processor = now.max(*processor).saturating_add(duration);
        *processor
    }

    fn start(&mut self, now: Picoseconds, rank_step: RankStep) {
        let rank = rank_step.rank;
        match &self.plans[rank].steps[rank_step.step as usize].action {
            StepAction::Join => self.at(now, Event::Done, rank_step),
            StepAction::Copy { from, .. } => {
                let end = self.occupy(
                    now,
                    rank,
                    self.costs.copy_per_byte.saturating_mul(from.bytes() as u64),
                );
                self.at(end, Event::Done, rank_step);
            }
            StepAction::Reduce { count, .. } => {
                let end = self.occupy(
                    now,
                    rank,
                    self.costs.reduce_per_element.saturating_mul(*count as u64),
                );
                self.at(end, Event::Done, rank_step);
            }
            StepAction::Send { peer, turn, piece } => {
                let (to, bytes) = (self.rank_of[peer], piece.bytes() as u64);
                let sent = self.occupy(
                    now,
                    rank,
                    self.costs.link(&self.team.placement, rank, to).overhead,
                );
                let arrival =
                    self.costs.is_eager(bytes).then(|| self.transfer(sent, rank_step, to, bytes));
                let message = SentMessage { rank_step, bytes, sent, arrival };
                self.channels.entry((rank, to, *turn)).or_default().sent.push_back(message);
                self.meet(now, (rank, to, *turn));
            }
            StepAction::Receive { peer, turn, .. } => {
                let from = self.rank_of[peer];
                self.channels
                    .entry((from, rank, *turn))
                    .or_default()
                    .expected
                    .push_back((rank_step, now));
                self.meet(now, (from, rank, *turn));
            }
        }
    }

    /// Sends the bytes of a message once the network is free. Returns when the last one arrives.
    fn transfer(
        &mut self,
        ready: Picoseconds,
        rank_step: RankStep,
        to: usize,
        bytes: u64,
    ) -> Picoseconds {
        let link = *self.costs.link(&self.team.placement, rank_step.rank, to);
        let network = &mut self.ranks[rank_step.rank].network;
        let begin = ready.max(*network);
        let end = begin.saturating_add(link.transfer(bytes));
        *network = end.saturating_add(link.gap);
        self.at(end, Event::Done, rank_step);
        end.saturating_add(link.latency)
    }

    /// Matches the first message of a channel with the first receive, if there are both.
    fn meet(&mut self, now: Picoseconds, key: (usize, usize, u16)) {
        let (from, to, _) = key;
        let channel = self.channels.get_mut(&key).expect("the channel was just used");
        if channel.sent.is_empty() || channel.expected.is_empty() {
            return;
        }
        let (message, (receive, posted)) = (
            channel.sent.pop_front().expect("not empty"),
            channel.expected.pop_front().expect("not empty"),
        );
        let arrival = message.arrival.unwrap_or_else(|| {
            let latency = self.costs.link(&self.team.placement, from, to).latency;
            let announced = message.sent.saturating_add(latency);
            self.transfer(
                announced.max(posted).saturating_add(latency),
                message.rank_step,
                to,
                message.bytes,
            )
        });
        self.at(arrival.max(now), Event::Arrival, receive);
    }

    /// Receives a message that has arrived.
    fn receive(&mut self, now: Picoseconds, rank_step: RankStep) {
        let StepAction::Receive { peer, .. } =
            &self.plans[rank_step.rank].steps[rank_step.step as usize].action
        else {
            unreachable!("messages arrive at receives")
        };
        let overhead =
            self.costs.link(&self.team.placement, self.rank_of[peer], rank_step.rank).overhead;
        let end = self.occupy(now, rank_step.rank, overhead);
        self.at(end, Event::Done, rank_step);
    }

    /// Releases the steps that waited only for this one.
    fn complete(&mut self, now: Picoseconds, rank_step: RankStep) {
        let plan = &self.plans[rank_step.rank];
        self.ranks[rank_step.rank].left -= 1;
        let mut edge = plan.steps[rank_step.step as usize].first_edge;
        while edge != NONE {
            let follower = plan.edges[edge as usize];
            let waiting = &mut self.ranks[rank_step.rank].waiting[follower.to as usize];
            *waiting -= 1;
            if *waiting == 0 {
                self.at(now, Event::Ready, RankStep { rank: rank_step.rank, step: follower.to });
            }
            edge = follower.next;
        }
    }

    /// Returns an error if steps are left, or messages that no rank receives.
    fn verdict(&self) -> Result<(), Deadlock> {
        let mut waiting = Vec::new();
        for (&(from, to, _), channel) in &self.channels {
            let sends = channel.sent.iter().map(|message| (message.rank_step, true, to));
            let receives = channel.expected.iter().map(|(rank_step, _)| (*rank_step, false, from));
            waiting.extend(sends.chain(receives).map(|(rank_step, sends, partner)| WaitingStep {
                rank: rank_step.rank,
                step: rank_step.step,
                sends,
                partner,
            }));
        }
        waiting.sort_unstable_by_key(|step| (step.rank, step.step));
        let is_over = waiting.is_empty() && self.ranks.iter().all(|rank| rank.left == 0);
        if is_over { Ok(()) } else { Err(Deadlock { waiting }) }
    }
}

#[cfg(test)]
mod tests;
