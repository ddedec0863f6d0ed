/* The kernels of the library, compiled as C. Each adds itself to a section of this file. */
#define _GNU_SOURCE
#include "stub.h"

#include <stdio.h>
#include <string.h>

#define TOWPATH_STUB
#define STUB_KERNEL(name, type)                                                                    \
    static void run_##name(const void *parameters, uint32_t thread, uint32_t threads)              \
    {                                                                                              \
        name(parameters, thread, threads);                                                         \
    }                                                                                              \
    __attribute__((section("kernels"), used)) static const struct kernel *const entry_##name       \
        = &(const struct kernel){#name, run_##name, sizeof(type)};
#include "../../../crates/device/kernels/move.cu"
#include "../../../crates/device/kernels/reduce.cu"

extern const struct kernel *const __start_kernels[], *const __stop_kernels[];

const struct kernel *find_kernel(const char *name)
{
    for (const struct kernel *const *entry = __start_kernels; entry < __stop_kernels; entry++)
        if (strcmp((*entry)->name, name) == 0) return *entry;
    return NULL;
}

uint64_t bytes_of(const struct kernel *kernel, const void *parameters)
{
    if (strncmp(kernel->name, "towpath_move_", strlen("towpath_move_"))) return 0;
    bool is_one = strcmp(kernel->name, "towpath_move_many");
    const Moves *many = parameters;
    const Move *moves = is_one ? parameters : many->moves;
    uint32_t count = is_one ? 1 : many->count;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) bytes += moves[i].to.word * moves[i].words;
    return bytes;
}
