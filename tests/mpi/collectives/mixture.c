/*
 * Random collectives, many at a time, on several communicators that overlap, started in another
 * order on every rank and completed in another way: each must still find its partners and leave the
 * right bytes. Blocking ones come between the others; a rank is late now and then. MPI 5.0, 6.12
 *
 * Arguments: seed, number of batches, and the word "portable" to leave out what MPICH gets wrong
 * (see list.toml).
 */
#include "exchanges.h"
#include "reductions.h"
#include <unistd.h>

/* Ordinary communicators come first, then that of a topology, and, among several ranks, that
 * between two groups. */
enum { ORDINARY = 5, TOPOLOGY = ORDINARY, GROUPS, COMMUNICATORS, BATCH = 12 };

struct work {
    enum { MOVEMENT, REDUCTION, EXCHANGE } what;
    enum form form;
    int communicator, started, done;
    struct movement movement;
    struct reduction reduction;
    struct exchange exchange;
};

static MPI_Comm communicators[ORDINARY];
static struct partners partners[2];
static int portable;

static void communicators_make(void)
{
    communicators[0] = MPI_COMM_WORLD;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &communicators[1]));
    CALL(MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &communicators[2]));
    CALL(MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, check_rank, &communicators[3]));
    CALL(MPI_Comm_dup(MPI_COMM_SELF, &communicators[4]));
    partners[0] = partners_on_a_graph();
    if (check_size > 1)
        partners[1] = partners_between_groups();
}

static void communicators_free(void)
{
    for (int i = 1; i < ORDINARY; i++)
        CALL(MPI_Comm_free(&communicators[i]));
    CALL(MPI_Comm_free(&partners[0].comm));
    if (check_size > 1)
        CALL(MPI_Comm_free(&partners[1].comm));
}

static void exchange_draw(struct work *w, unsigned *state)
{
    int between_groups = w->communicator == GROUPS;
    static const int counts[] = {0, 1, 7, 300, 5000};
    struct exchange_plan plan = {
        .form = w->form, .large = (int)draw(state, 2), .root = (int)draw(state, 64)};
    plan.count = counts[draw(state, 5)];
    plan.stream = draw(state, 100000);
    plan.kind = draw(state, between_groups ? EXCHANGES : NEIGHBOUR_EXCHANGES);
    if (portable && plan.kind == GROUPS_BCAST && plan.form != BLOCKING)
        plan.kind = GROUPS_SUM;
    if (portable && plan.kind == TO_EACH_V && check_size == 1)
        plan.kind = TO_EACH;
    w->what = EXCHANGE;
    w->exchange = exchange_new(&partners[between_groups], &plan);
}

static void ordinary_draw(struct work *w, unsigned *state)
{
    static const long sizes[] = {0, 1, 12, 7, 60, 1200, 12000, 120000};
    long units = sizes[draw(state, draw(state, 6) ? 6 : 8)];
    enum form form = w->form;
    int large = (int)draw(state, 2), in_place = (int)draw(state, 2), root = (int)draw(state, 64);
    unsigned stream = draw(state, 1000000), first = draw(state, 100), second = draw(state, 100);
    unsigned choice = draw(state, MOVEMENTS + REDUCTIONS), third = draw(state, 1000), fourth = draw(state, OPERATIONS);
    w->what = choice >= MOVEMENTS ? REDUCTION : MOVEMENT;
    MPI_Comm comm = communicators[w->communicator];
    if (w->what == REDUCTION) {
        const struct number *number = &numbers[third % (unsigned)number_count];
        enum operation operation = fourth;
        while (!allowed(operation, number->group))
            operation = (operation + 1) % OPERATIONS;
        struct reduction_plan plan = {.kind = choice - MOVEMENTS, .form = form, .large = large, .in_place = in_place, .root = root, .number = number,
                                      .operation = operation, .handle = MPI_OP_NULL, .count = units, .stream = stream};
        w->reduction = reduction_new(comm, &plan);
    } else {
        struct plan plan = {.kind = choice, .form = form, .large = large, .in_place = in_place && choice != BCAST && choice != BARRIER, .root = root,
                            .family = (int)(third % FAMILIES), .units = units, .send_choice = first, .receive_choice = second, .stream = stream};
        if (portable && choice == GATHER)
            plan.family %= STRUCTURES;
        plan.alike = portable && choice == ALLGATHERV;
        w->movement = movement_new(comm, &plan);
    }
}

static void work_new(struct work *w, unsigned *state)
{
    static const enum form forms[] = {BLOCKING, NONBLOCKING, NONBLOCKING, PERSISTENT};
    memset(w, 0, sizeof *w);
    w->form = forms[draw(state, 4)];
    w->communicator = (int)draw(state, check_size > 1 ? COMMUNICATORS : GROUPS);
    if (w->communicator < ORDINARY)
        ordinary_draw(w, state);
    else
        exchange_draw(w, state);
}

