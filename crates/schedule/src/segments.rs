//! The tree between hosts and the length of segments for long broadcasts: the combination whose
//! predicted time is the least. Every rank predicts the same from the placement.
//!
//! Long data moves through the levels of a machine in segments: while one moves on a level, the
//! next one moves on the level above. Short segments fill the levels sooner; but each segment costs
//! every rank a message, and where ranks share a core, a turn on that core.

use crate::cost::{self, Picoseconds};
use crate::placement_costs::{HostTreeShape, TreeCosts, WayCosts};
use crate::select::Algorithm;
use crate::team::Placement;

/// Least length of a segment in bytes, except for the last. Shorter ones do not even pay where
/// links are slow and each rank has a core. Over TCP and CLIC, a message of this length does not
/// wait for its receiver.
pub(crate) const LEAST: i64 = 64 << 10;

/// Time on a core that a rank takes for a message when other ranks want the core: it is woken,
/// moves data that no cache holds and gives the core back (processor time of broadcasts of 1 MiB
/// among 8 and 64 ranks on two cores, in segments of 64 KiB to 1 MiB, 2026-11-26).
const TURN: Picoseconds = 24_000_000;
/// Messages that a segment takes between hosts, all in a row: its announcement, the request of the
/// receiver and the data.
const RENDEZVOUS: Picoseconds = 3;
/// Segments that are under way to a host at the same time.
const WINDOW: u64 = 4;

/// How long data is broadcast: the tree of the hosts and the bytes of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pipeline {
    pub(crate) shape: HostTreeShape,
    /// Bytes of a segment.
    pub(crate) segment: i64,
}

/// The costs of a broadcast in a placement.
struct Costs<'a> {
    placement: &'a Placement,
    /// Ranks of the largest host that receive from its leader.
    followers: u64,
    ranks_per_core: u64,
}

/// Messages in a row that bring a segment, each of which takes the latency.
fn latencies(segment: i64) -> u64 {
    if segment <= LEAST { 1 } else { RENDEZVOUS }
}

impl Costs<'_> {
    fn of(placement: &Placement) -> Costs<'_> {
        Costs {
            placement,
            followers: placement.most_members().saturating_sub(1) as u64,
            ranks_per_core: placement.ranks_per_core() as u64,
        }
    }

    /// What the turns of all ranks on a core cost for one message each.
    fn turns(&self) -> Picoseconds {
        if self.ranks_per_core > 1 { self.ranks_per_core * TURN } else { 0 }
    }

    /// A segment on its way from a leader to the other ranks of its host.
    fn within_host(&self, segment: i64) -> Picoseconds {
        let overhead = RENDEZVOUS * cost::SAME_HOST.overhead;
        let one = cost::SAME_HOST.transfer(segment as u64).saturating_add(overhead);
        // Ranks of a small host are served one after another, those of others by a tree.
        let steps = self.followers.min(2 * u64::from((self.followers + 1).ilog2()) + 1);
        steps.saturating_mul(one)
    }

    /// The time of a broadcast by a tree: that of the first segment to the last host, and then each
    /// segment takes as long as on the busiest host or link.
    fn time(&self, Pipeline { shape, segment }: Pipeline, bytes: i64) -> Picoseconds {
        let TreeCosts { gap_per_byte, work, messages, latency, way } =
            *self.placement.tree_costs(shape);
        let (segments, local) =
            ((bytes as u64).div_ceil(segment as u64), self.within_host(segment));
        let transfer = |gap: Picoseconds| gap.saturating_mul(segment as u64);
        let sending = |messages: u64, work: Picoseconds| {
            (RENDEZVOUS * work).saturating_add(messages.saturating_mul(self.turns()))
        };
        let passing = transfer(gap_per_byte).max(local).saturating_add(sending(messages, work));
        let waiting = latencies(segment).saturating_mul(latency) / WINDOW;
        let first = sending(way.messages, way.work)
            .saturating_add(transfer(way.gap_per_byte).max(local))
            .saturating_add(latencies(segment).saturating_mul(way.latency));
        (segments - 1)
            .saturating_mul(passing.max(waiting))
            .saturating_add(first)
            .saturating_add(local)
    }

    /// The time of a broadcast by which each rank gets a part of the data, and then the parts pass
    /// around a ring. Each rank has a host.
    fn time_of_scatter(&self, bytes: i64) -> Picoseconds {
        let hosts = self.placement.hosts() as u64;
        let WayCosts { gap_per_byte, latency, work, .. } = *self.placement.ring_costs();
        let part = bytes / hosts as i64;
        let message = (2 * RENDEZVOUS * work)
            .saturating_add(self.turns())
            .saturating_add(latencies(part).saturating_mul(latency));
        let messages = (cost::ceiling_log(hosts) + hosts - 1).saturating_mul(message);
        let all_but_own = bytes as u64 - bytes as u64 / hosts;
        messages.saturating_add(gap_per_byte.saturating_mul(2 * all_but_own))
    }
}

/// The lengths of segments that are compared, ascending: powers of two, and the whole.
fn lengths(bytes: i64) -> impl Iterator<Item = i64> {
    let bytes = bytes.max(1);
    let powers = (0..62 - LEAST.ilog2()).map(|more| LEAST << more);
    powers.take_while(move |&length| length < bytes).chain([bytes])
}

