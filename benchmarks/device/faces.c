/*
 * Faces of a three-dimensional array and irregular lists, between two processes on one GPU.
 *
 *     faces EDGE SECONDS_PER_ROW       the three faces in the middle of EDGE^3 doubles
 *     faces list SECONDS_PER_ROW       1 MB of doubles, 1 to 8 together with random gaps
 *
 * Half a round trip by each method. A face is an MPI_Type_create_subarray, a list an
 * MPI_Type_indexed.
 */
#include "methods.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AXES = 3, LIST_BYTES = 1024 * 1024, MOST_LENGTH = 8 };

/* The datatype comes last: what fails takes no other row along. */
static const enum method order[METHODS] = {MANUAL, KERNEL, DATATYPE};

/* The face whose index along `axis` is fixed; axis 2 has unit stride. */
static void face(struct message *m, int edge, int axis)
{
    size_t n = (size_t)edge, size = sizeof(double);
    const struct blocks of_axis[AXES] = {
        {n / 2 * n * n * size, n * n * size, n * n * size, 1},
        {n / 2 * n * size, n * size, n * n * size, n},
        {n / 2 * size, size, n * size, n * n},
    };
    int sizes[AXES] = {edge, edge, edge}, parts[AXES] = {edge, edge, edge}, starts[AXES] = {0};
    parts[axis] = 1;
    starts[axis] = edge / 2;
    m->blocks = of_axis[axis];
    MPI(MPI_Type_create_subarray(AXES, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE,
                                 &m->datatype));
    MPI(MPI_Type_commit(&m->datatype));
}

static void faces(int edge, double seconds)
{
    static const char *const axes[AXES] = {"contiguous", "rows", "single"};
    struct message message = {0};
    char name[40];
    size_t n = (size_t)edge;
    message.name = name;
    message.bytes = n * n * sizeof(double);
    message.extent = n * message.bytes;
    make_room(&message, message.extent, message.bytes);
    for (int i = -1; i < METHODS; i++) {
        for (int axis = 0; axis < AXES; axis++) {
            snprintf(name, sizeof name, "face_%d_%s", edge, axes[axis]);
            face(&message, edge, axis);
            if (i < 0)
                measure_copy(&message, seconds / 4);
            else
                measure(&message, order[i], seconds);
            MPI(MPI_Type_free(&message.datatype));
        }
    }
    free_room(&message);
}

/* Lengths and places of the list's pieces; the same in both ranks. */
static int pieces(int *lengths, int *places, word seed, size_t number)
{
    int pieces = 0, place = 0;
    srand((unsigned)seed);
    for (size_t left = number; left; left -= (size_t)lengths[pieces++]) {
        int length = 1 + rand() % MOST_LENGTH;
        lengths[pieces] = (size_t)length < left ? length : (int)left;
        places[pieces] = place;
        place += lengths[pieces] + 1 + rand() % MOST_LENGTH;
    }
    return pieces;
}

static void list(double seconds)
{
    enum { NUMBER = LIST_BYTES / sizeof(double) };
    static int lengths[NUMBER], places[NUMBER];
    static unsigned indices[NUMBER];
    struct message message = {
        .name = "list_1to8", .bytes = LIST_BYTES, .listed = NUMBER, .list = indices};
    int number = pieces(lengths, places, new_seed(), NUMBER);
    size_t at = 0;
    for (int piece = 0; piece < number; piece++)
        for (int i = 0; i < lengths[piece]; i++)
            indices[at++] = (unsigned)(places[piece] + i);
    message.extent = (indices[NUMBER - 1] + 1) * sizeof(double);
    make_room(&message, message.extent, message.bytes);
    message.device_list = device_memory(sizeof indices);
    CUDA(cudaMemcpy(message.device_list, indices, sizeof indices, cudaMemcpyHostToDevice));
    MPI(MPI_Type_indexed(number, lengths, places, MPI_DOUBLE, &message.datatype));
    MPI(MPI_Type_commit(&message.datatype));
    measure_copy(&message, seconds / 4);
    for (int i = 0; i < METHODS; i++)
        measure(&message, order[i], seconds);
    MPI(MPI_Type_free(&message.datatype));
    CUDA(cudaFree(message.device_list));
    free_room(&message);
}

int main(int count, char **words)
{
    start(&count, &words);
    if (count < 3) {
        fprintf(stderr, "usage: faces EDGE|list SECONDS_PER_ROW\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (!strcmp(words[1], "list"))
        list(strtod(words[2], NULL));
    else
        faces(atoi(words[1]), strtod(words[2], NULL));
    return end();
}
