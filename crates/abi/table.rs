//! The function table through which `towpath-mpi` reads and writes arrays of this ABI and calls the
//! program's callbacks.

use towpath_mpi::AbiTable;
use towpath_mpi::abi::FortranCalls;

use crate::{callbacks, handles, status};

/// The table of the ABI with this name.
pub(crate) const fn table(name: &'static str, fortran: Option<FortranCalls>) -> AbiTable {
    AbiTable {
        name,
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
        fortran,
    }
}
