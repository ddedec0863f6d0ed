//! Load balancers: never worse than before, close to the best, and no move that does not pay.

use proptest::prelude::*;
use towpath_actors::balance::greedy::greedy;
use towpath_actors::balance::hierarchical::{
    GroupLoad, Offer, WorkFlow, flows, give_away, group_size, offers, take_in,
};
use towpath_actors::balance::refine::{bound, refine};
use towpath_actors::balance::{
    Balancer, ElementLoad, Loads, MigrationCost, NORMAL_SPEED, RankLoad, place,
};

/// Migrations that cost almost nothing.
const FREE: MigrationCost = MigrationCost { bytes: 1 << 40, time: 1 };

fn element(rank: u32, work: u64) -> ElementLoad {
    ElementLoad { rank, work, bytes: 0 }
}

fn equal_ranks(ranks: usize) -> Vec<RankLoad> {
    vec![RankLoad { background: 0, speed: NORMAL_SPEED }; ranks]
}

prop_compose! {
    /// Any loads, with ranks of several speeds.
    fn loads()(ranks in 1_usize..20)(
        elements in prop::collection::vec((0..ranks as u32, 0_u64..1_000_000_000), 0..200),
        ranks in prop::collection::vec((0_u64..2_000_000_000, 1_u32..4), ranks),
    ) -> Loads {
        Loads {
            elements: elements.into_iter().map(|(rank, work)| element(rank, work)).collect(),
            ranks: ranks
                .into_iter()
                .map(|(background, speed)| RankLoad { background, speed: speed * 500 })
                .collect(),
        }
    }
}

prop_compose! {
    /// Few elements on few equal ranks, so that the best placement can be found.
    fn few_loads()(ranks in 1_usize..4)(
        elements in prop::collection::vec((0..ranks as u32, 1_u64..1000), 0..8),
        ranks in Just(ranks),
    ) -> Loads {
        let elements = elements.into_iter().map(|(rank, work)| element(rank, work)).collect();
        Loads { elements, ranks: equal_ranks(ranks) }
    }
}

/// The shortest time possible, by trying all placements.
fn best(loads: &Loads) -> u64 {
    let (elements, ranks) = (loads.elements.len() as u32, loads.ranks.len() as u64);
    let placements = (0..ranks.pow(elements)).map(|number| {
        let digit = |at| (number / ranks.pow(at) % ranks) as u32;
        loads.longest(&(0..elements).map(digit).collect::<Vec<u32>>())
    });
    placements.min().unwrap_or(0)
}

fn moves(loads: &Loads, placement: &[u32]) -> usize {
    loads.elements.iter().zip(placement).filter(|(element, rank)| element.rank != **rank).count()
}

/// What the leaders of all groups and rank 0 decide together.
fn hierarchical(loads: &Loads, size: u32, cost: MigrationCost) -> Vec<u32> {
    let mut groups: Vec<(Vec<Option<usize>>, Loads)> = Vec::new();
    for (ranks, group) in loads.ranks.chunks(size as usize).zip(0..) {
        let names = (0..loads.elements.len()).filter(|at| loads.elements[*at].rank / size == group);
        let names: Vec<usize> = names.collect();
        let elements = names
            .iter()
            .map(|at| ElementLoad { rank: loads.elements[*at].rank % size, ..loads.elements[*at] });
        let here = Loads { elements: elements.collect(), ranks: ranks.to_vec() };
        groups.push((names.into_iter().map(Some).collect(), here));
    }
    let sums: Vec<GroupLoad> = groups.iter().map(|(_, here)| GroupLoad::of(here)).collect();
    let flows = flows(&sums, cost);
    for from in 0..groups.len() as u32 {
        let mine: Vec<&WorkFlow> = flows.iter().filter(|flow| flow.from == from).collect();
        let amounts: Vec<u64> = mine.iter().map(|flow| flow.work).collect();
        for (flow, offered) in mine.iter().zip(offers(&groups[from as usize].1, &amounts)) {
            assert!(offered.iter().map(|(_, offer)| offer.work).sum::<u64>() <= flow.work);
            let all: Vec<Offer> = offered.iter().map(|(_, offer)| *offer).collect();
            let taken = take_in(&mut groups[flow.to as usize].1, &all);
            for ((at, _), place) in offered.iter().zip(taken) {
                let name = groups[from as usize].0[*at];
                // Those that are refused have no name in the other group.
                if let Some(place) = place {
                    give_away(&mut groups[from as usize].1, *at);
                    groups[from as usize].0[*at] = None;
                    let places = &mut groups[flow.to as usize].0;
                    places.resize(places.len().max(place + 1), None);
                    places[place] = name;
                }
            }
        }
    }
    let mut placement = loads.placement();
    for (group, (names, here)) in groups.iter().enumerate() {
        for (name, rank) in names.iter().zip(place(Balancer::Refine, here, cost)) {
            if let Some(name) = name {
                placement[*name] = group as u32 * size + rank;
            }
        }
    }
    placement
}

