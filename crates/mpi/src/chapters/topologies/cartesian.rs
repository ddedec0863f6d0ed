//! Cartesian topologies (MPI 5.0, sections 8.5.1, 8.5.2, 8.5.5 to 8.5.7).

use std::sync::Arc;

use towpath_neutral::abi::{Handle, Integers, IntegersMut};
use towpath_neutral::constants::*;
use towpath_neutral::error::{Result, fail};

use super::{checked_rank, intracomm, ints, reorder, with_topology};
use crate::chapters::groups::count_of;
use crate::chapters::splits::{insert, split};
use crate::objects::comm::Comm;
use crate::objects::registry;
use crate::objects::topology::{Topology, coordinates, rank_of, shifted};

/// Reads the dimensions and periods of a grid, checks them against the number of processes, and
/// computes the size of the grid.
fn grid(ndims: i32, dims: Integers, periods: Integers, processes: usize) -> Result<(Vec<i32>, Vec<bool>, usize)> {
    let ndims = count_of(ndims, "ndims")?;
    let dims = ints(dims, ndims, "dims")?;
    let periodic = ints(periods, ndims, "periods")?.into_iter().map(|period| period != 0).collect();
    if let Some(i) = dims.iter().position(|&dim| dim <= 0) {
        fail!(ERR_DIMS, "dims[{i}] is {}; every dimension needs at least one process", dims[i]);
    }
    let size = dims.iter().try_fold(1usize, |product, &dim| product.checked_mul(dim as usize));
    match size.filter(|&size| size <= processes) {
        Some(size) => Ok((dims, periodic, size)),
        None => fail!(ERR_DIMS, "the grid {dims:?} needs more processes than the {processes} of the communicator"),
    }
}

/// MPI_Cart_create.
pub fn cart_create(comm_old: Handle, ndims: i32, dims: Integers, periods: Integers, reorder: bool) -> Result<Handle> {
    let parent = intracomm(comm_old, "MPI_Cart_create")?;
    let (dims, periodic, size) = grid(ndims, dims, periods, parent.group.size())?;
    let order = reorder::order_if(reorder, &parent, size, || reorder::grid(&dims, &periodic))?;
    with_topology(&parent, size, &order, |_| Topology::Cartesian { dims, periodic })
}

/// MPI_Cart_map: the rank that MPI_Cart_create would assign with reorder = true. Collective.
pub fn cart_map(comm: Handle, ndims: i32, dims: Integers, periods: Integers) -> Result<i32> {
    let comm = intracomm(comm, "MPI_Cart_map")?;
    let (dims, periodic, size) = grid(ndims, dims, periods, comm.group.size())?;
    let order = reorder::order_if(true, &comm, size, || reorder::grid(&dims, &periodic))?;
    Ok(order.rank(comm.rank, size).map_or(UNDEFINED, |rank| rank as i32))
}

/// The communicator and its grid.
fn cartesian(comm: Handle) -> Result<(Arc<Comm>, Vec<i32>, Vec<bool>)> {
    let comm = registry::comm(comm)?;
    match comm.topology.as_deref() {
        Some(Topology::Cartesian { dims, periodic }) => {
            let (dims, periodic) = (dims.clone(), periodic.clone());
            Ok((comm, dims, periodic))
        }
        _ => fail!(ERR_TOPOLOGY, "argument comm has no Cartesian topology; make one with MPI_Cart_create"),
    }
}

/// MPI_Cartdim_get.
pub fn cartdim_get(comm: Handle) -> Result<i32> {
    Ok(cartesian(comm)?.1.len() as i32)
}

fn room(given: i32, needed: usize, argument: &str) -> Result<()> {
    if i64::from(given) < needed as i64 {
        fail!(ERR_ARG, "argument {argument} is {given}, but {needed} elements are needed");
    }
    Ok(())
}

