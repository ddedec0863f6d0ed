//! The nonblocking collectives (MPI 5.0, section 6.12): each returns a request. Arguments are
//! checked and plans are made by the functions of the blocking names in `movement`, `reductions`
//! and `neighbors`.

use std::ffi::c_void;

use super::{movement, neighbors, reductions};
use crate::error::Result;
use crate::face::{Handle, HandleArray, Integers};

/// MPI_Ibarrier.
pub fn ibarrier(comm: Handle) -> Result<Handle> {
    // SAFETY: a barrier touches no memory of the program.
    unsafe { movement::barrier(comm)?.begin() }
}

/// MPI_Ibcast.
///
/// # Safety
/// As the blocking form; the buffers must live until the request is complete.
pub unsafe fn ibcast(buffer: *mut c_void, count: i64, datatype: Handle, root: i32, comm: Handle) -> Result<Handle> {
    // SAFETY: promised by the caller.
    unsafe { movement::bcast(buffer, count, datatype, root, comm)?.begin() }
}

/// MPI_Igather.
///
/// # Safety
/// As the blocking form; the buffers must live until the request is complete.
pub unsafe fn igather(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    root: i32,
    comm: Handle,
) -> Result<Handle> {
    // SAFETY: promised by the caller.
    unsafe { movement::gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm)?.begin() }
}

/// MPI_Igatherv.
///
/// # Safety
/// As the blocking form; the buffers must live until the request is complete.
pub unsafe fn igatherv(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    displs: Integers,
    recvtype: Handle,
    root: i32,
    comm: Handle,
) -> Result<Handle> {
    // SAFETY: promised by the caller.
    unsafe {
        movement::gatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm)?.begin()
    }
}

/// MPI_Iscatter.
///
/// # Safety
/// As the blocking form; the buffers must live until the request is complete.
pub unsafe fn iscatter(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    root: i32,
    comm: Handle,
) -> Result<Handle> {
    // SAFETY: promised by the caller.
    unsafe { movement::scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm)?.begin() }
}

/// MPI_Iscatterv.
///
/// # Safety
/// As the blocking form; the buffers must live until the request is complete.
pub unsafe fn iscatterv(
    sendbuf: *const c_void,
    sendcounts: Integers,
    displs: Integers,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    root: i32,
    comm: Handle,
) -> Result<Handle> {
    // SAFETY: promised by the caller.
    unsafe {
        movement::scatterv(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm)?.begin()
    }
}

/// MPI_Iallgather.
///
/// # Safety
/// As the blocking form; the buffers must live until the request is complete.
pub unsafe fn iallgather(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    comm: Handle,
) -> Result<Handle> {
    // SAFETY: promised by the caller.
    unsafe { movement::allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)?.begin() }
}

/// MPI_Iallgatherv.
///
/// # Safety
/// As the blocking form; the buffers must live until the request is complete.
pub unsafe fn iallgatherv(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    displs: Integers,
    recvtype: Handle,
    comm: Handle,
) -> Result<Handle> {
    // SAFETY: promised by the caller.
    unsafe { movement::allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm)?.begin() }
}

/// MPI_Ialltoall.
///
/// # Safety
/// As the blocking form; the buffers must live until the request is complete.
pub unsafe fn ialltoall(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    comm: Handle,
) -> Result<Handle> {
    // SAFETY: promised by the caller.
    unsafe { movement::alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)?.begin() }
}

/// MPI_Ialltoallv.
///
/// # Safety
/// As the blocking form; the buffers must live until the request is complete.
pub unsafe fn ialltoallv(
    sendbuf: *const c_void,
    sendcounts: Integers,
    sdispls: Integers,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    rdispls: Integers,
    recvtype: Handle,
    comm: Handle,
) -> Result<Handle> {
    // SAFETY: promised by the caller.
    unsafe {
        movement::alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm)?
            .begin()
    }
}

/// MPI_Ialltoallw.
///
/// # Safety
/// As the blocking form; the buffers must live until the request is complete.
pub unsafe fn ialltoallw(
    sendbuf: *const c_void,
    sendcounts: Integers,
    sdispls: Integers,
    sendtypes: HandleArray,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    rdispls: Integers,
    recvtypes: HandleArray,
    comm: Handle,
) -> Result<Handle> {
    // SAFETY: promised by the caller.
    unsafe {
        movement::alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm)?
            .begin()
    }
}

