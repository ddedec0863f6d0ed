/*
 * MPI_Pack and MPI_Unpack from device memory to device memory, in one process.
 *
 *     pack SECONDS_PER_ROW
 *
 * 64 MB of payload. Prints GB/s of payload: "pack" and "unpack", a user's kernel ("kernel_pack",
 * "kernel_unpack"), the copy of contiguous memory ("copy"), and what the sectors of 32 bytes that
 * must move allow at that copy's speed ("limit"). Rank 0 measures; rank 1 waits.
 */
#include "device.h"
#include "kernels.h"

#include <stdio.h>
#include <stdlib.h>

enum { MB = 1024 * 1024, PAYLOAD = 64 * MB, SECTOR = 32 };

struct packing {
    struct blocks blocks;
    size_t extent;
    MPI_Datatype datatype;
    char *strided, *packed, *other;
};

static void pack(void *self)
{
    struct packing *c = self;
    int position = 0;
    MPI(MPI_Pack(c->strided, 1, c->datatype, c->packed, PAYLOAD, &position, MPI_COMM_SELF));
}

static void unpack(void *self)
{
    struct packing *c = self;
    int position = 0;
    MPI(MPI_Unpack(c->packed, PAYLOAD, &position, c->strided, 1, c->datatype, MPI_COMM_SELF));
}

static void kernel_pack(void *self)
{
    struct packing *c = self;
    struct blocks b = c->blocks;
    CUDA(launch_copy_blocks(c->packed, b.block, c->strided, b.stride, b.block, b.count, stream));
    CUDA(cudaStreamSynchronize(stream));
}

static void kernel_unpack(void *self)
{
    struct packing *c = self;
    struct blocks b = c->blocks;
    CUDA(launch_copy_blocks(c->strided, b.stride, c->packed, b.block, b.block, b.count, stream));
    CUDA(cudaStreamSynchronize(stream));
}

static void copy(void *self)
{
    struct packing *c = self;
    CUDA(cudaMemcpyAsync(c->other, c->packed, PAYLOAD, cudaMemcpyDeviceToDevice, stream));
    CUDA(cudaStreamSynchronize(stream));
}

/* Bytes that move for a block on its strided side: whole sectors, or all if the gaps are smaller.
 */
static double sectors(struct blocks b)
{
    size_t touched = (b.block + SECTOR - 1) / SECTOR * SECTOR;
    return (double)(touched < b.stride ? touched : b.stride);
}

static double measure(const char *name, const char *method, struct packing *c, void (*call)(void *),
                      double seconds)
{
    double rate = PAYLOAD / time_alone(call, c, seconds) / 1e3;
    row(name, PAYLOAD, method, rate, "GB/s");
    return rate;
}

/* Packs with a fresh seed; the wrong words. */
static word wrong_packed(struct packing *c, void (*call)(void *), word seed)
{
    struct blocks packed = {0, PAYLOAD, PAYLOAD, 1}, none = {0, 4, 4, 0};
    CUDA(launch_fill(c->strided, c->extent, c->blocks, seed, stream));
    CUDA(launch_fill(c->packed, PAYLOAD, none, 0, stream));
    CUDA(cudaStreamSynchronize(stream));
    call(c);
    CUDA(launch_check(c->packed, PAYLOAD, packed, seed, counter(), stream));
    return counted();
}

static word wrong_unpacked(struct packing *c, void (*call)(void *), word seed)
{
    struct blocks packed = {0, PAYLOAD, PAYLOAD, 1}, none = {0, 4, 4, 0};
    CUDA(launch_fill(c->packed, PAYLOAD, packed, seed, stream));
    CUDA(launch_fill(c->strided, c->extent, none, 0, stream));
    CUDA(cudaStreamSynchronize(stream));
    call(c);
    CUDA(launch_check(c->strided, c->extent, c->blocks, seed, counter(), stream));
    return counted();
}

static void measure_case(struct packing *c, double seconds)
{
    static const struct {
        const char *method;
        void (*call)(void *);
        word (*wrong)(struct packing *, void (*)(void *), word);
    } methods[] = {
        {"kernel_pack", kernel_pack, wrong_packed},
        {"kernel_unpack", kernel_unpack, wrong_unpacked},
        {"pack", pack, wrong_packed},
        {"unpack", unpack, wrong_unpacked},
    };
    char name[40];
    snprintf(name, sizeof name, "pack_%zu_%zu", c->blocks.block, c->blocks.stride);
    double rate = 0;
    if (rank == 0) {
        rate = measure(name, "copy", c, copy, seconds);
        double moved = sectors(c->blocks) + (double)c->blocks.block;
        row(name, PAYLOAD, "limit", 2 * rate * (double)c->blocks.block / moved, "GB/s");
    }
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        word seed = new_seed();
        word wrong = rank == 0 ? methods[i].wrong(c, methods[i].call, seed) : 0;
        if (right(name, PAYLOAD, methods[i].method, wrong) && rank == 0)
            measure(name, methods[i].method, c, methods[i].call, seconds);
    }
}

int main(int count, char **words)
{
    static const size_t sizes[] = {8, 64, 512}, factors[] = {2, 8};
    struct packing c = {0};
    start(&count, &words);
    double seconds = count > 1 ? strtod(words[1], NULL) : 0.3;
    c.packed = device_memory(PAYLOAD);
    c.other = device_memory(PAYLOAD);
    c.strided = device_memory((size_t)PAYLOAD * 8);
    for (int i = 0; i < 6; i++) {
        size_t block = sizes[i / 2], stride = block * factors[i % 2];
        c.blocks = (struct blocks){0, block, stride, PAYLOAD / block};
        c.extent = c.blocks.count * stride;
        MPI(MPI_Type_vector((int)c.blocks.count, (int)(block / sizeof(double)),
                            (int)(stride / sizeof(double)), MPI_DOUBLE, &c.datatype));
        MPI(MPI_Type_commit(&c.datatype));
        measure_case(&c, seconds);
        MPI(MPI_Type_free(&c.datatype));
    }
    CUDA(cudaFree(c.packed));
    CUDA(cudaFree(c.other));
    CUDA(cudaFree(c.strided));
    return end();
}
