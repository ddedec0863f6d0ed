/*
 * Strided messages between two processes on one GPU.
 *
 *     vector BLOCK STRIDE SECONDS_PER_ROW [datatype]
 *
 * MPI_Type_vector of blocks of BLOCK bytes every STRIDE bytes, 4 KB to 64 MB of payload: half a
 * round trip by each method, or by the datatype alone, which needs no other library's help.
 */
#include "methods.h"

#include <stdio.h>
#include <stdlib.h>

enum { KB = 1024, MB = 1024 * 1024, FIRST = 4 * KB, LAST = 64 * MB, ALWAYS = 4 * MB };
/* A method that needs this much for half a round trip is not tried with four times the payload,
 * but for payloads that are always measured. */
static const double TOO_SLOW = 40e3;
/* Beside the methods: one kernel that copies. */
enum { COPY = METHODS };
/* Half a round trip of the last size. */
static double slowest[METHODS + 1];

static MPI_Datatype vector(struct blocks blocks)
{
    MPI_Datatype base = blocks.block % sizeof(double) ? MPI_FLOAT : MPI_DOUBLE, datatype;
    int size;
    MPI(MPI_Type_size(base, &size));
    MPI(MPI_Type_vector((int)blocks.count, (int)blocks.block / size, (int)blocks.stride / size,
                        base, &datatype));
    MPI(MPI_Type_commit(&datatype));
    return datatype;
}

static void measure_size(struct message *m, size_t bytes, int step, double seconds)
{
    m->bytes = bytes;
    m->blocks.count = bytes / m->blocks.block;
    m->extent = m->blocks.count * m->blocks.stride;
    if (step == COPY) {
        measure_copy(m, seconds / 4);
        return;
    }
    m->datatype = vector(m->blocks);
    slowest[step] = measure(m, (enum method)step, seconds);
    MPI(MPI_Type_free(&m->datatype));
}

/* All sizes by one method after the other, the datatype last: what fails takes no other row along.
 */
static void measure_all(struct message *m, double seconds, int only_datatype)
{
    static const int order[] = {COPY, MANUAL, KERNEL, DATATYPE};
    for (int i = only_datatype ? METHODS : 0; i <= METHODS; i++)
        for (size_t bytes = FIRST; bytes <= LAST; bytes *= 4)
            if (bytes <= ALWAYS || slowest[order[i]] <= TOO_SLOW)
                measure_size(m, bytes, order[i], seconds);
}

int main(int count, char **words)
{
    struct message message = {0};
    char name[40];
    start(&count, &words);
    if (count < 4) {
        fprintf(stderr, "usage: vector BLOCK STRIDE SECONDS_PER_ROW [datatype]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    message.blocks.block = strtoul(words[1], NULL, 10);
    message.blocks.stride = strtoul(words[2], NULL, 10);
    snprintf(name, sizeof name, "vector_%s_%s", words[1], words[2]);
    message.name = name;
    make_room(&message, LAST / message.blocks.block * message.blocks.stride, LAST);
    measure_all(&message, strtod(words[3], NULL), count > 4);
    free_room(&message);
    return end();
}
