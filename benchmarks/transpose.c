/*
 * The transpose of a square matrix of doubles whose rows are divided among the ranks.
 *
 *     transpose SIDE BATCHES [pin=CORE,CORE]
 *
 * Prints "name bytes microseconds", bytes of the whole matrix, as the slowest rank saw it, the best
 * batch: "transpose-typed" (MPI_Alltoall with derived datatypes that do all of the work) and
 * "transpose-contiguous" (blocks are transposed by a loop into a contiguous buffer, MPI_Alltoall of
 * contiguous blocks, then rows are copied where they belong).
 */
#define _GNU_SOURCE
#include <mpi.h>

#include "measure.h"

/* Loops walk through squares of so many doubles, which stay in the cache. */
enum { TILE = 16 };

static const double ENOUGH_SECONDS = 0.3;

static int rank, size;
/* The matrix has `side` columns; this rank has `rows` rows of it. */
static size_t side, rows;
static double *from, *to, *leaving, *arriving;
static MPI_Datatype block_out, block_in;

/* A block of rows x rows leaves row by row; it arrives column by column. */
static void make_types(void)
{
    MPI_Datatype block, column, columns;
    MPI_Aint step = (MPI_Aint)(rows * sizeof(double));
    MPI_Type_vector((int)rows, (int)rows, (int)side, MPI_DOUBLE, &block);
    MPI_Type_create_resized(block, 0, step, &block_out);
    MPI_Type_vector((int)rows, 1, (int)side, MPI_DOUBLE, &column);
    MPI_Type_create_hvector((int)rows, 1, sizeof(double), column, &columns);
    MPI_Type_create_resized(columns, 0, step, &block_in);
    MPI_Type_commit(&block_out);
    MPI_Type_commit(&block_in);
    MPI_Type_free(&block);
    MPI_Type_free(&column);
    MPI_Type_free(&columns);
}

static void typed(void)
{
    MPI_Alltoall(from, 1, block_out, to, 1, block_in, MPI_COMM_WORLD);
}

/* One block of rows x rows: to[j][i] = from[i][j]. */
static void transpose_block(const double *restrict source, double *restrict target)
{
    for (size_t i0 = 0; i0 < rows; i0 += TILE)
        for (size_t j0 = 0; j0 < rows; j0 += TILE)
            for (size_t i = i0; i < i0 + TILE && i < rows; i++)
                for (size_t j = j0; j < j0 + TILE && j < rows; j++)
                    target[j * rows + i] = source[i * side + j];
}

static void contiguous(void)
{
    int count = (int)(rows * rows);
    for (size_t peer = 0; peer < (size_t)size; peer++)
        transpose_block(from + peer * rows, leaving + peer * rows * rows);
    MPI_Alltoall(leaving, count, MPI_DOUBLE, arriving, count, MPI_DOUBLE, MPI_COMM_WORLD);
    for (size_t peer = 0; peer < (size_t)size; peer++)
        for (size_t row = 0; row < rows; row++)
            memcpy(to + row * side + peer * rows, arriving + (peer * rows + row) * rows, rows * sizeof(double));
}

static void fill(void)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < side; j++) {
            from[i * side + j] = (double)(((size_t)rank * rows + i) * side + j);
            to[i * side + j] = -1;
        }
}

/* Both ways must do the same work. */
static void check(const char *name)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < side; j++)
            if (to[i * side + j] != (double)(j * side + (size_t)rank * rows + i)) {
                fprintf(stderr, "%s: rank %d has a wrong element in row %zu, column %zu\n", name, rank, i, j);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
}

/* The best of some batches, of fewer where they take long. */
static void measure(const char *name, void (*transpose)(void), int batches)
{
    double best = 1e9, total = 0;
    fill();
    for (int i = 0; i < batches && total < ENOUGH_SECONDS; i++) {
        double started, mine, slowest;
        MPI_Barrier(MPI_COMM_WORLD);
        started = MPI_Wtime();
        transpose();
        mine = MPI_Wtime() - started;
        MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        best = slowest < best ? slowest : best;
        total += slowest;
    }
    check(name);
    if (rank == 0)
        printf("%s %zu %.6g\n", name, side * side * sizeof(double), best * 1e6);
}

int main(int argc, char **argv)
{
    const char *cores = placement(&argc, argv);
    side = argc == 3 ? (size_t)atoi(argv[1]) : 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    pin(cores, rank);
    if (!side || side % (size_t)size) {
        fprintf(stderr, "usage: transpose SIDE BATCHES [pin=CORE,CORE]; SIDE is a multiple of the ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    rows = side / (size_t)size;
    size_t bytes = rows * side * sizeof(double);
    from = (double *)block(bytes);
    to = (double *)block(bytes);
    leaving = (double *)block(bytes);
    arriving = (double *)block(bytes);
    make_types();
    measure("transpose-typed", typed, atoi(argv[2]));
    measure("transpose-contiguous", contiguous, atoi(argv[2]));
    MPI_Finalize();
    return 0;
}
