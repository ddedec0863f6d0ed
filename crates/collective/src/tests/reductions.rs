//! Reductions: commutative or not, in place or not, compared with combining in rank order.

use towpath_datatype::Basic;
use towpath_datatype::reduce::Operation as Named;

use super::store::reducer;
use super::{
    Mapping, Matrix, Sample, Setting, Shape, Store, counts, execute, ranks, roots, settings,
};
use crate::Call;
use crate::Plan;
use crate::allreduce::allreduce;
use crate::buffers::DeviceSpread;
use crate::reduce::{Operand, reduce};
use crate::reduce_scatter::reduce_scatter;
use crate::reducer::Reducer;
use crate::scan::{exscan, scan};
use crate::select::{Collective, Selection};

/// The vectors of one call: the input and the output of each rank.
struct Vectors<T> {
    shape: Shape,
    send: Vec<Store<T>>,
    receive: Vec<Store<T>>,
    in_place: bool,
    count: i64,
}

impl<T: Sample> Vectors<T> {
    fn new(shape: Shape, size: usize, count: i64, in_place: bool) -> Vectors<T> {
        let send = (0..size).map(|rank| Store::filled(shape, count, rank)).collect();
        let receive = (0..size)
            .map(|rank| {
                if in_place { Store::filled(shape, count, rank) } else { Store::new(shape, count) }
            })
            .collect();
        Vectors { shape, send, receive, in_place, count }
    }

    fn operand(&mut self, rank: usize, in_place: bool) -> Operand {
        let element = self.send[rank].element();
        let send = (!in_place).then(|| self.send[rank].pointer());
        let reducer = match self.shape {
            Shape::Reduced(_) => Reducer::of(Named::Sum, Basic::Int64).unwrap(),
            _ => reducer::<T>(&element),
        };
        Operand { send, count: self.count, reducer, element }
    }

    /// Builds and executes plans. `build` gets the call, the operand and the receive pointer.
    fn run(&mut self, setting: &Setting, mut build: impl FnMut(&Call, &Operand, *mut u8) -> Plan) {
        let size = self.send.len();
        let mut plans = Vec::new();
        for rank in 0..size {
            let operand = self.operand(rank, self.in_place);
            let receive = self.receive[rank].pointer();
            let (team, selection) = (&setting.team(rank, size), &setting.selection);
            plans.push(build(&Call { team, selection }, &operand, receive));
        }
        execute(plans, self.count as u64 + 11);
    }
}

/// Element `index`, combined over the ranks `0..end`.
fn combined<T: Sample>(end: usize, index: i64) -> T {
    (1..end).fold(T::of(0, index), |sum, rank| T::combine(sum, T::of(rank, index)))
}

fn cases(shape: Shape) -> impl Iterator<Item = (usize, i64, bool)> {
    ranks(shape).iter().flat_map(|&size| {
        counts(size).flat_map(move |count| [(size, count, false), (size, count, true)])
    })
}

fn check_reduce<T: Sample>(shape: Shape) {
    for setting in settings(Collective::Reduce) {
        for (size, count, in_place) in cases(shape) {
            for root in roots(size) {
                let mut vectors = Vectors::<T>::new(shape, size, count, false);
                vectors.receive[root] = if in_place {
                    Store::filled(shape, count, root)
                } else {
                    Store::new(shape, count)
                };
                let mut plans = Vec::new();
                for rank in 0..size {
                    let operand = vectors.operand(rank, in_place && rank == root);
                    let receive = vectors.receive[rank].pointer();
                    let (team, selection) = (&setting.team(rank, size), &setting.selection);
                    let call = Call { team, selection };
                    plans.push(reduce(&call, root, &operand, receive).unwrap());
                }
                execute(plans, count as u64);
                for index in 0..count {
                    let got = vectors.receive[root].get(index);
                    assert_eq!(
                        got,
                        combined(size, index),
                        "{setting:?} {size} ranks root {root} {count} {in_place}"
                    );
                    let other = (root + 1) % size;
                    assert!(other == root || vectors.receive[other].is_untouched(index));
                }
            }
        }
    }
}

