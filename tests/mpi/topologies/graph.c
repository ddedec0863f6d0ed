/* Graph topologies: create and all queries, ranks outside, map. MPI 5.0, 8.5.3 */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv); /* four ranks: the graph of the standard's own example */
    int index[4] = {2, 3, 4, 6}, edges[6] = {1, 3, 0, 3, 0, 2};
    int nodes = -1, count = -1, got_index[4], got_edges[6], kind, neighbours[6];
    MPI_Comm comm, copy;
    CALL(MPI_Graph_create(MPI_COMM_WORLD, 4, index, edges, 0, &comm));
    CALL(MPI_Topo_test(comm, &kind));
    CHECK(kind == MPI_GRAPH, "topology %d", kind);
    CALL(MPI_Comm_dup(comm, &copy));
    CALL(MPI_Graphdims_get(copy, &nodes, &count));
    CHECK(nodes == 4 && count == 6, "%d nodes %d edges", nodes, count);
    CALL(MPI_Graph_get(copy, 4, 6, got_index, got_edges));
    CHECK(!memcmp(index, got_index, sizeof index) && !memcmp(edges, got_edges, sizeof edges), "index or edges changed");
    for (int rank = 0; rank < 4; rank++) {
        int first = rank ? index[rank - 1] : 0;
        CALL(MPI_Graph_neighbors_count(comm, rank, &count));
        CHECK(count == index[rank] - first, "rank %d has %d neighbours", rank, count);
        CALL(MPI_Graph_neighbors(comm, rank, count, neighbours));
        for (int i = 0; i < count; i++)
            CHECK(neighbours[i] == edges[first + i], "neighbour %d of %d is %d", i, rank, neighbours[i]);
    }
    CALL(MPI_Comm_free(&copy));
    CALL(MPI_Comm_free(&comm));
    /* A graph of two: the others get nothing. Reordering may move who is in it. */
    int two_index[2] = {1, 2}, two_edges[2] = {1, 0}, members, inside;
    CALL(MPI_Graph_create(MPI_COMM_WORLD, 2, two_index, two_edges, 1, &comm));
    inside = comm != MPI_COMM_NULL;
    CALL(MPI_Allreduce(&inside, &members, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(members == 2, "%d members", members);
    if (inside)
        CALL(MPI_Comm_free(&comm));
    int mapped = -7;
    CALL(MPI_Graph_map(MPI_COMM_WORLD, 4, index, edges, &mapped));
    CHECK(mapped == MPI_UNDEFINED || (mapped >= 0 && mapped < 4), "mapped to %d", mapped);
    return finish();
}
