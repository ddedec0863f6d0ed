/*
 * Persistent collectives of several kinds and lengths, which each rank starts and completes in an
 * order of its own, again and again, also after their communicator was freed. With a second
 * argument the program asserts one order of starts, and keeps to it. MPI 5.0, 6.13 and 7.4.4
 */
#include "../check.h"

enum { KINDS = 5, LENGTHS = 3, CALLS = KINDS * LENGTHS, MOST = 50000 };

static const int lengths[LENGTHS] = {1, 1000, MOST};

struct call {
    int kind, length, *in, *out;
};

static struct call calls[CALLS];
static MPI_Request requests[CALLS];

static int all_of(const struct call *call) { return call->kind >= 3 ? check_size : 1; }

static int given(int round, int rank, int index) { return round * 13 + rank * 7 + index % 1000; }

static void make(int number, MPI_Comm comm)
{
    struct call *call = &calls[number];
    call->kind = number % KINDS;
    call->length = lengths[number / KINDS];
    int length = call->length;
    call->in = malloc(sizeof(int) * (size_t)length * (size_t)all_of(call));
    call->out = malloc(sizeof(int) * (size_t)length * (size_t)all_of(call));
    MPI_Request *request = &requests[number];
    MPI_Info info = MPI_INFO_NULL;
    int *in = call->in, *out = call->out;
    if (call->kind == 0)
        CALL(MPI_Barrier_init(comm, info, request));
    else if (call->kind == 1)
        CALL(MPI_Bcast_init(out, length, MPI_INT, 0, comm, info, request));
    else if (call->kind == 2)
        CALL(MPI_Allreduce_init(in, out, length, MPI_INT, MPI_SUM, comm, info, request));
    else if (call->kind == 3)
        CALL(MPI_Allgather_init(in, length, MPI_INT, out, length, MPI_INT, comm, info, request));
    else
        CALL(MPI_Alltoall_init(in, length, MPI_INT, out, length, MPI_INT, comm, info, request));
}

static void fill(const struct call *call, int round)
{
    for (int i = 0; i < call->length * all_of(call); i++) {
        call->in[i] = given(round, check_rank, i);
        call->out[i] = call->kind == 1 && check_rank == 0 ? given(round, 0, i) : -1;
    }
}

static int expected(const struct call *call, int round, int index)
{
    int n = check_size, from = index / call->length, inside = index % call->length;
    switch (call->kind) {
    case 0: return -1;
    case 1: return given(round, 0, index);
    case 2: return 7 * n * (n - 1) / 2 + n * given(round, 0, index);
    case 3: return given(round, from, inside);
    default: return given(round, from, check_rank * call->length + inside);
    }
}

static void check(const struct call *call, int round)
{
    for (int i = 0; i < call->length * all_of(call); i++)
        if (!CHECK(call->out[i] == expected(call, round, i),
                   "round %d, kind %d of %d: element %d is %d", round, call->kind, call->length, i,
                   call->out[i]))
            return;
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int rounds = argc > 1 ? atoi(argv[1]) : 12;
    int ordered = argc > 2;
    MPI_Comm comm;
    MPI_Info info;
    CALL(MPI_Info_create(&info));
    if (ordered)
        CALL(MPI_Info_set(info, "mpi_assert_strict_persistent_collective_ordering", "true"));
    CALL(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
    CALL(MPI_Info_free(&info));
    for (int i = 0; i < CALLS; i++)
        make(i, comm);
    for (int round = 0; round < rounds; round++) {
        int step = 1 + (check_rank + round) % 2 * 6, first = (check_rank * 5 + round) % CALLS;
        for (int i = 0; i < CALLS; i++)
            fill(&calls[i], round);
        if (round == 1)
            CALL(MPI_Comm_free(&comm));
        /* 1 and 7 are prime to the number of calls. */
        for (int i = 0; i < CALLS; i++)
            CALL(MPI_Start(&requests[ordered ? i : (first + i * step) % CALLS]));
        if (round % 3 == 0)
            CALL(MPI_Waitall(CALLS, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; round % 3 && i < CALLS; i++)
            CALL(MPI_Wait(&requests[(first + i * 2) % CALLS], MPI_STATUS_IGNORE));
        for (int i = 0; i < CALLS; i++)
            check(&calls[i], round);
    }
    for (int i = 0; i < CALLS; i++) {
        CALL(MPI_Request_free(&requests[i]));
        free(calls[i].in);
        free(calls[i].out);
    }
    return finish();
}
