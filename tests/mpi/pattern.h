/* Contents that can be checked: byte i of pattern `seed` is a hash of both, so that a shifted, mixed or stale byte shows. */
#ifndef TOWPATH_TESTS_PATTERN_H
#define TOWPATH_TESTS_PATTERN_H

#include "check.h"

static inline unsigned char pattern_byte(size_t i, unsigned seed)
{
    unsigned x = (unsigned)i * 2654435761u ^ seed * 40503u;
    return (unsigned char)(x ^ x >> 15 ^ x >> 24);
}

__attribute__((unused)) static void pattern_fill(void *buffer, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++)
        ((unsigned char *)buffer)[i] = pattern_byte(i, seed);
}

/* Index of the first byte that differs, or -1. */
__attribute__((unused)) static long pattern_differs(const void *buffer, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++)
        if (((const unsigned char *)buffer)[i] != pattern_byte(i, seed))
            return (long)i;
    return -1;
}

#define CHECK_PATTERN(buffer, bytes, seed)                                                                                    \
    do {                                                                                                                      \
        long differs_at = pattern_differs(buffer, bytes, seed);                                                               \
        CHECK(differs_at < 0, "byte %ld of %ld differs from pattern %u", differs_at, (long)(bytes), (unsigned)(seed));       \
    } while (0)

/* A small generator: the same sequence for the same state on every rank. */
__attribute__((unused)) static unsigned next_random(unsigned *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* A number below `below`, which is not 0. */
__attribute__((unused)) static unsigned draw_below(unsigned *state, unsigned below)
{
    unsigned mixed = next_random(state) * 2654435761u;
    return (mixed ^ mixed >> 16) % below;
}

#endif
