/* What the environment says, and the random numbers by which the stub chooses an order. */
#define _GNU_SOURCE
#include "stub.h"

#include <stdlib.h>

unsigned long setting(const char *name, unsigned long otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoul(text, NULL, 0) : otherwise;
}

uint32_t random_below(uint32_t limit)
{
    static atomic_uint threads;
    static _Thread_local uint64_t sequence;
    if (!sequence)
        sequence = (setting("TOWPATH_STUB_SEED", 1) * 1000003 + ++threads) * 0x9e3779b97f4a7c15;
    /* xorshift64* (Vigna 2016); its state is never 0. */
    sequence = sequence ? sequence : 1;
    sequence ^= sequence >> 12;
    sequence ^= sequence << 25;
    sequence ^= sequence >> 27;
    return (uint32_t)((sequence * 0x2545f4914f6cdd1d) >> 32) % limit;
}
