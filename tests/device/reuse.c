/*
 * Addresses that change what they are: device memory that is freed, host memory at the same
 * addresses, device memory again, and allocations of other sizes. Each time a message is sent from
 * there and received there.
 */
#include "memory.h"

#include <sys/mman.h>

enum { LARGE = 2 << 20, ROUNDS = 3 };

static int partner;
/* How often memory was at an address that had been freed. The library can be faster. */
static int device_again, other_again;

/* Both sides send what `from` has, pattern `seed`, and receive it in `to`. */
static void pass(Memory from, Memory to, size_t size, unsigned seed)
{
    MPI_Request requests[2];
    from.size = to.size = size;
    set_pattern(from, seed);
    set_pattern(to, seed + 1);
    MPI_Irecv(to.bytes, (int)size, MPI_BYTE, partner, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(from.bytes, (int)size, MPI_BYTE, partner, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK_MEMORY(to, size, seed);
}

static void pass_both_ways(Memory memory, size_t size, unsigned seed)
{
    for (int other = 0; other < 2; other++) {
        Memory host_or_device = memory_of(other, size);
        pass(memory, host_or_device, size, seed);
        pass(host_or_device, memory, size, seed + 10);
        free_memory(host_or_device);
    }
}

static void use_for_host_and_device(unsigned seed)
{
    Memory device = memory_of(true, LARGE);
    pass_both_ways(device, LARGE, seed);
    free_memory(device);
    void *mapped = mmap(device.bytes, LARGE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    REQUIRE(mapped == device.bytes, "the addresses cannot be mapped");
    pass(((Memory){false, LARGE, mapped}), ((Memory){false, LARGE, mapped + LARGE / 2}), LARGE / 2,
         seed + 20);
    /* As the stub driver left them. */
    mmap(mapped, LARGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    Memory again = memory_of(true, LARGE);
    device_again += again.bytes == device.bytes;
    pass_both_ways(again, LARGE, seed + 30);
    free_memory(again);
}

/* Small allocations share a block of the driver, so an address can lie in another allocation. */
static void use_for_other_allocations(unsigned seed)
{
    const size_t sizes[] = {70000, 30000, 500000, 512, 70000};
    Memory first = memory_of(true, 1000), last = {0};
    for (int i = 0; i < 5; i++) {
        Memory next = memory_of(true, sizes[i]);
        other_again += i > 0 && next.bytes == last.bytes;
        pass_both_ways(next, sizes[i], seed + i);
        free_memory(next);
        last = next;
    }
    free_memory(first);
}

int main(int count, char **words)
{
    start(&count, &words);
    partner = check_size == 2 ? 1 - check_rank : check_rank;
    start_device(check_rank);
    for (unsigned round = 0; round < ROUNDS; round++) {
        use_for_host_and_device(100 * round);
        use_for_other_allocations(100 * round + 50);
    }
    CHECK(device_again && other_again, "no address was used again: %d, %d", device_again,
          other_again);
    return finish();
}
