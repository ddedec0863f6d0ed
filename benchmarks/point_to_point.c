/*
 * Latency, bandwidth, message rate and overlap of the ranks 0 and 1.
 *
 *     point_to_point MEASURE[-KIND][@SEND/RECEIVE] FIRST LAST [pin=CORE,CORE]
 *
 * MEASURE: latency (half of a round trip in microseconds), bandwidth (a stream of windows of 64
 * messages, in MB/s of 10^6 bytes and, since it is the same measurement, as "rate" in messages per
 * second), exchange (both ranks write what they send, call MPI_Sendrecv and read what arrived, in
 * microseconds for all three), or overlap (1 MiB: Isend, compute for a millisecond, Wait; the
 * percentage of the transfer that the computation hides). Sizes: FIRST and every power of two
 * behind it up to LAST.
 *
 * A rank sends from one buffer and receives into another. Where they lie is the same for every
 * library and every run. Without SEND/RECEIVE they lie where glibc's malloc puts two blocks:
 * from 128 KiB up each begins 16 bytes behind a page; below, the first begins 672 bytes behind a
 * page (where the first block of a fresh heap begins) and the second follows with a header of 16
 * bytes between them. SEND/RECEIVE: both begin so many bytes behind a page.
 *
 * KIND: same (one buffer for both, at the offset SEND), fresh (each message has its own part of
 * 64 MiB), const (sent from pages that cannot be written), owned (from MPI_Alloc_mem, where that
 * puts them), malloc (as without, measured with TOWPATH_MALLOC=1).
 *
 * Prints "name bytes value", then the line ping-pong before and after (0 unless pinned). Each
 * figure is the best of several short batches, so that an interruption does not count.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdint.h>
#include <sys/mman.h>

#include "line.h"
#include "measure.h"

enum {
    WINDOW = 64,
    BATCHES = 5,
    OVERLAPPED = 1 << 20,
    FRESH = 64 << 20,
    /* glibc maps blocks from this size up; smaller ones lie in the heap, the first one behind the
     * heap's own table. */
    MAPPED = 128 << 10,
    FIRST_BLOCK = 672
};

/* A batch takes about so long. */
static const double BATCH_SECONDS = 2e-3;

static int rank;
static const char *kind = "";
static int send_offset = -1, receive_offset = -1;
/* Where messages leave and where they arrive; `area` bytes are walked through when they are fresh. */
static char *out, *in;
static size_t area, at;
/* What buffers of all sizes are cut from. */
static char *out_memory, *in_memory;

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

/* Seconds in which a rank writes a buffer, exchanges it and reads what arrived. A latency of
 * buffers that nobody writes lacks what it costs to write bytes that the other core has read. */
