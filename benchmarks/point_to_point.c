/*
 * Latency, bandwidth and message rate of the ranks 0 and 1.
 *
 *     point_to_point latency|bandwidth|rate LARGEST_BYTES
 *
 * Prints "kind bytes value": half of a round trip in microseconds, MB/s (10^6) one way with a window of 64, or messages per second.
 * Each figure is the best of several short batches, so that an interruption does not count.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 64, BATCHES = 5 };

static int rank;
static char *buffer;

static double batch_latency(int bytes, int rounds)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double started = MPI_Wtime();
    for (int i = 0; i < rounds; i++)
        if (rank == 0) {
            MPI_Send(buffer, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(buffer, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            MPI_Recv(buffer, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(buffer, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        }
    return (MPI_Wtime() - started) / rounds / 2;
}

/* Seconds for one message in a stream of windows. */
static double batch_stream(int bytes, int rounds)
{
    MPI_Request requests[WINDOW];
    MPI_Barrier(MPI_COMM_WORLD);
    double started = MPI_Wtime();
    for (int i = 0; i < rounds && rank < 2; i++) {
        for (int j = 0; j < WINDOW; j++)
            if (rank == 0)
                MPI_Isend(buffer, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &requests[j]);
            else
                MPI_Irecv(buffer, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[j]);
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        if (rank == 0)
            MPI_Recv(buffer, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(buffer, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    }
    return (MPI_Wtime() - started) / rounds / WINDOW;
}

static double best_of(double (*batch)(int, int), int bytes, int rounds)
{
    double best = 1e9;
    batch(bytes, rounds / 5 + 1);
    for (int i = 0; i < BATCHES; i++) {
        double seconds = batch(bytes, rounds);
        if (seconds < best)
            best = seconds;
    }
    return best;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *kind = argc > 1 ? argv[1] : "latency";
    int largest = argc > 2 ? atoi(argv[2]) : 4 << 20;
    buffer = malloc((size_t)largest + 1);
    memset(buffer, 1, (size_t)largest + 1);
    static const int sizes[] = {0, 8, 64, 256, 1024, 4096, 16384, 65536, 262144, 1 << 20, 4 << 20};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes && sizes[i] <= largest; i++) {
        int bytes = sizes[i];
        int rounds = bytes <= 4096 ? 5000 : bytes <= 65536 ? 1000 : bytes <= 1 << 20 ? 150 : 40;
        double value;
        if (!strcmp(kind, "latency"))
            value = best_of(batch_latency, bytes, rounds) * 1e6;
        else {
            double seconds = best_of(batch_stream, bytes, rounds / 40 + 4);
            value = !strcmp(kind, "rate") ? 1 / seconds : bytes / seconds / 1e6;
        }
        if (rank == 0 && (bytes || strcmp(kind, "bandwidth")))
            printf("%s %d %.6g\n", kind, bytes, value);
    }
    free(buffer);
    MPI_Finalize();
    return 0;
}
