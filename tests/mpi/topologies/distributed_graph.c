/* Distributed graphs, adjacent and general, with and without weights, empty, reordered. MPI 5.0, 8.5.4 */
#include "check.h"

static void check_ring(MPI_Comm comm, int weighted)
{
    int in = -1, out = -1, flag = -1, sources[2] = {-1, -1}, destinations[2] = {-1, -1}, in_weights[2], out_weights[2], rank, kind;
    CALL(MPI_Comm_rank(comm, &rank));
    CALL(MPI_Topo_test(comm, &kind));
    CHECK(kind == MPI_DIST_GRAPH, "topology %d", kind);
    CALL(MPI_Dist_graph_neighbors_count(comm, &in, &out, &flag));
    CHECK(in == 1 && out == 1 && !!flag == weighted, "in %d out %d weighted %d", in, out, flag);
    CALL(MPI_Dist_graph_neighbors(comm, 1, sources, weighted ? in_weights : MPI_UNWEIGHTED, 1, destinations,
                                  weighted ? out_weights : MPI_UNWEIGHTED));
    CHECK(sources[0] == (rank + check_size - 1) % check_size && destinations[0] == (rank + 1) % check_size, "source %d destination %d",
          sources[0], destinations[0]);
    if (weighted)
        CHECK(in_weights[0] == sources[0] + 10 && out_weights[0] == rank + 10, "weights %d %d", in_weights[0], out_weights[0]);
    int value = rank, got = -1;
    CALL(MPI_Neighbor_allgather(&value, 1, MPI_INT, &got, 1, MPI_INT, comm));
    CHECK(got == sources[0], "got %d from the neighbour", got);
}

static void rings(void)
{
    MPI_Comm comm;
    int previous = (check_rank + check_size - 1) % check_size, next = (check_rank + 1) % check_size;
    int in_weight = previous + 10, out_weight = check_rank + 10;
    CALL(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &previous, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
    check_ring(comm, 0);
    CALL(MPI_Comm_free(&comm));
    CALL(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &previous, &in_weight, 1, &next, &out_weight, MPI_INFO_NULL, 0, &comm));
    check_ring(comm, 1);
    CALL(MPI_Comm_free(&comm));
    /* Each rank names its own edge, then rank 0 names all of them. */
    int degree = 1;
    CALL(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &check_rank, &degree, &next, &out_weight, MPI_INFO_NULL, 0, &comm));
    check_ring(comm, 1);
    CALL(MPI_Comm_free(&comm));
    int *from = malloc(sizeof *from * (size_t)check_size), *to = malloc(sizeof *to * (size_t)check_size);
    int *degrees = malloc(sizeof *degrees * (size_t)check_size);
    for (int i = 0; i < check_size; i++)
        from[i] = i, to[i] = (i + 1) % check_size, degrees[i] = 1;
    CALL(MPI_Dist_graph_create(MPI_COMM_WORLD, check_rank == 0 ? check_size : 0, from, degrees, to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
    check_ring(comm, 0);
    CALL(MPI_Comm_free(&comm));
    CALL(MPI_Dist_graph_create(MPI_COMM_WORLD, check_rank == 0 ? check_size : 0, from, degrees, to, MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &comm));
    check_ring(comm, 0);
    CALL(MPI_Comm_free(&comm));
    free(from);
    free(to);
    free(degrees);
}

/* Only rank 0 has neighbours: everybody sends to it, twice. */
static void star(void)
{
    MPI_Comm comm;
    int in = -1, out = -1, flag, n = check_rank == 0 ? 2 * check_size : 0;
    int *sources = malloc(sizeof *sources * (size_t)(2 * check_size + 1)), zeros[2] = {0, 0};
    for (int i = 0; i < 2 * check_size; i++)
        sources[i] = i / 2;
    CALL(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, n, sources, MPI_UNWEIGHTED, 2, zeros, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                        0, &comm));
    CALL(MPI_Dist_graph_neighbors_count(comm, &in, &out, &flag));
    CHECK(in == n && out == 2 && !flag, "in %d out %d", in, out);
    CALL(MPI_Comm_free(&comm));
    CALL(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &comm));
    CALL(MPI_Dist_graph_neighbors_count(comm, &in, &out, &flag));
    CHECK(in == 0 && out == 0 && flag, "no neighbours: in %d out %d weighted %d", in, out, flag);
    CALL(MPI_Comm_free(&comm));
    free(sources);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    rings();
    star();
    return finish();
}
