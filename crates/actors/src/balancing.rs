//! The protocol of load balancing.
//!
//! Once the elements of all arrays that balance loads are ready, rank 0 asks all ranks for the
//! loads that they have measured. Each tells the leader of its group, which decides what migrates
//! and orders it ([`crate::leading`]). With a balancer that sees everything, all ranks are one
//! group. A rank has done its orders when the elements that left it have settled elsewhere. Once
//! all ranks have, rank 0 lets the elements go on.
//!
//! An array takes part from its first round on, or from when a rank says so
//! ([`Runtime::join_balancing`]). A round of an array without elements is complete
//! when rank 0 asks its root for one, which is how rank 0 learns not to wait for it.

use crate::balance::hierarchical::{GroupLoad, WorkFlow, flows, group_size};
use crate::balance::messages::{BalanceMessage, Measured, Order, RankReport};
use crate::balance::rank::ArrayRounds;
use crate::balance::{Balancer, MigrationCost, NORMAL_SPEED, RankLoad};
use crate::chares::ChareId;
use crate::collection::{ArrayElement, CollectionId, Deferred, ObjectId};
use crate::error::ActorError;
use crate::runtime::{Processed, Runtime};
use crate::state::State;

impl Runtime {
    /// How many ranks a group has in a job of so many.
    fn group_size_of(&self, ranks: u32) -> u32 {
        if self.balancing.balancer == Balancer::Hierarchical { group_size(ranks) } else { ranks }
    }

    /// How many ranks a group has.
    pub(crate) fn group_size(&self) -> u32 {
        self.group_size_of(self.ranks())
    }

    /// How many groups there are.
    fn groups(&self) -> u32 {
        self.ranks().div_ceil(self.group_size())
    }

    /// The group of this rank.
    pub(crate) fn group(&self) -> u32 {
        self.rank() / self.group_size()
    }

    /// The leader of a group.
    pub(crate) fn leader(&self, group: u32) -> u32 {
        group * self.group_size()
    }

    /// Tells another rank something about load balancing.
    pub(crate) fn tell_balance(&self, to: u32, what: BalanceMessage) {
        self.state.borrow_mut().tell(to, CollectionId::SINGLE_CHARES, what);
    }

    pub(crate) fn balance_message(&self, id: CollectionId, what: BalanceMessage) -> Processed {
        match what {
            BalanceMessage::Ready { rounds, has_elements } => {
                self.array_is_ready(id, rounds, has_elements);
            }
            BalanceMessage::Join => {
                self.state.borrow_mut().balancing.arrays.entry(id).or_default();
            }
            BalanceMessage::BeginRound => self.begin_round(id),
            BalanceMessage::Measure => self.measure(),
            BalanceMessage::Group { group, load, cost } => {
                self.group_is_measured(group, load, cost)
            }
            BalanceMessage::Orders(orders) => return self.migrate_elements(&orders),
            BalanceMessage::GroupMoved => self.group_has_moved(),
            BalanceMessage::GoOn(rounds) => self.go_on(rounds),
            BalanceMessage::Loads(_)
            | BalanceMessage::Flows { .. }
            | BalanceMessage::Offers { .. }
            | BalanceMessage::Taken { .. }
            | BalanceMessage::Moved => self.lead(what),
        }
        Ok(())
    }

    /// At rank 0: an array is ready, or has no elements.
    fn array_is_ready(&self, id: CollectionId, rounds: u32, has_elements: bool) {
        {
            let mut state = self.state.borrow_mut();
            let arrays = &mut state.balancing.arrays;
            if has_elements {
                arrays.entry(id).or_default().ready = rounds;
            } else {
                arrays.remove(&id);
            }
        }
        self.begin_balancing();
    }

    /// At rank 0: balances if all arrays are ready.
    fn begin_balancing(&self) {
        let mut guard = self.state.borrow_mut();
        let state = &mut *guard;
        let arrays = &mut state.balancing.arrays;
        let is_ready = |rounds: &ArrayRounds| rounds.ready > rounds.resumed;
        if !arrays.values().any(is_ready) || state.balancing.is_under_way {
            return;
        }
        let mut others = Vec::new();
        for (id, rounds) in arrays.iter_mut().filter(|(_, rounds)| !is_ready(rounds)) {
            if rounds.asked != Some(rounds.ready) {
                rounds.asked = Some(rounds.ready);
                others.push(*id);
            }
        }
        let all = arrays.values().all(is_ready);
        let ranks = state.ranks;
        for id in others {
            state.tell(id.root(ranks), id, BalanceMessage::BeginRound);
        }
        if all {
            state.balancing.is_under_way = true;
            drop(guard);
            self.measure();
        }
    }

