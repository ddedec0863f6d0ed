/*
 * Messages between all kinds of memory that the driver knows: allocated, from the default pool and
 * pools of the program, virtual, each exportable or not, managed, pinned and registered memory; all
 * of them from offset 0 and from one that is odd, contiguous and with gaps; and a sum over them.
 */
#include "memory.h"

/* Virtual memory has a granularity of 2 MiB. */
enum { ALLOCATED = 2 << 20, SIZE = 500000, BLOCKS = 20000, KINDS = 10 };

static CUdeviceptr virtual_memory(int types)
{
    CUdeviceptr address;
    CALLED(cuMemAddressReserve(&address, ALLOCATED, 0, 0, 0));
    map_new(address, ALLOCATED, types);
    return address;
}

static Memory of_kind(int kind)
{
    CUdeviceptr address = 0;
    void *host = NULL;
    const int file = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    switch (kind) {
    case 0:
        return memory_of(false, SIZE);
    case 1:
        return memory_of(true, SIZE);
    case 2:
        CALLED(cuMemAllocAsync(&address, ALLOCATED, NULL));
        CALLED(cuStreamSynchronize(NULL));
        break;
    case 3:
        address = pool_memory(ALLOCATED, new_pool(CU_MEM_HANDLE_TYPE_NONE));
        break;
    case 4:
        address = pool_memory(ALLOCATED, new_pool(file));
        break;
    case 5:
        address = virtual_memory(CU_MEM_HANDLE_TYPE_NONE);
        break;
    case 6:
        address = virtual_memory(file);
        break;
    case 7:
        CALLED(cuMemHostAlloc(&host, ALLOCATED, 3));
        break;
    case 8:
        host = malloc(ALLOCATED);
        CALLED(cuMemHostRegister_v2(host, ALLOCATED, 0));
        break;
    default:
        CALLED(cuMemAllocManaged(&address, ALLOCATED, CU_MEM_ATTACH_GLOBAL));
        host = (void *)(uintptr_t)address;
    }
    return host ? (Memory){false, SIZE, host} : (Memory){true, SIZE, (void *)(uintptr_t)address};
}

/* Every rank sends to the next one. */
static void pass(Memory from, Memory to, int offset, MPI_Datatype type, int count)
{
    int next = (check_rank + 1) % check_size, last = (check_rank + check_size - 1) % check_size;
    MPI_Request requests[2];
    MPI_Irecv((char *)to.bytes + offset, count, type, last, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend((char *)from.bytes + offset, count, type, next, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void pair(Memory from, Memory to, MPI_Datatype gaps, unsigned seed)
{
    set_pattern(from, seed);
    set_pattern(to, seed + 1);
    pass(from, to, 0, MPI_BYTE, SIZE);
    CHECK_MEMORY(to, SIZE, seed);
    set_pattern(from, seed + 2);
    pass(from, to, 3, gaps, 1);
    unsigned char *bytes = malloc(SIZE);
    read_memory(to, bytes);
    long wrong = 0;
    for (long i = 0; i < SIZE; i++) {
        bool inside = i >= 3 && (i - 3) / 24 < BLOCKS && (i - 3) % 24 < 8;
        wrong += bytes[i] != pattern_byte(i, inside ? seed + 2 : seed);
    }
    CHECK(wrong == 0, "%ld bytes are wrong", wrong);
    free(bytes);
}

static void sum(Memory from, Memory to)
{
    int *numbers = malloc(SIZE);
    for (int i = 0; i < SIZE / 4; i++)
        numbers[i] = i + check_rank;
    write_memory(from, numbers);
    MPI_Allreduce(from.bytes, to.bytes, SIZE / 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    read_memory(to, numbers);
    int wrong = 0;
    for (int i = 0; i < SIZE / 4; i++)
        wrong += numbers[i] != check_size * i + check_size * (check_size - 1) / 2;
    CHECK(wrong == 0, "%d sums are wrong", wrong);
    free(numbers);
}

int main(int count, char **words)
{
    MPI_Datatype gaps;
    start(&count, &words);
    start_device(0);
    MPI_Type_vector(BLOCKS, 8, 24, MPI_BYTE, &gaps);
    MPI_Type_commit(&gaps);
    Memory sources[KINDS], targets[KINDS];
    for (int kind = 0; kind < KINDS; kind++) {
        sources[kind] = of_kind(kind);
        targets[kind] = of_kind(kind);
    }
    for (int from = 0; from < KINDS; from++)
        for (int to = 0; to < KINDS; to++) {
            int failures = check_failures;
            pair(sources[(from + check_rank) % KINDS], targets[to], gaps, 10 * from + to);
            if (from == to)
                sum(sources[from], targets[(to + check_rank) % KINDS]);
            CHECK(check_failures == failures, "from kind %d to kind %d", from, to);
        }
    MPI_Type_free(&gaps);
    return finish();
}
