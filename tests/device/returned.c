/*
 * With MPI_ERRORS_RETURN, the failure of a device or its driver is an error of a call, and the
 * program goes on: no rank hangs, and data is wrong only where a rank has been told so.
 * failures.py lets the driver fail.
 */
#include "memory.h"

enum { ROUNDS = 24, COLUMNS = 3, BLOCK = 8, STRIDE = 24, MOST = 40000, FLOATS = 300001 };

/* Errors of this rank in this round. */
static int told;

static void note(int code)
{
    if (code == MPI_SUCCESS)
        return;
    char text[MPI_MAX_ERROR_STRING];
    int class, length;
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    CHECK(strstr(text, "CUDA driver") || strstr(text, "a device"), "the error says \"%s\"", text);
    CHECK(class == MPI_ERR_OTHER || class == MPI_ERR_BUFFER || class == MPI_ERR_NO_MEM,
          "the class is %d", class);
    fprintf(stderr, "rank %d was told: %s\n", check_rank, text);
    told++;
}

/* Whether no rank was told of a failure in this round. */
static bool is_unharmed(void)
{
    int any, own = told;
    note(MPI_Allreduce(&own, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    return !any && !told;
}

/* The first byte of a column that is not as it must be, or -1. */
static long wrong_byte(Memory to, unsigned seed)
{
    unsigned char *bytes = malloc(to.size);
    long wrong = -1;
    read_memory(to, bytes);
    for (size_t i = 0; i < to.size; i++)
        if (bytes[i] != pattern_byte(i, i % STRIDE < BLOCK ? seed : 7u))
            wrong = (long)i;
    free(bytes);
    return wrong;
}

static unsigned seed_of_column(int round, int rank, int column)
{
    return (unsigned)((round * 100 + rank) * COLUMNS + column);
}

/* Columns of pattern bytes go around the ranks, all at the same time. */
static void exchange(int round, int blocks)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    size_t reach = (size_t)blocks * STRIDE;
    Memory from[COLUMNS], to[COLUMNS];
    MPI_Request requests[2 * COLUMNS];
    MPI_Datatype column;
    MPI_Type_vector(blocks, BLOCK, STRIDE, MPI_BYTE, &column);
    MPI_Type_commit(&column);
    for (int i = 0; i < COLUMNS; i++) {
        from[i] = pattern_in(true, reach, seed_of_column(round, check_rank, i));
        to[i] = pattern_in(true, reach, 7);
        note(MPI_Irecv(to[i].bytes, 1, column, left, i, MPI_COMM_WORLD, &requests[i]));
    }
    for (int i = 0; i < COLUMNS; i++)
        note(MPI_Isend(from[i].bytes, 1, column, right, i, MPI_COMM_WORLD,
                       &requests[COLUMNS + i]));
    for (int i = 0; i < 2 * COLUMNS; i++)
        note(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    MPI_Type_free(&column);
    bool unharmed = is_unharmed();
    for (int i = 0; i < COLUMNS; i++) {
        long wrong = unharmed ? wrong_byte(to[i], seed_of_column(round, left, i)) : -1;
        CHECK(wrong < 0, "byte %ld of %zu is wrong", wrong, reach);
        free_memory(from[i]);
        free_memory(to[i]);
    }
}

static void sum(void)
{
    size_t bytes = FLOATS * sizeof(float);
    float *values = malloc(bytes);
    Memory memory = memory_of(true, bytes);
    for (int i = 0; i < FLOATS; i++)
        values[i] = (float)(check_rank + i % 100);
    write_memory(memory, values);
    note(MPI_Allreduce(MPI_IN_PLACE, memory.bytes, FLOATS, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
    if (is_unharmed()) {
        long wrong = -1;
        read_memory(memory, values);
        for (int i = 0; i < FLOATS; i++)
            if (values[i] != (float)(check_size * (i % 100) + check_size * (check_size - 1) / 2))
                wrong = i;
        CHECK(wrong < 0, "byte %ld of a sum is wrong", wrong * 4);
    }
    free_memory(memory);
    free(values);
}

int main(int count, char **words)
{
    start(&count, &words);
    start_device(check_rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int round = 0; round < ROUNDS; round++) {
        told = 0;
        exchange(round, round % 3 == 0 ? 3 : 1 + round * MOST / ROUNDS);
        told = 0;
        if (round % 8 == 0)
            sum();
    }
    return finish();
}
