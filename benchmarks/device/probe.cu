/*
 * The kernels of probe.c. Compiled to PTX or machine code and loaded by the driver API:
 *
 *     nvcc -ptx -arch=compute_90 probe.cu -o probe.ptx
 */
typedef unsigned long long word;

extern "C" __global__ void nothing(void)
{
}

/* Writes a flag that the CPU polls. */
extern "C" __global__ void raise_flag(volatile unsigned *flag, unsigned value)
{
    *flag = value;
    __threadfence_system();
}

/* Dependent arithmetic: its time is the GPU time that this kernel gets, also when it is preempted.
 */
extern "C" __global__ void work(word rounds, word *result)
{
    word value = rounds;
    for (word i = 0; i < rounds; i++)
        value = value * 6364136223846793005ull + 1442695040888963407ull;
    *result = value;
}

static __device__ word pattern(word index, word seed)
{
    return (index + seed) * 0x9e3779b97f4a7c15ull;
}

extern "C" __global__ void fill(word *to, word words, word seed)
{
    word step = (word)gridDim.x * blockDim.x;
    for (word i = (word)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += step)
        to[i] = pattern(i, seed);
}

/* Counts the words that are not what `fill` writes. */
extern "C" __global__ void compare(const word *from, word words, word seed, word *wrong)
{
    word step = (word)gridDim.x * blockDim.x;
    for (word i = (word)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += step)
        if (from[i] != pattern(i, seed))
            atomicAdd(wrong, 1ull);
}

/* to[i * to_stride] = from[i * from_stride]: packs, unpacks, or copies from strided to strided. */
extern "C" __global__ void strided(const word *from, word from_stride, word *to, word to_stride,
                                   word words)
{
    word step = (word)gridDim.x * blockDim.x;
    for (word i = (word)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += step)
        to[i * to_stride] = from[i * from_stride];
}
