//! Datatype constructors (MPI 5.0, sections 5.1 and 19.1.9).

use std::sync::Arc;

use towpath_datatype::{Datatype, Form};
use towpath_neutral::abi::{Handle, HandleArray, Integers};
use towpath_neutral::error::{Result, fail};

use super::{Type, insert, lookup};
use crate::objects::registry::OBJECTS;

fn made(datatype: Datatype) -> Result<Handle> {
    insert(Type::new(datatype, false))
}

/// Records whether the large-count form of the constructor was called; the envelope then reports
/// counts (5.1.13).
fn form(large: bool) -> Form {
    if large { Form::Large } else { Form::Small }
}

/// Copies an array argument.
fn list(array: Integers, count: i64, argument: &str) -> Result<Vec<i64>> {
    if count < 0 {
        fail!(ERR_COUNT, "argument count is {count}; it must not be negative");
    }
    if count > 0 && array.is_null() {
        fail!(ERR_ARG, "argument {argument} is NULL, but {count} elements are needed");
    }
    let mut values = Vec::new();
    if count > i64::MAX / 8 {
        fail!(ERR_COUNT, "argument count is {count}; no array {argument} can have that many elements");
    }
    if values.try_reserve_exact(count as usize).is_err() {
        fail!(ERR_NO_MEM, "there is no memory for a copy of the {count} elements of argument {argument}");
    }
    values.extend((0..count as usize).map(|i| array.get(i)));
    Ok(values)
}

/// Checks a number of dimensions.
fn dimensions(ndims: i32) -> Result<i64> {
    if ndims < 1 {
        fail!(ERR_ARG, "argument ndims is {ndims}; it must be at least 1");
    }
    Ok(i64::from(ndims))
}

fn old(oldtype: Handle) -> Result<Arc<Type>> {
    lookup(oldtype, "oldtype")
}

/// MPI_Type_contiguous.
pub fn type_contiguous(count: i64, oldtype: Handle, large: bool) -> Result<Handle> {
    made(Datatype::contiguous(count, &old(oldtype)?.datatype, form(large))?)
}

/// MPI_Type_vector.
pub fn type_vector(count: i64, blocklength: i64, stride: i64, oldtype: Handle, large: bool) -> Result<Handle> {
    made(Datatype::vector(count, blocklength, stride, &old(oldtype)?.datatype, form(large))?)
}

/// MPI_Type_create_hvector.
pub fn type_create_hvector(count: i64, blocklength: i64, stride: i64, oldtype: Handle, large: bool) -> Result<Handle> {
    made(Datatype::hvector(count, blocklength, stride, &old(oldtype)?.datatype, form(large))?)
}

/// MPI_Type_indexed.
pub fn type_indexed(
    count: i64,
    array_of_blocklengths: Integers,
    array_of_displacements: Integers,
    oldtype: Handle,
    large: bool,
) -> Result<Handle> {
    let lengths = list(array_of_blocklengths, count, "array_of_blocklengths")?;
    let displacements = list(array_of_displacements, count, "array_of_displacements")?;
    made(Datatype::indexed(&lengths, &displacements, &old(oldtype)?.datatype, form(large))?)
}

/// MPI_Type_create_hindexed.
pub fn type_create_hindexed(
    count: i64,
    array_of_blocklengths: Integers,
    array_of_displacements: Integers,
    oldtype: Handle,
    large: bool,
) -> Result<Handle> {
    let lengths = list(array_of_blocklengths, count, "array_of_blocklengths")?;
    let displacements = list(array_of_displacements, count, "array_of_displacements")?;
    made(Datatype::hindexed(&lengths, &displacements, &old(oldtype)?.datatype, form(large))?)
}

/// MPI_Type_create_indexed_block.
pub fn type_create_indexed_block(
    count: i64,
    blocklength: i64,
    array_of_displacements: Integers,
    oldtype: Handle,
    large: bool,
) -> Result<Handle> {
    let displacements = list(array_of_displacements, count, "array_of_displacements")?;
    made(Datatype::indexed_block(blocklength, &displacements, &old(oldtype)?.datatype, form(large))?)
}

/// MPI_Type_create_hindexed_block.
pub fn type_create_hindexed_block(
    count: i64,
    blocklength: i64,
    array_of_displacements: Integers,
    oldtype: Handle,
    large: bool,
) -> Result<Handle> {
    let displacements = list(array_of_displacements, count, "array_of_displacements")?;
    made(Datatype::hindexed_block(blocklength, &displacements, &old(oldtype)?.datatype, form(large))?)
}

