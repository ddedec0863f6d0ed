//! Attribute caching on communicators, datatypes and windows (MPI 5.0, section 7.7).
//!
//! The program's copy and delete functions are called through the [`Face`], without holding any
//! lock of Towpath. A key that the program has freed stays in the table until no object has an
//! attribute with that key (7.7.2).

use std::ffi::c_void;
use std::sync::{Arc, Mutex, OnceLock};

use towpath_base::sync::{AtomicBool, AtomicU64, Ordering};

use crate::constants::*;
use crate::error::{Error, Result, fail};
use crate::face::{Callback, Face, FortranCalls, Handle, Kind};
use crate::world::{self, OBJECTS};

/// Predefined copy and delete functions, in the numbering of the standard ABI
/// (`MPI_COMM_NULL_COPY_FN` 0, `MPI_COMM_DUP_FN` 1).
const NULL_FUNCTION: usize = 0;
const DUP_FUNCTION: usize = 1;

/// An attribute key.
#[derive(Debug)]
pub struct Keyval {
    number: Handle,
    kind: Kind,
    copy: Callback,
    delete: Callback,
    extra: AttributePointer,
    /// Set once the program has freed the key.
    freed: AtomicBool,
    /// Proxies through which the program's Fortran copy and delete functions are called.
    proxies: OnceLock<(Callback, Callback)>,
}

#[derive(Debug, Clone, Copy)]
struct AttributePointer(*mut c_void);
// SAFETY: Towpath never dereferences the pointer; it only returns it to the program.
unsafe impl Send for AttributePointer {}
// SAFETY: Towpath never dereferences the pointer; it only returns it to the program.
unsafe impl Sync for AttributePointer {}

/// The value of an attribute, and its view from the other language (19.3.7).
#[derive(Debug, Clone)]
enum AttributeValue {
    /// Set in C. Fortran sees the address.
    Pointer(AttributePointer),
    /// Set in Fortran. C sees a pointer to the integer.
    Integer(Arc<AtomicU64>),
}

impl AttributeValue {
    fn of_integer(value: i64) -> AttributeValue {
        AttributeValue::Integer(Arc::new(AtomicU64::new(value as u64)))
    }

    fn pointer(&self) -> *mut c_void {
        match self {
            AttributeValue::Pointer(pointer) => pointer.0,
            AttributeValue::Integer(integer) => integer.as_ptr().cast(),
        }
    }

    fn integer(&self) -> i64 {
        match self {
            AttributeValue::Pointer(pointer) => pointer.0 as i64,
            AttributeValue::Integer(integer) => integer.load(Ordering::Relaxed) as i64,
        }
    }
}

/// The attributes of one object, in the order in which they were set.
#[derive(Debug, Default)]
pub struct Attributes(Mutex<Vec<(Arc<Keyval>, AttributeValue)>>);

fn callback_failed(what: &str, keyval: Handle, code: i32) -> Error {
    Error::new(code, format!("the attribute {what} function of key {:#x} failed with code {code}", keyval.0))
}

impl Keyval {
    /// Removes a key that the program has freed, if this reference and the table's are the last
    /// ones.
    fn forget_if_unused(self: Arc<Self>) {
        if self.freed.load(Ordering::Acquire) && Arc::strong_count(&self) <= 2 {
            OBJECTS.keyvals.remove(self.number);
        }
    }

    /// The proxies of Fortran functions, and the functions that call them; `None` for functions in
    /// C.
    fn fortran(&self, face: &'static Face) -> Option<((Callback, Callback), &'static FortranCalls)> {
        Some((*self.proxies.get()?, face.fortran.as_ref()?))
    }

    fn call_copy(&self, object: Handle, value: &AttributeValue) -> Result<Option<AttributeValue>> {
        match self.copy.0 as usize {
            NULL_FUNCTION => return Ok(None),
            DUP_FUNCTION => {
                return Ok(Some(match value {
                    AttributeValue::Pointer(_) => value.clone(),
                    AttributeValue::Integer(_) => AttributeValue::of_integer(value.integer()),
                }));
            }
            _ => {}
        }
        let face = world::face().expect("a face created the key");
        let (key, extra) = (self.number.0 as i32, self.extra.0);
        // SAFETY: the program registered `copy` for objects of this kind, as a function of the
        // language that `proxies` implies, and `proxy` belongs to it.
        let (code, keep, copied) = unsafe {
            match self.fortran(face) {
                Some(((proxy, _), calls)) => {
                    let (code, keep, copied) =
                        (calls.call_copy)(proxy, self.copy, self.kind, object, key, extra, value.integer());
                    (code, keep, AttributeValue::of_integer(copied))
                }
                None => {
                    let (code, keep, copied) =
                        (face.call_copy)(self.copy, self.kind, object, key, extra, value.pointer());
                    (code, keep, AttributeValue::Pointer(AttributePointer(copied)))
                }
            }
        };
        if code != SUCCESS {
            return Err(callback_failed("copy", self.number, code));
        }
        Ok(keep.then_some(copied))
    }

