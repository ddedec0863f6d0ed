/*
 * Buffers at the edges: none, empty ones, ones that are too short, absolute addresses with
 * MPI_BOTTOM, and elements in host and device memory at once.
 */
#include "memory.h"

static int next, last;

static void pass(void *from, int count, MPI_Datatype type, void *to, int room, MPI_Datatype other)
{
    CALL(MPI_Sendrecv(from, count, type, next, 0, to, room, other, last, 0, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE));
}

static void empty_ones(void)
{
    MPI_Datatype nothing;
    MPI_Type_contiguous(0, MPI_INT, &nothing);
    MPI_Type_commit(&nothing);
    Memory memory = pattern_in(true, 64, 1);
    void *end = (char *)memory.bytes + 64;
    pass(NULL, 0, MPI_BYTE, NULL, 0, MPI_BYTE);
    pass(memory.bytes, 0, MPI_BYTE, memory.bytes, 0, MPI_BYTE);
    pass(memory.bytes, 5, nothing, memory.bytes, 64, MPI_BYTE);
    pass(NULL, 0, MPI_BYTE, memory.bytes, 64, MPI_BYTE);
    pass(end, 0, MPI_INT, end, 0, MPI_INT);
    CALL(MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD));
    CALL(MPI_Bcast(memory.bytes, 0, MPI_INT, 0, MPI_COMM_WORLD));
    CALL(MPI_Allreduce(memory.bytes, end, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CALL(MPI_Alltoall(memory.bytes, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD));
    CHECK_MEMORY(memory, 64, 1);
    free_memory(memory);
    MPI_Type_free(&nothing);
}

/* A message of `length` bytes for half as much memory; nothing behind that is written. */
static void truncated(int length, bool from_device, bool to_device)
{
    Memory from = pattern_in(from_device, length, 1), to = pattern_in(to_device, length, 2);
    int room = length / 2;
    MPI_Request request;
    MPI_Isend(from.bytes, length, MPI_BYTE, next, 0, MPI_COMM_WORLD, &request);
    FAILS(MPI_Recv(to.bytes, room, MPI_BYTE, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
          MPI_ERR_TRUNCATE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    long wrong = first_wrong(to, room, length - room, 2, room);
    CHECK(wrong < 0, "byte %ld behind the buffer of %d was written", wrong, room);
    MPI_Datatype pairs;
    MPI_Type_vector(length / 8, 2, 4, MPI_BYTE, &pairs);
    MPI_Type_commit(&pairs);
    MPI_Isend(from.bytes, length, MPI_BYTE, next, 0, MPI_COMM_WORLD, &request);
    FAILS(MPI_Recv(to.bytes, 1, pairs, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
          MPI_ERR_TRUNCATE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(first_wrong(to, room, length - room, 2, room) < 0, "bytes of the gaps were written");
    /* The next message is not disturbed. */
    pass(from.bytes, length, MPI_BYTE, to.bytes, length, MPI_BYTE);
    CHECK_MEMORY(to, length, 1);
    MPI_Type_free(&pairs);
    free_memory(from);
    free_memory(to);
}

/* Two blocks by their addresses, in whichever memory, which differs in distance between ranks. */
static void absolute(bool first_on_device, bool second_on_device, int length, bool receives)
{
    Memory first = pattern_in(first_on_device, length, 1);
    Memory between = memory_of(true, 1000 + 3000 * (check_rank % 2));
    Memory blocks[] = {first, pattern_in(second_on_device, length, 2)};
    Memory other = pattern_in(true, 2 * length, 3);
    MPI_Aint places[2];
    int lengths[2] = {length, length};
    MPI_Datatype both;
    for (int i = 0; i < 2; i++)
        MPI_Get_address(blocks[i].bytes, &places[i]);
    MPI_Type_create_hindexed(2, lengths, places, MPI_BYTE, &both);
    MPI_Type_commit(&both);
    if (receives) {
        pass(other.bytes, 2 * length, MPI_BYTE, MPI_BOTTOM, 1, both);
        CHECK_MEMORY(blocks[0], length, 3);
        CHECK(first_wrong(blocks[1], 0, length, 3, length) < 0, "the second block is wrong");
    } else {
        pass(MPI_BOTTOM, 1, both, other.bytes, 2 * length, MPI_BYTE);
        CHECK_MEMORY(other, length, 1);
        CHECK(first_wrong(other, length, length, 2, 0) < 0, "the second block is wrong");
    }
    MPI_Type_free(&both);
    free_memory(first);
    free_memory(between);
    free_memory(blocks[1]);
    free_memory(other);
}

int main(int count, char **words)
{
    start(&count, &words);
    next = (check_rank + 1) % check_size;
    last = (check_rank + check_size - 1) % check_size;
    start_device(check_rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int length = 64; length <= 4 << 20; length *= 16)
        for (int spaces = 0; spaces < 4; spaces++) {
            bool first = spaces & 1, second = spaces & 2;
            absolute(first, second, length, false);
            absolute(first, second, length, true);
        }
    empty_ones();
    for (int length = 64; length <= 4 << 20; length *= 16)
        for (int spaces = 1; spaces < 4; spaces++)
            truncated(length, spaces & 1, spaces & 2);
    return finish();
}
