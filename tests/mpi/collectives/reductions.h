/*
 * One reduction as a value: arguments, buffers, what they must hold afterwards, and its request. The reference combines the
 * contributions in rank order, one element after the other.
 */
#ifndef TOWPATH_TESTS_REDUCTIONS_H
#define TOWPATH_TESTS_REDUCTIONS_H

#include "movements.h"
#include "numbers.h"

enum reduction_kind { REDUCE, ALLREDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, SCAN, EXSCAN, REDUCTIONS };

static const char *const reduction_names[] = {"reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan"};

struct reduction_plan {
    enum reduction_kind kind;
    enum form form;
    int large, in_place, root;
    const struct number *number;
    enum operation operation;
    MPI_Op handle; /* MPI_OP_NULL: that of the operation */
    long count;    /* elements per block */
    unsigned stream;
};

struct reduction {
    struct reduction_plan plan;
    MPI_Comm comm;
    int rank, size;
    long mine;  /* elements in the receive buffer that are defined afterwards, and where they lie among all */
    long first;
    long total; /* elements of a contribution */
    int *counts;
    MPI_Count *counts_c;
    unsigned char *contribution, *send, *receive, *reference;
    MPI_Request request;
};

/* Contribution of a rank. */
static void contribution_fill(const struct reduction *r, unsigned char *to, int rank)
{
    for (long i = 0; i < r->total; i++)
        number_set(r->plan.number, r->plan.operation, to + (size_t)i * r->plan.number->size, rank, i, r->plan.stream);
}

/* Combines the contributions of ranks 0 to last, in that order. */
static void reference_make(struct reduction *r, int last)
{
    const struct number *number = r->plan.number;
    unsigned char *right = malloc((size_t)r->total * number->size + 1);
    contribution_fill(r, r->reference, 0);
    for (int rank = 1; rank <= last; rank++) {
        contribution_fill(r, right, rank);
        for (long i = 0; i < r->total; i++) {
            unsigned char *left = r->reference + (size_t)i * number->size, *next = right + (size_t)i * number->size;
            number->combine(r->plan.operation, left, next);
        }
        memcpy(r->reference, right, (size_t)r->total * number->size);
    }
    free(right);
}

__attribute__((unused)) static struct reduction reduction_new(MPI_Comm comm, const struct reduction_plan *plan)
{
    struct reduction r = {.plan = *plan, .comm = comm, .request = MPI_REQUEST_NULL};
    MPI_Comm_rank(comm, &r.rank);
    MPI_Comm_size(comm, &r.size);
    struct reduction_plan *p = &r.plan;
    p->root %= r.size;
    if (p->handle == MPI_OP_NULL)
        p->handle = operation_handle(p->operation);
    r.counts = calloc((size_t)r.size, sizeof *r.counts);
    r.counts_c = calloc((size_t)r.size, sizeof *r.counts_c);
    r.total = p->count;
    r.mine = p->kind == REDUCE && r.rank != p->root ? 0 : p->kind == EXSCAN && r.rank == 0 ? 0 : p->count;
    if (p->kind == REDUCE_SCATTER || p->kind == REDUCE_SCATTER_BLOCK) {
        r.total = 0;
        for (int i = 0; i < r.size; i++) {
            r.counts[i] = p->kind == REDUCE_SCATTER ? (int)(p->count + i * (i % 3 - 1)) : (int)p->count;
            r.counts[i] = r.counts[i] < 0 ? 0 : r.counts[i];
            r.counts_c[i] = r.counts[i];
            r.first += i < r.rank ? r.counts[i] : 0;
            r.total += r.counts[i];
        }
        r.mine = r.counts[r.rank];
    }
    p->in_place = p->in_place && (p->kind != REDUCE || r.rank == p->root);
    size_t bytes = (size_t)r.total * p->number->size + MARGIN;
    r.contribution = calloc(4, bytes);
    r.send = r.contribution + bytes;
    r.receive = r.send + bytes;
    r.reference = r.receive + bytes;
    contribution_fill(&r, r.contribution, r.rank);
    if (r.mine > 0)
        reference_make(&r, p->kind == SCAN ? r.rank : p->kind == EXSCAN ? r.rank - 1 : r.size - 1);
    return r;
}

/* Calls the function: begins a reduction, or initializes a persistent one that is not yet. */
static void reduction_issue(struct reduction *m)
{
    const void *out = m->plan.in_place ? MPI_IN_PLACE : m->send;
    /* Where the receive buffer is not significant any address will do. */
    void *in = m->plan.kind == REDUCE && m->rank != m->plan.root ? NULL : m->receive;
    int count = (int)m->plan.count;
    MPI_Datatype type = m->plan.number->type;
    MPI_Op op = m->plan.handle;
    switch (m->plan.kind) {
    case REDUCE:
        ISSUE_EITHER(Reduce, reduce, out, in, count, type, op, m->plan.root, m->comm);
        break;
    case ALLREDUCE:
        ISSUE_EITHER(Allreduce, allreduce, out, in, count, type, op, m->comm);
        break;
    case REDUCE_SCATTER:
        if (m->plan.large)
            ISSUE_LARGE(Reduce_scatter, reduce_scatter, out, in, m->counts_c, type, op, m->comm);
        else
            ISSUE(Reduce_scatter, reduce_scatter, out, in, m->counts, type, op, m->comm);
        break;
    case REDUCE_SCATTER_BLOCK:
        ISSUE_EITHER(Reduce_scatter_block, reduce_scatter_block, out, in, count, type, op, m->comm);
        break;
    case SCAN:
        ISSUE_EITHER(Scan, scan, out, in, count, type, op, m->comm);
        break;
    default:
        ISSUE_EITHER(Exscan, exscan, out, in, count, type, op, m->comm);
        break;
    }
}