static double batch_exchange(int bytes, int rounds)
{
    static volatile uint64_t sum;
    int other = 1 - rank;
    MPI_Barrier(MPI_COMM_WORLD);
    double started = MPI_Wtime();
    for (int i = 0; i < rounds && rank < 2; i++) {
        size_t place = next(bytes);
        memset(out + place, i, (size_t)bytes);
        MPI_Sendrecv(out + place, bytes, MPI_BYTE, other, 1, in + place, bytes, MPI_BYTE, other, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        uint64_t read = 0, word;
        for (int j = 0; j + (int)sizeof word <= bytes; j += (int)sizeof word) {
            memcpy(&word, in + place + j, sizeof word);
            read += word;
        }
        sum = read;
    }
    return (MPI_Wtime() - started) / rounds;
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

/* Seconds that rank 0 spends on one message while it computes for so long between start and wait:
 * the least of all rounds, since a millisecond is long enough to be interrupted. */
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

/* The percentage of a transfer that a computation hides. A ratio needs it above 0. */
static double hidden(int bytes)
{
    double alone = 1e9, busy = 1e9;
    for (int i = 0; i < BATCHES; i++) {
        double seconds = overlapped(bytes, 20, 0);
        alone = seconds < alone ? seconds : alone;
        seconds = overlapped(bytes, 20, 1e-3);
        busy = seconds < busy ? seconds : busy;
    }
    double percentage = (alone + 1e-3 - busy) / alone * 100;
    return percentage < 1 ? 1 : percentage;
}

/* Seconds of one message: the best batch. One round of a batch sends so many messages. */
static double best_of(double (*batch)(int, int), int bytes, int messages)
{
    /* The first rounds make what a library makes when it is needed, the next say how many fill a
     * batch, the same on all ranks. */
    int first = bytes > MAPPED ? 1 : 4;
    batch(bytes, first);
    double best = batch(bytes, first);
    int rounds = (int)(BATCH_SECONDS / best / messages) + 1;
    MPI_Bcast(&rounds, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < BATCHES; i++) {
        double seconds = batch(bytes, rounds);
        best = i == 0 || seconds < best ? seconds : best;
    }
    return best;
}

static int is(const char *name)
{
    return !strcmp(kind, name);
}

static char *page_of(char *memory)
{
    return (char *)(((uintptr_t)memory + PAGE - 1) / PAGE * PAGE);
}

/* Memory for a buffer of so many bytes at any offset, written once. */
static char *memory_of(size_t bytes)
{
    /* Room for two small blocks behind each other, and always so large that malloc maps it. */
    size_t room = bytes + MAPPED + 3 * PAGE;
    char *memory;
    if (is("owned"))
        MPI_Alloc_mem((MPI_Aint)room, MPI_INFO_NULL, &memory);
    else
        memory = malloc(room);
    memset(memory, 1, room);
    return memory;
}

static void make_memory(size_t largest)
{
    if (is("fresh"))
        area = FRESH > 2 * largest ? FRESH : 2 * largest;
    size_t bytes = area ? area : largest;
    in_memory = memory_of(bytes);
    if (is("same"))
        out_memory = in_memory;
    else if (is("const")) {
        size_t room = bytes + 3 * PAGE;
        out_memory = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(out_memory, 1, room);
        mprotect(out_memory, room, PROT_READ);
    } else
        out_memory = memory_of(bytes);
}

/* Puts the buffers of a size where they belong. */
static void place(size_t bytes)
{
    char *sending = page_of(out_memory), *receiving = page_of(in_memory);
    if (send_offset >= 0) {
        out = sending + send_offset;
        in = receiving + (is("same") ? send_offset : receive_offset);
    } else if (is("owned")) {
        out = out_memory;
        in = in_memory;
    } else if (bytes >= MAPPED || area || is("const") || is("same")) {
        out = sending + HEADER;
        in = receiving + HEADER;
    } else {
        size_t block = bytes + 8 < 2 * HEADER ? 2 * HEADER : (bytes + 8 + HEADER - 1) / HEADER * HEADER;
        out = sending + FIRST_BLOCK;
        in = out + block;
    }
}

/* Takes a name apart: the kind behind a dash, the offsets behind an "@". */
static int understood(const char *name)
{
    static const char *const kinds[] = {"", "same", "fresh", "const", "owned", "malloc"};
    static char word[32];
    const char *dash = strchr(name, '-'), *offsets = strchr(name, '@');
    if (dash)
        snprintf(word, sizeof word, "%.*s", (int)(offsets ? offsets - dash - 1 : 31), dash + 1);
    kind = word;
    if (offsets && sscanf(offsets, "@%d/%d", &send_offset, &receive_offset) != 2)
        return 0;
    if (offsets && (send_offset < 0 || send_offset >= PAGE || receive_offset < 0 || receive_offset >= PAGE))
        return 0;
    static const char *const measures[] = {"latency", "bandwidth", "exchange", "overlap"};
    int known = 0;
    for (size_t i = 0; i < sizeof measures / sizeof *measures; i++)
        known |= !strncmp(name, measures[i], strlen(measures[i]));
    for (size_t i = 0; known && i < sizeof kinds / sizeof *kinds; i++)
        if (is(kinds[i]))
            return 1;
    return 0;
}

static void print(const char *name, const char *rest, int bytes, double value, double before, double after)
{
    if (rank == 0)
        printf("%s%s %d %.6g %.1f %.1f\n", name, rest, bytes, value, before, after);
}

static void measure(const char *name, int bytes)
{
    place((size_t)bytes);
    double before = line_now(rank);
    if (*name == 'o') {
        double value = hidden(bytes);
        print(name, "", bytes, value, before, line_now(rank));
    } else if (*name == 'l' || *name == 'e') {
        double seconds =
            *name == 'l' ? best_of(batch_latency, bytes, 2) : best_of(batch_exchange, bytes, 1);
        print(name, "", bytes, seconds * 1e6, before, line_now(rank));
    } else if (bytes) {
        double seconds = best_of(batch_stream, bytes, WINDOW), after = line_now(rank);
        print(name, "", bytes, bytes / seconds / 1e6, before, after);
        print("rate", name + strlen("bandwidth"), bytes, 1 / seconds, before, after);
    }
}

int main(int argc, char **argv)
{
    const char *cores = placement(&argc, argv);
    if (argc != 4 || !understood(argv[1])) {
        fprintf(stderr,
                "usage: point_to_point "
                "latency|bandwidth|exchange|overlap[-same|-fresh|-const|-owned|-malloc]"
                "[@SEND/RECEIVE] FIRST LAST [pin=CORE,CORE]; offsets are below %d\n",
                PAGE);
        return 2;
    }
    int first = atoi(argv[2]), last = atoi(argv[3]), size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    pin(cores, rank);
    open_line(cores, rank, size);
    make_memory((size_t)last);
    for (int bytes = first; bytes <= last; bytes = next_size(bytes))
        measure(argv[1], bytes);
    MPI_Finalize();
    return 0;
}
