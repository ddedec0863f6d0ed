//! Collectives between two groups: ranks 0..a form the first group, a..a + b the second.

use std::sync::Arc;

use towpath_base::ids::PeerIndex;
use towpath_schedule::{Placement, Team};

use super::store::reducer;
use super::{Matrix, Sample, Shape, Store, execute, roots, selections, team};
use crate::Call;
use crate::Plan;
use crate::allgather::Allgather;
use crate::alltoall::Alltoall;
use crate::inter::{self, Bridge, RootSide};
use crate::reduce::Operand;
use crate::select::{Collective, Selection};

const GROUPS: &[(usize, usize)] = &[(1, 1), (1, 4), (3, 2), (5, 7), (16, 9)];
const COUNTS: &[i64] = &[0, 1, 6, 200];

/// One rank of the two groups.
struct Place {
    /// 0 for the first group.
    group: usize,
    local: Team,
    remote: Vec<PeerIndex>,
}

impl Place {
    fn all((first, second): (usize, usize)) -> Vec<Place> {
        let whole = team(0, first + second);
        let groups: [Arc<[PeerIndex]>; 2] =
            [whole.peers[..first].into(), whole.peers[first..].into()];
        let place = |group: usize, rank: usize| Place {
            group,
            local: Team {
                rank,
                peers: groups[group].clone(),
                placement: Arc::new(Placement::on_one_host(groups[group].len())),
                context: whole.context,
            },
            remote: groups[1 - group].to_vec(),
        };
        (0..first)
            .map(|rank| place(0, rank))
            .chain((0..second).map(|rank| place(1, rank)))
            .collect()
    }

    /// The role of this rank if rank `root` of the first group is the root.
    fn side(&self, root: usize) -> RootSide {
        match self.group {
            0 if self.local.rank == root => RootSide::Root,
            0 => RootSide::Idle,
            _ => RootSide::Leaf { root },
        }
    }
}

/// Builds and executes one plan per rank. `build` gets the rank's number over both groups.
fn run(
    groups: (usize, usize),
    selection: &Selection,
    mut build: impl FnMut(usize, &Place, &Bridge) -> Plan,
) {
    let places = Place::all(groups);
    let plans = places.iter().enumerate().map(|(index, place)| {
        let bridge = Bridge { call: Call { team: &place.local, selection }, remote: &place.remote };
        build(index, place, &bridge)
    });
    let plans = plans.collect();
    execute(plans, (groups.0 * 31 + groups.1) as u64);
}

#[test]
fn barrier_ends_in_both_groups() {
    for &groups in GROUPS {
        run(groups, &Selection::default(), |_, _, bridge| inter::barrier(bridge).unwrap());
    }
}

#[test]
fn introduction_tells_everybody_of_both_leaders() {
    for &groups in GROUPS {
        let mut words: Vec<Store<i64>> =
            (0..groups.0 + groups.1).map(|_| Store::new(Shape::Dense, 6)).collect();
        for leader in [0, groups.0] {
            words[leader] = Store::filled(Shape::Dense, 6, leader);
        }
        let own = |index: usize| if index < groups.0 { (0, groups.0) } else { (groups.0, 0) };
        run(groups, &Selection::default(), |index, _, bridge| {
            inter::introduce(bridge, &words[index].buffer(6)).unwrap()
        });
        for (index, row) in words.iter().enumerate() {
            let (mine, theirs) = own(index);
            row.assert_values(0, 3, mine, 0, &groups);
            row.assert_values(3, 3, theirs, 0, &groups);
        }
    }
}

#[test]
fn bcast_reaches_the_other_group() {
    for (&groups, &count) in
        GROUPS.iter().flat_map(|groups| COUNTS.iter().map(move |count| (groups, count)))
    {
        for root in roots(groups.0) {
            let mut data: Vec<Store<i64>> =
                (0..groups.0 + groups.1).map(|_| Store::new(Shape::Dense, count)).collect();
            data[root] = Store::filled(Shape::Dense, count, root);
            run(groups, &Selection::default(), |index, place, bridge| {
                inter::bcast(bridge, place.side(root), &data[index].buffer(count)).unwrap()
            });
            data[groups.0..]
                .iter()
                .for_each(|row| row.assert_values(0, count, root, 0, &(groups, count)));
        }
    }
}

