//! Completion, persistent and generalized requests (3.7, 3.9, 13.2).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::useless_conversion)]

use crate::prelude::*;

export! {
    PMPI_Cancel, MPI_Cancel(request: *mut MPI_Request) {
        let owner = || ErrhandlerOwner::None;
        call(57, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let mut v_request = request_in(*request);
                let outcome = towpath_mpi::requests::cancel(&mut v_request);
                *request = request_out(v_request);
                outcome?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Grequest_complete, MPI_Grequest_complete(request: MPI_Request) {
        let owner = || ErrhandlerOwner::None;
        call(58, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::requests::grequest_complete(request_in(request))?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Grequest_start, MPI_Grequest_start(
        query_fn: *const c_void,
        free_fn: *const c_void,
        cancel_fn: *const c_void,
        extra_state: *mut c_void,
        request: *mut MPI_Request,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(59, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let outcome = towpath_mpi::requests::grequest_start(
                    callback_in(query_fn),
                    callback_in(free_fn),
                    callback_in(cancel_fn),
                    extra_state,
                );
                deliver(
                    outcome,
                    |v_request| {
                        *request = request_out(v_request);
                    },
                    || {
                        *request = request_out(towpath_mpi::constants::REQUEST_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Request_free, MPI_Request_free(request: *mut MPI_Request) {
        let owner = || ErrhandlerOwner::None;
        call(60, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let mut v_request = request_in(*request);
                let outcome = towpath_mpi::requests::request_free(&mut v_request);
                *request = request_out(v_request);
                outcome?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Request_get_status, MPI_Request_get_status(
        request: MPI_Request,
        flag: *mut c_int,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(61, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(flag, "flag")?;
                let outcome = towpath_mpi::requests::request_get_status(request_in(request));
                deliver(
                    outcome,
                    |(v_flag, v_status)| {
                        *flag = c_int::from(v_flag);
                        if v_flag {
                            status_put(status, &v_status);
                        }
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Request_get_status_all, MPI_Request_get_status_all(
        count: c_int,
        array_of_requests: *const MPI_Request,
        flag: *mut c_int,
        array_of_statuses: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(62, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(flag, "flag")?;
                let outcome = towpath_mpi::requests::request_get_status_all(
                    count,
                    HandleArray::new(array_of_requests.cast(), &ABI, Kind::Request)
                        .with_length(i64::from(count)),
                    statuses(array_of_statuses).with_length(i64::from(count)),
                );
                deliver(
                    outcome,
                    |v_flag| {
                        *flag = c_int::from(v_flag);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Request_get_status_any, MPI_Request_get_status_any(
        count: c_int,
        array_of_requests: *const MPI_Request,
        indx: *mut c_int,
        flag: *mut c_int,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(63, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(indx, "indx")?;
                require(flag, "flag")?;
                let outcome = towpath_mpi::requests::request_get_status_any(
                    count,
                    HandleArray::new(array_of_requests.cast(), &ABI, Kind::Request)
                        .with_length(i64::from(count)),
                );
                deliver(
                    outcome,
                    |(v_indx, v_flag, v_status)| {
                        *indx = v_indx;
                        *flag = c_int::from(v_flag);
                        if v_flag {
                            status_put(status, &v_status);
                        }
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Request_get_status_some, MPI_Request_get_status_some(
        incount: c_int,
        array_of_requests: *const MPI_Request,
        outcount: *mut c_int,
        array_of_indices: *mut c_int,
        array_of_statuses: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(64, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(outcount, "outcount")?;
                let outcome = towpath_mpi::requests::request_get_status_some(
                    incount,
                    HandleArray::new(array_of_requests.cast(), &ABI, Kind::Request)
                        .with_length(i64::from(incount)),
                    IntegersMut::small(array_of_indices).with_length(i64::from(incount)),
                    statuses(array_of_statuses).with_length(i64::from(incount)),
                );
                deliver(
                    outcome,
                    |v_outcount| {
                        *outcount = v_outcount;
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Start, MPI_Start(request: *mut MPI_Request) {
        let owner = || ErrhandlerOwner::None;
        call(65, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let mut v_request = request_in(*request);
                let outcome = towpath_mpi::requests::start(&mut v_request);
                *request = request_out(v_request);
                outcome?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Startall, MPI_Startall(count: c_int, array_of_requests: *mut MPI_Request) {
        let owner = || ErrhandlerOwner::None;
        call(66, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::requests::startall(
                    count,
                    HandleArray::new(array_of_requests.cast(), &ABI, Kind::Request)
                        .with_length(i64::from(count)),
                )?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Test, MPI_Test(request: *mut MPI_Request, flag: *mut c_int, status: *mut MPI_Status) {
        let owner = || ErrhandlerOwner::None;
        call(67, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let mut v_request = request_in(*request);
                require(flag, "flag")?;
                let outcome = towpath_mpi::requests::test(&mut v_request);
                *request = request_out(v_request);
                deliver(
                    outcome,
                    |(v_flag, v_status)| {
                        *flag = c_int::from(v_flag);
                        if v_flag {
                            status_put(status, &v_status);
                        }
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Testall, MPI_Testall(
        count: c_int,
        array_of_requests: *mut MPI_Request,
        flag: *mut c_int,
        array_of_statuses: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(68, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(flag, "flag")?;
                let outcome = towpath_mpi::requests::testall(
                    count,
                    HandleArray::new(array_of_requests.cast(), &ABI, Kind::Request)
                        .with_length(i64::from(count)),
                    statuses(array_of_statuses).with_length(i64::from(count)),
                );
                deliver(
                    outcome,
                    |v_flag| {
                        *flag = c_int::from(v_flag);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Testany, MPI_Testany(
        count: c_int,
        array_of_requests: *mut MPI_Request,
        indx: *mut c_int,
        flag: *mut c_int,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(69, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(indx, "indx")?;
                require(flag, "flag")?;
                let outcome = towpath_mpi::requests::testany(
                    count,
                    HandleArray::new(array_of_requests.cast(), &ABI, Kind::Request)
                        .with_length(i64::from(count)),
                );
                deliver(
                    outcome,
                    |(v_indx, v_flag, v_status)| {
                        *indx = v_indx;
                        *flag = c_int::from(v_flag);
                        if v_flag {
                            status_put(status, &v_status);
                        }
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Testsome, MPI_Testsome(
        incount: c_int,
        array_of_requests: *mut MPI_Request,
        outcount: *mut c_int,
        array_of_indices: *mut c_int,
        array_of_statuses: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(70, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(outcount, "outcount")?;
                let outcome = towpath_mpi::requests::testsome(
                    incount,
                    HandleArray::new(array_of_requests.cast(), &ABI, Kind::Request)
                        .with_length(i64::from(incount)),
                    IntegersMut::small(array_of_indices).with_length(i64::from(incount)),
                    statuses(array_of_statuses).with_length(i64::from(incount)),
                );
                deliver(
                    outcome,
                    |v_outcount| {
                        *outcount = v_outcount;
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Wait, MPI_Wait(request: *mut MPI_Request, status: *mut MPI_Status) {
        let owner = || ErrhandlerOwner::None;
        call(71, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(request, "request")?;
                let mut v_request = request_in(*request);
                let outcome = towpath_mpi::requests::wait(&mut v_request);
                *request = request_out(v_request);
                deliver(
                    outcome,
                    |v_status| {
                        status_put(status, &v_status);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Waitall, MPI_Waitall(
        count: c_int,
        array_of_requests: *mut MPI_Request,
        array_of_statuses: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(72, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::requests::waitall(
                    count,
                    HandleArray::new(array_of_requests.cast(), &ABI, Kind::Request)
                        .with_length(i64::from(count)),
                    statuses(array_of_statuses).with_length(i64::from(count)),
                )?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Waitany, MPI_Waitany(
        count: c_int,
        array_of_requests: *mut MPI_Request,
        indx: *mut c_int,
        status: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(73, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(indx, "indx")?;
                let outcome = towpath_mpi::requests::waitany(
                    count,
                    HandleArray::new(array_of_requests.cast(), &ABI, Kind::Request)
                        .with_length(i64::from(count)),
                );
                deliver(
                    outcome,
                    |(v_indx, v_status)| {
                        *indx = v_indx;
                        status_put(status, &v_status);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Waitsome, MPI_Waitsome(
        incount: c_int,
        array_of_requests: *mut MPI_Request,
        outcount: *mut c_int,
        array_of_indices: *mut c_int,
        array_of_statuses: *mut MPI_Status,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(74, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(outcount, "outcount")?;
                let outcome = towpath_mpi::requests::waitsome(
                    incount,
                    HandleArray::new(array_of_requests.cast(), &ABI, Kind::Request)
                        .with_length(i64::from(incount)),
                    IntegersMut::small(array_of_indices).with_length(i64::from(incount)),
                    statuses(array_of_statuses).with_length(i64::from(incount)),
                );
                deliver(
                    outcome,
                    |v_outcount| {
                        *outcount = v_outcount;
                    },
                    || {},
                )
            }
        })
    }
}
