//! Cartesian topologies (MPI 5.0, sections 8.5.1, 8.5.2, 8.5.5 to 8.5.7).

use std::sync::Arc;

use towpath_collective::numbers::CallForm;
use towpath_mapping::balanced;
use towpath_mapping::topology::{self, Topology, coordinates, rank_of, shifted};
use towpath_neutral::abi::{Handle, Integers, IntegersMut};
use towpath_neutral::constants::*;
use towpath_neutral::error::{Result, fail};

use super::{checked_rank, intracomm, ints, reorder, with_topology};
use crate::chapters::groups::count_of;
use crate::chapters::splits::{insert, split};
use crate::objects::comm::Comm;
use crate::objects::registry;

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
    let order = reorder::order_if(reorder, &parent, size, || topology::grid(&dims, &periodic))?;
    with_topology(&parent, size, &order, |_| Topology::Cartesian { dims, periodic })
}

/// MPI_Cart_map: the rank that MPI_Cart_create would assign with reorder = true. Collective.
pub fn cart_map(comm: Handle, ndims: i32, dims: Integers, periods: Integers) -> Result<i32> {
    let comm = intracomm(comm, "MPI_Cart_map")?;
    let (dims, periodic, size) = grid(ndims, dims, periods, comm.group.size())?;
    let order = reorder::order_if(true, &comm, size, || topology::grid(&dims, &periodic))?;
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
    let part = Comm::new(context, group, None, comm.errhandler()).with_topology(Some(Arc::new(topology)));
    insert(part.with_links_of(&comm, CallForm::Blocking))
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
