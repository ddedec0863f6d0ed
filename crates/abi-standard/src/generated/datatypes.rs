//! Datatypes and packing (chapter 5).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::unit_arg, clippy::let_unit_value)]

use crate::prelude::*;

export! {
    PMPI_Get_address, MPI_Get_address(location: *const c_void, address: *mut i64) {
        call_any_time(96, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Pack, MPI_Pack(inbuf: *const c_void, incount: c_int, datatype: MPI_Datatype, outbuf: *mut c_void, outsize: c_int, position: *mut c_int, comm: MPI_Comm) {
        call(97, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Pack_c, MPI_Pack_c(inbuf: *const c_void, incount: i64, datatype: MPI_Datatype, outbuf: *mut c_void, outsize: i64, position: *mut i64, comm: MPI_Comm) {
        call(97, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Pack_external, MPI_Pack_external(datarep: *const c_char, inbuf: *const c_void, incount: c_int, datatype: MPI_Datatype, outbuf: *mut c_void, outsize: i64, position: *mut i64) {
        call(98, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Pack_external_c, MPI_Pack_external_c(datarep: *const c_char, inbuf: *const c_void, incount: i64, datatype: MPI_Datatype, outbuf: *mut c_void, outsize: i64, position: *mut i64) {
        call(98, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Pack_external_size, MPI_Pack_external_size(datarep: *const c_char, incount: c_int, datatype: MPI_Datatype, size: *mut i64) {
        call(99, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Pack_external_size_c, MPI_Pack_external_size_c(datarep: *const c_char, incount: i64, datatype: MPI_Datatype, size: *mut i64) {
        call(99, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Pack_size, MPI_Pack_size(incount: c_int, datatype: MPI_Datatype, comm: MPI_Comm, size: *mut c_int) {
        call(100, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Pack_size_c, MPI_Pack_size_c(incount: i64, datatype: MPI_Datatype, comm: MPI_Comm, size: *mut i64) {
        call(100, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Type_commit, MPI_Type_commit(datatype: *mut MPI_Datatype) {
        call(101, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_contiguous, MPI_Type_contiguous(count: c_int, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) {
        call(102, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_contiguous_c, MPI_Type_contiguous_c(count: i64, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) {
        call(102, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_create_darray, MPI_Type_create_darray(size: c_int, rank: c_int, ndims: c_int, array_of_gsizes: *const c_int, array_of_distribs: *const c_int, array_of_dargs: *const c_int, array_of_psizes: *const c_int, order: c_int, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) {
        call(103, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_create_darray_c, MPI_Type_create_darray_c(size: c_int, rank: c_int, ndims: c_int, array_of_gsizes: *const i64, array_of_distribs: *const c_int, array_of_dargs: *const c_int, array_of_psizes: *const c_int, order: c_int, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) {
        call(103, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_create_f90_complex, MPI_Type_create_f90_complex(p: c_int, r: c_int, newtype: *mut MPI_Datatype) {
        call(104, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_create_f90_integer, MPI_Type_create_f90_integer(r: c_int, newtype: *mut MPI_Datatype) {
        call(105, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_create_f90_real, MPI_Type_create_f90_real(p: c_int, r: c_int, newtype: *mut MPI_Datatype) {
        call(106, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_create_hindexed, MPI_Type_create_hindexed(count: c_int, array_of_blocklengths: *const c_int, array_of_displacements: *const i64, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) {
        call(107, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_create_hindexed_c, MPI_Type_create_hindexed_c(count: i64, array_of_blocklengths: *const i64, array_of_displacements: *const i64, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) {
        call(107, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_create_hindexed_block, MPI_Type_create_hindexed_block(count: c_int, blocklength: c_int, array_of_displacements: *const i64, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) {
        call(108, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_create_hindexed_block_c, MPI_Type_create_hindexed_block_c(count: i64, blocklength: i64, array_of_displacements: *const i64, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) {
        call(108, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_create_hvector, MPI_Type_create_hvector(count: c_int, blocklength: c_int, stride: i64, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) {
        call(109, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_create_hvector_c, MPI_Type_create_hvector_c(count: i64, blocklength: i64, stride: i64, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) {
        call(109, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_create_indexed_block, MPI_Type_create_indexed_block(count: c_int, blocklength: c_int, array_of_displacements: *const c_int, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) {
        call(110, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_create_indexed_block_c, MPI_Type_create_indexed_block_c(count: i64, blocklength: i64, array_of_displacements: *const i64, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) {
        call(110, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_create_resized, MPI_Type_create_resized(oldtype: MPI_Datatype, lb: i64, extent: i64, newtype: *mut MPI_Datatype) {
        call(111, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_create_resized_c, MPI_Type_create_resized_c(oldtype: MPI_Datatype, lb: i64, extent: i64, newtype: *mut MPI_Datatype) {
        call(111, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_create_struct, MPI_Type_create_struct(count: c_int, array_of_blocklengths: *const c_int, array_of_displacements: *const i64, array_of_types: *const MPI_Datatype, newtype: *mut MPI_Datatype) {
        call(112, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_create_struct_c, MPI_Type_create_struct_c(count: i64, array_of_blocklengths: *const i64, array_of_displacements: *const i64, array_of_types: *const MPI_Datatype, newtype: *mut MPI_Datatype) {
        call(112, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_create_subarray, MPI_Type_create_subarray(ndims: c_int, array_of_sizes: *const c_int, array_of_subsizes: *const c_int, array_of_starts: *const c_int, order: c_int, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) {
        call(113, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_create_subarray_c, MPI_Type_create_subarray_c(ndims: c_int, array_of_sizes: *const i64, array_of_subsizes: *const i64, array_of_starts: *const i64, order: c_int, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) {
        call(113, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_dup, MPI_Type_dup(oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) {
        call(114, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_extent, MPI_Type_extent(datatype: MPI_Datatype, extent: *mut i64) {
        call(115, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_free, MPI_Type_free(datatype: *mut MPI_Datatype) {
        call(116, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_get_contents, MPI_Type_get_contents(datatype: MPI_Datatype, max_integers: c_int, max_addresses: c_int, max_datatypes: c_int, array_of_integers: *mut c_int, array_of_addresses: *mut i64, array_of_datatypes: *mut MPI_Datatype) {
        call(117, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_get_contents_c, MPI_Type_get_contents_c(datatype: MPI_Datatype, max_integers: i64, max_addresses: i64, max_large_counts: i64, max_datatypes: i64, array_of_integers: *mut c_int, array_of_addresses: *mut i64, array_of_large_counts: *mut i64, array_of_datatypes: *mut MPI_Datatype) {
        call(117, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_get_envelope, MPI_Type_get_envelope(datatype: MPI_Datatype, num_integers: *mut c_int, num_addresses: *mut c_int, num_datatypes: *mut c_int, combiner: *mut c_int) {
        call(118, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_get_envelope_c, MPI_Type_get_envelope_c(datatype: MPI_Datatype, num_integers: *mut i64, num_addresses: *mut i64, num_large_counts: *mut i64, num_datatypes: *mut i64, combiner: *mut c_int) {
        call(118, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_get_extent, MPI_Type_get_extent(datatype: MPI_Datatype, lb: *mut i64, extent: *mut i64) {
        call(119, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_get_extent_c, MPI_Type_get_extent_c(datatype: MPI_Datatype, lb: *mut i64, extent: *mut i64) {
        call(119, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_get_name, MPI_Type_get_name(datatype: MPI_Datatype, type_name: *mut c_char, resultlen: *mut c_int) {
        call(120, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_get_true_extent, MPI_Type_get_true_extent(datatype: MPI_Datatype, true_lb: *mut i64, true_extent: *mut i64) {
        call(121, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_get_true_extent_c, MPI_Type_get_true_extent_c(datatype: MPI_Datatype, true_lb: *mut i64, true_extent: *mut i64) {
        call(121, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_get_value_index, MPI_Type_get_value_index(value_type: MPI_Datatype, index_type: MPI_Datatype, pair_type: *mut MPI_Datatype) {
        call(122, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_indexed, MPI_Type_indexed(count: c_int, array_of_blocklengths: *const c_int, array_of_displacements: *const c_int, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) {
        call(123, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_indexed_c, MPI_Type_indexed_c(count: i64, array_of_blocklengths: *const i64, array_of_displacements: *const i64, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) {
        call(123, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_lb, MPI_Type_lb(datatype: MPI_Datatype, displacement: *mut i64) {
        call(124, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_match_size, MPI_Type_match_size(typeclass: c_int, size: c_int, datatype: *mut MPI_Datatype) {
        call(125, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_set_name, MPI_Type_set_name(datatype: MPI_Datatype, type_name: *const c_char) {
        call(126, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_size, MPI_Type_size(datatype: MPI_Datatype, size: *mut c_int) {
        call(127, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_size_c, MPI_Type_size_c(datatype: MPI_Datatype, size: *mut i64) {
        call(127, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_ub, MPI_Type_ub(datatype: MPI_Datatype, displacement: *mut i64) {
        call(128, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_vector, MPI_Type_vector(count: c_int, blocklength: c_int, stride: c_int, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) {
        call(129, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_vector_c, MPI_Type_vector_c(count: i64, blocklength: i64, stride: i64, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) {
        call(129, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Unpack, MPI_Unpack(inbuf: *const c_void, insize: c_int, position: *mut c_int, outbuf: *mut c_void, outcount: c_int, datatype: MPI_Datatype, comm: MPI_Comm) {
        call(130, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Unpack_c, MPI_Unpack_c(inbuf: *const c_void, insize: i64, position: *mut i64, outbuf: *mut c_void, outcount: i64, datatype: MPI_Datatype, comm: MPI_Comm) {
        call(130, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Unpack_external, MPI_Unpack_external(datarep: *const c_char, inbuf: *const c_void, insize: i64, position: *mut i64, outbuf: *mut c_void, outcount: c_int, datatype: MPI_Datatype) {
        call(131, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Unpack_external_c, MPI_Unpack_external_c(datarep: *const c_char, inbuf: *const c_void, insize: i64, position: *mut i64, outbuf: *mut c_void, outcount: i64, datatype: MPI_Datatype) {
        call(131, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Address, MPI_Address(location: *mut c_void, address: *mut i64) {
        call_any_time(132, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_get_extent_x, MPI_Type_get_extent_x(datatype: MPI_Datatype, lb: *mut i64, extent: *mut i64) {
        call(133, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_get_true_extent_x, MPI_Type_get_true_extent_x(datatype: MPI_Datatype, true_lb: *mut i64, true_extent: *mut i64) {
        call(134, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_hindexed, MPI_Type_hindexed(count: c_int, array_of_blocklengths: *const c_int, array_of_displacements: *const i64, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) {
        call(135, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_hvector, MPI_Type_hvector(count: c_int, blocklength: c_int, stride: i64, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) {
        call(136, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_size_x, MPI_Type_size_x(datatype: MPI_Datatype, size: *mut i64) {
        call(137, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Type_struct, MPI_Type_struct(count: c_int, array_of_blocklengths: *const c_int, array_of_displacements: *const i64, array_of_types: *const MPI_Datatype, newtype: *mut MPI_Datatype) {
        call(138, Target::None, || Err(not_built()))
    }
}
