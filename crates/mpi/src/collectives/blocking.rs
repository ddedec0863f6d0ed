//! The blocking collectives: each is complete here when the call returns. Arguments are checked and
//! plans are made by the functions of the same name in `movement`, `reductions` and `neighbors`.

use std::ffi::c_void;

use super::{movement, neighbors, reductions};
use crate::error::Result;
use crate::face::{Handle, HandleArray, Integers};

/// MPI_Barrier.
pub fn barrier(comm: Handle) -> Result<()> {
    // SAFETY: a barrier touches no memory of the program.
    unsafe { movement::barrier(comm)?.wait() }
}

/// MPI_Bcast.
///
/// # Safety
/// The buffers and arrays must be as the standard asks of this function.
pub unsafe fn bcast(buffer: *mut c_void, count: i64, datatype: Handle, root: i32, comm: Handle) -> Result<()> {
    // SAFETY: promised by the caller.
    unsafe { movement::bcast(buffer, count, datatype, root, comm)?.wait() }
}

/// MPI_Gather.
///
/// # Safety
/// The buffers and arrays must be as the standard asks of this function.
pub unsafe fn gather(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    root: i32,
    comm: Handle,
) -> Result<()> {
    // SAFETY: promised by the caller.
    unsafe { movement::gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm)?.wait() }
}

/// MPI_Gatherv.
///
/// # Safety
/// The buffers and arrays must be as the standard asks of this function.
pub unsafe fn gatherv(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    displs: Integers,
    recvtype: Handle,
    root: i32,
    comm: Handle,
) -> Result<()> {
    // SAFETY: promised by the caller.
    unsafe {
        movement::gatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm)?.wait()
    }
}

/// MPI_Scatter.
///
/// # Safety
/// The buffers and arrays must be as the standard asks of this function.
pub unsafe fn scatter(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    root: i32,
    comm: Handle,
) -> Result<()> {
    // SAFETY: promised by the caller.
    unsafe { movement::scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm)?.wait() }
}

/// MPI_Scatterv.
///
/// # Safety
/// The buffers and arrays must be as the standard asks of this function.
pub unsafe fn scatterv(
    sendbuf: *const c_void,
    sendcounts: Integers,
    displs: Integers,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    root: i32,
    comm: Handle,
) -> Result<()> {
    // SAFETY: promised by the caller.
    unsafe {
        movement::scatterv(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm)?.wait()
    }
}

/// MPI_Allgather.
///
/// # Safety
/// The buffers and arrays must be as the standard asks of this function.
pub unsafe fn allgather(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    comm: Handle,
) -> Result<()> {
    // SAFETY: promised by the caller.
    unsafe { movement::allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)?.wait() }
}

/// MPI_Allgatherv.
///
/// # Safety
/// The buffers and arrays must be as the standard asks of this function.
pub unsafe fn allgatherv(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    displs: Integers,
    recvtype: Handle,
    comm: Handle,
) -> Result<()> {
    // SAFETY: promised by the caller.
    unsafe { movement::allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm)?.wait() }
}

/// MPI_Alltoall.
///
/// # Safety
/// The buffers and arrays must be as the standard asks of this function.
pub unsafe fn alltoall(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    comm: Handle,
) -> Result<()> {
    // SAFETY: promised by the caller.
    unsafe { movement::alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)?.wait() }
}

/// MPI_Alltoallv.
///
/// # Safety
/// The buffers and arrays must be as the standard asks of this function.
pub unsafe fn alltoallv(
    sendbuf: *const c_void,
    sendcounts: Integers,
    sdispls: Integers,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    rdispls: Integers,
    recvtype: Handle,
    comm: Handle,
) -> Result<()> {
    // SAFETY: promised by the caller.
    unsafe {
        movement::alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm)?
            .wait()
    }
}

/// MPI_Alltoallw.
///
/// # Safety
/// The buffers and arrays must be as the standard asks of this function.
pub unsafe fn alltoallw(
    sendbuf: *const c_void,
    sendcounts: Integers,
    sdispls: Integers,
    sendtypes: HandleArray,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    rdispls: Integers,
    recvtypes: HandleArray,
    comm: Handle,
) -> Result<()> {
    // SAFETY: promised by the caller.
    unsafe {
        movement::alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm)?
            .wait()
    }
}

