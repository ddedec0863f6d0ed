/*
 * Long messages, of which there are more at a time than the library has slots for: each rank sends
 * to the next one, from and to memory that other processes can open or not. Lengths around those of
 * a slot, longer and shorter receive buffers, gaps on either side, late receives, and host memory
 * on one side.
 */
#include "memory.h"

enum { TOGETHER = 7, SLOT = 256 << 10, GAPS = 3 };

static int next, last;

static Memory unopenable(size_t size)
{
    CUdeviceptr address;
    CALLED(cuMemAllocAsync(&address, size, NULL));
    CALLED(cuStreamSynchronize(NULL));
    return (Memory){true, size, (void *)(uintptr_t)address};
}

/* Device memory that other processes can open, the same that they cannot, or host memory. */
static Memory of_kind(int kind, size_t size)
{
    return kind == 1 ? unopenable(size) : memory_of(kind == 0, size);
}

static void free_kind(int kind, Memory memory)
{
    if (kind == 1)
        CALLED(cuMemFreeAsync(device_address_of(memory.bytes), NULL));
    else
        free_memory(memory);
}

/* Several messages at a time, received in the order in which they were sent, `late` or not. */
static void together(int from_kind, int to_kind, int size, bool late)
{
    Memory from[TOGETHER], to[TOGETHER];
    MPI_Request requests[2 * TOGETHER];
    for (int i = 0; i < TOGETHER; i++) {
        from[i] = of_kind(from_kind, size);
        to[i] = of_kind(to_kind, size);
        set_pattern(from[i], 10 * check_rank + i);
        set_pattern(to[i], 99);
    }
    for (int part = 0; part < 2; part++)
        for (int i = 0; i < TOGETHER; i++)
            if ((part == 0) == late)
                CALL(MPI_Isend(from[i].bytes, size, MPI_BYTE, next, i, MPI_COMM_WORLD,
                               &requests[i]));
            else
                CALL(MPI_Irecv(to[i].bytes, size, MPI_BYTE, last, i, MPI_COMM_WORLD,
                               &requests[TOGETHER + i]));
    CALL(MPI_Waitall(2 * TOGETHER, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < TOGETHER; i++) {
        CHECK_MEMORY(to[i], size, 10 * last + i);
        free_kind(from_kind, from[i]);
        free_kind(to_kind, to[i]);
    }
}

/* A buffer that is longer than the message, and one that is shorter. */
static void other_lengths(int from_kind, int to_kind)
{
    const int sent = 5 * SLOT + 12;
    for (int room = sent - SLOT; room <= sent + SLOT; room += 2 * SLOT) {
        Memory from = of_kind(from_kind, sent), to = of_kind(to_kind, room);
        MPI_Request request;
        MPI_Status status;
        int got, error, class = MPI_SUCCESS;
        set_pattern(from, check_rank);
        CALL(MPI_Isend(from.bytes, sent, MPI_BYTE, next, 1, MPI_COMM_WORLD, &request));
        CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
        error = MPI_Recv(to.bytes, room, MPI_BYTE, last, 1, MPI_COMM_WORLD, &status);
        CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
        CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (error)
            MPI_Error_class(error, &class);
        CHECK(class == (room < sent ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "error class %d", class);
        MPI_Get_count(&status, MPI_BYTE, &got);
        CHECK(room < sent || got == sent, "%d of %d bytes", got, sent);
        CHECK_MEMORY(to, room < sent ? room : sent, last);
        free_kind(from_kind, from);
        free_kind(to_kind, to);
    }
}

/* A vector to contiguous memory, and back to another vector. */
static void with_gaps(int from_kind, int to_kind)
{
    const int blocks = 3 * SLOT / 8 + 1, size = 8 * blocks;
    Memory from = of_kind(from_kind, (size_t)size * GAPS), to = of_kind(to_kind, size);
    Memory back = of_kind(from_kind, (size_t)size * GAPS);
    MPI_Datatype gaps;
    MPI_Type_vector(blocks, 8, 8 * GAPS, MPI_BYTE, &gaps);
    MPI_Type_commit(&gaps);
    set_pattern(from, check_rank);
    CALL(MPI_Sendrecv(from.bytes, 1, gaps, next, 2, to.bytes, size, MPI_BYTE, last, 2,
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CALL(MPI_Sendrecv(to.bytes, size, MPI_BYTE, last, 3, back.bytes, 1, gaps, next, 3,
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    unsigned char *bytes = malloc(back.size);
    read_memory(back, bytes);
    for (int i = 0; i < blocks; i++)
        for (int byte = 0; byte < 8; byte++) {
            size_t at = (size_t)i * 8 * GAPS + byte;
            CHECK(bytes[at] == pattern_byte(at, check_rank), "byte %zu is wrong", at);
        }
    free(bytes);
    MPI_Type_free(&gaps);
    free_kind(from_kind, from);
    free_kind(to_kind, to);
    free_kind(from_kind, back);
}

int main(int count, char **words)
{
    static const int sizes[] = {(64 << 10) - 1, 64 << 10,        SLOT - 1,
                                SLOT + 1,       4 * SLOT,        4 * SLOT + 7,
                                9 * SLOT + 8,   (4 << 20) + 16, (20 << 20) + 1};
    start(&count, &words);
    start_device(check_rank);
    next = (check_rank + 1) % check_size;
    last = (check_rank + check_size - 1) % check_size;
    int rounds = count > 1 ? atoi(words[1]) : 1, largest = count > 2 ? atoi(words[2]) : sizes[8];
    for (int round = 0; round < rounds; round++)
        for (int from = 0; from < 3; from++)
            for (int to = 0; to < 3; to++) {
                for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++)
                    if (sizes[i] <= largest)
                        together(from, to, sizes[i], i % 2);
                other_lengths(from, to);
                with_gaps(from, to);
            }
    return finish();
}
