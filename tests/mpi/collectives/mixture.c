/*
 * Random collectives, many at a time, on several communicators, started in another order on every rank and completed in another way:
 * each must still find its partners and leave the right bytes. MPI 5.0, 6.12
 *
 * Arguments: seed, number of batches, and the word "portable" to leave out what MPICH gets wrong (see list.toml).
 */
#include "reductions.h"

enum { COMMUNICATORS = 5, BATCH = 12 };

struct work {
    int communicator, is_reduction, done;
    struct movement movement;
    struct reduction reduction;
};

static MPI_Comm communicators[COMMUNICATORS];
static int portable;

static void communicators_make(void)
{
    communicators[0] = MPI_COMM_WORLD;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &communicators[1]));
    CALL(MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &communicators[2]));
    CALL(MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, check_rank, &communicators[3]));
    CALL(MPI_Comm_dup(MPI_COMM_SELF, &communicators[4]));
}

static void work_new(struct work *w, unsigned *state)
{
    static const long sizes[] = {0, 1, 12, 7, 60, 1200, 12000, 120000};
    long units = sizes[draw(state, draw(state, 6) ? 6 : 8)];
    enum form form = draw(state, 3) ? NONBLOCKING : PERSISTENT;
    int large = (int)draw(state, 2), in_place = (int)draw(state, 2), root = (int)draw(state, 64);
    unsigned stream = draw(state, 1000000), first = draw(state, 100), second = draw(state, 100);
    unsigned choice = draw(state, MOVEMENTS + REDUCTIONS), third = draw(state, 1000), fourth = draw(state, OPERATIONS);
    w->communicator = (int)draw(state, COMMUNICATORS);
    w->done = 0;
    w->is_reduction = choice >= MOVEMENTS;
    MPI_Comm comm = communicators[w->communicator];
    if (w->is_reduction) {
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

static MPI_Request *request_of(struct work *w)
{
    return w->is_reduction ? &w->reduction.request : &w->movement.request;
}

/* Starts all, in the order of the batch on each communicator, but with the communicators mixed by this rank's own draws. */
static void start_all(struct work *batch, int count, unsigned *own)
{
    int next[COMMUNICATORS] = {0}, left = count;
    for (int i = 0; i < count; i++) {
        if (batch[i].is_reduction)
            reduction_prepare(&batch[i].reduction);
        else
            movement_prepare(&batch[i].movement);
    }
    while (left > 0) {
        int communicator = (int)draw(own, COMMUNICATORS), i = next[communicator];
        while (i < count && batch[i].communicator != communicator)
            i++;
        next[communicator] = i + 1;
        if (i >= count)
            continue;
        if (batch[i].is_reduction)
            reduction_start(&batch[i].reduction);
        else
            movement_start(&batch[i].movement);
        left--;
        if (draw(own, 4) == 0 && !portable) {
            int flag;
            CALL(MPI_Request_get_status(*request_of(&batch[i]), &flag, MPI_STATUS_IGNORE));
        }
    }
}

/* Completes all by one of the ways to complete. A persistent request stays, so copies of the handles are completed. */
static void complete_all(struct work *batch, int count, unsigned *own)
{
    MPI_Request requests[BATCH];
    int flag = 0, index, way = (int)draw(own, 5), some, indices[BATCH];
    if (portable && way == 1)
        way = 4;
    for (int i = 0; i < count; i++)
        requests[i] = *request_of(&batch[i]);
    for (int left = count; way == 0 && left > 0; left--) {
        int i = (int)draw(own, (unsigned)count);
        while (batch[i].done)
            i = (i + 1) % count;
        CALL(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        batch[i].done = 1;
    }
    while (way == 1 && !flag)
        CALL(MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE));
    for (int left = count; way == 2 && left > 0; left--) {
        CALL(MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE));
        CHECK(index >= 0 && index < count && !batch[index].done, "Waitany said %d", index);
        batch[index].done = 1;
    }
    for (int left = count; way == 3 && left > 0;) {
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
        for (int i = 0; i < count; i++) {
            if (batch[i].is_reduction) {
                reduction_check(&batch[i].reduction);
                reduction_free(&batch[i].reduction);
            } else {
                movement_check(&batch[i].movement);
                movement_free(&batch[i].movement);
            }
        }
    }
    for (int i = 1; i < COMMUNICATORS; i++)
        CALL(MPI_Comm_free(&communicators[i]));
    layouts_free();
    return finish();
}
