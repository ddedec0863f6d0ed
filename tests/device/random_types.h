/*
 * Random datatypes, the same in every process that draws with the same seed, and the rounds of the
 * programs that use them. These are called with the words ROUNDS SEED.
 */
#ifndef RANDOM_TYPES_H
#define RANDOM_TYPES_H

#include "memory.h"

/* The state of `next_random` for a seed. It is never 0, with which that would stay. */
static inline unsigned random_from(unsigned seed)
{
    unsigned state = (seed + 1) * 2654435761u;
    return state ? state : 1;
}

/* A number from `low` to `high`. */
static inline int between(unsigned *random, int low, int high)
{
    return low + (int)draw_below(random, (unsigned)(high - low + 1));
}

static inline MPI_Datatype basic_type(unsigned *random)
{
    MPI_Datatype types[] = {MPI_BYTE,  MPI_SHORT,  MPI_INT,
                            MPI_FLOAT, MPI_DOUBLE, MPI_C_DOUBLE_COMPLEX};
    return types[between(random, 0, 5)];
}

/* Blocks of random lengths with random gaps, or of one length. */
static inline MPI_Datatype list_type(unsigned *random, MPI_Datatype child, int entries)
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

static inline MPI_Datatype face_type(unsigned *random, MPI_Datatype child)
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
static inline MPI_Datatype random_type(unsigned *random)
{
    MPI_Datatype child = basic_type(random), type, other;
    int size;
    MPI_Type_size(child, &size);
    switch (between(random, 0, 6)) {
    case 0:
        MPI_Type_contiguous(between(random, 1, 5000), child, &type);
        break;
    case 1: {
        int block = between(random, 1, 9), stride = block + between(random, 0, 8);
        MPI_Type_vector(between(random, 1, 2000), block, stride, child, &type);
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

/* The bytes that `count` elements reach over, and some behind them. */
static inline size_t reach(MPI_Datatype type, int count)
{
    MPI_Aint lower, extent, true_lower, true_extent;
    MPI_Type_get_extent(type, &lower, &extent);
    MPI_Type_get_true_extent(type, &true_lower, &true_extent);
    return (size_t)(true_lower + true_extent + extent * (count - 1)) + 16;
}

static inline int rounds_of(int count, char **words) { return count > 1 ? atoi(words[1]) : 100; }

static inline unsigned seed_of(int count, char **words)
{
    return count > 2 ? (unsigned)strtoul(words[2], NULL, 10) : 1;
}

/* All of a test that consists of such rounds; a round says whether something was wrong in it. */
static inline int run_rounds(int count, char **words, bool (*is_wrong)(unsigned *random, int round))
{
    start(&count, &words);
    start_device(check_rank);
    unsigned random = random_from(seed_of(count, words));
    for (int round = 0; round < rounds_of(count, words); round++)
        REQUIRE(!is_wrong(&random, round), "round %d", round);
    return finish();
}

#endif