    /// Tells the leader what this rank does, and lets those below do the same.
    fn measure(&self) {
        self.state.borrow_mut().tell_below(&BalanceMessage::Measure.into());
        let (rank, speed) = (self.rank(), self.balancing.speed);
        let (mut elements, mut background) = (Vec::new(), 0_u64);
        let mut objects = Vec::new();
        let cost = {
            let mut state = self.state.borrow_mut();
            for (id, collection) in &mut state.collections {
                for (_, element) in &mut collection.elements {
                    let load = std::mem::take(&mut element.load);
                    let work = load.saturating_mul(speed.into()) / u64::from(NORMAL_SPEED);
                    if can_migrate(element) {
                        let (collection, index) = (*id, element.index);
                        elements.push(Measured { collection, index, work, bytes: 0 });
                        objects.push(element.object.map(|object| (element.chare, object)));
                    } else {
                        background = background.saturating_add(work);
                    }
                }
            }
            state.balancing.cost
        };
        for (element, object) in elements.iter_mut().zip(objects) {
            element.bytes = object.map_or(0, |(chare, object)| self.measured(chare, object));
        }
        // The decision shall not depend on the order in which a rank keeps its elements.
        elements.sort_unstable();
        let load = RankLoad { background, speed };
        let report = RankReport { rank, load, cost, elements };
        self.tell_balance(self.leader(self.group()), BalanceMessage::Loads(report));
    }

    /// The bytes of an object when it is packed.
    fn measured(&self, chare: u32, object: ObjectId) -> u64 {
        self.chares.packed_bytes(self, chare, object).unwrap_or_else(|reason| {
            self.fail(ActorError::Measuring { chare: self.chares.chare_name(chare), reason });
            0
        })
    }

    /// At rank 0: once all groups have said what they do, says which of them gives work to which.
    fn group_is_measured(&self, group: u32, load: GroupLoad, cost: MigrationCost) {
        let groups = self.groups() as usize;
        let mut state = self.state.borrow_mut();
        let balancing = &mut state.balancing;
        balancing.groups.resize(groups, None);
        if let Some(known) = balancing.groups.get_mut(group as usize) {
            *known = Some(load);
        }
        balancing.group_cost = balancing.group_cost.plus(cost);
        let all: Vec<GroupLoad> = balancing.groups.iter().copied().flatten().collect();
        if all.len() < groups {
            return;
        }
        balancing.groups.clear();
        let cost = std::mem::take(&mut balancing.group_cost);
        drop(state);
        let flows = flows(&all, cost);
        for group in 0..groups as u32 {
            let its = |flow: &&WorkFlow| flow.from == group || flow.to == group;
            let flows = flows.iter().filter(its).copied().collect();
            self.tell_balance(self.leader(group), BalanceMessage::Flows { flows, cost });
        }
    }

    /// Does what the leader has ordered.
    fn migrate_elements(&self, orders: &[Order]) -> Processed {
        for Order { collection, index, to } in orders {
            let id = ChareId { collection: *collection, index: *index };
            let Some(migrations) = self.migrations_of(id) else { continue };
            if *to == self.rank() {
                continue;
            }
            self.migrate(id, *to)?;
            if self.migrations_of(id).is_none() {
                let moving = (*collection, *index, migrations + 1);
                self.state.borrow_mut().balancing.moving.insert(moving);
            }
        }
        let mut state = self.state.borrow_mut();
        state.balancing.has_orders = true;
        self.report_moves(&mut state);
        Ok(())
    }

    /// How often an element of this rank has migrated, if it can.
    fn migrations_of(&self, id: ChareId) -> Option<u32> {
        let state = self.state.borrow();
        let element = state.collections.get(&id.collection)?.element(&id.index)?;
        can_migrate(element).then_some(element.migrations)
    }

    /// An element that left has arrived.
    pub(crate) fn element_has_settled(&self, state: &mut State, id: ChareId, migrations: u32) {
        if state.balancing.moving.remove(&(id.collection, id.index, migrations)) {
            self.report_moves(state);
        }
    }

    fn report_moves(&self, state: &mut State) {
        let balancing = &mut state.balancing;
        if balancing.has_orders && balancing.moving.is_empty() {
            balancing.has_orders = false;
            let size = self.group_size_of(state.ranks);
            let leader = state.rank / size * size;
            state.tell(leader, CollectionId::SINGLE_CHARES, BalanceMessage::Moved);
        }
    }

    /// At rank 0: once all elements have migrated, they go on.
    fn group_has_moved(&self) {
        let groups = self.groups();
        let mut state = self.state.borrow_mut();
        let balancing = &mut state.balancing;
        balancing.groups_moved += 1;
        if balancing.groups_moved < groups {
            return;
        }
        balancing.groups_moved = 0;
        balancing.is_under_way = false;
        let mut resumed = Vec::new();
        for (id, rounds) in &mut balancing.arrays {
            rounds.resumed = rounds.ready;
            resumed.push((*id, rounds.resumed));
        }
        drop(state);
        self.go_on(resumed);
        self.begin_balancing();
    }

    fn go_on(&self, rounds: Vec<(CollectionId, u32)>) {
        for (id, rounds) in &rounds {
            self.resume_elements(*id, *rounds);
        }
        self.state.borrow_mut().tell_below(&BalanceMessage::GoOn(rounds).into());
    }
}

/// Whether a balancer may let an element migrate.
fn can_migrate(element: &ArrayElement) -> bool {
    element.is_ready
        && !element.is_running
        && element.pinned == 0
        && element.object.is_some()
        && element.deferred == Deferred::Nothing
}
