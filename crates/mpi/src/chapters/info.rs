//! The functions of info objects (MPI 5.0, chapter 10).

use std::ffi::c_char;
use std::sync::{Arc, Mutex};

use towpath_device::memory_kinds;
use towpath_neutral::abi::{Handle, StringArgument};
use towpath_neutral::constants::*;
use towpath_neutral::error::{Error, Result, fail};
use towpath_neutral::info::{Info, Pairs};

use crate::objects::registry::OBJECTS;
use crate::process;

/// The key for memory allocation kinds: those requested in MPI_INFO_ENV, those supported in the
/// hints of a communicator.
pub(crate) const MEMORY_KINDS: &str = "mpi_memory_alloc_kinds";

/// The pairs of an info argument; MPI_INFO_NULL has none.
pub(crate) fn pairs(info: Handle) -> Result<Pairs> {
    if info == INFO_NULL { Ok(Pairs::default()) } else { Ok(lookup(info)?.lock().unwrap().clone()) }
}

fn lookup(info: Handle) -> Result<Arc<Info>> {
    match info {
        INFO_NULL => fail!(ERR_INFO, "argument info is MPI_INFO_NULL; pass an info object"),
        INFO_ENV => Ok(Arc::new(Mutex::new(environment_pairs()))),
        _ => match OBJECTS.infos.share(info) {
            Some(found) => Ok(found),
            None => fail!(ERR_INFO, "argument info ({}) is not an info object", info),
        },
    }
}

fn changeable(info: Handle) -> Result<Arc<Info>> {
    if info == INFO_ENV {
        fail!(ERR_INFO, "argument info is MPI_INFO_ENV, which cannot be changed");
    }
    lookup(info)
}

/// Creates a handle for pairs.
pub(crate) fn insert(pairs: Pairs) -> Result<Handle> {
    let made = OBJECTS.infos.insert(Arc::new(Mutex::new(pairs)));
    made.ok_or_else(|| Error::new(ERR_NO_MEM, "too many info objects exist; free some"))
}

/// Sets a key of an info object of the program.
pub(crate) fn put(info: Handle, key: &str, value: &str) -> Result<()> {
    lookup(info)?.lock().unwrap().set(key, value);
    Ok(())
}

/// Reads and checks a key argument.
fn key_text(key: StringArgument) -> Result<String> {
    let key = key.text("key").map_err(|e| Error::new(ERR_INFO_KEY, e.text().to_owned()))?;
    if key.is_empty() || key.len() >= MAX_INFO_KEY as usize {
        fail!(ERR_INFO_KEY, "argument key has {} characters; 1 to {} are allowed", key.len(), MAX_INFO_KEY - 1);
    }
    Ok(key)
}

/// Rejects arguments that are neither an info object nor MPI_INFO_NULL, for functions that do not
/// use any keys.
pub(crate) fn known(info: Handle) -> Result<()> {
    pairs(info).map(drop)
}

/// MPI_Info_create.
pub fn info_create() -> Result<Handle> {
    insert(Pairs::default())
}

/// MPI_Info_create_env: the startup values, as in MPI_INFO_ENV. The program's arguments are known
/// from the operating system, so `argc` and `argv` are ignored.
pub fn info_create_env(_argc: i32, _argv: *const *const c_char) -> Result<Handle> {
    insert(environment_pairs())
}

/// MPI_Info_dup.
pub fn info_dup(info: Handle) -> Result<Handle> {
    let copy = lookup(info)?.lock().unwrap().clone();
    insert(copy)
}

/// MPI_Info_free.
pub fn info_free(info: &mut Handle) -> Result<()> {
    changeable(*info)?;
    OBJECTS.infos.remove(*info);
    *info = INFO_NULL;
    Ok(())
}

