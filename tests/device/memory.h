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

/* Device memory that tests use: what TEST_MEMORY says, by default that of cuMemAlloc. */
static inline bool is_kind(const char *kind)
{
    const char *wanted = getenv("TEST_MEMORY");
    return wanted && !strcmp(wanted, kind);
}

/* Virtual memory: of one physical allocation, which other processes can open or not, or of many. */
static inline bool is_virtual(void)
{
    return is_kind("virtual") || is_kind("unshared") || is_kind("pieces");
}

enum { GRANULARITY = 2 << 20 };

static inline size_t whole_pieces(size_t size)
{
    return (size + !size + GRANULARITY - 1) / GRANULARITY * GRANULARITY;
}

/* Maps new physical memory, which can be exported by handles of these types. */
static inline void map_new(CUdeviceptr address, size_t size, int types)
{
    CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .requestedHandleTypes = types,
                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CALLED(cuCtxGetDevice(&properties.location.id));
    CUmemAccessDesc access = {properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;
    CALLED(cuMemCreate(&handle, size, &properties, 0));
    CALLED(cuMemMap(address, size, 0, handle, 0));
    CALLED(cuMemRelease(handle));
    CALLED(cuMemSetAccess(address, size, &access, 1));
}

static inline CUdeviceptr map_whole(size_t size)
{
    CUdeviceptr address;
    size = whole_pieces(size);
    CALLED(cuMemAddressReserve(&address, size, 0, 0, 0));
    size_t piece = is_kind("pieces") ? GRANULARITY : size;
    int types = is_kind("unshared") ? CU_MEM_HANDLE_TYPE_NONE
                                    : CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    for (size_t at = 0; at < size; at += piece)
        map_new(address + at, piece, types);
    return address;
}

static inline void unmap_whole(CUdeviceptr address, size_t size)
{
    size = whole_pieces(size);
    size_t piece = is_kind("pieces") ? GRANULARITY : size;
    for (size_t at = 0; at < size; at += piece)
        CALLED(cuMemUnmap(address + at, piece));
    CALLED(cuMemAddressFree(address, size));
}

static inline CUmemoryPool new_pool(int types)
{
    CUmemoryPool pool;
    CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .handleTypes = types,
                                 .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CALLED(cuCtxGetDevice(&properties.location.id));
    CALLED(cuMemPoolCreate(&pool, &properties));
    return pool;
}

static inline CUdeviceptr pool_memory(size_t size, CUmemoryPool pool)
{
    CUdeviceptr address;
    CALLED(cuMemAllocFromPoolAsync(&address, size, pool, NULL));
    CALLED(cuStreamSynchronize(NULL));
    return address;
}

static inline CUdeviceptr device_memory(size_t size)
{
    static CUmemoryPool pool;
    CUdeviceptr address;
    if (is_virtual()) return map_whole(size);
    if (is_kind("pool")) {
        if (!pool) pool = new_pool(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
        return pool_memory(size, pool);
    }
    CALLED(cuMemAlloc_v2(&address, size));
    return address;
}

static inline Memory memory_of(bool on_device, size_t size)
{
    void *bytes = on_device ? (void *)(uintptr_t)device_memory(size) : malloc(size);
    return (Memory){on_device, size, bytes};
}

static inline void free_memory(Memory memory)
{
    CUdeviceptr address = device_address_of(memory.bytes);
    if (!memory.on_device)
        free(memory.bytes);
    else if (is_virtual())
        unmap_whole(address, memory.size);
    else
        CALLED(cuMemFree_v2(address));
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
