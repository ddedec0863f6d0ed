/*
 * Small blocking collectives in a random order, the same on all ranks, on three communicators, while ranks fall asleep at random
 * moments: nobody leaves a barrier early, every root's and every rank's numbers arrive, and no rank is left asleep. MPI 5.0, 6.3 to 6.9
 *
 * Arguments: number of calls, longest pause in microseconds.
 */
#include "check.h"
#include <unistd.h>

enum { NUMBERS = 600 };

static unsigned shared_state = 7, own_state;

static unsigned draw(unsigned *state, unsigned below)
{
    *state = *state * 1103515245u + 12345u;
    return (*state >> 8) % below;
}

static int value(int call, int rank, int index)
{
    return call * 7 + rank * 3 + index;
}

/* Clocks of ranks on one host agree, so whoever leaves must leave after the last one came. */
static void barrier(MPI_Comm comm)
{
    int *global, found;
    double came = MPI_Wtime(), left, last, first;
    MPI_Barrier(comm);
    left = MPI_Wtime();
    CALL(MPI_Allreduce(&came, &last, 1, MPI_DOUBLE, MPI_MAX, comm));
    CALL(MPI_Allreduce(&left, &first, 1, MPI_DOUBLE, MPI_MIN, comm));
    CALL(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &global, &found));
    if (found && *global)
        CHECK(first >= last, "a rank left %g s before the last one came", last - first);
}

static void bcast(int call, int count, int root, int rank, MPI_Comm comm)
{
    int numbers[NUMBERS];
    for (int i = 0; i < count; i++)
        numbers[i] = rank == root ? value(call, root, i) : -1;
    CALL(MPI_Bcast(numbers, count, MPI_INT, root, comm));
    for (int i = 0; i < count; i++)
        CHECK(numbers[i] == value(call, root, i), "call %d: number %d is %d", call, i, numbers[i]);
}

static void reduce(int call, int count, int root, int rank, int size, MPI_Comm comm)
{
    int mine[NUMBERS], sums[NUMBERS];
    for (int i = 0; i < count; i++)
        mine[i] = value(call, rank, i);
    if (root < 0)
        CALL(MPI_Allreduce(mine, sums, count, MPI_INT, MPI_SUM, comm));
    else
        CALL(MPI_Reduce(mine, sums, count, MPI_INT, MPI_SUM, root, comm));
    for (int i = 0; i < count && (root < 0 || root == rank); i++) {
        int expected = size * value(call, 0, i) + 3 * (size * (size - 1) / 2);
        CHECK(sums[i] == expected, "call %d: sum %d is %d, not %d", call, i, sums[i], expected);
    }
}

static void gather(int call, int root, int rank, int size, MPI_Comm comm)
{
    int mine = value(call, rank, 0), *all = malloc(sizeof *all * (size_t)size);
    if (root < 0)
        CALL(MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, comm));
    else
        CALL(MPI_Gather(&mine, 1, MPI_INT, all, 1, MPI_INT, root, comm));
    for (int i = 0; i < size && (root < 0 || root == rank); i++)
        CHECK(all[i] == value(call, i, 0), "call %d: rank %d sent %d", call, i, all[i]);
    free(all);
}

static void one(int call, MPI_Comm comm)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int kind = (int)draw(&shared_state, 6), count = (int)draw(&shared_state, draw(&shared_state, 2) ? 8 : NUMBERS) + 1;
    int root = (int)(draw(&shared_state, 1000) % (unsigned)size);
    switch (kind) {
    case 0: barrier(comm); break;
    case 1: bcast(call, count, root, rank, comm); break;
    case 2: reduce(call, count, root, rank, size, comm); break;
    case 3: reduce(call, count, -1, rank, size, comm); break;
    case 4: gather(call, root, rank, size, comm); break;
    default: gather(call, -1, rank, size, comm); break;
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int calls = argc > 1 ? atoi(argv[1]) : 1000, longest = argc > 2 ? atoi(argv[2]) : 2000;
    own_state = (unsigned)check_rank + 1;
    MPI_Comm comms[3] = {MPI_COMM_WORLD};
    CALL(MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &comms[1]));
    CALL(MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, check_rank, &comms[2]));
    for (int call = 0; call < calls; call++) {
        one(call, comms[draw(&shared_state, 3)]);
        if (draw(&own_state, 100) == 0)
            usleep(draw(&own_state, (unsigned)longest));
    }
    CALL(MPI_Comm_free(&comms[1]));
    CALL(MPI_Comm_free(&comms[2]));
    return finish();
}
