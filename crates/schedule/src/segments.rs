//! The tree between hosts and the length of segments for long broadcasts: the combination whose
//! predicted time is the least. Every rank predicts the same from the placement.
//!
//! Long data moves through the levels of a machine in segments: while one moves on a level, the
//! next one moves on the level above. Short segments fill the levels sooner; but each segment costs
//! every rank a message, and where ranks share a core, a turn on that core.

use crate::cost::{self, LinkCost, Picoseconds};
use crate::select::Algorithm;
use crate::team::Placement;

/// Least length of a segment in bytes, except for the last. Shorter ones do not even pay where
/// links are slow and each rank has a core.
pub(crate) const LEAST: i64 = 64 << 10;

/// Time on a core that a rank takes for a message when other ranks want the core: it is woken,
/// moves data that no cache holds and gives the core back (processor time of broadcasts of 1 MiB
/// among 8 and 64 ranks on two cores, in segments of 64 KiB to 1 MiB, 2026-11-26).
const TURN: Picoseconds = 24_000_000;
/// Messages that a segment takes between hosts, all in a row: its announcement, the request of the
/// receiver and the data.
const RENDEZVOUS: Picoseconds = 3;

/// How long data is broadcast: the tree of the hosts and the bytes of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pipeline {
    /// [`Algorithm::Chain`], [`Algorithm::Binomial`], or [`Algorithm::ScatterAllgather`] if each
    /// rank has a host to itself.
    pub(crate) tree: Algorithm,
    /// Bytes of a segment.
    pub(crate) segment: i64,
}

/// The costs of a broadcast in a placement.
struct Costs {
    hosts: u64,
    /// Ranks of the largest host that receive from its leader.
    followers: u64,
    ranks_per_core: u64,
    gap_per_byte: Picoseconds,
}

impl Costs {
    fn of(placement: &Placement) -> Costs {
        Costs {
            hosts: placement.hosts() as u64,
            followers: placement.most_members().saturating_sub(1) as u64,
            ranks_per_core: placement.ranks_per_core() as u64,
            gap_per_byte: slowest(placement),
        }
    }

    /// What the turns of all ranks on a core cost for one message each.
    fn turns(&self) -> Picoseconds {
        if self.ranks_per_core > 1 { self.ranks_per_core * TURN } else { 0 }
    }

    /// What a message between hosts costs, its bytes apart.
    fn message(&self) -> Picoseconds {
        2 * RENDEZVOUS * cost::BETWEEN_HOSTS.overhead + self.turns()
    }

    /// A segment on its way from a leader to the other ranks of its host.
    fn within_host(&self, segment: i64) -> Picoseconds {
        let overhead = RENDEZVOUS * cost::SAME_HOST.overhead;
        let one = cost::SAME_HOST.transfer(segment as u64).saturating_add(overhead);
        // Ranks of a small host are served one after another, those of others by a tree.
        let steps = self.followers.min(2 * u64::from((self.followers + 1).ilog2()) + 1);
        steps.saturating_mul(one)
    }

    /// The time of a broadcast.
    fn time(&self, Pipeline { tree, segment }: Pipeline, bytes: i64) -> Picoseconds {
        let segments = (bytes as u64).div_ceil(segment as u64);
        let transfer = |bytes: u64| bytes.saturating_mul(self.gap_per_byte);
        let (rounds, local) = (ceiling_log(self.hosts), self.within_host(segment));
        let message = self.message();
        let transferred = transfer(segment as u64);
        let levels = match tree {
            // Each host receives a segment while it passes on the one before.
            Algorithm::Chain => (segments + self.hosts.saturating_sub(2))
                .saturating_mul(message.saturating_add(transferred.max(local))),
            // The root sends each segment to as many hosts as the tree has rounds.
            Algorithm::Binomial => {
                let one = message.saturating_add(transferred);
                segments.saturating_mul(rounds.saturating_mul(one).max(local))
            }
            _ => {
                let all_but_own = bytes as u64 - bytes as u64 / self.hosts;
                let messages = (rounds + self.hosts - 1).saturating_mul(message);
                messages.saturating_add(transfer(2 * all_but_own))
            }
        };
        levels.saturating_add(local)
    }
}

