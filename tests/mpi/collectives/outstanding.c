/*
 * Thousands of nonblocking collectives, all begun before the first is completed, on 64
 * communicators that overlap: each rank begins those of one communicator in the common order, but
 * takes the communicators as it likes, and completes all in a random order of its own.
 * MPI 5.0, 6.12
 *
 * Argument: the number of collectives (10000).
 */
#include "areas.h"

enum { COMMUNICATORS = 64, LONG = 3000, WINDOW = 200 };
enum kind { BARRIER, BCAST, ALLREDUCE, SCAN, GATHER, ALLGATHER, ALLTOALL, KINDS };

static const char *const names[] = {"ibarrier", "ibcast",     "iallreduce", "iscan",
                                    "igather",  "iallgather", "ialltoall"};

struct team {
    MPI_Comm comm;
    int rank, size, *members; /* their ranks in MPI_COMM_WORLD */
};

struct call {
    enum kind kind;
    int number, root, length, *in, *out;
    struct team *team;
};

static struct team teams[COMMUNICATORS];

/* The first team is all ranks; each other one has about half of them, and their other half is
   another team of this number. */
static void teams_make(unsigned *state)
{
    MPI_Group world, group;
    CALL(MPI_Comm_group(MPI_COMM_WORLD, &world));
    for (int t = 0; t < COMMUNICATORS; t++) {
        struct team *team = &teams[t];
        int color = 0, key = 0, *all;
        for (int rank = 0; rank < check_size; rank++) {
            int one = (int)draw(state, 2), other = (int)draw(state, 1000);
            if (rank == check_rank)
                color = t ? one : 0, key = other;
        }
        CALL(MPI_Comm_split(MPI_COMM_WORLD, color, key, &team->comm));
        CALL(MPI_Comm_rank(team->comm, &team->rank));
        CALL(MPI_Comm_size(team->comm, &team->size));
        CALL(MPI_Comm_group(team->comm, &group));
        all = malloc(sizeof(int) * (size_t)team->size);
        team->members = malloc(sizeof(int) * (size_t)team->size);
        for (int i = 0; i < team->size; i++)
            all[i] = i;
        CALL(MPI_Group_translate_ranks(group, team->size, all, world, team->members));
        CALL(MPI_Group_free(&group));
        free(all);
    }
    CALL(MPI_Group_free(&world));
}

static void teams_free(void)
{
    for (int t = 0; t < COMMUNICATORS; t++) {
        CALL(MPI_Comm_free(&teams[t].comm));
        free(teams[t].members);
    }
}

/* Number `index` of what a rank has for another one. */
static int given(const struct call *call, int from, int to, int index)
{
    return call->number * 5 + from * 3 + to * 7 + index;
}

static void call_new(struct call *call, int number, unsigned *state)
{
    call->number = number;
    call->team = &teams[draw(state, COMMUNICATORS)];
    call->kind = draw(state, KINDS);
    call->root = (int)draw(state, 1000) % call->team->size;
    call->length = draw(state, 200) ? 1 + (int)draw(state, 8) : LONG;
    size_t numbers = (size_t)call->length * (size_t)call->team->size;
    call->in = malloc(2 * numbers * sizeof(int));
    call->out = call->in + numbers;
    int me = check_rank, bcast_root = call->kind == BCAST && call->team->rank == call->root;
    for (size_t i = 0; i < numbers; i++) {
        int to = call->kind == ALLTOALL ? call->team->members[i / (size_t)call->length] : 0;
        call->in[i] = given(call, me, to, (int)i % call->length);
        call->out[i] = bcast_root ? call->in[i] : -1;
    }
}

static void call_begin(struct call *c, MPI_Request *request)
{
    int n = c->length, *in = c->in, *out = c->out;
    MPI_Comm comm = c->team->comm;
    switch (c->kind) {
    case BARRIER: CALL(MPI_Ibarrier(comm, request)); break;
    case BCAST: CALL(MPI_Ibcast(out, n, MPI_INT, c->root, comm, request)); break;
    case ALLREDUCE: CALL(MPI_Iallreduce(in, out, n, MPI_INT, MPI_SUM, comm, request)); break;
    case SCAN: CALL(MPI_Iscan(in, out, n, MPI_INT, MPI_SUM, comm, request)); break;
    case GATHER: CALL(MPI_Igather(in, n, MPI_INT, out, n, MPI_INT, c->root, comm, request)); break;
    case ALLGATHER: CALL(MPI_Iallgather(in, n, MPI_INT, out, n, MPI_INT, comm, request)); break;
    default: CALL(MPI_Ialltoall(in, n, MPI_INT, out, n, MPI_INT, comm, request)); break;
    }
}

