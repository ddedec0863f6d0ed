/*
 * What a communicator needs for nonblocking collectives may be made with the first of them. So each
 * kind and length comes first on a communicator of its own, others follow before it is complete,
 * and the communicator may be freed meanwhile. A rank that starts late holds up nobody who only
 * starts. MPI 5.0, 6.12 and 7.4.3
 */
#include <unistd.h>

#include "../check.h"

enum { KINDS = 7, LENGTHS = 4, MOST = 100000, CALLS = 4 };

static const int lengths[LENGTHS] = {1, 10, 3000, MOST};

struct call {
    int kind, length;
    int *in, *out;
    MPI_Request request;
};

static int given(int rank, int index) { return rank * 7 + index % 1000; }

static void begin(struct call *call, int kind, int length, MPI_Comm comm)
{
    int n = check_size, all = kind >= 4 ? n : 1;
    MPI_Request *request = &call->request;
    call->kind = kind;
    call->length = length;
    call->in = malloc(sizeof(int) * (size_t)length * (size_t)all);
    call->out = malloc(sizeof(int) * (size_t)length * (size_t)all);
    for (int i = 0; i < length * all; i++) {
        call->in[i] = given(check_rank, i);
        call->out[i] = kind == 1 && check_rank == n - 1 ? given(n - 1, i) : -1;
    }
    int *in = call->in, *out = call->out;
    if (kind == 0)
        CALL(MPI_Ibarrier(comm, request));
    else if (kind == 1)
        CALL(MPI_Ibcast(out, length, MPI_INT, n - 1, comm, request));
    else if (kind == 2)
        CALL(MPI_Iallreduce(in, out, length, MPI_INT, MPI_SUM, comm, request));
    else if (kind == 3)
        CALL(MPI_Iscan(in, out, length, MPI_INT, MPI_MAX, comm, request));
    else if (kind == 4)
        CALL(MPI_Iallgather(in, length, MPI_INT, out, length, MPI_INT, comm, request));
    else if (kind == 5)
        CALL(MPI_Ialltoall(in, length, MPI_INT, out, length, MPI_INT, comm, request));
    else
        CALL(MPI_Igather(in, length, MPI_INT, out, length, MPI_INT, 0, comm, request));
}

static int expected(const struct call *call, int index)
{
    int n = check_size, from = index / call->length, inside = index % call->length;
    switch (call->kind) {
    case 0: return -1;
    case 1: return given(n - 1, index);
    case 2: return 7 * n * (n - 1) / 2 + n * (index % 1000);
    case 3: return given(check_rank, index);
    case 4: return given(from, inside);
    case 5: return given(from, check_rank * call->length + inside);
    default: return check_rank == 0 ? given(from, inside) : -1;
    }
}

static void end(struct call *call)
{
    int all = call->kind >= 4 ? check_size : 1;
    for (int i = 0; i < call->length * all; i++)
        if (call->out[i] != expected(call, i)) {
            CHECK(0, "kind %d of %d: element %d is %d instead of %d", call->kind, call->length, i,
                  call->out[i], expected(call, i));
            break;
        }
    free(call->in);
    free(call->out);
}

/* Some calls on a communicator that has not seen any, the first of them of this kind and length. */
static void first(int kind, int length, int turn)
{
    struct call calls[CALLS];
    MPI_Request requests[CALLS];
    MPI_Comm comm;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    if (turn % 5 == 0 && check_rank == turn % check_size)
        usleep(2000);
    for (int i = 0; i < CALLS; i++)
        begin(&calls[i], (kind + i * (turn % 3)) % KINDS, lengths[(length + i) % LENGTHS], comm);
    if (turn % 2)
        CALL(MPI_Comm_free(&comm));
    /* The last one is the first to be waited for. */
    for (int i = 0; i < CALLS; i++)
        requests[i] = calls[CALLS - 1 - i].request;
    if (turn % 4 < 2)
        CALL(MPI_Waitall(CALLS, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; turn % 4 >= 2 && i < CALLS; i++)
        CALL(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    for (int i = 0; i < CALLS; i++)
        end(&calls[i]);
    if (turn % 2 == 0)
        CALL(MPI_Comm_free(&comm));
}

/*
 * Some start a nonblocking call before a blocking one, others after it: erroneous by 6.12, but
 * programs do it, and libraries accept it.
 */
static void swapped(int turn)
{
    MPI_Comm comm;
    MPI_Request request;
    int sum = 0, one = 1, value = check_rank == 0 ? turn : -1;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    if ((check_rank + turn) % 2)
        CALL(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &request));
    CALL(MPI_Bcast(&value, 1, MPI_INT, 0, comm));
    if ((check_rank + turn) % 2 == 0)
        CALL(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &request));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(sum == check_size && value == turn, "turn %d: %d ranks, value %d", turn, sum, value);
    CALL(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int turns = argc > 1 ? atoi(argv[1]) : 1;
    for (int turn = 0, number = 0; turn < turns; turn++)
        for (int kind = 0; kind < KINDS; kind++)
            for (int length = 0; length < LENGTHS; length++)
                first(kind, length, number++);
    for (int turn = 0; turn < 6; turn++)
        swapped(turn);
    return finish();
}
