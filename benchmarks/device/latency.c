/*
 * Contiguous device memory between two processes on one GPU.
 *
 *     latency SECONDS_PER_ROW
 *
 * 8 B to 64 MB of MPI_BYTE: half a round trip with device pointers ("device"), by copies to pinned
 * memory and back ("staged"), and of a copy out of the peer's memory through CUDA IPC with its
 * synchronization ("bare_copy", one way, rank 1 alone).
 */
#include "methods.h"

#include <stdio.h>
#include <stdlib.h>

enum { KB = 1024, MB = 1024 * 1024, LAST = 64 * MB, TAG = 2 };

struct contiguous {
    char *out, *in, *host;
    size_t bytes;
};

static void send_device(void *self)
{
    struct contiguous *c = self;
    MPI(MPI_Send(c->out, (int)c->bytes, MPI_BYTE, !rank, TAG, MPI_COMM_WORLD));
}

static void receive_device(void *self)
{
    struct contiguous *c = self;
    MPI(MPI_Recv(c->in, (int)c->bytes, MPI_BYTE, !rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void send_staged(void *self)
{
    struct contiguous *c = self;
    CUDA(cudaMemcpyAsync(c->host, c->out, c->bytes, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaStreamSynchronize(stream));
    MPI(MPI_Send(c->host, (int)c->bytes, MPI_BYTE, !rank, TAG, MPI_COMM_WORLD));
}

static void receive_staged(void *self)
{
    struct contiguous *c = self;
    MPI(MPI_Recv(c->host, (int)c->bytes, MPI_BYTE, !rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CUDA(cudaMemcpyAsync(c->in, c->host, c->bytes, cudaMemcpyHostToDevice, stream));
    CUDA(cudaStreamSynchronize(stream));
}

static struct blocks whole(size_t bytes)
{
    return (struct blocks){0, bytes, bytes, 1};
}

static int correct(struct contiguous *c, const char *method, const struct exchange *exchange)
{
    word seed = new_seed();
    /* Sixteen more bytes are poison: nothing is written behind the message. */
    size_t extent = c->bytes + 16;
    CUDA(launch_fill(c->out, extent, whole(c->bytes), seed + (word)rank, stream));
    CUDA(launch_fill(c->in, extent, (struct blocks){0, 4, 4, 0}, 0, stream));
    CUDA(cudaStreamSynchronize(stream));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    round_trip(exchange);
    CUDA(launch_check(c->in, extent, whole(c->bytes), seed + (word)!rank, counter(), stream));
    return right("contiguous", c->bytes, method, counted());
}

static void measure_method(struct contiguous *c, const char *method, struct exchange exchange,
                           double seconds)
{
    exchange.self = c;
    if (!correct(c, method, &exchange))
        return;
    double microseconds = half_round_trip(&exchange, seconds);
    if (correct(c, method, &exchange))
        row("contiguous", c->bytes, method, microseconds, "us");
}

/* Copies between two processes as a ping-pong needs them, so that as much memory is in the caches:
 * from the other process's memory to this one's, and from this one's to the other's, in turns. */
struct bare {
    char *to[2], *from[2];
    size_t bytes;
    int turn;
};

static void copy_bare(void *self)
{
    struct bare *bare = self;
    CUDA(cudaMemcpyAsync(bare->to[bare->turn], bare->from[bare->turn], bare->bytes,
                         cudaMemcpyDeviceToDevice, stream));
    CUDA(cudaStreamSynchronize(stream));
    bare->turn = !bare->turn;
}

static void measure_bare(struct bare *bare, char *own_out, double seconds)
{
    word seed = new_seed(), wrong = 0;
    double microseconds = 0;
    CUDA(launch_fill(own_out, bare->bytes, whole(bare->bytes), seed + (word)rank, stream));
    CUDA(cudaStreamSynchronize(stream));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 1) {
        microseconds = time_alone(copy_bare, bare, seconds);
        CUDA(launch_check(bare->to[0], bare->bytes, whole(bare->bytes), seed, counter(), stream));
        wrong = counted();
    }
    MPI(MPI_Bcast(&microseconds, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD));
    if (right("contiguous", bare->bytes, "bare_copy", wrong))
        row("contiguous", bare->bytes, "bare_copy", microseconds, "us");
}

/* The other process's memory at the handle, or NULL. */
static char *open_handle(cudaIpcMemHandle_t handle)
{
    void *memory = NULL;
    cudaError_t result = cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess);
    if (result != cudaSuccess) {
        fprintf(stderr, "CUDA IPC is refused: %s\n", cudaGetErrorString(result));
        cudaGetLastError();
        return NULL;
    }
    return memory;
}

/* Rank 1 makes the copies. */
static void bare_copies(const size_t *sizes, int number, double seconds)
{
    cudaIpcMemHandle_t handles[2];
    char *out = device_memory(LAST), *in = device_memory(LAST);
    struct bare bare = {{in, NULL}, {NULL, out}, 0, 0};
    int opened = 1;
    if (rank == 0) {
        CUDA(cudaIpcGetMemHandle(&handles[0], out));
        CUDA(cudaIpcGetMemHandle(&handles[1], in));
    }
    MPI(MPI_Bcast(handles, sizeof handles, MPI_BYTE, 0, MPI_COMM_WORLD));
    if (rank == 1) {
        bare.from[0] = open_handle(handles[0]);
        bare.to[1] = open_handle(handles[1]);
        opened = bare.from[0] && bare.to[1];
    }
    MPI(MPI_Bcast(&opened, 1, MPI_INT, 1, MPI_COMM_WORLD));
    for (int i = 0; opened && i < number; i++) {
        bare.bytes = sizes[i];
        bare.turn = 0;
        measure_bare(&bare, out, seconds);
    }
    if (rank == 1 && opened) {
        CUDA(cudaIpcCloseMemHandle(bare.from[0]));
        CUDA(cudaIpcCloseMemHandle(bare.to[1]));
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    CUDA(cudaFree(out));
    CUDA(cudaFree(in));
}

int main(int count, char **words)
{
    static const size_t sizes[] = {8,        64,       512,    4 * KB, 16 * KB, 64 * KB, 128 * KB,
                                   256 * KB, 512 * KB, 1 * MB, 2 * MB, 4 * MB,  16 * MB, 64 * MB};
    static const int number = sizeof sizes / sizeof *sizes;
    static const struct exchange device = {send_device, receive_device, NULL};
    static const struct exchange staged = {send_staged, receive_staged, NULL};
    start(&count, &words);
    double seconds = count > 1 ? strtod(words[1], NULL) : 0.3;
    bare_copies(sizes, number, seconds / 3);
    struct contiguous memory = {device_memory(LAST + 16), device_memory(LAST + 16),
                                pinned_memory(LAST), 0};
    for (int i = 0; i < 2 * number; i++) {
        memory.bytes = sizes[i % number];
        if (i < number)
            measure_method(&memory, "staged", staged, seconds / 2);
        else
            measure_method(&memory, "device", device, seconds);
    }
    CUDA(cudaFree(memory.out));
    CUDA(cudaFree(memory.in));
    CUDA(cudaFreeHost(memory.host));
    return end();
}
