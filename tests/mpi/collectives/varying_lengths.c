/*
 * MPI_Gatherv and MPI_Scatterv of blocks of random lengths, empty, short and long ones in one call,
 * with each root, blocking, nonblocking and persistent, in place at the root, without and with gaps
 * between the elements.
 *
 * varying_lengths [SEED [CALLS]]
 */
#include "areas.h"

enum { STARTS = 2, GAP = 3 };

static const int lengths[] = {0, 1, 5, 11, 12, 100, 1000, 8000, 20000, 70000, 150000};

/* One call: what all ranks know of it. */
struct call {
    int scatters, form, in_place, root, number;
    int lengths[512];
};

static MPI_Datatype spaced;

static int value(const struct call *c, int rank, int i)
{
    return c->number * 100003 + rank * 1009 + i;
}

static void call_new(struct call *c, unsigned *state, int number)
{
    c->number = number;
    c->scatters = (int)draw(state, 2), c->form = (int)draw(state, 3);
    c->in_place = (int)draw(state, 2), c->root = (int)draw(state, (unsigned)check_size);
    /* Most calls have short blocks only; with many ranks few are long. */
    unsigned most = draw(state, 3) ? 7 : sizeof lengths / sizeof *lengths;
    for (int i = 0; i < check_size; i++)
        c->lengths[i] = lengths[draw(state, check_size > 8 && draw(state, 8) ? 7 : most)];
}

/* The blocks of all ranks one behind another in the order of the ranks, but with the last rank
 * first, and a gap before each. */
static int places_make(const struct call *c, int *places)
{
    int next = 1;
    for (int i = 0; i < check_size; i++) {
        int rank = (i + check_size - 1) % check_size;
        places[rank] = next;
        next += c->lengths[rank] + 1;
    }
    return next;
}

/* `step` is 2 for elements with gaps, and what is in the gaps must stay. */
static void block_write(const struct call *c, int *at, int step, int rank, int known)
{
    for (int i = 0; i < c->lengths[rank]; i++)
        at[step * i] = known ? value(c, rank, i) : -1;
}

static void block_check(const struct call *c, const int *at, int step, int rank)
{
    for (int i = 0; i < c->lengths[rank]; i++) {
        if (!CHECK(at[step * i] == value(c, rank, i), "call %d, block of %d: element %d is %d",
                   c->number, rank, i, at[step * i]))
            return;
        if (step == 2 &&
            !CHECK(at[2 * i + 1] == GAP, "call %d, block of %d: the gap after %d is %d", c->number,
                   rank, i, at[2 * i + 1]))
            return;
    }
}

static void perform(const struct call *c, int *own, MPI_Datatype own_type, int *all,
                    MPI_Datatype all_type, const int *places, MPI_Request *request)
{
    int count = c->lengths[check_rank];
    void *mine = c->in_place && check_rank == c->root ? MPI_IN_PLACE : own;
    MPI_Comm comm = MPI_COMM_WORLD;
    if (c->scatters && c->form == 0)
        CALL(MPI_Scatterv(all, c->lengths, places, all_type, mine, count, own_type, c->root, comm));
    else if (c->scatters && c->form == 1)
        CALL(MPI_Iscatterv(all, c->lengths, places, all_type, mine, count, own_type, c->root, comm,
                           request));
    else if (c->scatters)
        CALL(MPI_Scatterv_init(all, c->lengths, places, all_type, mine, count, own_type, c->root,
                               comm, MPI_INFO_NULL, request));
    else if (c->form == 0)
        CALL(MPI_Gatherv(mine, count, own_type, all, c->lengths, places, all_type, c->root, comm));
    else if (c->form == 1)
        CALL(MPI_Igatherv(mine, count, own_type, all, c->lengths, places, all_type, c->root, comm,
                          request));
    else
        CALL(MPI_Gatherv_init(mine, count, own_type, all, c->lengths, places, all_type, c->root,
                              comm, MPI_INFO_NULL, request));
}

static void buffers_reset(const struct call *c, int *own, int step, int *all, const int *places)
{
    int rooted = check_rank == c->root;
    block_write(c, own, step, check_rank, !c->scatters);
    for (int rank = 0; rooted && rank < check_size; rank++)
        block_write(c, all + 2 * places[rank], 2, rank,
                    c->scatters || (c->in_place && rank == c->root));
}

static void call_make(const struct call *c, unsigned *state)
{
    int places[512], total = places_make(c, places), rooted = check_rank == c->root;
    int step = 1 + (int)draw(state, 2), count = c->lengths[check_rank];
    int *own = malloc(sizeof(int) * 2 * ((size_t)count + 1));
    int *all = malloc(sizeof(int) * 2 * (size_t)(rooted ? total : 1));
    MPI_Request request = MPI_REQUEST_NULL;
    for (int i = 0; i < 2 * (count + 1); i++)
        own[i] = GAP;
    for (int i = 0; rooted && i < 2 * total; i++)
        all[i] = GAP;
    for (int round = 0; round < (c->form == 2 ? STARTS : 1); round++) {
        buffers_reset(c, own, step, all, places);
        if (round == 0)
            perform(c, own, step == 2 ? spaced : MPI_INT, all, spaced, places, &request);
        if (c->form == 2)
            CALL(MPI_Start(&request));
        if (c->form > 0)
            CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (c->scatters && !(rooted && c->in_place))
            block_check(c, own, step, check_rank);
        for (int rank = 0; rooted && rank < check_size; rank++)
            block_check(c, all + 2 * places[rank], 2, rank);
    }
    if (c->form == 2)
        CALL(MPI_Request_free(&request));
    free(own), free(all);
}

int main(int argc, char **argv)
{
    static struct call c;
    start(&argc, &argv);
    unsigned state = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    unsigned own = state + 77u * (unsigned)check_rank;
    int calls = argc > 2 ? atoi(argv[2]) : 300;
    REQUIRE(check_size <= 512, "there is no room for %d ranks", check_size);
    CALL(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spaced));
    CALL(MPI_Type_commit(&spaced));
    for (int number = 0; number < calls; number++) {
        call_new(&c, &state, number);
        call_make(&c, &own);
    }
    CALL(MPI_Type_free(&spaced));
    return finish();
}
