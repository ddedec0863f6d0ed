//! The functions of attribute caching on communicators, datatypes and windows (MPI 5.0, section
//! 7.7).

use std::ffi::c_void;
use std::sync::{Arc, OnceLock};

use towpath_base::sync::{AtomicBool, AtomicU32, Ordering};
use towpath_launch::client::Job;
use towpath_neutral::abi::{Callback, Handle, Kind};
use towpath_neutral::constants::*;
use towpath_neutral::error::{Error, Result, fail};

use super::datatypes;
use crate::objects::attribute::{AttributePointer, AttributeValue, Attributes, KEYVALS, Keyval};
use crate::objects::registry::{self, OBJECTS};

/// Values of the predefined attributes of MPI_COMM_WORLD; the program gets pointers to them.
#[derive(Debug)]
struct Predefined {
    tag_ub: i32,
    host: i32,
    io: i32,
    wtime_is_global: i32,
    universe_size: i32,
    appnum: Option<i32>,
    last_used_code: AtomicU32,
}

static PREDEFINED: OnceLock<Predefined> = OnceLock::new();

/// Sets the predefined attributes, once.
pub(crate) fn set_predefined(job: &Job) {
    let _ = PREDEFINED.set(Predefined {
        tag_ub: i32::MAX,
        host: PROC_NULL,
        io: job.rank as i32,
        // Processes share a clock only within a host.
        wtime_is_global: i32::from(job.hosts() == 1),
        universe_size: job.universe_size.unwrap_or(job.size as i32),
        appnum: job.appnum,
        last_used_code: AtomicU32::new(0),
    });
}

/// The value of a predefined attribute; `None` if the key is not predefined, `Some(None)` if it has
/// no value.
fn predefined(keyval: i32) -> Option<Option<*mut c_void>> {
    let attributes = PREDEFINED.get()?;
    let address = |value: &i32| std::ptr::from_ref(value).cast_mut().cast::<c_void>();
    Some(match keyval {
        TAG_UB => Some(address(&attributes.tag_ub)),
        IO => Some(address(&attributes.io)),
        WTIME_IS_GLOBAL => Some(address(&attributes.wtime_is_global)),
        UNIVERSE_SIZE => Some(address(&attributes.universe_size)),
        APPNUM => attributes.appnum.as_ref().map(address),
        LASTUSEDCODE => {
            attributes.last_used_code.store(OBJECTS.errors.last_used() as u32, Ordering::Relaxed);
            Some(attributes.last_used_code.as_ptr().cast())
        }
        HOST => Some(address(&attributes.host)),
        _ => return None,
    })
}

fn create(kind: Kind, copy: Callback, delete: Callback, extra: *mut c_void) -> Result<i32> {
    let (extra, freed) = (AttributePointer(extra), AtomicBool::new(false));
    let proxies = OnceLock::new();
    let made = KEYVALS.insert_with(|number| Keyval { number, kind, copy, delete, extra, freed, proxies });
    made.map(|handle| handle.0 as i32).ok_or_else(|| Error::new(ERR_NO_MEM, "too many attribute keys exist; free some"))
}

/// Looks up a key of this kind that the program has not freed.
fn lookup(keyval: i32, kind: Kind) -> Result<Arc<Keyval>> {
    let found = lookup_even_freed(keyval, kind)?;
    if found.freed.load(Ordering::Acquire) {
        fail!(ERR_KEYVAL, "argument keyval ({keyval:#x}) was freed; only attributes that are set already can use it");
    }
    Ok(found)
}

/// Looks up a key of this kind that the program has not freed, or that is still in use by an
/// attribute.
fn lookup_even_freed(keyval: i32, kind: Kind) -> Result<Arc<Keyval>> {
    match KEYVALS.share(Handle(keyval as u32)) {
        Some(found) if found.kind == kind => Ok(found.clone()),
        Some(found) => {
            fail!(ERR_KEYVAL, "argument keyval ({keyval:#x}) is a key for {:?}, not for {kind:?}", found.kind)
        }
        None if keyval == KEYVAL_INVALID => {
            fail!(ERR_KEYVAL, "argument keyval is MPI_KEYVAL_INVALID; create a key first")
        }
        None if (TAG_UB..=UNIVERSE_SIZE).contains(&keyval) => {
            fail!(ERR_KEYVAL, "argument keyval ({keyval}) is a predefined attribute, which cannot be changed")
        }
        None => fail!(ERR_KEYVAL, "argument keyval ({keyval:#x}) is not an attribute key"),
    }
}

/// Frees a key. Freeing it again is not an error while an object still has an attribute with it.
fn free(keyval: &mut i32, kind: Kind) -> Result<()> {
    let found = lookup_even_freed(*keyval, kind)?;
    found.freed.store(true, Ordering::Release);
    found.forget_if_unused();
    *keyval = KEYVAL_INVALID;
    Ok(())
}

/// The value of a key of this kind, if it is set.
fn value(attributes: &Attributes, keyval: i32, kind: Kind) -> Result<Option<AttributeValue>> {
    match attributes.get(Handle(keyval as u32)) {
        Some(value) => Ok(Some(value)),
        None => lookup(keyval, kind).map(|_| None),
    }
}

