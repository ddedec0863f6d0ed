/*
 * Neighbourhood collectives on distributed graphs: random ones with loops and several edges between two processes, empty ones, and a
 * general graph. The k-th edge from one process to another is the k-th in both of their lists. MPI 5.0, 8.5.4 and 8.6
 */
#include "neighbourhood.h"

static void random_graph(unsigned seed)
{
    unsigned state = seed;
    int edges = (int)draw(&state, 5u * (unsigned)check_size), from[EDGES], to[EDGES], order[EDGES];
    struct neighbourhood n = {.name = "a random graph", .rank = check_rank};
    for (int e = 0; e < edges && e < EDGES; e++)
        from[e] = (int)draw(&state, (unsigned)check_size), to[e] = (int)draw(&state, (unsigned)check_size);
    edges = edges < EDGES ? edges : EDGES;
    for (int e = 0; e < edges; e++)
        if (from[e] == check_rank)
            n.destination[n.out++] = to[e];
    /* My incoming edges in an order of my own, but those from one process in the order of its list. */
    int incoming = 0;
    for (int e = 0; e < edges; e++)
        if (to[e] == check_rank)
            order[incoming++] = from[e];
    for (int i = incoming - 1; i > 0; i--) {
        int j = (int)draw(&state, (unsigned)i + 1), other = order[i];
        order[i] = order[j], order[j] = other;
    }
    for (int j = 0; j < incoming; j++) {
        int earlier = 0, place = 0, seen = 0;
        for (int k = 0; k < j; k++)
            earlier += order[k] == order[j];
        for (int e = 0; e < edges; e++) {
            if (from[e] != order[j])
                continue;
            if (to[e] == check_rank && seen++ == earlier)
                break;
            place++;
        }
        n.source[n.in] = order[j];
        n.place[n.in++] = place;
    }
    CALL(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, n.in, n.source, MPI_UNWEIGHTED, n.out, n.destination, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &n.comm));
    neighbours_everything(&n);
    CALL(MPI_Comm_free(&n.comm));
}

/* MPI_Graph_create: a star, where the centre has all others as neighbours. */
static void star(void)
{
    int index[64], edges[128], used = 0;
    struct neighbourhood n = {.name = "a star", .rank = check_rank};
    for (int i = 0; i < check_size; i++) {
        if (i == 0)
            for (int j = 1; j < check_size; j++)
                edges[used++] = j;
        else
            edges[used++] = 0;
        index[i] = used;
    }
    CALL(MPI_Graph_create(MPI_COMM_WORLD, check_size, index, edges, 0, &n.comm));
    n.in = n.out = check_rank == 0 ? check_size - 1 : 1;
    for (int j = 0; j < n.in; j++) {
        n.source[j] = check_rank == 0 ? j + 1 : 0;
        n.place[j] = check_rank == 0 ? 0 : check_rank - 1;
    }
    neighbours_everything(&n);
    CALL(MPI_Comm_free(&n.comm));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    for (unsigned seed = 1; seed <= 12; seed++)
        random_graph(seed);
    if (check_size > 1 && check_size <= 64)
        star();
    return finish();
}
