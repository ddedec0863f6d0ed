/*
 * One collective between a rank and its partners, as a value: the neighbours of a topology
 * (MPI 5.0, 8.6), or the other group of an intercommunicator (6.2.3). exchange_new() draws nothing:
 * all ranks call it with the same plan.
 */
#ifndef TOWPATH_TESTS_EXCHANGES_H
#define TOWPATH_TESTS_EXCHANGES_H

#include "movements.h"

/* The last three only between groups. */
enum exchange_kind {
    TO_ALL,
    TO_EACH,
    TO_EACH_V,
    GROUPS_BARRIER,
    GROUPS_BCAST,
    GROUPS_SUM,
    EXCHANGES
};
enum { NEIGHBOUR_EXCHANGES = TO_EACH_V + 1, PARTNERS = 64 };

static const char *const exchange_names[] = {"allgather", "alltoall", "alltoallv",
                                             "barrier",   "bcast",    "allreduce"};

/* With whom a rank exchanges, by ranks in MPI_COMM_WORLD. */
struct partners {
    MPI_Comm comm;
    int between_groups, group, rank; /* the rank in its group, which is 0 or 1 */
    int sources, source[PARTNERS], destinations, destination[PARTNERS];
};

struct exchange_plan {
    enum exchange_kind kind;
    enum form form;
    int large, root, count;
    unsigned stream;
};

struct exchange {
    struct exchange_plan plan;
    const struct partners *partners;
    int root_argument;
    int send_counts[PARTNERS], receive_counts[PARTNERS], send_places[PARTNERS],
        receive_places[PARTNERS];
    /* `first` is what the receive buffer begins with. */
    int numbers, *send, *receive, *first, *expected;
    MPI_Request request;
};

/* The ring of all ranks, with a longer step where it leads to yet another rank. */
__attribute__((unused)) static struct partners partners_on_a_graph(void)
{
    struct partners p = {.comm = MPI_COMM_NULL};
    for (int step = 1; step <= 3; step += 2) {
        if (step == 3 && (step - 1) % check_size == 0)
            break;
        p.destination[p.destinations++] = (check_rank + step) % check_size;
        p.source[p.sources++] = (check_rank + check_size * 3 - step) % check_size;
    }
    CALL(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, p.sources, p.source, MPI_UNWEIGHTED,
                                        p.destinations, p.destination, MPI_UNWEIGHTED,
                                        MPI_INFO_NULL, 0, &p.comm));
    return p;
}

/* Every third rank is in one group, the others are in the other: for two ranks and more. */
__attribute__((unused)) static struct partners partners_between_groups(void)
{
    struct partners p = {.between_groups = 1, .group = check_rank % 3 != 0};
    MPI_Comm own;
    CALL(MPI_Comm_split(MPI_COMM_WORLD, p.group, check_rank, &own));
    CALL(MPI_Comm_rank(own, &p.rank));
    CALL(MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, !p.group, 5, &p.comm));
    CALL(MPI_Comm_free(&own));
    for (int rank = 0; rank < check_size; rank++)
        if ((rank % 3 != 0) != p.group) {
            p.source[p.sources++] = rank;
            p.destination[p.destinations++] = rank;
        }
    return p;
}

static int number_given(const struct exchange *m, int from, int to, int index)
{
    return (int)(m->plan.stream * 13u) + from * 101 + (m->plan.kind == TO_ALL ? 0 : to * 17) +
           index;
}

/* Numbers that go from one rank to another. */
static int numbers_given(const struct exchange *m, int from, int to)
{
    unsigned which = (unsigned)(from + to) + m->plan.stream;
    return m->plan.kind == TO_EACH_V ? m->plan.count * (int)(which % 3) / 2 : m->plan.count;
}

/* The blocks that come from each source and go to each destination; those of a v-form have gaps. */
static void blocks_make(struct exchange *m)
{
    const struct partners *p = m->partners;
    int gap = m->plan.kind == TO_EACH_V, next = 0;
    for (int i = 0; i < p->destinations; i++) {
        m->send_counts[i] = numbers_given(m, check_rank, p->destination[i]);
        m->send_places[i] = m->plan.kind == TO_ALL ? 0 : next;
        for (int j = 0; j < m->send_counts[i]; j++)
            m->send[m->send_places[i] + j] = number_given(m, check_rank, p->destination[i], j);
        next += m->send_counts[i] + gap;
    }
    next = 0;
    for (int i = 0; i < p->sources; i++) {
        m->receive_counts[i] = numbers_given(m, p->source[i], check_rank);
        m->receive_places[i] = next;
        for (int j = 0; j < m->receive_counts[i]; j++)
            m->expected[next + j] = number_given(m, p->source[i], check_rank, j);
        next += m->receive_counts[i] + gap;
    }
}

