//! What the leader of a group of ranks does to balance their loads.

use crate::balance::group::GroupBalance;
use crate::balance::hierarchical::{GroupLoad, take_in};
use crate::balance::messages::{BalanceMessage, Measured, Order};
use crate::balance::{Balancer, MigrationCost, place};
use crate::runtime::Runtime;

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
            BalanceMessage::Moved => {
                group.moved += 1;
                let all = group.moved as usize == members;
                if all {
                    group.moved = 0;
                    drop(state);
                    self.tell_balance(0, BalanceMessage::GroupMoved);
                }
                return;
            }
            // `balance_message` sends nothing else here.
            _ => return,
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