/// MPI_Type_create_struct.
pub fn type_create_struct(
    count: i64,
    array_of_blocklengths: Integers,
    array_of_displacements: Integers,
    array_of_types: HandleArray,
    large: bool,
) -> Result<Handle> {
    let lengths = list(array_of_blocklengths, count, "array_of_blocklengths")?;
    let displacements = list(array_of_displacements, count, "array_of_displacements")?;
    if count > 0 && array_of_types.is_null() {
        fail!(ERR_ARG, "argument array_of_types is NULL, but count is {count}");
    }
    let children = (0..count as usize)
        .map(|i| Ok(lookup(array_of_types.get(i), "array_of_types")?.datatype.clone()))
        .collect::<Result<Vec<_>>>()?;
    made(Datatype::structure(&lengths, &displacements, &children, form(large))?)
}

/// MPI_Type_create_subarray.
pub fn type_create_subarray(
    ndims: i32,
    array_of_sizes: Integers,
    array_of_subsizes: Integers,
    array_of_starts: Integers,
    order: i32,
    oldtype: Handle,
    large: bool,
) -> Result<Handle> {
    let ndims = dimensions(ndims)?;
    let sizes = list(array_of_sizes, ndims, "array_of_sizes")?;
    let subsizes = list(array_of_subsizes, ndims, "array_of_subsizes")?;
    let starts = list(array_of_starts, ndims, "array_of_starts")?;
    made(Datatype::subarray(&sizes, &subsizes, &starts, i64::from(order), &old(oldtype)?.datatype, form(large))?)
}

/// MPI_Type_create_darray.
pub fn type_create_darray(
    size: i32,
    rank: i32,
    ndims: i32,
    array_of_gsizes: Integers,
    array_of_distribs: Integers,
    array_of_dargs: Integers,
    array_of_psizes: Integers,
    order: i32,
    oldtype: Handle,
    large: bool,
) -> Result<Handle> {
    let ndims = dimensions(ndims)?;
    let arguments = towpath_datatype::Darray {
        size: i64::from(size),
        rank: i64::from(rank),
        gsizes: list(array_of_gsizes, ndims, "array_of_gsizes")?,
        distributions: list(array_of_distribs, ndims, "array_of_distribs")?,
        arguments: list(array_of_dargs, ndims, "array_of_dargs")?,
        processes: list(array_of_psizes, ndims, "array_of_psizes")?,
        order: i64::from(order),
    };
    made(Datatype::darray(arguments, &old(oldtype)?.datatype, form(large))?)
}

/// MPI_Type_create_resized.
pub fn type_create_resized(oldtype: Handle, lb: i64, extent: i64, large: bool) -> Result<Handle> {
    made(Datatype::resized(lb, extent, &old(oldtype)?.datatype, form(large))?)
}

/// MPI_Type_dup: copies the attributes; the copy is committed if the original is.
pub fn type_dup(oldtype: Handle) -> Result<Handle> {
    let original = old(oldtype)?.clone();
    let attributes = original.attributes.copied(oldtype)?;
    let mut copy = Type::new(original.datatype.dup(), false);
    copy.attributes = attributes;
    if original.committed() {
        copy.commit();
    }
    insert(copy)
}

/// The handle of a predefined type that is created from parameters: equal parameters always return
/// the same handle.
fn shared(datatype: Datatype) -> Result<Handle> {
    let mut made = OBJECTS.parameterized.lock().unwrap();
    if let Some((_, handle)) = made.iter().find(|(known, _)| {
        known.contents().integers == datatype.contents().integers
            && known.contents().combiner == datatype.contents().combiner
    }) {
        return Ok(*handle);
    }
    let handle = insert(Type::new(datatype.clone(), true))?;
    made.push((datatype, handle));
    Ok(handle)
}

/// MPI_Type_create_f90_real.
pub fn type_create_f90_real(p: i32, r: i32) -> Result<Handle> {
    shared(Datatype::f90_real(i64::from(p), i64::from(r))?)
}
/// MPI_Type_create_f90_complex.
pub fn type_create_f90_complex(p: i32, r: i32) -> Result<Handle> {
    shared(Datatype::f90_complex(i64::from(p), i64::from(r))?)
}
/// MPI_Type_create_f90_integer.
pub fn type_create_f90_integer(r: i32) -> Result<Handle> {
    shared(Datatype::f90_integer(i64::from(r))?)
}
