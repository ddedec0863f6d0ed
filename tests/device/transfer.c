/*
 * Counts the driver's calls and the bytes that it moves for one message of 1 MiB, in all ranks
 * together. Of the messages after the first ones, with which the library makes what it keeps, that
 * with the fewest calls counts. Prints a line for each count.
 *
 *     transfer contiguous|vector FROM TO [pack|unpack]      FROM and TO are "device" or "host"
 */
#include "memory.h"

enum { SIZE = 1 << 20, BLOCK = 8, STRIDE = 64, FIRST_USES = 4, ROUNDS = 12 };

unsigned long towpath_stub_bytes(int direction);

#undef CALL
#define CALL(name, needs, parameters) #name,
static const char *const functions[] = {
#include "calls.h"
};
#undef CALL
static const char *const directions[] = {"host_to_device", "device_to_host", "device_to_device",
                                         "host_to_host", "by_kernels"};

enum {
    FUNCTIONS = sizeof functions / sizeof *functions,
    DIRECTIONS = sizeof directions / sizeof *directions,
    COUNTS = FUNCTIONS + DIRECTIONS
};

static void count_all(unsigned long *counts)
{
    for (int i = 0; i < FUNCTIONS; i++)
        counts[i] = towpath_stub_calls(functions[i]);
    for (int i = 0; i < DIRECTIONS; i++)
        counts[FUNCTIONS + i] = towpath_stub_bytes(i);
}

static void once(const char *how, Memory from, Memory to, MPI_Datatype type)
{
    int position = 0;
    if (!strcmp(how, "pack"))
        MPI_Pack(from.bytes, 1, type, to.bytes, SIZE, &position, MPI_COMM_WORLD);
    else if (!strcmp(how, "unpack"))
        MPI_Unpack(from.bytes, SIZE, &position, to.bytes, 1, type, MPI_COMM_WORLD);
    else if (check_rank == 0)
        MPI_Send(from.bytes, 1, type, 1, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(to.bytes, 1, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int count, char **words)
{
    start(&count, &words);
    REQUIRE(count >= 4, "usage: transfer contiguous|vector FROM TO [pack|unpack]");
    start_device(check_rank);
    bool contiguous = !strcmp(words[1], "contiguous");
    size_t reach = contiguous ? SIZE : (size_t)SIZE / BLOCK * STRIDE;
    Memory from = memory_of(!strcmp(words[2], "device"), reach);
    Memory to = memory_of(!strcmp(words[3], "device"), reach);
    MPI_Datatype type;
    MPI_Type_vector(SIZE / BLOCK, BLOCK, contiguous ? BLOCK : STRIDE, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    unsigned long best[COUNTS], fewest = -1ul;
    for (int round = 0; round < ROUNDS; round++) {
        unsigned long before[COUNTS], after[COUNTS], calls = 0;
        count_all(before);
        once(count > 4 ? words[4] : "send", from, to, type);
        count_all(after);
        for (int i = 0; i < COUNTS; i++)
            after[i] -= before[i];
        MPI_Allreduce(MPI_IN_PLACE, after, COUNTS, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < FUNCTIONS; i++)
            calls += after[i];
        if (round >= FIRST_USES && calls < fewest) {
            fewest = calls;
            memcpy(best, after, sizeof best);
        }
    }
    for (int i = 0; i < COUNTS && check_rank == 0; i++)
        if (best[i])
            printf("%s %lu\n", i < FUNCTIONS ? functions[i] : directions[i - FUNCTIONS], best[i]);
    MPI_Type_free(&type);
    return finish();
}