/// MPI_Ireduce.
///
/// # Safety
/// As the blocking form; the buffers must live until the request is complete.
pub unsafe fn ireduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Handle,
    op: Handle,
    root: i32,
    comm: Handle,
) -> Result<Handle> {
    // SAFETY: promised by the caller.
    unsafe { reductions::reduce(sendbuf, recvbuf, count, datatype, op, root, comm)?.begin() }
}

/// MPI_Iallreduce.
///
/// # Safety
/// As the blocking form; the buffers must live until the request is complete.
pub unsafe fn iallreduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Result<Handle> {
    // SAFETY: promised by the caller.
    unsafe { reductions::allreduce(sendbuf, recvbuf, count, datatype, op, comm)?.begin() }
}

/// MPI_Ireduce_scatter_block.
///
/// # Safety
/// As the blocking form; the buffers must live until the request is complete.
pub unsafe fn ireduce_scatter_block(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcount: i64,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Result<Handle> {
    // SAFETY: promised by the caller.
    unsafe { reductions::reduce_scatter_block(sendbuf, recvbuf, recvcount, datatype, op, comm)?.begin() }
}

/// MPI_Ireduce_scatter.
///
/// # Safety
/// As the blocking form; the buffers must live until the request is complete.
pub unsafe fn ireduce_scatter(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Result<Handle> {
    // SAFETY: promised by the caller.
    unsafe { reductions::reduce_scatter(sendbuf, recvbuf, recvcounts, datatype, op, comm)?.begin() }
}

/// MPI_Iscan.
///
/// # Safety
/// As the blocking form; the buffers must live until the request is complete.
pub unsafe fn iscan(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Result<Handle> {
    // SAFETY: promised by the caller.
    unsafe { reductions::scan(sendbuf, recvbuf, count, datatype, op, comm)?.begin() }
}

/// MPI_Iexscan.
///
/// # Safety
/// As the blocking form; the buffers must live until the request is complete.
pub unsafe fn iexscan(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Result<Handle> {
    // SAFETY: promised by the caller.
    unsafe { reductions::exscan(sendbuf, recvbuf, count, datatype, op, comm)?.begin() }
}

/// MPI_Ineighbor_allgather.
///
/// # Safety
/// As the blocking form; the buffers must live until the request is complete.
pub unsafe fn ineighbor_allgather(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    comm: Handle,
) -> Result<Handle> {
    // SAFETY: promised by the caller.
    unsafe { neighbors::neighbor_allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)?.begin() }
}

/// MPI_Ineighbor_allgatherv.
///
/// # Safety
/// As the blocking form; the buffers must live until the request is complete.
pub unsafe fn ineighbor_allgatherv(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    displs: Integers,
    recvtype: Handle,
    comm: Handle,
) -> Result<Handle> {
    // SAFETY: promised by the caller.
    unsafe {
        neighbors::neighbor_allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm)?
            .begin()
    }
}

/// MPI_Ineighbor_alltoall.
///
/// # Safety
/// As the blocking form; the buffers must live until the request is complete.
pub unsafe fn ineighbor_alltoall(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    comm: Handle,
) -> Result<Handle> {
    // SAFETY: promised by the caller.
    unsafe { neighbors::neighbor_alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)?.begin() }
}

/// MPI_Ineighbor_alltoallv.
///
/// # Safety
/// As the blocking form; the buffers must live until the request is complete.
pub unsafe fn ineighbor_alltoallv(
    sendbuf: *const c_void,
    sendcounts: Integers,
    sdispls: Integers,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    rdispls: Integers,
    recvtype: Handle,
    comm: Handle,
) -> Result<Handle> {
    // SAFETY: promised by the caller.
    unsafe {
        neighbors::neighbor_alltoallv(
            sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm,
        )?
        .begin()
    }
}

/// MPI_Ineighbor_alltoallw.
///
/// # Safety
/// As the blocking form; the buffers must live until the request is complete.
pub unsafe fn ineighbor_alltoallw(
    sendbuf: *const c_void,
    sendcounts: Integers,
    sdispls: Integers,
    sendtypes: HandleArray,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    rdispls: Integers,
    recvtypes: HandleArray,
    comm: Handle,
) -> Result<Handle> {
    // SAFETY: promised by the caller.
    unsafe {
        neighbors::neighbor_alltoallw(
            sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm,
        )?
        .begin()
    }
}
