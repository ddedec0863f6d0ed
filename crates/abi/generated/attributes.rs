//! Attributes (7.7).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::useless_conversion)]

use crate::prelude::*;

export! {
    PMPI_Comm_create_keyval, MPI_Comm_create_keyval(
        comm_copy_attr_fn: *const c_void,
        comm_delete_attr_fn: *const c_void,
        comm_keyval: *mut c_int,
        extra_state: *mut c_void,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(243, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(comm_keyval, "comm_keyval")?;
                let outcome = towpath_mpi::attributes::comm_create_keyval(
                    callback_in(comm_copy_attr_fn),
                    callback_in(comm_delete_attr_fn),
                    extra_state,
                );
                deliver(
                    outcome,
                    |v_comm_keyval| {
                        *comm_keyval = keyval_out(v_comm_keyval);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Comm_delete_attr, MPI_Comm_delete_attr(comm: MPI_Comm, comm_keyval: c_int) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(244, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::attributes::comm_delete_attr(comm_in(comm), keyval_in(comm_keyval))?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Comm_free_keyval, MPI_Comm_free_keyval(comm_keyval: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(245, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(comm_keyval, "comm_keyval")?;
                let mut v_comm_keyval = keyval_in(*comm_keyval);
                let outcome = towpath_mpi::attributes::comm_free_keyval(&mut v_comm_keyval);
                *comm_keyval = keyval_out(v_comm_keyval);
                outcome?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Comm_get_attr, MPI_Comm_get_attr(
        comm: MPI_Comm,
        comm_keyval: c_int,
        attribute_val: *mut c_void,
        flag: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(246, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(attribute_val, "attribute_val")?;
                require(flag, "flag")?;
                let outcome =
                    towpath_mpi::attributes::comm_get_attr(comm_in(comm), keyval_in(comm_keyval));
                deliver(
                    outcome,
                    |(v_attribute_val, v_flag)| {
                        if v_flag {
                            attribute_val
                                .cast::<*mut c_void>()
                                .write(attribute_out(keyval_in(comm_keyval), v_attribute_val));
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
    PMPI_Comm_set_attr, MPI_Comm_set_attr(
        comm: MPI_Comm,
        comm_keyval: c_int,
        attribute_val: *mut c_void,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(247, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::attributes::comm_set_attr(
                    comm_in(comm),
                    keyval_in(comm_keyval),
                    attribute_val,
                )?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Type_create_keyval, MPI_Type_create_keyval(
        type_copy_attr_fn: *const c_void,
        type_delete_attr_fn: *const c_void,
        type_keyval: *mut c_int,
        extra_state: *mut c_void,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(248, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(type_keyval, "type_keyval")?;
                let outcome = towpath_mpi::attributes::type_create_keyval(
                    callback_in(type_copy_attr_fn),
                    callback_in(type_delete_attr_fn),
                    extra_state,
                );
                deliver(
                    outcome,
                    |v_type_keyval| {
                        *type_keyval = keyval_out(v_type_keyval);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Type_delete_attr, MPI_Type_delete_attr(datatype: MPI_Datatype, type_keyval: c_int) {
        let owner = || ErrhandlerOwner::None;
        call(249, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::attributes::type_delete_attr(
                    datatype_in(datatype),
                    keyval_in(type_keyval),
                )?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Type_free_keyval, MPI_Type_free_keyval(type_keyval: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(250, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(type_keyval, "type_keyval")?;
                let mut v_type_keyval = keyval_in(*type_keyval);
                let outcome = towpath_mpi::attributes::type_free_keyval(&mut v_type_keyval);
                *type_keyval = keyval_out(v_type_keyval);
                outcome?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Type_get_attr, MPI_Type_get_attr(
        datatype: MPI_Datatype,
        type_keyval: c_int,
        attribute_val: *mut c_void,
        flag: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(251, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(attribute_val, "attribute_val")?;
                require(flag, "flag")?;
                let outcome = towpath_mpi::attributes::type_get_attr(
                    datatype_in(datatype),
                    keyval_in(type_keyval),
                );
                deliver(
                    outcome,
                    |(v_attribute_val, v_flag)| {
                        if v_flag {
                            attribute_val
                                .cast::<*mut c_void>()
                                .write(attribute_out(keyval_in(type_keyval), v_attribute_val));
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
    PMPI_Type_set_attr, MPI_Type_set_attr(
        datatype: MPI_Datatype,
        type_keyval: c_int,
        attribute_val: *mut c_void,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(252, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::attributes::type_set_attr(
                    datatype_in(datatype),
                    keyval_in(type_keyval),
                    attribute_val,
                )?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Win_create_keyval, MPI_Win_create_keyval(
        win_copy_attr_fn: *const c_void,
        win_delete_attr_fn: *const c_void,
        win_keyval: *mut c_int,
        extra_state: *mut c_void,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(253, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(win_keyval, "win_keyval")?;
                let outcome = towpath_mpi::attributes::win_create_keyval(
                    callback_in(win_copy_attr_fn),
                    callback_in(win_delete_attr_fn),
                    extra_state,
                );
                deliver(
                    outcome,
                    |v_win_keyval| {
                        *win_keyval = keyval_out(v_win_keyval);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Win_delete_attr, MPI_Win_delete_attr(win: MPI_Win, win_keyval: c_int) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(254, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_free_keyval, MPI_Win_free_keyval(win_keyval: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(255, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(win_keyval, "win_keyval")?;
                let mut v_win_keyval = keyval_in(*win_keyval);
                let outcome = towpath_mpi::attributes::win_free_keyval(&mut v_win_keyval);
                *win_keyval = keyval_out(v_win_keyval);
                outcome?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Win_get_attr, MPI_Win_get_attr(
        win: MPI_Win,
        win_keyval: c_int,
        attribute_val: *mut c_void,
        flag: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(256, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Win_set_attr, MPI_Win_set_attr(
        win: MPI_Win,
        win_keyval: c_int,
        attribute_val: *mut c_void,
    ) {
        let owner = || ErrhandlerOwner::Win(win_in(win));
        call(257, owner, || Err(not_built()))
    }
}

export! {
    PMPI_Attr_delete, MPI_Attr_delete(comm: MPI_Comm, keyval: c_int) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(258, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::attributes::comm_delete_attr(comm_in(comm), keyval_in(keyval))?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Attr_get, MPI_Attr_get(
        comm: MPI_Comm,
        keyval: c_int,
        attribute_val: *mut c_void,
        flag: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(259, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(attribute_val, "attribute_val")?;
                require(flag, "flag")?;
                let outcome =
                    towpath_mpi::attributes::comm_get_attr(comm_in(comm), keyval_in(keyval));
                deliver(
                    outcome,
                    |(v_attribute_val, v_flag)| {
                        if v_flag {
                            attribute_val
                                .cast::<*mut c_void>()
                                .write(attribute_out(keyval_in(keyval), v_attribute_val));
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
    PMPI_Attr_put, MPI_Attr_put(comm: MPI_Comm, keyval: c_int, attribute_val: *mut c_void) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(260, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::attributes::comm_set_attr(
                    comm_in(comm),
                    keyval_in(keyval),
                    attribute_val,
                )?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Keyval_create, MPI_Keyval_create(
        copy_fn: *const c_void,
        delete_fn: *const c_void,
        keyval: *mut c_int,
        extra_state: *mut c_void,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(261, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(keyval, "keyval")?;
                let outcome = towpath_mpi::attributes::comm_create_keyval(
                    callback_in(copy_fn),
                    callback_in(delete_fn),
                    extra_state,
                );
                deliver(
                    outcome,
                    |v_keyval| {
                        *keyval = keyval_out(v_keyval);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Keyval_free, MPI_Keyval_free(keyval: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(262, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(keyval, "keyval")?;
                let mut v_keyval = keyval_in(*keyval);
                let outcome = towpath_mpi::attributes::comm_free_keyval(&mut v_keyval);
                *keyval = keyval_out(v_keyval);
                outcome?;
                Ok(())
            }
        })
    }
}
