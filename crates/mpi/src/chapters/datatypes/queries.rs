//! Datatype queries, commit and free (MPI 5.0, sections 5.1.5 to 5.1.13).

use std::ffi::c_void;

use towpath_datatype::{Basic, Contents};
use towpath_neutral::abi::{Handle, HandleArray, IntegersMut, StringArgument};
use towpath_neutral::constants::*;
use towpath_neutral::error::{Result, fail};

use super::{Type, borrow, lookup};
use crate::objects::registry::OBJECTS;
use crate::progress;

/// MPI_Type_commit.
pub fn type_commit(datatype: &mut Handle) -> Result<()> {
    lookup(*datatype, "datatype")?.commit();
    Ok(())
}

/// MPI_Type_free: pending operations keep the type alive.
pub fn type_free(datatype: &mut Handle) -> Result<()> {
    let found = lookup(*datatype, "datatype")?;
    if found.predefined {
        fail!(ERR_TYPE, "argument datatype is predefined and cannot be freed");
    }
    found.attributes.delete_all(*datatype)?;
    // Under the worker's lock, which a receive holds while it uses a borrowed type.
    let removed = progress::worker()?.with(|_| OBJECTS.datatypes.remove(*datatype));
    drop(removed);
    *datatype = DATATYPE_NULL;
    Ok(())
}

/// MPI_Type_size, in bytes.
#[inline]
pub fn type_size(datatype: Handle) -> Result<i64> {
    // SAFETY: the reference is not used beyond this statement, and MPI forbids freeing a datatype
    // while another thread passes it to a call.
    Ok(unsafe { borrow(datatype, "datatype") }?.datatype.size())
}
/// MPI_Type_get_extent: lower bound and extent in bytes.
pub fn type_get_extent(datatype: Handle) -> Result<(i64, i64)> {
    let found = lookup(datatype, "datatype")?;
    Ok((found.datatype.lb(), found.datatype.extent()))
}
/// MPI_Type_get_true_extent: true lower bound and true extent in bytes.
pub fn type_get_true_extent(datatype: Handle) -> Result<(i64, i64)> {
    let found = lookup(datatype, "datatype")?;
    Ok((found.datatype.true_lb(), found.datatype.true_extent()))
}
/// MPI_Type_extent, the MPI-1 function.
pub fn type_extent(datatype: Handle) -> Result<i64> {
    Ok(lookup(datatype, "datatype")?.datatype.extent())
}
/// MPI_Type_lb, the MPI-1 function.
pub fn type_lb(datatype: Handle) -> Result<i64> {
    Ok(lookup(datatype, "datatype")?.datatype.lb())
}
/// MPI_Type_ub, the MPI-1 function.
pub fn type_ub(datatype: Handle) -> Result<i64> {
    Ok(lookup(datatype, "datatype")?.datatype.ub())
}

/// MPI_Get_address.
pub fn get_address(location: *const c_void) -> Result<i64> {
    Ok(location as i64)
}

/// MPI_Type_set_name.
pub fn type_set_name(datatype: Handle, type_name: StringArgument) -> Result<()> {
    let found = lookup(datatype, "datatype")?;
    let name = type_name.text("type_name")?;
    if name.len() >= MAX_OBJECT_NAME as usize {
        fail!(ERR_ARG, "argument type_name has {} characters; at most {} fit", name.len(), MAX_OBJECT_NAME - 1);
    }
    *found.name.lock().unwrap() = Some(name);
    Ok(())
}

/// MPI_Type_get_name.
pub fn type_get_name(datatype: Handle) -> Result<String> {
    if datatype == DATATYPE_NULL {
        return Ok("MPI_DATATYPE_NULL".to_owned());
    }
    let found = lookup(datatype, "datatype")?;
    if let Some(name) = &*found.name.lock().unwrap() {
        return Ok(name.clone());
    }
    Ok(if found.predefined { found.datatype.as_named().map_or("", Basic::name).to_owned() } else { String::new() })
}

/// How a type was constructed. The large-count constructors record counts, which the small query
/// functions cannot return (5.1.13).
fn contents(datatype: Handle, large: bool) -> Result<Contents> {
    let contents = lookup(datatype, "datatype")?.datatype.contents();
    if !large && !contents.counts.is_empty() {
        fail!(
            ERR_TYPE,
            "argument datatype was made by the large-count form of its constructor (MPI_..._c); ask with \
             MPI_Type_get_envelope_c and MPI_Type_get_contents_c"
        );
    }
    Ok(contents)
}

/// MPI_Type_get_envelope: numbers of ints, addresses, large counts and datatypes, and the combiner.
pub fn type_get_envelope(datatype: Handle, large: bool) -> Result<(i64, i64, i64, i64, i32)> {
    let contents = contents(datatype, large)?;
    let count = |length: usize| length as i64;
    Ok((
        count(contents.integers.len()),
        count(contents.addresses.len()),
        count(contents.counts.len()),
        count(contents.datatypes.len()),
        contents.combiner as i32,
    ))
}

