/* The stencil's memory is a GPU's. nvcc -fmad=false keeps the results bitwise those of host.c. */
#include "memory.h"

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime_api.h>

enum { WIDTH = 128, ROWS = 16 };

static void check(cudaError_t result, const char *what)
{
    if (result == cudaSuccess)
        return;
    fprintf(stderr, "%s failed: %s\n", what, cudaGetErrorString(result));
    exit(1);
}

const char *memory_name(void)
{
    return "device memory";
}

void *allocate(size_t bytes)
{
    void *memory = NULL;
    check(cudaMalloc(&memory, bytes), "cudaMalloc");
    return memory;
}

void release(void *memory)
{
    check(cudaFree(memory), "cudaFree");
}

void *allocate_staging(size_t bytes)
{
    void *memory = NULL;
    check(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault), "cudaHostAlloc");
    return memory;
}

void release_staging(void *memory)
{
    check(cudaFreeHost(memory), "cudaFreeHost");
}

void copy(void *to, const void *from, size_t bytes)
{
    check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "cudaMemcpy");
}

void copy2d(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
            size_t height)
{
    check(cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, cudaMemcpyDefault),
          "cudaMemcpy2D");
}

/* A thread computes ROWS cells of one column, and keeps the rows around them in registers. */
static __global__ void stencil(REAL *to, const REAL *from, size_t pitch, struct region region,
                               struct weights weights)
{
    int column = region.left + (int)(blockIdx.x * WIDTH + threadIdx.x);
    int row = region.top + (int)blockIdx.y * ROWS;
    int end = row + ROWS < region.bottom ? row + ROWS : region.bottom;
    if (column >= region.right)
        return;
    const REAL *cell = from + (ptrdiff_t)pitch * row + column;
    const REAL *before = cell - pitch;
    REAL above[3] = {before[-1], before[0], before[1]};
    REAL here[3] = {cell[-1], cell[0], cell[1]};
    for (; row < end; row++) {
        const REAL *next = from + (ptrdiff_t)pitch * (row + 1) + column;
        REAL below[3] = {next[-1], next[0], next[1]};
        to[(ptrdiff_t)pitch * row + column] =
            weights.centre * here[1] +
            weights.cardinal * (above[1] + below[1] + here[0] + here[2]) +
            weights.diagonal * (above[0] + above[2] + below[0] + below[2]);
        for (int i = 0; i < 3; i++) {
            above[i] = here[i];
            here[i] = below[i];
        }
    }
}

void step(REAL *to, const REAL *from, size_t pitch, struct region region, struct weights weights)
{
    int rows = region.bottom - region.top, columns = region.right - region.left;
    dim3 groups((unsigned)(columns + WIDTH - 1) / WIDTH, (unsigned)(rows + ROWS - 1) / ROWS, 1);
    stencil<<<groups, WIDTH, 0, 0>>>(to, from, pitch, region, weights);
    check(cudaGetLastError(), "the stencil's launch");
}

void finish_steps(void)
{
    check(cudaDeviceSynchronize(), "the stencil's kernel");
}