/// Writes the values to an output array.
fn write(array: IntegersMut, values: impl IntoIterator<Item = i32>, argument: &str) -> Result<()> {
    for (i, value) in values.into_iter().enumerate() {
        if array.is_null() {
            fail!(ERR_ARG, "argument {argument} is NULL; pass an array");
        }
        array.set(i, i64::from(value));
    }
    Ok(())
}

/// MPI_Cart_get.
pub fn cart_get(
    comm: Handle,
    maxdims: i32,
    dims: IntegersMut,
    periods: IntegersMut,
    coords: IntegersMut,
) -> Result<()> {
    let (comm, extents, periodic) = cartesian(comm)?;
    room(maxdims, extents.len(), "maxdims")?;
    write(coords, coordinates(&extents, comm.rank), "coords")?;
    write(dims, extents, "dims")?;
    write(periods, periodic.into_iter().map(i32::from), "periods")
}

/// MPI_Cart_rank: coordinates in periodic dimensions wrap around.
///
/// # Safety
/// `coords` must have as many elements as the grid has dimensions.
pub unsafe fn cart_rank(comm: Handle, coords: Integers) -> Result<i32> {
    let (_, dims, periodic) = cartesian(comm)?;
    // SAFETY: `coords` has an element for each dimension (this function's contract).
    let coords = unsafe { coords.with_length(dims.len() as i64) };
    let mut place = ints(coords, dims.len(), "coords")?;
    for (i, value) in place.iter_mut().enumerate() {
        if periodic[i] {
            *value = value.rem_euclid(dims[i]);
        } else if !(0..dims[i]).contains(value) {
            fail!(ERR_ARG, "coords[{i}] is {value}, but the dimension has 0 to {} and does not wrap", dims[i] - 1);
        }
    }
    Ok(rank_of(&dims, &place) as i32)
}

/// MPI_Cart_coords.
pub fn cart_coords(comm: Handle, rank: i32, maxdims: i32, coords: IntegersMut) -> Result<()> {
    let (comm, dims, _) = cartesian(comm)?;
    let rank = checked_rank(rank, &comm)?;
    room(maxdims, dims.len(), "maxdims")?;
    write(coords, coordinates(&dims, rank), "coords")
}

/// MPI_Cart_shift: source and destination; MPI_PROC_NULL beyond the border.
pub fn cart_shift(comm: Handle, direction: i32, disp: i32) -> Result<(i32, i32)> {
    let (comm, dims, periodic) = cartesian(comm)?;
    let Some(dimension) = usize::try_from(direction).ok().filter(|&dimension| dimension < dims.len()) else {
        fail!(ERR_ARG, "argument direction is {direction}, but the grid has dimensions 0 to {}", dims.len() as i64 - 1);
    };
    let at =
        |distance: i64| shifted(&dims, &periodic, comm.rank, dimension, distance).map_or(PROC_NULL, |rank| rank as i32);
    Ok((at(-i64::from(disp)), at(i64::from(disp))))
}

/// MPI_Cart_sub.
///
/// # Safety
/// `remain_dims` must have as many elements as the grid has dimensions.
pub unsafe fn cart_sub(comm: Handle, remain_dims: Integers) -> Result<Handle> {
    let (comm, dims, periodic) = cartesian(comm)?;
    // SAFETY: `remain_dims` has an element for each dimension (this function's contract).
    let remain_dims = unsafe { remain_dims.with_length(dims.len() as i64) };
    let remain: Vec<bool> = ints(remain_dims, dims.len(), "remain_dims")?.into_iter().map(|keep| keep != 0).collect();
    let place = coordinates(&dims, comm.rank);
    let part = |keep: bool| {
        let chosen = (0..dims.len()).filter(|&i| remain[i] == keep);
        chosen.fold(0usize, |rank, i| rank * dims[i] as usize + place[i] as usize)
    };
    let kept = |values: &dyn Fn(usize) -> i32| (0..dims.len()).filter(|&i| remain[i]).map(values).collect::<Vec<i32>>();
    let Some((group, context)) = split(&comm, part(false) as i32, part(true) as i32)? else {
        unreachable!("every process has a color");
    };
    let topology = Topology::Cartesian {
        dims: kept(&|i| dims[i]),
        periodic: kept(&|i| i32::from(periodic[i])).into_iter().map(|period| period != 0).collect(),
    };
    insert(Comm::new(context, group, None, comm.errhandler()).with_topology(Some(Arc::new(topology))))
}