#[test]
fn gather_and_scatter_cross() {
    for selection in
        selections(Collective::Gather).into_iter().chain(selections(Collective::Scatter))
    {
        for (&groups, &count) in
            GROUPS.iter().flat_map(|groups| COUNTS.iter().map(move |count| (groups, count)))
        {
            for (root, varying) in
                roots(groups.0).into_iter().flat_map(|root| [(root, false), (root, true)])
            {
                let leaves = groups.1;
                let total = count * leaves as i64;
                let counts = vec![count; leaves];
                let places: Vec<i64> = (0..leaves as i64).map(|leaf| leaf * count).collect();
                let mut own: Vec<Store<i64>> =
                    (0..leaves).map(|leaf| Store::filled(Shape::Dense, count, leaf)).collect();
                let mut back: Vec<Store<i64>> =
                    (0..leaves).map(|_| Store::new(Shape::Dense, count)).collect();
                let mut all = Store::<i64>::new(Shape::Dense, total);
                let mut blocks =
                    || if varying { all.varying(&counts, &places) } else { all.blocks(count) };
                let collect = if varying { inter::gatherv } else { inter::gather };
                run(groups, &selection, |index, place, bridge| {
                    let send = (place.group == 1).then(|| own[index - groups.0].buffer(count));
                    let receive = (place.side(root) == RootSide::Root).then(&mut blocks);
                    collect(bridge, place.side(root), send.as_ref(), receive.as_ref()).unwrap()
                });
                let distribute = if varying { inter::scatterv } else { inter::scatter };
                run(groups, &selection, |index, place, bridge| {
                    let receive = (place.group == 1).then(|| back[index - groups.0].buffer(count));
                    let send = (place.side(root) == RootSide::Root).then(&mut blocks);
                    distribute(bridge, place.side(root), send.as_ref(), receive.as_ref()).unwrap()
                });
                let what = (&selection, groups, root, count, varying);
                for leaf in 0..leaves {
                    all.assert_values(places[leaf], count, leaf, 0, &what);
                    back[leaf].assert_values(0, count, leaf, 0, &what);
                }
            }
        }
    }
}

#[test]
fn allgather_and_alltoall_cross() {
    for (&groups, &count) in
        GROUPS.iter().flat_map(|groups| COUNTS.iter().map(move |count| (groups, count)))
    {
        for varying in [false, true] {
            // The blocks of the two groups have different counts.
            let counts = [count, count / 2 + 1];
            let sizes = [groups.0, groups.1];
            let ranks = groups.0 + groups.1;
            let group = |index: usize| usize::from(index >= groups.0);
            let mut send: Vec<Store<i64>> = (0..ranks)
                .map(|index| Store::filled(Shape::Dense, counts[group(index)], index))
                .collect();
            let mut all: Vec<Store<i64>> = (0..ranks)
                .map(|index| {
                    let other = 1 - group(index);
                    Store::new(Shape::Dense, counts[other] * sizes[other] as i64)
                })
                .collect();
            run(groups, &Selection::default(), |index, place, bridge| {
                let other = 1 - place.group;
                let places: Vec<i64> =
                    (0..sizes[other] as i64).map(|rank| rank * counts[other]).collect();
                let receive = match varying {
                    true => all[index].varying(&vec![counts[other]; sizes[other]], &places),
                    false => all[index].blocks(counts[other]),
                };
                let send = Some(send[index].buffer(counts[place.group]));
                inter::allgather(bridge, &Allgather { send, receive }).unwrap()
            });
            for (index, row) in all.iter().enumerate() {
                let other = 1 - group(index);
                for rank in 0..sizes[other] {
                    let first = rank as i64 * counts[other];
                    row.assert_values(
                        first,
                        counts[other],
                        other * groups.0 + rank,
                        0,
                        &(groups, count, varying),
                    );
                }
            }
        }
        let ranks = groups.0 + groups.1;
        let remote = |index: usize| if index < groups.0 { groups.1 } else { groups.0 } as i64;
        let mut send: Vec<Store<i64>> = (0..ranks)
            .map(|index| Store::filled(Shape::Dense, count * remote(index), index))
            .collect();
        let mut receive: Vec<Store<i64>> =
            (0..ranks).map(|index| Store::new(Shape::Dense, count * remote(index))).collect();
        run(groups, &Selection::default(), |index, _, bridge| {
            let blocks = Alltoall {
                send: Some(send[index].blocks(count)),
                receive: receive[index].blocks(count),
            };
            inter::alltoall(bridge, &blocks).unwrap()
        });
        for (index, row) in receive.iter().enumerate() {
            let (first, own) =
                if index < groups.0 { (groups.0, index) } else { (0, index - groups.0) };
            for rank in 0..remote(index) as usize {
                row.assert_values(
                    rank as i64 * count,
                    count,
                    first + rank,
                    own as i64 * count,
                    &(groups, count),
                );
            }
        }
    }
}