/// Time per byte over the slowest link of a host.
fn slowest(placement: &Placement) -> Picoseconds {
    let gaps = placement.network().hosts.iter().map(|host| LinkCost::from(host.link).gap_per_byte);
    gaps.max().unwrap_or(0)
}

fn ceiling_log(number: u64) -> u64 {
    u64::from(number.next_power_of_two().ilog2())
}

/// The lengths of segments that are compared, ascending: powers of two, and the whole.
fn lengths(bytes: i64) -> impl Iterator<Item = i64> {
    let bytes = bytes.max(1);
    let powers = (0..62 - LEAST.ilog2()).map(|more| LEAST << more);
    powers.take_while(move |&length| length < bytes).chain([bytes])
}

/// How to broadcast `bytes` bytes among hosts, with this tree if one is given.
pub(crate) fn pipeline(placement: &Placement, bytes: i64, tree: Option<Algorithm>) -> Pipeline {
    let costs = Costs::of(placement);
    let trees = match tree {
        Some(tree) => vec![tree],
        None => vec![Algorithm::Chain, Algorithm::Binomial],
    };
    let segmented = lengths(bytes)
        .flat_map(|segment| trees.iter().map(move |&tree| Pipeline { tree, segment }));
    // Where ranks share cores, the many messages of a scatter do not pay; and it would send more
    // over a slow link than the data once.
    let may_scatter = costs.followers == 0 && costs.ranks_per_core == 1;
    let scatters = tree.is_none() && may_scatter && !placement.has_leaves();
    let scatter = Pipeline { tree: Algorithm::ScatterAllgather, segment: bytes };
    let all = segmented.chain(scatters.then_some(scatter));
    all.min_by_key(|&one| costs.time(one, bytes)).expect("there is a whole segment")
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

    fn chosen(placement: &Placement, bytes: i64) -> (Algorithm, i64) {
        let Pipeline { tree, segment } = pipeline(placement, bytes, None);
        (tree, segment)
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
        assert_eq!(chosen(&slow, MEBIBYTE), (Algorithm::Chain, LEAST));
    }

    #[test]
    fn ranks_that_share_cores_move_long_segments() {
        let (alone, crowded) =
            (placement(2, 4, 1, 1_250_000_000), placement(2, 4, 4, 1_250_000_000));
        assert!(chosen(&alone, MEBIBYTE).1 < chosen(&crowded, MEBIBYTE).1);
        assert_eq!(
            chosen(&placement(8, 8, 32, 1_250_000_000), MEBIBYTE),
            (Algorithm::Binomial, MEBIBYTE)
        );
        assert_eq!(within_host(&crowded, MEBIBYTE), MEBIBYTE / 2);
        assert_eq!(within_host(&alone, MEBIBYTE), LEAST);
    }

    #[test]
    fn many_hosts_scatter() {
        let many = placement(64, 1, 1, 1_250_000_000);
        assert_eq!(chosen(&many, MEBIBYTE).0, Algorithm::ScatterAllgather);
        let slow = many.clone().with_rates(|host| if host == 5 { 1 << 20 } else { 1 << 30 });
        for placement in [slow, many.with_ranks_per_core(2)] {
            assert_ne!(chosen(&placement, MEBIBYTE).0, Algorithm::ScatterAllgather);
        }
    }

    #[test]
    fn longer_data_takes_longer_and_never_overflows() {
        for placement in [placement(1, 4, 9, 0), placement(2, 1, 1, 1), placement(1000, 64, 1, 0)] {
            let costs = Costs::of(&placement);
            let time = |bytes| costs.time(pipeline(&placement, bytes, None), bytes);
            let times: Vec<_> = (16..63).map(|log| time(1 << log)).collect();
            assert!(times.is_sorted(), "{times:?}");
        }
    }
}
