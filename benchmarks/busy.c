/*
 * Collectives while a foreign process keeps a core busy: prints "busy-barrier 0 microseconds" and "busy-allreduce 8 microseconds", the
 * medians over calls and ranks, "busy-barrier-worst" and "busy-allreduce-worst", the longest call of any rank, and "busy-floor": the median
 * of a barrier of as many bare processes over a counter and a futex in the same company.
 *
 * Argument: seconds for each kind (1).
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <mpi.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LEAST = 50, MOST = 4000 };

static double microseconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int ascending(const void *first, const void *second)
{
    double a = *(const double *)first, b = *(const double *)second;
    return (a > b) - (a < b);
}

static void call(int is_barrier)
{
    double one = 1, sum;
    if (is_barrier)
        MPI_Barrier(MPI_COMM_WORLD);
    else
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void measure(int is_barrier, double budget, int rank, int size)
{
    int count = LEAST;
    double begin = MPI_Wtime();
    for (int i = 0; i < LEAST; i++)
        call(is_barrier);
    double each = (MPI_Wtime() - begin) / LEAST;
    count = budget / each > MOST ? MOST : budget / each < LEAST ? LEAST : (int)(budget / each);
    MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
    double *times = malloc(sizeof *times * (size_t)count), *all = rank == 0 ? malloc(sizeof *all * (size_t)count * (size_t)size) : NULL;
    for (int i = 0; i < count; i++) {
        double started = microseconds();
        call(is_barrier);
        times[i] = microseconds() - started;
    }
    MPI_Gather(times, count, MPI_DOUBLE, all, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        qsort(all, (size_t)count * (size_t)size, sizeof *all, ascending);
        const char *name = is_barrier ? "busy-barrier" : "busy-allreduce";
        printf("%s %d %.6g\n", name, is_barrier ? 0 : 8, all[count * size / 2]);
        printf("%s-worst %d %.6g\n", name, is_barrier ? 0 : 8, all[count * size - 1]);
        free(all);
    }
    free(times);
}

struct shared {
    atomic_int arrived, round;
};

static void bare_barrier(struct shared *shared, int size)
{
    int round = shared->round;
    if (atomic_fetch_add(&shared->arrived, 1) == size - 1) {
        shared->arrived = 0;
        shared->round = round + 1;
        syscall(SYS_futex, &shared->round, FUTEX_WAKE, size, NULL, NULL, 0);
        return;
    }
    while (shared->round == round)
        syscall(SYS_futex, &shared->round, FUTEX_WAIT, round, NULL, NULL, 0);
}

static double floor_of_the_machine(int size)
{
    struct shared *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    double *times = calloc(MOST, sizeof *times);
    int own = 0;
    for (int i = 1; i < size && own == 0; i++)
        own = fork() == 0 ? i : 0;
    for (int i = 0; i < MOST; i++) {
        double started = microseconds();
        bare_barrier(shared, size);
        times[i] = microseconds() - started;
    }
    if (own > 0)
        _exit(0);
    for (int i = 1; i < size; i++)
        wait(NULL);
    qsort(times, MOST, sizeof *times, ascending);
    return times[MOST / 2];
}

int main(int argc, char **argv)
{
    int rank, size, order[2];
    /* The stranger must be there before MPI is, or it would be a child with MPI's memory. It sleeps until it is told to be busy. */
    if (pipe(order))
        return 1;
    pid_t stranger = fork();
    if (stranger == 0) {
        char go;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(order[1]);
        if (read(order[0], &go, 1) != 1)
            _exit(0);
        for (volatile unsigned long turns = 0;; turns += 1)
            ;
    }
    close(order[0]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0 && write(order[1], "", 1) != 1)
        return 1;
    close(order[1]);
    if (rank > 0)
        waitpid(stranger, NULL, 0);
    double budget = argc > 1 ? atof(argv[1]) : 1;
    MPI_Barrier(MPI_COMM_WORLD);
    measure(1, budget, rank, size);
    measure(0, budget, rank, size);
    MPI_Finalize();
    if (rank == 0) {
        printf("busy-floor 0 %.6g\n", floor_of_the_machine(size));
        kill(stranger, SIGKILL);
        waitpid(stranger, NULL, 0);
    }
    return 0;
}
