//! Topologies (chapter 8).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::useless_conversion)]

use crate::prelude::*;

export! {
    PMPI_Cart_coords, MPI_Cart_coords(
        comm: MPI_Comm,
        rank: c_int,
        maxdims: c_int,
        coords: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(263, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::topologies::cart_coords(
                    comm_in(comm),
                    rank_in(rank),
                    maxdims,
                    IntegersMut::small(coords).with_length(i64::from(maxdims)),
                )?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Cart_create, MPI_Cart_create(
        comm_old: MPI_Comm,
        ndims: c_int,
        dims: *const c_int,
        periods: *const c_int,
        reorder: c_int,
        comm_cart: *mut MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm_old));
        call(264, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(comm_cart, "comm_cart")?;
                let outcome = towpath_mpi::topologies::cart_create(
                    comm_in(comm_old),
                    ndims,
                    Integers::small(dims).with_length(i64::from(ndims)),
                    Integers::small(periods).with_length(i64::from(ndims)),
                    reorder != 0,
                );
                deliver(
                    outcome,
                    |v_comm_cart| {
                        *comm_cart = comm_out(v_comm_cart);
                    },
                    || {
                        *comm_cart = comm_out(towpath_mpi::constants::COMM_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Cart_get, MPI_Cart_get(
        comm: MPI_Comm,
        maxdims: c_int,
        dims: *mut c_int,
        periods: *mut c_int,
        coords: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(265, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::topologies::cart_get(
                    comm_in(comm),
                    maxdims,
                    IntegersMut::small(dims).with_length(i64::from(maxdims)),
                    IntegersMut::small(periods).with_length(i64::from(maxdims)),
                    IntegersMut::small(coords).with_length(i64::from(maxdims)),
                )?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Cart_map, MPI_Cart_map(
        comm: MPI_Comm,
        ndims: c_int,
        dims: *const c_int,
        periods: *const c_int,
        newrank: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(266, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newrank, "newrank")?;
                let outcome = towpath_mpi::topologies::cart_map(
                    comm_in(comm),
                    ndims,
                    Integers::small(dims).with_length(i64::from(ndims)),
                    Integers::small(periods).with_length(i64::from(ndims)),
                );
                deliver(
                    outcome,
                    |v_newrank| {
                        *newrank = rank_out(v_newrank);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Cart_rank, MPI_Cart_rank(comm: MPI_Comm, coords: *const c_int, rank: *mut c_int) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(267, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(rank, "rank")?;
                let outcome =
                    towpath_mpi::topologies::cart_rank(comm_in(comm), Integers::small(coords));
                deliver(
                    outcome,
                    |v_rank| {
                        *rank = rank_out(v_rank);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Cart_shift, MPI_Cart_shift(
        comm: MPI_Comm,
        direction: c_int,
        disp: c_int,
        rank_source: *mut c_int,
        rank_dest: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(268, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(rank_source, "rank_source")?;
                require(rank_dest, "rank_dest")?;
                let outcome = towpath_mpi::topologies::cart_shift(comm_in(comm), direction, disp);
                deliver(
                    outcome,
                    |(v_rank_source, v_rank_dest)| {
                        *rank_source = rank_out(v_rank_source);
                        *rank_dest = rank_out(v_rank_dest);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Cart_sub, MPI_Cart_sub(
        comm: MPI_Comm,
        remain_dims: *const c_int,
        newcomm: *mut MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(269, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newcomm, "newcomm")?;
                let outcome =
                    towpath_mpi::topologies::cart_sub(comm_in(comm), Integers::small(remain_dims));
                deliver(
                    outcome,
                    |v_newcomm| {
                        *newcomm = comm_out(v_newcomm);
                    },
                    || {
                        *newcomm = comm_out(towpath_mpi::constants::COMM_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Cartdim_get, MPI_Cartdim_get(comm: MPI_Comm, ndims: *mut c_int) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(270, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(ndims, "ndims")?;
                let outcome = towpath_mpi::topologies::cartdim_get(comm_in(comm));
                deliver(
                    outcome,
                    |v_ndims| {
                        *ndims = v_ndims;
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Dims_create, MPI_Dims_create(nnodes: c_int, ndims: c_int, dims: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call(271, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::topologies::dims_create(
                    nnodes,
                    ndims,
                    IntegersMut::small(dims).with_length(i64::from(ndims)),
                )?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Dist_graph_create, MPI_Dist_graph_create(
        comm_old: MPI_Comm,
        n: c_int,
        sources: *const c_int,
        degrees: *const c_int,
        destinations: *const c_int,
        weights: *const c_int,
        info: MPI_Info,
        reorder: c_int,
        comm_dist_graph: *mut MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm_old));
        call(272, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                let v_sources = ranks_in(sources, n);
                let v_destinations = ranks_in(destinations, total_of(degrees, n));
                require(comm_dist_graph, "comm_dist_graph")?;
                let outcome = towpath_mpi::topologies::dist_graph_create(
                    comm_in(comm_old),
                    n,
                    v_sources.integers(),
                    Integers::small(degrees).with_length(i64::from(n)),
                    v_destinations.integers(),
                    weights_in(weights).with_length(i64::from(total_of(degrees, n))),
                    info_in(info),
                    reorder != 0,
                );
                deliver(
                    outcome,
                    |v_comm_dist_graph| {
                        *comm_dist_graph = comm_out(v_comm_dist_graph);
                    },
                    || {
                        *comm_dist_graph = comm_out(towpath_mpi::constants::COMM_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Dist_graph_create_adjacent, MPI_Dist_graph_create_adjacent(
        comm_old: MPI_Comm,
        indegree: c_int,
        sources: *const c_int,
        sourceweights: *const c_int,
        outdegree: c_int,
        destinations: *const c_int,
        destweights: *const c_int,
        info: MPI_Info,
        reorder: c_int,
        comm_dist_graph: *mut MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm_old));
        call(273, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                let v_sources = ranks_in(sources, indegree);
                let v_destinations = ranks_in(destinations, outdegree);
                require(comm_dist_graph, "comm_dist_graph")?;
                let outcome = towpath_mpi::topologies::dist_graph_create_adjacent(
                    comm_in(comm_old),
                    indegree,
                    v_sources.integers(),
                    weights_in(sourceweights).with_length(i64::from(indegree)),
                    outdegree,
                    v_destinations.integers(),
                    weights_in(destweights).with_length(i64::from(outdegree)),
                    info_in(info),
                    reorder != 0,
                );
                deliver(
                    outcome,
                    |v_comm_dist_graph| {
                        *comm_dist_graph = comm_out(v_comm_dist_graph);
                    },
                    || {
                        *comm_dist_graph = comm_out(towpath_mpi::constants::COMM_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Dist_graph_neighbors, MPI_Dist_graph_neighbors(
        comm: MPI_Comm,
        maxindegree: c_int,
        sources: *mut c_int,
        sourceweights: *mut c_int,
        maxoutdegree: c_int,
        destinations: *mut c_int,
        destweights: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(274, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                let mut v_sources = ranks_out(sources, maxindegree);
                let mut v_destinations = ranks_out(destinations, maxoutdegree);
                let outcome = towpath_mpi::topologies::dist_graph_neighbors(
                    comm_in(comm),
                    maxindegree,
                    v_sources.integers(),
                    weights_out(sourceweights).with_length(i64::from(maxindegree)),
                    maxoutdegree,
                    v_destinations.integers(),
                    weights_out(destweights).with_length(i64::from(maxoutdegree)),
                );
                v_sources.finish();
                v_destinations.finish();
                outcome?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Dist_graph_neighbors_count, MPI_Dist_graph_neighbors_count(
        comm: MPI_Comm,
        indegree: *mut c_int,
        outdegree: *mut c_int,
        weighted: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(275, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(indegree, "indegree")?;
                require(outdegree, "outdegree")?;
                require(weighted, "weighted")?;
                let outcome = towpath_mpi::topologies::dist_graph_neighbors_count(comm_in(comm));
                deliver(
                    outcome,
                    |(v_indegree, v_outdegree, v_weighted)| {
                        *indegree = v_indegree;
                        *outdegree = v_outdegree;
                        *weighted = c_int::from(v_weighted);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Graph_create, MPI_Graph_create(
        comm_old: MPI_Comm,
        nnodes: c_int,
        indx: *const c_int,
        edges: *const c_int,
        reorder: c_int,
        comm_graph: *mut MPI_Comm,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm_old));
        call(276, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(comm_graph, "comm_graph")?;
                let outcome = towpath_mpi::topologies::graph_create(
                    comm_in(comm_old),
                    nnodes,
                    Integers::small(indx).with_length(i64::from(nnodes)),
                    Integers::small(edges),
                    reorder != 0,
                );
                deliver(
                    outcome,
                    |v_comm_graph| {
                        *comm_graph = comm_out(v_comm_graph);
                    },
                    || {
                        *comm_graph = comm_out(towpath_mpi::constants::COMM_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Graph_get, MPI_Graph_get(
        comm: MPI_Comm,
        maxindex: c_int,
        maxedges: c_int,
        indx: *mut c_int,
        edges: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(277, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::topologies::graph_get(
                    comm_in(comm),
                    maxindex,
                    maxedges,
                    IntegersMut::small(indx).with_length(i64::from(maxindex)),
                    IntegersMut::small(edges).with_length(i64::from(maxedges)),
                )?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Graph_map, MPI_Graph_map(
        comm: MPI_Comm,
        nnodes: c_int,
        indx: *const c_int,
        edges: *const c_int,
        newrank: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(278, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newrank, "newrank")?;
                let outcome = towpath_mpi::topologies::graph_map(
                    comm_in(comm),
                    nnodes,
                    Integers::small(indx).with_length(i64::from(nnodes)),
                    Integers::small(edges),
                );
                deliver(
                    outcome,
                    |v_newrank| {
                        *newrank = rank_out(v_newrank);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Graph_neighbors, MPI_Graph_neighbors(
        comm: MPI_Comm,
        rank: c_int,
        maxneighbors: c_int,
        neighbors: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(279, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                towpath_mpi::topologies::graph_neighbors(
                    comm_in(comm),
                    rank_in(rank),
                    maxneighbors,
                    IntegersMut::small(neighbors).with_length(i64::from(maxneighbors)),
                )?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Graph_neighbors_count, MPI_Graph_neighbors_count(
        comm: MPI_Comm,
        rank: c_int,
        nneighbors: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(280, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(nneighbors, "nneighbors")?;
                let outcome =
                    towpath_mpi::topologies::graph_neighbors_count(comm_in(comm), rank_in(rank));
                deliver(
                    outcome,
                    |v_nneighbors| {
                        *nneighbors = v_nneighbors;
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Graphdims_get, MPI_Graphdims_get(
        comm: MPI_Comm,
        nnodes: *mut c_int,
        nedges: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(281, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(nnodes, "nnodes")?;
                require(nedges, "nedges")?;
                let outcome = towpath_mpi::topologies::graphdims_get(comm_in(comm));
                deliver(
                    outcome,
                    |(v_nnodes, v_nedges)| {
                        *nnodes = v_nnodes;
                        *nedges = v_nedges;
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Topo_test, MPI_Topo_test(comm: MPI_Comm, status: *mut c_int) {
        let owner = || ErrhandlerOwner::Comm(comm_in(comm));
        call(282, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(status, "status")?;
                let outcome = towpath_mpi::topologies::topo_test(comm_in(comm));
                deliver(
                    outcome,
                    |v_status| {
                        *status = topology_out(v_status);
                    },
                    || {},
                )
            }
        })
    }
}
