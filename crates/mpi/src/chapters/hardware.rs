//! Hardware-based communicator splits (MPI 5.0, sections 7.4.2 and 11.1.2).
//!
//! A process is restricted to an instance of a resource if the instance contains its affinity mask.
//! Resource types are named `towpath://core` and so on; the `towpath://` prefix may be omitted. The
//! coarsest type is the host (`mpi_shared_memory`).

use std::path::Path;

use towpath_machine::resources::{OfEach, RESOURCES};
use towpath_machine::{cores, filesystem};
use towpath_neutral::abi::Handle;
use towpath_neutral::constants::*;
use towpath_neutral::error::Result;
use towpath_neutral::info::Pairs;

use super::{info, internal};
use crate::objects::comm::Comm;
use crate::objects::registry::OBJECTS;

/// The info key that names a resource type.
const TYPE_KEY: &str = "mpi_hw_resource_type";
/// The standard's type for processes that can share memory.
const SHARED_MEMORY: &str = "mpi_shared_memory";
const PROVIDER: &str = "towpath://";
/// Color word of a process that is not restricted to a single instance.
const NOWHERE: u64 = u64::MAX;
/// Color word of a process that takes part in the call but not in the split.
const WATCHES: u64 = u64::MAX - 1;

/// Number of resource types, including the host; type 0 is the host, the coarsest.
const RESOURCE_TYPES: usize = 1 + RESOURCES.len();

fn type_name(index: usize) -> String {
    match index {
        0 => SHARED_MEMORY.to_owned(),
        _ => format!("{PROVIDER}{}", RESOURCES[index - 1].name()),
    }
}

/// The instance of each resource that this process is restricted to. The affinity mask may change,
/// so it is read on each call.
pub(crate) fn instances_of_mine() -> OfEach {
    OBJECTS.instances.lock().unwrap().of(&cores::affinity())
}

/// The instance of each type that this process is restricted to, identified by its lowest
/// processor.
fn instances() -> [Option<usize>; RESOURCE_TYPES] {
    let found = instances_of_mine();
    std::array::from_fn(|index| if index == 0 { Some(0) } else { found[index - 1] })
}

/// Like [`instances`], as colors that identify instances uniquely in a communicator. `host` is the
/// number of this process's host among those of the members.
fn colors(host: u32) -> [Option<i32>; RESOURCE_TYPES] {
    let color = |instance: usize| i32::try_from(host as usize * 64 * cores::MASK_WORDS + instance).ok();
    instances().map(|instance| instance.and_then(color))
}

/// The info key of MPIX_COMM_TYPE_NEIGHBORHOOD: a directory shared by the neighbourhood.
const DIRECTORY_KEY: &str = "nbhd_common_dirname";
/// The color of processes that share a network directory; greater than the color of any host.
const ON_NETWORK: i32 = i32::MAX;

/// The color for MPICH's extension MPIX_COMM_TYPE_NEIGHBORHOOD: groups processes that share the
/// directory named in `hints`. MPI_UNDEFINED if none is named, or if this process cannot access it.
pub(crate) fn neighborhood(host: u32, hints: &Pairs) -> i32 {
    match hints.get(DIRECTORY_KEY).map(|directory| filesystem::is_on_network(Path::new(directory))) {
        Some(Ok(true)) => ON_NETWORK,
        Some(Ok(false)) => host as i32,
        Some(Err(_)) | None => UNDEFINED,
    }
}

/// The color for the resource type named in `hints`; MPI_UNDEFINED if the type is unknown, or if
/// this process is not restricted to one instance of it.
pub(crate) fn guided(host: u32, hints: &Pairs) -> i32 {
    let Some(wanted) = hints.get(TYPE_KEY) else { return UNDEFINED };
    let known = |index: &usize| {
        let name = type_name(*index);
        name == wanted || name.strip_prefix(PROVIDER) == Some(wanted)
    };
    (0..RESOURCE_TYPES).find(known).and_then(|index| colors(host)[index]).unwrap_or(UNDEFINED)
}

/// The colors of all processes for the coarsest type that every participating process is restricted
/// to and that separates some of them. Stores the name of that type in `info`. MPI_UNDEFINED if no
/// type separates them, and for processes that only `watch`. Collective.
pub(crate) fn unguided(comm: &Comm, host: u32, info: Handle, watch: bool) -> Result<Vec<i32>> {
    let (team, sequence) = internal::team_of(comm);
    let mine = if watch { [None; RESOURCE_TYPES] } else { colors(host) };
    let absent = if watch { WATCHES } else { NOWHERE };
    let all =
        internal::gather_everywhere(&team, sequence, &mine.map(|color| color.map_or(absent, |color| color as u64)))?;
    let of_type = |index: usize| all.iter().skip(index).step_by(RESOURCE_TYPES).copied();
    let parts = |index: &usize| {
        let mut taking_part = of_type(*index).filter(|&word| word != WATCHES);
        let first = taking_part.clone().next();
        taking_part.clone().all(|word| word != NOWHERE) && taking_part.any(|word| Some(word) != first)
    };
    let Some(index) = (0..RESOURCE_TYPES).find(parts) else { return Ok(vec![UNDEFINED; team.size()]) };
    if !watch && info != INFO_NULL {
        info::put(info, TYPE_KEY, &type_name(index))?;
    }
    Ok(of_type(index).map(|word| i32::try_from(word).unwrap_or(UNDEFINED)).collect())
}

/// All types, and whether this process is restricted to one instance of each.
pub(crate) fn resources() -> Pairs {
    let mut pairs = Pairs::default();
    for (index, instance) in instances().iter().enumerate() {
        pairs.set(&type_name(index), if instance.is_some() { "true" } else { "false" });
    }
    pairs
}