    fn call_delete(&self, object: Handle, value: &AttributeValue) -> Result<()> {
        if self.delete.0 as usize == NULL_FUNCTION {
            return Ok(());
        }
        let face = world::face().expect("a face created the key");
        let (key, extra) = (self.number.0 as i32, self.extra.0);
        // SAFETY: the program registered `delete` for objects of this kind, as a function of the
        // language that `proxies` implies, and `proxy` belongs to it.
        let code = unsafe {
            match self.fortran(face) {
                Some(((_, proxy), calls)) => {
                    (calls.call_delete)(proxy, self.delete, self.kind, object, key, value.integer(), extra)
                }
                None => (face.call_delete)(self.delete, self.kind, object, key, value.pointer(), extra),
            }
        };
        if code == SUCCESS { Ok(()) } else { Err(callback_failed("delete", self.number, code)) }
    }
}

impl Attributes {
    /// The value of a key.
    fn get(&self, keyval: Handle) -> Option<AttributeValue> {
        self.0.lock().unwrap().iter().find(|(key, _)| key.number == keyval).map(|(_, value)| value.clone())
    }

    /// Sets a key, after deleting its old value.
    fn set(&self, object: Handle, keyval: &Arc<Keyval>, value: AttributeValue) -> Result<()> {
        if self.get(keyval.number).is_some() {
            self.delete(object, keyval.number)?;
        }
        self.0.lock().unwrap().push((keyval.clone(), value));
        Ok(())
    }

    /// Deletes a key; does nothing if it is not set. If the program's delete function fails,
    /// returns its error and keeps the attribute.
    pub fn delete(&self, object: Handle, keyval: Handle) -> Result<()> {
        let found = self.0.lock().unwrap().iter().find(|(key, _)| key.number == keyval).cloned();
        if let Some((key, value)) = found {
            key.call_delete(object, &value)?;
            self.0.lock().unwrap().retain(|(key, _)| key.number != keyval);
            key.forget_if_unused();
        }
        Ok(())
    }

    /// Deletes all attributes, last set first (as 11.2.4 requires for MPI_COMM_SELF); stops at the
    /// first failure.
    pub fn delete_all(&self, object: Handle) -> Result<()> {
        loop {
            let last = self.0.lock().unwrap().last().cloned();
            let Some((key, value)) = last else { return Ok(()) };
            key.call_delete(object, &value)?;
            self.0.lock().unwrap().retain(|(other, _)| other.number != key.number);
            key.forget_if_unused();
        }
    }

    /// The attributes that a duplicate of the object gets.
    pub fn copied(&self, object: Handle) -> Result<Attributes> {
        let mine = self.0.lock().unwrap().clone();
        let mut copies = Vec::with_capacity(mine.len());
        for (key, value) in mine {
            if let Some(copy) = key.call_copy(object, &value)? {
                copies.push((key, copy));
            }
        }
        Ok(Attributes(Mutex::new(copies)))
    }
}

