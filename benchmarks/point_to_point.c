/*
 * Latency, bandwidth, message rate and overlap of the ranks 0 and 1.
 *
 *     point_to_point MEASURE[-BUFFERS] LARGEST_BYTES
 *
 * MEASURE: latency (half of a round trip in microseconds), bandwidth (MB/s, 10^6, one way with a window of 64), rate (messages per
 * second), or overlap (1 MiB: Isend, compute for a millisecond, Wait; the percentage of the transfer that the computation hides).
 * BUFFERS: fresh (each message its own part of 64 MiB), unaligned (by one byte where sent, by three where received), const (sent from
 * pages that cannot be written), owned (from MPI_Alloc_mem), malloc (as without, measured with TOWPATH_MALLOC=1); from 16 KiB up.
 * Without it, one buffer of malloc for everything.
 *
 * Prints "name bytes value". Each figure is the best of several short batches, so that an interruption does not count.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { WINDOW = 64, BATCHES = 5, LARGE = 16384, OVERLAPPED = 1 << 20, FRESH = 64 << 20 };

static int rank;
/* Where messages leave and where they arrive; `area` bytes are walked through when buffers are fresh. */
static char *out, *in;
static size_t area, at;

static size_t next(int bytes)
{
    if (!area)
        return 0;
    at = at + 2 * (size_t)bytes <= area ? at + (size_t)bytes : 0;
    return at;
}

static double batch_latency(int bytes, int rounds)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double started = MPI_Wtime();
    for (int i = 0; i < rounds; i++) {
        size_t place = next(bytes);
        if (rank == 0) {
            MPI_Send(out + place, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(in + place, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            MPI_Recv(in + place, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(out + place, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        }
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
        for (int j = 0; j < WINDOW; j++) {
            size_t place = next(bytes);
            if (rank == 0)
                MPI_Isend(out + place, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &requests[j]);
            else
                MPI_Irecv(in + place, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[j]);
        }
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        if (rank == 0)
            MPI_Recv(in, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(out, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    }
    return (MPI_Wtime() - started) / rounds / WINDOW;
}

/* Seconds that rank 0 spends on one message while it computes for so long between start and wait: the least of all rounds, since a
 * millisecond is long enough to be interrupted. */
static double overlapped(int bytes, int rounds, double computing)
{
    double least = 1e9;
    for (int i = 0; i < rounds; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double started = MPI_Wtime();
        if (rank == 0) {
            MPI_Request request;
            MPI_Isend(out, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
            for (double begun = MPI_Wtime(); MPI_Wtime() - begun < computing;)
                ;
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else if (rank == 1)
            MPI_Recv(in, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        double seconds = MPI_Wtime() - started;
        least = seconds < least ? seconds : least;
    }
    return least;
}

static double batch_alone(int bytes, int rounds)
{
    return overlapped(bytes, rounds, 0);
}

static double batch_overlap(int bytes, int rounds)
{
    return overlapped(bytes, rounds, 1e-3);
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

/* Makes the buffers of a kind, written once. */
static void make_buffers(const char *kind, size_t largest)
{
    if (!strcmp(kind, "owned"))
        MPI_Alloc_mem((MPI_Aint)largest + 1, MPI_INFO_NULL, &out);
    else if (!strcmp(kind, "const"))
        out = mmap(NULL, largest + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    else if (!strcmp(kind, "fresh"))
        out = malloc(area = FRESH > 2 * largest ? FRESH : 2 * largest);
    else
        out = malloc(largest + 4);
    memset(out, 1, area ? area : largest + 1);
    in = out;
    if (!strcmp(kind, "unaligned")) {
        in = out + 3;
        out += 1;
    }
    if (!strcmp(kind, "const")) {
        mprotect(out, largest + 1, PROT_READ);
        in = malloc(largest + 1);
        memset(in, 1, largest + 1);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *name = argc > 1 ? argv[1] : "latency";
    const char *dash = strchr(name, '-'), *kind = dash ? dash + 1 : "";
    int largest = argc > 2 ? atoi(argv[2]) : 4 << 20;
    make_buffers(kind, (size_t)largest);
    static const int sizes[] = {0, 8, 64, 256, 1024, 4096, 16384, 65536, 262144, 1 << 20, 4 << 20};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes && sizes[i] <= largest; i++) {
        int bytes = sizes[i], overlap = !strncmp(name, "overlap", 7), latency = !strncmp(name, "latency", 7);
        if ((dash && bytes < LARGE) || (overlap && bytes != OVERLAPPED))
            continue;
        int rounds = bytes <= 4096 ? 5000 : bytes <= 65536 ? 1000 : bytes <= 1 << 20 ? 150 : 40;
        double value;
        if (overlap) {
            double alone = best_of(batch_alone, bytes, 50);
            value = (alone + 1e-3 - best_of(batch_overlap, bytes, 50)) / alone * 100;
            /* A ratio of percentages needs them above 0. */
            value = value < 1 ? 1 : value;
        } else if (latency)
            value = best_of(batch_latency, bytes, rounds) * 1e6;
        else {
            double seconds = best_of(batch_stream, bytes, rounds / 40 + 4);
            value = !strncmp(name, "rate", 4) ? 1 / seconds : bytes / seconds / 1e6;
        }
        if (rank == 0 && (bytes || strncmp(name, "bandwidth", 9)))
            printf("%s %d %.6g\n", name, bytes, value);
    }
    MPI_Finalize();
    return 0;
}
