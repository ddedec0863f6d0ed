/* What the kernels have in common: the words of each dialect, and how a kernel announces its end.
 *
 * The same text compiles as CUDA and HIP, as OpenCL C, and as C for the driver that tests use. The
 * structures are those of `kernel.rs`: a test compares their sizes. */

#ifndef TOWPATH_DIALECT_H
#define TOWPATH_DIALECT_H

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
#define BLOCKS_OF(threads) (threads)
#define COUNT(address) (atomic_inc((volatile __global u32 *)(address)) + 1)
#define FLOAT_OF(bits) as_float((u32)(bits))
#define BITS_OF_FLOAT(number) as_uint((float)(number))
#define DOUBLE_OF(bits) as_double((u64)(bits))
#define BITS_OF_DOUBLE(number) as_ulong((double)(number))
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

#elif defined(__CUDACC__) || defined(__HIPCC__) || defined(__HIPCC_RTC__)

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;
typedef unsigned char word1;
typedef unsigned short word2;
typedef unsigned int word4;
typedef unsigned long long word8;
typedef ulonglong2 word16;
#if defined(__CUDACC__)
/* `__grid_constant__` keeps the arguments in constant memory although they are indexed. */
#define KERNEL(name, type) extern "C" __global__ void name(const __grid_constant__ type arguments)
#else
#define KERNEL(name, type) extern "C" __global__ void name(const type arguments)
#endif
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
#define BLOCKS_OF(threads) ((threads) / blockDim.x)
#define COUNT(address) (atomicAdd((u32 *)(address), 1) + 1)
#define FLOAT_OF(bits) __uint_as_float(bits)
#define BITS_OF_FLOAT(number) __float_as_uint(number)
#define DOUBLE_OF(bits) __longlong_as_double((i64)(bits))
#define BITS_OF_DOUBLE(number) ((u64)__double_as_longlong(number))

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
#define THREAD_FUNCTION(name, type)                                                                \
    void name(const type *pointer, u32 thread, __attribute__((unused)) u32 threads)
#if defined(TOWPATH_STUB)
#define KERNEL(name, type)                                                                         \
    static THREAD_FUNCTION(name, type);                                                            \
    STUB_KERNEL(name, type)                                                                        \
    static THREAD_FUNCTION(name, type)
/* The processor faults at the device's addresses: the tests' driver knows where the bytes are. */
#define AT(type, address) ((type *)towpath_stub_view(address, sizeof(type)))
#else
#define KERNEL(name, type) THREAD_FUNCTION(name, type)
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
#define BLOCKS_OF(threads) (threads)
#define COUNT(address) __atomic_add_fetch(AT(u32, address), 1, __ATOMIC_SEQ_CST)
#define FLOAT_OF(bits) (((union { u32 word; float number; }){.word = (bits)}).number)
#define BITS_OF_FLOAT(value) (((union { u32 word; float number; }){.number = (value)}).word)
#define DOUBLE_OF(bits) (((union { u64 word; double number; }){.word = (bits)}).number)
#define BITS_OF_DOUBLE(value) (((union { u64 word; double number; }){.number = (value)}).word)

#endif

/* Where the end of a kernel is announced: `value` is written to `flag`, in host memory. `count`, in
 * the memory of the device, is 0 before and after. Without a flag nothing is written. */
typedef struct {
    u64 flag, count;
    u32 value, unused;
} Completion;

/* Called by one thread of each block, behind a barrier that orders the block's stores before it. */
FUNCTION void complete(const Completion *completion, u32 blocks) {
    FENCE_OF_THREAD;
    if (COUNT(completion->count) == blocks) {
        *AT(u32, completion->count) = 0;
        FENCE_OF_THREAD;
        *AT(volatile u32, completion->flag) = completion->value;
    }
}

/* The end of what so many blocks of threads do. */
#define END_BLOCKS(completion, blocks)                                                             \
    do {                                                                                           \
        if ((completion)->flag) {                                                                  \
            FENCE;                                                                                 \
            if (REPRESENTS_BLOCK)                                                                  \
                complete(completion, blocks);                                                      \
        }                                                                                          \
    } while (0)

/* The end of a kernel; `completion` is that of its arguments. */
#define END_KERNEL(completion) END_BLOCKS(completion, BLOCKS)

#endif
