/*
 * Buffers in host or device memory, for tests, beside the checks of tests/mpi/check.h. Needs the
 * driver's header or the stub's.
 */
#ifndef TEST_MEMORY_H
#define TEST_MEMORY_H

#include "driver.h"

/* Defines CALL as well, which the driver's declarations use. */
#include "pattern.h"

#include <stdbool.h>
#include <stdint.h>

#define CALLED(call)                                                                               \
    do {                                                                                           \
        CUresult result = call;                                                                    \
        if (result) {                                                                              \
            fprintf(stderr, "%s:%d: %s gives %d\n", __FILE__, __LINE__, #call, result);            \
            exit(3);                                                                               \
        }                                                                                          \
    } while (0)

/* How often this process has called a function of the stub driver. */
unsigned long towpath_stub_calls(const char *function);

typedef struct {
    bool on_device;
    size_t size;
    void *bytes;
} Memory;

/*
 * Makes the primary context of a device current: that of the rank's number, modulo TEST_DEVICES. No
 * two ranks share one where there are as many.
 */
static inline void start_device(int rank)
{
    const char *devices = getenv("TEST_DEVICES");
    CUdevice device;
    CUcontext context;
    CALLED(cuInit(0));
    CALLED(cuDeviceGet(&device, devices ? rank % atoi(devices) : 0));
    CALLED(cuDevicePrimaryCtxRetain(&context, device));
    CALLED(cuCtxPushCurrent_v2(context));
}

static inline CUdeviceptr device_address_of(const void *bytes)
{
    return (CUdeviceptr)(uintptr_t)bytes;
}

static inline Memory memory_of(bool on_device, size_t size)
{
    Memory memory = {on_device, size, NULL};
    CUdeviceptr address;
    if (on_device) {
        CALLED(cuMemAlloc_v2(&address, size));
        memory.bytes = (void *)(uintptr_t)address;
    } else {
        memory.bytes = malloc(size);
    }
    return memory;
}

static inline void free_memory(Memory memory)
{
    if (memory.on_device)
        CALLED(cuMemFree_v2(device_address_of(memory.bytes)));
    else
        free(memory.bytes);
}

static inline void write_memory(Memory memory, const void *from)
{
    if (memory.on_device) {
        CALLED(cuMemcpyHtoD_v2(device_address_of(memory.bytes), from, memory.size));
        CALLED(cuCtxSynchronize());
    } else {
        memcpy(memory.bytes, from, memory.size);
    }
}

static inline void read_memory(Memory memory, void *to)
{
    if (memory.on_device)
        CALLED(cuMemcpyDtoH_v2(to, device_address_of(memory.bytes), memory.size));
    else
        memcpy(to, memory.bytes, memory.size);
}

/* Whether the memory has these bytes. */
static inline bool holds(Memory memory, const void *expected)
{
    unsigned char *bytes = malloc(memory.size);
    read_memory(memory, bytes);
    bool same = memcmp(bytes, expected, memory.size) == 0;
    free(bytes);
    return same;
}

/* Writes pattern `seed`. */
static inline void set_pattern(Memory memory, unsigned seed)
{
    void *bytes = malloc(memory.size);
    pattern_fill(bytes, memory.size, seed);
    write_memory(memory, bytes);
    free(bytes);
}

static inline Memory pattern_in(bool on_device, size_t size, unsigned seed)
{
    Memory memory = memory_of(on_device, size);
    set_pattern(memory, seed);
    return memory;
}

/* The first of `size` bytes from `first` that is not pattern `seed`'s byte `from + i`, or -1. */
static inline long first_wrong(Memory memory, size_t first, size_t size, unsigned seed, size_t from)
{
    unsigned char *bytes = malloc(memory.size);
    long wrong = -1;
    read_memory(memory, bytes);
    for (size_t i = 0; wrong < 0 && i < size; i++)
        if (bytes[first + i] != pattern_byte(from + i, seed))
            wrong = (long)i;
    free(bytes);
    return wrong;
}

#define CHECK_MEMORY(memory, length, seed)                                                         \
    do {                                                                                           \
        long at = first_wrong(memory, 0, length, seed, 0);                                         \
        CHECK(at < 0, "byte %ld of %ld differs from pattern %u", at, (long)(length),               \
              (unsigned)(seed));                                                                   \
    } while (0)

#endif
