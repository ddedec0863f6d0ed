//! Refinement within groups of ranks and between them. One rank of each group, its leader, sees the
//! elements of the group; rank 0 sees what each group has to do in all, and says how much work goes
//! from which group to which. The leader of a group that gives work offers elements to the leader
//! of the one that takes it, which says where they shall be.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::refine::bound;
use super::{ElementLoad, Loads, MigrationCost, NORMAL_SPEED, RankTimes};

/// What a group has to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupLoad {
    /// All its work.
    pub work: u64,
    /// The work of its elements that can migrate.
    pub movable: u64,
    /// How many there are.
    pub elements: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The sum of the speeds of its ranks.
    pub speed: u64,
}

impl GroupLoad {
    /// What the group with these loads has to do.
    #[must_use]
    pub fn of(loads: &Loads) -> GroupLoad {
        let movable = loads.elements.iter().map(|element| element.work).sum();
        GroupLoad {
            work: loads.ranks.iter().map(|rank| rank.background).sum::<u64>() + movable,
            movable,
            elements: loads.elements.len() as u64,
            bytes: loads.elements.iter().map(|element| element.bytes).sum(),
            speed: loads.ranks.iter().map(|rank| u64::from(rank.speed)).sum(),
        }
    }

    /// How long its ranks take on average, with so much work more.
    fn time(&self, more: i128) -> u64 {
        let work = (i128::from(self.work) + more).max(0) * i128::from(NORMAL_SPEED);
        u64::try_from(work / i128::from(self.speed.max(1))).unwrap_or(u64::MAX)
    }
}

/// Work that shall leave a group for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkFlow {
    /// The group that gives it.
    pub from: u32,
    /// The group that takes it.
    pub to: u32,
    /// How much.
    pub work: u64,
}

/// An element that a group offers to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// Its work.
    pub work: u64,
    /// Its size.
    pub bytes: u64,
    /// How long its rank takes that has it now.
    pub time: u64,
}

/// How many ranks a group has in a job of so many: about as many as there are groups.
#[must_use]
pub fn group_size(ranks: u32) -> u32 {
    let root = ranks.isqrt();
    if root * root == ranks { root.max(1) } else { root + 1 }
}

/// Which groups give work to which; nothing if that does not pay.
#[must_use]
pub fn flows(groups: &[GroupLoad], cost: MigrationCost) -> Vec<WorkFlow> {
    let sum =
        |count: fn(&GroupLoad) -> u64| groups.iter().map(|group| u128::from(count(group))).sum();
    let (work, speed): (u128, u128) = (sum(|group| group.work), sum(|group| group.speed));
    let average = work * u128::from(NORMAL_SPEED) / speed.max(1);
    let share = |group: &GroupLoad| (work * u128::from(group.speed) / speed.max(1)) as u64;
    let bound = bound(u64::try_from(average).unwrap_or(u64::MAX));
    let mut room: BTreeSet<(u64, u32)> = BTreeSet::new();
    let mut excess = Vec::new();
    for (group, at) in groups.iter().zip(0..) {
        if group.time(0) > bound {
            excess.push((group.work.saturating_sub(share(group)).min(group.movable), at));
        } else {
            room.insert((share(group).saturating_sub(group.work), at));
        }
    }
    excess.sort_by_key(|(work, at)| (std::cmp::Reverse(*work), *at));
    let mut flows = Vec::new();
    for (mut left, from) in excess {
        while left > 0
            && let Some((space, to)) = room.pop_last().filter(|(space, _)| *space > 0)
        {
            let work = left.min(space);
            flows.push(WorkFlow { from, to, work });
            left -= work;
            room.insert((space - work, to));
        }
    }
    if pays(groups, &flows, cost) { flows } else { Vec::new() }
}

fn pays(groups: &[GroupLoad], flows: &[WorkFlow], cost: MigrationCost) -> bool {
    let (mut change, mut costs) = (vec![0_i128; groups.len()], vec![0_u64; groups.len()]);
    for flow in flows {
        let group = &groups[flow.from as usize];
        let part = |whole: u64| {
            (u128::from(whole) * u128::from(flow.work) / u128::from(group.movable.max(1))) as u64
        };
        let time = cost.of(part(group.elements), part(group.bytes));
        for (at, work) in [(flow.from, -i128::from(flow.work)), (flow.to, i128::from(flow.work))] {
            change[at as usize] += work;
            costs[at as usize] += time;
        }
    }
    let before = groups.iter().map(|group| group.time(0)).max().unwrap_or(0);
    let after = groups.iter().zip(&change).map(|(group, work)| group.time(*work)).max();
    let gain = before.saturating_sub(after.unwrap_or(0));
    gain > costs.into_iter().max().unwrap_or(0)
}

/// The elements of a group that make up so much work for each of several other groups, taken from
/// the ranks that take longest.
#[must_use]
pub fn offers(loads: &Loads, amounts: &[u64]) -> Vec<Vec<(usize, Offer)>> {
    let mut times = RankTimes::new(&loads.ranks, loads.work(&loads.placement()));
    let mut here: Vec<BTreeSet<(u64, usize)>> = vec![BTreeSet::new(); loads.ranks.len()];
    for (element, at) in loads.elements.iter().zip(0..) {
        here[element.rank as usize].insert((element.work, at));
    }
    let mut chosen = Vec::new();
    for amount in amounts {
        let (mut left, mut offered) = (*amount, Vec::new());
        while let Some((time, from)) = times.longest() {
            let elements = &mut here[from as usize];
            let Some(largest) = elements.range((1, 0)..=(left, usize::MAX)).next_back().copied()
            else {
                break;
            };
            elements.remove(&largest);
            let (work, at) = largest;
            times.take(from, work);
            left -= work;
            offered.push((at, Offer { work, bytes: loads.elements[at].bytes, time }));
            if left == 0 {
                break;
            }
        }
        chosen.push(offered);
    }
    chosen
}

/// Takes the elements that another group offers into the loads of a group: the position of each
/// there, or nothing for one that no rank of the group has time for.
pub fn take_in(loads: &mut Loads, offered: &[Offer]) -> Vec<Option<usize>> {
    let Loads { elements, ranks } = loads;
    let mut work = vec![0; ranks.len()];
    for element in elements.iter() {
        work[element.rank as usize] += element.work;
    }
    let mut times = RankTimes::new(ranks, work);
    let mut order: Vec<usize> = (0..offered.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(offered[*at].work));
    let mut taken = vec![None; offered.len()];
    for at in order {
        let Offer { work, bytes, time } = offered[at];
        let rank = times.first_done(work, None);
        if times.with(rank, work) < time {
            times.give(rank, work);
            taken[at] = Some(elements.len());
            elements.push(ElementLoad { rank, work, bytes });
        }
    }
    taken
}

/// Another group has taken this element: the group does nothing with it any more.
pub fn give_away(loads: &mut Loads, element: usize) {
    loads.elements[element].work = 0;
}
