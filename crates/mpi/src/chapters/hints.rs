//! The hints of communicators (MPI 5.0, section 7.4.4): which are recognized, and which of them are
//! in effect.
//!
//! Keys and values that are not recognized are ignored, as the standard requires (chapter 10), and
//! MPI_Comm_get_info does not show them. Nobody inherits hints, not even the communicator of
//! MPI_Comm_dup (since MPI 4.0).

use towpath_collective::Selection;
use towpath_device::memory_kinds;
use towpath_neutral::abi::Handle;
use towpath_neutral::constants::COMM_NULL;
use towpath_neutral::error::Result;
use towpath_neutral::info::Pairs;

use super::info;
use crate::objects::comm::Comm;
use crate::objects::registry;
use crate::process;

/// The assertion that all members start their persistent collectives in the same order.
const ORDERED_STARTS: &str = "mpi_assert_strict_persistent_collective_ordering";

/// Assertions that are true or false, which is the default.
const ASSERTIONS: [&str; 5] = [
    "mpi_assert_no_any_tag",
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
    ORDERED_STARTS,
];

/// The hint that only memory of these kinds is passed.
const ASSERTED_KINDS: &str = "mpi_assert_memory_alloc_kinds";

/// The hint that selects the algorithms of collectives, as TOWPATH_COLLECTIVE does and before it.
/// All members must give the same.
const COLLECTIVE: &str = "towpath_collective";

/// The hint that describes the links between hosts: the tables of a topology file, as its text. All
/// members must give the same.
const TOPOLOGY: &str = "towpath_topology";

/// Puts those hints into effect that are recognized.
pub(super) fn accept(comm: &Comm, given: &Pairs) -> Result<()> {
    for (key, value) in given.iter() {
        let is_accepted = match key {
            ASSERTED_KINDS => memory_kinds::are_supported(value),
            COLLECTIVE => selects(comm, value)?,
            TOPOLOGY => {
                let network = process::jobs().and_then(|jobs| jobs.described(value));
                network.is_some_and(|network| comm.describe(network))
            }
            // Operations that share a board go on to do so.
            ORDERED_STARTS if orders_starts(comm) => value == "true",
            _ => ASSERTIONS.contains(&key) && ["true", "false"].contains(&value),
        };
        if is_accepted {
            comm.settings().info.set(key, value);
        }
    }
    Ok(())
}

/// A communicator that has just been made, with the hints that its maker was given.
pub(super) fn given_to(comm: Handle, given: &Pairs) -> Result<Handle> {
    if comm != COMM_NULL {
        accept(&*registry::comm(comm)?, given)?;
    }
    Ok(comm)
}

/// Selects the algorithms that a hint names. False if it names an unknown one, or comes too late.
fn selects(comm: &Comm, value: &str) -> Result<bool> {
    match Selection::parse(COLLECTIVE, value) {
        Ok(selection) => Ok(comm.select(selection.before(process::selection()?))),
        Err(_) => Ok(false),
    }
}

/// True if all members start their persistent collectives in the same order.
pub(super) fn orders_starts(comm: &Comm) -> bool {
    comm.settings().info.get(ORDERED_STARTS) == Some("true")
}

/// The hints in effect: defaults, what the program has set, and the memory allocation kinds that
/// are supported.
pub(super) fn in_effect(comm: &Comm) -> Pairs {
    let mut hints = Pairs::default();
    ASSERTIONS.iter().for_each(|key| hints.set(key, "false"));
    for (key, value) in comm.settings().info.iter() {
        hints.set(key, value);
    }
    hints.set(info::MEMORY_KINDS, memory_kinds::supported());
    hints
}
