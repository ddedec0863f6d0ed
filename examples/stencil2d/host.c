/* The stencil's memory is host memory. */
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *memory_name(void)
{
    return "host memory";
}

void *allocate(size_t bytes)
{
    void *memory = malloc(bytes);
    if (!memory) {
        fprintf(stderr, "there is no memory for %zu bytes; take a smaller grid\n", bytes);
        exit(1);
    }
    return memory;
}

void release(void *memory)
{
    free(memory);
}

void *allocate_staging(size_t bytes)
{
    return allocate(bytes);
}

void release_staging(void *memory)
{
    free(memory);
}

void copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

void copy2d(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
            size_t height)
{
    for (size_t row = 0; row < height; row++)
        memcpy((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width);
}

void step(REAL *to, const REAL *from, size_t pitch, struct region region, struct weights weights)
{
    for (int row = region.top; row < region.bottom; row++) {
        const REAL *here = from + (ptrdiff_t)pitch * row;
        const REAL *above = here - pitch, *below = here + pitch;
        REAL *result = to + (ptrdiff_t)pitch * row;
        for (int i = region.left; i < region.right; i++)
            result[i] =
                weights.centre * here[i] +
                weights.cardinal * (above[i] + below[i] + here[i - 1] + here[i + 1]) +
                weights.diagonal * (above[i - 1] + above[i + 1] + below[i - 1] + below[i + 1]);
    }
}

void finish_steps(void)
{
}
