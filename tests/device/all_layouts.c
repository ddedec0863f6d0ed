/*
 * The 70 layouts of the pack benchmark in device memory: packed, unpacked and sent between host and
 * device memory, and compared with the loops that are written by hand there, gaps included.
 *
 *     all_layouts [BYTES [REACH]]     those with at most so many bytes of data, which reach over
 *                                     at most so many bytes of memory
 */
#define _GNU_SOURCE
#include "memory.h"

#define main measure_layouts
#include "../../benchmarks/pack.c"
#undef main

enum { GAP = 0x5a };

static void check_bytes(Memory memory, const char *what, const layout *l, const void *expected)
{
    REQUIRE(holds(memory, expected), "%s of %s, %zu bytes, is wrong", what, l->name, l->bytes);
}

static void send_on(const layout *l, Memory from, Memory to, const void *before, const void *after)
{
    int next = (check_rank + 1) % check_size, last = (check_rank + check_size - 1) % check_size;
    MPI_Request requests[2];
    write_memory(to, before);
    MPI_Irecv(to.bytes, l->elements, l->type, last, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(from.bytes, l->elements, l->type, next, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    const char *what = !from.on_device ? "a message from the host"
                       : to.on_device  ? "a message in device memory"
                                       : "a message to the host";
    check_bytes(to, what, l, after);
}

static void check_layout(const layout *l)
{
    size_t size = l->span * sizeof(double);
    double *filled = malloc(size), *empty = malloc(size), *expected = malloc(size);
    char *data = malloc(l->bytes);
    Memory elements = memory_of(true, size), other = memory_of(true, size),
           host = memory_of(false, size);
    Memory bytes = memory_of(true, l->bytes);
    for (size_t i = 0; i < l->span; i++)
        filled[i] = (double)(i * 7 + 1);
    memset(empty, GAP, size);
    memcpy(expected, empty, size);
    l->pack(l, filled, data);
    l->unpack(l, expected, data);
    write_memory(elements, filled);
    write_memory(host, filled);
    int position = 0;
    MPI_Pack(elements.bytes, l->elements, l->type, bytes.bytes, (int)l->bytes, &position,
             MPI_COMM_SELF);
    check_bytes(bytes, "MPI_Pack", l, data);
    write_memory(other, empty);
    position = 0;
    MPI_Unpack(bytes.bytes, (int)l->bytes, &position, other.bytes, l->elements, l->type,
               MPI_COMM_SELF);
    check_bytes(other, "MPI_Unpack", l, expected);
    send_on(l, elements, other, empty, expected);
    send_on(l, host, other, empty, expected);
    send_on(l, elements, host, empty, expected);
    free_memory(elements);
    free_memory(other);
    free_memory(host);
    free_memory(bytes);
    free(filled);
    free(empty);
    free(expected);
    free(data);
}

int main(int count, char **words)
{
    static layout all[128];
    start(&count, &words);
    start_device(check_rank);
    size_t most_bytes = count > 1 ? strtoull(words[1], NULL, 10) : SIZE_MAX;
    size_t most_reach = count > 2 ? strtoull(words[2], NULL, 10) : SIZE_MAX;
    int layouts = make_layouts(all);
    CHECK(layouts == 70, "there are %d layouts", layouts);
    for (int i = 0; i < layouts; i++) {
        MPI_Type_commit(&all[i].type);
        if (all[i].bytes <= most_bytes && all[i].span * sizeof(double) <= most_reach)
            check_layout(&all[i]);
        MPI_Type_free(&all[i].type);
    }
    return finish();
}
