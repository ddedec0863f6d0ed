/*
 * MPI_Allreduce of floats in device memory, two processes on one GPU.
 *
 *     allreduce SECONDS_PER_ROW
 *
 * 1, 4, 16 and 64 MB: "allreduce", and two concurrent kernels, one of each process, which each sum
 * one half of both ranks' data into both ranks' results through CUDA IPC ("two_kernels"). The time
 * is from one barrier to the next, the slower rank's, the median of many.
 */
#include "device.h"
#include "kernels.h"

#include <stdio.h>
#include <stdlib.h>

enum { MB = 1024 * 1024, LAST = 64 * MB, MOST = 400 };

struct reduction {
    float *out, *in, *peer_out, *peer_in;
    size_t number;
};

static void allreduce(struct reduction *r)
{
    MPI(MPI_Allreduce(r->out, r->in, (int)r->number, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
}

/* Rank 0 takes the first half. The barrier says that the other's half is there too. */
static void two_kernels(struct reduction *r)
{
    size_t half = r->number / 2, from = rank == 0 ? 0 : half;
    CUDA(launch_sum_into_both(r->out + from, r->peer_out + from, r->in + from, r->peer_in + from,
                              half, stream));
    CUDA(cudaStreamSynchronize(stream));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

static double slowest(double mine)
{
    double all;
    MPI(MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    return all;
}

static double once(void (*call)(struct reduction *), struct reduction *r)
{
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    double started = seconds_now();
    call(r);
    return slowest(seconds_now() - started);
}

static int correct(const char *method, void (*call)(struct reduction *), struct reduction *r)
{
    word seed = new_seed(), left = seed, other = seed + 1;
    size_t bytes = r->number * sizeof(float);
    CUDA(launch_fill_floats(r->out, r->number, rank == 0 ? left : other, stream));
    CUDA(launch_fill(r->in, bytes, (struct blocks){0, 4, 4, 0}, 0, stream));
    CUDA(cudaStreamSynchronize(stream));
    once(call, r);
    CUDA(launch_check_sums(r->in, r->number, left, other, counter(), stream));
    return right("allreduce", bytes, method, counted());
}

static void measure(const char *method, void (*call)(struct reduction *), struct reduction *r,
                    double seconds)
{
    static double values[MOST];
    if (!correct(method, call, r))
        return;
    double each = once(call, r);
    int calls = (int)(seconds / each);
    calls = calls < 3 ? 3 : calls > MOST ? MOST : calls;
    for (int i = 0; i < calls; i++)
        values[i] = once(call, r);
    if (correct(method, call, r))
        row("allreduce", r->number * sizeof(float), method, median(values, calls) * 1e6, "us");
}

/* The peer's memory behind this pointer of its; null if the driver refuses. */
static float *open_peer(float *mine)
{
    cudaIpcMemHandle_t handle, of_peer;
    void *peer = NULL;
    CUDA(cudaIpcGetMemHandle(&handle, mine));
    MPI(MPI_Sendrecv(&handle, sizeof handle, MPI_BYTE, !rank, 4, &of_peer, sizeof of_peer, MPI_BYTE,
                     !rank, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    cudaError_t result = cudaIpcOpenMemHandle(&peer, of_peer, cudaIpcMemLazyEnablePeerAccess);
    if (result != cudaSuccess) {
        fprintf(stderr, "rank %d: CUDA IPC is refused: %s\n", rank, cudaGetErrorString(result));
        cudaGetLastError();
        peer = NULL;
    }
    return peer;
}

static struct reduction memory(void)
{
    return (struct reduction){.out = device_memory(LAST), .in = device_memory(LAST)};
}

static void free_memory(struct reduction *r)
{
    CUDA(cudaDeviceSynchronize());
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (r->peer_out)
        CUDA(cudaIpcCloseMemHandle(r->peer_out));
    if (r->peer_in)
        CUDA(cudaIpcCloseMemHandle(r->peer_in));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    CUDA(cudaFree(r->out));
    CUDA(cudaFree(r->in));
}

int main(int count, char **words)
{
    start(&count, &words);
    double seconds = count > 1 ? strtod(words[1], NULL) : 1;
    struct reduction by_hand = memory();
    by_hand.peer_out = open_peer(by_hand.out);
    by_hand.peer_in = open_peer(by_hand.in);
    int mine = by_hand.peer_out && by_hand.peer_in, both;
    MPI(MPI_Allreduce(&mine, &both, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    for (size_t bytes = 1 * MB; both && bytes <= LAST; bytes *= 4) {
        by_hand.number = bytes / sizeof(float);
        measure("two_kernels", two_kernels, &by_hand, seconds);
    }
    free_memory(&by_hand);
    struct reduction by_library = memory();
    for (size_t bytes = 1 * MB; bytes <= LAST; bytes *= 4) {
        by_library.number = bytes / sizeof(float);
        measure("allreduce", allreduce, &by_library, seconds);
    }
    free_memory(&by_library);
    return end();
}
