/*
 * Topologies with reorder = true: whoever gets which rank, coordinates, neighbours, collectives, parts and copies are right, and the
 * same call gives the same ranks. MPI 5.0, 8.5.1 to 8.5.4, 8.5.8
 *
 * Arguments: the socket of each rank of MPI_COMM_WORLD. With them the edges between sockets must become fewer.
 */
#include "check.h"

static int *socket_of; /* of a rank of the world; NULL: nobody has said */

/* The rank in the world of each rank of a communicator, after checking that everybody is there once. */
static int *who(MPI_Comm comm, int size)
{
    int *worlds = malloc(sizeof *worlds * (size_t)size), *seen = calloc((size_t)check_size, sizeof *seen);
    CALL(MPI_Allgather(&check_rank, 1, MPI_INT, worlds, 1, MPI_INT, comm));
    for (int i = 0; i < size; i++)
        CHECK(worlds[i] >= 0 && worlds[i] < check_size && !seen[worlds[i]]++, "rank %d is process %d", i, worlds[i]);
    MPI_Group all, group;
    int *ranks = malloc(sizeof *ranks * (size_t)size), *translated = malloc(sizeof *translated * (size_t)size);
    for (int i = 0; i < size; i++)
        ranks[i] = i;
    CALL(MPI_Comm_group(MPI_COMM_WORLD, &all));
    CALL(MPI_Comm_group(comm, &group));
    CALL(MPI_Group_translate_ranks(group, size, ranks, all, translated));
    CHECK(!memcmp(worlds, translated, sizeof *worlds * (size_t)size), "the group has another order than the communicator");
    CALL(MPI_Group_free(&all));
    CALL(MPI_Group_free(&group));
    free(ranks);
    free(translated);
    free(seen);
    return worlds;
}

/* Edges between sockets before and after, which every process can tell as soon as each adds its own. */
static void gained(const char *what, MPI_Comm comm, int degree, const int *neighbours, const int *weights, int surely)
{
    int size, rank, sums[2] = {0, 0}, all[2];
    CALL(MPI_Comm_size(comm, &size));
    CALL(MPI_Comm_rank(comm, &rank));
    int *worlds = who(comm, size);
    for (int i = 0; i < degree && socket_of; i++) {
        if (neighbours[i] == MPI_PROC_NULL)
            continue;
        int weight = weights ? weights[i] : 1;
        sums[0] += weight * (socket_of[rank] != socket_of[neighbours[i]]);
        sums[1] += weight * (socket_of[worlds[rank]] != socket_of[worlds[neighbours[i]]]);
    }
    CALL(MPI_Allreduce(sums, all, 2, MPI_INT, MPI_SUM, comm));
    if (rank == 0)
        printf("%s: weight between sockets %d before, %d after\n", what, all[0], all[1]);
    if (socket_of)
        CHECK(all[1] < all[0] + !surely, "%s: nothing gained, %d before, %d after", what, all[0], all[1]);
    free(worlds);
}

/* Collectives on a communicator whose ranks may lie anywhere. */
static void collectives(MPI_Comm comm)
{
    int size, rank, sum, value, last;
    CALL(MPI_Comm_size(comm, &size));
    CALL(MPI_Comm_rank(comm, &rank));
    CALL(MPI_Barrier(comm));
    CALL(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == size * (size - 1) / 2, "sum of ranks %d", sum);
    for (int root = 0; root < size; root++) {
        value = rank == root ? 1000 + root : -1;
        CALL(MPI_Bcast(&value, 1, MPI_INT, root, comm));
        CHECK(value == 1000 + root, "%d from root %d", value, root);
    }
    CALL(MPI_Scan(&rank, &last, 1, MPI_INT, MPI_SUM, comm));
    CHECK(last == rank * (rank + 1) / 2, "prefix sum %d of rank %d", last, rank);
}