proptest! {
    #[test]
    fn no_balancer_makes_it_worse_or_says_something_else_the_second_time(loads in loads()) {
        let before = loads.longest(&loads.placement());
        let size = group_size(loads.ranks.len() as u32);
        let all: [(&str, &dyn Fn() -> Vec<u32>); 3] = [
            ("greedy", &|| greedy(&loads)),
            ("refine", &|| refine(&loads)),
            ("hierarchical", &|| hierarchical(&loads, size, FREE)),
        ];
        for (name, balance) in all {
            let placement = balance();
            prop_assert!(loads.longest(&placement) <= before, "{name}");
            prop_assert_eq!(loads.work(&placement).iter().sum::<u64>(),
                loads.work(&loads.placement()).iter().sum::<u64>());
            prop_assert_eq!(placement, balance());
        }
    }

    #[test]
    fn greedy_takes_no_more_than_four_thirds_of_the_best(loads in few_loads()) {
        prop_assert!(3 * loads.longest(&greedy(&loads)) <= 4 * best(&loads));
    }

    #[test]
    fn refine_stays_within_its_tolerance_if_elements_are_small(
        ranks in 1_usize..20,
        places in prop::collection::vec((any::<prop::sample::Index>(), 0_u64..100), 0..300),
    ) {
        let elements = places.iter().map(|(at, work)| element(at.index(ranks) as u32, *work));
        let mut loads = Loads { elements: elements.collect(), ranks: equal_ranks(ranks) };
        // Background makes the average so great that every element fits into the tolerance.
        loads.ranks.iter_mut().for_each(|rank| rank.background = 2_000);
        let placement = refine(&loads);
        prop_assert!(loads.longest(&placement) <= bound(loads.average()));
    }

    #[test]
    fn refine_moves_nothing_if_all_ranks_are_within_its_tolerance(work in 1_000_u64..1 << 40) {
        let elements = (0..8).map(|rank| element(rank, work + u64::from(rank % 2) * work / 20));
        let loads = Loads { elements: elements.collect(), ranks: equal_ranks(8) };
        prop_assert_eq!(moves(&loads, &refine(&loads)), 0);
    }

    #[test]
    fn a_plan_that_does_not_pay_is_not_done(loads in loads(), time in 1_u64..1 << 30) {
        let cost = MigrationCost { bytes: 1, time };
        let dear = Loads {
            elements: loads.elements.iter().map(|element| ElementLoad { bytes: 1, ..*element }).collect(),
            ..loads
        };
        for balancer in [Balancer::Greedy, Balancer::Refine] {
            let placement = place(balancer, &dear, cost);
            let gain = dear.longest(&dear.placement()) - dear.longest(&placement);
            prop_assert!(moves(&dear, &placement) == 0 || gain > time);
        }
    }
}

#[test]
fn refine_moves_a_quarter_of_the_elements_of_a_rank_with_three_times_the_load() {
    // 3:1, with elements of equal work.
    let elements = (0..32).map(|at| element(u32::from(at >= 24), 1_000_000));
    let loads = Loads { elements: elements.collect(), ranks: equal_ranks(2) };
    let placement = refine(&loads);
    assert_eq!(loads.longest(&placement), 16_000_000);
    assert_eq!(moves(&loads, &placement), 8);
}

#[test]
fn refine_places_elements_anew_where_none_fits() {
    // Four elements of 3 on four ranks, and four of 1 on the other four.
    let elements = (0..32).map(|at| element(at / 4, if at < 16 { 3_000 } else { 1_000 }));
    let loads = Loads { elements: elements.collect(), ranks: equal_ranks(8) };
    assert_eq!(loads.longest(&refine(&loads)), 8_000);
}

#[test]
fn ranks_that_are_twice_as_fast_get_twice_as_much() {
    let elements = (0..300).map(|_| element(0, 1_000_000)).collect();
    let ranks = vec![
        RankLoad { background: 0, speed: NORMAL_SPEED },
        RankLoad { background: 0, speed: 2 * NORMAL_SPEED },
    ];
    let loads = Loads { elements, ranks };
    for placement in [greedy(&loads), refine(&loads)] {
        let [slow, fast] = loads.work(&placement)[..] else { panic!("there are two ranks") };
        assert!(slow <= 105_000_000 && fast <= 210_000_000, "{slow} {fast}");
    }
}

#[test]
fn groups_of_ranks_balance_what_one_group_has_too_much() {
    // All work is in the first of ten groups.
    let elements = (0..1000).map(|at| element(at % 10, 1_000_000)).collect();
    let loads = Loads { elements, ranks: equal_ranks(100) };
    let placement = hierarchical(&loads, group_size(100), FREE);
    let (longest, average) = (loads.longest(&placement), loads.average());
    assert!(longest <= average * 11 / 10, "{longest} where {average} is the average");
}

#[test]
fn work_between_groups_that_does_not_pay_stays() {
    let group = |work| GroupLoad { work, movable: work, elements: 10, bytes: 1 << 20, speed: 1000 };
    let groups = [group(2_000_000), group(1_000_000)];
    assert_eq!(flows(&groups, FREE), [WorkFlow { from: 0, to: 1, work: 500_000 }]);
    assert_eq!(flows(&groups, MigrationCost { bytes: 1, time: 2 }), []);
}