/// MPI_Dims_create: chooses the dimensions that are given as 0, as equal as possible and in
/// descending order.
pub fn dims_create(nnodes: i32, ndims: i32, dims: IntegersMut) -> Result<()> {
    let count = count_of(ndims, "ndims")?;
    if nnodes <= 0 {
        fail!(ERR_ARG, "argument nnodes is {nnodes}; it must be positive");
    }
    if count > 0 && dims.is_null() {
        fail!(ERR_ARG, "argument dims is NULL, but ndims is {ndims}");
    }
    let given: Vec<i64> = (0..count).map(|i| dims.get(i)).collect();
    if let Some(i) = given.iter().position(|&dim| dim < 0) {
        fail!(ERR_DIMS, "dims[{i}] is {}; it must not be negative", given[i]);
    }
    let product = given.iter().filter(|&&dim| dim > 0).try_fold(1i64, |product, &dim| product.checked_mul(dim));
    let Some(fixed) = product.filter(|fixed| i64::from(nnodes) % fixed == 0) else {
        fail!(ERR_DIMS, "argument nnodes ({nnodes}) is not a multiple of the product of the given dimensions");
    };
    let free = given.iter().filter(|&&dim| dim == 0).count();
    let rest = i64::from(nnodes) / fixed;
    if free == 0 {
        if rest != 1 {
            fail!(ERR_DIMS, "the given dimensions make {fixed} processes, but nnodes is {nnodes}");
        }
        return Ok(());
    }
    let mut chosen = balanced(rest, free).into_iter();
    for (i, _) in given.iter().enumerate().filter(|(_, dim)| **dim == 0) {
        dims.set(i, chosen.next().expect("one for each free dimension"));
    }
    Ok(())
}

/// With this many factors of an `int`, at least one is 1, because 2^31 does not fit in an `int`.
const FACTORS: usize = 31;

/// `count` factors of `number` in descending order, with the least difference between the largest
/// and the smallest; among several such solutions, the lexicographically first.
fn balanced(number: i64, count: usize) -> Vec<i64> {
    let mut factors = most_balanced(number, count.min(FACTORS));
    // With [`FACTORS`] factors the smallest is 1, and so are all further ones.
    factors.resize(count, 1);
    factors
}

fn most_balanced(number: i64, count: usize) -> Vec<i64> {
    let divisors = divisors(number);
    let mut best: Option<Vec<i64>> = None;
    for &largest in divisors.iter().filter(|&&divisor| at_least(divisor, count, number)) {
        let difference = best.as_ref().map_or(largest, |best| best[0] - best[count - 1]);
        // A solution better than the best so far has no factor below this.
        let mut least = (largest - difference + 1).max(1);
        while let Some(rest) = factors(number / largest, count - 1, least, largest, &divisors) {
            least = rest.last().map_or(largest, |&last| last) + 1;
            best = Some([vec![largest], rest].concat());
        }
        // A larger first factor leaves a smaller quotient for the others, which must be larger too.
        if !at_most(least, count - 1, number / largest) {
            break;
        }
    }
    best.expect("number itself and ones are a solution")
}