/// MPI_Info_set.
pub fn info_set(info: Handle, key: StringArgument, value: StringArgument) -> Result<()> {
    let info = changeable(info)?;
    let key = key_text(key)?;
    let value = value.text("value").map_err(|e| Error::new(ERR_INFO_VALUE, e.text().to_owned()))?;
    if value.len() >= MAX_INFO_VAL as usize {
        fail!(
            ERR_INFO_VALUE,
            "argument value has {} characters; at most {} are allowed",
            value.len(),
            MAX_INFO_VAL - 1
        );
    }
    info.lock().unwrap().set(&key, &value);
    Ok(())
}

/// MPI_Info_delete.
pub fn info_delete(info: Handle, key: StringArgument) -> Result<()> {
    let info = changeable(info)?;
    let key = key_text(key)?;
    let mut pairs = info.lock().unwrap();
    let before = pairs.0.len();
    pairs.0.retain(|(k, _)| *k != key);
    if pairs.0.len() == before {
        fail!(ERR_INFO_NOKEY, "the info object has no key \"{key}\"");
    }
    Ok(())
}

/// The value of a key; `None` if it is not set.
fn value_of(info: Handle, key: StringArgument) -> Result<Option<String>> {
    let info = lookup(info)?;
    let key = key_text(key)?;
    let found = info.lock().unwrap().get(&key).map(str::to_owned);
    Ok(found)
}

/// MPI_Info_get: the value, which the binding truncates to `valuelen`, and whether the key is set.
pub fn info_get(info: Handle, key: StringArgument) -> Result<(String, bool)> {
    Ok(value_of(info, key)?.map_or((String::new(), false), |value| (value, true)))
}

/// MPI_Info_get_string: the value, which the binding truncates to the buffer, and whether the key
/// is set.
pub fn info_get_string(info: Handle, key: StringArgument) -> Result<(String, bool)> {
    info_get(info, key)
}

/// MPI_Info_get_valuelen: the length without the NUL, and whether the key is set.
pub fn info_get_valuelen(info: Handle, key: StringArgument) -> Result<(i32, bool)> {
    Ok(value_of(info, key)?.map_or((0, false), |value| (value.len() as i32, true)))
}

/// MPI_Info_get_nkeys.
pub fn info_get_nkeys(info: Handle) -> Result<i32> {
    Ok(lookup(info)?.lock().unwrap().0.len() as i32)
}

/// MPI_Info_get_nthkey.
pub fn info_get_nthkey(info: Handle, n: i32) -> Result<String> {
    let info = lookup(info)?;
    let pairs = info.lock().unwrap();
    match usize::try_from(n).ok().and_then(|n| pairs.0.get(n)) {
        Some((key, _)) => Ok(key.clone()),
        None => fail!(ERR_ARG, "argument n is {n}, but the info object has {} keys", pairs.0.len()),
    }
}

/// Contents of MPI_INFO_ENV (11.2.1), determined once, so that they are the same before and after
/// MPI_Init. There is no key for a thread level, because launchers do not request one.
fn environment_pairs() -> Pairs {
    OBJECTS.environment.get_or_init(look_at_environment).clone()
}

fn look_at_environment() -> Pairs {
    let mut pairs = Pairs::default();
    let mut arguments = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    if let Some(command) = arguments.next() {
        pairs.set("command", &command);
    }
    pairs.set("argv", &arguments.collect::<Vec<_>>().join(" "));
    if let Ok(directory) = std::env::current_dir() {
        pairs.set("wdir", &directory.to_string_lossy());
    }
    pairs.set("host", &process::host_name());
    pairs.set("arch", std::env::consts::ARCH);
    pairs.set(MEMORY_KINDS, &memory_kinds::requested());
    // A process that was not launched is alone.
    let processes = towpath_launch::client::seen().map(|seen| seen.rank_and_size.map_or(Some(1), |(_, size)| size));
    if let Ok(Some(processes)) = processes {
        pairs.set("maxprocs", &processes.to_string());
    }
    pairs
}