/// How to broadcast `bytes` bytes among hosts by a tree, and how long it takes. The tree is forced,
/// or any.
fn best(placement: &Placement, bytes: i64, forced: Option<Algorithm>) -> (Picoseconds, Pipeline) {
    let costs = Costs::of(placement);
    let shapes: &[HostTreeShape] = match forced {
        Some(Algorithm::Chain) => &[HostTreeShape::Chain],
        Some(_) => &[HostTreeShape::Binomial],
        None if placement.has_groups() => {
            &[HostTreeShape::Chain, HostTreeShape::GroupChain, HostTreeShape::Binomial]
        }
        None => &[HostTreeShape::Chain, HostTreeShape::Binomial],
    };
    let all = lengths(bytes)
        .flat_map(|segment| shapes.iter().map(move |&shape| Pipeline { shape, segment }));
    let timed = all.map(|one| (costs.time(one, bytes), one));
    timed.min_by_key(|one| one.0).expect("there is a whole segment")
}

/// The predicted time of a broadcast among hosts by a tree.
pub(crate) fn time(placement: &Placement, bytes: i64) -> Picoseconds {
    best(placement, bytes.max(1), None).0
}

/// How to broadcast `bytes` bytes among hosts, by this tree if one is given.
pub(crate) fn pipeline(placement: &Placement, bytes: i64, tree: Option<Algorithm>) -> Pipeline {
    if bytes > LEAST {
        return best(placement, bytes, tree).1;
    }
    // Short data goes as a whole.
    let chain = tree == Some(Algorithm::Chain);
    let shape = if chain { HostTreeShape::Chain } else { short_shape(placement, bytes) };
    Pipeline { shape, segment: LEAST }
}

/// The tree for data that goes as a whole.
fn short_shape(placement: &Placement, bytes: i64) -> HostTreeShape {
    let costs = Costs::of(placement);
    let time = |shape| costs.time(Pipeline { shape, segment: bytes.max(1) }, bytes.max(1));
    let by_groups =
        placement.has_groups() && time(HostTreeShape::GroupChain) < time(HostTreeShape::Binomial);
    if by_groups { HostTreeShape::GroupChain } else { HostTreeShape::Binomial }
}

/// True if `bytes` bytes are broadcast sooner in parts, which pass around a ring, than by a tree.
/// Each rank has a host.
pub(crate) fn scatters(placement: &Placement, bytes: i64) -> bool {
    // Where ranks share cores, the many messages of a scatter do not pay; and it would send more
    // over a slow link, or out of a group, than the data once.
    placement.ranks_per_core() == 1
        && !placement.has_leaves()
        && !placement.has_groups()
        && Costs::of(placement).time_of_scatter(bytes) < best(placement, bytes, None).0
}

/// Bytes of a segment of data that passes down in a host while it arrives in parts.
pub(crate) fn within_host(placement: &Placement, bytes: i64) -> i64 {
    let costs = Costs::of(placement);
    let time = |segment: i64| {
        let segments = (bytes as u64).div_ceil(segment as u64);
        segments.saturating_mul(costs.turns()).saturating_add(costs.within_host(segment))
    };
    lengths(bytes).min_by_key(|&segment| time(segment)).expect("there is a whole segment")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEBIBYTE: i64 = 1 << 20;

    fn placement(hosts: u32, each: u32, ranks_per_core: usize, rate: u64) -> Placement {
        let placement = Placement::new((0..hosts * each).map(|rank| rank / each));
        placement.with_rates(|_| rate).with_ranks_per_core(ranks_per_core)
    }

    fn chosen(placement: &Placement, bytes: i64) -> (HostTreeShape, i64) {
        let Pipeline { shape, segment } = pipeline(placement, bytes, None);
        (shape, segment)
    }

    #[test]
    fn lengths_end_with_the_whole() {
        assert_eq!(lengths(10).collect::<Vec<_>>(), [10]);
        assert_eq!(lengths(LEAST + 1).collect::<Vec<_>>(), [LEAST, LEAST + 1]);
        assert_eq!(lengths(4 * LEAST).collect::<Vec<_>>(), [LEAST, 2 * LEAST, 4 * LEAST]);
        assert_eq!(lengths(i64::MAX).last(), Some(i64::MAX));
    }

    #[test]
    fn a_slow_link_carries_every_byte_once_in_short_segments() {
        let slow = placement(8, 1, 1, 125_000_000);
        assert_eq!(chosen(&slow, MEBIBYTE), (HostTreeShape::Chain, LEAST));
    }

    #[test]
    fn ranks_that_share_cores_move_long_segments() {
        let (alone, crowded) =
            (placement(2, 4, 1, 1_250_000_000), placement(2, 4, 4, 1_250_000_000));
        assert!(chosen(&alone, MEBIBYTE).1 < chosen(&crowded, MEBIBYTE).1);
        assert_eq!(
            chosen(&placement(8, 8, 32, 1_250_000_000), MEBIBYTE),
            (HostTreeShape::Binomial, MEBIBYTE)
        );
        assert_eq!(within_host(&crowded, MEBIBYTE), MEBIBYTE / 2);
        assert_eq!(within_host(&alone, MEBIBYTE), LEAST);
    }

    #[test]
    fn many_hosts_scatter() {
        let many = placement(64, 1, 1, 1_250_000_000);
        assert!(scatters(&many, 4 * MEBIBYTE) && !scatters(&many, 16 * MEBIBYTE));
        let slow = many.clone().with_rates(|host| if host == 5 { 1 << 20 } else { 1 << 30 });
        for placement in [slow, many.with_ranks_per_core(2)] {
            assert!(!scatters(&placement, 4 * MEBIBYTE));
        }
    }

    #[test]
    fn longer_data_takes_longer_and_never_overflows() {
        for placement in [placement(1, 4, 9, 0), placement(2, 1, 1, 1), placement(1000, 64, 1, 0)] {
            let time = |bytes| best(&placement, bytes, None).0;
            let times: Vec<_> = (16..63).map(|log| time(1 << log)).collect();
            assert!(times.is_sorted(), "{times:?}");
        }
    }
}