/// Element `index`, combined over a range of ranks.
fn combined<T: Sample>(ranks: std::ops::Range<usize>, index: i64) -> T {
    ranks.map(|rank| T::of(rank, index)).reduce(T::combine).unwrap()
}

fn check_reductions<T: Sample>() {
    for (&groups, &count) in
        GROUPS.iter().flat_map(|groups| COUNTS.iter().map(move |count| (groups, count)))
    {
        let ranks = groups.0 + groups.1;
        let other = |index: usize| if index < groups.0 { groups.0..ranks } else { 0..groups.0 };
        // The vector is long enough for one block per rank of either group.
        let total = count * (groups.0 * groups.1) as i64;
        let mut send: Vec<Store<T>> =
            (0..ranks).map(|index| Store::filled(Shape::Dense, total, index)).collect();
        let mut operand = |index: usize| {
            let element = send[index].element();
            Operand {
                send: Some(send[index].pointer()),
                count: total,
                reducer: reducer::<T>(&element),
                element,
            }
        };
        let fresh =
            || -> Vec<Store<T>> { (0..ranks).map(|_| Store::new(Shape::Dense, total)).collect() };
        let selection = Selection::default();
        for root in roots(groups.0) {
            let mut receive = fresh();
            run(groups, &selection, |index, place, bridge| {
                inter::reduce(bridge, place.side(root), &operand(index), receive[index].pointer())
                    .unwrap()
            });
            (0..total).for_each(|i| assert_eq!(receive[root].get(i), combined(groups.0..ranks, i)));
        }
        let mut receive = fresh();
        run(groups, &selection, |index, _, bridge| {
            inter::allreduce(bridge, &operand(index), receive[index].pointer()).unwrap()
        });
        for (index, row) in receive.iter().enumerate() {
            (0..total).for_each(|i| assert_eq!(row.get(i), combined(other(index), i)));
        }
        let mut receive = fresh();
        run(groups, &selection, |index, place, bridge| {
            let counts = vec![total / place.local.size() as i64; place.local.size()];
            inter::reduce_scatter(bridge, &operand(index), &counts, receive[index].pointer())
                .unwrap()
        });
        for (index, row) in receive.iter().enumerate() {
            let (size, rank) =
                if index < groups.0 { (groups.0, index) } else { (groups.1, index - groups.0) };
            let block = total / size as i64;
            (0..block).for_each(|i| {
                assert_eq!(row.get(i), combined(other(index), rank as i64 * block + i))
            });
        }
    }
}

#[test]
fn reductions_cross() {
    check_reductions::<i64>();
    check_reductions::<Matrix>();
}