/// The lexicographically first `count` factors of `number` in descending order, all between `least`
/// and `most`; `divisors` must be in ascending order.
fn factors(number: i64, count: usize, least: i64, most: i64, divisors: &[i64]) -> Option<Vec<i64>> {
    if count == 0 {
        return (number == 1 && least <= most).then(Vec::new);
    }
    let first = divisors.partition_point(|&divisor| divisor < least || !at_least(divisor, count, number));
    let end = divisors.partition_point(|&divisor| divisor <= most);
    let candidates = divisors.get(first..end).unwrap_or_default().iter().copied();
    let dividing = candidates.filter(|&divisor| number % divisor == 0);
    dividing.take_while(|&divisor| at_most(least, count - 1, number / divisor)).find_map(|divisor| {
        let rest = factors(number / divisor, count - 1, least, divisor, divisors)?;
        Some([vec![divisor], rest].concat())
    })
}

/// Whether `factor` to the power of `count` is at least `number`.
fn at_least(factor: i64, count: usize, number: i64) -> bool {
    factor.checked_pow(count as u32).is_none_or(|power| power >= number)
}

/// Whether `factor` to the power of `count` is at most `number`.
fn at_most(factor: i64, count: usize, number: i64) -> bool {
    factor.checked_pow(count as u32).is_some_and(|power| power <= number)
}

/// All divisors of a positive number, in ascending order.
fn divisors(number: i64) -> Vec<i64> {
    let small: Vec<i64> = (1..).take_while(|d| d * d <= number).filter(|d| number % d == 0).collect();
    let large = small.iter().rev().map(|d| number / d).filter(|d| d * d > number);
    small.iter().copied().chain(large).collect()
}

#[cfg(test)]
mod tests {
    use super::balanced;

    #[test]
    fn dimensions_are_balanced_and_falling() {
        for (number, count, expected) in [
            (6, 2, vec![3, 2]),
            (7, 2, vec![7, 1]),
            (24, 3, vec![4, 3, 2]),
            (1, 3, vec![1, 1, 1]),
            (48, 2, vec![8, 6]),
            (64, 3, vec![4, 4, 4]),
            (2_147_483_647, 3, vec![2_147_483_647, 1, 1]),
            (1_073_741_824, 30, vec![2; 30]),
            (7488, 3, vec![26, 18, 16]),
            (5, 1, vec![5]),
            (12, 40, [vec![3, 2, 2], vec![1; 37]].concat()),
            (1_073_741_824, 1_000_000, [vec![2; 30], vec![1; 999_970]].concat()),
        ] {
            assert_eq!(balanced(number, count), expected);
        }
    }

    /// The least difference between the largest and the smallest of `count` factors, by brute
    /// force.
    fn least_difference(number: i64, count: usize, largest: i64, smallest: i64) -> Option<i64> {
        if count == 0 {
            return (number == 1).then_some(largest - smallest);
        }
        let divisors = (1..=number.min(smallest)).filter(|divisor| number % divisor == 0);
        let next = |divisor| least_difference(number / divisor, count - 1, largest.max(divisor), divisor);
        divisors.filter_map(next).min()
    }

    #[test]
    fn no_other_factors_are_closer_to_each_other() {
        for number in (1..1500).chain([2310, 4096, 5040, 7488, 7560, 9240, 9973, 10_000]) {
            for count in 1..=4 {
                let found = balanced(number, count);
                assert_eq!((found.len(), found.iter().product()), (count, number), "{found:?}");
                assert!(found.is_sorted_by(|one, other| one >= other), "{found:?}");
                let least = least_difference(number, count, 0, number);
                assert_eq!(Some(found[0] - found[count - 1]), least, "{number} as {found:?}");
            }
        }
    }

    #[test]
    fn numbers_with_many_divisors_are_no_burden() {
        for number in [1_396_755_360, 223_092_870, 2_095_133_040, 1_073_741_824, 1_549_681_956, 2_147_483_647] {
            for count in 1..=30 {
                let found = balanced(number, count);
                assert_eq!(found.iter().product::<i64>(), number);
            }
        }
    }
}