/* A broadcast from a rank of one group to the other group. */
static void bcast_make(struct exchange *m)
{
    const struct partners *p = m->partners;
    int root_group = (int)(m->plan.stream % 2);
    /* Ranks 0, 3, 6 ... are the one group, 1, 2, 4, 5 ... the other. */
    int size = root_group == 0 ? (check_size + 2) / 3 : check_size - (check_size + 2) / 3;
    int root = m->plan.root % size;
    int world = root_group == 0 ? root * 3 : root / 2 * 3 + root % 2 + 1;
    m->root_argument = p->group != root_group ? root : p->rank == root ? MPI_ROOT : MPI_PROC_NULL;
    for (int i = 0; i < m->plan.count; i++) {
        if (p->group != root_group || p->rank == root)
            m->expected[i] = number_given(m, world, 0, i);
        if (m->root_argument == MPI_ROOT)
            m->first[i] = m->expected[i];
    }
}

static void sum_make(struct exchange *m)
{
    for (int i = 0; i < m->plan.count; i++) {
        m->send[i] = number_given(m, check_rank, 0, i);
        m->expected[i] = 0;
        for (int j = 0; j < m->partners->sources; j++)
            m->expected[i] += number_given(m, m->partners->source[j], 0, i);
    }
}

__attribute__((unused)) static struct exchange exchange_new(const struct partners *partners,
                                                            const struct exchange_plan *plan)
{
    struct exchange m = {.plan = *plan, .partners = partners, .request = MPI_REQUEST_NULL};
    m.numbers = (plan->count + 1) * PARTNERS;
    size_t bytes = sizeof(int) * (size_t)m.numbers;
    m.send = malloc(4 * bytes);
    memset(m.send, 0xff, 4 * bytes);
    m.receive = m.send + m.numbers, m.first = m.receive + m.numbers,
    m.expected = m.first + m.numbers;
    if ((int)plan->kind < NEIGHBOUR_EXCHANGES)
        blocks_make(&m);
    else if (plan->kind == GROUPS_BCAST)
        bcast_make(&m);
    else if (plan->kind == GROUPS_SUM)
        sum_make(&m);
    return m;
}

static void exchange_issue_neighbours(struct exchange *m)
{
    int n = m->plan.count, *out = m->send, *in = m->receive;
    MPI_Comm comm = m->partners->comm;
    if (m->plan.kind == TO_ALL)
        ISSUE_EITHER(Neighbor_allgather, neighbor_allgather, out, n, MPI_INT, in, n, MPI_INT, comm);
    else if (m->plan.kind == TO_EACH)
        ISSUE_EITHER(Neighbor_alltoall, neighbor_alltoall, out, n, MPI_INT, in, n, MPI_INT, comm);
    else
        ISSUE(Neighbor_alltoallv, neighbor_alltoallv, out, m->send_counts, m->send_places, MPI_INT,
              in, m->receive_counts, m->receive_places, MPI_INT, comm);
}

static void exchange_issue_groups(struct exchange *m)
{
    int n = m->plan.count, *out = m->send, *in = m->receive;
    MPI_Comm comm = m->partners->comm;
    switch (m->plan.kind) {
    case TO_ALL: ISSUE_EITHER(Allgather, allgather, out, n, MPI_INT, in, n, MPI_INT, comm); break;
    case TO_EACH: ISSUE_EITHER(Alltoall, alltoall, out, n, MPI_INT, in, n, MPI_INT, comm); break;
    case TO_EACH_V:
        ISSUE(Alltoallv, alltoallv, out, m->send_counts, m->send_places, MPI_INT, in,
              m->receive_counts, m->receive_places, MPI_INT, comm);
        break;
    case GROUPS_BARRIER: ISSUE(Barrier, barrier, comm); break;
    case GROUPS_BCAST: ISSUE_EITHER(Bcast, bcast, in, n, MPI_INT, m->root_argument, comm); break;
    default: ISSUE_EITHER(Allreduce, allreduce, out, in, n, MPI_INT, MPI_SUM, comm);
    }
}

/* Calls the function: begins an exchange, or initializes a persistent one that is not yet. */
static void exchange_issue(struct exchange *m)
{
    if (m->partners->between_groups)
        exchange_issue_groups(m);
    else
        exchange_issue_neighbours(m);
}

/* Initializes a persistent exchange; does nothing for the other forms. */
__attribute__((unused)) static void exchange_prepare(struct exchange *m)
{
    if (m->plan.form == PERSISTENT)
        exchange_issue(m);
}

/* Fills the buffers and begins the exchange; a blocking one is complete afterwards. */
__attribute__((unused)) static void exchange_start(struct exchange *m)
{
    memcpy(m->receive, m->first, sizeof(int) * (size_t)m->numbers);
    exchange_issue(m);
    if (m->plan.form == PERSISTENT)
        CALL(MPI_Start(&m->request));
}

__attribute__((unused)) static void exchange_check(const struct exchange *m)
{
    for (int i = 0; i < m->numbers; i++)
        if (!CHECK(m->receive[i] == m->expected[i],
                   "%s %s%s of %d numbers %s, stream %u: number %d is %d, not %d",
                   form_names[m->plan.form], exchange_names[m->plan.kind],
                   m->plan.large ? "_c" : "", m->plan.count,
                   m->partners->between_groups ? "between groups" : "among neighbours",
                   m->plan.stream, i, m->receive[i], m->expected[i]))
            return;
}

__attribute__((unused)) static void exchange_free(struct exchange *m)
{
    if (m->plan.form == PERSISTENT && m->request != MPI_REQUEST_NULL)
        CALL(MPI_Request_free(&m->request));
    free(m->send);
}

#endif
