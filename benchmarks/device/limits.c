/*
 * What no path of a message between two processes of one GPU can avoid.
 *
 *     limits SECONDS_PER_ROW
 *
 * Prints the launch of an empty kernel with its synchronization ("launch"), half a round trip of 8
 * host bytes alone ("handover") and with such a kernel before each send ("kernel_handover"), and
 * what the last exceeds the sum of the others by: the GPU's switch between contexts ("switch").
 */
#include "device.h"
#include "kernels.h"

#include <stdlib.h>

enum { TAG = 3 };

static void kernel(void *self)
{
    (void)self;
    CUDA(launch_nothing(stream));
    CUDA(cudaStreamSynchronize(stream));
}

static void send(void *self)
{
    MPI(MPI_Send(self, 8, MPI_BYTE, !rank, TAG, MPI_COMM_WORLD));
}

static void receive(void *self)
{
    MPI(MPI_Recv(self, 8, MPI_BYTE, !rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void kernel_and_send(void *self)
{
    kernel(NULL);
    send(self);
}

int main(int count, char **words)
{
    char data[8] = {0};
    double alone = 0;
    start(&count, &words);
    double seconds = count > 1 ? strtod(words[1], NULL) : 0.5;
    const struct exchange plain = {send, receive, data};
    const struct exchange with_kernel = {kernel_and_send, receive, data};
    if (rank == 0)
        alone = time_alone(kernel, NULL, seconds);
    MPI(MPI_Bcast(&alone, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD));
    double handover = half_round_trip(&plain, seconds);
    double both = half_round_trip(&with_kernel, seconds);
    row("limits", 8, "launch", alone, "us");
    row("limits", 8, "handover", handover, "us");
    row("limits", 8, "kernel_handover", both, "us");
    row("limits", 8, "switch", both - handover - alone, "us");
    return end();
}
