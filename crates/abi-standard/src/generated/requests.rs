//! Completion, persistent and generalized requests (3.7, 3.9, 13.2).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::unit_arg, clippy::let_unit_value)]

use crate::prelude::*;

export! {
    PMPI_Cancel, MPI_Cancel(request: *mut MPI_Request) {
        call(57, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Grequest_complete, MPI_Grequest_complete(request: MPI_Request) {
        call(58, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Grequest_start, MPI_Grequest_start(query_fn: *const c_void, free_fn: *const c_void, cancel_fn: *const c_void, extra_state: *mut c_void, request: *mut MPI_Request) {
        call(59, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Request_free, MPI_Request_free(request: *mut MPI_Request) {
        call(60, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Request_get_status, MPI_Request_get_status(request: MPI_Request, flag: *mut c_int, status: *mut MPI_Status) {
        call(61, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Request_get_status_all, MPI_Request_get_status_all(count: c_int, array_of_requests: *const MPI_Request, flag: *mut c_int, array_of_statuses: *mut MPI_Status) {
        call(62, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Request_get_status_any, MPI_Request_get_status_any(count: c_int, array_of_requests: *const MPI_Request, indx: *mut c_int, flag: *mut c_int, status: *mut MPI_Status) {
        call(63, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Request_get_status_some, MPI_Request_get_status_some(incount: c_int, array_of_requests: *const MPI_Request, outcount: *mut c_int, array_of_indices: *mut c_int, array_of_statuses: *mut MPI_Status) {
        call(64, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Start, MPI_Start(request: *mut MPI_Request) {
        call(65, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Startall, MPI_Startall(count: c_int, array_of_requests: *mut MPI_Request) {
        call(66, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Test, MPI_Test(request: *mut MPI_Request, flag: *mut c_int, status: *mut MPI_Status) {
        call(67, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Testall, MPI_Testall(count: c_int, array_of_requests: *mut MPI_Request, flag: *mut c_int, array_of_statuses: *mut MPI_Status) {
        call(68, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Testany, MPI_Testany(count: c_int, array_of_requests: *mut MPI_Request, indx: *mut c_int, flag: *mut c_int, status: *mut MPI_Status) {
        call(69, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Testsome, MPI_Testsome(incount: c_int, array_of_requests: *mut MPI_Request, outcount: *mut c_int, array_of_indices: *mut c_int, array_of_statuses: *mut MPI_Status) {
        call(70, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Wait, MPI_Wait(request: *mut MPI_Request, status: *mut MPI_Status) {
        call(71, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Waitall, MPI_Waitall(count: c_int, array_of_requests: *mut MPI_Request, array_of_statuses: *mut MPI_Status) {
        call(72, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Waitany, MPI_Waitany(count: c_int, array_of_requests: *mut MPI_Request, indx: *mut c_int, status: *mut MPI_Status) {
        call(73, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Waitsome, MPI_Waitsome(incount: c_int, array_of_requests: *mut MPI_Request, outcount: *mut c_int, array_of_indices: *mut c_int, array_of_statuses: *mut MPI_Status) {
        call(74, Target::None, || Err(not_built()))
    }
}
