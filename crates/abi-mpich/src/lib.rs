//! The face of the MPICH ABI: `libmpi.so.12` (also Intel MPI's and MVAPICH's).
//!
//! Every number and predefined handle of this ABI is translated here and nowhere else; created
//! handles are the core's numbers. What is generated lies in `generated/` (see `api/` and `xtask
//! codegen`); what is written by hand is here.

// Conversions and helpers whose functions have no body yet.
#![allow(dead_code, unused_imports)]
// The names are those of the standard.
#![allow(non_snake_case, non_camel_case_types, non_upper_case_globals)]
// C sees more of a face than Rust does.
#![allow(unreachable_pub)]

mod callbacks;
mod constants;
mod data;
mod fortran;
mod generated;
mod handles;
mod mpich_fortran;
mod prelude;
mod special;
mod status;

use towpath_mpi::Face;

/// The table of this face.
pub(crate) static FACE: Face = Face {
    name: "mpich",
    read_handle: handles::read,
    write_handle: handles::write,
    read_status: status::read,
    write_status: status::write,
    call_reduction: callbacks::reduction,
    call_errhandler: callbacks::errhandler,
    call_copy: callbacks::copy,
    call_delete: callbacks::delete,
    call_grequest_query: callbacks::query,
    call_grequest_free: callbacks::free,
    call_grequest_cancel: callbacks::cancel,
    fortran: Some(mpich_fortran::CALLS),
};