/// MPI_Reduce.
///
/// # Safety
/// The buffers and arrays must be as the standard asks of this function.
pub unsafe fn reduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Handle,
    op: Handle,
    root: i32,
    comm: Handle,
) -> Result<()> {
    // SAFETY: promised by the caller.
    unsafe { reductions::reduce(sendbuf, recvbuf, count, datatype, op, root, comm)?.wait() }
}

/// MPI_Allreduce.
///
/// # Safety
/// The buffers and arrays must be as the standard asks of this function.
pub unsafe fn allreduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Result<()> {
    // SAFETY: promised by the caller.
    unsafe { reductions::allreduce(sendbuf, recvbuf, count, datatype, op, comm)?.wait() }
}

/// MPI_Reduce_scatter_block.
///
/// # Safety
/// The buffers and arrays must be as the standard asks of this function.
pub unsafe fn reduce_scatter_block(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcount: i64,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Result<()> {
    // SAFETY: promised by the caller.
    unsafe { reductions::reduce_scatter_block(sendbuf, recvbuf, recvcount, datatype, op, comm)?.wait() }
}

/// MPI_Reduce_scatter.
///
/// # Safety
/// The buffers and arrays must be as the standard asks of this function.
pub unsafe fn reduce_scatter(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Result<()> {
    // SAFETY: promised by the caller.
    unsafe { reductions::reduce_scatter(sendbuf, recvbuf, recvcounts, datatype, op, comm)?.wait() }
}

/// MPI_Scan.
///
/// # Safety
/// The buffers and arrays must be as the standard asks of this function.
pub unsafe fn scan(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Result<()> {
    // SAFETY: promised by the caller.
    unsafe { reductions::scan(sendbuf, recvbuf, count, datatype, op, comm)?.wait() }
}

/// MPI_Exscan.
///
/// # Safety
/// The buffers and arrays must be as the standard asks of this function.
pub unsafe fn exscan(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Result<()> {
    // SAFETY: promised by the caller.
    unsafe { reductions::exscan(sendbuf, recvbuf, count, datatype, op, comm)?.wait() }
}

/// MPI_Neighbor_allgather.
///
/// # Safety
/// The buffers and arrays must be as the standard asks of this function.
pub unsafe fn neighbor_allgather(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    comm: Handle,
) -> Result<()> {
    // SAFETY: promised by the caller.
    unsafe { neighbors::neighbor_allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)?.wait() }
}

/// MPI_Neighbor_allgatherv.
///
/// # Safety
/// The buffers and arrays must be as the standard asks of this function.
pub unsafe fn neighbor_allgatherv(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    displs: Integers,
    recvtype: Handle,
    comm: Handle,
) -> Result<()> {
    // SAFETY: promised by the caller.
    unsafe {
        neighbors::neighbor_allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm)?
            .wait()
    }
}

/// MPI_Neighbor_alltoall.
///
/// # Safety
/// The buffers and arrays must be as the standard asks of this function.
pub unsafe fn neighbor_alltoall(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Handle,
    comm: Handle,
) -> Result<()> {
    // SAFETY: promised by the caller.
    unsafe { neighbors::neighbor_alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)?.wait() }
}

/// MPI_Neighbor_alltoallv.
///
/// # Safety
/// The buffers and arrays must be as the standard asks of this function.
pub unsafe fn neighbor_alltoallv(
    sendbuf: *const c_void,
    sendcounts: Integers,
    sdispls: Integers,
    sendtype: Handle,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    rdispls: Integers,
    recvtype: Handle,
    comm: Handle,
) -> Result<()> {
    // SAFETY: promised by the caller.
    unsafe {
        neighbors::neighbor_alltoallv(
            sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm,
        )?
        .wait()
    }
}

/// MPI_Neighbor_alltoallw.
///
/// # Safety
/// The buffers and arrays must be as the standard asks of this function.
pub unsafe fn neighbor_alltoallw(
    sendbuf: *const c_void,
    sendcounts: Integers,
    sdispls: Integers,
    sendtypes: HandleArray,
    recvbuf: *mut c_void,
    recvcounts: Integers,
    rdispls: Integers,
    recvtypes: HandleArray,
    comm: Handle,
) -> Result<()> {
    // SAFETY: promised by the caller.
    unsafe {
        neighbors::neighbor_alltoallw(
            sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm,
        )?
        .wait()
    }
}