#[test]
fn reduce_combines_in_the_order_of_ranks() {
    check_reduce::<i64>(Shape::Dense);
    check_reduce::<Matrix>(Shape::Dense);
    check_reduce::<Matrix>(Shape::Gaps);
    check_reduce::<i64>(Shape::Backwards);
}

fn check_allreduce<T: Sample>(shape: Shape) {
    for setting in settings(Collective::Allreduce) {
        for (size, count, in_place) in cases(shape) {
            let mut vectors = Vectors::<T>::new(shape, size, count, in_place);
            vectors
                .run(&setting, |call, operand, receive| allreduce(call, operand, receive).unwrap());
            for (rank, row) in vectors.receive.iter().enumerate() {
                for index in 0..count {
                    let what = (&setting, size, rank, count, in_place);
                    assert_eq!(row.get(index), combined(size, index), "{what:?}, element {index}");
                }
            }
        }
    }
}

#[test]
fn allreduce_combines_on_all_ranks() {
    check_allreduce::<i64>(Shape::Dense);
    check_allreduce::<Matrix>(Shape::Dense);
    check_allreduce::<Matrix>(Shape::Gaps);
    check_allreduce::<i64>(Shape::Backwards);
}

/// Vectors of several chunks, on hosts whose ranks have a core each.
fn check_long<T: Sample>(shape: Shape) {
    let (size, count) = (7, 60_000);
    let result: Vec<T> = (0..count).map(|index| combined(size, index)).collect();
    let is_result =
        |row: &Store<T>| (0..count).all(|index| row.get(index) == result[index as usize]);
    for mapping in [Mapping::Consecutive, Mapping::Cyclic, Mapping::Unequal, Mapping::Slow] {
        let setting = Setting { mapping, ..Setting::default() };
        assert_eq!(setting.team(0, size).placement.ranks_per_core(), 1);
        for in_place in [false, true] {
            let mut vectors = Vectors::<T>::new(shape, size, count, in_place);
            vectors
                .run(&setting, |call, operand, receive| allreduce(call, operand, receive).unwrap());
            assert!(vectors.receive.iter().all(is_result), "{mapping:?} {in_place}");
            for root in [0, 4] {
                let mut vectors = Vectors::<T>::new(shape, size, count, in_place);
                vectors.run(&setting, |call, operand, receive| {
                    let is_root = call.team.rank == root;
                    let send = operand.send.or((!is_root).then_some(receive));
                    let operand = Operand { send, ..operand.clone() };
                    reduce(call, root, &operand, receive).unwrap()
                });
                assert!(is_result(&vectors.receive[root]), "{mapping:?} {root} {in_place}");
            }
        }
    }
}

#[test]
fn long_reductions_stream_through_the_levels() {
    check_long::<i64>(Shape::Dense);
    check_long::<i64>(Shape::Gaps);
    check_long::<Matrix>(Shape::Dense);
}

#[test]
fn allreduce_gives_all_ranks_the_same_bits() {
    for setting in settings(Collective::Allreduce) {
        for size in [3, 7, 16, 48] {
            let mut bits = Vec::new();
            for _ in 0..2 {
                let mut vectors = Vectors::<f64>::new(Shape::Dense, size, 21, false);
                vectors.run(&setting, |call, operand, receive| {
                    allreduce(call, operand, receive).unwrap()
                });
                bits.extend(
                    vectors
                        .receive
                        .iter()
                        .map(|row| (0..21).map(|i| row.get(i).to_bits()).collect::<Vec<u64>>()),
                );
            }
            assert!(bits.windows(2).all(|pair| pair[0] == pair[1]), "{setting:?} {size}");
        }
    }
}

fn check_reduce_scatter<T: Sample>(shape: Shape) {
    for setting in settings(Collective::ReduceScatter) {
        for (size, count, in_place) in cases(shape) {
            for equal in [false, true] {
                let counts: Vec<i64> = (0..size as i64)
                    .map(|rank| if equal { count } else { rank * 5 % (count + 1) })
                    .collect();
                let total = counts.iter().sum();
                let mut vectors = Vectors::<T>::new(shape, size, total, in_place);
                vectors.run(&setting, |call, operand, receive| {
                    reduce_scatter(call, operand, &counts, receive).unwrap()
                });
                let mut first = 0;
                for (rank, row) in vectors.receive.iter().enumerate() {
                    for index in 0..counts[rank] {
                        let what = (&setting, size, rank, count, in_place, equal);
                        assert_eq!(
                            row.get(index),
                            combined(size, first + index),
                            "{what:?}, element {index}"
                        );
                    }
                    first += counts[rank];
                }
            }
        }
    }
}

