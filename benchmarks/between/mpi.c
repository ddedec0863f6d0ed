/*
 * Messages between ranks 0 and 1 on two hosts, and a broadcast to all:
 *
 *     mpi SECONDS FIGURE...
 *
 * FIGURE: those of measure.h; "broadcast:BYTES" and "unicasts:BYTES" (microseconds until rank 0 knows that all have the bytes, by
 * MPI_Bcast or by a message to each); "barrier:0" and "allreduce:BYTES" (microseconds); "whole:SECONDS" (MB/s of a stream of messages of 1 MiB that takes so long, each of whose words is
 * checked: one that is wrong or out of its place ends the program).
 */
#include <mpi.h>
#include <stdint.h>

#include "measure.h"

static int rank, size;
static char *buffer;

static void send_one(int bytes)
{
    MPI_Send(buffer, bytes, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD);
}

static void receive_one(int bytes)
{
    MPI_Recv(buffer, bytes, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void stream(int bytes)
{
    MPI_Request requests[WINDOW];
    for (int i = 0; i < WINDOW; i++) {
        if (rank == 0)
            MPI_Isend(buffer, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Irecv(buffer, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
    if (rank == 0)
        MPI_Recv(buffer, 1, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(buffer, 1, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
}

/* Between ranks 0 and 1: the others take no part in what is measured between two. */
static int agreed(int rounds)
{
    if (rank == 0)
        MPI_Send(&rounds, 1, MPI_INT, 1, 6, MPI_COMM_WORLD);
    else
        MPI_Recv(&rounds, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return rounds;
}

/* All others tell rank 0 that they have it. */
static void gather_words(void)
{
    for (int i = 1; i < size && rank == 0; i++)
        MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank)
        MPI_Send(NULL, 0, MPI_BYTE, 0, 3, MPI_COMM_WORLD);
}

static void to_all(char kind, int bytes)
{
    MPI_Request requests[WINDOW];
    switch (kind) {
    case 'a':
        MPI_Allreduce(buffer, buffer + LARGEST / 2, bytes / (int)sizeof(double), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        return;
    case 'b':
        MPI_Barrier(MPI_COMM_WORLD);
        return;
    case 'c':
        MPI_Bcast(buffer, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
        break;
    default:
        for (int i = 1; i < size && rank == 0; i++)
            MPI_Isend(buffer, bytes, MPI_BYTE, i, 4, MPI_COMM_WORLD, &requests[i - 1]);
        if (rank == 0)
            MPI_Waitall(size - 1, requests, MPI_STATUSES_IGNORE);
        else
            MPI_Recv(buffer, bytes, MPI_BYTE, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    gather_words();
}

/* What `to_all` does for a figure of several ranks; 0 for other figures. */
static char kind_of(const char *figure)
{
    static const char *const names[] = {"allreduce:", "barrier:", "broadcast:", "unicasts:"};
    for (int i = 0; i < 4; i++)
        if (!strncmp(figure, names[i], strlen(names[i])))
            return "abcu"[i];
    return 0;
}

static void measure_to_all(const char *figure, double batch_seconds)
{
    int bytes = atoi(strchr(figure, ':') + 1), rounds = 5;
    double best = 1e9;
    for (int i = 0; i <= BATCHES; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double started = seconds();
        for (int j = 0; j < rounds; j++)
            to_all(kind_of(figure), bytes);
        double one = (seconds() - started) / rounds;
        if (i == 0) {
            rounds = 1 + (int)(batch_seconds / one);
            MPI_Bcast(&rounds, 1, MPI_INT, 0, MPI_COMM_WORLD);
        }
        best = one < best ? one : best;
    }
    if (rank == 0)
        printf("%.*s %d %.6g\n", (int)strcspn(figure, ":"), figure, bytes, best * 1e6);
}

/* Messages whose words are their numbers, some of them under way at a time; an empty message ends it. */
static void measure_whole(double duration)
{
    enum { WORDS = (1 << 20) / 8, AT_ONCE = 4 };
    uint64_t *words = (uint64_t *)buffer, number = 0;
    MPI_Request requests[AT_ONCE];
    double started = seconds();
    for (int last = 0; !last; number++) {
        uint64_t *place = words + (number % AT_ONCE) * WORDS;
        if (rank == 0) {
            if (number >= AT_ONCE)
                MPI_Wait(&requests[number % AT_ONCE], MPI_STATUS_IGNORE);
            last = seconds() - started > duration;
            for (uint64_t i = 0; i < WORDS; i++)
                place[i] = number * WORDS + i;
            MPI_Isend(place, last ? 0 : WORDS, MPI_UINT64_T, 1, 5, MPI_COMM_WORLD, &requests[number % AT_ONCE]);
        } else {
            MPI_Status status;
            int count;
            MPI_Recv(place, WORDS, MPI_UINT64_T, 0, 5, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_UINT64_T, &count);
            last = count == 0;
            for (uint64_t i = 0; i < (uint64_t)count; i++)
                if (place[i] != number * WORDS + i) {
                    fprintf(stderr, "word %llu of message %llu is wrong\n", (unsigned long long)i, (unsigned long long)number);
                    MPI_Abort(MPI_COMM_WORLD, 3);
                }
        }
    }
    if (rank == 0)
        MPI_Waitall(number < AT_ONCE ? (int)number : AT_ONCE, requests, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("whole 1048576 %.6g\n", (double)(number - 1) * 1.048576 / (seconds() - started));
}

int main(int argc, char **argv)
{
    static const struct carrier by = {send_one, receive_one, stream};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double batch_seconds = argc > 1 ? atof(argv[1]) : 0.03;
    buffer = malloc(LARGEST);
    memset(buffer, 1, LARGEST);
    for (int i = 2; i < argc; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (kind_of(argv[i]))
            measure_to_all(argv[i], batch_seconds);
        else if (!strncmp(argv[i], "whole", 5))
            measure_whole(atof(strchr(argv[i], ':') + 1));
        else if (rank < 2)
            measure(&by, rank, argv[i], batch_seconds, agreed);
    }
    MPI_Finalize();
    return 0;
}
