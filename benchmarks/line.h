/*
 * The line ping-pong between two pinned ranks, before and after a figure: the machine may change its speed
 * while a program runs, and a figure shall say which speed it was measured at.
 */
#ifndef TOWPATH_BENCHMARKS_LINE_H
#define TOWPATH_BENCHMARKS_LINE_H

#include <fcntl.h>
#include <mpi.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"

enum { LINE_ROUNDS = 200 };

static volatile int *line_word;

/* Two ranks on cores of their own share a page from here on; without that there is no ping-pong. */
static inline void open_line(const char *cores, int rank, int size)
{
    char name[64] = "";
    int fd;
    if (size != 2 || !strchr(cores, ','))
        return;
    snprintf(name, sizeof name, "/dev/shm/towpath-line-%d", (int)getpid());
    MPI_Bcast(name, sizeof name, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
        if (fd < 0 || ftruncate(fd, PAGE))
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        fd = open(name, O_RDWR);
    line_word = (volatile int *)mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if ((void *)line_word == MAP_FAILED)
        MPI_Abort(MPI_COMM_WORLD, 1);
    close(fd);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        unlink(name);
}

/* Seconds of so many round trips. */
static inline double line_batch(int rank, int rounds)
{
    static int last;
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < rounds; i++, last += 2) {
        if (rank == 0)
            *line_word = last + 1;
        while (*line_word != last + (rank ? 1 : 2))
            __builtin_ia32_pause();
        if (rank)
            *line_word = last + 2;
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    return (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) * 1e-9;
}

/* Half of a round trip of the moment in nanoseconds; 0 where there is no ping-pong. */
static inline double line_now(int rank)
{
    if (!line_word)
        return 0;
    MPI_Barrier(MPI_COMM_WORLD);
    /* One rank may leave the barrier long before the other. */
    line_batch(rank, LINE_ROUNDS / 10);
    return line_batch(rank, LINE_ROUNDS) / LINE_ROUNDS / 2 * 1e9;
}

#endif
