/* The kernels of the device benchmarks; kernels.h says what each does. */
#include "kernels.h"

#include <stdint.h>

typedef unsigned long long word;

enum { THREADS = 256, MOST_GROUPS = 1 << 20 };
static const uint32_t POISON = 0xdeadbeef;

static unsigned groups_for(word threads)
{
    return (unsigned)(threads ? (threads + THREADS - 1) / THREADS : 1);
}

/* Groups of a kernel that strides over its work. */
static unsigned some_groups(word threads)
{
    return threads < (word)MOST_GROUPS * THREADS ? groups_for(threads) : (unsigned)MOST_GROUPS;
}

static __device__ uint32_t random_word(word index, word seed)
{
    word value = index * 0x9e3779b97f4a7c15ull + seed * 0xd1342543de82ef95ull;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
    return (uint32_t)(value >> 32);
}

static __device__ float random_float(word index, word seed)
{
    return (float)(random_word(index, seed) >> 8) * (2.0f / 16777216.0f) - 1.0f;
}

static __global__ void nothing(void)
{
}

cudaError_t launch_nothing(cudaStream_t stream)
{
    nothing<<<1, 32, 0, stream>>>();
    return cudaGetLastError();
}

/* `shift` is the logarithm of the words of a block, or -1 if that is no power of two. */
template <typename Word>
static __global__ void copy_blocks(char *to, word to_stride, const char *from, word from_stride,
                                   unsigned words_of_block, int shift, word words)
{
    word i = (word)blockIdx.x * THREADS + threadIdx.x;
    if (i >= words)
        return;
    word block = shift >= 0 ? i >> shift : i / words_of_block;
    word at = (i - block * words_of_block) * sizeof(Word);
    *(Word *)(to + block * to_stride + at) = *(const Word *)(from + block * from_stride + at);
}

template <typename Word>
static cudaError_t copy_words(void *to, size_t to_stride, const void *from, size_t from_stride,
                              size_t block, size_t count, cudaStream_t stream)
{
    unsigned words_of_block = (unsigned)(block / sizeof(Word));
    int shift = words_of_block & (words_of_block - 1) ? -1 : __builtin_ctz(words_of_block);
    word words = (word)words_of_block * count;
    copy_blocks<Word><<<groups_for(words), THREADS, 0, stream>>>(
        (char *)to, to_stride, (const char *)from, from_stride, words_of_block, shift, words);
    return cudaGetLastError();
}

cudaError_t launch_copy_blocks(void *to, size_t to_stride, const void *from, size_t from_stride,
                               size_t block, size_t count, cudaStream_t stream)
{
    uintptr_t all = (uintptr_t)to | (uintptr_t)from | to_stride | from_stride | block;
    if (!block || !count)
        return cudaSuccess;
    if (all % 16 == 0)
        return copy_words<uint4>(to, to_stride, from, from_stride, block, count, stream);
    if (all % 8 == 0)
        return copy_words<uint2>(to, to_stride, from, from_stride, block, count, stream);
    if (all % 4 == 0)
        return copy_words<uint32_t>(to, to_stride, from, from_stride, block, count, stream);
    return copy_words<uint8_t>(to, to_stride, from, from_stride, block, count, stream);
}

static __global__ void gather(double *to, const double *from, const unsigned *indices, word number)
{
    word i = (word)blockIdx.x * THREADS + threadIdx.x;
    if (i < number)
        to[i] = from[indices[i]];
}

cudaError_t launch_gather(double *to, const double *from, const unsigned *indices, size_t number,
                          cudaStream_t stream)
{
    gather<<<groups_for(number), THREADS, 0, stream>>>(to, from, indices, number);
    return cudaGetLastError();
}

static __global__ void scatter(double *to, const double *from, const unsigned *indices, word number)
{
    word i = (word)blockIdx.x * THREADS + threadIdx.x;
    if (i < number)
        to[indices[i]] = from[i];
}