/* Number i of the receive buffer of a completed call. */
static int expected(const struct call *call, int i)
{
    const struct team *team = call->team;
    int block = i / call->length, index = i % call->length, last = team->size - 1, sum = 0;
    switch (call->kind) {
    case ALLTOALL: return given(call, team->members[block], check_rank, index);
    case ALLGATHER: return given(call, team->members[block], 0, index);
    case GATHER:
        return team->rank == call->root ? given(call, team->members[block], 0, index) : -1;
    case BCAST:
        if (block && team->rank != call->root)
            return -1;
        return given(call, team->members[call->root], 0, index);
    case BARRIER: return -1;
    case SCAN: last = team->rank; /* fall through */
    default:
        for (int from = 0; from <= last; from++)
            sum += given(call, team->members[from], 0, index);
        return block ? -1 : sum;
    }
}

static void call_check(const struct call *call, const char *way)
{
    for (int i = 0; i < call->length * call->team->size; i++)
        if (!CHECK(call->out[i] == expected(call, i),
                   "%s: %s %d of %d numbers, root %d of %d: number %d is %d, not %d", way,
                   names[call->kind], call->number, call->length, call->root, call->team->size, i,
                   call->out[i], expected(call, i)))
            return;
}

/* Begins all: those of each team in the order of their numbers, the teams as this rank draws. */
static void begin_all(struct call *calls, MPI_Request *requests, int count, unsigned *own)
{
    int next[COMMUNICATORS] = {0}, left = count;
    while (left > 0) {
        int t = (int)draw(own, COMMUNICATORS);
        for (int many = 1 + (int)draw(own, 20); many > 0; many--) {
            int i = next[t];
            while (i < count && calls[i].team != &teams[t])
                i++;
            next[t] = i + 1;
            if (i >= count)
                break;
            call_begin(&calls[i], &requests[i]);
            left--;
        }
    }
}

/* Completes all in a random order, by MPI_Wait, MPI_Waitany or MPI_Testsome. */
static void complete_all(MPI_Request *requests, int count, int way, unsigned *own)
{
    int *indices = malloc(sizeof(int) * (size_t)count), index, some;
    for (int i = count - 1; i > 0; i--) {
        int other = (int)draw(own, (unsigned)i + 1);
        MPI_Request moved = requests[i];
        requests[i] = requests[other];
        requests[other] = moved;
    }
    for (int i = 0; way == 0 && i < count; i++)
        CALL(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    for (int first = 0; way == 1 && first < count; first += WINDOW) {
        int window = count - first < WINDOW ? count - first : WINDOW;
        for (int i = 0; i < window; i++) {
            CALL(MPI_Waitany(window, requests + first, &index, MPI_STATUS_IGNORE));
            CHECK(index >= 0 && index < window, "Waitany said %d", index);
        }
        CALL(MPI_Waitany(window, requests + first, &index, MPI_STATUS_IGNORE));
        CHECK(index == MPI_UNDEFINED, "Waitany found another one at %d", index);
    }
    for (int left = count; way == 2 && left > 0; left -= some) {
        CALL(MPI_Testsome(count, requests, &some, indices, MPI_STATUSES_IGNORE));
        REQUIRE(some >= 0 && some <= left, "Testsome said %d of %d", some, left);
    }
    for (int i = 0; i < count; i++)
        CHECK(requests[i] == MPI_REQUEST_NULL, "request %d is not null", i);
    free(indices);
}

int main(int argc, char **argv)
{
    static const char *const ways[] = {"Wait", "Waitany", "Testsome"};
    start(&argc, &argv);
    int count = argc > 1 ? atoi(argv[1]) : 10000;
    unsigned state = 1, own = 77u + (unsigned)check_rank * 1009u;
    struct call *calls = malloc(sizeof *calls * (size_t)count);
    MPI_Request *requests = malloc(sizeof *requests * (size_t)count);
    teams_make(&state);
    for (int way = 0; way < 3; way++) {
        for (int i = 0; i < count; i++)
            call_new(&calls[i], i, &state);
        begin_all(calls, requests, count, &own);
        complete_all(requests, count, way, &own);
        for (int i = 0; i < count; i++) {
            call_check(&calls[i], ways[way]);
            free(calls[i].in);
        }
    }
    teams_free();
    free(calls);
    free(requests);
    return finish();
}
