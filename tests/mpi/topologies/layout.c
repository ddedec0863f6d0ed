/*
 * Declares a graph and ends. With TOWPATH_SHOW_CHANNEL=1 each rank prints how its channel is laid out; the list of tests compares
 * that with the graph. Argument: "ring" (1-D, periodic), "line" (not periodic), "weights" (rank 1 sends thrice as much to 0 as 2
 * does), "one-sided" (only rank 0 declares that rank 1 sends to it, which is wrong, but must hurt nobody).
 */
#include "check.h"

static MPI_Comm line(int periodic)
{
    int dims[1] = {check_size}, periods[1] = {periodic};
    MPI_Comm comm;
    CALL(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm));
    return comm;
}

static MPI_Comm weights(void)
{
    int sources[2] = {1, 2}, in[2] = {3, 1}, destination[1] = {0}, out[1] = {check_rank == 1 ? 3 : 1};
    int sends = check_rank == 1 || check_rank == 2;
    MPI_Comm comm;
    CALL(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, check_rank == 0 ? 2 : 0, sources, in, sends, destination, out, MPI_INFO_NULL, 0,
                                        &comm));
    return comm;
}

static MPI_Comm one_sided(void)
{
    int sources[1] = {1};
    MPI_Comm comm;
    CALL(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, check_rank == 0, sources, MPI_UNWEIGHTED, 0, NULL, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                        0, &comm));
    return comm;
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    const char *what = argc > 1 ? argv[1] : "ring";
    MPI_Comm comm = strcmp(what, "weights") == 0 ? weights() : strcmp(what, "one-sided") == 0 ? one_sided() : line(strcmp(what, "ring") == 0);
    int value = check_rank;
    CALL(MPI_Bcast(&value, 1, MPI_INT, 0, comm));
    CHECK(value == 0, "%d", value);
    CALL(MPI_Comm_free(&comm));
    return finish();
}
