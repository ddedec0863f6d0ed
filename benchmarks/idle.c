/*
 * A rank that has waited for a second: prints "idle-answer 8 microseconds", the median time until it has answered a message, and
 * "idle-load 0 percent", the part of a core that it uses while it waits.
 *
 * Argument: tries (5). The asking rank sleeps in the system meanwhile, so that all cores are free.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
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

int main(int argc, char **argv)
{
    int rank, tries = argc > 1 ? atoi(argv[1]) : 5;
    double value = 0, used = 0, *times = calloc((size_t)tries, sizeof *times);
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
            used += value;
        } else if (rank == 1) {
            double before = processor_seconds();
            MPI_Recv(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            value = processor_seconds() - before;
            MPI_Send(&value, 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD);
        }
    }
    if (rank == 0) {
        qsort(times, (size_t)tries, sizeof *times, ascending);
        printf("idle-answer 8 %.6g\n", times[tries / 2]);
        printf("idle-load 0 %.6g\n", used / tries * 100);
        fprintf(stderr, "answers of %d tries: %.1f us at least, %.1f at most\n", tries, times[0], times[tries - 1]);
    }
    MPI_Finalize();
    return 0;
}
