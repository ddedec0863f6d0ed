/*
 * What is measured between two hosts, whatever carries the bytes: a ping-pong and a stream of messages. Both programs, bare.c over one
 * TCP connection and mpi.c over MPI, do exactly this.
 *
 * Each figure is the best of several batches, so that an interruption does not count; a batch takes about BATCH seconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WINDOW = 64, BATCHES = 5, LARGEST = 4 << 20 };

/* How bytes travel; `stream` moves WINDOW messages, and returns when the receiver has said that it has them. */
struct carrier {
    void (*send)(int bytes);
    void (*receive)(int bytes);
    void (*stream)(int bytes);
};

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Seconds of one message. */
static double batch(const struct carrier *by, int rank, int streaming, int bytes, int rounds)
{
    double started = seconds();
    for (int i = 0; i < rounds; i++) {
        if (streaming) {
            by->stream(bytes);
        } else if (rank == 0) {
            by->send(bytes);
            by->receive(bytes);
        } else {
            by->receive(bytes);
            by->send(bytes);
        }
    }
    return (seconds() - started) / rounds / (streaming ? WINDOW : 2);
}

/* One figure, "latency:BYTES" (microseconds one way), "bandwidth:BYTES" (MB/s, 10^6) or "rate:BYTES" (messages a second). Both ranks make
 * as many rounds, since each finds out by itself how many make a batch long enough, and the first one's word holds. */
static void measure(const struct carrier *by, int rank, const char *figure, double batch_seconds, int (*agreed)(int rounds))
{
    int streaming = strncmp(figure, "latency", 7) != 0, bytes = atoi(strchr(figure, ':') + 1);
    double best = batch(by, rank, streaming, bytes, streaming ? 1 : 20);
    double once = batch(by, rank, streaming, bytes, streaming ? 1 : 20) * (streaming ? WINDOW : 2);
    int rounds = agreed(1 + (int)(batch_seconds / once));
    for (int i = 0; i < BATCHES; i++) {
        double one = batch(by, rank, streaming, bytes, rounds);
        best = one < best ? one : best;
    }
    if (rank == 0)
        printf("%.*s %d %.6g\n", (int)strcspn(figure, ":"), figure, bytes,
               !streaming ? best * 1e6 : !strncmp(figure, "rate", 4) ? 1 / best : bytes / best / 1e6);
    fflush(stdout);
}
