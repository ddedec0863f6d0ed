//! A single-threaded fake network: messages of an ordered pair arrive in order, while pairs
//! overtake each other at random. A send either copies its data immediately (eager) or reads it
//! when matched (rendezvous), which exposes a plan that touches a buffer too early.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use towpath_base::ids::{ContextId, PeerIndex, Plane};
use towpath_base::transfer::{Source, Step, Target};
use towpath_engine::messages::{Messages, Outcome, Ticket};
use towpath_schedule::{Placement, Plan, Team};

use crate::run::{Progress, Run};

/// A team in which rank r is peer r.
pub(crate) fn team(rank: usize, size: usize) -> Team {
    let peers: Arc<[PeerIndex]> = (0..size as u32).map(PeerIndex).collect();
    let placement = Arc::new(Placement::on_one_host(size));
    Team { context: ContextId::new(1, 1).on(Plane::Collective), rank, peers, placement }
}

struct Message {
    from: PeerIndex,
    context: ContextId,
    tag: i32,
    immediate: u32,
    ticket: Ticket,
    source: Result<Source, Vec<u8>>,
}

struct Posted {
    from: PeerIndex,
    context: ContextId,
    tag: i32,
    ticket: Ticket,
    target: Target,
}

#[derive(Default)]
struct Network {
    flying: Vec<((PeerIndex, PeerIndex), VecDeque<Message>)>,
    arrived: HashMap<PeerIndex, Vec<Message>>,
    posted: HashMap<PeerIndex, Vec<Posted>>,
    outcomes: HashMap<Ticket, Outcome>,
    tickets: u64,
    random: u64,
}

impl Network {
    fn random(&mut self, below: usize) -> usize {
        // xorshift64*, Vigna 2016.
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        (self.random.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % below
    }

    fn ticket(&mut self) -> Ticket {
        self.tickets += 1;
        Ticket(self.tickets)
    }

    /// Delivers one message. False if none is in flight.
    fn deliver(&mut self) -> bool {
        if self.flying.is_empty() {
            return false;
        }
        let pick = self.random(self.flying.len());
        let (_, to) = self.flying[pick].0;
        let message = self.flying[pick].1.pop_front().expect("empty queues are removed");
        if self.flying[pick].1.is_empty() {
            self.flying.swap_remove(pick);
        }
        let posted = self.posted.entry(to).or_default();
        match posted.iter().position(|p| {
            (p.from, p.context, p.tag) == (message.from, message.context, message.tag)
        }) {
            Some(index) => {
                let receive = posted.remove(index);
                self.join(message, receive);
            }
            None => self.arrived.entry(to).or_default().push(message),
        }
        true
    }

    fn join(&mut self, message: Message, mut receive: Posted) {
        let data = message.source.map_or_else(|data| data, read_all);
        let room = receive.target.length();
        // SAFETY: the plan keeps the target valid until the ticket is complete, and `data` is a
        // slice.
        unsafe { receive.target.drain_all(data.as_ptr(), data.len(), &mut || {}) };
        let (bytes, truncated) = (data.len(), data.len() > room);
        let outcome = Outcome { bytes, truncated, lost: false, immediate: message.immediate };
        self.outcomes.insert(message.ticket, Outcome { truncated: false, ..outcome });
        self.outcomes.insert(receive.ticket, outcome);
    }
}

fn read_all(mut source: Source) -> Vec<u8> {
    let mut data = vec![0; source.length()];
    let mut done = 0;
    while done < data.len() {
        // SAFETY: the plan keeps the source valid until the ticket is complete, and `data` has room
        // for `data.len() - done` bytes at `done`.
        match unsafe { source.fill(data.as_mut_ptr().add(done), data.len() - done) } {
            Step::Done(0) => panic!("a packer stopped before its end"),
            Step::Done(step) => done += step,
            Step::Pending => {}
        }
    }
    data
}

/// The network as one rank sees it.
struct Port<'a> {
    network: &'a mut Network,
    me: PeerIndex,
}

