//! Reduction operations (6.9).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::useless_conversion)]

use crate::prelude::*;

export! {
    PMPI_Op_commutative, MPI_Op_commutative(op: MPI_Op, commute: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call(205, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(commute, "commute")?;
                let outcome = towpath_mpi::operations::op_commutative(op_in(op));
                deliver(
                    outcome,
                    |v_commute| {
                        *commute = c_int::from(v_commute);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Op_create, MPI_Op_create(user_fn: *const c_void, commute: c_int, op: *mut MPI_Op) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(206, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(op, "op")?;
                let outcome =
                    towpath_mpi::operations::op_create(callback_in(user_fn), commute != 0, false);
                deliver(
                    outcome,
                    |v_op| {
                        *op = op_out(v_op);
                    },
                    || {
                        *op = op_out(towpath_mpi::constants::OP_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Op_create_c, MPI_Op_create_c(user_fn: *const c_void, commute: c_int, op: *mut MPI_Op) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(206, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(op, "op")?;
                let outcome =
                    towpath_mpi::operations::op_create(callback_in(user_fn), commute != 0, true);
                deliver(
                    outcome,
                    |v_op| {
                        *op = op_out(v_op);
                    },
                    || {
                        *op = op_out(towpath_mpi::constants::OP_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Op_free, MPI_Op_free(op: *mut MPI_Op) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(207, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(op, "op")?;
                let mut v_op = op_in(*op);
                let outcome = towpath_mpi::operations::op_free(&mut v_op);
                *op = op_out(v_op);
                outcome?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Reduce_local, MPI_Reduce_local(
        inbuf: *const c_void,
        inoutbuf: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        op: MPI_Op,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(208, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::operations::reduce_local(
                    buffer_in(inbuf),
                    buffer_in(inoutbuf).cast_mut(),
                    i64::from(count),
                    datatype_in(datatype),
                    op_in(op),
                )?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Reduce_local_c, MPI_Reduce_local_c(
        inbuf: *const c_void,
        inoutbuf: *mut c_void,
        count: i64,
        datatype: MPI_Datatype,
        op: MPI_Op,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(208, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::operations::reduce_local(
                    buffer_in(inbuf),
                    buffer_in(inoutbuf).cast_mut(),
                    i64::from(count),
                    datatype_in(datatype),
                    op_in(op),
                )?;
                Ok(())
            }
        })
    }
}
