/*
 * What the parts of the stub driver share.
 *
 * Two locks: `state` guards contexts, streams, events and captures; `memory` guards the tables of
 * memory. Work of streams reads memory under `memory` held shared, so nothing is unmapped under it.
 * Whoever needs both takes `state` first.
 */
#ifndef STUB_H
#define STUB_H

#include "driver.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* calls.c: what every function does first. */
enum call_name {
#define CALL(name, needs, parameters) CALL_##name,
#include "calls.h"
#undef CALL
    CALL_COUNT
};
#define ENTER(name)                                                                                \
    do {                                                                                           \
        CUresult refused = enter(CALL_##name);                                                     \
        if (refused) return refused;                                                               \
    } while (0)
CUresult enter(enum call_name name);
/* Set in the threads that run functions of cuLaunchHostFunc: those may not call the driver. */
extern _Thread_local bool in_host_function;

/* faults.c: errors that the environment asks for. */
CUresult injected(const char *name, unsigned long call);
/* The error with which the next work of this thread fails; 0 afterwards. */
CUresult take_later_failure(void);

/* settings.c: what the environment says, and random numbers. */
unsigned long setting(const char *name, unsigned long otherwise);
uint32_t random_below(uint32_t limit);

/* log.c: bytes moved. */
enum direction {
    HOST_TO_DEVICE,
    DEVICE_TO_HOST,
    DEVICE_TO_DEVICE,
    HOST_TO_HOST,
    BY_KERNEL,
    DIRECTIONS
};
void count_bytes(enum direction direction, uint64_t bytes);
void write_log(void);
void each_call(void (*tell)(const char *name, unsigned long calls, void *data), void *data);

/* devices.c: devices by their number in this process, and by the one that all processes share. */
void find_devices(void);
int device_count(void);
bool valid_device(CUdevice device);
int shared_number(CUdevice device);
bool peers(int shared, int other);
bool visible(int shared);
size_t device_memory(void);
/* Each context takes the device for this process, where processes exclude each other. */
bool claim_device(CUdevice device);
void release_device(CUdevice device);

/* contexts.c */
struct CUctx_st {
    unsigned magic;
    CUdevice device;
    bool primary;
    unsigned retained;
    /* The first error of its work: all later calls report it. */
    _Atomic CUresult error;
    /* Bits of the devices whose memory its kernels may touch. */
    uint64_t peers;
    CUstream legacy, streams;
    CUcontext next;
};
extern pthread_mutex_t state;
CUcontext current_context(void);
bool valid_context(CUcontext context);

/* streams.c: work in order, each stream on a thread of its own. */
struct wait {
    CUstream stream;
    uint64_t sequence;
};
struct work {
    struct work *next;
    uint64_t sequence;
    struct wait *waits;
    unsigned wait_count;
    CUresult failure;
    CUresult (*run)(CUcontext context, void *data);
    /* Called with `state` held when the work is over, or was captured. */
    void (*release)(void *data);
    void *data;
};
struct CUstream_st {
    unsigned magic;
    CUcontext context;
    unsigned flags;
    bool legacy, per_thread, started, destroyed;
    pthread_t thread;
    struct work *first, *last;
    /* Its thread has work, or shall end. */
    pthread_cond_t wake;
    uint64_t enqueued, done;
    CUstreamCaptureStatus capture;
    CUstreamCaptureMode capture_mode;
    pthread_t capture_thread;
    CUstream next;
};
CUstream new_stream(CUcontext context, unsigned flags);
void end_stream(CUstream stream);
CUresult find_stream(CUstream handle, CUstream *stream);
struct work *new_work(CUresult (*run)(CUcontext, void *), void (*release)(void *), void *data);
void add_wait(struct work *work, CUstream stream, uint64_t sequence);
/* Takes the work over, whatever it returns. `submit` takes `state`; `submit_locked` has it. */
CUresult submit(CUstream stream, struct work *work);
CUresult submit_locked(CUstream stream, struct work *work);
/* Returns when all work that is in the stream now is done. */
CUresult synchronize(CUstream stream);
void wait_for(CUstream stream, uint64_t sequence);
void synchronize_context(CUcontext context);
void end_streams(void);

/* capture.c */
CUresult capture_allows_unsafe_call(void);
/* With `state` held: CUDA_SUCCESS, or why this stream cannot take work because of a capture. */
CUresult capture_allows_work(CUstream stream);
void end_capture(CUstream stream);

/* memory.c: the table of all memory that the driver knows. */
enum kind { DEVICE, POOL, OPENED, VIRTUAL, MANAGED, HOST_ALLOCATED, HOST_REGISTERED };
struct region {
    uint64_t base, size, id;
    enum kind kind;
    CUcontext context;
    CUdevice device;
    bool sync_memops;
    /* Work of a stream may use it: memory of pools comes and goes in the order of a stream. */
    atomic_bool ready;
    CUmemoryPool pool;
    struct block *block;
    /* Of virtual memory: its physical memory, and bits of the devices that may access it. */
    struct physical *physical;
    uint64_t accessible;
};
extern pthread_rwlock_t memory;
/* These are called with `memory` held. */
struct region *find_region(uint64_t address);
struct region *next_region(uint64_t address);
struct region *add_region(enum kind kind, uint64_t base, uint64_t size, CUcontext context);
/* New device memory in a block; NULL if there is none. */
struct region *allocate_region(enum kind kind, CUcontext context, CUmemoryPool pool, uint64_t size);
void remove_region(struct region *region);
/* Takes `memory` itself. */
void remove_memory_of(CUcontext context);
bool host_kind(enum kind kind);
CUresult free_memory(uint64_t address);

/* blocks.c: device memory, 2 MiB at least, each a file in memory. With `memory` held. */
enum { BLOCK = 2 << 20, ALIGNMENT = 512 };
struct block {
    uint64_t base, size, inode;
    int file;
    CUcontext context;
    CUmemoryPool pool;
    /* Regions within. Small ones share a block. */
    unsigned regions;
    bool shared, opened;
    struct block *next;
};
bool device_address(uint64_t address);
/* Where the processor finds the memory at a device address. */
void *shadow_of(uint64_t address);
/* Addresses of whole blocks; 0 if there are none. */
uint64_t take_addresses(uint64_t size);
void give_addresses(uint64_t base, uint64_t size);
bool map_shadow(uint64_t base, uint64_t size, int file, uint64_t offset);
void unmap_shadow(uint64_t base, uint64_t size);
/* A file of that many bytes of a device, or -1. */
int new_file(CUdevice device, uint64_t size);
/* The number in this process of the device of such a file, or -1. */
CUdevice device_of_file(int file);
/* Sets the place of `size` new bytes. */
struct block *place(CUcontext context, CUmemoryPool pool, uint64_t size, uint64_t *address);
struct block *map_block(int file, uint64_t size);
void drop_from_block(struct block *block);

/* pointers.c: where work finds memory: NULL if the context may not use all of it. With `memory`
 * held shared. Host memory that the driver does not know is refused unless `pageable`. */
void *view(CUcontext context, uint64_t address, uint64_t size, bool pageable);

/* pools.c */
bool exportable(CUmemoryPool pool);

/* virtual.c */
int handle_types(const struct physical *physical);
uint64_t number_of(const struct physical *physical);

/* ipc.c: an allocation of another process. */
struct name {
    unsigned magic;
    int process, file, device;
    uint64_t inode, block_size, offset, size, id;
};
/* With `memory` held. */
struct name name_of_region(const struct region *region);
/* Maps the block of a name, with the allocation as its only region; NULL and why not. */
struct region *map_name(const struct name *name, enum kind kind, CUcontext context,
                        CUresult *error);

/* library.c: the kernels of the library, compiled as C. */
struct kernel {
    const char *name;
    void (*run)(const void *parameters, uint32_t thread, uint32_t threads);
    /* Of its parameters. */
    size_t size;
};
const struct kernel *find_kernel(const char *name);
/* What a kernel moves; 0 if it moves nothing. */
uint64_t bytes_of(const struct kernel *kernel, const void *parameters);
/* Called by kernels: ends the kernel unless its context may use these bytes. */
void *towpath_stub_view(uint64_t address, size_t size);

#endif