fn create(kind: Kind, copy: Callback, delete: Callback, extra: *mut c_void) -> Result<i32> {
    let (extra, freed) = (AttributePointer(extra), AtomicBool::new(false));
    let proxies = OnceLock::new();
    let made = OBJECTS.keyvals.insert_with(|number| Keyval { number, kind, copy, delete, extra, freed, proxies });
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
    match OBJECTS.keyvals.share(Handle(keyval as u32)) {
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
        None => fail!(ERR_KEYVAL, "argument keyval ({keyval:#x}) is no attribute key"),
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

/// MPI_Comm_create_keyval.
pub fn comm_create_keyval(copy: Callback, delete: Callback, extra: *mut c_void) -> Result<i32> {
    create(Kind::Comm, copy, delete, extra)
}
/// MPI_Comm_free_keyval: objects that have the attribute keep it.
pub fn comm_free_keyval(keyval: &mut i32) -> Result<()> {
    free(keyval, Kind::Comm)
}
/// MPI_Type_create_keyval.
pub fn type_create_keyval(copy: Callback, delete: Callback, extra: *mut c_void) -> Result<i32> {
    create(Kind::Datatype, copy, delete, extra)
}
/// MPI_Type_free_keyval.
pub fn type_free_keyval(keyval: &mut i32) -> Result<()> {
    free(keyval, Kind::Datatype)
}
/// MPI_Win_create_keyval.
pub fn win_create_keyval(copy: Callback, delete: Callback, extra: *mut c_void) -> Result<i32> {
    create(Kind::Win, copy, delete, extra)
}
/// MPI_Win_free_keyval.
pub fn win_free_keyval(keyval: &mut i32) -> Result<()> {
    free(keyval, Kind::Win)
}
/// MPI_Comm_set_attr.
pub fn comm_set_attr(comm: Handle, keyval: i32, value: *mut c_void) -> Result<()> {
    let object = world::comm(comm)?;
    object.attributes.set(comm, &lookup(keyval, Kind::Comm)?, AttributeValue::Pointer(AttributePointer(value)))
}

/// MPI_Comm_get_attr: the value and whether it is set; values of predefined attributes point to an
/// int.
pub fn comm_get_attr(comm: Handle, keyval: i32) -> Result<(*mut c_void, bool)> {
    let object = world::comm(comm)?;
    if let Some(found) = world::predefined_attribute(keyval) {
        return Ok(found.map_or((std::ptr::null_mut(), false), |value| (value, true)));
    }
    get(&object.attributes, keyval, Kind::Comm)
}

/// MPI_Comm_delete_attr.
pub fn comm_delete_attr(comm: Handle, keyval: i32) -> Result<()> {
    let object = world::comm(comm)?;
    delete(&object.attributes, comm, keyval, Kind::Comm)
}

/// MPI_Type_set_attr.
pub fn type_set_attr(datatype: Handle, keyval: i32, value: *mut c_void) -> Result<()> {
    let object = crate::datatypes::lookup(datatype, "datatype")?;
    object.attributes.set(datatype, &lookup(keyval, Kind::Datatype)?, AttributeValue::Pointer(AttributePointer(value)))
}

/// MPI_Type_get_attr: the value and whether it is set.
pub fn type_get_attr(datatype: Handle, keyval: i32) -> Result<(*mut c_void, bool)> {
    let object = crate::datatypes::lookup(datatype, "datatype")?;
    get(&object.attributes, keyval, Kind::Datatype)
}

/// MPI_Type_delete_attr.
pub fn type_delete_attr(datatype: Handle, keyval: i32) -> Result<()> {
    let object = crate::datatypes::lookup(datatype, "datatype")?;
    delete(&object.attributes, datatype, keyval, Kind::Datatype)
}

/// Sets an attribute of a communicator from Fortran.
pub fn comm_set_integer(comm: Handle, keyval: i32, value: i64) -> Result<()> {
    let object = world::comm(comm)?;
    object.attributes.set(comm, &lookup(keyval, Kind::Comm)?, AttributeValue::of_integer(value))
}

/// The value of an attribute of a communicator as seen from Fortran; the program's own keys only.
pub fn comm_get_integer(comm: Handle, keyval: i32) -> Result<Option<i64>> {
    let object = world::comm(comm)?;
    Ok(value(&object.attributes, keyval, Kind::Comm)?.map(|value| value.integer()))
}

/// Sets an attribute of a datatype from Fortran.
pub fn type_set_integer(datatype: Handle, keyval: i32, value: i64) -> Result<()> {
    let object = crate::datatypes::lookup(datatype, "datatype")?;
    object.attributes.set(datatype, &lookup(keyval, Kind::Datatype)?, AttributeValue::of_integer(value))
}

/// The value of an attribute of a datatype as seen from Fortran.
pub fn type_get_integer(datatype: Handle, keyval: i32) -> Result<Option<i64>> {
    let object = crate::datatypes::lookup(datatype, "datatype")?;
    Ok(value(&object.attributes, keyval, Kind::Datatype)?.map(|value| value.integer()))
}

/// Marks the functions of a key as Fortran functions, to be called through these proxies.
pub fn set_proxies(keyval: i32, copy: Callback, delete: Callback) {
    if let Some(key) = OBJECTS.keyvals.share(Handle(keyval as u32)) {
        let _ = key.proxies.set((copy, delete));
    }
}
