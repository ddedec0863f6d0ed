//! What the leader of a group of ranks knows.

use std::collections::BTreeMap;

use super::hierarchical::{Offer, WorkFlow, give_away, offers};
use super::messages::{Measured, Order, RankReport};
use super::{ElementLoad, Loads, MigrationCost};

/// What a leader knows in one balancing.
#[derive(Debug, Default)]
pub(crate) struct GroupBalance {
    pub(crate) reports: BTreeMap<u32, RankReport>,
    pub(crate) loads: Loads,
    /// The elements of the group, in the order of `loads`; behind them are those of other groups.
    pub(crate) elements: Vec<(u32, Measured)>,
    /// What leaves or enters the group, once rank 0 has said that.
    pub(crate) flows: Option<(Vec<WorkFlow>, MigrationCost)>,
    /// What was offered to other groups, until they have answered.
    pub(crate) offered: BTreeMap<u32, Vec<usize>>,
    pub(crate) has_offered: bool,
    /// What other groups have offered.
    pub(crate) received: BTreeMap<u32, Vec<Offer>>,
    pub(crate) orders: BTreeMap<u32, Vec<Order>>,
    pub(crate) moved: u32,
    pub(crate) balancings: u64,
}

impl GroupBalance {
    /// All ranks have said what they do: puts that together, and what migrations have cost.
    pub(crate) fn gather(&mut self) -> MigrationCost {
        let mut cost = MigrationCost::default();
        for (position, (rank, report)) in (0..).zip(std::mem::take(&mut self.reports)) {
            self.loads.ranks.push(report.load);
            cost = cost.plus(report.cost);
            for element in report.elements {
                let Measured { work, bytes, .. } = element;
                self.loads.elements.push(ElementLoad { rank: position, work, bytes });
                self.elements.push((rank, element));
            }
        }
        cost
    }

    /// What this group offers to others.
    pub(crate) fn offer(&mut self, flows: &[WorkFlow], this: u32) -> Vec<(u32, Vec<Offer>)> {
        let leaving: Vec<&WorkFlow> = flows.iter().filter(|flow| flow.from == this).collect();
        let amounts: Vec<u64> = leaving.iter().map(|flow| flow.work).collect();
        let mut all = Vec::new();
        for (flow, chosen) in leaving.iter().zip(offers(&self.loads, &amounts)) {
            self.offered.insert(flow.to, chosen.iter().map(|(at, _)| *at).collect());
            all.push((flow.to, chosen.into_iter().map(|(_, offer)| offer).collect()));
        }
        all
    }

    /// Another group says which of the elements that it was offered it takes.
    pub(crate) fn taken(&mut self, by: u32, ranks: &[Option<u32>]) {
        for (at, to) in self.offered.remove(&by).unwrap_or_default().into_iter().zip(ranks) {
            let (Some(to), Some((rank, element))) = (to, self.elements.get(at)) else { continue };
            let Measured { collection, index, .. } = *element;
            self.orders.entry(*rank).or_default().push(Order { collection, index, to: *to });
            give_away(&mut self.loads, at);
        }
    }
}
