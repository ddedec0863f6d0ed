//! Environment, start and end (MPI 5.0, chapters 9 and 11).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::useless_conversion)]

use crate::prelude::*;

export! {
    PMPI_Abi_get_info, MPI_Abi_get_info(info: *mut MPI_Info) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(1, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(info, "info")?;
                let outcome = towpath_mpi::environment::abi_get_info();
                deliver(
                    outcome,
                    |v_info| {
                        *info = info_out(v_info);
                    },
                    || {
                        *info = info_out(towpath_mpi::constants::INFO_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Abort, MPI_Abort(comm: MPI_Comm, errorcode: c_int) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(3, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::environment::abort(comm_in(comm), errorcode)?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Alloc_mem, MPI_Alloc_mem(size: i64, info: MPI_Info, baseptr: *mut c_void) {
        let owner = || ErrhandlerOwner::None;
        call(4, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(baseptr, "baseptr")?;
                let outcome = towpath_mpi::environment::alloc_mem(i64::from(size), info_in(info));
                deliver(
                    outcome,
                    |v_baseptr| {
                        baseptr.cast::<*mut c_void>().write(buffer_out(v_baseptr));
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Finalize, MPI_Finalize() {
        let owner = || ErrhandlerOwner::None;
        call(5, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::environment::finalize()?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Finalized, MPI_Finalized(flag: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(6, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(flag, "flag")?;
                let outcome = towpath_mpi::environment::finalized();
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
    PMPI_Free_mem, MPI_Free_mem(base: *mut c_void) {
        let owner = || ErrhandlerOwner::None;
        call(7, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::environment::free_mem(buffer_in(base).cast_mut())?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Get_hw_resource_info, MPI_Get_hw_resource_info(hw_info: *mut MPI_Info) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(8, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(hw_info, "hw_info")?;
                let outcome = towpath_mpi::environment::get_hw_resource_info();
                deliver(
                    outcome,
                    |v_hw_info| {
                        *hw_info = info_out(v_hw_info);
                    },
                    || {
                        *hw_info = info_out(towpath_mpi::constants::INFO_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Get_library_version, MPI_Get_library_version(
        version: *mut c_char,
        resultlen: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(9, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(version, "version")?;
                require(resultlen, "resultlen")?;
                let outcome = towpath_mpi::environment::get_library_version();
                deliver(
                    outcome,
                    |v_version| {
                        *resultlen =
                            put_string(version, limits::MAX_LIBRARY_VERSION_STRING, &v_version);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Get_processor_name, MPI_Get_processor_name(name: *mut c_char, resultlen: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call(10, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(name, "name")?;
                require(resultlen, "resultlen")?;
                let outcome = towpath_mpi::environment::get_processor_name();
                deliver(
                    outcome,
                    |v_name| {
                        *resultlen = put_string(name, limits::MAX_PROCESSOR_NAME, &v_name);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Get_version, MPI_Get_version(version: *mut c_int, subversion: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(11, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(version, "version")?;
                require(subversion, "subversion")?;
                let outcome = towpath_mpi::environment::get_version();
                deliver(
                    outcome,
                    |(v_version, v_subversion)| {
                        *version = v_version;
                        *subversion = v_subversion;
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Init, MPI_Init(argc: *mut c_int, argv: *mut *mut *mut c_char) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(12, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::environment::init(argc, argv)?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Init_thread, MPI_Init_thread(
        argc: *mut c_int,
        argv: *mut *mut *mut c_char,
        required: c_int,
        provided: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(13, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(provided, "provided")?;
                let outcome =
                    towpath_mpi::environment::init_thread(argc, argv, thread_level_in(required));
                deliver(
                    outcome,
                    |v_provided| {
                        *provided = thread_level_out(v_provided);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Initialized, MPI_Initialized(flag: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(14, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(flag, "flag")?;
                let outcome = towpath_mpi::environment::initialized();
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
    PMPI_Is_thread_main, MPI_Is_thread_main(flag: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call(15, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(flag, "flag")?;
                let outcome = towpath_mpi::environment::is_thread_main();
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
    PMPI_Query_thread, MPI_Query_thread(provided: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call(17, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(provided, "provided")?;
                let outcome = towpath_mpi::environment::query_thread();
                deliver(
                    outcome,
                    |v_provided| {
                        *provided = thread_level_out(v_provided);
                    },
                    || {},
                )
            }
        })
    }
}
