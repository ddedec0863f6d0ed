//! The persistent collectives (MPI 5.0, section 6.13): each returns an inactive request, for which
//! the plan is made once. Arguments are checked and plans are made by the functions of the blocking
//! names in `movement`, `reductions` and `neighbors`. No info keys are known.

use std::ffi::c_void;

use super::{movement, neighbors, reductions};
use crate::error::Result;
use crate::face::{Handle, HandleArray, Integers};
use crate::info::known;

/// MPI_Barrier_init.
pub fn barrier_init(comm: Handle, info: Handle) -> Result<Handle> {
    known(info)?;
    // SAFETY: a barrier touches no memory of the program.
    unsafe { movement::barrier(comm)?.keep() }
}

/// MPI_Bcast_init.
///
/// # Safety
/// As the blocking form; the buffers must live whenever the request is active.
pub unsafe fn bcast_init(
    buffer: *mut c_void,
    count: i64,
    datatype: Handle,
    root: i32,
    comm: Handle,
    info: Handle,
) -> Result<Handle> {
    known(info)?;
    // SAFETY: promised by the caller.
    unsafe { movement::bcast(buffer, count, datatype, root, comm)?.keep() }
}

/// MPI_Gather_init.
///
/// # Safety
/// As the blocking form; the buffers must live whenever the request is active.
pub unsafe fn gather_init(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    root: i32,
    comm: Handle,
    info: Handle,
) -> Result<Handle> {
    known(info)?;
    // SAFETY: promised by the caller.
    unsafe { movement::gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm)?.keep() }
}

/// MPI_Gatherv_init.
///
/// # Safety
/// As the blocking form; the buffers must live whenever the request is active.
pub unsafe fn gatherv_init(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    displs: Integers,
    recvtype: Handle,
    root: i32,
    comm: Handle,
    info: Handle,
) -> Result<Handle> {
    known(info)?;
    // SAFETY: promised by the caller.
    unsafe {
        movement::gatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm)?.keep()
    }
}

/// MPI_Scatter_init.
///
/// # Safety
/// As the blocking form; the buffers must live whenever the request is active.
pub unsafe fn scatter_init(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    root: i32,
    comm: Handle,
    info: Handle,
) -> Result<Handle> {
    known(info)?;
    // SAFETY: promised by the caller.
    unsafe { movement::scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm)?.keep() }
}

/// MPI_Scatterv_init.
///
/// # Safety
/// As the blocking form; the buffers must live whenever the request is active.
pub unsafe fn scatterv_init(
    sendbuf: *const c_void,
    sendcounts: Integers,
    displs: Integers,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    root: i32,
    comm: Handle,
    info: Handle,
) -> Result<Handle> {
    known(info)?;
    // SAFETY: promised by the caller.
    unsafe {
        movement::scatterv(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm)?.keep()
    }
}

/// MPI_Allgather_init.
///
/// # Safety
/// As the blocking form; the buffers must live whenever the request is active.
pub unsafe fn allgather_init(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    comm: Handle,
    info: Handle,
) -> Result<Handle> {
    known(info)?;
    // SAFETY: promised by the caller.
    unsafe { movement::allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)?.keep() }
}

/// MPI_Allgatherv_init.
///
/// # Safety
/// As the blocking form; the buffers must live whenever the request is active.
pub unsafe fn allgatherv_init(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    displs: Integers,
    recvtype: Handle,
    comm: Handle,
    info: Handle,
) -> Result<Handle> {
    known(info)?;
    // SAFETY: promised by the caller.
    unsafe { movement::allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm)?.keep() }
}

/// MPI_Alltoall_init.
///
/// # Safety
/// As the blocking form; the buffers must live whenever the request is active.
pub unsafe fn alltoall_init(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    comm: Handle,
    info: Handle,
) -> Result<Handle> {
    known(info)?;
    // SAFETY: promised by the caller.
    unsafe { movement::alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)?.keep() }
}

/// MPI_Alltoallv_init.
///
/// # Safety
/// As the blocking form; the buffers must live whenever the request is active.
pub unsafe fn alltoallv_init(
    sendbuf: *const c_void,
    sendcounts: Integers,
    sdispls: Integers,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    rdispls: Integers,
    recvtype: Handle,
    comm: Handle,
    info: Handle,
) -> Result<Handle> {
    known(info)?;
    // SAFETY: promised by the caller.
    unsafe {
        movement::alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm)?
            .keep()
    }
}

/// MPI_Alltoallw_init.
///
/// # Safety
/// As the blocking form; the buffers must live whenever the request is active.
pub unsafe fn alltoallw_init(
    sendbuf: *const c_void,
    sendcounts: Integers,
    sdispls: Integers,
    sendtypes: HandleArray,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    rdispls: Integers,
    recvtypes: HandleArray,
    comm: Handle,
    info: Handle,
) -> Result<Handle> {
    known(info)?;
    // SAFETY: promised by the caller.
    unsafe {
        movement::alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm)?
            .keep()
    }
}

