//! What happens when, by simulation.

use std::collections::HashMap;

use towpath_schedule::cost::Picoseconds;
use towpath_schedule::hierarchy::phases::plan_of;
use towpath_schedule::simulation::{Activity, ActivityKind, simulate};
use towpath_schedule::{Call, Plan};

use crate::arguments::Request;
use crate::cluster::Cluster;

/// Most steps of all ranks together.
const MOST_STEPS: usize = 20_000_000;

/// A message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) bytes: u64,
    pub(crate) begin: Picoseconds,
    pub(crate) end: Picoseconds,
}

/// A message on a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passage {
    pub(crate) link: usize,
    /// [`Level::InGroup`] or [`Level::BetweenHosts`].
    pub(crate) level: Level,
    pub(crate) is_inwards: bool,
    pub(crate) begin: Picoseconds,
    pub(crate) end: Picoseconds,
}

/// Which level a message passes, and in which direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// On a host, to its leader.
    ToLeader,
    /// Between hosts that are in the same groups, if there are groups.
    InGroup,
    BetweenHosts,
    /// On a host, from its leader.
    FromLeader,
    /// On a host, between other ranks.
    OnHost,
}

pub(crate) const LEVELS: [Level; 5] =
    [Level::ToLeader, Level::InGroup, Level::BetweenHosts, Level::FromLeader, Level::OnHost];

/// A call from begin to end.
pub(crate) struct Timeline {
    pub(crate) messages: Vec<Message>,
    pub(crate) passages: Vec<Passage>,
    /// When the processors of ranks are busy.
    pub(crate) work: Vec<(usize, Picoseconds, Picoseconds)>,
    pub(crate) end: Picoseconds,
    leaders: Vec<usize>,
}

impl Timeline {
    pub(crate) fn new(request: &Request, cluster: &Cluster) -> Result<Timeline, String> {
        let (mut plans, mut steps): (Vec<Plan>, usize) = (Vec::new(), 0);
        for rank in 0..request.size() {
            let team = cluster.team(rank);
            let call = Call { team: &team, selection: &request.selection };
            let operation = request.collective.operation(&team, request.root, request.bytes);
            let plan =
                plan_of(&call, &operation).map_err(|error| format!("rank {rank}: {error}."))?;
            steps += plan.length();
            if steps > MOST_STEPS {
                return Err(format!(
                    "The schedule has more than {MOST_STEPS} steps; ask about fewer ranks."
                ));
            }
            plans.push(plan);
        }
        let (mut messages, mut work, mut passages) = (Vec::new(), Vec::new(), Vec::new());
        // The receivers of messages, by sender and step.
        let mut receivers = HashMap::new();
        let mut observe = |Activity { rank, step, kind, begin, end }: Activity| match kind {
            ActivityKind::Processor => work.push((rank, begin, end)),
            ActivityKind::Transfer { to, bytes } => {
                receivers.insert((rank, step), to);
                messages.push(Message { from: rank, to, bytes, begin, end });
            }
            ActivityKind::Link { link, is_inwards } => {
                passages.push(((rank, step), link, is_inwards, begin, end));
            }
        };
        let end = simulate(&cluster.team(0), &plans, &cluster.costs, &mut observe)
            .map_err(|error| error.to_string())?;
        let placement = cluster.placement();
        let passage = |((rank, step), link, is_inwards, begin, end)| {
            let (from, to) = (placement.host_of(rank), placement.host_of(receivers[&(rank, step)]));
            Passage { link, level: between(cluster, from, to), is_inwards, begin, end }
        };
        let passages = passages.into_iter().map(passage).collect();
        let mut leaders: Vec<usize> = placement.leaders().collect();
        if request.collective.has_root {
            leaders[placement.host_of(request.root)] = request.root;
        }
        Ok(Timeline { messages, passages, work, end, leaders })
    }

    /// The leader of a host in this call.
    pub(crate) fn leader(&self, host: usize) -> usize {
        self.leaders[host]
    }

    /// The level of a message.
    pub(crate) fn level(&self, cluster: &Cluster, message: &Message) -> Level {
        let placement = cluster.placement();
        let (from, to) = (placement.host_of(message.from), placement.host_of(message.to));
        if from != to {
            between(cluster, from, to)
        } else if self.leaders[to] == message.to {
            Level::ToLeader
        } else if self.leaders[from] == message.from {
            Level::FromLeader
        } else {
            Level::OnHost
        }
    }
}

/// The level of a message between two hosts.
fn between(cluster: &Cluster, from: usize, to: usize) -> Level {
    let in_group = !cluster.groups.is_empty() && cluster.same_group(from, to);
    if in_group { Level::InGroup } else { Level::BetweenHosts }
}
