//! Collections, chares, messages to them, callbacks: what entry methods call.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::time::Duration;

use towpath_actors::message::MessageKind;
use towpath_actors::{ActorError, CollectionId, Contribution};

use crate::current::with_runtime;
use crate::failure::status;
use crate::messages::{bytes, towpath_message_free};
use crate::types::{CCallback, CChareId, CCollection, CMessage, CSection};

pub(crate) fn sentence(error: ActorError) -> String {
    error.to_string()
}

/// The rank that a program names: none if it names -1.
fn rank(number: c_int) -> Result<Option<u32>, String> {
    match number {
        -1 => Ok(None),
        _ => u32::try_from(number).map(Some).map_err(|_| format!("there is no rank {number}")),
    }
}

/// Makes a collection.
///
/// # Safety
/// The pointers are as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_create_collection(
    options: *const CCollection,
    parameters: *const c_void,
    length: usize,
    collection: *mut u64,
) -> c_int {
    // SAFETY: the caller has such a structure, and so many bytes.
    let (options, parameters) = unsafe { (&*options, bytes(parameters, length)) };
    status(with_runtime(|runtime| {
        let created = runtime.create_collection(options.options(parameters)?).map_err(sentence)?;
        // SAFETY: the caller has memory for the name.
        unsafe { collection.write(created.0) };
        Ok(())
    }))
}

/// Makes a single chare.
///
/// # Safety
/// The pointers are as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_create_chare(
    constructor: u32,
    on: c_int,
    parameters: *const c_void,
    length: usize,
    id: *mut CChareId,
) -> c_int {
    // SAFETY: the caller has so many bytes.
    let parameters = unsafe { bytes(parameters, length) };
    status(with_runtime(|runtime| {
        let created = runtime.create_chare(constructor, rank(on)?, parameters).map_err(sentence)?;
        // SAFETY: the caller has memory for the name.
        unsafe { id.write(created.into()) };
        Ok(())
    }))
}

/// Inserts an element of an array.
///
/// # Safety
/// The pointers are as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_insert(
    id: *const CChareId,
    constructor: u32,
    on: c_int,
    parameters: *const c_void,
    length: usize,
) -> c_int {
    // SAFETY: the caller has such a name, and so many bytes.
    let (id, parameters) = unsafe { (&*id, bytes(parameters, length)) };
    status(with_runtime(|runtime| {
        runtime.insert(id.id()?, constructor, rank(on)?, parameters).map_err(sentence)
    }))
}

/// All elements that this rank has inserted are the first ones.
#[unsafe(no_mangle)]
pub extern "C" fn towpath_done_inserting(collection: u64) {
    status(with_runtime(|runtime| {
        runtime.done_inserting(CollectionId(collection));
        Ok(())
    }));
}

/// The object of a chare of this rank, or null.
///
/// # Safety
/// The pointer is as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_local(id: *const CChareId) -> *mut c_void {
    // SAFETY: the caller has such a name.
    let id = unsafe { &*id };
    let object = with_runtime(|runtime| Ok(runtime.local(id.id()?)));
    object
        .ok()
        .flatten()
        .map_or(ptr::null_mut(), |object| ptr::with_exposed_provenance_mut(object as usize))
}

/// Lets a chare of this rank migrate.
///
/// # Safety
/// The pointer is as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_migrate(id: *const CChareId, to: u32) -> c_int {
    // SAFETY: the caller has such a name.
    let id = unsafe { &*id };
    status(with_runtime(|runtime| runtime.migrate(id.id()?, to).map_err(sentence)))
}

/// Deletes a chare of this rank.
///
/// # Safety
/// The pointer is as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_destroy(id: *const CChareId) -> c_int {
    // SAFETY: the caller has such a name.
    let id = unsafe { &*id };
    status(with_runtime(|runtime| runtime.delete(id.id()?).map_err(sentence)))
}

/// Sends a message to one chare.
///
/// # Safety
/// The pointers are as the header says; the message was made or kept.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_invoke(id: *const CChareId, message: *mut CMessage) -> c_int {
    // SAFETY: the caller has such a name, and the message.
    let (id, sent) = unsafe { (&*id, &mut *message) };
    let result = with_runtime(|runtime| {
        let to = id.id()?;
        let (kind, index) = (MessageKind::Invoke, Some(&to.index));
        // SAFETY: the program leaves its `memory` as it is.
        let message = unsafe { sent.addressed(kind, to.collection, index) }?;
        runtime.invoke(message).map_err(sentence)
    });
    // SAFETY: this does nothing with a message that was sent.
    unsafe { towpath_message_free(message) };
    status(result)
}

/// Sends a message to all chares of a collection.
///
/// # Safety
/// The message was made or kept.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_broadcast(collection: u64, message: *mut CMessage) -> c_int {
    // SAFETY: the caller has the message.
    let sent = unsafe { &mut *message };
    let result = with_runtime(|runtime| {
        let (kind, collection) = (MessageKind::Broadcast, CollectionId(collection));
        // SAFETY: as in `towpath_invoke`.
        let message = unsafe { sent.addressed(kind, collection, None) }?;
        runtime.broadcast(message);
        Ok(())
    });
    // SAFETY: as in `towpath_invoke`.
    unsafe { towpath_message_free(message) };
    status(result)
}

