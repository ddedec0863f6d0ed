/* The ways to send a part of device memory; methods.h says what each function does. */
#include "methods.h"

#include <stdlib.h>
#include <string.h>

enum { TAG = 1 };

const char *const method_names[] = {"datatype", "manual", "kernel"};

void make_room(struct message *message, size_t extent, size_t bytes)
{
    message->in = device_memory(extent);
    message->out = device_memory(extent);
    message->packed = device_memory(bytes);
    message->host = pinned_memory(bytes);
}

void free_room(struct message *message)
{
    CUDA(cudaFree(message->in));
    CUDA(cudaFree(message->out));
    CUDA(cudaFree(message->packed));
    CUDA(cudaFreeHost(message->host));
}

static void send_datatype(void *self)
{
    struct message *m = self;
    MPI(MPI_Send(m->out, 1, m->datatype, !rank, TAG, MPI_COMM_WORLD));
}

static void receive_datatype(void *self)
{
    struct message *m = self;
    MPI(MPI_Recv(m->in, 1, m->datatype, !rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* The copies as published: blocking, one for the whole message. A list goes through its kernel,
 * since there is no such copy. */
static void send_manual(void *self)
{
    struct message *m = self;
    struct blocks b = m->blocks;
    if (m->listed) {
        CUDA(launch_gather((double *)m->packed, (double *)m->out, m->device_list, m->listed,
                           stream));
        CUDA(cudaMemcpyAsync(m->host, m->packed, m->bytes, cudaMemcpyDeviceToHost, stream));
        CUDA(cudaStreamSynchronize(stream));
    } else {
        CUDA(cudaMemcpy2D(m->host, b.block, m->out + b.first, b.stride, b.block, b.count,
                          cudaMemcpyDeviceToHost));
    }
    MPI(MPI_Send(m->host, (int)m->bytes, MPI_BYTE, !rank, TAG, MPI_COMM_WORLD));
}

static void receive_manual(void *self)
{
    struct message *m = self;
    struct blocks b = m->blocks;
    MPI(MPI_Recv(m->host, (int)m->bytes, MPI_BYTE, !rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (m->listed) {
        CUDA(cudaMemcpyAsync(m->packed, m->host, m->bytes, cudaMemcpyHostToDevice, stream));
        CUDA(launch_scatter((double *)m->in, (double *)m->packed, m->device_list, m->listed,
                            stream));
        CUDA(cudaStreamSynchronize(stream));
    } else {
        CUDA(cudaMemcpy2D(m->in + b.first, b.stride, m->host, b.block, b.block, b.count,
                          cudaMemcpyHostToDevice));
        /* The copy may return before its last bytes are on the device. */
        CUDA(cudaStreamSynchronize(0));
    }
}

static void send_kernel(void *self)
{
    struct message *m = self;
    struct blocks b = m->blocks;
    if (m->listed)
        CUDA(launch_gather((double *)m->packed, (double *)m->out, m->device_list, m->listed,
                           stream));
    else
        CUDA(launch_copy_blocks(m->packed, b.block, m->out + b.first, b.stride, b.block, b.count,
                                stream));
    CUDA(cudaStreamSynchronize(stream));
    MPI(MPI_Send(m->packed, (int)m->bytes, MPI_BYTE, !rank, TAG, MPI_COMM_WORLD));
}

static void receive_kernel(void *self)
{
    struct message *m = self;
    struct blocks b = m->blocks;
    MPI(MPI_Recv(m->packed, (int)m->bytes, MPI_BYTE, !rank, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE));
    if (m->listed)
        CUDA(launch_scatter((double *)m->in, (double *)m->packed, m->device_list, m->listed,
                            stream));
    else
        CUDA(launch_copy_blocks(m->in + b.first, b.stride, m->packed, b.block, b.block, b.count,
                                stream));
    CUDA(cudaStreamSynchronize(stream));
}

static const struct exchange exchanges[] = {
    {send_datatype, receive_datatype, NULL},
    {send_manual, receive_manual, NULL},
    {send_kernel, receive_kernel, NULL},
};

/* A double of a list that depends on its place in it. */
static double listed_value(size_t index, word seed)
{
    return (double)((index * 0x9e3779b97f4a7c15ull + seed * 0xd1342543de82ef95ull) >> 12);
}

/* Random data in the list's doubles of `memory`, and -1 elsewhere; only the latter for no seed. */
static void fill_list(const struct message *m, char *memory, word seed)
{
    size_t number = m->extent / sizeof(double);
    double *values = malloc(m->extent);
    for (size_t i = 0; i < number; i++)
        values[i] = -1;
    for (size_t i = 0; seed && i < m->listed; i++)
        values[m->list[i]] = listed_value(i, seed);
    CUDA(cudaMemcpy(memory, values, m->extent, cudaMemcpyHostToDevice));
    free(values);
}

static word wrong_in_list(const struct message *m, word seed)
{
    size_t number = m->extent / sizeof(double);
    double *values = malloc(m->extent);
    word wrong = 0;
    CUDA(cudaMemcpy(values, m->in, m->extent, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < m->listed; i++) {
        wrong += values[m->list[i]] != listed_value(i, seed);
        values[m->list[i]] = -1;
    }
    for (size_t i = 0; i < number; i++)
        wrong += values[i] != -1;
    free(values);
    return wrong;
}

/* Fresh data in `out` and poison everywhere else. */
static void prepare(struct message *m, word seed)
{
    struct blocks none = m->blocks;
    none.count = 0;
    if (m->listed) {
        fill_list(m, m->out, seed);
        fill_list(m, m->in, 0);
    } else {
        CUDA(launch_fill(m->out, m->extent, m->blocks, seed, stream));
        CUDA(launch_fill(m->in, m->extent, none, 0, stream));
    }
    CUDA(cudaMemset(m->packed, 0x5a, m->bytes));
    CUDA(cudaDeviceSynchronize());
    memset(m->host, 0x5a, m->bytes);
}

static word wrong_words(struct message *m, word seed)
{
    if (m->listed)
        return wrong_in_list(m, seed);
    CUDA(launch_check(m->in, m->extent, m->blocks, seed, counter(), stream));
    return counted();
}

/* One round trip of fresh data, another for each direction. */
static int correct(struct message *m, enum method method, const struct exchange *exchange)
{
    word seed = new_seed() | 1;
    prepare(m, seed + (word)rank);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    round_trip(exchange);
    return right(m->name, m->bytes, method_names[method], wrong_words(m, seed + (word)!rank));
}

double measure(struct message *message, enum method method, double seconds)
{
    struct exchange exchange = exchanges[method];
    exchange.self = message;
    if (!correct(message, method, &exchange))
        return 0;
    double microseconds = half_round_trip(&exchange, seconds);
    if (!correct(message, method, &exchange))
        return 0;
    row(message->name, message->bytes, method_names[method], microseconds, "us");
    return microseconds;
}

static void copy_once(void *self)
{
    struct message *m = self;
    struct blocks b = m->blocks;
    if (m->listed) {
        CUDA(launch_gather((double *)m->packed, (double *)m->out, m->device_list, m->listed,
                           stream));
        CUDA(launch_scatter((double *)m->in, (double *)m->packed, m->device_list, m->listed,
                            stream));
    } else {
        CUDA(launch_copy_blocks(m->in + b.first, b.stride, m->out + b.first, b.stride, b.block,
                                b.count, stream));
    }
}

static void copy_and_wait(void *self)
{
    copy_once(self);
    CUDA(cudaStreamSynchronize(stream));
}

void measure_copy(struct message *message, double seconds)
{
    enum { LAUNCHES = 20 };
    cudaEvent_t before, after;
    float milliseconds = 0;
    if (rank == 0) {
        double waited = time_alone(copy_and_wait, message, seconds);
        CUDA(cudaEventCreate(&before));
        CUDA(cudaEventCreate(&after));
        CUDA(cudaEventRecord(before, stream));
        for (int i = 0; i < LAUNCHES; i++)
            copy_once(message);
        CUDA(cudaEventRecord(after, stream));
        CUDA(cudaEventSynchronize(after));
        CUDA(cudaEventElapsedTime(&milliseconds, before, after));
        CUDA(cudaEventDestroy(before));
        CUDA(cudaEventDestroy(after));
        row(message->name, message->bytes, "strided_copy", waited, "us");
        row(message->name, message->bytes, "strided_kernel", milliseconds * 1e3 / LAUNCHES, "us");
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}
