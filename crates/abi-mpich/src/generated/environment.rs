//! Environment, start and end (MPI 5.0, chapters 9 and 11).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::useless_conversion)]

use crate::prelude::*;

export! {
    PMPI_Abi_get_info, MPI_Abi_get_info(info: *mut MPI_Info) {
        call_any_time(1, || Target::None, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(info, "info")?;
                let v_info = towpath_mpi::environment::abi_get_info()?;
                *info = info_out(v_info);
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Abort, MPI_Abort(comm: MPI_Comm, errorcode: c_int) {
        call(3, || Target::Comm(comm_in(comm)), || {
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
        call(4, || Target::None, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(baseptr, "baseptr")?;
                let v_baseptr = towpath_mpi::environment::alloc_mem(i64::from(size), info_in(info))?;
                baseptr.cast::<*mut c_void>().write(buffer_out(v_baseptr));
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Finalize, MPI_Finalize() {
        call(5, || Target::None, || {
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
        call_any_time(6, || Target::None, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(flag, "flag")?;
                let v_flag = towpath_mpi::environment::finalized()?;
                *flag = c_int::from(v_flag);
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Free_mem, MPI_Free_mem(base: *mut c_void) {
        call(7, || Target::None, || {
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
        call_any_time(8, || Target::None, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(hw_info, "hw_info")?;
                let v_hw_info = towpath_mpi::environment::get_hw_resource_info()?;
                *hw_info = info_out(v_hw_info);
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Get_library_version, MPI_Get_library_version(version: *mut c_char, resultlen: *mut c_int) {
        call_any_time(9, || Target::None, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(version, "version")?;
                require(resultlen, "resultlen")?;
                let v_version = towpath_mpi::environment::get_library_version()?;
                *resultlen = put_string(version, limits::MAX_LIBRARY_VERSION_STRING, &v_version);
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Get_processor_name, MPI_Get_processor_name(name: *mut c_char, resultlen: *mut c_int) {
        call(10, || Target::None, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(name, "name")?;
                require(resultlen, "resultlen")?;
                let v_name = towpath_mpi::environment::get_processor_name()?;
                *resultlen = put_string(name, limits::MAX_PROCESSOR_NAME, &v_name);
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Get_version, MPI_Get_version(version: *mut c_int, subversion: *mut c_int) {
        call_any_time(11, || Target::None, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(version, "version")?;
                require(subversion, "subversion")?;
                let (v_version, v_subversion) = towpath_mpi::environment::get_version()?;
                *version = v_version;
                *subversion = v_subversion;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Init, MPI_Init(argc: *mut c_int, argv: *mut *mut *mut c_char) {
        call_any_time(12, || Target::None, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::environment::init(argc, argv)?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Init_thread, MPI_Init_thread(argc: *mut c_int, argv: *mut *mut *mut c_char, required: c_int, provided: *mut c_int) {
        call_any_time(13, || Target::None, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(provided, "provided")?;
                let v_provided = towpath_mpi::environment::init_thread(argc, argv, thread_level_in(required))?;
                *provided = thread_level_out(v_provided);
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Initialized, MPI_Initialized(flag: *mut c_int) {
        call_any_time(14, || Target::None, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(flag, "flag")?;
                let v_flag = towpath_mpi::environment::initialized()?;
                *flag = c_int::from(v_flag);
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Is_thread_main, MPI_Is_thread_main(flag: *mut c_int) {
        call(15, || Target::None, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(flag, "flag")?;
                let v_flag = towpath_mpi::environment::is_thread_main()?;
                *flag = c_int::from(v_flag);
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Query_thread, MPI_Query_thread(provided: *mut c_int) {
        call(17, || Target::None, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(provided, "provided")?;
                let v_provided = towpath_mpi::environment::query_thread()?;
                *provided = thread_level_out(v_provided);
                Ok(())
            }
        })
    }
}
