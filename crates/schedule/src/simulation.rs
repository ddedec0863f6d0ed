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

use crate::cost::{CostModel, LinkCost, LinkCosts, LogGp, Picoseconds};
use crate::plan::{NONE, Plan, StepAction, StepId};
use crate::team::{Placement, Team};

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
    simulate(team, plans, costs, &mut |_| ())
}

/// What a rank or a link is busy with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// The rank whose step it is.
    pub rank: usize,
    /// The step.
    pub step: StepId,
    /// What is busy.
    pub kind: ActivityKind,
    /// From when.
    pub begin: Picoseconds,
    /// Until when.
    pub end: Picoseconds,
}

/// What is busy with a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActivityKind {
    /// The processor of the rank.
    Processor,
    /// What joins the rank to another one, with a message from the first byte to the arrival of
    /// the last.
    Transfer {
        /// The receiver.
        to: usize,
        /// Bytes of the message.
        bytes: u64,
    },
    /// A link between hosts, with a message.
    Link {
        /// Its number in [`LinkCosts::links`].
        link: usize,
        /// True if the message passes it towards the host.
        is_inwards: bool,
    },
}

/// Like [`completion_time`], and tells `observe` what happens, in no particular order.
///
/// # Errors
/// Same as for [`completion_time`].
///
/// # Panics
/// Same as for [`completion_time`].
pub fn simulate(
    team: &Team,
    plans: &[Plan],
    costs: &CostModel,
    observe: &mut dyn FnMut(Activity),
) -> Result<Picoseconds, Deadlock> {
    let mut simulation = Simulation::new(team, plans, costs, observe);
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
            Event::Passage => simulation.pass(now, rank_step),
            Event::Arrival => simulation.receive(now, rank_step),
            Event::Done => simulation.complete(now, rank_step),
        }
    }
    simulation.verdict().map(|()| now)
}

impl CostModel {
    /// The link between two ranks.
    pub fn link(&self, placement: &Placement, one: usize, other: usize) -> &LogGp {
        if placement.host_of(one) == placement.host_of(other) {
            &self.same_host
        } else {
            &self.between_hosts
        }
    }
}

/// A step of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct RankStep {
    rank: usize,
    step: StepId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The step waits for no other one.
    Ready,
    /// The first byte of the message that the step sends has reached the next link.
    Passage,
    /// The last byte of a message has reached its receiver.
    Arrival,
    Done,
}

/// A message from its announcement to its arrival.
struct Flight<'a> {
    to: usize,
    bytes: u64,
    /// When the sender's processor is done with it.
    sent: Picoseconds,
    /// The links that it has still to pass, each with whether it passes it inwards.
    links: std::vec::IntoIter<(usize, bool)>,
    costs: Option<&'a LinkCosts>,
    /// When the first byte has left its sender; `None` before.
    begin: Option<Picoseconds>,
    /// When the last byte reaches the next link.
    last_byte: Picoseconds,
    /// The receive that it matches, once both are known.
    receive: Option<RankStep>,
    /// When its last byte has arrived.
    arrival: Option<Picoseconds>,
}

/// The messages of one sender to one receiver with one turn; one of the queues is empty.
#[derive(Default)]
struct Channel {
    /// Steps that send.
    sent: VecDeque<RankStep>,
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
    observe: &'a mut dyn FnMut(Activity),
    rank_of: HashMap<PeerIndex, usize>,
    ranks: Vec<RankState>,
    /// When each link is free, outwards and inwards.
    links: Vec<[Picoseconds; 2]>,
    /// The messages that are not received, by the step that sends them.
    flights: HashMap<RankStep, Flight<'a>>,
    /// By sender, receiver and turn.
    channels: BTreeMap<(usize, usize, u16), Channel>,
    /// By time; events at the same time in the order in which they were caused.
    events: BinaryHeap<Reverse<(Picoseconds, u64, Event, RankStep)>>,
    caused: u64,
}

