//! Every collective, algorithm, size, root and in-place form on 1 to 48 ranks, compared with a
//! naive computation, on a fake network that delivers in a seeded random order.

mod between;
mod fake;
mod movement;
mod neighbors;
mod phased;
mod reductions;
mod running;
mod store;
mod varying;

pub(super) use fake::{execute, team};
pub(super) use store::{Matrix, Sample, Shape, Store};

use std::sync::Arc;

use towpath_schedule::{Placement, Team};
use towpath_topology::{HostNetwork, NetworkHost, NetworkLink};

use crate::select::{Algorithm, Collective, Selection, TABLE};

/// Algorithms that are chosen where few hosts share cores.
const THROUGH_ONE: [Algorithm; 6] = [
    Algorithm::Chain,
    Algorithm::GatherBcast,
    Algorithm::GatherScatter,
    Algorithm::Linear,
    Algorithm::ReduceBcast,
    Algorithm::ReduceThenScatter,
];

/// Numbers of ranks.
const RANKS: &[usize] = &[1, 2, 3, 4, 5, 6, 7, 8, 16, 48];
/// Numbers of ranks for a shape: all for dense data, some for the other shapes.
fn ranks(shape: Shape) -> &'static [usize] {
    if shape == Shape::Dense { RANKS } else { &[1, 3, 4, 7] }
}

/// Numbers of elements: none, one, few, and more than one chunk of the chain algorithm at 8 bytes
/// each.
const COUNTS: &[i64] = &[0, 1, 5, 33];

/// [`COUNTS`], and for one number of ranks a vector of several segments, stripes and groups.
fn counts(size: usize) -> impl Iterator<Item = i64> {
    COUNTS.iter().copied().chain((size == 7).then_some(18_000))
}

/// Which ranks share a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mapping {
    /// All of them.
    OneHost,
    /// Three consecutive ranks each.
    Consecutive,
    /// Rank r is on host r modulo 3.
    Cyclic,
    /// Hosts with 1, 5, and all other ranks, in no order.
    Unequal,
    /// None: each rank is on a host of its own.
    Apart,
    /// As cyclic, and the first host is behind a slow link.
    Slow,
    /// As apart, and the first host and every fourth one behind it are behind slow links.
    SlowApart,
    /// Two consecutive ranks each, on hosts in racks of two, in sites of two; uplinks are slow.
    Racks,
    /// As apart, in consecutive racks of three, whose uplinks are slow; every fourth host should
    /// not lead.
    RacksApart,
    /// As apart, in groups of which each has every third host, with slow processors on some hosts.
    GroupsApart,
}

impl Mapping {
    const SEVERAL_HOSTS: [Mapping; 9] = [
        Mapping::Consecutive,
        Mapping::Cyclic,
        Mapping::Unequal,
        Mapping::Apart,
        Mapping::Slow,
        Mapping::SlowApart,
        Mapping::Racks,
        Mapping::RacksApart,
        Mapping::GroupsApart,
    ];

    /// Those on which [`THROUGH_ONE`] is forced.
    const WITH_THROUGH_ONE: [Mapping; 4] =
        [Mapping::Apart, Mapping::Cyclic, Mapping::SlowApart, Mapping::RacksApart];

    fn host(self, rank: usize) -> u32 {
        let rank = rank as u32;
        match self {
            Mapping::OneHost => 0,
            Mapping::Consecutive => rank / 3,
            Mapping::Cyclic | Mapping::Slow => rank % 3,
            Mapping::Unequal => [7, 2, 2, 9, 2, 9, 2, 2].get(rank as usize).copied().unwrap_or(9),
            Mapping::Racks => rank / 2,
            Mapping::Apart | Mapping::SlowApart | Mapping::RacksApart | Mapping::GroupsApart => {
                rank
            }
        }
    }
}

/// What joins the hosts of [`Mapping::Racks`] and the like.
fn network(mapping: Mapping, hosts: usize) -> HostNetwork {
    let slow = NetworkLink { rate: 1_000_000, latency: 1_000_000, half_duplex: false };
    let host = |number: usize| {
        let mut host = NetworkHost::default();
        match mapping {
            // Racks, and behind them their sites.
            Mapping::Racks => host.groups = vec![hosts + number / 4, number / 2],
            Mapping::RacksApart => {
                host.groups = vec![number / 3];
                host.leads = !number.is_multiple_of(4);
            }
            _ => {
                host.groups = vec![number % 3];
                host.processor = if number % 5 == 1 { 100 } else { 1000 };
            }
        }
        host
    };
    HostNetwork { hosts: (0..hosts).map(host).collect(), uplinks: vec![slow; 2 * hosts] }
}

/// Where the ranks are, and how algorithms are chosen.
#[derive(Debug)]
pub(super) struct Setting {
    selection: Selection,
    mapping: Mapping,
}

impl Default for Setting {
    fn default() -> Setting {
        Setting { selection: Selection::default(), mapping: Mapping::OneHost }
    }
}

impl Setting {
    fn hierarchical(collective: Collective) -> Selection {
        Selection::forcing(collective, Algorithm::Hierarchical)
    }

    fn team(&self, rank: usize, size: usize) -> Team {
        let placement = Placement::new((0..size).map(|rank| self.mapping.host(rank)));
        let mut placement = placement.with_ranks_per_core(size % 3).sharing_evenly(true);
        if matches!(self.mapping, Mapping::Slow | Mapping::SlowApart) {
            placement = placement.with_rates(|host| if host % 4 == 0 { 1 } else { 10 });
        }
        if matches!(self.mapping, Mapping::Racks | Mapping::RacksApart | Mapping::GroupsApart) {
            placement = placement.on_network(&network(self.mapping, size));
        }
        Team { placement: Arc::new(placement), ..team(rank, size) }
    }
}

/// The algorithms of a collective.
fn algorithms(collective: Collective) -> Vec<Algorithm> {
    let rows = TABLE.iter().filter(|row| row.collective == collective);
    let mut algorithms: Vec<Algorithm> = rows.map(|row| row.algorithm).collect();
    algorithms.dedup();
    algorithms
}

/// All algorithms of the collective on one host and on several, and the default choice.
fn settings(collective: Collective) -> Vec<Setting> {
    let algorithms = algorithms(collective);
    let one_host = selections(collective).into_iter();
    let mut settings: Vec<Setting> =
        one_host.map(|selection| Setting { selection, mapping: Mapping::OneHost }).collect();
    for mapping in Mapping::SEVERAL_HOSTS {
        settings.push(Setting { selection: Selection::default(), mapping });
        let is_forced = |algorithm: &&Algorithm| match algorithm {
            Algorithm::Hierarchical => true,
            _ => Mapping::WITH_THROUGH_ONE.contains(&mapping) && THROUGH_ONE.contains(algorithm),
        };
        let forced = algorithms.iter().filter(is_forced);
        let forced = forced.map(|&algorithm| Selection::forcing(collective, algorithm));
        settings.extend(forced.map(|selection| Setting { selection, mapping }));
    }
    settings
}

/// The default selection and one for each algorithm of the collective.
fn selections(collective: Collective) -> Vec<Selection> {
    let algorithms = algorithms(collective);
    let mut selections = vec![Selection::default()];
    selections
        .extend(algorithms.into_iter().map(|algorithm| Selection::forcing(collective, algorithm)));
    selections
}

/// Some roots of a team: first, second, middle, last.
fn roots(size: usize) -> Vec<usize> {
    let mut roots = vec![0, 1 % size, size / 2, size - 1];
    roots.sort_unstable();
    roots.dedup();
    roots
}
