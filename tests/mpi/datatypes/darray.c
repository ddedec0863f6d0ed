/*
 * Distributed arrays: the parts of all processes of a grid tile the array, each in the order of the local array, for block, cyclic and
 * undistributed dimensions in both orders; arrays that do not divide evenly. MPI 5.0, 5.1.4
 */
#include "../check.h"

enum { MOST = 4000 };

struct dimension {
    int size, distribution, argument, processes;
};

/* Block size of a dimension. */
static int block_of(const struct dimension *d)
{
    if (d->distribution == MPI_DISTRIBUTE_NONE)
        return d->size;
    if (d->argument != MPI_DISTRIBUTE_DFLT_DARG)
        return d->argument;
    return d->distribution == MPI_DISTRIBUTE_BLOCK ? (d->size + d->processes - 1) / d->processes : 1;
}

/* The global indices that process `p` of a dimension has, in rising order; how many. */
static int indices_of(const struct dimension *d, int p, int *indices)
{
    int n = 0, block = block_of(d);
    for (int i = 0; i < d->size; i++)
        if (i / block % d->processes == p)
            indices[n++] = i;
    return n;
}

static void one_process(const struct dimension *d, int dims, int rank, int processes, int order, int large, unsigned char *seen)
{
    int sizes[3], distributions[3], arguments[3], grid[3], indices[3][64], owned[3], place[3], rest = rank, packed[MOST], position = 0, array[MOST];
    MPI_Count sizes_c[3];
    long total = 1, mine = 1;
    for (int i = dims - 1; i >= 0; i--)
        place[i] = rest % d[i].processes, rest /= d[i].processes;
    for (int i = 0; i < dims; i++) {
        sizes_c[i] = sizes[i] = d[i].size, distributions[i] = d[i].distribution, grid[i] = d[i].processes;
        arguments[i] = d[i].argument;
        owned[i] = indices_of(&d[i], place[i], indices[i]);
        total *= sizes[i], mine *= owned[i];
    }
    MPI_Datatype type;
    MPI_Aint low, extent;
    if (large)
        CALL(MPI_Type_create_darray_c(processes, rank, dims, sizes_c, distributions, arguments, grid, order, MPI_INT, &type));
    else
        CALL(MPI_Type_create_darray(processes, rank, dims, sizes, distributions, arguments, grid, order, MPI_INT, &type));
    CALL(MPI_Type_commit(&type));
    CALL(MPI_Type_get_extent(type, &low, &extent));
    CHECK(low == 0 && extent == total * 4, "bounds %ld + %ld of %ld ints", (long)low, (long)extent, total);
    for (int i = 0; i < total; i++)
        array[i] = i;
    CALL(MPI_Pack(array, 1, type, packed, sizeof packed, &position, MPI_COMM_SELF));
    CHECK(position == 4 * mine, "process %d has %d bytes, expected %ld", rank, position, 4 * mine);
    for (long i = 0; i < mine; i++) {
        long left = i, global = 0, pitch = 1;
        for (int k = 0; k < dims; k++) {
            int dimension = order == MPI_ORDER_C ? dims - 1 - k : k;
            global += indices[dimension][left % owned[dimension]] * pitch;
            left /= owned[dimension];
            pitch *= sizes[dimension];
        }
        if (!CHECK(packed[i] == global, "process %d of %d, number %ld is %d instead of %ld", rank, processes, i, packed[i], global))
            break;
        seen[global]++;
    }
    CALL(MPI_Type_free(&type));
}

static void grid(int dims, const struct dimension *d)
{
    for (int order = 0; order < 2; order++)
        for (int large = 0; large < 2; large++) {
            unsigned char seen[MOST] = {0};
            int processes = 1, total = 1;
            for (int i = 0; i < dims; i++)
                processes *= d[i].processes, total *= d[i].size;
            for (int rank = 0; rank < processes; rank++)
                one_process(d, dims, rank, processes, order ? MPI_ORDER_FORTRAN : MPI_ORDER_C, large, seen);
            for (int i = 0; i < total; i++)
                if (!CHECK(seen[i] == 1, "element %d belongs to %d processes", i, seen[i]))
                    break;
        }
}

int main(int argc, char **argv)
{
    enum { BLOCK = MPI_DISTRIBUTE_BLOCK, CYCLIC = MPI_DISTRIBUTE_CYCLIC, NONE = MPI_DISTRIBUTE_NONE, DEFAULT = MPI_DISTRIBUTE_DFLT_DARG };
    start(&argc, &argv);
    grid(1, (struct dimension[]){{12, BLOCK, DEFAULT, 3}});
    grid(1, (struct dimension[]){{13, BLOCK, DEFAULT, 4}});
    grid(1, (struct dimension[]){{13, BLOCK, 5, 3}});
    grid(1, (struct dimension[]){{10, CYCLIC, DEFAULT, 3}});
    grid(1, (struct dimension[]){{17, CYCLIC, 2, 3}});
    grid(1, (struct dimension[]){{17, CYCLIC, 3, 1}});
    grid(1, (struct dimension[]){{9, NONE, DEFAULT, 1}});
    grid(2, (struct dimension[]){{8, BLOCK, DEFAULT, 2}, {9, CYCLIC, 2, 2}});
    grid(2, (struct dimension[]){{7, CYCLIC, DEFAULT, 2}, {5, BLOCK, DEFAULT, 3}});
    grid(2, (struct dimension[]){{6, NONE, DEFAULT, 1}, {11, CYCLIC, 3, 2}});
    grid(3, (struct dimension[]){{5, BLOCK, DEFAULT, 2}, {7, CYCLIC, 2, 2}, {4, BLOCK, DEFAULT, 2}});
    grid(3, (struct dimension[]){{6, CYCLIC, 1, 3}, {4, NONE, DEFAULT, 1}, {9, CYCLIC, 4, 2}});
    return finish();
}