/// The value of a key of this kind as seen from C, and whether it is set.
fn get(attributes: &Attributes, keyval: i32, kind: Kind) -> Result<(*mut c_void, bool)> {
    let found = value(attributes, keyval, kind)?;
    Ok(found.map_or((std::ptr::null_mut(), false), |value| (value.pointer(), true)))
}

/// Deletes the attribute of an object with a key of this kind.
fn delete(attributes: &Attributes, object: Handle, keyval: i32, kind: Kind) -> Result<()> {
    let key = Handle(keyval as u32);
    if attributes.get(key).is_none() {
        lookup(keyval, kind)?;
    }
    attributes.delete(object, key)
}

/// Defines MPI_Comm_create_keyval, MPI_Comm_free_keyval and their relatives.
macro_rules! keyvals {
    ($($kind:ident: $create:ident $free:ident;)+) => {$(
        /// Creates a key.
        pub fn $create(copy: Callback, delete: Callback, extra: *mut c_void) -> Result<i32> {
            create(Kind::$kind, copy, delete, extra)
        }
        /// Frees a key; objects that have the attribute keep it.
        pub fn $free(keyval: &mut i32) -> Result<()> {
            free(keyval, Kind::$kind)
        }
    )+};
}
keyvals! {
    Comm: comm_create_keyval comm_free_keyval;
    Datatype: type_create_keyval type_free_keyval;
    Win: win_create_keyval win_free_keyval;
}

/// MPI_Comm_set_attr.
pub fn comm_set_attr(comm: Handle, keyval: i32, value: *mut c_void) -> Result<()> {
    let object = registry::comm(comm)?;
    object.attributes.set(comm, &lookup(keyval, Kind::Comm)?, AttributeValue::Pointer(AttributePointer(value)))
}

/// MPI_Comm_get_attr: the value and whether it is set; values of predefined attributes point to an
/// int.
pub fn comm_get_attr(comm: Handle, keyval: i32) -> Result<(*mut c_void, bool)> {
    let object = registry::comm(comm)?;
    if let Some(found) = predefined(keyval) {
        return Ok(found.map_or((std::ptr::null_mut(), false), |value| (value, true)));
    }
    get(&object.attributes, keyval, Kind::Comm)
}

/// MPI_Comm_delete_attr.
pub fn comm_delete_attr(comm: Handle, keyval: i32) -> Result<()> {
    let object = registry::comm(comm)?;
    delete(&object.attributes, comm, keyval, Kind::Comm)
}

/// MPI_Type_set_attr.
pub fn type_set_attr(datatype: Handle, keyval: i32, value: *mut c_void) -> Result<()> {
    let object = datatypes::lookup(datatype, "datatype")?;
    object.attributes.set(datatype, &lookup(keyval, Kind::Datatype)?, AttributeValue::Pointer(AttributePointer(value)))
}

/// MPI_Type_get_attr: the value and whether it is set.
pub fn type_get_attr(datatype: Handle, keyval: i32) -> Result<(*mut c_void, bool)> {
    let object = datatypes::lookup(datatype, "datatype")?;
    get(&object.attributes, keyval, Kind::Datatype)
}

/// MPI_Type_delete_attr.
pub fn type_delete_attr(datatype: Handle, keyval: i32) -> Result<()> {
    let object = datatypes::lookup(datatype, "datatype")?;
    delete(&object.attributes, datatype, keyval, Kind::Datatype)
}

/// Sets an attribute of a communicator from Fortran.
pub fn comm_set_integer(comm: Handle, keyval: i32, value: i64) -> Result<()> {
    let object = registry::comm(comm)?;
    object.attributes.set(comm, &lookup(keyval, Kind::Comm)?, AttributeValue::of_integer(value))
}

/// The value of an attribute of a communicator as seen from Fortran; the program's own keys only.
pub fn comm_get_integer(comm: Handle, keyval: i32) -> Result<Option<i64>> {
    let object = registry::comm(comm)?;
    Ok(value(&object.attributes, keyval, Kind::Comm)?.map(|value| value.integer()))
}

/// Sets an attribute of a datatype from Fortran.
pub fn type_set_integer(datatype: Handle, keyval: i32, value: i64) -> Result<()> {
    let object = datatypes::lookup(datatype, "datatype")?;
    object.attributes.set(datatype, &lookup(keyval, Kind::Datatype)?, AttributeValue::of_integer(value))
}

/// The value of an attribute of a datatype as seen from Fortran.
pub fn type_get_integer(datatype: Handle, keyval: i32) -> Result<Option<i64>> {
    let object = datatypes::lookup(datatype, "datatype")?;
    Ok(value(&object.attributes, keyval, Kind::Datatype)?.map(|value| value.integer()))
}

/// Marks the functions of a key as Fortran functions, to be called through these proxies.
pub fn set_proxies(keyval: i32, copy: Callback, delete: Callback) {
    if let Some(key) = KEYVALS.share(Handle(keyval as u32)) {
        let _ = key.proxies.set((copy, delete));
    }
}
