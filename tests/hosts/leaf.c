/*
 * The hint towpath_topology makes a host a leaf of the collectives of a communicator: the one that
 * passes on most of a broadcast sends next to nothing once the hint says that its link is slow. One
 * rank on each of several hosts; each says "ok".
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sent.h"

enum { BYTES = 1 << 20, CALLS = 4 };

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
    if (most.copies > 0.9 && leaf < 0.2)
        puts("ok");
    else
        printf("%s sends %.2f times what is broadcast, and %.2f times by the hint\n", name, most.copies, leaf);
    MPI_Info_free(&info);
    MPI_Comm_free(&described);
    MPI_Comm_free(&plain);
    MPI_Finalize();
    return 0;
}