static void copies(MPI_Comm comm, int kind)
{
    MPI_Comm copy;
    int result, found;
    CALL(MPI_Comm_dup(comm, &copy));
    CALL(MPI_Comm_compare(comm, copy, &result));
    CALL(MPI_Topo_test(copy, &found));
    CHECK(result == MPI_CONGRUENT && found == kind, "a copy compares as %d, topology %d", result, found);
    collectives(copy);
    CALL(MPI_Comm_free(&copy));
}

/* A grid of all processes, or of fewer. */
static void grid(int rows, int columns, int periodic)
{
    int dims[2] = {rows, columns}, periods[2] = {periodic, 0}, coords[2], rank, mapped = -7, again_rank, kept;
    MPI_Comm comm, again;
    CALL(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &comm));
    CALL(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &again));
    CALL(MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, &mapped));
    int inside = comm != MPI_COMM_NULL, members;
    CALL(MPI_Allreduce(&inside, &members, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    REQUIRE(members == rows * columns, "%d processes in a grid of %d x %d", members, rows, columns);
    REQUIRE(inside == (again != MPI_COMM_NULL), "the same call takes another process");
    if (!inside) {
        CHECK(mapped == MPI_UNDEFINED, "left out, but mapped to %d", mapped);
        return;
    }
    CALL(MPI_Comm_rank(comm, &rank));
    CALL(MPI_Comm_rank(again, &again_rank));
    CHECK(rank == mapped && rank == again_rank, "rank %d, mapped to %d, the second time %d", rank, mapped, again_rank);
    CALL(MPI_Comm_free(&again));
    CALL(MPI_Cart_coords(comm, rank, 2, coords));
    CHECK(coords[0] == rank / columns && coords[1] == rank % columns, "rank %d at %d %d", rank, coords[0], coords[1]);
    int neighbours[4], out[4], in[4] = {-1, -1, -1, -1};
    CALL(MPI_Cart_shift(comm, 0, 1, &neighbours[0], &neighbours[1]));
    CALL(MPI_Cart_shift(comm, 1, 1, &neighbours[2], &neighbours[3]));
    for (int i = 0; i < 4; i++) {
        out[i] = 10 * rank + i;
        int got = -1, other = i ^ 1;
        CALL(MPI_Sendrecv(&rank, 1, MPI_INT, neighbours[i], 5, &got, 1, MPI_INT, neighbours[other], 5, comm, MPI_STATUS_IGNORE));
        CHECK(got == (neighbours[other] == MPI_PROC_NULL ? -1 : neighbours[other]), "%d from neighbour %d", got, neighbours[other]);
    }
    CALL(MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm));
    for (int i = 0; i < 4; i++)
        CHECK(in[i] == (neighbours[i] == MPI_PROC_NULL ? -1 : 10 * neighbours[i] + (i ^ 1)), "neighbour %d sent %d", neighbours[i], in[i]);
    collectives(comm);
    copies(comm, MPI_CART);
    if (members == check_size)
        gained("grid", comm, 4, neighbours, NULL, !periodic); /* with wrap-around each half is as good as another */
    for (int keep = 0; keep < 2; keep++) {
        MPI_Comm part;
        int remain[2] = {keep == 0, keep == 1}, part_rank, part_size, place, sum;
        CALL(MPI_Cart_sub(comm, remain, &part));
        CALL(MPI_Comm_rank(part, &part_rank));
        CALL(MPI_Comm_size(part, &part_size));
        CHECK(part_size == dims[keep] && part_rank == coords[keep], "part: rank %d of %d", part_rank, part_size);
        CALL(MPI_Cart_coords(part, part_rank, 1, &place));
        CHECK(place == coords[keep], "part: at %d", place);
        CALL(MPI_Allreduce(&coords[!keep], &sum, 1, MPI_INT, MPI_SUM, part));
        CHECK(sum == coords[!keep] * part_size, "a part with processes of others");
        CALL(MPI_Comm_free(&part));
    }
    CALL(MPI_Comm_free(&comm));
    if (members == check_size) {
        CALL(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &comm));
        CALL(MPI_Comm_compare(comm, MPI_COMM_WORLD, &kept));
        CHECK(kept == MPI_CONGRUENT, "ranks have moved without reorder: %d", kept);
        CALL(MPI_Comm_free(&comm));
    }
}

