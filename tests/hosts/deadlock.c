/* Ranks that wait for each other for ever, each in a call of its own: what mpiexec says of them is compared in deadlocks.py. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void wait_for_ever(void) {
    for (;;) pause();
}

/* A receive, a barrier, and a rank that computes. */
static void calls(int rank) {
    int value;
    if (rank == 0) MPI_Recv(&value, 1, MPI_INT, 3, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 3) wait_for_ever();
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Requests, a probe, a synchronous send, and a rank that has finished already. */
static void requests(int rank) {
    MPI_Comm row;
    MPI_Comm_dup(MPI_COMM_WORLD, &row);
    MPI_Comm_set_name(row, "row");
    int values[2];
    MPI_Request all[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    if (rank == 0) {
        MPI_Irecv(values, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, row, all);
        MPI_Wait(all, MPI_STATUS_IGNORE);
    }
    if (rank == 1) {
        MPI_Irecv(values, 1, MPI_INT, 2, 5, row, all + 1);
        MPI_Ibarrier(row, all + 2);
        MPI_Waitall(3, all, MPI_STATUSES_IGNORE);
    }
    if (rank == 2) MPI_Probe(1, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 3) MPI_Ssend(values, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
}

/* A communicator without a name, of ranks 1 to 3, and a collective operation by request. */
static void communicators(int rank) {
    MPI_Comm part;
    MPI_Request request;
    MPI_Comm_split(MPI_COMM_WORLD, rank > 0, 0, &part);
    if (rank == 0) wait_for_ever();
    /* In the right order: another one ends the job. */
    if (rank < 3) MPI_Ibarrier(part, &request);
    if (rank == 1) MPI_Barrier(part);
    if (rank == 2) MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Finalize();
}

/* Rank 2 calls another collective than the others, names another root, has another order, or leaves
 * out a call. */
static void mismatch(const char *kind, int rank) {
    int odd = rank == 2, data[4096] = {0}, result[4096];
    int counts[] = {1, 2, 3, 4}, places[] = {0, 1, 3, 6};
    int twos[] = {2, 2, 2, 2}, rows[] = {0, 2, 4, 6};
    MPI_Request request;
    if (strcmp(kind, "operation") == 0) {
        if (odd) MPI_Barrier(MPI_COMM_WORLD);
        else MPI_Bcast(data, 4096, MPI_INT, 0, MPI_COMM_WORLD);
    } else if (strcmp(kind, "gather-root") == 0) {
        MPI_Gather(data, 16, MPI_INT, result, 16, MPI_INT, odd, MPI_COMM_WORLD);
    } else if (strcmp(kind, "bcast-root") == 0) {
        MPI_Bcast(data, 16, MPI_INT, odd, MPI_COMM_WORLD);
    } else if (strcmp(kind, "scatterv-root") == 0) {
        MPI_Scatterv(data, counts, places, MPI_INT, result, rank + 1, MPI_INT, odd, MPI_COMM_WORLD);
    } else if (strcmp(kind, "alltoallv") == 0) {
        if (odd) MPI_Alltoall(data, 2, MPI_INT, result, 2, MPI_INT, MPI_COMM_WORLD);
        else MPI_Alltoallv(data, twos, rows, MPI_INT, result, twos, rows, MPI_INT, MPI_COMM_WORLD);
    } else if (strcmp(kind, "order") == 0) {
        if (odd) MPI_Allreduce(data, result, 8, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        if (!odd) MPI_Allreduce(data, result, 8, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    } else if (strcmp(kind, "request") == 0) {
        if (odd) MPI_Iallgather(data, 4, MPI_INT, result, 4, MPI_INT, MPI_COMM_WORLD, &request);
        else MPI_Iallreduce(data, result, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        if (!odd) MPI_Bcast(data, 4, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Reduce(data, result, 4, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A call of some form; a nonblocking or persistent one begins. */
static void call(const char *form, const char *name, void *data, int count, int root, MPI_Request *request) {
    const MPI_Comm comm = MPI_COMM_WORLD;
    static int sums[4];
    int is_barrier = strcmp(name, "barrier") == 0, is_bcast = strcmp(name, "bcast") == 0;
    int is_reduce = strcmp(name, "reduce") == 0;
    if (strcmp(form, "blocking") == 0) {
        if (is_barrier) MPI_Barrier(comm);
        else if (is_bcast) MPI_Bcast(data, count, MPI_INT, root, comm);
        else if (is_reduce) MPI_Reduce(data, sums, 4, MPI_INT, MPI_SUM, root, comm);
        else MPI_Allreduce(data, sums, 4, MPI_INT, MPI_SUM, comm);
    } else if (strcmp(form, "nonblocking") == 0) {
        if (is_barrier) MPI_Ibarrier(comm, request);
        else if (is_bcast) MPI_Ibcast(data, count, MPI_INT, root, comm, request);
        else if (is_reduce) MPI_Ireduce(data, sums, 4, MPI_INT, MPI_SUM, root, comm, request);
        else MPI_Iallreduce(data, sums, 4, MPI_INT, MPI_SUM, comm, request);
    } else {
        if (is_barrier) MPI_Barrier_init(comm, MPI_INFO_NULL, request);
        else if (is_bcast) MPI_Bcast_init(data, count, MPI_INT, root, comm, MPI_INFO_NULL, request);
        else if (is_reduce) MPI_Reduce_init(data, sums, 4, MPI_INT, MPI_SUM, root, comm, MPI_INFO_NULL, request);
        else MPI_Allreduce_init(data, sums, 4, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, request);
        MPI_Start(request);
    }
}

/* The last rank calls something else than the others, of which all have called the same before; or
 * each rank names the next one as the root. */
static void pairs(const char *form, const char *kind, int rank) {
    const int length = 1 << 21;
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int odd = rank == size - 1, *data = calloc(length, sizeof *data);
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    call(form, "barrier", data, 0, 0, requests);
    MPI_Wait(requests, MPI_STATUS_IGNORE);
    requests[0] = MPI_REQUEST_NULL;
    if (strcmp(kind, "operation") == 0) {
        call(form, odd ? "barrier" : "bcast", data, 2, 0, requests);
    } else if (strcmp(kind, "roots") == 0) {
        call(form, "bcast", data, 2, (rank + 1) % size, requests);
    } else if (strcmp(kind, "reductions") == 0) {
        call(form, odd ? "reduce" : "allreduce", data, 4, 0, requests);
    } else if (strcmp(kind, "counts") == 0) {
        call(form, "bcast", data, odd ? length : 2, 0, requests);
    } else if (strcmp(kind, "root-count") == 0) {
        call(form, "bcast", data, odd ? length : 2, size - 1, requests);
    } else {
        call(form, odd ? "barrier" : "bcast", data, 2, size - 1, requests);
        call(form, odd ? "bcast" : "barrier", data, 2, size - 1, requests + 1);
    }
    for (int i = 0; i < 2; i++) MPI_Wait(requests + i, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The last rank calls the same as the others in another form, of which each has been called before
 * if `kind` says so. */
static void forms(const char *others, const char *last, const char *kind, int rank) {
    int size, data[4] = {0};
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *mine = rank == size - 1 ? last : others;
    const char *all[] = {"blocking", "nonblocking", "persistent"};
    MPI_Request request = MPI_REQUEST_NULL;
    for (int i = 0; i < 3 && strcmp(kind, "later") == 0; i++) {
        call(all[i], "barrier", data, 0, 0, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (i == 2) MPI_Request_free(&request);
    }
    request = MPI_REQUEST_NULL;
    call(mine, strcmp(kind, "later") == 0 ? "barrier" : kind, data, 2, 0, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    int rank;
    /* One rank never comes to MPI_Init. */
    if (argc > 1 && strcmp(argv[1], "start") == 0 && atoi(getenv("PMI_RANK")) == 3) {
        puts("ready");
        fflush(stdout);
        wait_for_ever();
    }
    MPI_Init(&argc, &argv);
    puts("ready");
    fflush(stdout);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1 && strcmp(argv[1], "calls") == 0) calls(rank);
    if (argc > 1 && strcmp(argv[1], "requests") == 0) requests(rank);
    if (argc > 1 && strcmp(argv[1], "communicators") == 0) communicators(rank);
    if (argc > 2 && strcmp(argv[1], "mismatch") == 0) mismatch(argv[2], rank);
    if (argc > 3 && strcmp(argv[1], "pairs") == 0) pairs(argv[2], argv[3], rank);
    if (argc > 4 && strcmp(argv[1], "forms") == 0) forms(argv[2], argv[3], argv[4], rank);
    if (argc > 1 && strcmp(argv[1], "start") == 0) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
