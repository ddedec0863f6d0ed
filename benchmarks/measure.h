/*
 * What the benchmark programs share: where a rank runs and where its buffers lie.
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

enum { MOST_CORES = 1024, PAGE = 4096, HEADER = 16 };

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

/* A buffer that is written once, 16 bytes behind a page, where glibc puts large blocks. Every buffer lies
 * there, so that no figure depends on what a library has allocated before. */
static inline char *block(size_t bytes)
{
    size_t room = (bytes + HEADER + PAGE - 1) / PAGE * PAGE;
    char *memory = (char *)aligned_alloc(PAGE, room);
    if (!memory) {
        fprintf(stderr, "there is no memory for a buffer of %zu bytes\n", bytes);
        exit(1);
    }
    memset(memory, 0, room);
    return memory + HEADER;
}

/* Frees a buffer of `block`. */
static inline void release(char *memory)
{
    free(memory - HEADER);
}

#endif
