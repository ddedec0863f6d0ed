/*
 * The driver ends in exit handlers of the process, before MPI does: MPI_Finalize and messages
 * between host buffers still work in handlers that run later, and nothing is said.
 */
#include "memory.h"

#include <unistd.h>

enum { SIZE = 4 << 20 };

static unsigned char *from, *to;

static void exchange(void *source, void *target)
{
    int next = (check_rank + 1) % check_size, last = (check_rank + check_size - 1) % check_size;
    MPI_Sendrecv(source, SIZE, MPI_BYTE, next, 0, target, SIZE, MPI_BYTE, last, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void at_exit(void)
{
    CUdevice device;
    CHECK(cuDeviceGet(&device, 0) == CUDA_ERROR_DEINITIALIZED, "the driver still works");
    exchange(from, to);
    CHECK_PATTERN(to, SIZE, 1);
    if (finish())
        _exit(1);
}

int main(int count, char **words)
{
    start(&count, &words);
    from = malloc(SIZE);
    to = malloc(SIZE);
    pattern_fill(from, SIZE, 1);
    /* Runs after the driver's own handler, because it is registered before that. */
    atexit(at_exit);
    start_device(check_rank);
    Memory memory = pattern_in(true, SIZE, 2), other = memory_of(true, SIZE);
    exchange(memory.bytes, other.bytes);
    CHECK_MEMORY(other, SIZE, 2);
    MPI_Datatype list;
    int places[] = {0, 3, 8, 20};
    MPI_Type_create_indexed_block(4, 2, places, MPI_INT, &list);
    MPI_Type_commit(&list);
    MPI_Sendrecv_replace(memory.bytes, 1, list, check_rank, 0, check_rank, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    MPI_Type_free(&list);
    return 0;
}
