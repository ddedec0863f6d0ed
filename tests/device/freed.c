/*
 * Memory that a partner has opened becomes free again at the next message of the pair after the
 * program has freed it, whatever the addresses of later allocations are.
 */
#include "memory.h"

enum { FIRST = 2 << 20, ROUNDS = 8 };

static unsigned long open_here(void)
{
    return towpath_stub_calls("cuIpcOpenMemHandle_v2") - towpath_stub_calls("cuIpcCloseMemHandle");
}

static void exchange(Memory from, Memory to, unsigned seed)
{
    int partner = 1 - check_rank;
    set_pattern(from, seed);
    MPI_Sendrecv(from.bytes, (int)from.size, MPI_BYTE, partner, 0, to.bytes, (int)to.size, MPI_BYTE,
                 partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_MEMORY(to, to.size, seed);
}

int main(int count, char **words)
{
    start(&count, &words);
    start_device(check_rank);
    Memory small = memory_of(true, 100000), other = memory_of(true, 100000);
    Memory held[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        /* Each is larger than the place that the one before has left. */
        Memory from = memory_of(true, FIRST + (round << 21)), to = memory_of(true, from.size);
        held[round] = memory_of(true, 2 << 20);
        exchange(from, to, round);
        free_memory(from);
        free_memory(to);
        MPI_Barrier(MPI_COMM_WORLD);
        exchange(small, other, round + 1);
        exchange(small, other, round + 2);
        /* The small ones' block, and nothing that has been freed. */
        CHECK(open_here() <= 2, "round %d: %lu allocations of the partner are open", round,
              open_here());
    }
    for (int round = 0; round < ROUNDS; round++)
        free_memory(held[round]);
    return finish();
}
