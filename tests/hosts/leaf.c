/*
 * The hint towpath_topology makes a host a leaf of the collectives of a communicator: the one that
 * passes on most of a broadcast sends next to nothing once the hint says that its link is slow. In
 * an allgather and a reduce_scatter, what others have for it and it for others crosses its link
 * once. One rank on each of several hosts; each says "ok".
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sent.h"

enum { BYTES = 1 << 20, CALLS = 4, ELEMENTS = 1 << 16, MOST = 8 };

/* How many times its payload a host sends during broadcasts by rank 0. */
static double copies(MPI_Comm comm)
{
    static unsigned char data[BYTES];
    int rank;
    MPI_Comm_rank(comm, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    double before = sent();
    for (int call = 0; call < CALLS; call++) {
        memset(data, rank == 0 ? call + 1 : 0, BYTES);
        MPI_Bcast(data, BYTES, MPI_BYTE, 0, comm);
        for (int i = 0; i < BYTES; i++)
            if (data[i] != call + 1)
                MPI_Abort(MPI_COMM_WORLD, 3);
    }
    double after = sent();
    MPI_Barrier(MPI_COMM_WORLD);
    return (after - before) / ((double)BYTES * CALLS);
}

/* What crosses this host's link inwards and outwards in an allgather or a reduce_scatter of one
 * block of each rank or for each, in blocks. */
static void cross(MPI_Comm comm, int is_reduction, double blocks[2])
{
    static int own[ELEMENTS * MOST], all[ELEMENTS * MOST];
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (size > MOST)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int i = 0; i < ELEMENTS * size; i++)
        own[i] = rank + i;
    MPI_Barrier(MPI_COMM_WORLD);
    double before[2] = {transferred(0), transferred(1)};
    for (int call = 0; call < CALLS; call++) {
        memset(all, 0, sizeof all);
        if (is_reduction)
            MPI_Reduce_scatter_block(own, all, ELEMENTS, MPI_INT, MPI_SUM, comm);
        else
            MPI_Allgather(own, ELEMENTS, MPI_INT, all, ELEMENTS, MPI_INT, comm);
        for (int i = 0; i < ELEMENTS * (is_reduction ? 1 : size); i++) {
            int sum = size * (size - 1) / 2 + size * (rank * ELEMENTS + i);
            if (all[i] != (is_reduction ? sum : i / ELEMENTS + i % ELEMENTS))
                MPI_Abort(MPI_COMM_WORLD, 3);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int way = 0; way < 2; way++)
        blocks[way] = (transferred(way) - before[way]) / ((double)sizeof(int) * ELEMENTS * CALLS);
}

int main(int argc, char **argv)
{
    struct { double copies; int rank; } own, most;
    char name[256] = "", hint[512];
    MPI_Comm plain, described;
    MPI_Info info;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &own.rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &plain);
    own.copies = copies(plain);
    if (own.rank == 0)
        own.copies = 0;
    MPI_Allreduce(&own, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    gethostname(name, sizeof name - 1);
    MPI_Bcast(name, sizeof name, MPI_CHAR, most.rank, MPI_COMM_WORLD);
    snprintf(hint, sizeof hint, "link=[{hosts=\"%s\",rate=\"1Mbit\"}]", name);
    MPI_Info_create(&info);
    MPI_Info_set(info, "towpath_topology", hint);
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &described);
    double leaf = copies(described);
    MPI_Bcast(&leaf, 1, MPI_DOUBLE, most.rank, MPI_COMM_WORLD);
    double gathered[2], reduced[2];
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    cross(described, 0, gathered);
    cross(described, 1, reduced);
    MPI_Bcast(gathered, 2, MPI_DOUBLE, most.rank, MPI_COMM_WORLD);
    MPI_Bcast(reduced, 2, MPI_DOUBLE, most.rank, MPI_COMM_WORLD);
    if (most.copies > 0.9 && leaf < 0.2 && gathered[0] < size - 0.8 && gathered[1] < 1.2
        && reduced[0] < 1.2 && reduced[1] < size + 0.2)
        puts("ok");
    else
        printf("%s sends %.2f times what is broadcast, and %.2f times by the hint; of %d blocks"
               " %.2f enter it in an allgather and %.2f leave it, %.2f and %.2f in a"
               " reduce_scatter\n", name, most.copies, leaf, size, gathered[0], gathered[1],
               reduced[0], reduced[1]);
    MPI_Info_free(&info);
    MPI_Comm_free(&described);
    MPI_Comm_free(&plain);
    MPI_Finalize();
    return 0;
}