/* A ring as a graph that everybody knows. */
static void graph(void)
{
    int *index = malloc(sizeof *index * (size_t)check_size), *edges = malloc(sizeof *edges * 2 * (size_t)check_size);
    for (int i = 0; i < check_size; i++) {
        index[i] = 2 * (i + 1);
        edges[2 * i] = (i + check_size - 1) % check_size;
        edges[2 * i + 1] = (i + 1) % check_size;
    }
    MPI_Comm comm;
    int rank, mapped, count, found[2], in[2];
    CALL(MPI_Graph_create(MPI_COMM_WORLD, check_size, index, edges, 1, &comm));
    CALL(MPI_Graph_map(MPI_COMM_WORLD, check_size, index, edges, &mapped));
    CALL(MPI_Comm_rank(comm, &rank));
    CHECK(rank == mapped, "rank %d, mapped to %d", rank, mapped);
    CALL(MPI_Graph_neighbors_count(comm, rank, &count));
    REQUIRE(count == 2, "%d neighbours", count);
    CALL(MPI_Graph_neighbors(comm, rank, 2, found));
    CHECK(!memcmp(found, edges + 2 * rank, sizeof found), "neighbours %d %d of %d", found[0], found[1], rank);
    CALL(MPI_Neighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, comm));
    CHECK(!memcmp(found, in, sizeof found), "%d %d instead of the neighbours' ranks", in[0], in[1]);
    gained("graph", comm, 2, found, NULL, 1);
    copies(comm, MPI_GRAPH);
    CALL(MPI_Comm_free(&comm));
    free(index);
    free(edges);
}

/* Node i sends to i + 1 (heavy) and to i + 2 (light), around; the lists that node i has. */
static void lists(int node, int *sources, int *destinations, int *in_weights, int *out_weights)
{
    for (int i = 0; i < 2; i++) {
        sources[i] = (node + check_size - 1 - i) % check_size;
        destinations[i] = (node + 1 + i) % check_size;
        in_weights[i] = i ? 1 + sources[i] : 100 + sources[i];
        out_weights[i] = i ? 1 + node : 100 + node;
    }
}

/* Each rank has the lists of its node, whoever gave them, and messages along them arrive. */
static void check_lists(const char *what, MPI_Comm comm, int weighted)
{
    int rank, in, out, flag, expected[4][2], found[4][2], got[2];
    CALL(MPI_Comm_rank(comm, &rank));
    lists(rank, expected[0], expected[1], expected[2], expected[3]);
    CALL(MPI_Dist_graph_neighbors_count(comm, &in, &out, &flag));
    REQUIRE(in == 2 && out == 2 && !!flag == weighted, "in %d out %d weighted %d", in, out, flag);
    CALL(MPI_Dist_graph_neighbors(comm, 2, found[0], weighted ? found[2] : MPI_UNWEIGHTED, 2, found[1],
                                  weighted ? found[3] : MPI_UNWEIGHTED));
    CALL(MPI_Neighbor_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, comm));
    CHECK(!memcmp(got, found[0], sizeof got), "%s: %d %d instead of the sources' ranks", what, got[0], got[1]);
    /* The order of edges is free where several processes give them (8.5.4). */
    for (int direction = 0; direction < 2; direction++) {
        int turned = found[direction][0] != expected[direction][0];
        for (int list = direction; list < 4 && turned; list += 2) {
            int value = expected[list][0];
            expected[list][0] = expected[list][1], expected[list][1] = value;
        }
    }
    CHECK(!memcmp(expected, found, sizeof *expected * (weighted ? 4 : 2)), "%s: node %d has lists of another", what, rank);
    gained(what, comm, 2, found[1], weighted ? found[3] : NULL, 1);
    copies(comm, MPI_DIST_GRAPH);
}