impl Messages for Port<'_> {
    unsafe fn start_send(
        &mut self,
        to: PeerIndex,
        context: ContextId,
        tag: i32,
        immediate: u32,
        source: Source,
    ) -> Ticket {
        assert!(tag >= 0, "negative tags are wildcards");
        let ticket = self.network.ticket();
        let eager = self.network.random(2) == 0;
        if eager {
            let bytes = source.length();
            let outcome = Outcome { bytes, truncated: false, lost: false, immediate: 0 };
            self.network.outcomes.insert(ticket, outcome);
        }
        let source = if eager { Err(read_all(source)) } else { Ok(source) };
        let message = Message { from: self.me, context, tag, immediate, ticket, source };
        let pair = (self.me, to);
        match self.network.flying.iter_mut().find(|queue| queue.0 == pair) {
            Some(queue) => queue.1.push_back(message),
            None => self.network.flying.push((pair, VecDeque::from([message]))),
        }
        ticket
    }

    unsafe fn start_receive(
        &mut self,
        from: PeerIndex,
        context: ContextId,
        tag: i32,
        target: Target,
    ) -> Ticket {
        let ticket = self.network.ticket();
        let receive = Posted { from, context, tag, ticket, target };
        let arrived = self.network.arrived.entry(self.me).or_default();
        match arrived.iter().position(|m| (m.from, m.context, m.tag) == (from, context, tag)) {
            Some(index) => {
                let message = arrived.remove(index);
                self.network.join(message, receive);
            }
            None => self.network.posted.entry(self.me).or_default().push(receive),
        }
        ticket
    }

    fn poll(&mut self, ticket: Ticket) -> Option<Outcome> {
        self.network.outcomes.remove(&ticket)
    }

    fn withdraw(&mut self, ticket: Ticket) -> bool {
        let posted = self.network.posted.entry(self.me).or_default();
        let before = posted.len();
        posted.retain(|receive| receive.ticket != ticket);
        posted.len() < before
    }

    fn take_back(&mut self, _ticket: Ticket) {}

    fn find_unmatched(
        &self,
        context: ContextId,
        wanted: &dyn Fn(i32, u32) -> bool,
    ) -> Option<(PeerIndex, u32)> {
        let is_wanted = |message: &&Message| {
            message.context == context && wanted(message.tag, message.immediate)
        };
        let arrived = self.network.arrived.get(&self.me)?;
        arrived.iter().find(is_wanted).map(|message| (message.from, message.immediate))
    }
}

/// Executes one plan on each of the ranks `0..plans.len()` (peer numbers) to completion.
pub(crate) fn execute(plans: Vec<Plan>, seed: u64) {
    // SAFETY: the tests keep the buffers of their plans alive until all runs are done.
    let runs = plans.into_iter().map(|plan| vec![unsafe { Run::start(plan, 7) }]).collect();
    execute_runs(runs, seed);
}

/// Executes several runs per rank concurrently, and returns them when all are done. None may fail.
pub(crate) fn execute_runs(runs: Vec<Vec<Run>>, seed: u64) -> Vec<Vec<Run>> {
    let mut runs = settle_runs(runs, seed);
    for (rank, own) in runs.iter_mut().enumerate() {
        own.iter_mut().for_each(|run| assert_eq!(outcome_of(run), Progress::Done, "rank {rank}"));
    }
    runs
}

/// How a run that is over has ended.
pub(crate) fn outcome_of(run: &mut Run) -> Progress {
    run.post(&mut Port { network: &mut Network::default(), me: PeerIndex(0) })
}

/// Like [`execute_runs`], but runs may fail.
pub(crate) fn settle_runs(mut runs: Vec<Vec<Run>>, seed: u64) -> Vec<Vec<Run>> {
    let mut network =
        Network { random: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1, ..Network::default() };
    let mut idle = 0;
    while idle < 4 {
        let mut quiet = true;
        for _ in 0..runs.len() {
            quiet &= network.random(3) > 0 || !network.deliver();
            let rank = network.random(runs.len());
            let pick = network.random(runs[rank].len());
            quiet &= !step(&mut network, rank, &mut runs[rank][pick]);
        }
        if quiet {
            while network.deliver() {
                quiet = false;
            }
            for (rank, own) in runs.iter_mut().enumerate() {
                quiet &=
                    !own.iter_mut().fold(false, |moved, run| step(&mut network, rank, run) | moved);
            }
        }
        idle = if quiet { idle + 1 } else { 0 };
    }
    for (rank, run) in
        runs.iter().enumerate().flat_map(|(rank, own)| own.iter().map(move |run| (rank, run)))
    {
        assert!(run.is_over(), "rank {rank} hangs: {run:#?}");
    }
    assert!(network.arrived.values().all(Vec::is_empty), "messages that nobody receives");
    runs
}

/// Progresses one run. True unless it was already over.
fn step(network: &mut Network, rank: usize, run: &mut Run) -> bool {
    let before = network.tickets;
    let outcomes = network.outcomes.len();
    let mut port = Port { network, me: PeerIndex(rank as u32) };
    let progress = run.post(&mut port);
    if progress == Progress::Compute {
        run.compute();
        return true;
    }
    before != network.tickets || outcomes != network.outcomes.len() || run.device_work() > 0
}