#[test]
fn reduce_scatter_leaves_each_rank_its_block() {
    check_reduce_scatter::<i64>(Shape::Dense);
    check_reduce_scatter::<Matrix>(Shape::Dense);
    check_reduce_scatter::<Matrix>(Shape::Gaps);
    check_reduce_scatter::<i64>(Shape::Backwards);
}

fn check_scans<T: Sample>(shape: Shape) {
    for setting in settings(Collective::Scan) {
        for (size, count, in_place) in cases(shape) {
            let what = (&setting, size, count, in_place);
            let mut vectors = Vectors::<T>::new(shape, size, count, in_place);
            vectors.run(&setting, |call, operand, receive| scan(call, operand, receive).unwrap());
            for (rank, row) in vectors.receive.iter().enumerate() {
                (0..count).for_each(|i| {
                    assert_eq!(row.get(i), combined(rank + 1, i), "scan {rank} {what:?}")
                });
            }
            let mut vectors = Vectors::<T>::new(shape, size, count, in_place);
            vectors.run(&setting, |call, operand, receive| exscan(call, operand, receive).unwrap());
            for (rank, row) in vectors.receive.iter().enumerate().skip(1) {
                (0..count).for_each(|i| {
                    assert_eq!(row.get(i), combined(rank, i), "exscan {rank} {what:?}")
                });
            }
            if !in_place && count > 0 {
                assert!(vectors.receive[0].is_untouched(0), "exscan leaves rank 0 alone");
            }
        }
    }
}

#[test]
fn devices_reduce_vectors_in_their_memory() {
    for spread in [DeviceSpread::One, DeviceSpread::Several] {
        let shape = Shape::Reduced(Some(spread));
        check_allreduce::<i64>(shape);
        check_reduce_scatter::<i64>(shape);
    }
    check_reduce::<i64>(Shape::Reduced(Some(DeviceSpread::Several)));
    check_scans::<i64>(Shape::Reduced(Some(DeviceSpread::One)));
    check_long::<i64>(Shape::Reduced(None));
}

/// Association is part of the definition: hosts in the order of their lowest ranks, each the left
/// fold of its ranks.
#[test]
fn floating_point_sums_associate_by_host_whatever_the_algorithm() {
    let fold = |values: Vec<f64>| values.into_iter().reduce(|sum, value| sum + value).unwrap();
    for setting in settings(Collective::Allreduce) {
        for (size, count) in [(7, 1), (7, 18_000), (7, 60_000), (16, 300)] {
            let placement = setting.team(0, size).placement;
            let mut vectors = Vectors::<f64>::new(Shape::Dense, size, count, false);
            // What an algorithm that knows no hosts is forced to give there has no meaning.
            let flat = setting.selection != Selection::default() && placement.has_levels();
            if flat && setting.selection != Setting::hierarchical(Collective::Allreduce) {
                continue;
            }
            vectors
                .run(&setting, |call, operand, receive| allreduce(call, operand, receive).unwrap());
            for index in 0..count {
                let host = |host: usize| {
                    let ranks = placement.members(host).iter();
                    fold(ranks.map(|&rank| f64::of(rank, index)).collect())
                };
                let sum = fold((0..placement.hosts()).map(host).collect());
                for row in &vectors.receive {
                    assert_eq!(row.get(index).to_bits(), sum.to_bits(), "{setting:?} {size}");
                }
            }
        }
    }
}

#[test]
fn scans_combine_the_ranks_below() {
    check_scans::<i64>(Shape::Dense);
    check_scans::<Matrix>(Shape::Dense);
    check_scans::<Matrix>(Shape::Gaps);
    check_scans::<i64>(Shape::Backwards);
}
