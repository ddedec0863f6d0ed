/*
 * The collectives of guidelines.c, each in several forms: blocking, nonblocking, persistent, on a
 * derived contiguous type, in place.
 */
#ifndef TOWPATH_BENCHMARKS_GUIDELINE_OPERATIONS_H
#define TOWPATH_BENCHMARKS_GUIDELINE_OPERATIONS_H

#include <mpi.h>

#include "measure.h"

enum operation {
    BARRIER,
    BCAST,
    GATHER,
    SCATTER,
    REDUCE,
    ALLREDUCE,
    ALLGATHER,
    ALLTOALL,
    REDUCE_SCATTER,
    SCAN,
    OPERATIONS,
};

enum form { BLOCKING, NONBLOCKING, PERSISTENT, CONTIGUOUS, IN_PLACE };

static const char *const OPERATION_NAMES[OPERATIONS] = {
    "barrier",   "bcast",     "gather",   "scatter",        "reduce",
    "allreduce", "allgather", "alltoall", "reduce-scatter", "scan",
};

/* A communicator; MPI_COMM_NULL in ranks that are not in it. */
struct team {
    MPI_Comm comm;
    int rank, size;
};

/* One call: bytes that a rank contributes (per pair in alltoall, of a block in reduce-scatter). */
struct call {
    const struct team *team;
    int bytes, root;
};

/* What an operation is called with. */
struct arguments {
    const void *out;
    void *in;
    int count;
    MPI_Datatype type;
};

/* Room for a block of each rank: what is sent, what arrives, and what is in between. */
static char *out, *in, *work;
static MPI_Datatype contiguous = MPI_DATATYPE_NULL;
/* The persistent requests of the row that is measured, one for each root. */
static MPI_Request *persistent;

static inline int is_rooted(enum operation operation)
{
    return operation == BCAST || operation == GATHER || operation == SCATTER || operation == REDUCE;
}

static inline int is_reduction(enum operation operation)
{
    return operation == REDUCE || operation == ALLREDUCE || operation == REDUCE_SCATTER ||
           operation == SCAN;
}

/* Only the root has the result. */
static inline int is_for_root(enum operation operation)
{
    return operation == GATHER || operation == REDUCE;
}

/* Whether the standard has this form. Reductions do not take derived types. */
static inline int has_form(enum operation operation, enum form form)
{
    if (form == CONTIGUOUS)
        return operation != BARRIER && !is_reduction(operation);
    return form != IN_PLACE || (operation != BARRIER && operation != BCAST);
}

static inline struct arguments arguments_of(enum operation operation, enum form form,
                                            const struct call *call)
{
    struct arguments found = {out, in, call->bytes, MPI_BYTE};
    if (is_reduction(operation))
        found = (struct arguments){out, in, call->bytes / 8, MPI_DOUBLE};
    if (form == CONTIGUOUS) {
        found.count = 1;
        found.type = contiguous;
    }
    if (form != IN_PLACE || (is_rooted(operation) && call->team->rank != call->root))
        return found;
    if (operation == SCATTER)
        found.in = MPI_IN_PLACE;
    else
        found.out = MPI_IN_PLACE;
    return found;
}

static inline void call_blocking(enum operation operation, const struct call *call,
                                 const struct arguments *with)
{
    MPI_Comm comm = call->team->comm;
    const void *from = with->out;
    void *to = with->in;
    int count = with->count, root = call->root;
    MPI_Datatype type = with->type;
    switch (operation) {
    case BCAST: MPI_Bcast(to, count, type, root, comm); break;
    case GATHER: MPI_Gather(from, count, type, to, count, type, root, comm); break;
    case SCATTER: MPI_Scatter(from, count, type, to, count, type, root, comm); break;
    case REDUCE: MPI_Reduce(from, to, count, type, MPI_SUM, root, comm); break;
    case ALLREDUCE: MPI_Allreduce(from, to, count, type, MPI_SUM, comm); break;
    case ALLGATHER: MPI_Allgather(from, count, type, to, count, type, comm); break;
    case ALLTOALL: MPI_Alltoall(from, count, type, to, count, type, comm); break;
    case REDUCE_SCATTER: MPI_Reduce_scatter_block(from, to, count, type, MPI_SUM, comm); break;
    case SCAN: MPI_Scan(from, to, count, type, MPI_SUM, comm); break;
    default: MPI_Barrier(comm);
    }
}

