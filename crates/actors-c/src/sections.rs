//! Sections: subsets of a collection, multicasts to them and reductions over them.

use std::ffi::{c_int, c_void};

use towpath_actors::message::MessageKind;
use towpath_actors::{CollectionId, Index};

use crate::calls::{contribute, sentence};
use crate::current::with_runtime;
use crate::failure::status;
use crate::messages::{bytes, elements, section_of, towpath_message_free};
use crate::types::{CCallback, CChareId, CIndex, CMessage, CSection};

/// Makes a section of the chares with these indexes.
///
/// # Safety
/// The pointers are as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_create_section(
    collection: u64,
    members: *const CIndex,
    count: usize,
    section: *mut CSection,
) -> c_int {
    // SAFETY: the caller has so many indexes.
    let members = unsafe { elements(members, count) };
    status(with_runtime(|runtime| {
        let members: Vec<Index> = members.iter().map(CIndex::index).collect::<Result<_, _>>()?;
        let made = runtime.create_section(CollectionId(collection), &members).map_err(sentence)?;
        // SAFETY: the caller has memory for the name.
        unsafe { section.write(made.into()) };
        Ok(())
    }))
}

/// Sends a message to all members of a section.
///
/// # Safety
/// The pointers are as the header says; the message was made or kept.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_multicast(
    section: *const CSection,
    message: *mut CMessage,
) -> c_int {
    // SAFETY: the caller has such a name, and the message.
    let (section, sent) = unsafe { (&*section, &mut *message) };
    let result = with_runtime(|runtime| {
        let (kind, to) = (MessageKind::MulticastRequest, section.id());
        // SAFETY: the program leaves its `memory` as it is.
        let message = unsafe { sent.addressed(kind, to.collection, None) }?;
        runtime.multicast(to, message).map_err(sentence)
    });
    // SAFETY: this does nothing with a message that was sent.
    unsafe { towpath_message_free(message) };
    status(result)
}

/// Contributes to the next reduction of a chare over a section to which it belongs.
///
/// # Safety
/// The pointers are as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_contribute_to_section(
    id: *const CChareId,
    section: *const CSection,
    reducer: u32,
    value: *const c_void,
    length: usize,
    callback: *const CCallback,
) -> c_int {
    // SAFETY: the caller has such names, so many bytes, and a callback or null.
    let (id, section, value, callback) =
        unsafe { (&*id, &*section, bytes(value, length), callback.as_ref()) };
    status(contribute(id, Some(section), reducer, value.to_vec(), callback))
}

/// Who is told of results of reductions over a section whose contributions have no callback.
///
/// # Safety
/// The pointers are as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_set_section_client(
    section: *const CSection,
    client: *const CCallback,
) -> c_int {
    // SAFETY: the caller has such a name, and such a structure.
    let (section, client) = unsafe { (&*section, &*client) };
    status(with_runtime(|runtime| {
        let client = client.callback()?;
        if runtime.set_section_client(section.id(), client).map_err(sentence)? {
            return Ok(());
        }
        Err("a reduction client of a section is set by the rank that has made the section".into())
    }))
}

/// Whether a section is of before the restart.
///
/// # Safety
/// The pointer is as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_is_old_section(section: *const CSection) -> c_int {
    // SAFETY: the caller has such a name.
    let section = unsafe { &*section };
    let is_old = with_runtime(|runtime| Ok(runtime.is_old_section(section.id())));
    c_int::from(is_old == Ok(true))
}

/// The number of the next reduction of a chare over a section to which it belongs.
///
/// # Safety
/// The pointers are as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_next_section_reduction(
    id: *const CChareId,
    section: *const CSection,
    number: *mut u32,
) -> c_int {
    // SAFETY: the caller has such names.
    let (id, section) = unsafe { (&*id, &*section) };
    status(with_runtime(|runtime| {
        let next = runtime.next_section_reduction(id.id()?, section.id()).map_err(sentence)?;
        // SAFETY: the caller has memory for the number.
        unsafe { number.write(next) };
        Ok(())
    }))
}

/// The sections to which a chare of this rank belongs; returns how many they are.
///
/// # Safety
/// The pointers are as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_sections(
    id: *const CChareId,
    sections: *mut CSection,
    room: usize,
) -> usize {
    // SAFETY: the caller has such a name.
    let id = unsafe { &*id };
    let all = with_runtime(|runtime| Ok(runtime.sections(id.id()?))).unwrap_or_default();
    for (at, section) in all.iter().take(room).enumerate() {
        // SAFETY: the caller has memory for `room` names.
        unsafe { sections.add(at).write((*section).into()) };
    }
    all.len()
}

/// The section to which a message was sent.
///
/// # Safety
/// The message is that of the running method, or was kept. There is memory for the name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_message_section(
    message: *const CMessage,
    section: *mut CSection,
) -> c_int {
    // SAFETY: the caller has the message.
    let found = unsafe { section_of(message) };
    let found = found.ok_or_else(|| "the message was not sent to a section".to_owned());
    status(found.map(|id| {
        // SAFETY: the caller has memory for the name.
        unsafe { section.write(id.into()) };
    }))
}
