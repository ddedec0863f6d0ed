/* Kernels that move the bytes of a message from one layout to another: pack, unpack, and strided
 * to strided.
 *
 * One thread moves one word at a time. It computes the place of word `n` of the packed message in
 * both layouts, so no thread depends on another one. The largest word that divides all lengths,
 * offsets, strides and addresses of both layouts is used; the host selects the kernel by it.
 *
 * The last block of threads to finish writes a number to host memory, which the processor polls.
 *
 * The same text compiles as CUDA and HIP, as OpenCL C, and as C for the driver that tests use. The
 * structures are those of `kernel.rs`: a test compares their sizes. */

#if defined(__OPENCL_VERSION__)

typedef uint u32;
typedef ulong u64;
typedef long i64;
typedef uchar word1;
typedef ushort word2;
typedef uint word4;
typedef ulong word8;
typedef ulong2 word16;
#define KERNEL(name, type) __kernel void name(type arguments)
#define AT(type, address) ((__global type *)(address))
#define FIRST ((u32)get_global_id(0))
#define STEP ((u32)get_global_size(0))
#define HIGH(a, b) mul_hi((u32)(a), (u32)(b))
#define FUNCTION static inline
#define ARGUMENTS arguments
#define NOT_UNROLLED
/* A block is one thread here: PoCL 3.0 miscompiles a barrier behind these loops. */
#define FENCE mem_fence(CLK_GLOBAL_MEM_FENCE)
#define FENCE_OF_THREAD mem_fence(CLK_GLOBAL_MEM_FENCE)
#define REPRESENTS_BLOCK 1
#define BLOCKS STEP
#define COUNT(address) (atomic_inc((volatile __global u32 *)(address)) + 1)

#elif defined(__CUDACC__) || defined(__HIPCC__)

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;
typedef unsigned char word1;
typedef unsigned short word2;
typedef unsigned int word4;
typedef unsigned long long word8;
typedef ulonglong2 word16;
/* `__grid_constant__` keeps the arguments in constant memory although they are indexed. */
#define KERNEL(name, type) extern "C" __global__ void name(const __grid_constant__ type arguments)
#define AT(type, address) ((type *)(address))
#define FIRST (blockIdx.x * blockDim.x + threadIdx.x)
#define STEP (gridDim.x * blockDim.x)
#define HIGH(a, b) __umulhi(a, b)
#define FUNCTION static __device__ __forceinline__
#define ARGUMENTS arguments
#define NOT_UNROLLED _Pragma("unroll 1")
#define FENCE __syncthreads()
#define FENCE_OF_THREAD __threadfence_system()
#define REPRESENTS_BLOCK (threadIdx.x == 0)
#define BLOCKS gridDim.x
#define COUNT(address) (atomicAdd((u32 *)(address), 1) + 1)

#else

#include <stdint.h>
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t i64;
typedef uint8_t word1;
typedef uint16_t word2;
typedef uint32_t word4;
typedef uint64_t word8;
typedef struct {
    uint64_t low, high;
} word16;
/* Called once for each thread. */
#define KERNEL(name, type) void name(const type *pointer, u32 thread, u32 threads)
#if defined(TOWPATH_STUB)
/* The processor faults at the device's addresses: the tests' driver knows where the bytes are. */
#define AT(type, address) ((type *)towpath_stub_view(address, sizeof(type)))
#else
#define AT(type, address) ((type *)(uintptr_t)(address))
#endif
#define FIRST thread
#define STEP threads
#define HIGH(a, b) ((u32)((u64)(a) * (b) >> 32))
#define FUNCTION static inline
#define ARGUMENTS (*pointer)
#define NOT_UNROLLED
/* A block is one thread here. */
#define FENCE __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define FENCE_OF_THREAD __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define REPRESENTS_BLOCK 1
#define BLOCKS threads
#define COUNT(address) __atomic_add_fetch(AT(u32, address), 1, __ATOMIC_SEQ_CST)

#endif

/* Division of numbers below 2^31 by a constant: n / divisor = HIGH(n, multiplier) >> shift, or n if
 * the multiplier is 0 (Granlund and Montgomery 1994). */
typedef struct {
    u32 divisor, multiplier, shift, unused;
} Divisor;

/* A strided loop. */
typedef struct {
    Divisor count;
    i64 stride;
} Loop;

/* Where the words of a message are. From the inside outwards:
 *  - without lists, blocks of `block` words;
 *  - with `offsets` only, `entries` blocks of `block` words at these offsets;
 *  - with `starts` too, blocks of unequal length: `block` is the words of all of them, and entry e
 *    starts at packed byte starts[e];
 * repeated by `depth` loops, the innermost first. Offsets and strides are in bytes. */
typedef struct {
    u64 base, offsets, starts;
    u32 depth, unused;
    Divisor block, entries;
    Loop loops[6];
} Layout;