/* Initializes a persistent reduction; does nothing for the other forms. */
__attribute__((unused)) static void reduction_prepare(struct reduction *r)
{
    if (r->plan.form == PERSISTENT)
        reduction_issue(r);
}

/* Brings the buffers to their start and begins the reduction; a blocking one is complete afterwards. */
__attribute__((unused)) static void reduction_start(struct reduction *m)
{
    size_t bytes = (size_t)m->total * m->plan.number->size;
    memcpy(m->send, m->contribution, bytes);
    memset(m->receive, UNTOUCHED, bytes + MARGIN);
    if (m->plan.in_place)
        memcpy(m->receive, m->contribution, bytes);
    reduction_issue(m);
    if (m->plan.form == PERSISTENT)
        CALL(MPI_Start(&m->request));
}

__attribute__((unused)) static void reduction_check(const struct reduction *r)
{
    const struct reduction_plan *p = &r->plan;
    const struct number *number = p->number;
    for (long i = 0; i < r->mine; i++) {
        const unsigned char *found = r->receive + (size_t)i * number->size, *expected = r->reference + (size_t)(r->first + i) * number->size;
        if (!CHECK(number->same(found, expected), "%s %s%s%s, %s on %ld %s, root %d of %d: element %ld is wrong", form_names[p->form],
                   reduction_names[p->kind], p->large ? "_c" : "", p->in_place ? " in place" : "", operation_names[p->operation], p->count, number->name,
                   p->root, r->size, i))
            break;
    }
    size_t bytes = (size_t)r->total * number->size;
    CHECK(memcmp(r->send, r->contribution, bytes) == 0, "%s changed the send buffer", reduction_names[p->kind]);
    /* In place the other blocks of a reduce-scatter may be overwritten; nothing behind them may. */
    size_t end = p->in_place ? bytes : (size_t)r->mine * number->size;
    for (size_t i = 0; i < MARGIN; i++)
        if (!CHECK(r->receive[end + i] == UNTOUCHED, "%s wrote behind the receive buffer of %ld %s", reduction_names[p->kind], r->mine, number->name))
            break;
}

__attribute__((unused)) static void reduction_free(struct reduction *r)
{
    if (r->plan.form == PERSISTENT && r->request != MPI_REQUEST_NULL)
        CALL(MPI_Request_free(&r->request));
    free(r->counts);
    free(r->counts_c);
    free(r->contribution);
}

/* Runs one plan from begin to end; a persistent one three times. */
__attribute__((unused)) static void reduction_run(MPI_Comm comm, const struct reduction_plan *plan)
{
    struct reduction r = reduction_new(comm, plan);
    for (int round = 0; round < (plan->form == PERSISTENT ? 3 : 1); round++) {
        reduction_start(&r);
        if (plan->form != BLOCKING)
            CALL(MPI_Wait(&r.request, MPI_STATUS_IGNORE));
        reduction_check(&r);
    }
    reduction_free(&r);
}

/* Every operation on every type; form, size, root, width and place change from one to the next. */
__attribute__((unused)) static void reduction_all_types(MPI_Comm comm, enum reduction_kind kind)
{
    static const long counts[] = {1, 5, 33, 0, 257};
    unsigned turn = 0;
    for (int type = 0; type < number_count; type++)
        for (int operation = 0; operation < OPERATIONS; operation++) {
            if (!allowed((enum operation)operation, numbers[type].group))
                continue;
            for (int i = 0; i < 2; i++, turn++) {
                struct reduction_plan plan = {.kind = kind, .form = turn % FORMS, .large = turn / 2 % 2, .in_place = turn / 3 % 2,
                                              .root = (int)(turn / 5), .number = &numbers[type], .operation = (enum operation)operation,
                                              .handle = MPI_OP_NULL, .count = counts[turn % 5], .stream = turn};
                reduction_run(comm, &plan);
            }
        }
}

/* Every form, size, root and place, on some types. */
__attribute__((unused)) static void reduction_all_shapes(MPI_Comm comm, enum reduction_kind kind)
{
    static const long counts[] = {0, 1, 2, 3, 7, 100, 1023, 4096, 50001};
    static const char *const types[] = {"MPI_INT", "MPI_DOUBLE", "MPI_SIGNED_CHAR", "MPI_DOUBLE_INT", "MPI_C_DOUBLE_COMPLEX"};
    int size;
    unsigned stream = 0;
    MPI_Comm_size(comm, &size);
    for (int root = 0; root < (kind == REDUCE ? size : 1); root++)
        for (int form = 0; form < FORMS; form++)
            for (int in_place = 0; in_place < 2; in_place++)
                for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
                    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
                        stream++;
                        if (counts[i] > 1000 && (stream + (unsigned)root) % 3)
                            continue;
                        for (int n = 0; n < number_count; n++) {
                            if (strcmp(numbers[n].name, types[t]))
                                continue;
                            struct reduction_plan plan = {.kind = kind, .form = (enum form)form, .in_place = in_place, .root = root, .number = &numbers[n],
                                                          .operation = numbers[n].group == PAIR ? MAXLOC : SUM, .handle = MPI_OP_NULL, .count = counts[i],
                                                          .large = (int)(stream % 2), .stream = stream};
                            reduction_run(comm, &plan);
                        }
                    }
}

#endif