impl<'a> Simulation<'a> {
    fn new(
        team: &'a Team,
        plans: &'a [Plan],
        costs: &'a CostModel,
        observe: &'a mut dyn FnMut(Activity),
    ) -> Simulation<'a> {
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
            observe,
            links: vec![[0; 2]; costs.links.as_ref().map_or(0, |links| links.links.len())],
            rank_of: team.peers.iter().enumerate().map(|(rank, &peer)| (peer, rank)).collect(),
            ranks: plans.iter().map(state).collect(),
            flights: HashMap::new(),
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
    fn occupy(
        &mut self,
        now: Picoseconds,
        RankStep { rank, step }: RankStep,
        duration: Picoseconds,
    ) -> Picoseconds {
        let duration = self.costs.on_host(self.team.placement.host_of(rank), duration);
        let processor = &mut self.ranks[rank].processor;
        let begin = now.max(*processor);
        let end = begin.saturating_add(duration);
        *processor = end;
        (self.observe)(Activity { rank, step, kind: ActivityKind::Processor, begin, end });
        end
    }

    fn start(&mut self, now: Picoseconds, rank_step: RankStep) {
        let rank = rank_step.rank;
        match &self.plans[rank].steps[rank_step.step as usize].action {
            StepAction::Join => self.at(now, Event::Done, rank_step),
            StepAction::Expand { .. } => {
                panic!("no data moves here, so nothing can follow from the content of messages")
            }
            StepAction::Copy { from, .. } => {
                let end = self.occupy(
                    now,
                    rank_step,
                    self.costs.copy_per_byte.saturating_mul(from.bytes() as u64),
                );
                self.at(end, Event::Done, rank_step);
            }
            StepAction::Reduce { count, .. } => {
                let end = self.occupy(
                    now,
                    rank_step,
                    self.costs.reduce_per_element.saturating_mul(*count as u64),
                );
                self.at(end, Event::Done, rank_step);
            }
            StepAction::Send { peer, turn, piece } => {
                let (to, bytes) = (self.rank_of[peer], piece.bytes() as u64);
                let sent = self.occupy(
                    now,
                    rank_step,
                    self.costs.link(&self.team.placement, rank, to).work(bytes),
                );
                self.announce(rank_step, to, bytes, sent);
                self.channels.entry((rank, to, *turn)).or_default().sent.push_back(rank_step);
                if self.costs.is_eager(bytes) {
                    self.at(sent, Event::Passage, rank_step);
                }
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

    /// Begins a message, which moves only later.
    fn announce(&mut self, rank_step: RankStep, to: usize, bytes: u64, sent: Picoseconds) {
        let (costs, links) = self.links_between(rank_step.rank, to).unzip();
        let links = links.unwrap_or_default().into_iter();
        let (begin, receive, arrival) = (None, None, None);
        let flight =
            Flight { to, bytes, sent, links, costs, begin, last_byte: sent, receive, arrival };
        self.flights.insert(rank_step, flight);
    }

    /// The first byte of a message is at the next link, or at the end of the last one. A link
    /// transfers messages in the order in which they come, and passes on their bytes as they
    /// arrive.
    fn pass(&mut self, now: Picoseconds, rank_step: RankStep) {
        let RankStep { rank, step } = rank_step;
        let flight = self.flights.get_mut(&rank_step).expect("the message is under way");
        let link = *self.costs.link(&self.team.placement, rank, flight.to);
        let is_first = flight.begin.is_none();
        let network = &mut self.ranks[rank].network;
        let begin = if is_first { now.max(*network) } else { now };
        if is_first {
            flight.begin = Some(begin);
            flight.last_byte = begin.saturating_add(link.transfer(flight.bytes));
            let gap = self.costs.on_host(self.team.placement.host_of(rank), link.gap);
            *network = flight.last_byte.saturating_add(gap);
        }
        let passage = flight.costs.and_then(|costs| Some((costs, flight.links.next()?)));
        let Some((costs, (at, is_inwards))) = passage else {
            if is_first {
                let left = flight.last_byte;
                self.at(left, Event::Done, rank_step);
            }
            return self.land(rank_step, link.latency);
        };
        let LinkCost { gap_per_byte, latency, half_duplex } = costs.links[at];
        let free = &mut self.links[at][usize::from(is_inwards && !half_duplex)];
        let begin = begin.max(*free);
        let end = begin.saturating_add(gap_per_byte.saturating_mul(flight.bytes));
        let end = end.max(flight.last_byte);
        *free = end;
        flight.last_byte = end.saturating_add(latency);
        let kind = ActivityKind::Link { link: at, is_inwards };
        (self.observe)(Activity { rank, step, kind, begin, end });
        self.at(begin.saturating_add(latency), Event::Passage, rank_step);
        if is_first {
            self.at(end, Event::Done, rank_step);
        }
    }

    /// A message has passed all links.
    fn land(&mut self, rank_step: RankStep, latency: Picoseconds) {
        let RankStep { rank, step } = rank_step;
        let flight = self.flights.get_mut(&rank_step).expect("the message is under way");
        let arrival = flight.last_byte.saturating_add(latency);
        let begin = flight.begin.unwrap_or(flight.sent);
        let kind = ActivityKind::Transfer { to: flight.to, bytes: flight.bytes };
        (self.observe)(Activity { rank, step, kind, begin, end: arrival });
        match flight.receive {
            None => flight.arrival = Some(arrival),
            Some(receive) => {
                self.flights.remove(&rank_step);
                self.at(arrival, Event::Arrival, receive);
            }
        }
    }

    /// The links that a message between two ranks passes, each with whether it passes it inwards.
    /// `None` if the ranks have what joins them to themselves.
    fn links_between(&self, from: usize, to: usize) -> Option<(&'a LinkCosts, Vec<(usize, bool)>)> {
        let host = |rank| self.team.placement.host_of(rank);
        let costs = self.costs.links.as_ref().filter(|_| host(from) != host(to))?;
        let (outwards, inwards) = costs.path(host(from), host(to));
        let outwards = outwards.iter().map(|&at| (at, false));
        Some((costs, outwards.chain(inwards.iter().rev().map(|&at| (at, true))).collect()))
    }

    /// How long a byte is under way from one rank to another.
    fn latency(&self, from: usize, to: usize) -> Picoseconds {
        let own = self.costs.link(&self.team.placement, from, to).latency;
        let Some((costs, path)) = self.links_between(from, to) else { return own };
        let passed = path.iter().map(|&(at, _)| costs.links[at].latency);
        passed.fold(own, Picoseconds::saturating_add)
    }

    /// Matches the first message of a channel with the first receive, if there are both.
    fn meet(&mut self, now: Picoseconds, key: (usize, usize, u16)) {
        let (from, to, _) = key;
        let channel = self.channels.get_mut(&key).expect("the channel was just used");
        if channel.sent.is_empty() || channel.expected.is_empty() {
            return;
        }
        let (send, (receive, posted)) = (
            channel.sent.pop_front().expect("not empty"),
            channel.expected.pop_front().expect("not empty"),
        );
        let latency = self.latency(from, to);
        let flight = self.flights.get_mut(&send).expect("the message is not received");
        if let Some(arrival) = flight.arrival {
            self.flights.remove(&send);
            return self.at(arrival.max(now), Event::Arrival, receive);
        }
        flight.receive = Some(receive);
        if !self.costs.is_eager(flight.bytes) {
            let announced = flight.sent.saturating_add(latency);
            let requested = announced.max(posted).saturating_add(latency);
            self.at(requested, Event::Passage, send);
        }
    }

    /// Receives a message that has arrived.
    fn receive(&mut self, now: Picoseconds, rank_step: RankStep) {
        let StepAction::Receive { peer, piece, .. } =
            &self.plans[rank_step.rank].steps[rank_step.step as usize].action
        else {
            unreachable!("messages arrive at receives")
        };
        let link = self.costs.link(&self.team.placement, self.rank_of[peer], rank_step.rank);
        let end = self.occupy(now, rank_step, link.work(piece.bytes() as u64));
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
            let sends = channel.sent.iter().map(|&rank_step| (rank_step, true, to));
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
