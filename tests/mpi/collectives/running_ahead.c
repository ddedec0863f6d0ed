/*
 * Long rows of collectives that do not synchronise, of all sizes and with other roots, and with one rank that is slow now and then:
 * ranks that only give run far ahead of ranks that take, and no byte may be overwritten before it was read. Then many short-lived
 * communicators. MPI 5.0, 6.4 to 6.9
 */
#include "pattern.h"
#include <unistd.h>

enum { CALLS = 1500, LARGEST = 300000, TURNOVERS = 120 };

static unsigned draw(unsigned *state, unsigned below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

static size_t size_of_call(unsigned *state)
{
    static const unsigned limits[] = {1, 9, 49, 200, 5000, 5000, 70000, LARGEST};
    unsigned limit = limits[draw(state, draw(state, 8) ? 5 : 8)];
    return draw(state, limit + 1);
}

/* What every rank of the communicator does in one call; all draw the same numbers. */
static void call(MPI_Comm comm, unsigned *state, unsigned number, char *out, char *in)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int kind = (int)draw(state, 4), root = (int)draw(state, (unsigned)size);
    size_t bytes = size_of_call(state);
    if (kind != 0)
        bytes /= (size_t)size;
    unsigned stream = number * 131;
    if (kind == 0) {
        if (rank == root)
            pattern_fill(in, bytes, stream);
        CALL(MPI_Bcast(in, (int)bytes, MPI_BYTE, root, comm));
        CHECK_PATTERN(in, bytes, stream);
    } else if (kind == 1) {
        pattern_fill(out, bytes, stream + (unsigned)rank);
        CALL(MPI_Gather(out, (int)bytes, MPI_BYTE, in, (int)bytes, MPI_BYTE, root, comm));
        for (int r = 0; rank == root && r < size; r++)
            CHECK_PATTERN(in + (size_t)r * bytes, bytes, stream + (unsigned)r);
    } else if (kind == 2) {
        for (int r = 0; rank == root && r < size; r++)
            pattern_fill(out + (size_t)r * bytes, bytes, stream + (unsigned)r);
        CALL(MPI_Scatter(out, (int)bytes, MPI_BYTE, in, (int)bytes, MPI_BYTE, root, comm));
        CHECK_PATTERN(in, bytes, stream + (unsigned)rank);
    } else {
        long *numbers = (long *)out, *sums = (long *)in;
        int count = (int)(bytes / sizeof(long));
        for (int i = 0; i < count; i++)
            numbers[i] = (long)number * 7 + rank + i;
        CALL(MPI_Reduce(numbers, sums, count, MPI_LONG, MPI_SUM, root, comm));
        for (int i = 0; rank == root && i < count; i++)
            if (!CHECK(sums[i] == size * ((long)number * 7 + i) + (long)size * (size - 1) / 2, "call %u, element %d: %ld", number, i, sums[i]))
                break;
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    char *out = malloc(LARGEST + 8), *in = malloc(LARGEST + 8);
    unsigned state = 12345;
    for (unsigned i = 0; i < CALLS; i++) {
        int slow = (int)draw(&state, (unsigned)check_size);
        if (i % 100 == 0 && slow == check_rank)
            usleep(3000);
        call(MPI_COMM_WORLD, &state, i, out, in);
    }
    for (unsigned i = 0; i < TURNOVERS; i++) {
        MPI_Comm comm;
        CALL(MPI_Comm_split(MPI_COMM_WORLD, 0, (int)i % 2 ? -check_rank : check_rank, &comm));
        for (unsigned j = 0; j < 5; j++)
            call(comm, &state, i * 5 + j, out, in);
        CALL(MPI_Comm_free(&comm));
    }
    free(out);
    free(in);
    return finish();
}
