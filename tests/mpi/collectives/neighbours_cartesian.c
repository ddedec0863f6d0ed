/*
 * Neighbourhood collectives on Cartesian grids: the neighbours of dimension 0 first, the lower before the upper; what goes down arrives
 * from above, also where both neighbours are one process; nothing comes from beyond an edge. MPI 5.0, 8.6
 */
#include "neighbourhood.h"

static void on_grid(const char *name, int dimensions, const int *periodic)
{
    int dims[3] = {0, 0, 0};
    struct neighbourhood n = {.name = name, .in = 2 * dimensions, .out = 2 * dimensions};
    CALL(MPI_Dims_create(check_size, dimensions, dims));
    CALL(MPI_Cart_create(MPI_COMM_WORLD, dimensions, dims, periodic, 0, &n.comm));
    CALL(MPI_Comm_rank(n.comm, &n.rank));
    for (int d = 0; d < dimensions; d++) {
        CALL(MPI_Cart_shift(n.comm, d, 1, &n.source[2 * d], &n.source[2 * d + 1]));
        n.place[2 * d] = 2 * d + 1;
        n.place[2 * d + 1] = 2 * d;
    }
    neighbours_everything(&n);
    CALL(MPI_Comm_free(&n.comm));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    on_grid("a line", 1, (int[]){0});
    on_grid("a ring", 1, (int[]){1});
    on_grid("a plane", 2, (int[]){0, 0});
    on_grid("a torus", 2, (int[]){1, 1});
    on_grid("a cylinder", 3, (int[]){0, 1, 0});
    return finish();
}
