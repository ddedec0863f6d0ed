//! What the leader of a group of ranks does to balance their loads.

use std::collections::BTreeMap;

use crate::balance::hierarchical::{Flow, GroupLoad, Offer, give_away, offers, take_in};
use crate::balance::{Balancer, ElementLoad, Loads, MigrationCost, place};
use crate::balancing::{BalanceMessage, Measured, Order, RankReport};
use crate::runtime::Runtime;

/// What a leader knows in one balancing.
#[derive(Debug, Default)]
pub(crate) struct GroupBalance {
    reports: BTreeMap<u32, RankReport>,
    loads: Loads,
    /// The elements of the group, in the order of `loads`; behind them are those of other groups.
    elements: Vec<(u32, Measured)>,
    /// What leaves or enters the group, once rank 0 has said that.
    flows: Option<(Vec<Flow>, MigrationCost)>,
    /// What was offered to other groups, until they have answered.
    offered: BTreeMap<u32, Vec<usize>>,
    has_offered: bool,
    /// What other groups have offered.
    received: BTreeMap<u32, Vec<Offer>>,
    orders: BTreeMap<u32, Vec<Order>>,
    moved: u32,
    balancings: u64,
}

impl Runtime {
    /// The leader of a group is told something.
    pub(crate) fn lead(&self, what: BalanceMessage) {
        let members = self.members();
        let mut state = self.state.borrow_mut();
        let group = &mut state.balancing.group;
        match what {
            BalanceMessage::Loads(report) => {
                group.reports.insert(report.rank, report);
                if group.reports.len() < members {
                    return;
                }
                let cost = group.gather();
                group.balancings += 1;
                let load = GroupLoad::of(&group.loads);
                drop(state);
                if self.balancing.balancer == Balancer::Hierarchical {
                    let group = self.group();
                    self.tell_balance(0, BalanceMessage::Group { group, load, cost });
                } else {
                    self.order(self.balancing.balancer, cost);
                }
                return;
            }
            BalanceMessage::Flows { flows, cost } => group.flows = Some((flows, cost)),
            BalanceMessage::Offers { group: from, offers } => {
                group.received.insert(from, offers);
            }
            BalanceMessage::Taken { group: by, ranks } => group.taken(by, &ranks),
            _ => {
                group.moved += 1;
                let all = group.moved as usize == members;
                if all {
                    group.moved = 0;
                    drop(state);
                    self.tell_balance(0, BalanceMessage::GroupMoved);
                }
                return;
            }
        }
        drop(state);
        self.exchange();
    }

    /// How many ranks are in the group of this leader.
    fn members(&self) -> usize {
        self.group_size().min(self.ranks() - self.rank()) as usize
    }

    /// Offers elements to other groups, and decides once it is known what leaves and what enters.
    fn exchange(&self) {
        let this = self.group();
        let mut state = self.state.borrow_mut();
        let group = &mut state.balancing.group;
        let Some((flows, cost)) = group.flows.clone() else { return };
        if !group.has_offered {
            group.has_offered = true;
            let all = group.offer(&flows, this);
            drop(state);
            for (to, offers) in all {
                let offers = BalanceMessage::Offers { group: this, offers };
                self.tell_balance(self.leader(to), offers);
            }
            return self.exchange();
        }
        let entering = flows.iter().filter(|flow| flow.to == this);
        if !group.offered.is_empty() || group.received.len() < entering.count() {
            return;
        }
        drop(state);
        self.order(Balancer::Refine, cost);
    }

    /// Decides, and orders what migrates.
    fn order(&self, balancer: Balancer, cost: MigrationCost) {
        let mut state = self.state.borrow_mut();
        let GroupBalance { mut loads, elements, received, mut orders, balancings, .. } =
            std::mem::take(&mut state.balancing.group);
        state.balancing.group.balancings = balancings;
        drop(state);
        let entering: Vec<(u32, Vec<Option<usize>>)> =
            received.iter().map(|(from, offers)| (*from, take_in(&mut loads, offers))).collect();
        let balancer = match balancer {
            Balancer::Random(seed) => Balancer::Random(seed.wrapping_add(balancings)),
            other => other,
        };
        let placement = place(balancer, &loads, cost);
        let first = self.rank();
        for (from, places) in entering {
            let ranks = places.into_iter().map(|at| at.map(|at| first + placement[at])).collect();
            let taken = BalanceMessage::Taken { group: self.group(), ranks };
            self.tell_balance(self.leader(from), taken);
        }
        for (((rank, element), load), to) in elements.iter().zip(&loads.elements).zip(placement) {
            if load.rank != to {
                let Measured { collection, index, .. } = *element;
                let order = Order { collection, index, to: first + to };
                orders.entry(*rank).or_default().push(order);
            }
        }
        for rank in first..first + self.members() as u32 {
            let mine = orders.remove(&rank).unwrap_or_default();
            self.tell_balance(rank, BalanceMessage::Orders(mine));
        }
    }
}

impl GroupBalance {
    /// All ranks have said what they do: puts that together, and what migrations have cost.
    fn gather(&mut self) -> MigrationCost {
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
    fn offer(&mut self, flows: &[Flow], this: u32) -> Vec<(u32, Vec<Offer>)> {
        let leaving: Vec<&Flow> = flows.iter().filter(|flow| flow.from == this).collect();
        let amounts: Vec<u64> = leaving.iter().map(|flow| flow.work).collect();
        let mut all = Vec::new();
        for (flow, chosen) in leaving.iter().zip(offers(&self.loads, &amounts)) {
            self.offered.insert(flow.to, chosen.iter().map(|(at, _)| *at).collect());
            all.push((flow.to, chosen.into_iter().map(|(_, offer)| offer).collect()));
        }
        all
    }

    /// Another group says which of the elements that it was offered it takes.
    fn taken(&mut self, by: u32, ranks: &[Option<u32>]) {
        for (at, to) in self.offered.remove(&by).unwrap_or_default().into_iter().zip(ranks) {
            let (Some(to), Some((rank, element))) = (to, self.elements.get(at)) else { continue };
            let Measured { collection, index, .. } = *element;
            self.orders.entry(*rank).or_default().push(Order { collection, index, to: *to });
            give_away(&mut self.loads, at);
        }
    }
}
