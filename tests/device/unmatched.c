/*
 * Short sends from device memory before their receives: each rank sends to the next one first and
 * receives afterwards, in a blocking call or while it tests. Programs rely on that for short
 * messages, although MPI lets such sends wait (MPI 5.0, 3.5).
 */
#include "memory.h"

enum { LARGEST = 4096, MESSAGES = 20 };

static int next, last;

static void blocking(int size)
{
    Memory from = pattern_in(true, LARGEST, check_rank);
    Memory to = pattern_in(true, LARGEST, 99);
    CALL(MPI_Send(from.bytes, size, MPI_BYTE, next, 0, MPI_COMM_WORLD));
    /* The message is a copy. */
    set_pattern(from, 77);
    CALL(MPI_Recv(to.bytes, size, MPI_BYTE, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_MEMORY(to, size, last);
    free_memory(from);
    free_memory(to);
}

/* Sends that are tested, in order, from one buffer that each of them may change. */
static void tested(int size)
{
    Memory from = memory_of(true, LARGEST), to = memory_of(true, LARGEST);
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Request request;
        int done = 0;
        set_pattern(from, check_rank + i);
        CALL(MPI_Isend(from.bytes, size, MPI_BYTE, next, 1, MPI_COMM_WORLD, &request));
        while (!done)
            CALL(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    }
    for (int i = 0; i < MESSAGES; i++) {
        CALL(MPI_Recv(to.bytes, size, MPI_BYTE, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_MEMORY(to, size, last + i);
    }
    free_memory(from);
    free_memory(to);
}

/* A column of a matrix, and a receive in host memory that comes late. */
static void strided(void)
{
    Memory from = pattern_in(true, LARGEST, check_rank);
    unsigned char to[LARGEST / 8];
    MPI_Datatype column;
    MPI_Type_vector(LARGEST / 64, 8, 64, MPI_BYTE, &column);
    MPI_Type_commit(&column);
    CALL(MPI_Send(from.bytes, 1, column, next, 2, MPI_COMM_WORLD));
    CALL(MPI_Recv(to, sizeof to, MPI_BYTE, last, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < (int)sizeof to; i++)
        CHECK(to[i] == pattern_byte(i / 8 * 64 + i % 8, last), "byte %d is wrong", i);
    MPI_Type_free(&column);
    free_memory(from);
}

int main(int count, char **words)
{
    start(&count, &words);
    start_device(check_rank);
    next = (check_rank + 1) % check_size;
    last = (check_rank + check_size - 1) % check_size;
    static const int sizes[] = {0, 1, 8, 100, LARGEST};
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++) {
        blocking(sizes[i]);
        tested(sizes[i]);
    }
    strided();
    return finish();
}