static void distributed(void)
{
    int sources[2], destinations[2], in_weights[2], out_weights[2], degree = 2;
    MPI_Comm comm, inner;
    lists(check_rank, sources, destinations, in_weights, out_weights);
    CALL(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, in_weights, 2, destinations, out_weights, MPI_INFO_NULL, 1, &comm));
    check_lists("adjacent, weighted", comm, 1);
    CALL(MPI_Comm_free(&comm));
    CALL(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, MPI_UNWEIGHTED, 2, destinations, MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &comm));
    check_lists("adjacent", comm, 0);
    CALL(MPI_Comm_free(&comm));
    CALL(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &check_rank, &degree, destinations, out_weights, MPI_INFO_NULL, 1, &comm));
    check_lists("distributed, weighted", comm, 1);
    /* A topology on the processes of another one. */
    int dims[1] = {check_size}, periods[1] = {1}, rank, source, destination, got;
    CALL(MPI_Cart_create(comm, 1, dims, periods, 1, &inner));
    CALL(MPI_Comm_rank(inner, &rank));
    CALL(MPI_Cart_shift(inner, 0, 1, &source, &destination));
    CALL(MPI_Sendrecv(&rank, 1, MPI_INT, destination, 1, &got, 1, MPI_INT, source, 1, inner, MPI_STATUS_IGNORE));
    CHECK(got == source && source == (rank + check_size - 1) % check_size, "rank %d: %d from %d", rank, got, source);
    collectives(inner);
    CALL(MPI_Comm_free(&inner));
    CALL(MPI_Comm_free(&comm));
    /* All edges from one process; one edge to MPI_PROC_NULL and one process without any. */
    int beyond[2] = {(check_rank + 1) % check_size, MPI_PROC_NULL}, in, out, flag, last = check_rank == check_size - 1;
    CALL(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_UNWEIGHTED, last ? 0 : 2, beyond, MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &comm));
    CALL(MPI_Comm_rank(comm, &rank));
    CALL(MPI_Dist_graph_neighbors_count(comm, &in, &out, &flag));
    CHECK(in == 0 && out == (rank == check_size - 1 ? 0 : 2), "node %d: in %d out %d", rank, in, out);
    if (out == 2) {
        CALL(MPI_Dist_graph_neighbors(comm, 0, sources, MPI_UNWEIGHTED, 2, destinations, MPI_UNWEIGHTED));
        CHECK(destinations[0] == rank + 1 && destinations[1] == MPI_PROC_NULL, "to %d and %d", destinations[0], destinations[1]);
    }
    collectives(comm);
    CALL(MPI_Comm_free(&comm));
    if (check_size <= 4)
        return; /* MPICH stops with an internal error when MPI_Dist_graph_create is given MPI_PROC_NULL. */
    CALL(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &check_rank, &degree, beyond, MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &comm));
    CALL(MPI_Comm_rank(comm, &rank));
    CALL(MPI_Dist_graph_neighbors(comm, 1, sources, MPI_UNWEIGHTED, 2, destinations, MPI_UNWEIGHTED));
    CHECK(sources[0] == (rank + check_size - 1) % check_size && destinations[1] == MPI_PROC_NULL, "from %d, to %d", sources[0], destinations[1]);
    CALL(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    if (argc > 1) {
        REQUIRE(argc == check_size + 1, "%d sockets for %d ranks", argc - 1, check_size);
        socket_of = malloc(sizeof *socket_of * (size_t)check_size);
        for (int i = 0; i < check_size; i++)
            socket_of[i] = atoi(argv[i + 1]);
    }
    grid(check_size / 2, 2, 0);
    grid(check_size / 2, 2, 1);
    grid(check_size / 4, 2, 0);
    graph();
    distributed();
    free(socket_of);
    return finish();
}