/// Gives a value to a callback.
///
/// # Safety
/// The pointers are as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_call_back(
    callback: *const CCallback,
    value: *const c_void,
    length: usize,
) -> c_int {
    // SAFETY: the caller has such a structure, and so many bytes.
    let (callback, value) = unsafe { (&*callback, bytes(value, length)) };
    status(with_runtime(|runtime| runtime.call(callback.callback()?, value).map_err(sentence)))
}

/// Contributes to the next reduction of a chare's collection.
///
/// # Safety
/// The pointers are as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_contribute(
    id: *const CChareId,
    reducer: u32,
    value: *const c_void,
    length: usize,
    callback: *const CCallback,
) -> c_int {
    // SAFETY: the caller has such a name, so many bytes, and a callback or null.
    let (id, value, callback) = unsafe { (&*id, bytes(value, length), callback.as_ref()) };
    status(contribute(id, None, reducer, value.to_vec(), callback))
}

/// Contributes to the next reduction of a chare's collection, or over a section.
pub(crate) fn contribute(
    id: &CChareId,
    section: Option<&CSection>,
    reducer: u32,
    value: Vec<u8>,
    callback: Option<&CCallback>,
) -> Result<(), String> {
    with_runtime(|runtime| {
        let callback = callback.map(CCallback::callback).transpose()?;
        let contribution = Contribution { reducer, elements: 1, callback, value };
        let id = id.id()?;
        let contributed = match section {
            Some(section) => runtime.contribute_to_section(id, section.id(), contribution),
            None => runtime.contribute(id, contribution),
        };
        contributed.map(|_| ()).map_err(sentence)
    })
}

/// Who is told of results of reductions whose contributions have no callback.
///
/// # Safety
/// The pointer is as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_set_reduction_client(
    collection: u64,
    client: *const CCallback,
) -> c_int {
    // SAFETY: the caller has such a structure.
    let client = unsafe { &*client };
    status(with_runtime(|runtime| {
        if runtime.set_reduction_client(CollectionId(collection), client.callback()?) {
            return Ok(());
        }
        Err("a reduction client is set by the rank that has made the array or group".into())
    }))
}

/// The number of the next reduction of a chare.
///
/// # Safety
/// The pointers are as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_next_reduction(id: *const CChareId, number: *mut u32) -> c_int {
    // SAFETY: the caller has such a name.
    let id = unsafe { &*id };
    status(with_runtime(|runtime| {
        let next = runtime.next_reduction(id.id()?).map_err(sentence)?;
        // SAFETY: the caller has memory for the number.
        unsafe { number.write(next) };
        Ok(())
    }))
}

/// Tells a callback of quiescence.
///
/// # Safety
/// The pointer is as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_start_quiescence(callback: *const CCallback) -> c_int {
    // SAFETY: the caller has such a structure.
    let callback = unsafe { &*callback };
    status(with_runtime(|runtime| {
        runtime.start_quiescence(callback.callback()?);
        Ok(())
    }))
}

/// Tells a callback after so many nanoseconds.
///
/// # Safety
/// The pointer is as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_call_after(nanoseconds: u64, callback: *const CCallback) -> c_int {
    // SAFETY: the caller has such a structure.
    let callback = unsafe { &*callback };
    status(with_runtime(|runtime| {
        runtime.call_after(Duration::from_nanos(nanoseconds), callback.callback()?);
        Ok(())
    }))
}

/// Calls a function of this rank once it has nothing to do.
#[unsafe(no_mangle)]
pub extern "C" fn towpath_call_when_idle(function: u64) -> c_int {
    status(with_runtime(|runtime| {
        runtime.call_when_idle(function);
        Ok(())
    }))
}

/// A method of a chare is suspended.
///
/// # Safety
/// The pointer is as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_pin(id: *const CChareId) -> c_int {
    // SAFETY: the caller has such a name.
    let id = unsafe { &*id };
    status(with_runtime(|runtime| runtime.pin(id.id()?).map_err(sentence)))
}

/// It goes on.
///
/// # Safety
/// The pointer is as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_unpin(id: *const CChareId) {
    // SAFETY: the caller has such a name.
    let id = unsafe { &*id };
    status(with_runtime(|runtime| {
        runtime.unpin(id.id()?);
        Ok(())
    }));
}

/// Code of a chare is about to run outside of its entry methods.
///
/// # Safety
/// The pointer is as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_enter(id: *const CChareId) -> c_int {
    // SAFETY: the caller has such a name.
    let id = unsafe { &*id };
    status(with_runtime(|runtime| runtime.enter(id.id()?).map_err(sentence)))
}

/// That code has ended.
///
/// # Safety
/// The pointer is as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_leave(id: *const CChareId) {
    // SAFETY: the caller has such a name.
    let id = unsafe { &*id };
    status(with_runtime(|runtime| {
        runtime.leave(id.id()?);
        Ok(())
    }));
}
