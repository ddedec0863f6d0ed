/*
 * Every rank exchanges small and large messages with every other, and checks them. Then the first
 * rank of each host shows by which routes, or what another option of towpath info says of its
 * process:
 *
 *     ways TOWPATH [OPTION]      (the command of that name; by default --routes)
 *
 * and each rank says "ok".
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST = 1 << 20 };

static void exchange(int rank, int size, int bytes, unsigned char *out, unsigned char *in)
{
    MPI_Request requests[2 * size];
    for (int other = 0; other < size; other++) {
        MPI_Irecv(in + (size_t)other * LARGEST, bytes, MPI_BYTE, other, bytes & 7, MPI_COMM_WORLD, &requests[other]);
        MPI_Isend(out, bytes, MPI_BYTE, other, bytes & 7, MPI_COMM_WORLD, &requests[size + other]);
    }
    MPI_Waitall(2 * size, requests, MPI_STATUSES_IGNORE);
    for (int other = 0; other < size; other++)
        for (int i = 0; i < bytes; i++)
            if (in[(size_t)other * LARGEST + i] != (unsigned char)(i * 7 + other)) {
                fprintf(stderr, "byte %d of %d from rank %d is wrong at rank %d\n", i, bytes, other, rank);
                MPI_Abort(MPI_COMM_WORLD, 3);
            }
}

int main(int argc, char **argv)
{
    static const int lengths[] = {1, 1000, 5000, 20000, 200000, LARGEST};
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    unsigned char *out = malloc(LARGEST), *in = malloc((size_t)size * LARGEST);
    for (int i = 0; i < LARGEST; i++)
        out[i] = (unsigned char)(i * 7 + rank);
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
            exchange(rank, size, lengths[i], out, in);
    MPI_Comm host;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host);
    int local;
    MPI_Comm_rank(host, &local);
    char command[4096];
    const char *option = argc > 2 ? argv[2] : "--routes";
    snprintf(command, sizeof command, "'%s' info --json %s %d", argv[1], option, (int)getpid());
    if (local == 0 && system(command))
        MPI_Abort(MPI_COMM_WORLD, 4);
    MPI_Barrier(MPI_COMM_WORLD);
    puts("ok");
    MPI_Finalize();
    return 0;
}
