//! Groups (7.3).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::unit_arg, clippy::let_unit_value)]

use crate::prelude::*;

export! {
    PMPI_Group_compare, MPI_Group_compare(group1: MPI_Group, group2: MPI_Group, result: *mut c_int) {
        call(209, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Group_difference, MPI_Group_difference(group1: MPI_Group, group2: MPI_Group, newgroup: *mut MPI_Group) {
        call(210, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Group_excl, MPI_Group_excl(group: MPI_Group, n: c_int, ranks: *const c_int, newgroup: *mut MPI_Group) {
        call(211, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Group_free, MPI_Group_free(group: *mut MPI_Group) {
        call(212, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Group_incl, MPI_Group_incl(group: MPI_Group, n: c_int, ranks: *const c_int, newgroup: *mut MPI_Group) {
        call(213, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Group_intersection, MPI_Group_intersection(group1: MPI_Group, group2: MPI_Group, newgroup: *mut MPI_Group) {
        call(214, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Group_range_excl, MPI_Group_range_excl(group: MPI_Group, n: c_int, ranges: *const c_int, newgroup: *mut MPI_Group) {
        call(215, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Group_range_incl, MPI_Group_range_incl(group: MPI_Group, n: c_int, ranges: *const c_int, newgroup: *mut MPI_Group) {
        call(216, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Group_rank, MPI_Group_rank(group: MPI_Group, rank: *mut c_int) {
        call(217, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Group_size, MPI_Group_size(group: MPI_Group, size: *mut c_int) {
        call(218, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Group_translate_ranks, MPI_Group_translate_ranks(group1: MPI_Group, n: c_int, ranks1: *const c_int, group2: MPI_Group, ranks2: *mut c_int) {
        call(219, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Group_union, MPI_Group_union(group1: MPI_Group, group2: MPI_Group, newgroup: *mut MPI_Group) {
        call(220, Target::None, || Err(not_built()))
    }
}