static inline void start_nonblocking(enum operation operation, const struct call *call,
                                     const struct arguments *with, MPI_Request *request)
{
    MPI_Comm comm = call->team->comm;
    const void *from = with->out;
    void *to = with->in;
    int count = with->count, root = call->root;
    MPI_Datatype type = with->type;
    switch (operation) {
    case BCAST: MPI_Ibcast(to, count, type, root, comm, request); break;
    case GATHER: MPI_Igather(from, count, type, to, count, type, root, comm, request); break;
    case SCATTER: MPI_Iscatter(from, count, type, to, count, type, root, comm, request); break;
    case REDUCE: MPI_Ireduce(from, to, count, type, MPI_SUM, root, comm, request); break;
    case ALLREDUCE: MPI_Iallreduce(from, to, count, type, MPI_SUM, comm, request); break;
    case ALLGATHER: MPI_Iallgather(from, count, type, to, count, type, comm, request); break;
    case ALLTOALL: MPI_Ialltoall(from, count, type, to, count, type, comm, request); break;
    case REDUCE_SCATTER:
        MPI_Ireduce_scatter_block(from, to, count, type, MPI_SUM, comm, request);
        break;
    case SCAN: MPI_Iscan(from, to, count, type, MPI_SUM, comm, request); break;
    default: MPI_Ibarrier(comm, request);
    }
}

static inline void init_persistent(enum operation operation, const struct call *call,
                                   const struct arguments *with, MPI_Request *request)
{
    MPI_Comm comm = call->team->comm;
    MPI_Info info = MPI_INFO_NULL;
    const void *from = with->out;
    void *to = with->in;
    int count = with->count, root = call->root;
    MPI_Datatype type = with->type;
    switch (operation) {
    case BCAST: MPI_Bcast_init(to, count, type, root, comm, info, request); break;
    case GATHER:
        MPI_Gather_init(from, count, type, to, count, type, root, comm, info, request);
        break;
    case SCATTER:
        MPI_Scatter_init(from, count, type, to, count, type, root, comm, info, request);
        break;
    case REDUCE: MPI_Reduce_init(from, to, count, type, MPI_SUM, root, comm, info, request); break;
    case ALLREDUCE: MPI_Allreduce_init(from, to, count, type, MPI_SUM, comm, info, request); break;
    case ALLGATHER:
        MPI_Allgather_init(from, count, type, to, count, type, comm, info, request);
        break;
    case ALLTOALL:
        MPI_Alltoall_init(from, count, type, to, count, type, comm, info, request);
        break;
    case REDUCE_SCATTER:
        MPI_Reduce_scatter_block_init(from, to, count, type, MPI_SUM, comm, info, request);
        break;
    case SCAN: MPI_Scan_init(from, to, count, type, MPI_SUM, comm, info, request); break;
    default: MPI_Barrier_init(comm, info, request);
    }
}

/* How many persistent requests an operation needs. */
static inline int requests_of(enum operation operation, const struct team *team)
{
    return is_rooted(operation) ? team->size : 1;
}

/* Makes what calls of this form need. */
static inline void prepare(enum operation operation, enum form form, const struct team *team,
                           int bytes)
{
    if (form == CONTIGUOUS) {
        MPI_Type_contiguous(bytes, MPI_BYTE, &contiguous);
        MPI_Type_commit(&contiguous);
    }
    for (int root = 0; form == PERSISTENT && root < requests_of(operation, team); root++) {
        struct call call = {team, bytes, root};
        struct arguments with = arguments_of(operation, form, &call);
        init_persistent(operation, &call, &with, &persistent[root]);
    }
}

/* Frees what `prepare` made. */
static inline void finish(enum operation operation, enum form form, const struct team *team)
{
    if (form == CONTIGUOUS)
        MPI_Type_free(&contiguous);
    for (int root = 0; form == PERSISTENT && root < requests_of(operation, team); root++)
        MPI_Request_free(&persistent[root]);
}

static inline void call_operation(enum operation operation, enum form form, const struct call *call)
{
    MPI_Request request;
    if (form == PERSISTENT) {
        MPI_Request *again = &persistent[is_rooted(operation) ? call->root : 0];
        MPI_Start(again);
        MPI_Wait(again, MPI_STATUS_IGNORE);
        return;
    }
    struct arguments with = arguments_of(operation, form, call);
    if (form == NONBLOCKING) {
        start_nonblocking(operation, call, &with, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        call_blocking(operation, call, &with);
    }
}

#endif
