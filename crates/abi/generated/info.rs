//! Info objects (chapter 10).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::useless_conversion)]

use crate::prelude::*;

export! {
    PMPI_Info_create, MPI_Info_create(info: *mut MPI_Info) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(311, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(info, "info")?;
                let outcome = towpath_mpi::info::info_create();
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
    PMPI_Info_create_env, MPI_Info_create_env(
        argc: c_int,
        argv: *const *const c_char,
        info: *mut MPI_Info,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(312, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(info, "info")?;
                let outcome = towpath_mpi::info::info_create_env(argc, argv);
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
    PMPI_Info_delete, MPI_Info_delete(info: MPI_Info, key: *const c_char) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(313, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::info::info_delete(info_in(info), StringArgument::new(key))?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Info_dup, MPI_Info_dup(info: MPI_Info, newinfo: *mut MPI_Info) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(314, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newinfo, "newinfo")?;
                let outcome = towpath_mpi::info::info_dup(info_in(info));
                deliver(
                    outcome,
                    |v_newinfo| {
                        *newinfo = info_out(v_newinfo);
                    },
                    || {
                        *newinfo = info_out(towpath_mpi::constants::INFO_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Info_free, MPI_Info_free(info: *mut MPI_Info) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(315, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(info, "info")?;
                let mut v_info = info_in(*info);
                let outcome = towpath_mpi::info::info_free(&mut v_info);
                *info = info_out(v_info);
                outcome?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Info_get, MPI_Info_get(
        info: MPI_Info,
        key: *const c_char,
        valuelen: c_int,
        value: *mut c_char,
        flag: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(316, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(value, "value")?;
                require(flag, "flag")?;
                let outcome = towpath_mpi::info::info_get(info_in(info), StringArgument::new(key));
                deliver(
                    outcome,
                    |(v_value, v_flag)| {
                        if v_flag {
                            put_string(value, room(valuelen), &v_value);
                        }
                        *flag = c_int::from(v_flag);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Info_get_nkeys, MPI_Info_get_nkeys(info: MPI_Info, nkeys: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(317, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(nkeys, "nkeys")?;
                let outcome = towpath_mpi::info::info_get_nkeys(info_in(info));
                deliver(
                    outcome,
                    |v_nkeys| {
                        *nkeys = v_nkeys;
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Info_get_nthkey, MPI_Info_get_nthkey(info: MPI_Info, n: c_int, key: *mut c_char) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(318, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(key, "key")?;
                let outcome = towpath_mpi::info::info_get_nthkey(info_in(info), n);
                deliver(
                    outcome,
                    |v_key| {
                        put_string(key, limits::MAX_INFO_KEY, &v_key);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Info_get_string, MPI_Info_get_string(
        info: MPI_Info,
        key: *const c_char,
        buflen: *mut c_int,
        value: *mut c_char,
        flag: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(319, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(buflen, "buflen")?;
                require(value, "value")?;
                require(flag, "flag")?;
                let outcome =
                    towpath_mpi::info::info_get_string(info_in(info), StringArgument::new(key));
                deliver(
                    outcome,
                    |(v_value, v_flag)| {
                        if v_flag {
                            put_string_with_length(value, buflen, &v_value);
                        }
                        *flag = c_int::from(v_flag);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Info_get_valuelen, MPI_Info_get_valuelen(
        info: MPI_Info,
        key: *const c_char,
        valuelen: *mut c_int,
        flag: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(320, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(valuelen, "valuelen")?;
                require(flag, "flag")?;
                let outcome =
                    towpath_mpi::info::info_get_valuelen(info_in(info), StringArgument::new(key));
                deliver(
                    outcome,
                    |(v_valuelen, v_flag)| {
                        *valuelen = v_valuelen;
                        *flag = c_int::from(v_flag);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Info_set, MPI_Info_set(info: MPI_Info, key: *const c_char, value: *const c_char) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(321, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::info::info_set(
                    info_in(info),
                    StringArgument::new(key),
                    StringArgument::new(value),
                )?;
                Ok(())
            }
        })
    }
}
