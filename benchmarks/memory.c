/*
 * Memory of a rank: prints "memory 0 kilobytes", the mean proportional set size after every pair has talked. With the argument "halo":
 * "halo-memory 0 kilobytes", the same after an exchange of 1 KiB with the four neighbours in a declared grid, and "halo-shared 0
 * kilobytes", what of that is shared memory.
 *
 * The proportional set size counts a page that n processes share as 1/n of a page for each, so shared segments count once.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { BYTES = 1024, NEIGHBOURS = 4, TIMES = 20 };

static double proportional_kilobytes(const char *what)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256], pattern[32];
    double value = 0;
    snprintf(pattern, sizeof pattern, "%s: %%lf", what);
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, pattern, &value) == 1)
            break;
    if (file)
        fclose(file);
    return value;
}

static void everybody(int rank, int size)
{
    char out[256] = {0}, in[256];
    for (int distance = 0; distance < size; distance++)
        MPI_Sendrecv(out, sizeof out, MPI_BYTE, (rank + distance) % size, 1, in, sizeof in, MPI_BYTE, (rank + size - distance) % size, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void halo(int size)
{
    int dims[2] = {0, 0}, periods[2] = {1, 1}, neighbours[NEIGHBOURS];
    char out[BYTES] = {0}, in[NEIGHBOURS][BYTES];
    MPI_Request requests[2 * NEIGHBOURS];
    MPI_Comm grid;
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    MPI_Cart_shift(grid, 0, 1, &neighbours[0], &neighbours[1]);
    MPI_Cart_shift(grid, 1, 1, &neighbours[2], &neighbours[3]);
    for (int i = 0; i < TIMES; i++) {
        for (int j = 0; j < NEIGHBOURS; j++)
            MPI_Irecv(in[j], BYTES, MPI_BYTE, neighbours[j], j ^ 1, grid, &requests[j]);
        for (int j = 0; j < NEIGHBOURS; j++)
            MPI_Isend(out, BYTES, MPI_BYTE, neighbours[j], j, grid, &requests[NEIGHBOURS + j]);
        MPI_Waitall(2 * NEIGHBOURS, requests, MPI_STATUSES_IGNORE);
    }
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int is_halo = argc > 1 && !strcmp(argv[1], "halo");
    if (is_halo)
        halo(size);
    else
        everybody(rank, size);
    MPI_Barrier(MPI_COMM_WORLD);
    double mine[2] = {proportional_kilobytes("Pss"), proportional_kilobytes("Pss_Shmem")}, sum[2] = {0, 0};
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Reduce(mine, sum, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s 0 %.6g\n", is_halo ? "halo-memory" : "memory", sum[0] / size);
    if (rank == 0 && is_halo)
        printf("halo-shared 0 %.6g\n", sum[1] / size);
    MPI_Finalize();
    return 0;
}
