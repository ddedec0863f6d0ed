//! Bindings of the MPICH ABI: `libmpi.so.12` (also the ABI of Intel MPI and MVAPICH).
//!
//! All constants and predefined handles of this ABI are converted here and nowhere else; created
//! handles are Towpath's handle numbers. Sources shared by both ABIs are in `crates/abi`, which is
//! not a crate. Generated files are in `generated/` (see `api/` and `xtask codegen`).

// Not every conversion and helper is used yet: some functions have no body.
#![allow(dead_code, unused_imports)]
// The names are those of the standard.
#![allow(non_snake_case, non_camel_case_types, non_upper_case_globals)]
// The exported functions are used from C only.
#![allow(unreachable_pub)]

#[path = "../../abi/callbacks.rs"]
mod callbacks;
mod constants;
mod data;
mod fortran;
mod generated;
mod handles;
mod mpich_fortran;
#[path = "../../abi/plain.rs"]
mod plain;
#[path = "../../abi/prelude.rs"]
mod prelude;
mod special;
#[path = "../../abi/status.rs"]
mod status;
mod status_layout;
#[path = "../../abi/table.rs"]
mod table;

use towpath_mpi::AbiTable;

/// The function table of this ABI.
pub(crate) static ABI: AbiTable = table::table("mpich", Some(mpich_fortran::CALLS));
