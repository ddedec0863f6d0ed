/*
 * Messages while something happens to the network: every rank exchanges messages of 1 byte to
 * LONGEST bytes with every other and checks them, for a moment and then, when rank 0 has had TROUBLE
 * done by a shell, for SECONDS more:
 *
 *     changes LONGEST SECONDS TROUBLE
 *
 * Meanwhile the others wait, and send nothing. Rank 0 says "done" after the trouble, each rank "ok"
 * at the end.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, longest;
static unsigned char *out, *in;

static unsigned char byte_of(int from, int index)
{
    return (unsigned char)(index * 7 + from);
}

static void exchange(int bytes)
{
    MPI_Request requests[2 * size];
    memset(in, 0, (size_t)size * longest);
    for (int other = 0; other < size; other++) {
        MPI_Irecv(in + (size_t)other * longest, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, &requests[other]);
        MPI_Isend(out, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, &requests[size + other]);
    }
    MPI_Waitall(2 * size, requests, MPI_STATUSES_IGNORE);
    for (int other = 0; other < size; other++)
        for (int i = 0; i < bytes; i++)
            if (in[(size_t)other * longest + i] != byte_of(other, i)) {
                fprintf(stderr, "byte %d of %d from rank %d is wrong at rank %d\n", i, bytes, other, rank);
                MPI_Abort(MPI_COMM_WORLD, 3);
            }
}

/* All lengths, again and again until the time is over at rank 0. */
static void exchange_for(double seconds)
{
    double begin = MPI_Wtime();
    for (int more = 1; more;) {
        for (long bytes = 1; bytes <= longest; bytes *= 4)
            exchange((int)bytes);
        exchange(longest);
        more = MPI_Wtime() < begin + seconds;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    longest = argc > 1 ? atoi(argv[1]) : 1;
    out = malloc(longest);
    in = malloc((size_t)size * longest);
    for (int i = 0; i < longest; i++)
        out[i] = byte_of(rank, i);
    exchange_for(0.3);
    if (rank == 0 && argc > 3) {
        if (system(argv[3]))
            MPI_Abort(MPI_COMM_WORLD, 4);
        puts("done");
        fflush(stdout);
    }
    for (int other = 1; other < size; other++)
        if (rank == 0)
            MPI_Send(NULL, 0, MPI_BYTE, other, 2, MPI_COMM_WORLD);
        else if (rank == other)
            MPI_Recv(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    exchange_for(argc > 2 ? atof(argv[2]) : 0);
    puts("ok");
    MPI_Finalize();
    return 0;
}