/// The handle of a component: the predefined handle, or a new one that the program must free.
fn component(datatype: towpath_datatype::Datatype) -> Result<Handle> {
    match datatype.as_named() {
        Some(basic) if datatype.is_predefined() => Ok(Handle(basic.number())),
        _ => super::insert(Type::new(datatype, false)),
    }
}

/// MPI_Type_get_contents.
pub fn type_get_contents(
    datatype: Handle,
    max_integers: i64,
    max_addresses: i64,
    max_large_counts: i64,
    max_datatypes: i64,
    array_of_integers: IntegersMut,
    array_of_addresses: IntegersMut,
    array_of_large_counts: IntegersMut,
    array_of_datatypes: HandleArray,
    large: bool,
) -> Result<()> {
    let contents = contents(datatype, large)?;
    if contents.combiner == towpath_datatype::Combiner::Named {
        fail!(ERR_TYPE, "argument datatype is a named type, which has no contents");
    }
    let needed = [
        (contents.integers.len(), max_integers, "max_integers"),
        (contents.addresses.len(), max_addresses, "max_addresses"),
        (contents.counts.len(), max_large_counts, "max_large_counts"),
        (contents.datatypes.len(), max_datatypes, "max_datatypes"),
    ];
    for (length, room, argument) in needed {
        if room < length as i64 {
            fail!(ERR_ARG, "argument {argument} is {room}, but {length} are needed (see MPI_Type_get_envelope)");
        }
    }
    for (values, array) in [
        (&contents.integers, array_of_integers),
        (&contents.addresses, array_of_addresses),
        (&contents.counts, array_of_large_counts),
    ] {
        for (i, &value) in values.iter().enumerate() {
            array.set(i, value);
        }
    }
    for (i, child) in contents.datatypes.into_iter().enumerate() {
        let handle = component(child)?;
        array_of_datatypes.set(i, handle);
    }
    Ok(())
}

/// MPI_Type_match_size.
pub fn type_match_size(typeclass: i32, size: i32) -> Result<Handle> {
    let found = match (typeclass, size) {
        (TYPECLASS_REAL, 2) => REAL2,
        (TYPECLASS_REAL, 4) => REAL4,
        (TYPECLASS_REAL, 8) => REAL8,
        (TYPECLASS_REAL, 16) => REAL16,
        (TYPECLASS_COMPLEX, 4) => COMPLEX4,
        (TYPECLASS_COMPLEX, 8) => COMPLEX8,
        (TYPECLASS_COMPLEX, 16) => COMPLEX16,
        (TYPECLASS_COMPLEX, 32) => COMPLEX32,
        (TYPECLASS_INTEGER, 1) => INTEGER1,
        (TYPECLASS_INTEGER, 2) => INTEGER2,
        (TYPECLASS_INTEGER, 4) => INTEGER4,
        (TYPECLASS_INTEGER, 8) => INTEGER8,
        (TYPECLASS_INTEGER, 16) => INTEGER16,
        (MPIX_TYPECLASS_LOGICAL, 1) => LOGICAL1,
        (MPIX_TYPECLASS_LOGICAL, 2) => LOGICAL2,
        (MPIX_TYPECLASS_LOGICAL, 4) => LOGICAL4,
        (MPIX_TYPECLASS_LOGICAL, 8) => LOGICAL8,
        (MPIX_TYPECLASS_LOGICAL, 16) => LOGICAL16,
        (TYPECLASS_REAL | TYPECLASS_COMPLEX | TYPECLASS_INTEGER | MPIX_TYPECLASS_LOGICAL, _) => {
            fail!(ERR_ARG, "argument size is {size}; no type of this class has that size")
        }
        _ => fail!(ERR_ARG, "argument typeclass ({typeclass}) is none of MPI_TYPECLASS_REAL, _INTEGER, _COMPLEX"),
    };
    lookup(found, "datatype")?;
    Ok(found)
}

/// MPI_Type_get_value_index: the predefined pair type, or MPI_DATATYPE_NULL if there is none.
pub fn type_get_value_index(value_type: Handle, index_type: Handle) -> Result<Handle> {
    lookup(value_type, "value_type")?;
    lookup(index_type, "index_type")?;
    Ok(match (value_type, index_type) {
        (FLOAT, INT) => FLOAT_INT,
        (DOUBLE, INT) => DOUBLE_INT,
        (LONG, INT) => LONG_INT,
        (INT, INT) => TWO_INT,
        (SHORT, INT) => SHORT_INT,
        (LONG_DOUBLE, INT) => LONG_DOUBLE_INT,
        (REAL, REAL) => TWO_REAL,
        (DOUBLE_PRECISION, DOUBLE_PRECISION) => TWO_DOUBLE_PRECISION,
        (INTEGER, INTEGER) => TWO_INTEGER,
        _ => DATATYPE_NULL,
    })
}
