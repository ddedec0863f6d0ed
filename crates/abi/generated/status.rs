//! Statuses (3.2.5, 13.3).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::useless_conversion)]

use crate::prelude::*;

export! {
    PMPI_Get_count, MPI_Get_count(
        status: *const MPI_Status,
        datatype: MPI_Datatype,
        count: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(75, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(count, "count")?;
                let outcome =
                    towpath_mpi::status::get_count(status_in(status)?, datatype_in(datatype));
                deliver(
                    outcome,
                    |v_count| {
                        *count = count_to_int(v_count);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Get_count_c, MPI_Get_count_c(
        status: *const MPI_Status,
        datatype: MPI_Datatype,
        count: *mut i64,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(75, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(count, "count")?;
                let outcome =
                    towpath_mpi::status::get_count(status_in(status)?, datatype_in(datatype));
                deliver(
                    outcome,
                    |v_count| {
                        *count = v_count;
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Get_elements, MPI_Get_elements(
        status: *const MPI_Status,
        datatype: MPI_Datatype,
        count: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(76, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(count, "count")?;
                let outcome =
                    towpath_mpi::status::get_elements(status_in(status)?, datatype_in(datatype));
                deliver(
                    outcome,
                    |v_count| {
                        *count = count_to_int(v_count);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Get_elements_c, MPI_Get_elements_c(
        status: *const MPI_Status,
        datatype: MPI_Datatype,
        count: *mut i64,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(76, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(count, "count")?;
                let outcome =
                    towpath_mpi::status::get_elements(status_in(status)?, datatype_in(datatype));
                deliver(
                    outcome,
                    |v_count| {
                        *count = v_count;
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Status_get_error, MPI_Status_get_error(status: *const MPI_Status, error: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(77, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(error, "error")?;
                let outcome = towpath_mpi::status::status_get_error(status_in(status)?);
                deliver(
                    outcome,
                    |v_error| {
                        *error = error_code_out(v_error);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Status_get_source, MPI_Status_get_source(
        status: *const MPI_Status,
        source: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(78, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(source, "source")?;
                let outcome = towpath_mpi::status::status_get_source(status_in(status)?);
                deliver(
                    outcome,
                    |v_source| {
                        *source = rank_out(v_source);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Status_get_tag, MPI_Status_get_tag(status: *const MPI_Status, tag: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(79, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(tag, "tag")?;
                let outcome = towpath_mpi::status::status_get_tag(status_in(status)?);
                deliver(
                    outcome,
                    |v_tag| {
                        *tag = tag_out(v_tag);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Status_set_cancelled, MPI_Status_set_cancelled(status: *mut MPI_Status, flag: c_int) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(80, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                let mut v_status = status_in(status)?;
                let outcome = towpath_mpi::status::status_set_cancelled(&mut v_status, flag != 0);
                status_put_whole(status, &v_status);
                outcome?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Status_set_elements, MPI_Status_set_elements(
        status: *mut MPI_Status,
        datatype: MPI_Datatype,
        count: c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(81, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                let mut v_status = status_in(status)?;
                let outcome = towpath_mpi::status::status_set_elements(
                    &mut v_status,
                    datatype_in(datatype),
                    i64::from(count),
                );
                status_put_whole(status, &v_status);
                outcome?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Status_set_elements_c, MPI_Status_set_elements_c(
        status: *mut MPI_Status,
        datatype: MPI_Datatype,
        count: i64,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(81, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                let mut v_status = status_in(status)?;
                let outcome = towpath_mpi::status::status_set_elements(
                    &mut v_status,
                    datatype_in(datatype),
                    i64::from(count),
                );
                status_put_whole(status, &v_status);
                outcome?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Status_set_error, MPI_Status_set_error(status: *mut MPI_Status, error: c_int) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(82, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                let mut v_status = status_in(status)?;
                let outcome =
                    towpath_mpi::status::status_set_error(&mut v_status, error_code_in(error));
                status_put_whole(status, &v_status);
                outcome?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Status_set_source, MPI_Status_set_source(status: *mut MPI_Status, source: c_int) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(83, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                let mut v_status = status_in(status)?;
                let outcome =
                    towpath_mpi::status::status_set_source(&mut v_status, rank_in(source));
                status_put_whole(status, &v_status);
                outcome?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Status_set_tag, MPI_Status_set_tag(status: *mut MPI_Status, tag: c_int) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(84, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                let mut v_status = status_in(status)?;
                let outcome = towpath_mpi::status::status_set_tag(&mut v_status, tag_in(tag));
                status_put_whole(status, &v_status);
                outcome?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Test_cancelled, MPI_Test_cancelled(status: *const MPI_Status, flag: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call(85, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(flag, "flag")?;
                let outcome = towpath_mpi::status::test_cancelled(status_in(status)?);
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
    PMPI_Get_elements_x, MPI_Get_elements_x(
        status: *const MPI_Status,
        datatype: MPI_Datatype,
        count: *mut i64,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(86, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(count, "count")?;
                let outcome =
                    towpath_mpi::status::get_elements(status_in(status)?, datatype_in(datatype));
                deliver(
                    outcome,
                    |v_count| {
                        *count = v_count;
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Status_set_elements_x, MPI_Status_set_elements_x(
        status: *mut MPI_Status,
        datatype: MPI_Datatype,
        count: i64,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(87, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                let mut v_status = status_in(status)?;
                let outcome = towpath_mpi::status::status_set_elements(
                    &mut v_status,
                    datatype_in(datatype),
                    i64::from(count),
                );
                status_put_whole(status, &v_status);
                outcome?;
                Ok(())
            }
        })
    }
}
