//! Communicators by the hardware that processes are restricted to (MPI 5.0, sections 7.4.2 and 11.1.2).
//!
//! A process is restricted to an instance of a resource when its affinity mask lies inside. Types are named
//! `towpath://core` and so on; the provider may be left out. The coarsest type is the host (`mpi_shared_memory`).

use towpath_machine::cores;
use towpath_machine::resources::RESOURCES;

use crate::comm::Comm;
use crate::constants::*;
use crate::error::Result;
use crate::face::Handle;
use crate::info::{self, Pairs};
use crate::internal;
use crate::world;

/// The info key that names a type.
const TYPE_KEY: &str = "mpi_hw_resource_type";
/// The type of the standard: processes that can share memory.
const SHARED_MEMORY: &str = "mpi_shared_memory";
const PROVIDER: &str = "towpath://";
/// Stands for a process that is not restricted to one instance.
const NOWHERE: u64 = u64::MAX;
/// Stands for a process that takes no part.
const WATCHES: u64 = u64::MAX - 1;

/// Where processes can be restricted to, the coarsest first.
const PLACES: usize = 1 + RESOURCES.len();

fn type_name(place: usize) -> String {
    match place {
        0 => SHARED_MEMORY.to_owned(),
        _ => format!("{PROVIDER}{}", RESOURCES[place - 1].name()),
    }
}

/// The instance of each place that this process is restricted to, named by its lowest processor.
fn instances() -> [Option<usize>; PLACES] {
    let mask = cores::affinity();
    std::array::from_fn(|place| if place == 0 { Some(0) } else { RESOURCES[place - 1].instance_of(&mask) })
}

/// The same as colors that mean the same instance everywhere in the job.
fn colors() -> Result<[Option<i32>; PLACES]> {
    let host = world::host_of_mine()? as usize;
    let color = |instance: usize| i32::try_from(host * 64 * cores::MASK_WORDS + instance).ok();
    Ok(instances().map(|instance| instance.and_then(color)))
}

/// The color for a type that the program names; MPI_UNDEFINED where it is not known or holds not all of this process.
pub(crate) fn guided(hints: &Pairs) -> Result<i32> {
    let Some(wanted) = hints.get(TYPE_KEY) else { return Ok(UNDEFINED) };
    let known = |place: &usize| {
        let name = type_name(*place);
        name == wanted || name.strip_prefix(PROVIDER) == Some(wanted)
    };
    let Some(place) = (0..PLACES).find(known) else { return Ok(UNDEFINED) };
    Ok(colors()?[place].unwrap_or(UNDEFINED))
}

/// The color by the coarsest type that all processes which take part are restricted to and that parts them, whose name goes
/// into `info`; MPI_UNDEFINED where no type parts them. Collective, also for processes that only `watch`, because their
/// MPI_UNDEFINED does not say what the others ask for.
pub(crate) fn unguided(comm: &Comm, info: Handle, watch: bool) -> Result<i32> {
    let (team, sequence) = internal::team_of(comm);
    let mine = colors()?;
    let words = if watch { [WATCHES; PLACES] } else { mine.map(|color| color.map_or(NOWHERE, |color| color as u64)) };
    let all = internal::gather_everywhere(&team, sequence, &words)?;
    if watch {
        return Ok(UNDEFINED);
    }
    let parts = |place: &usize| {
        let found: Vec<u64> =
            all.iter().skip(*place).step_by(PLACES).copied().filter(|&word| word != WATCHES).collect();
        !found.contains(&NOWHERE) && found.iter().any(|&color| color != found[0])
    };
    let Some(place) = (0..PLACES).find(parts) else { return Ok(UNDEFINED) };
    if info != INFO_NULL {
        info::put(info, TYPE_KEY, &type_name(place))?;
    }
    Ok(mine[place].unwrap_or(UNDEFINED))
}

/// All types, and whether this process is restricted to one instance of each.
pub(crate) fn resources() -> Pairs {
    let mut pairs = Pairs::default();
    for (place, instance) in instances().iter().enumerate() {
        pairs.set(&type_name(place), if instance.is_some() { "true" } else { "false" });
    }
    pairs
}
