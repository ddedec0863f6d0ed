/*
 * Neighbourhood collectives on one topology: who sends what to whom is known to every rank, so each works out what it must receive.
 * MPI 5.0, 8.6
 */
#ifndef TOWPATH_TESTS_NEIGHBOURHOOD_H
#define TOWPATH_TESTS_NEIGHBOURHOOD_H

#include "movements.h"

enum { EDGES = 64, GREATEST = 300 };

struct neighbourhood {
    const char *name;
    MPI_Comm comm;
    int rank, in, out;
    int source[EDGES];      /* rank, or MPI_PROC_NULL */
    int place[EDGES];       /* which of the source's outgoing edges this is */
    int destination[EDGES];
};

/* Number i on the `edge`-th outgoing edge of a rank (-1: on all). */
static int edge_value(int rank, int edge, int i)
{
    return rank * 100000 + (edge + 1) * 1000 + i % 997;
}

/* How many numbers an edge of the v-forms carries. */
static int edge_count(int rank, int edge, int count)
{
    return (rank + edge + 1) % 4 == 0 ? 0 : count + (rank + edge + 1) % 3;
}

static void neighbours_wait(struct movement *m)
{
    if (m->plan.form == PERSISTENT)
        CALL(MPI_Start(&m->request));
    if (m->plan.form != BLOCKING)
        CALL(MPI_Wait(&m->request, MPI_STATUS_IGNORE));
    if (m->plan.form == PERSISTENT)
        CALL(MPI_Request_free(&m->request));
}

/* Checks block j, of `count` numbers `pitch` apart, that came from outgoing edge `edge` of its source. */
static int block_right(const struct neighbourhood *n, const struct movement *m, const char *what, const int *block, int j, int edge, int count, int pitch)
{
    for (int i = 0; i < count; i++) {
        int expected = n->source[j] == MPI_PROC_NULL ? -1 : edge_value(n->source[j], edge, i);
        if (!CHECK(block[i * pitch] == expected, "%s %s on %s: number %d of block %d of %d (from %d) is %d instead of %d", form_names[m->plan.form], what,
                   n->name, i, j, n->in, n->source[j], block[i * pitch], expected))
            return 0;
    }
    return 1;
}

static void neighbours_regular(const struct neighbourhood *n, struct movement *m, int count)
{
    static int out[EDGES * GREATEST], in[EDGES * GREATEST];
    for (int i = 0; i < count; i++)
        out[i] = edge_value(n->rank, -1, i);
    memset(in, 0xff, sizeof in);
    ISSUE_EITHER(Neighbor_allgather, neighbor_allgather, out, count, MPI_INT, in, count, MPI_INT, n->comm);
    neighbours_wait(m);
    for (int j = 0; j < n->in; j++)
        if (!block_right(n, m, "allgather", in + j * count, j, -1, count, 1))
            break;
    CHECK(in[n->in * count] == -1, "allgather wrote behind its buffer");
    for (int edge = 0; edge < n->out; edge++)
        for (int i = 0; i < count; i++)
            out[edge * count + i] = edge_value(n->rank, edge, i);
    memset(in, 0xff, sizeof in);
    ISSUE_EITHER(Neighbor_alltoall, neighbor_alltoall, out, count, MPI_INT, in, count, MPI_INT, n->comm);
    neighbours_wait(m);
    for (int j = 0; j < n->in; j++)
        if (!block_right(n, m, "alltoall", in + j * count, j, n->place[j], count, 1))
            break;
    CHECK(in[n->in * count] == -1, "alltoall wrote behind its buffer");
}

