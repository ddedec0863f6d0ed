//! Attribute keys, and the attributes of an object (MPI 5.0, section 7.7). The C functions are in
//! `chapters::attributes`.
//!
//! The program's copy and delete functions are called through the [`AbiTable`], without holding any
//! lock of Towpath. A key that the program has freed stays in the table until no object has an
//! attribute with that key (7.7.2).

use std::ffi::c_void;
use std::sync::{Arc, Mutex, OnceLock};

use towpath_base::sync::{AtomicBool, AtomicU64, Ordering};
use towpath_neutral::abi::{AbiTable, Callback, FortranCalls, Handle, Kind};
use towpath_neutral::constants::SUCCESS;
use towpath_neutral::error::{Error, Result};
use towpath_neutral::handle::Table;

use crate::process;

/// Attribute keys of the program.
pub(crate) static KEYVALS: Table<Keyval> = Table::new(Kind::Keyval);

/// Predefined copy and delete functions, in the numbering of the standard ABI
/// (`MPI_COMM_NULL_COPY_FN` 0, `MPI_COMM_DUP_FN` 1).
const NULL_FUNCTION: usize = 0;
const DUP_FUNCTION: usize = 1;

/// An attribute key.
#[derive(Debug)]
pub(crate) struct Keyval {
    pub(crate) number: Handle,
    pub(crate) kind: Kind,
    pub(crate) copy: Callback,
    pub(crate) delete: Callback,
    pub(crate) extra: AttributePointer,
    /// Set once the program has freed the key.
    pub(crate) freed: AtomicBool,
    /// Proxies through which the program's Fortran copy and delete functions are called.
    pub(crate) proxies: OnceLock<(Callback, Callback)>,
}

/// A pointer of the program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AttributePointer(pub(crate) *mut c_void);
// SAFETY: Towpath never dereferences the pointer; it only returns it to the program.
unsafe impl Send for AttributePointer {}
// SAFETY: Towpath never dereferences the pointer; it only returns it to the program.
unsafe impl Sync for AttributePointer {}

/// The value of an attribute, and its view from the other language (19.3.7).
#[derive(Debug, Clone)]
pub(crate) enum AttributeValue {
    /// Set in C. Fortran sees the address.
    Pointer(AttributePointer),
    /// Set in Fortran. C sees a pointer to the integer.
    Integer(Arc<AtomicU64>),
}

impl AttributeValue {
    pub(crate) fn of_integer(value: i64) -> AttributeValue {
        AttributeValue::Integer(Arc::new(AtomicU64::new(value as u64)))
    }

    pub(crate) fn pointer(&self) -> *mut c_void {
        match self {
            AttributeValue::Pointer(pointer) => pointer.0,
            AttributeValue::Integer(integer) => integer.as_ptr().cast(),
        }
    }

    pub(crate) fn integer(&self) -> i64 {
        match self {
            AttributeValue::Pointer(pointer) => pointer.0 as i64,
            AttributeValue::Integer(integer) => integer.load(Ordering::Relaxed) as i64,
        }
    }
}

/// The attributes of one object, in the order in which they were set.
#[derive(Debug, Default)]
pub(crate) struct Attributes(Mutex<Vec<(Arc<Keyval>, AttributeValue)>>);

fn callback_failed(what: &str, keyval: Handle, code: i32) -> Error {
    Error::new(code, format!("the attribute {what} function of key {:#x} failed with code {code}", keyval.0))
}

impl Keyval {
    /// Removes a key that the program has freed, if this reference and the table's are the last
    /// ones.
    pub(crate) fn forget_if_unused(self: Arc<Self>) {
        if self.freed.load(Ordering::Acquire) && Arc::strong_count(&self) <= 2 {
            KEYVALS.remove(self.number);
        }
    }

    /// The proxies of Fortran functions, and the functions that call them; `None` for functions in
    /// C.
    fn fortran(&self, abi: &'static AbiTable) -> Option<((Callback, Callback), &'static FortranCalls)> {
        Some((*self.proxies.get()?, abi.fortran.as_ref()?))
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
        let abi = process::abi().expect("an ABI created the key");
        let (key, extra) = (self.number.0 as i32, self.extra.0);
        // SAFETY: the program registered `copy` for objects of this kind, as a function of the
        // language that `proxies` implies, and `proxy` belongs to it.
        let (code, keep, copied) = unsafe {
            match self.fortran(abi) {
                Some(((proxy, _), calls)) => {
                    let (code, keep, copied) =
                        (calls.call_copy)(proxy, self.copy, self.kind, object, key, extra, value.integer());
                    (code, keep, AttributeValue::of_integer(copied))
                }
                None => {
                    let (code, keep, copied) =
                        (abi.call_copy)(self.copy, self.kind, object, key, extra, value.pointer());
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
        let abi = process::abi().expect("an ABI created the key");
        let (key, extra) = (self.number.0 as i32, self.extra.0);
        // SAFETY: the program registered `delete` for objects of this kind, as a function of the
        // language that `proxies` implies, and `proxy` belongs to it.
        let code = unsafe {
            match self.fortran(abi) {
                Some(((_, proxy), calls)) => {
                    (calls.call_delete)(proxy, self.delete, self.kind, object, key, value.integer(), extra)
                }
                None => (abi.call_delete)(self.delete, self.kind, object, key, value.pointer(), extra),
            }
        };
        if code == SUCCESS { Ok(()) } else { Err(callback_failed("delete", self.number, code)) }
    }
}

impl Attributes {
    /// The value of a key.
    pub(crate) fn get(&self, keyval: Handle) -> Option<AttributeValue> {
        self.0.lock().unwrap().iter().find(|(key, _)| key.number == keyval).map(|(_, value)| value.clone())
    }

    /// Sets a key, after deleting its old value.
    pub(crate) fn set(&self, object: Handle, keyval: &Arc<Keyval>, value: AttributeValue) -> Result<()> {
        if self.get(keyval.number).is_some() {
            self.delete(object, keyval.number)?;
        }
        self.0.lock().unwrap().push((keyval.clone(), value));
        Ok(())
    }

    /// Deletes a key; does nothing if it is not set. If the program's delete function fails,
    /// returns its error and keeps the attribute.
    pub(crate) fn delete(&self, object: Handle, keyval: Handle) -> Result<()> {
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
    pub(crate) fn delete_all(&self, object: Handle) -> Result<()> {
        loop {
            let last = self.0.lock().unwrap().last().cloned();
            let Some((key, value)) = last else { return Ok(()) };
            key.call_delete(object, &value)?;
            self.0.lock().unwrap().retain(|(other, _)| other.number != key.number);
            key.forget_if_unused();
        }
    }

    /// The attributes that a duplicate of the object gets.
    pub(crate) fn copied(&self, object: Handle) -> Result<Attributes> {
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
