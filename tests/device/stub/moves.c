/* The kernels of the library, compiled as C. */
#define _GNU_SOURCE
#include "stub.h"

#include <string.h>

#define TOWPATH_STUB
#include "../../../crates/device/kernels/move.cu"

static uint64_t words_of(const void *parameters) { return ((const Move *)parameters)->words; }

#define MOVES(size)                                                                                \
    static void run_##size(const void *parameters, uint32_t thread, uint32_t threads)              \
    {                                                                                              \
        towpath_move_##size(parameters, thread, threads);                                          \
    }                                                                                              \
    static void run_wide_##size(const void *parameters, uint32_t thread, uint32_t threads)         \
    {                                                                                              \
        towpath_move_wide_##size(parameters, thread, threads);                                     \
    }                                                                                              \
    static uint64_t bytes_##size(const void *parameters) { return size * words_of(parameters); }
MOVES(1)
MOVES(2)
MOVES(4)
MOVES(8)
MOVES(16)

#define ENTRIES(size)                                                                              \
    {"towpath_move_" #size, run_##size, sizeof(Move), bytes_##size},                               \
    {"towpath_move_wide_" #size, run_wide_##size, sizeof(Move), bytes_##size},
static const struct kernel kernels[] = {ENTRIES(1) ENTRIES(2) ENTRIES(4) ENTRIES(8) ENTRIES(16)};

const struct kernel *find_kernel(const char *name)
{
    for (unsigned place = 0; place < sizeof kernels / sizeof *kernels; place++)
        if (strcmp(kernels[place].name, name) == 0) return &kernels[place];
    return NULL;
}
