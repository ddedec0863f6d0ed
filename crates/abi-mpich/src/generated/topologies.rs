//! Topologies (chapter 8).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::unit_arg, clippy::let_unit_value)]

use crate::prelude::*;

export! {
    PMPI_Cart_coords, MPI_Cart_coords(comm: MPI_Comm, rank: c_int, maxdims: c_int, coords: *mut c_int) {
        call(263, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Cart_create, MPI_Cart_create(comm_old: MPI_Comm, ndims: c_int, dims: *const c_int, periods: *const c_int, reorder: c_int, comm_cart: *mut MPI_Comm) {
        call(264, Target::Comm(comm_in(comm_old)), || Err(not_built()))
    }
}

export! {
    PMPI_Cart_get, MPI_Cart_get(comm: MPI_Comm, maxdims: c_int, dims: *mut c_int, periods: *mut c_int, coords: *mut c_int) {
        call(265, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Cart_map, MPI_Cart_map(comm: MPI_Comm, ndims: c_int, dims: *const c_int, periods: *const c_int, newrank: *mut c_int) {
        call(266, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Cart_rank, MPI_Cart_rank(comm: MPI_Comm, coords: *const c_int, rank: *mut c_int) {
        call(267, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Cart_shift, MPI_Cart_shift(comm: MPI_Comm, direction: c_int, disp: c_int, rank_source: *mut c_int, rank_dest: *mut c_int) {
        call(268, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Cart_sub, MPI_Cart_sub(comm: MPI_Comm, remain_dims: *const c_int, newcomm: *mut MPI_Comm) {
        call(269, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Cartdim_get, MPI_Cartdim_get(comm: MPI_Comm, ndims: *mut c_int) {
        call(270, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Dims_create, MPI_Dims_create(nnodes: c_int, ndims: c_int, dims: *mut c_int) {
        call(271, Target::None, || Err(not_built()))
    }
}

export! {
    PMPI_Dist_graph_create, MPI_Dist_graph_create(comm_old: MPI_Comm, n: c_int, sources: *const c_int, degrees: *const c_int, destinations: *const c_int, weights: *const c_int, info: MPI_Info, reorder: c_int, comm_dist_graph: *mut MPI_Comm) {
        call(272, Target::Comm(comm_in(comm_old)), || Err(not_built()))
    }
}

export! {
    PMPI_Dist_graph_create_adjacent, MPI_Dist_graph_create_adjacent(comm_old: MPI_Comm, indegree: c_int, sources: *const c_int, sourceweights: *const c_int, outdegree: c_int, destinations: *const c_int, destweights: *const c_int, info: MPI_Info, reorder: c_int, comm_dist_graph: *mut MPI_Comm) {
        call(273, Target::Comm(comm_in(comm_old)), || Err(not_built()))
    }
}

export! {
    PMPI_Dist_graph_neighbors, MPI_Dist_graph_neighbors(comm: MPI_Comm, maxindegree: c_int, sources: *mut c_int, sourceweights: *mut c_int, maxoutdegree: c_int, destinations: *mut c_int, destweights: *mut c_int) {
        call(274, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Dist_graph_neighbors_count, MPI_Dist_graph_neighbors_count(comm: MPI_Comm, indegree: *mut c_int, outdegree: *mut c_int, weighted: *mut c_int) {
        call(275, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Graph_create, MPI_Graph_create(comm_old: MPI_Comm, nnodes: c_int, indx: *const c_int, edges: *const c_int, reorder: c_int, comm_graph: *mut MPI_Comm) {
        call(276, Target::Comm(comm_in(comm_old)), || Err(not_built()))
    }
}

export! {
    PMPI_Graph_get, MPI_Graph_get(comm: MPI_Comm, maxindex: c_int, maxedges: c_int, indx: *mut c_int, edges: *mut c_int) {
        call(277, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Graph_map, MPI_Graph_map(comm: MPI_Comm, nnodes: c_int, indx: *const c_int, edges: *const c_int, newrank: *mut c_int) {
        call(278, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Graph_neighbors, MPI_Graph_neighbors(comm: MPI_Comm, rank: c_int, maxneighbors: c_int, neighbors: *mut c_int) {
        call(279, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Graph_neighbors_count, MPI_Graph_neighbors_count(comm: MPI_Comm, rank: c_int, nneighbors: *mut c_int) {
        call(280, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Graphdims_get, MPI_Graphdims_get(comm: MPI_Comm, nnodes: *mut c_int, nedges: *mut c_int) {
        call(281, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}

export! {
    PMPI_Topo_test, MPI_Topo_test(comm: MPI_Comm, status: *mut c_int) {
        call(282, Target::Comm(comm_in(comm)), || Err(not_built()))
    }
}
