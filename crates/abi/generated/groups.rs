//! Groups (7.3).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::useless_conversion)]

use crate::prelude::*;

export! {
    PMPI_Group_compare, MPI_Group_compare(
        group1: MPI_Group,
        group2: MPI_Group,
        result: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(209, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(result, "result")?;
                let outcome =
                    towpath_mpi::groups::group_compare(group_in(group1), group_in(group2));
                deliver(
                    outcome,
                    |v_result| {
                        *result = comparison_out(v_result);
                    },
                    || {},
                )
            }
        })
    }
}

export! {
    PMPI_Group_difference, MPI_Group_difference(
        group1: MPI_Group,
        group2: MPI_Group,
        newgroup: *mut MPI_Group,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(210, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newgroup, "newgroup")?;
                let outcome =
                    towpath_mpi::groups::group_difference(group_in(group1), group_in(group2));
                deliver(
                    outcome,
                    |v_newgroup| {
                        *newgroup = group_out(v_newgroup);
                    },
                    || {
                        *newgroup = group_out(towpath_mpi::constants::GROUP_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Group_excl, MPI_Group_excl(
        group: MPI_Group,
        n: c_int,
        ranks: *const c_int,
        newgroup: *mut MPI_Group,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(211, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newgroup, "newgroup")?;
                let outcome = towpath_mpi::groups::group_excl(
                    group_in(group),
                    n,
                    Integers::small(ranks).with_length(i64::from(n)),
                );
                deliver(
                    outcome,
                    |v_newgroup| {
                        *newgroup = group_out(v_newgroup);
                    },
                    || {
                        *newgroup = group_out(towpath_mpi::constants::GROUP_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Group_free, MPI_Group_free(group: *mut MPI_Group) {
        let owner = || ErrhandlerOwner::None;
        call(212, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(group, "group")?;
                let mut v_group = group_in(*group);
                let outcome = towpath_mpi::groups::group_free(&mut v_group);
                *group = group_out(v_group);
                outcome?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Group_incl, MPI_Group_incl(
        group: MPI_Group,
        n: c_int,
        ranks: *const c_int,
        newgroup: *mut MPI_Group,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(213, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newgroup, "newgroup")?;
                let outcome = towpath_mpi::groups::group_incl(
                    group_in(group),
                    n,
                    Integers::small(ranks).with_length(i64::from(n)),
                );
                deliver(
                    outcome,
                    |v_newgroup| {
                        *newgroup = group_out(v_newgroup);
                    },
                    || {
                        *newgroup = group_out(towpath_mpi::constants::GROUP_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Group_intersection, MPI_Group_intersection(
        group1: MPI_Group,
        group2: MPI_Group,
        newgroup: *mut MPI_Group,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(214, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newgroup, "newgroup")?;
                let outcome =
                    towpath_mpi::groups::group_intersection(group_in(group1), group_in(group2));
                deliver(
                    outcome,
                    |v_newgroup| {
                        *newgroup = group_out(v_newgroup);
                    },
                    || {
                        *newgroup = group_out(towpath_mpi::constants::GROUP_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Group_range_excl, MPI_Group_range_excl(
        group: MPI_Group,
        n: c_int,
        ranges: *const c_int,
        newgroup: *mut MPI_Group,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(215, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newgroup, "newgroup")?;
                let outcome = towpath_mpi::groups::group_range_excl(
                    group_in(group),
                    n,
                    Integers::small(ranges.cast()).with_length(3 * i64::from(n)),
                );
                deliver(
                    outcome,
                    |v_newgroup| {
                        *newgroup = group_out(v_newgroup);
                    },
                    || {
                        *newgroup = group_out(towpath_mpi::constants::GROUP_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Group_range_incl, MPI_Group_range_incl(
        group: MPI_Group,
        n: c_int,
        ranges: *const c_int,
        newgroup: *mut MPI_Group,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(216, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newgroup, "newgroup")?;
                let outcome = towpath_mpi::groups::group_range_incl(
                    group_in(group),
                    n,
                    Integers::small(ranges.cast()).with_length(3 * i64::from(n)),
                );
                deliver(
                    outcome,
                    |v_newgroup| {
                        *newgroup = group_out(v_newgroup);
                    },
                    || {
                        *newgroup = group_out(towpath_mpi::constants::GROUP_NULL);
                    },
                )
            }
        })
    }
}

export! {
    PMPI_Group_rank, MPI_Group_rank(group: MPI_Group, rank: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call(217, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(rank, "rank")?;
                let outcome = towpath_mpi::groups::group_rank(group_in(group));
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
    PMPI_Group_size, MPI_Group_size(group: MPI_Group, size: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call(218, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(size, "size")?;
                let outcome = towpath_mpi::groups::group_size(group_in(group));
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
    PMPI_Group_translate_ranks, MPI_Group_translate_ranks(
        group1: MPI_Group,
        n: c_int,
        ranks1: *const c_int,
        group2: MPI_Group,
        ranks2: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(219, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                let v_ranks1 = ranks_in(ranks1, n);
                let mut v_ranks2 = ranks_out(ranks2, n);
                let outcome = towpath_mpi::groups::group_translate_ranks(
                    group_in(group1),
                    n,
                    v_ranks1.integers(),
                    group_in(group2),
                    v_ranks2.integers(),
                );
                v_ranks2.finish();
                outcome?;
                Ok(())
            }
        })
    }
}

export! {
    PMPI_Group_union, MPI_Group_union(
        group1: MPI_Group,
        group2: MPI_Group,
        newgroup: *mut MPI_Group,
    ) {
        let owner = || ErrhandlerOwner::None;
        call(220, owner, || {
            // SAFETY: the program's pointers point to what their parameters mean.
            unsafe {
                require(newgroup, "newgroup")?;
                let outcome = towpath_mpi::groups::group_union(group_in(group1), group_in(group2));
                deliver(
                    outcome,
                    |v_newgroup| {
                        *newgroup = group_out(v_newgroup);
                    },
                    || {
                        *newgroup = group_out(towpath_mpi::constants::GROUP_NULL);
                    },
                )
            }
        })
    }
}