cudaError_t launch_scatter(double *to, const double *from, const unsigned *indices, size_t number,
                           cudaStream_t stream)
{
    scatter<<<groups_for(number), THREADS, 0, stream>>>(to, from, indices, number);
    return cudaGetLastError();
}

/* What belongs at a 4-byte word of the extent. */
static __device__ uint32_t expected(word index, struct blocks blocks, word seed)
{
    word at = index * 4;
    if (at < blocks.first)
        return POISON;
    word block = (at - blocks.first) / blocks.stride, rest = (at - blocks.first) % blocks.stride;
    if (block >= blocks.count || rest >= blocks.block)
        return POISON;
    return random_word((block * blocks.block + rest) / 4, seed);
}

static __global__ void fill(uint32_t *to, word words, struct blocks blocks, word seed)
{
    word step = (word)gridDim.x * THREADS;
    for (word i = (word)blockIdx.x * THREADS + threadIdx.x; i < words; i += step)
        to[i] = expected(i, blocks, seed);
}

cudaError_t launch_fill(void *base, size_t extent, struct blocks blocks, word seed,
                        cudaStream_t stream)
{
    fill<<<some_groups(extent / 4), THREADS, 0, stream>>>((uint32_t *)base, extent / 4, blocks,
                                                          seed);
    return cudaGetLastError();
}

static __global__ void check(const uint32_t *from, word words, struct blocks blocks, word seed,
                             word *wrong)
{
    word step = (word)gridDim.x * THREADS;
    for (word i = (word)blockIdx.x * THREADS + threadIdx.x; i < words; i += step)
        if (from[i] != expected(i, blocks, seed))
            atomicAdd(wrong, 1ull);
}

cudaError_t launch_check(const void *base, size_t extent, struct blocks blocks, word seed,
                         word *wrong, cudaStream_t stream)
{
    check<<<some_groups(extent / 4), THREADS, 0, stream>>>((const uint32_t *)base, extent / 4,
                                                           blocks, seed, wrong);
    return cudaGetLastError();
}

static __global__ void fill_floats(float *to, word number, word seed)
{
    word step = (word)gridDim.x * THREADS;
    for (word i = (word)blockIdx.x * THREADS + threadIdx.x; i < number; i += step)
        to[i] = random_float(i, seed);
}

cudaError_t launch_fill_floats(float *to, size_t number, word seed, cudaStream_t stream)
{
    fill_floats<<<some_groups(number), THREADS, 0, stream>>>(to, number, seed);
    return cudaGetLastError();
}

static __global__ void check_sums(const float *sums, word number, word left, word right,
                                  word *wrong)
{
    word step = (word)gridDim.x * THREADS;
    for (word i = (word)blockIdx.x * THREADS + threadIdx.x; i < number; i += step)
        if (sums[i] != random_float(i, left) + random_float(i, right))
            atomicAdd(wrong, 1ull);
}

cudaError_t launch_check_sums(const float *sums, size_t number, word left, word right, word *wrong,
                              cudaStream_t stream)
{
    check_sums<<<some_groups(number), THREADS, 0, stream>>>(sums, number, left, right, wrong);
    return cudaGetLastError();
}

static __global__ void sum_into_both(const float4 *left, const float4 *right, float4 *result,
                                     float4 *other_result, word number)
{
    word i = (word)blockIdx.x * THREADS + threadIdx.x;
    if (i >= number)
        return;
    float4 a = left[i], b = right[i];
    float4 sum = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
    result[i] = sum;
    other_result[i] = sum;
}

cudaError_t launch_sum_into_both(const float *left, const float *right, float *result,
                                 float *other_result, size_t number, cudaStream_t stream)
{
    sum_into_both<<<groups_for(number / 4), THREADS, 0, stream>>>(
        (const float4 *)left, (const float4 *)right, (float4 *)result, (float4 *)other_result,
        number / 4);
    return cudaGetLastError();
}
