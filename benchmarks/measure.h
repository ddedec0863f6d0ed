/*
 * What the benchmark programs share: where a rank runs, and how often a batch is repeated.
 */
#ifndef TOWPATH_BENCHMARKS_MEASURE_H
#define TOWPATH_BENCHMARKS_MEASURE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CORES = 1024 };

/* Puts the calling thread on a core of a list such as "pin=0,1": rank modulo the cores of the list.
 * Every library's ranks do this after MPI_Init, so that all libraries are placed the same way. */
static inline void pin(const char *list, int rank)
{
    int cores[MOST_CORES], number = 0;
    if (strncmp(list, "pin=", 4))
        return;
    for (const char *at = list + 4; *at && number < MOST_CORES; at += *at == ',') {
        char *end;
        cores[number++] = (int)strtol(at, &end, 10);
        if (end == at)
            break;
        at = end;
    }
    cpu_set_t set;
    CPU_ZERO(&set);
    if (number)
        CPU_SET((unsigned)cores[rank % number], &set);
    if (sched_setaffinity(0, sizeof set, &set)) {
        fprintf(stderr, "%s: rank %d cannot be put on its core\n", list, rank);
        exit(1);
    }
}

/* The last argument when it says where the ranks run, which is then no longer counted; "" without it. */
static inline const char *placement(int *argc, char **argv)
{
    return *argc > 1 && !strncmp(argv[*argc - 1], "pin=", 4) ? argv[--*argc] : "";
}

/* The size after this one: every power of two, and 0 before 1. */
static inline int next_size(int bytes)
{
    return bytes ? 2 * bytes : 1;
}

#endif
