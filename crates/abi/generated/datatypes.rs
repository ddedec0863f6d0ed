//! Datatypes and packing (chapter 5).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::useless_conversion)]

use crate::prelude::*;

export! {
    PMPI_Get_address, MPI_Get_address(location: *const c_void, address: *mut i64) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(96, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(address, "address")?;
                let outcome = towpath_mpi::datatypes::get_address(location);
                deliver(
                    outcome,
                    |v_address| {
                        *address = v_address;
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Pack, MPI_Pack(
        inbuf: *const c_void,
        incount: c_int,
        datatype: MPI_Datatype,
        outbuf: *mut c_void,
        outsize: c_int,
        position: *mut c_int,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(97, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(position, "position")?;
                let mut v_position = i64::from(*position);
                let outcome = towpath_mpi::datatypes::pack(
                    buffer_in(inbuf),
                    i64::from(incount),
                    datatype_in(datatype),
                    buffer_in(outbuf).cast_mut(),
                    i64::from(outsize),
                    &mut v_position,
                    comm_in(comm),
                );
                *position = count_to_int(v_position);
                outcome?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Pack_c, MPI_Pack_c(
        inbuf: *const c_void,
        incount: i64,
        datatype: MPI_Datatype,
        outbuf: *mut c_void,
        outsize: i64,
        position: *mut i64,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(97, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(position, "position")?;
                let mut v_position = i64::from(*position);
                let outcome = towpath_mpi::datatypes::pack(
                    buffer_in(inbuf),
                    i64::from(incount),
                    datatype_in(datatype),
                    buffer_in(outbuf).cast_mut(),
                    i64::from(outsize),
                    &mut v_position,
                    comm_in(comm),
                );
                *position = v_position;
                outcome?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Pack_external, MPI_Pack_external(
        datarep: *const c_char,
        inbuf: *const c_void,
        incount: c_int,
        datatype: MPI_Datatype,
        outbuf: *mut c_void,
        outsize: i64,
        position: *mut i64,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(98, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(position, "position")?;
                let mut v_position = i64::from(*position);
                let outcome = towpath_mpi::datatypes::pack_external(
                    StringArgument::new(datarep),
                    buffer_in(inbuf),
                    i64::from(incount),
                    datatype_in(datatype),
                    buffer_in(outbuf).cast_mut(),
                    i64::from(outsize),
                    &mut v_position,
                );
                *position = v_position;
                outcome?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Pack_external_c, MPI_Pack_external_c(
        datarep: *const c_char,
        inbuf: *const c_void,
        incount: i64,
        datatype: MPI_Datatype,
        outbuf: *mut c_void,
        outsize: i64,
        position: *mut i64,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(98, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(position, "position")?;
                let mut v_position = i64::from(*position);
                let outcome = towpath_mpi::datatypes::pack_external(
                    StringArgument::new(datarep),
                    buffer_in(inbuf),
                    i64::from(incount),
                    datatype_in(datatype),
                    buffer_in(outbuf).cast_mut(),
                    i64::from(outsize),
                    &mut v_position,
                );
                *position = v_position;
                outcome?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Pack_external_size, MPI_Pack_external_size(
        datarep: *const c_char,
        incount: c_int,
        datatype: MPI_Datatype,
        size: *mut i64,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(99, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(size, "size")?;
                let outcome = towpath_mpi::datatypes::pack_external_size(
                    StringArgument::new(datarep),
                    i64::from(incount),
                    datatype_in(datatype),
                );
                deliver(
                    outcome,
                    |v_size| {
                        *size = v_size;
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Pack_external_size_c, MPI_Pack_external_size_c(
        datarep: *const c_char,
        incount: i64,
        datatype: MPI_Datatype,
        size: *mut i64,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(99, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(size, "size")?;
                let outcome = towpath_mpi::datatypes::pack_external_size(
                    StringArgument::new(datarep),
                    i64::from(incount),
                    datatype_in(datatype),
                );
                deliver(
                    outcome,
                    |v_size| {
                        *size = v_size;
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Pack_size, MPI_Pack_size(
        incount: c_int,
        datatype: MPI_Datatype,
        comm: MPI_Comm,
        size: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(100, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(size, "size")?;
                let outcome = towpath_mpi::datatypes::pack_size(
                    i64::from(incount),
                    datatype_in(datatype),
                    comm_in(comm),
                );
                deliver(
                    outcome,
                    |v_size| {
                        *size = count_to_int(v_size);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Pack_size_c, MPI_Pack_size_c(
        incount: i64,
        datatype: MPI_Datatype,
        comm: MPI_Comm,
        size: *mut i64,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(100, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(size, "size")?;
                let outcome = towpath_mpi::datatypes::pack_size(
                    i64::from(incount),
                    datatype_in(datatype),
                    comm_in(comm),
                );
                deliver(
                    outcome,
                    |v_size| {
                        *size = v_size;
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Type_commit, MPI_Type_commit(datatype: *mut MPI_Datatype) {
        let owner = || ErrhandlerOwner::None;
        call(101, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(datatype, "datatype")?;
                let mut v_datatype = datatype_in(*datatype);
                let outcome = towpath_mpi::datatypes::type_commit(&mut v_datatype);
                *datatype = datatype_out(v_datatype);
                outcome?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Type_contiguous, MPI_Type_contiguous(
        count: c_int,
        oldtype: MPI_Datatype,
        newtype: *mut MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(102, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newtype, "newtype")?;
                let outcome = towpath_mpi::datatypes::type_contiguous(
                    i64::from(count),
                    datatype_in(oldtype),
                    false,
                );
                deliver(
                    outcome,
                    |v_newtype| {
                        *newtype = datatype_out(v_newtype);
                    },
                    || {
                        *newtype = datatype_out(towpath_mpi::constants::DATATYPE_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Type_contiguous_c, MPI_Type_contiguous_c(
        count: i64,
        oldtype: MPI_Datatype,
        newtype: *mut MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(102, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newtype, "newtype")?;
                let outcome = towpath_mpi::datatypes::type_contiguous(
                    i64::from(count),
                    datatype_in(oldtype),
                    true,
                );
                deliver(
                    outcome,
                    |v_newtype| {
                        *newtype = datatype_out(v_newtype);
                    },
                    || {
                        *newtype = datatype_out(towpath_mpi::constants::DATATYPE_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Type_create_darray, MPI_Type_create_darray(
        size: c_int,
        rank: c_int,
        ndims: c_int,
        array_of_gsizes: *const c_int,
        array_of_distribs: *const c_int,
        array_of_dargs: *const c_int,
        array_of_psizes: *const c_int,
        order: c_int,
        oldtype: MPI_Datatype,
        newtype: *mut MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(103, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                let v_array_of_distribs = distributions_in(array_of_distribs, ndims);
                let v_array_of_dargs = distribution_arguments_in(array_of_dargs, ndims);
                require(newtype, "newtype")?;
                let outcome = towpath_mpi::datatypes::type_create_darray(
                    size,
                    rank_in(rank),
                    ndims,
                    Integers::small(array_of_gsizes).with_length(i64::from(ndims)),
                    v_array_of_distribs.integers(),
                    v_array_of_dargs.integers(),
                    Integers::small(array_of_psizes).with_length(i64::from(ndims)),
                    order_in(order),
                    datatype_in(oldtype),
                    false,
                );
                deliver(
                    outcome,
                    |v_newtype| {
                        *newtype = datatype_out(v_newtype);
                    },
                    || {
                        *newtype = datatype_out(towpath_mpi::constants::DATATYPE_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Type_create_darray_c, MPI_Type_create_darray_c(
        size: c_int,
        rank: c_int,
        ndims: c_int,
        array_of_gsizes: *const i64,
        array_of_distribs: *const c_int,
        array_of_dargs: *const c_int,
        array_of_psizes: *const c_int,
        order: c_int,
        oldtype: MPI_Datatype,
        newtype: *mut MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(103, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                let v_array_of_distribs = distributions_in(array_of_distribs, ndims);
                let v_array_of_dargs = distribution_arguments_in(array_of_dargs, ndims);
                require(newtype, "newtype")?;
                let outcome = towpath_mpi::datatypes::type_create_darray(
                    size,
                    rank_in(rank),
                    ndims,
                    Integers::large(array_of_gsizes).with_length(i64::from(ndims)),
                    v_array_of_distribs.integers(),
                    v_array_of_dargs.integers(),
                    Integers::small(array_of_psizes).with_length(i64::from(ndims)),
                    order_in(order),
                    datatype_in(oldtype),
                    true,
                );
                deliver(
                    outcome,
                    |v_newtype| {
                        *newtype = datatype_out(v_newtype);
                    },
                    || {
                        *newtype = datatype_out(towpath_mpi::constants::DATATYPE_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Type_create_f90_complex, MPI_Type_create_f90_complex(
        p: c_int,
        r: c_int,
        newtype: *mut MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(104, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newtype, "newtype")?;
                let outcome = towpath_mpi::datatypes::type_create_f90_complex(p, r);
                deliver(
                    outcome,
                    |v_newtype| {
                        *newtype = datatype_out(v_newtype);
                    },
                    || {
                        *newtype = datatype_out(towpath_mpi::constants::DATATYPE_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Type_create_f90_integer, MPI_Type_create_f90_integer(
        r: c_int,
        newtype: *mut MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(105, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newtype, "newtype")?;
                let outcome = towpath_mpi::datatypes::type_create_f90_integer(r);
                deliver(
                    outcome,
                    |v_newtype| {
                        *newtype = datatype_out(v_newtype);
                    },
                    || {
                        *newtype = datatype_out(towpath_mpi::constants::DATATYPE_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Type_create_f90_real, MPI_Type_create_f90_real(
        p: c_int,
        r: c_int,
        newtype: *mut MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(106, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newtype, "newtype")?;
                let outcome = towpath_mpi::datatypes::type_create_f90_real(p, r);
                deliver(
                    outcome,
                    |v_newtype| {
                        *newtype = datatype_out(v_newtype);
                    },
                    || {
                        *newtype = datatype_out(towpath_mpi::constants::DATATYPE_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Type_create_hindexed, MPI_Type_create_hindexed(
        count: c_int,
        array_of_blocklengths: *const c_int,
        array_of_displacements: *const i64,
        oldtype: MPI_Datatype,
        newtype: *mut MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(107, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newtype, "newtype")?;
                let outcome = towpath_mpi::datatypes::type_create_hindexed(
                    i64::from(count),
                    Integers::small(array_of_blocklengths).with_length(i64::from(count)),
                    Integers::large(array_of_displacements).with_length(i64::from(count)),
                    datatype_in(oldtype),
                    false,
                );
                deliver(
                    outcome,
                    |v_newtype| {
                        *newtype = datatype_out(v_newtype);
                    },
                    || {
                        *newtype = datatype_out(towpath_mpi::constants::DATATYPE_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Type_create_hindexed_c, MPI_Type_create_hindexed_c(
        count: i64,
        array_of_blocklengths: *const i64,
        array_of_displacements: *const i64,
        oldtype: MPI_Datatype,
        newtype: *mut MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(107, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newtype, "newtype")?;
                let outcome = towpath_mpi::datatypes::type_create_hindexed(
                    i64::from(count),
                    Integers::large(array_of_blocklengths).with_length(i64::from(count)),
                    Integers::large(array_of_displacements).with_length(i64::from(count)),
                    datatype_in(oldtype),
                    true,
                );
                deliver(
                    outcome,
                    |v_newtype| {
                        *newtype = datatype_out(v_newtype);
                    },
                    || {
                        *newtype = datatype_out(towpath_mpi::constants::DATATYPE_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Type_create_hindexed_block, MPI_Type_create_hindexed_block(
        count: c_int,
        blocklength: c_int,
        array_of_displacements: *const i64,
        oldtype: MPI_Datatype,
        newtype: *mut MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(108, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newtype, "newtype")?;
                let outcome = towpath_mpi::datatypes::type_create_hindexed_block(
                    i64::from(count),
                    i64::from(blocklength),
                    Integers::large(array_of_displacements).with_length(i64::from(count)),
                    datatype_in(oldtype),
                    false,
                );
                deliver(
                    outcome,
                    |v_newtype| {
                        *newtype = datatype_out(v_newtype);
                    },
                    || {
                        *newtype = datatype_out(towpath_mpi::constants::DATATYPE_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Type_create_hindexed_block_c, MPI_Type_create_hindexed_block_c(
        count: i64,
        blocklength: i64,
        array_of_displacements: *const i64,
        oldtype: MPI_Datatype,
        newtype: *mut MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(108, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newtype, "newtype")?;
                let outcome = towpath_mpi::datatypes::type_create_hindexed_block(
                    i64::from(count),
                    i64::from(blocklength),
                    Integers::large(array_of_displacements).with_length(i64::from(count)),
                    datatype_in(oldtype),
                    true,
                );
                deliver(
                    outcome,
                    |v_newtype| {
                        *newtype = datatype_out(v_newtype);
                    },
                    || {
                        *newtype = datatype_out(towpath_mpi::constants::DATATYPE_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Type_create_hvector, MPI_Type_create_hvector(
        count: c_int,
        blocklength: c_int,
        stride: i64,
        oldtype: MPI_Datatype,
        newtype: *mut MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(109, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newtype, "newtype")?;
                let outcome = towpath_mpi::datatypes::type_create_hvector(
                    i64::from(count),
                    i64::from(blocklength),
                    i64::from(stride),
                    datatype_in(oldtype),
                    false,
                );
                deliver(
                    outcome,
                    |v_newtype| {
                        *newtype = datatype_out(v_newtype);
                    },
                    || {
                        *newtype = datatype_out(towpath_mpi::constants::DATATYPE_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Type_create_hvector_c, MPI_Type_create_hvector_c(
        count: i64,
        blocklength: i64,
        stride: i64,
        oldtype: MPI_Datatype,
        newtype: *mut MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(109, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newtype, "newtype")?;
                let outcome = towpath_mpi::datatypes::type_create_hvector(
                    i64::from(count),
                    i64::from(blocklength),
                    i64::from(stride),
                    datatype_in(oldtype),
                    true,
                );
                deliver(
                    outcome,
                    |v_newtype| {
                        *newtype = datatype_out(v_newtype);
                    },
                    || {
                        *newtype = datatype_out(towpath_mpi::constants::DATATYPE_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Type_create_indexed_block, MPI_Type_create_indexed_block(
        count: c_int,
        blocklength: c_int,
        array_of_displacements: *const c_int,
        oldtype: MPI_Datatype,
        newtype: *mut MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(110, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newtype, "newtype")?;
                let outcome = towpath_mpi::datatypes::type_create_indexed_block(
                    i64::from(count),
                    i64::from(blocklength),
                    Integers::small(array_of_displacements).with_length(i64::from(count)),
                    datatype_in(oldtype),
                    false,
                );
                deliver(
                    outcome,
                    |v_newtype| {
                        *newtype = datatype_out(v_newtype);
                    },
                    || {
                        *newtype = datatype_out(towpath_mpi::constants::DATATYPE_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Type_create_indexed_block_c, MPI_Type_create_indexed_block_c(
        count: i64,
        blocklength: i64,
        array_of_displacements: *const i64,
        oldtype: MPI_Datatype,
        newtype: *mut MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(110, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newtype, "newtype")?;
                let outcome = towpath_mpi::datatypes::type_create_indexed_block(
                    i64::from(count),
                    i64::from(blocklength),
                    Integers::large(array_of_displacements).with_length(i64::from(count)),
                    datatype_in(oldtype),
                    true,
                );
                deliver(
                    outcome,
                    |v_newtype| {
                        *newtype = datatype_out(v_newtype);
                    },
                    || {
                        *newtype = datatype_out(towpath_mpi::constants::DATATYPE_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Type_create_resized, MPI_Type_create_resized(
        oldtype: MPI_Datatype,
        lb: i64,
        extent: i64,
        newtype: *mut MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(111, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newtype, "newtype")?;
                let outcome = towpath_mpi::datatypes::type_create_resized(
                    datatype_in(oldtype),
                    i64::from(lb),
                    i64::from(extent),
                    false,
                );
                deliver(
                    outcome,
                    |v_newtype| {
                        *newtype = datatype_out(v_newtype);
                    },
                    || {
                        *newtype = datatype_out(towpath_mpi::constants::DATATYPE_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Type_create_resized_c, MPI_Type_create_resized_c(
        oldtype: MPI_Datatype,
        lb: i64,
        extent: i64,
        newtype: *mut MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(111, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newtype, "newtype")?;
                let outcome = towpath_mpi::datatypes::type_create_resized(
                    datatype_in(oldtype),
                    i64::from(lb),
                    i64::from(extent),
                    true,
                );
                deliver(
                    outcome,
                    |v_newtype| {
                        *newtype = datatype_out(v_newtype);
                    },
                    || {
                        *newtype = datatype_out(towpath_mpi::constants::DATATYPE_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Type_create_struct, MPI_Type_create_struct(
        count: c_int,
        array_of_blocklengths: *const c_int,
        array_of_displacements: *const i64,
        array_of_types: *const MPI_Datatype,
        newtype: *mut MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(112, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newtype, "newtype")?;
                let outcome = towpath_mpi::datatypes::type_create_struct(
                    i64::from(count),
                    Integers::small(array_of_blocklengths).with_length(i64::from(count)),
                    Integers::large(array_of_displacements).with_length(i64::from(count)),
                    HandleArray::new(array_of_types.cast(), &ABI, Kind::Datatype)
                        .with_length(i64::from(count)),
                    false,
                );
                deliver(
                    outcome,
                    |v_newtype| {
                        *newtype = datatype_out(v_newtype);
                    },
                    || {
                        *newtype = datatype_out(towpath_mpi::constants::DATATYPE_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Type_create_struct_c, MPI_Type_create_struct_c(
        count: i64,
        array_of_blocklengths: *const i64,
        array_of_displacements: *const i64,
        array_of_types: *const MPI_Datatype,
        newtype: *mut MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(112, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newtype, "newtype")?;
                let outcome = towpath_mpi::datatypes::type_create_struct(
                    i64::from(count),
                    Integers::large(array_of_blocklengths).with_length(i64::from(count)),
                    Integers::large(array_of_displacements).with_length(i64::from(count)),
                    HandleArray::new(array_of_types.cast(), &ABI, Kind::Datatype)
                        .with_length(i64::from(count)),
                    true,
                );
                deliver(
                    outcome,
                    |v_newtype| {
                        *newtype = datatype_out(v_newtype);
                    },
                    || {
                        *newtype = datatype_out(towpath_mpi::constants::DATATYPE_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Type_create_subarray, MPI_Type_create_subarray(
        ndims: c_int,
        array_of_sizes: *const c_int,
        array_of_subsizes: *const c_int,
        array_of_starts: *const c_int,
        order: c_int,
        oldtype: MPI_Datatype,
        newtype: *mut MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(113, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newtype, "newtype")?;
                let outcome = towpath_mpi::datatypes::type_create_subarray(
                    ndims,
                    Integers::small(array_of_sizes).with_length(i64::from(ndims)),
                    Integers::small(array_of_subsizes).with_length(i64::from(ndims)),
                    Integers::small(array_of_starts).with_length(i64::from(ndims)),
                    order_in(order),
                    datatype_in(oldtype),
                    false,
                );
                deliver(
                    outcome,
                    |v_newtype| {
                        *newtype = datatype_out(v_newtype);
                    },
                    || {
                        *newtype = datatype_out(towpath_mpi::constants::DATATYPE_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Type_create_subarray_c, MPI_Type_create_subarray_c(
        ndims: c_int,
        array_of_sizes: *const i64,
        array_of_subsizes: *const i64,
        array_of_starts: *const i64,
        order: c_int,
        oldtype: MPI_Datatype,
        newtype: *mut MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(113, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newtype, "newtype")?;
                let outcome = towpath_mpi::datatypes::type_create_subarray(
                    ndims,
                    Integers::large(array_of_sizes).with_length(i64::from(ndims)),
                    Integers::large(array_of_subsizes).with_length(i64::from(ndims)),
                    Integers::large(array_of_starts).with_length(i64::from(ndims)),
                    order_in(order),
                    datatype_in(oldtype),
                    true,
                );
                deliver(
                    outcome,
                    |v_newtype| {
                        *newtype = datatype_out(v_newtype);
                    },
                    || {
                        *newtype = datatype_out(towpath_mpi::constants::DATATYPE_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Type_dup, MPI_Type_dup(oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) {
        let owner = || ErrhandlerOwner::None;
        call(114, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newtype, "newtype")?;
                let outcome = towpath_mpi::datatypes::type_dup(datatype_in(oldtype));
                deliver(
                    outcome,
                    |v_newtype| {
                        *newtype = datatype_out(v_newtype);
                    },
                    || {
                        *newtype = datatype_out(towpath_mpi::constants::DATATYPE_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Type_extent, MPI_Type_extent(datatype: MPI_Datatype, extent: *mut i64) {
        let owner = || ErrhandlerOwner::None;
        call(115, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(extent, "extent")?;
                let outcome = towpath_mpi::datatypes::type_extent(datatype_in(datatype));
                deliver(
                    outcome,
                    |v_extent| {
                        *extent = v_extent;
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Type_free, MPI_Type_free(datatype: *mut MPI_Datatype) {
        let owner = || ErrhandlerOwner::None;
        call(116, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(datatype, "datatype")?;
                let mut v_datatype = datatype_in(*datatype);
                let outcome = towpath_mpi::datatypes::type_free(&mut v_datatype);
                *datatype = datatype_out(v_datatype);
                outcome?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Type_get_contents, MPI_Type_get_contents(
        datatype: MPI_Datatype,
        max_integers: c_int,
        max_addresses: c_int,
        max_datatypes: c_int,
        array_of_integers: *mut c_int,
        array_of_addresses: *mut i64,
        array_of_datatypes: *mut MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(117, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::datatypes::type_get_contents(
                    datatype_in(datatype),
                    i64::from(max_integers),
                    i64::from(max_addresses),
                    0,
                    i64::from(max_datatypes),
                    IntegersMut::small(array_of_integers).with_length(i64::from(max_integers)),
                    IntegersMut::large(array_of_addresses).with_length(i64::from(max_addresses)),
                    IntegersMut::large(std::ptr::null_mut()),
                    HandleArray::new(array_of_datatypes.cast(), &ABI, Kind::Datatype)
                        .with_length(i64::from(max_datatypes)),
                    false,
                )?;
                let (filled, _, _, _, combiner) =
                    towpath_mpi::datatypes::type_get_envelope(datatype_in(datatype), true)?;
                contents_put(combiner, array_of_integers, filled.min(i64::from(max_integers)));
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Type_get_contents_c, MPI_Type_get_contents_c(
        datatype: MPI_Datatype,
        max_integers: i64,
        max_addresses: i64,
        max_large_counts: i64,
        max_datatypes: i64,
        array_of_integers: *mut c_int,
        array_of_addresses: *mut i64,
        array_of_large_counts: *mut i64,
        array_of_datatypes: *mut MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(117, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::datatypes::type_get_contents(
                    datatype_in(datatype),
                    i64::from(max_integers),
                    i64::from(max_addresses),
                    i64::from(max_large_counts),
                    i64::from(max_datatypes),
                    IntegersMut::small(array_of_integers).with_length(i64::from(max_integers)),
                    IntegersMut::large(array_of_addresses).with_length(i64::from(max_addresses)),
                    IntegersMut::large(array_of_large_counts)
                        .with_length(i64::from(max_large_counts)),
                    HandleArray::new(array_of_datatypes.cast(), &ABI, Kind::Datatype)
                        .with_length(i64::from(max_datatypes)),
                    true,
                )?;
                let (filled, _, _, _, combiner) =
                    towpath_mpi::datatypes::type_get_envelope(datatype_in(datatype), true)?;
                contents_put(combiner, array_of_integers, filled.min(i64::from(max_integers)));
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Type_get_envelope, MPI_Type_get_envelope(
        datatype: MPI_Datatype,
        num_integers: *mut c_int,
        num_addresses: *mut c_int,
        num_datatypes: *mut c_int,
        combiner: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(118, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(num_integers, "num_integers")?;
                require(num_addresses, "num_addresses")?;
                require(num_datatypes, "num_datatypes")?;
                require(combiner, "combiner")?;
                let outcome =
                    towpath_mpi::datatypes::type_get_envelope(datatype_in(datatype), false);
                deliver(
                    outcome,
                    |(v_num_integers, v_num_addresses, _, v_num_datatypes, v_combiner)| {
                        *num_integers = count_to_int(v_num_integers);
                        *num_addresses = count_to_int(v_num_addresses);
                        *num_datatypes = count_to_int(v_num_datatypes);
                        *combiner = combiner_out(v_combiner);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Type_get_envelope_c, MPI_Type_get_envelope_c(
        datatype: MPI_Datatype,
        num_integers: *mut i64,
        num_addresses: *mut i64,
        num_large_counts: *mut i64,
        num_datatypes: *mut i64,
        combiner: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(118, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(num_integers, "num_integers")?;
                require(num_addresses, "num_addresses")?;
                require(num_large_counts, "num_large_counts")?;
                require(num_datatypes, "num_datatypes")?;
                require(combiner, "combiner")?;
                let outcome =
                    towpath_mpi::datatypes::type_get_envelope(datatype_in(datatype), true);
                deliver(
                    outcome,
                    |(
                        v_num_integers,
                        v_num_addresses,
                        v_num_large_counts,
                        v_num_datatypes,
                        v_combiner,
                    )| {
                        *num_integers = v_num_integers;
                        *num_addresses = v_num_addresses;
                        *num_large_counts = v_num_large_counts;
                        *num_datatypes = v_num_datatypes;
                        *combiner = combiner_out(v_combiner);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Type_get_extent, MPI_Type_get_extent(
        datatype: MPI_Datatype,
        lb: *mut i64,
        extent: *mut i64,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(119, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(lb, "lb")?;
                require(extent, "extent")?;
                let outcome = towpath_mpi::datatypes::type_get_extent(datatype_in(datatype));
                deliver(
                    outcome,
                    |(v_lb, v_extent)| {
                        *lb = v_lb;
                        *extent = v_extent;
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Type_get_extent_c, MPI_Type_get_extent_c(
        datatype: MPI_Datatype,
        lb: *mut i64,
        extent: *mut i64,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(119, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(lb, "lb")?;
                require(extent, "extent")?;
                let outcome = towpath_mpi::datatypes::type_get_extent(datatype_in(datatype));
                deliver(
                    outcome,
                    |(v_lb, v_extent)| {
                        *lb = v_lb;
                        *extent = v_extent;
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Type_get_name, MPI_Type_get_name(
        datatype: MPI_Datatype,
        type_name: *mut c_char,
        resultlen: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(120, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(type_name, "type_name")?;
                require(resultlen, "resultlen")?;
                let outcome = towpath_mpi::datatypes::type_get_name(datatype_in(datatype));
                deliver(
                    outcome,
                    |v_type_name| {
                        *resultlen = put_string(type_name, limits::MAX_OBJECT_NAME, &v_type_name);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Type_get_true_extent, MPI_Type_get_true_extent(
        datatype: MPI_Datatype,
        true_lb: *mut i64,
        true_extent: *mut i64,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(121, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(true_lb, "true_lb")?;
                require(true_extent, "true_extent")?;
                let outcome = towpath_mpi::datatypes::type_get_true_extent(datatype_in(datatype));
                deliver(
                    outcome,
                    |(v_true_lb, v_true_extent)| {
                        *true_lb = v_true_lb;
                        *true_extent = v_true_extent;
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Type_get_true_extent_c, MPI_Type_get_true_extent_c(
        datatype: MPI_Datatype,
        true_lb: *mut i64,
        true_extent: *mut i64,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(121, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(true_lb, "true_lb")?;
                require(true_extent, "true_extent")?;
                let outcome = towpath_mpi::datatypes::type_get_true_extent(datatype_in(datatype));
                deliver(
                    outcome,
                    |(v_true_lb, v_true_extent)| {
                        *true_lb = v_true_lb;
                        *true_extent = v_true_extent;
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Type_get_value_index, MPI_Type_get_value_index(
        value_type: MPI_Datatype,
        index_type: MPI_Datatype,
        pair_type: *mut MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(122, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(pair_type, "pair_type")?;
                let outcome = towpath_mpi::datatypes::type_get_value_index(
                    datatype_in(value_type),
                    datatype_in(index_type),
                );
                deliver(
                    outcome,
                    |v_pair_type| {
                        *pair_type = datatype_out(v_pair_type);
                    },
                    || {
                        *pair_type = datatype_out(towpath_mpi::constants::DATATYPE_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Type_indexed, MPI_Type_indexed(
        count: c_int,
        array_of_blocklengths: *const c_int,
        array_of_displacements: *const c_int,
        oldtype: MPI_Datatype,
        newtype: *mut MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(123, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newtype, "newtype")?;
                let outcome = towpath_mpi::datatypes::type_indexed(
                    i64::from(count),
                    Integers::small(array_of_blocklengths).with_length(i64::from(count)),
                    Integers::small(array_of_displacements).with_length(i64::from(count)),
                    datatype_in(oldtype),
                    false,
                );
                deliver(
                    outcome,
                    |v_newtype| {
                        *newtype = datatype_out(v_newtype);
                    },
                    || {
                        *newtype = datatype_out(towpath_mpi::constants::DATATYPE_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Type_indexed_c, MPI_Type_indexed_c(
        count: i64,
        array_of_blocklengths: *const i64,
        array_of_displacements: *const i64,
        oldtype: MPI_Datatype,
        newtype: *mut MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(123, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newtype, "newtype")?;
                let outcome = towpath_mpi::datatypes::type_indexed(
                    i64::from(count),
                    Integers::large(array_of_blocklengths).with_length(i64::from(count)),
                    Integers::large(array_of_displacements).with_length(i64::from(count)),
                    datatype_in(oldtype),
                    true,
                );
                deliver(
                    outcome,
                    |v_newtype| {
                        *newtype = datatype_out(v_newtype);
                    },
                    || {
                        *newtype = datatype_out(towpath_mpi::constants::DATATYPE_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Type_lb, MPI_Type_lb(datatype: MPI_Datatype, displacement: *mut i64) {
        let owner = || ErrhandlerOwner::None;
        call(124, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(displacement, "displacement")?;
                let outcome = towpath_mpi::datatypes::type_lb(datatype_in(datatype));
                deliver(
                    outcome,
                    |v_displacement| {
                        *displacement = v_displacement;
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Type_match_size, MPI_Type_match_size(
        typeclass: c_int,
        size: c_int,
        datatype: *mut MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(125, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(datatype, "datatype")?;
                let outcome =
                    towpath_mpi::datatypes::type_match_size(typeclass_in(typeclass), size);
                deliver(
                    outcome,
                    |v_datatype| {
                        *datatype = datatype_out(v_datatype);
                    },
                    || {
                        *datatype = datatype_out(towpath_mpi::constants::DATATYPE_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Type_set_name, MPI_Type_set_name(datatype: MPI_Datatype, type_name: *const c_char) {
        let owner = || ErrhandlerOwner::None;
        call(126, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::datatypes::type_set_name(
                    datatype_in(datatype),
                    StringArgument::new(type_name),
                )?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Type_size, MPI_Type_size(datatype: MPI_Datatype, size: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call(127, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(size, "size")?;
                let outcome = towpath_mpi::datatypes::type_size(datatype_in(datatype));
                deliver(
                    outcome,
                    |v_size| {
                        *size = count_to_int(v_size);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Type_size_c, MPI_Type_size_c(datatype: MPI_Datatype, size: *mut i64) {
        let owner = || ErrhandlerOwner::None;
        call(127, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(size, "size")?;
                let outcome = towpath_mpi::datatypes::type_size(datatype_in(datatype));
                deliver(
                    outcome,
                    |v_size| {
                        *size = v_size;
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Type_ub, MPI_Type_ub(datatype: MPI_Datatype, displacement: *mut i64) {
        let owner = || ErrhandlerOwner::None;
        call(128, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(displacement, "displacement")?;
                let outcome = towpath_mpi::datatypes::type_ub(datatype_in(datatype));
                deliver(
                    outcome,
                    |v_displacement| {
                        *displacement = v_displacement;
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Type_vector, MPI_Type_vector(
        count: c_int,
        blocklength: c_int,
        stride: c_int,
        oldtype: MPI_Datatype,
        newtype: *mut MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(129, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newtype, "newtype")?;
                let outcome = towpath_mpi::datatypes::type_vector(
                    i64::from(count),
                    i64::from(blocklength),
                    i64::from(stride),
                    datatype_in(oldtype),
                    false,
                );
                deliver(
                    outcome,
                    |v_newtype| {
                        *newtype = datatype_out(v_newtype);
                    },
                    || {
                        *newtype = datatype_out(towpath_mpi::constants::DATATYPE_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Type_vector_c, MPI_Type_vector_c(
        count: i64,
        blocklength: i64,
        stride: i64,
        oldtype: MPI_Datatype,
        newtype: *mut MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(129, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newtype, "newtype")?;
                let outcome = towpath_mpi::datatypes::type_vector(
                    i64::from(count),
                    i64::from(blocklength),
                    i64::from(stride),
                    datatype_in(oldtype),
                    true,
                );
                deliver(
                    outcome,
                    |v_newtype| {
                        *newtype = datatype_out(v_newtype);
                    },
                    || {
                        *newtype = datatype_out(towpath_mpi::constants::DATATYPE_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Unpack, MPI_Unpack(
        inbuf: *const c_void,
        insize: c_int,
        position: *mut c_int,
        outbuf: *mut c_void,
        outcount: c_int,
        datatype: MPI_Datatype,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(130, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(position, "position")?;
                let mut v_position = i64::from(*position);
                let outcome = towpath_mpi::datatypes::unpack(
                    buffer_in(inbuf),
                    i64::from(insize),
                    &mut v_position,
                    buffer_in(outbuf).cast_mut(),
                    i64::from(outcount),
                    datatype_in(datatype),
                    comm_in(comm),
                );
                *position = count_to_int(v_position);
                outcome?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Unpack_c, MPI_Unpack_c(
        inbuf: *const c_void,
        insize: i64,
        position: *mut i64,
        outbuf: *mut c_void,
        outcount: i64,
        datatype: MPI_Datatype,
        comm: MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(130, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(position, "position")?;
                let mut v_position = i64::from(*position);
                let outcome = towpath_mpi::datatypes::unpack(
                    buffer_in(inbuf),
                    i64::from(insize),
                    &mut v_position,
                    buffer_in(outbuf).cast_mut(),
                    i64::from(outcount),
                    datatype_in(datatype),
                    comm_in(comm),
                );
                *position = v_position;
                outcome?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Unpack_external, MPI_Unpack_external(
        datarep: *const c_char,
        inbuf: *const c_void,
        insize: i64,
        position: *mut i64,
        outbuf: *mut c_void,
        outcount: c_int,
        datatype: MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(131, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(position, "position")?;
                let mut v_position = i64::from(*position);
                let outcome = towpath_mpi::datatypes::unpack_external(
                    StringArgument::new(datarep),
                    buffer_in(inbuf),
                    i64::from(insize),
                    &mut v_position,
                    buffer_in(outbuf).cast_mut(),
                    i64::from(outcount),
                    datatype_in(datatype),
                );
                *position = v_position;
                outcome?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Unpack_external_c, MPI_Unpack_external_c(
        datarep: *const c_char,
        inbuf: *const c_void,
        insize: i64,
        position: *mut i64,
        outbuf: *mut c_void,
        outcount: i64,
        datatype: MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(131, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(position, "position")?;
                let mut v_position = i64::from(*position);
                let outcome = towpath_mpi::datatypes::unpack_external(
                    StringArgument::new(datarep),
                    buffer_in(inbuf),
                    i64::from(insize),
                    &mut v_position,
                    buffer_in(outbuf).cast_mut(),
                    i64::from(outcount),
                    datatype_in(datatype),
                );
                *position = v_position;
                outcome?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Address, MPI_Address(location: *mut c_void, address: *mut i64) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(132, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(address, "address")?;
                let outcome = towpath_mpi::datatypes::get_address(location);
                deliver(
                    outcome,
                    |v_address| {
                        *address = v_address;
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Type_get_extent_x, MPI_Type_get_extent_x(
        datatype: MPI_Datatype,
        lb: *mut i64,
        extent: *mut i64,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(133, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(lb, "lb")?;
                require(extent, "extent")?;
                let outcome = towpath_mpi::datatypes::type_get_extent(datatype_in(datatype));
                deliver(
                    outcome,
                    |(v_lb, v_extent)| {
                        *lb = v_lb;
                        *extent = v_extent;
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Type_get_true_extent_x, MPI_Type_get_true_extent_x(
        datatype: MPI_Datatype,
        true_lb: *mut i64,
        true_extent: *mut i64,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(134, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(true_lb, "true_lb")?;
                require(true_extent, "true_extent")?;
                let outcome = towpath_mpi::datatypes::type_get_true_extent(datatype_in(datatype));
                deliver(
                    outcome,
                    |(v_true_lb, v_true_extent)| {
                        *true_lb = v_true_lb;
                        *true_extent = v_true_extent;
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Type_hindexed, MPI_Type_hindexed(
        count: c_int,
        array_of_blocklengths: *mut c_int,
        array_of_displacements: *mut i64,
        oldtype: MPI_Datatype,
        newtype: *mut MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(135, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newtype, "newtype")?;
                let outcome = towpath_mpi::datatypes::type_create_hindexed(
                    i64::from(count),
                    Integers::small(array_of_blocklengths).with_length(i64::from(count)),
                    Integers::large(array_of_displacements).with_length(i64::from(count)),
                    datatype_in(oldtype),
                    false,
                );
                deliver(
                    outcome,
                    |v_newtype| {
                        *newtype = datatype_out(v_newtype);
                    },
                    || {
                        *newtype = datatype_out(towpath_mpi::constants::DATATYPE_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Type_hvector, MPI_Type_hvector(
        count: c_int,
        blocklength: c_int,
        stride: i64,
        oldtype: MPI_Datatype,
        newtype: *mut MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(136, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newtype, "newtype")?;
                let outcome = towpath_mpi::datatypes::type_create_hvector(
                    i64::from(count),
                    i64::from(blocklength),
                    i64::from(stride),
                    datatype_in(oldtype),
                    false,
                );
                deliver(
                    outcome,
                    |v_newtype| {
                        *newtype = datatype_out(v_newtype);
                    },
                    || {
                        *newtype = datatype_out(towpath_mpi::constants::DATATYPE_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Type_size_x, MPI_Type_size_x(datatype: MPI_Datatype, size: *mut i64) {
        let owner = || ErrhandlerOwner::None;
        call(137, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(size, "size")?;
                let outcome = towpath_mpi::datatypes::type_size(datatype_in(datatype));
                deliver(
                    outcome,
                    |v_size| {
                        *size = v_size;
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Type_struct, MPI_Type_struct(
        count: c_int,
        array_of_blocklengths: *mut c_int,
        array_of_displacements: *mut i64,
        array_of_types: *mut MPI_Datatype,
        newtype: *mut MPI_Datatype,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(138, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newtype, "newtype")?;
                let outcome = towpath_mpi::datatypes::type_create_struct(
                    i64::from(count),
                    Integers::small(array_of_blocklengths).with_length(i64::from(count)),
                    Integers::large(array_of_displacements).with_length(i64::from(count)),
                    HandleArray::new(array_of_types.cast(), &ABI, Kind::Datatype)
                        .with_length(i64::from(count)),
                    false,
                );
                deliver(
                    outcome,
                    |v_newtype| {
                        *newtype = datatype_out(v_newtype);
                    },
                    || {
                        *newtype = datatype_out(towpath_mpi::constants::DATATYPE_NULL);
                    },
                )
            }
        })
    }
}
