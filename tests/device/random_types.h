/* Random datatypes, the same in every process that draws with the same seed. */
#ifndef RANDOM_TYPES_H
#define RANDOM_TYPES_H

#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct {
    uint64_t state;
} Random;

/* SplitMix64 (Steele, Lea, Flood 2014). */
static inline uint64_t draw(Random *random)
{
    uint64_t z = random->state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* A number from `low` to `high`. */
static inline int between(Random *random, int low, int high)
{
    return low + (int)(draw(random) % (uint64_t)(high - low + 1));
}

static inline MPI_Datatype basic_type(Random *random)
{
    MPI_Datatype types[] = {MPI_BYTE, MPI_SHORT, MPI_INT, MPI_FLOAT, MPI_DOUBLE, MPI_C_DOUBLE_COMPLEX};
    return types[between(random, 0, 5)];
}

/* Blocks of random lengths with random gaps, or of one length. */
static inline MPI_Datatype list_type(Random *random, MPI_Datatype child, int entries)
{
    MPI_Datatype type;
    int *lengths = malloc(entries * sizeof *lengths), *places = malloc(entries * sizeof *places);
    int at = 0, equal = between(random, 0, 1), length = between(random, 1, 4);
    for (int i = 0; i < entries; i++) {
        lengths[i] = equal ? length : between(random, 0, 5);
        places[i] = at + between(random, 0, 3);
        at = places[i] + lengths[i];
    }
    if (equal)
        MPI_Type_create_indexed_block(entries, length, places, child, &type);
    else
        MPI_Type_indexed(entries, lengths, places, child, &type);
    free(lengths);
    free(places);
    return type;
}

static inline MPI_Datatype face_type(Random *random, MPI_Datatype child)
{
    MPI_Datatype type;
    int sizes[3], parts[3], starts[3];
    for (int i = 0; i < 3; i++) {
        sizes[i] = between(random, 2, 24);
        parts[i] = between(random, 1, sizes[i]);
        starts[i] = between(random, 0, sizes[i] - parts[i]);
    }
    MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, child, &type);
    return type;
}

/* A committed datatype of at most some hundred thousand bytes, displacements not negative. */
static inline MPI_Datatype random_type(Random *random)
{
    MPI_Datatype child = basic_type(random), type, other;
    int size;
    MPI_Type_size(child, &size);
    switch (between(random, 0, 6)) {
    case 0:
        MPI_Type_contiguous(between(random, 1, 5000), child, &type);
        break;
    case 1: {
        int block = between(random, 1, 9);
        MPI_Type_vector(between(random, 1, 2000), block, block + between(random, 0, 8), child, &type);
        break;
    }
    case 2:
        MPI_Type_create_hvector(between(random, 1, 500), between(random, 1, 3),
                                3 * size + between(random, 0, 33), child, &type);
        break;
    case 3:
        type = list_type(random, child, between(random, 1, 700));
        break;
    case 4:
        type = face_type(random, child);
        break;
    case 5: {
        other = list_type(random, child, between(random, 1, 20));
        MPI_Type_vector(between(random, 1, 30), 1, between(random, 1, 3), other, &type);
        MPI_Type_free(&other);
        break;
    }
    default: {
        MPI_Datatype parts[2] = {list_type(random, child, 5), face_type(random, child)};
        MPI_Aint lower, extent, places[2] = {0, 0};
        int lengths[2] = {between(random, 1, 3), 1};
        MPI_Type_get_true_extent(parts[0], &lower, &extent);
        places[1] = (lower + extent) * lengths[0] * 2 + between(random, 0, 40);
        MPI_Type_create_struct(2, lengths, places, parts, &type);
        MPI_Type_free(&parts[0]);
        MPI_Type_free(&parts[1]);
    }
    }
    MPI_Type_commit(&type);
    return type;
}

#endif
