/*
 * What ranks learn about the links between their hosts while a job runs, on hosts with several
 * ranks or one:
 *
 *     measured TOWPATH COMMUNICATORS ROOT LATE [CHANGER COMMAND]
 *
 * broadcasts 1 MiB from the rank ROOT on so many duplicates of MPI_COMM_WORLD, which are all made
 * before the first of them measures the links. On the others rank 0 tells how many times their
 * payload each rank's host sends, with what a measurement would send. The rank LATE (-1: none)
 * comes two seconds later. Each time the root asks `towpath info --topology` about itself. Then the
 * rank CHANGER runs a command that changes the network, after which so many broadcasts follow that
 * the members compare what they assume with what they observe. Then a child of the last
 * communicator, which measures nothing, broadcasts again, by blocking and by nonblocking calls, and
 * rank 0 tells how many times their payload each rank's host has sent meanwhile. Each rank says
 * "ok". With FIRST_IS_ALLGATHER in the environment the first call is an allgather.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sent.h"

enum { BYTES = 1 << 20, CALLS = 4, MOST = 64, SHORTER = 64 << 10, UNTIL_COMPARED = 64 };

static unsigned char data[BYTES];

/* Lets `towpath info` say what this process assumes about links. */
static void show_links(const char *towpath)
{
    char command[4096];
    snprintf(command, sizeof command, "'%s' info --json --topology %d | tr -d '\\n'; echo", towpath,
             (int)getpid());
    if (system(command))
        MPI_Abort(MPI_COMM_WORLD, 4);
}

static void broadcast(MPI_Comm comm, int root, int value, int is_blocking)
{
    int rank;
    MPI_Request request;
    MPI_Comm_rank(comm, &rank);
    memset(data, rank == root ? value : 0, BYTES);
    if (is_blocking) {
        MPI_Bcast(data, BYTES, MPI_BYTE, root, comm);
    } else {
        MPI_Ibcast(data, BYTES, MPI_BYTE, root, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < BYTES; i++)
        if (data[i] != value)
            MPI_Abort(MPI_COMM_WORLD, 3);
}

/* Blocks that make as many bytes, instead. */
static void allgather(MPI_Comm comm, int root, int value, int is_blocking)
{
    int rank, size;
    (void)root, (void)is_blocking;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int bytes = BYTES / size;
    memset(data + rank * bytes, value, (size_t)bytes);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_BYTE, data, bytes, MPI_BYTE, comm);
    for (int i = 0; i < size * bytes; i++)
        if (data[i] != value)
            MPI_Abort(MPI_COMM_WORLD, 3);
}

/* Prints how many times its payload the host of each rank sends. */
static void show_copies(MPI_Comm comm, int root, int is_blocking)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    double copies, all[size];
    MPI_Barrier(comm);
    double before = sent();
    for (int call = 0; call < CALLS; call++)
        broadcast(comm, root, call + 1, is_blocking);
    copies = (sent() - before) / ((double)BYTES * CALLS);
    MPI_Barrier(comm);
    MPI_Gather(&copies, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, comm);
    if (rank == 0) {
        printf("{\"copies\": [");
        for (int i = 0; i < size; i++)
            printf("%s%.3f", i ? ", " : "", all[i]);
        puts("]}");
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    int rank, count = atoi(argv[2]), root = atoi(argv[3]), late = atoi(argv[4]);
    MPI_Comm comms[MOST], child;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < count && i < MOST; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < count; i++) {
        if (rank == late)
            sleep(2);
        if (i == 0)
            (getenv("FIRST_IS_ALLGATHER") ? allgather : broadcast)(comms[i], root, i + 1, 1);
        else
            show_copies(comms[i], root, 1);
        if (rank == root)
            show_links(argv[1]);
        MPI_Barrier(comms[i]);
    }
    if (argc > 6) {
        if (rank == atoi(argv[5]) && system(argv[6]))
            MPI_Abort(MPI_COMM_WORLD, 5);
        for (int i = 0; i < UNTIL_COMPARED; i++) {
            MPI_Barrier(comms[count - 1]);
            MPI_Bcast(data, SHORTER, MPI_BYTE, root, comms[count - 1]);
        }
        if (rank == root)
            show_links(argv[1]);
    }
    MPI_Comm_split(comms[count - 1], 0, rank, &child);
    show_copies(child, root, 1);
    show_copies(child, root, 0);
    puts("ok");
    MPI_Finalize();
    return 0;
}