/// MPI_Reduce_init.
///
/// # Safety
/// As the blocking form; the buffers must live whenever the request is active.
pub unsafe fn reduce_init(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Handle,
    op: Handle,
    root: i32,
    comm: Handle,
    info: Handle,
) -> Result<Handle> {
    known(info)?;
    // SAFETY: promised by the caller.
    unsafe { reductions::reduce(sendbuf, recvbuf, count, datatype, op, root, comm)?.keep() }
}

/// MPI_Allreduce_init.
///
/// # Safety
/// As the blocking form; the buffers must live whenever the request is active.
pub unsafe fn allreduce_init(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Handle,
    op: Handle,
    comm: Handle,
    info: Handle,
) -> Result<Handle> {
    known(info)?;
    // SAFETY: promised by the caller.
    unsafe { reductions::allreduce(sendbuf, recvbuf, count, datatype, op, comm)?.keep() }
}

/// MPI_Reduce_scatter_block_init.
///
/// # Safety
/// As the blocking form; the buffers must live whenever the request is active.
pub unsafe fn reduce_scatter_block_init(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcount: i64,
    datatype: Handle,
    op: Handle,
    comm: Handle,
    info: Handle,
) -> Result<Handle> {
    known(info)?;
    // SAFETY: promised by the caller.
    unsafe { reductions::reduce_scatter_block(sendbuf, recvbuf, recvcount, datatype, op, comm)?.keep() }
}

/// MPI_Reduce_scatter_init.
///
/// # Safety
/// As the blocking form; the buffers must live whenever the request is active.
pub unsafe fn reduce_scatter_init(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    datatype: Handle,
    op: Handle,
    comm: Handle,
    info: Handle,
) -> Result<Handle> {
    known(info)?;
    // SAFETY: promised by the caller.
    unsafe { reductions::reduce_scatter(sendbuf, recvbuf, recvcounts, datatype, op, comm)?.keep() }
}

/// MPI_Scan_init.
///
/// # Safety
/// As the blocking form; the buffers must live whenever the request is active.
pub unsafe fn scan_init(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Handle,
    op: Handle,
    comm: Handle,
    info: Handle,
) -> Result<Handle> {
    known(info)?;
    // SAFETY: promised by the caller.
    unsafe { reductions::scan(sendbuf, recvbuf, count, datatype, op, comm)?.keep() }
}

/// MPI_Exscan_init.
///
/// # Safety
/// As the blocking form; the buffers must live whenever the request is active.
pub unsafe fn exscan_init(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Handle,
    op: Handle,
    comm: Handle,
    info: Handle,
) -> Result<Handle> {
    known(info)?;
    // SAFETY: promised by the caller.
    unsafe { reductions::exscan(sendbuf, recvbuf, count, datatype, op, comm)?.keep() }
}

/// MPI_Neighbor_allgather_init.
///
/// # Safety
/// As the blocking form; the buffers must live whenever the request is active.
pub unsafe fn neighbor_allgather_init(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    comm: Handle,
    info: Handle,
) -> Result<Handle> {
    known(info)?;
    // SAFETY: promised by the caller.
    unsafe { neighbors::neighbor_allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)?.keep() }
}

/// MPI_Neighbor_allgatherv_init.
///
/// # Safety
/// As the blocking form; the buffers must live whenever the request is active.
pub unsafe fn neighbor_allgatherv_init(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    displs: Integers,
    recvtype: Handle,
    comm: Handle,
    info: Handle,
) -> Result<Handle> {
    known(info)?;
    // SAFETY: promised by the caller.
    unsafe {
        neighbors::neighbor_allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm)?
            .keep()
    }
}

/// MPI_Neighbor_alltoall_init.
///
/// # Safety
/// As the blocking form; the buffers must live whenever the request is active.
pub unsafe fn neighbor_alltoall_init(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    comm: Handle,
    info: Handle,
) -> Result<Handle> {
    known(info)?;
    // SAFETY: promised by the caller.
    unsafe { neighbors::neighbor_alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)?.keep() }
}

/// MPI_Neighbor_alltoallv_init.
///
/// # Safety
/// As the blocking form; the buffers must live whenever the request is active.
pub unsafe fn neighbor_alltoallv_init(
    sendbuf: *const c_void,
    sendcounts: Integers,
    sdispls: Integers,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    rdispls: Integers,
    recvtype: Handle,
    comm: Handle,
    info: Handle,
) -> Result<Handle> {
    known(info)?;
    // SAFETY: promised by the caller.
    unsafe {
        neighbors::neighbor_alltoallv(
            sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm,
        )?
        .keep()
    }
}

/// MPI_Neighbor_alltoallw_init.
///
/// # Safety
/// As the blocking form; the buffers must live whenever the request is active.
pub unsafe fn neighbor_alltoallw_init(
    sendbuf: *const c_void,
    sendcounts: Integers,
    sdispls: Integers,
    sendtypes: HandleArray,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    rdispls: Integers,
    recvtypes: HandleArray,
    comm: Handle,
    info: Handle,
) -> Result<Handle> {
    known(info)?;
    // SAFETY: promised by the caller.
    unsafe {
        neighbors::neighbor_alltoallw(
            sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm,
        )?
        .keep()
    }
}
