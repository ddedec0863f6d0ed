/*
 * Mock-ups for guidelines.c: collectives made of other functions of MPI. Each is a whole
 * implementation, so its copies and the arrays that it fills are part of its time.
 */
#ifndef TOWPATH_BENCHMARKS_GUIDELINE_MOCKUPS_H
#define TOWPATH_BENCHMARKS_GUIDELINE_MOCKUPS_H

#include "guideline_operations.h"

/* All ranks, those of this rank's node, and those with the same number in every node. */
static struct team world, node, lane;
static MPI_Comm ring = MPI_COMM_NULL;
static int left_neighbor, right_neighbor;
/* Room for an entry of each rank. */
static int *counts, *displacements;
static MPI_Datatype *types;
static MPI_Request *requests;

static inline int divided_up(int number, int parts)
{
    return (number + parts - 1) / parts;
}

/* Counts and displacements of equal blocks. */
static inline void fill_blocks(const struct call *call)
{
    for (int i = 0; i < call->team->size; i++) {
        counts[i] = call->bytes;
        displacements[i] = i * call->bytes;
    }
}

/* `work` is zero but for this rank's block. */
static inline void fill_sparse(const struct call *call)
{
    size_t bytes = (size_t)call->bytes;
    memset(work, 0, bytes * (size_t)call->team->size);
    memcpy(work + bytes * (size_t)call->team->rank, out, bytes);
}

static void gather_by_gatherv(const struct call *call)
{
    fill_blocks(call);
    MPI_Gatherv(out, call->bytes, MPI_BYTE, in, counts, displacements, MPI_BYTE, call->root,
                call->team->comm);
}

static void gather_by_reduce(const struct call *call)
{
    fill_sparse(call);
    MPI_Reduce(work, in, call->bytes / 8 * call->team->size, MPI_DOUBLE, MPI_SUM, call->root,
               call->team->comm);
}

static void gather_by_messages(const struct call *call)
{
    int size = call->team->size, bytes = call->bytes;
    if (call->team->rank != call->root) {
        MPI_Isend(out, bytes, MPI_BYTE, call->root, 0, call->team->comm, requests);
        MPI_Wait(requests, MPI_STATUS_IGNORE);
        return;
    }
    for (int i = 0; i < size; i++) {
        requests[i] = MPI_REQUEST_NULL;
        if (i != call->root)
            MPI_Irecv(in + (size_t)i * bytes, bytes, MPI_BYTE, i, 0, call->team->comm,
                      requests + i);
    }
    memcpy(in + (size_t)call->root * bytes, out, bytes);
    MPI_Waitall(size, requests, MPI_STATUSES_IGNORE);
}

static void gather_by_nodes(const struct call *call)
{
    int bytes = call->bytes, whole = bytes * node.size, local = call->root % node.size;
    MPI_Gather(out, bytes, MPI_BYTE, work, bytes, MPI_BYTE, local, node.comm);
    if (node.rank == local)
        MPI_Gather(work, whole, MPI_BYTE, in, whole, MPI_BYTE, call->root / node.size, lane.comm);
}

static void scatter_by_scatterv(const struct call *call)
{
    fill_blocks(call);
    MPI_Scatterv(out, counts, displacements, MPI_BYTE, in, call->bytes, MPI_BYTE, call->root,
                 call->team->comm);
}

static void scatter_by_bcast(const struct call *call)
{
    int rank = call->team->rank;
    char *all = rank == call->root ? out : work;
    MPI_Bcast(all, call->bytes * call->team->size, MPI_BYTE, call->root, call->team->comm);
    memcpy(in, all + (size_t)rank * call->bytes, call->bytes);
}

static void scatter_by_nodes(const struct call *call)
{
    int bytes = call->bytes, whole = bytes * node.size, local = call->root % node.size;
    if (node.rank == local)
        MPI_Scatter(out, whole, MPI_BYTE, work, whole, MPI_BYTE, call->root / node.size, lane.comm);
    MPI_Scatter(work, bytes, MPI_BYTE, in, bytes, MPI_BYTE, local, node.comm);
}

static void bcast_by_scatter_allgather(const struct call *call)
{
    int part = divided_up(call->bytes, call->team->size);
    MPI_Scatter(in, part, MPI_BYTE, work, part, MPI_BYTE, call->root, call->team->comm);
    MPI_Allgather(work, part, MPI_BYTE, in, part, MPI_BYTE, call->team->comm);
}

static void bcast_by_allgatherv(const struct call *call)
{
    for (int i = 0; i < call->team->size; i++) {
        counts[i] = i == call->root ? call->bytes : 0;
        displacements[i] = 0;
    }
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_BYTE, in, counts, displacements, MPI_BYTE,
                   call->team->comm);
}

static void bcast_by_nodes(const struct call *call)
{
    int local = call->root % node.size;
    if (node.rank == local)
        MPI_Bcast(in, call->bytes, MPI_BYTE, call->root / node.size, lane.comm);
    MPI_Bcast(in, call->bytes, MPI_BYTE, local, node.comm);
}

static void reduce_by_reduce_scatter_gather(const struct call *call)
{
    int part = divided_up(call->bytes / 8, call->team->size);
    MPI_Reduce_scatter_block(out, work, part, MPI_DOUBLE, MPI_SUM, call->team->comm);
    MPI_Gather(work, part, MPI_DOUBLE, in, part, MPI_DOUBLE, call->root, call->team->comm);
}

