//! The face of the standard ABI (MPI 5.0, chapter 20): `libmpi_abi.so.1`.
//!
//! Numbers pass through unchanged, because Towpath's own are those of this ABI; handles are numbers
//! as pointers. What is generated lies in `generated/` (see `api/` and `xtask codegen`); what is
//! written by hand is here.

// Conversions and helpers whose functions have no body yet.
#![allow(dead_code, unused_imports)]
// The names are those of the standard.
#![allow(non_snake_case, non_camel_case_types, non_upper_case_globals)]
// C sees more of a face than Rust does.
#![allow(unreachable_pub)]

mod callbacks;
mod constants;
mod generated;
mod handles;
mod prelude;
mod special;
mod status;

use towpath_mpi::Face;

/// The table of this face.
pub(crate) static FACE: Face = Face {
    name: "standard",
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
    fortran: None,
};
