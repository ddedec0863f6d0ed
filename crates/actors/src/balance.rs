//! Load balancing: which elements migrate where, by measured loads. Pure algorithms; the protocol
//! between the ranks is in [`crate::balancing`].
//!
//! Work is counted in nanoseconds on a rank of [`NORMAL_SPEED`]. A rank is named by its position
//! among those that a balancer sees.

pub mod cost;
pub mod greedy;
pub(crate) mod group;
pub mod hierarchical;
pub mod messages;
pub(crate) mod rank;
pub mod refine;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub use cost::MigrationCost;

/// The speed of a rank to which others are compared.
pub const NORMAL_SPEED: u32 = 1000;

/// Who decides which elements migrate when all of them have called `at_sync`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Balancer {
    /// Nobody: loads are not measured, and elements go on at once.
    #[default]
    None,
    /// All elements are placed anew, the greatest loads first.
    Greedy,
    /// As few elements as possible leave ranks that have too much to do.
    Refine,
    /// As `Refine`, within groups of ranks and between them: no rank sees all elements.
    Hierarchical,
    /// Every element goes to the next rank. For tests.
    Rotate,
    /// Every element goes to a random rank. For tests.
    Random(u64),
}

/// How a rank balances. All ranks are given the same, but for the speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalancerOptions {
    /// Who decides.
    pub balancer: Balancer,
    /// How fast this rank is, compared to [`NORMAL_SPEED`].
    pub speed: u32,
}

/// What an element does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElementLoad {
    /// Where it is.
    pub rank: u32,
    /// Its work since the last balancing.
    pub work: u64,
    /// Its size in a message, or 0 if that is not known.
    pub bytes: u64,
}

/// What a rank does besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankLoad {
    /// Work of what cannot migrate.
    pub background: u64,
    /// How fast it is, compared to [`NORMAL_SPEED`].
    pub speed: u32,
}

impl RankLoad {
    /// How long the rank takes for so much work besides its background.
    #[must_use]
    pub fn time(&self, work: u64) -> u64 {
        let work = u128::from(work) + u128::from(self.background);
        let time = work * u128::from(NORMAL_SPEED) / u128::from(self.speed.max(1));
        u64::try_from(time).unwrap_or(u64::MAX)
    }
}

/// What a balancer knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loads {
    /// Elements that can migrate.
    pub elements: Vec<ElementLoad>,
    /// All ranks.
    pub ranks: Vec<RankLoad>,
}

impl Loads {
    /// Where the elements are.
    #[must_use]
    pub fn placement(&self) -> Vec<u32> {
        self.elements.iter().map(|element| element.rank).collect()
    }

    /// The work of the elements of every rank, if they were placed so.
    #[must_use]
    pub fn work(&self, placement: &[u32]) -> Vec<u64> {
        let mut work = vec![0; self.ranks.len()];
        for (element, rank) in self.elements.iter().zip(placement) {
            let all: &mut u64 = &mut work[*rank as usize];
            *all = all.saturating_add(element.work);
        }
        work
    }

    /// How long the rank that takes longest would take, if elements were placed so.
    #[must_use]
    pub fn longest(&self, placement: &[u32]) -> u64 {
        let work = self.work(placement);
        let times = self.ranks.iter().zip(work).map(|(rank, work)| rank.time(work));
        times.max().unwrap_or(0)
    }

    /// How long every rank would take if all took equally long.
    #[must_use]
    pub fn average(&self) -> u64 {
        let all = self.elements.iter().map(|element| u128::from(element.work)).sum::<u128>()
            + self.ranks.iter().map(|rank| u128::from(rank.background)).sum::<u128>();
        let speed: u128 = self.ranks.iter().map(|rank| u128::from(rank.speed)).sum();
        u64::try_from(all * u128::from(NORMAL_SPEED) / speed.max(1)).unwrap_or(u64::MAX)
    }
}

/// Where a balancer that sees all these elements places them; where they are if that does not pay.
#[must_use]
pub fn place(balancer: Balancer, loads: &Loads, cost: MigrationCost) -> Vec<u32> {
    let ranks = loads.ranks.len() as u32;
    let placement = match balancer {
        Balancer::None => loads.placement(),
        Balancer::Greedy => greedy::greedy(loads),
        Balancer::Refine | Balancer::Hierarchical => refine::refine(loads),
        Balancer::Rotate => {
            return loads.elements.iter().map(|element| (element.rank + 1) % ranks).collect();
        }
        Balancer::Random(seed) => {
            let mut random = fastrand::Rng::with_seed(seed);
            return loads.elements.iter().map(|_| random.u32(..ranks)).collect();
        }
    };
    if cost.pays(loads, &placement) { placement } else { loads.placement() }
}

/// The ranks in the order of the time that they take, with the work that they have been given.
pub(crate) struct RankTimes<'a> {
    ranks: &'a [RankLoad],
    work: Vec<u64>,
    /// By speed, because among ranks of one speed the first one is done first with more work too.
    order: BTreeMap<u32, BTreeSet<(u64, u32)>>,
}

impl<'a> RankTimes<'a> {
    pub(crate) fn new(ranks: &'a [RankLoad], work: Vec<u64>) -> RankTimes<'a> {
        let mut order: BTreeMap<u32, BTreeSet<(u64, u32)>> = BTreeMap::new();
        for ((rank, work), at) in ranks.iter().zip(&work).zip(0..) {
            order.entry(rank.speed).or_default().insert((rank.time(*work), at));
        }
        RankTimes { ranks, work, order }
    }

    /// How long a rank takes, with so much work more.
    pub(crate) fn with(&self, at: u32, more: u64) -> u64 {
        self.ranks[at as usize].time(self.work[at as usize].saturating_add(more))
    }

    /// How long a rank takes, with so much work less.
    pub(crate) fn without(&self, at: u32, less: u64) -> u64 {
        self.ranks[at as usize].time(self.work[at as usize] - less)
    }

    /// The rank that takes longest, and how long it takes.
    pub(crate) fn longest(&self) -> Option<(u64, u32)> {
        self.order.values().filter_map(|ranks| ranks.last().copied()).max()
    }

    /// The rank that is done first with so much work more. Of several, the preferred one.
    pub(crate) fn first_done(&self, more: u64, preferred: Option<u32>) -> u32 {
        let first = self.order.values().filter_map(|ranks| ranks.first());
        let candidates = first.map(|(_, at)| *at).chain(preferred);
        let best = candidates.min_by_key(|at| (self.with(*at, more), Some(*at) != preferred, *at));
        best.unwrap_or(0)
    }

    /// Gives a rank work.
    pub(crate) fn give(&mut self, at: u32, work: u64) {
        self.set(at, self.work[at as usize].saturating_add(work));
    }

    /// Takes work from a rank.
    pub(crate) fn take(&mut self, at: u32, work: u64) {
        self.set(at, self.work[at as usize] - work);
    }

    fn set(&mut self, at: u32, work: u64) {
        let rank = &self.ranks[at as usize];
        if let Some(order) = self.order.get_mut(&rank.speed) {
            order.remove(&(rank.time(self.work[at as usize]), at));
            order.insert((rank.time(work), at));
        }
        self.work[at as usize] = work;
    }
}
