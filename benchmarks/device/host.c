/*
 * What messages of host memory cost in a process that has a GPU.
 *
 *     host cuda|none SECONDS_PER_ROW
 *
 * Half a round trip of 8 B, and nanoseconds of one MPI_Isend and one MPI_Irecv, for memory of each
 * kind: stack, data, heap (brk), mapped (a large malloc), library (MPI_Alloc_mem), and, with
 * "cuda", pinned. With "none" the program makes no call of CUDA.
 */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 5, BYTES = 8, CALLS = 64, BATCHES = 2001, LARGE = 64 * 1024 * 1024 };

static void send(void *self)
{
    MPI(MPI_Send(self, BYTES, MPI_BYTE, !rank, TAG, MPI_COMM_WORLD));
}

static void receive(void *self)
{
    MPI(MPI_Recv(self, BYTES, MPI_BYTE, !rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* Nanoseconds of the calls that start messages, the median of many rounds of CALLS of them. */
static void measure_calls(const char *kind, char *memory)
{
    static double values[BATCHES];
    static MPI_Request requests[CALLS];
    for (int batch = 0; batch < BATCHES; batch++) {
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        double started = seconds_now();
        for (int i = 0; i < CALLS; i++)
            if (rank == 0)
                MPI(MPI_Isend(memory, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[i]));
            else
                MPI(MPI_Irecv(memory, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &requests[i]));
        values[batch] = (seconds_now() - started) / CALLS * 1e9;
        MPI(MPI_Waitall(CALLS, requests, MPI_STATUSES_IGNORE));
    }
    double mine = median(values, BATCHES), peers = 0;
    MPI(MPI_Sendrecv(&mine, 1, MPI_DOUBLE, !rank, TAG, &peers, 1, MPI_DOUBLE, !rank, TAG,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    row(kind, BYTES, "isend", mine, "ns");
    row(kind, BYTES, "irecv", peers, "ns");
}

static void measure_kind(const char *kind, char *memory, double seconds)
{
    const struct exchange exchange = {send, receive, memory};
    word seed = new_seed(), sent = seed + (word)rank;
    memcpy(memory, &sent, sizeof sent);
    send(memory);
    memset(memory, 0x5a, BYTES);
    receive(memory);
    memcpy(&sent, memory, sizeof sent);
    if (!right(kind, BYTES, "ping_pong", sent != seed + (word)!rank))
        return;
    row(kind, BYTES, "ping_pong", half_round_trip(&exchange, seconds) * 1e3, "ns");
    measure_calls(kind, memory);
}

int main(int count, char **words)
{
    static char data[BYTES];
    char on_stack[BYTES], *heap = malloc(BYTES), *mapped = malloc(LARGE), *library;
    int with_cuda = count > 1 && !strcmp(words[1], "cuda");
    double seconds = count > 2 ? strtod(words[2], NULL) : 0.3;
    if (with_cuda) {
        start(&count, &words);
    } else {
        MPI(MPI_Init(&count, &words));
        MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    }
    MPI(MPI_Alloc_mem(BYTES, MPI_INFO_NULL, &library));
    measure_kind("stack", on_stack, seconds);
    measure_kind("data", data, seconds);
    measure_kind("heap", heap, seconds);
    measure_kind("mapped", mapped + LARGE / 2, seconds);
    measure_kind("library", library, seconds);
    if (with_cuda) {
        char *pinned = pinned_memory(LARGE);
        measure_kind("pinned", pinned, seconds);
        CUDA(cudaFreeHost(pinned));
    }
    MPI(MPI_Free_mem(library));
    free(heap);
    free(mapped);
    MPI(MPI_Finalize());
    return 0;
}