/* Where the end of a kernel is announced: `value` is written to `flag`, in host memory. `count`, in
 * the memory of the device, is 0 before and after. Without a flag nothing is written. */
typedef struct {
    u64 flag, count;
    u32 value, unused;
} Completion;

/* Moves words first ... first + words of a message. */
typedef struct {
    Layout from, to;
    u64 first, words;
    Completion completion;
} Move;

FUNCTION u32 divided(u32 n, Divisor by) {
    return by.multiplier ? HIGH(n, by.multiplier) >> by.shift : n;
}

FUNCTION u64 divided_wide(u64 n, Divisor by) { return n / by.divisor; }

/* The last entry that starts at or before packed byte n. */
FUNCTION u32 entry_of(u64 starts, u32 entries, u64 n) {
    u32 low = 0, high = entries;
    while (high - low > 1) {
        u32 middle = low + (high - low) / 2;
        if (AT(const u64, starts)[middle] <= n)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Defines `name`, the address of word n of a layout, with numbers of type INDEX. */
#define DEFINE_ADDRESS(name, INDEX, DIVIDED)                                                       \
    FUNCTION u64 name(const Layout *layout, INDEX n, u32 size) {                                   \
        INDEX rest = DIVIDED(n, layout->block);                                                    \
        INDEX within = n - rest * layout->block.divisor;                                           \
        u64 address = layout->base;                                                                \
        if (layout->starts) {                                                                      \
            u64 byte = (u64)within * size;                                                         \
            u32 entry = entry_of(layout->starts, layout->entries.divisor, byte);                   \
            address += AT(const i64, layout->offsets)[entry];                                      \
            address -= AT(const u64, layout->starts)[entry];                                       \
        } else if (layout->offsets) {                                                              \
            INDEX list = DIVIDED(rest, layout->entries);                                           \
            address += AT(const i64, layout->offsets)[rest - list * layout->entries.divisor];      \
            rest = list;                                                                           \
        }                                                                                          \
        if (layout->depth == 0)                                                                    \
            return address + (u64)within * size;                                                   \
        u32 last = layout->depth - 1;                                                              \
        NOT_UNROLLED                                                                               \
        for (u32 level = 0; level < last; level++) {                                               \
            INDEX outer = DIVIDED(rest, layout->loops[level].count);                               \
            INDEX step = rest - outer * layout->loops[level].count.divisor;                        \
            address += (u64)((i64)step * layout->loops[level].stride);                             \
            rest = outer;                                                                          \
        }                                                                                          \
        address += (u64)((i64)rest * layout->loops[last].stride);                                  \
        return address + (u64)within * size;                                                       \
    }

DEFINE_ADDRESS(address_of, u32, divided)
DEFINE_ADDRESS(address_of_wide, u64, divided_wide)

/* Called by one thread of each block, behind a barrier that orders the block's stores before it. */
FUNCTION void complete(const Completion *completion, u32 blocks) {
    FENCE_OF_THREAD;
    if (COUNT(completion->count) == blocks) {
        *AT(u32, completion->count) = 0;
        FENCE_OF_THREAD;
        *AT(volatile u32, completion->flag) = completion->value;
    }
}

#define DEFINE_MOVE(name, WORD, INDEX, ADDRESS)                                                    \
    KERNEL(name, Move) {                                                                           \
        const Move *move = &ARGUMENTS;                                                             \
        INDEX end = (INDEX)(move->first + move->words), step = STEP;                               \
        NOT_UNROLLED                                                                               \
        for (INDEX n = (INDEX)move->first + FIRST; n < end; n += step)                             \
            *AT(WORD, ADDRESS(&move->to, n, sizeof(WORD))) =                                       \
                *AT(const WORD, ADDRESS(&move->from, n, sizeof(WORD)));                            \
        if (move->completion.flag) {                                                               \
            FENCE;                                                                                 \
            if (REPRESENTS_BLOCK)                                                                  \
                complete(&move->completion, BLOCKS);                                               \
        }                                                                                          \
    }

/* For messages of fewer than 2^31 words. */
DEFINE_MOVE(towpath_move_1, word1, u32, address_of)
DEFINE_MOVE(towpath_move_2, word2, u32, address_of)
DEFINE_MOVE(towpath_move_4, word4, u32, address_of)
DEFINE_MOVE(towpath_move_8, word8, u32, address_of)
DEFINE_MOVE(towpath_move_16, word16, u32, address_of)
/* For longer ones. */
DEFINE_MOVE(towpath_move_wide_1, word1, u64, address_of_wide)
DEFINE_MOVE(towpath_move_wide_2, word2, u64, address_of_wide)
DEFINE_MOVE(towpath_move_wide_4, word4, u64, address_of_wide)
DEFINE_MOVE(towpath_move_wide_8, word8, u64, address_of_wide)
DEFINE_MOVE(towpath_move_wide_16, word16, u64, address_of_wide)