static void neighbours_varied(const struct neighbourhood *n, struct movement *m, int count)
{
    static int out[EDGES * GREATEST], in[EDGES * GREATEST];
    int counts[EDGES + 1] = {0}, places[EDGES + 1] = {0}, out_counts[EDGES + 1] = {0}, out_places[EDGES + 1] = {0}, next = 0;
    for (int i = 0; i < count + 3; i++)
        out[i] = edge_value(n->rank, -1, i);
    memset(in, 0xff, sizeof in);
    for (int j = n->in - 1; j >= 0; j--) {
        counts[j] = n->source[j] == MPI_PROC_NULL ? count : edge_count(n->source[j], -1, count);
        places[j] = next;
        next += counts[j] + 1;
    }
    ISSUE(Neighbor_allgatherv, neighbor_allgatherv, out, edge_count(n->rank, -1, count), MPI_INT, in, counts, places, MPI_INT, n->comm);
    neighbours_wait(m);
    for (int j = 0; j < n->in; j++) {
        if (!block_right(n, m, "allgatherv", in + places[j], j, -1, counts[j], 1))
            break;
        CHECK(in[places[j] + counts[j]] == -1, "allgatherv wrote into a gap");
    }
    next = 0;
    for (int j = 0; j < n->in; j++) {
        counts[j] = n->source[j] == MPI_PROC_NULL ? count : edge_count(n->source[j], n->place[j], count);
        places[j] = next;
        next += counts[j] + 1;
    }
    next = 0;
    for (int edge = 0; edge < n->out; edge++) {
        out_counts[edge] = edge_count(n->rank, edge, count);
        out_places[edge] = next;
        for (int i = 0; i < out_counts[edge]; i++)
            out[next + i] = edge_value(n->rank, edge, i);
        next += out_counts[edge] + 2;
    }
    memset(in, 0xff, sizeof in);
    ISSUE(Neighbor_alltoallv, neighbor_alltoallv, out, out_counts, out_places, MPI_INT, in, counts, places, MPI_INT, n->comm);
    neighbours_wait(m);
    for (int j = 0; j < n->in; j++) {
        if (!block_right(n, m, "alltoallv", in + places[j], j, n->place[j], counts[j], 1))
            break;
        CHECK(in[places[j] + counts[j]] == -1, "alltoallv wrote into a gap");
    }
}

/* Dense numbers go out, numbers with gaps come in on every second edge. */
static void neighbours_typed(const struct neighbourhood *n, struct movement *m, int count)
{
    static int out[EDGES * GREATEST], in[2 * EDGES * GREATEST];
    MPI_Datatype spaced, types[EDGES], out_types[EDGES];
    MPI_Aint places[EDGES], out_places[EDGES];
    int counts[EDGES], out_counts[EDGES];
    CALL(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spaced));
    CALL(MPI_Type_commit(&spaced));
    for (int edge = 0; edge < n->out; edge++) {
        out_counts[edge] = edge_count(n->rank, edge, count);
        out_places[edge] = (MPI_Aint)sizeof(int) * (n->out - 1 - edge) * (count + 3);
        out_types[edge] = MPI_INT;
        for (int i = 0; i < out_counts[edge]; i++)
            out[(n->out - 1 - edge) * (count + 3) + i] = edge_value(n->rank, edge, i);
    }
    for (int j = 0; j < n->in; j++) {
        counts[j] = n->source[j] == MPI_PROC_NULL ? count : edge_count(n->source[j], n->place[j], count);
        places[j] = (MPI_Aint)sizeof(int) * j * 2 * (count + 3);
        types[j] = j % 2 ? spaced : MPI_INT;
    }
    memset(in, 0xff, sizeof in);
    ISSUE(Neighbor_alltoallw, neighbor_alltoallw, out, out_counts, out_places, out_types, in, counts, places, types, n->comm);
    neighbours_wait(m);
    for (int j = 0; j < n->in; j++) {
        if (!block_right(n, m, "alltoallw", in + j * 2 * (count + 3), j, n->place[j], counts[j], j % 2 ? 2 : 1))
            break;
        if (j % 2 && counts[j] > 1)
            CHECK(in[j * 2 * (count + 3) + 1] == -1, "alltoallw wrote into a gap");
    }
    CALL(MPI_Type_free(&spaced));
}

/* All five collectives in all three forms. */
__attribute__((unused)) static void neighbours_everything(const struct neighbourhood *n)
{
    static const int counts[] = {0, 1, 5, 200};
    for (int form = 0; form < FORMS; form++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            struct movement call = {.request = MPI_REQUEST_NULL};
            call.plan.form = (enum form)form;
            call.plan.large = (int)i % 2;
            neighbours_regular(n, &call, counts[i]);
            neighbours_varied(n, &call, counts[i]);
            neighbours_typed(n, &call, counts[i]);
        }
}

#endif
