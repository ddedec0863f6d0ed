/*
 * A rank that has waited for a second: prints "idle-answer 8 microseconds", the median time until it has answered a message,
 * "idle-load 0 percent", the part of a core that it uses while it waits, and "idle-floor 0 microseconds", the same answer between two
 * bare processes on two cores that share a futex: what the machine needs to wake an idle core.
 *
 * Argument: tries (5). The asking rank sleeps in the system meanwhile, so that all cores are free.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double processor_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static int ascending(const void *first, const void *second)
{
    double a = *(const double *)first, b = *(const double *)second;
    return (a > b) - (a < b);
}

static double microseconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

/* Binds the process to the allowed core of this number, counted from the first. */
static void bind_to(int number)
{
    cpu_set_t allowed, one;
    memset(&allowed, 255, sizeof allowed);
    sched_setaffinity(0, sizeof allowed, &allowed);
    sched_getaffinity(0, sizeof allowed, &allowed);
    CPU_ZERO(&one);
    for (int core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &allowed) && number-- == 0)
            CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
}

/* The median answer of a child that sleeps on a futex for a second, on another core. */
static double floor_of_the_machine(int tries, double *times)
{
    atomic_int *asked = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), *answered = asked + 32;
    pid_t child = fork();
    bind_to(child == 0);
    if (child == 0) {
        for (int i = 0; i < tries; i++) {
            while (*asked == i)
                syscall(SYS_futex, asked, FUTEX_WAIT, i, NULL, NULL, 0);
            *answered = i + 1;
        }
        _exit(0);
    }
    for (int i = 0; i < tries; i++) {
        usleep(1000000);
        double begin = microseconds();
        *asked = i + 1;
        syscall(SYS_futex, asked, FUTEX_WAKE, 1, NULL, NULL, 0);
        while (*answered == i)
            ;
        times[i] = microseconds() - begin;
    }
    waitpid(child, NULL, 0);
    qsort(times, (size_t)tries, sizeof *times, ascending);
    return times[tries / 2];
}

int main(int argc, char **argv)
{
    int rank, tries = argc > 1 ? atoi(argv[1]) : 5;
    double value = 0, load = 0, used = 0, *times = calloc((size_t)tries, sizeof *times);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < tries; i++) {
        if (rank == 0) {
            usleep(1000000);
            double begin = MPI_Wtime();
            MPI_Send(&value, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(&value, 1, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            times[i] = (MPI_Wtime() - begin) * 1e6;
            /* The load of the wait before: asking the system for it must not delay the answer. */
            used += value;
        } else if (rank == 1) {
            double before = processor_seconds();
            MPI_Recv(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&load, 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD);
            load = processor_seconds() - before;
        }
    }
    if (rank == 0) {
        qsort(times, (size_t)tries, sizeof *times, ascending);
        printf("idle-answer 8 %.6g\n", times[tries / 2]);
        printf("idle-load 0 %.6g\n", used / (tries > 1 ? tries - 1 : 1) * 100);
        fprintf(stderr, "answers of %d tries: %.1f us at least, %.1f at most\n", tries, times[0], times[tries - 1]);
    }
    MPI_Finalize();
    if (rank == 0)
        printf("idle-floor 0 %.6g\n", floor_of_the_machine(tries, times));
    return 0;
}