static void reduce_by_nodes(const struct call *call)
{
    int count = call->bytes / 8, local = call->root % node.size;
    MPI_Reduce(out, work, count, MPI_DOUBLE, MPI_SUM, local, node.comm);
    if (node.rank == local)
        MPI_Reduce(work, in, count, MPI_DOUBLE, MPI_SUM, call->root / node.size, lane.comm);
}

static void allreduce_by_reduce_bcast(const struct call *call)
{
    int count = call->bytes / 8;
    MPI_Reduce(out, in, count, MPI_DOUBLE, MPI_SUM, 0, call->team->comm);
    MPI_Bcast(in, count, MPI_DOUBLE, 0, call->team->comm);
}

static void allreduce_by_reduce_scatter_allgather(const struct call *call)
{
    int part = divided_up(call->bytes / 8, call->team->size);
    MPI_Reduce_scatter_block(out, work, part, MPI_DOUBLE, MPI_SUM, call->team->comm);
    MPI_Allgather(work, part, MPI_DOUBLE, in, part, MPI_DOUBLE, call->team->comm);
}

static void allreduce_by_nodes(const struct call *call)
{
    int count = call->bytes / 8;
    MPI_Reduce(out, work, count, MPI_DOUBLE, MPI_SUM, 0, node.comm);
    if (node.rank == 0)
        MPI_Allreduce(work, in, count, MPI_DOUBLE, MPI_SUM, lane.comm);
    MPI_Bcast(in, count, MPI_DOUBLE, 0, node.comm);
}

static void allreduce_by_lanes(const struct call *call)
{
    int part = divided_up(call->bytes / 8, node.size);
    MPI_Reduce_scatter_block(out, work, part, MPI_DOUBLE, MPI_SUM, node.comm);
    MPI_Allreduce(MPI_IN_PLACE, work, part, MPI_DOUBLE, MPI_SUM, lane.comm);
    MPI_Allgather(work, part, MPI_DOUBLE, in, part, MPI_DOUBLE, node.comm);
}

static void allgather_by_gather_bcast(const struct call *call)
{
    int bytes = call->bytes;
    MPI_Gather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, 0, call->team->comm);
    MPI_Bcast(in, bytes * call->team->size, MPI_BYTE, 0, call->team->comm);
}

static void allgather_by_allgatherv(const struct call *call)
{
    fill_blocks(call);
    MPI_Allgatherv(out, call->bytes, MPI_BYTE, in, counts, displacements, MPI_BYTE,
                   call->team->comm);
}

static void allgather_by_alltoall(const struct call *call)
{
    int bytes = call->bytes;
    for (int i = 0; i < call->team->size; i++)
        memcpy(work + (size_t)i * bytes, out, bytes);
    MPI_Alltoall(work, bytes, MPI_BYTE, in, bytes, MPI_BYTE, call->team->comm);
}

static void allgather_by_allreduce(const struct call *call)
{
    fill_sparse(call);
    MPI_Allreduce(work, in, call->bytes / 8 * call->team->size, MPI_DOUBLE, MPI_SUM,
                  call->team->comm);
}

static void alltoall_by_alltoallv(const struct call *call)
{
    fill_blocks(call);
    MPI_Alltoallv(out, counts, displacements, MPI_BYTE, in, counts, displacements, MPI_BYTE,
                  call->team->comm);
}

static void alltoall_by_alltoallw(const struct call *call)
{
    fill_blocks(call);
    for (int i = 0; i < call->team->size; i++)
        types[i] = MPI_BYTE;
    MPI_Alltoallw(out, counts, displacements, types, in, counts, displacements, types,
                  call->team->comm);
}

/* Between the neighbours of `ring`. */
static void neighbor_alltoall(const struct call *call)
{
    MPI_Neighbor_alltoall(out, call->bytes, MPI_BYTE, in, call->bytes, MPI_BYTE, ring);
}

static void neighbor_by_alltoallv(const struct call *call)
{
    memset(counts, 0, sizeof *counts * call->team->size);
    memset(displacements, 0, sizeof *displacements * call->team->size);
    if (left_neighbor != MPI_PROC_NULL)
        counts[left_neighbor] = call->bytes;
    if (right_neighbor != MPI_PROC_NULL) {
        counts[right_neighbor] = call->bytes;
        displacements[right_neighbor] = call->bytes;
    }
    MPI_Alltoallv(out, counts, displacements, MPI_BYTE, in, counts, displacements, MPI_BYTE,
                  call->team->comm);
}

static void reduce_scatter_by_reduce_scatter(const struct call *call)
{
    int count = call->bytes / 8;
    MPI_Reduce(out, work, count * call->team->size, MPI_DOUBLE, MPI_SUM, 0, call->team->comm);
    MPI_Scatter(work, count, MPI_DOUBLE, in, count, MPI_DOUBLE, 0, call->team->comm);
}

static void reduce_scatter_by_allreduce(const struct call *call)
{
    MPI_Allreduce(out, work, call->bytes / 8 * call->team->size, MPI_DOUBLE, MPI_SUM,
                  call->team->comm);
    memcpy(in, work + (size_t)call->team->rank * call->bytes, call->bytes);
}

static void scan_by_exscan(const struct call *call)
{
    int count = call->bytes / 8;
    MPI_Exscan(out, in, count, MPI_DOUBLE, MPI_SUM, call->team->comm);
    if (call->team->rank == 0)
        memcpy(in, out, call->bytes);
    else
        MPI_Reduce_local(out, in, count, MPI_DOUBLE, MPI_SUM);
}

static void barrier_by_allreduce(const struct call *call)
{
    MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, call->team->comm);
}

#endif