static MPI_Request *request_of(struct work *w)
{
    return w->what == REDUCTION  ? &w->reduction.request
           : w->what == MOVEMENT ? &w->movement.request
                                 : &w->exchange.request;
}

static void work_prepare(struct work *w)
{
    if (w->what == REDUCTION)
        reduction_prepare(&w->reduction);
    else if (w->what == MOVEMENT)
        movement_prepare(&w->movement);
    else
        exchange_prepare(&w->exchange);
}

static void work_start(struct work *w)
{
    if (w->what == REDUCTION)
        reduction_start(&w->reduction);
    else if (w->what == MOVEMENT)
        movement_start(&w->movement);
    else
        exchange_start(&w->exchange);
    w->started = 1;
    w->done = w->form == BLOCKING;
}

static void work_check(struct work *w)
{
    if (w->what == REDUCTION) {
        reduction_check(&w->reduction);
        reduction_free(&w->reduction);
    } else if (w->what == MOVEMENT) {
        movement_check(&w->movement);
        movement_free(&w->movement);
    } else {
        exchange_check(&w->exchange);
        exchange_free(&w->exchange);
    }
}

/* Lets this rank be late: often by microseconds, seldom by milliseconds. */
static void perhaps_late(unsigned *own)
{
    if (draw(own, 8) == 0)
        usleep(draw(own, 100));
    if (draw(own, 200) == 0)
        usleep(1000 + draw(own, 4000));
}

/* Whether all blocking calls before this one have been made. A rank that made a later one first
 * might wait in it for another rank, which waits for it in the earlier one. */
static int is_its_turn(const struct work *batch, int number)
{
    for (int i = 0; i < number && batch[number].form == BLOCKING; i++)
        if (batch[i].form == BLOCKING && !batch[i].started)
            return 0;
    return 1;
}

/* Starts all: the calls of each communicator and all blocking calls in the order of the batch, but
 * with the communicators mixed by this rank's own draws. */
static void start_all(struct work *batch, int count, unsigned *own)
{
    for (int i = 0; i < count; i++)
        work_prepare(&batch[i]);
    for (int left = count; left > 0;) {
        int communicator = (int)draw(own, COMMUNICATORS), i = 0;
        while (i < count && (batch[i].communicator != communicator || batch[i].started))
            i++;
        if (i >= count || !is_its_turn(batch, i))
            continue;
        perhaps_late(own);
        work_start(&batch[i]);
        left--;
        if (draw(own, 4) == 0 && !portable) {
            int flag;
            CALL(MPI_Request_get_status(*request_of(&batch[i]), &flag, MPI_STATUS_IGNORE));
        }
    }
    perhaps_late(own);
}

/* Completes all by one of the ways to complete. A persistent request stays, so copies of the handles are completed. */
static void complete_all(struct work *batch, int count, unsigned *own)
{
    MPI_Request requests[BATCH];
    int flag = 0, index, way = (int)draw(own, 5), some, indices[BATCH], active = 0;
    if (portable && way == 1)
        way = 4;
    for (int i = 0; i < count; i++) {
        requests[i] = *request_of(&batch[i]);
        active += !batch[i].done;
    }
    for (int left = active; way == 0 && left > 0; left--) {
        int i = (int)draw(own, (unsigned)count);
        while (batch[i].done)
            i = (i + 1) % count;
        CALL(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        batch[i].done = 1;
    }
    while (way == 1 && !flag)
        CALL(MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE));
    for (int left = active; way == 2 && left > 0; left--) {
        CALL(MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE));
        CHECK(index >= 0 && index < count && !batch[index].done, "Waitany said %d", index);
        batch[index].done = 1;
    }
    for (int left = active; way == 3 && left > 0;) {
        CALL(MPI_Testsome(count, requests, &some, indices, MPI_STATUSES_IGNORE));
        left -= some;
    }
    if (way == 4)
        CALL(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < count; i++)
        *request_of(&batch[i]) = requests[i];
}

int main(int argc, char **argv)
{
    static struct work batch[BATCH];
    start(&argc, &argv);
    unsigned state = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    int batches = argc > 2 ? atoi(argv[2]) : 100;
    portable = argc > 3 && strcmp(argv[3], "portable") == 0;
    unsigned own = state * 31u + (unsigned)check_rank * 1009u;
    layouts_make();
    numbers_make();
    communicators_make();
    for (int n = 0; n < batches; n++) {
        int count = 1 + (int)draw(&state, BATCH);
        for (int i = 0; i < count; i++)
            work_new(&batch[i], &state);
        start_all(batch, count, &own);
        complete_all(batch, count, &own);
        for (int i = 0; i < count; i++)
            work_check(&batch[i]);
    }
    communicators_free();
    layouts_free();
    return finish();
}
