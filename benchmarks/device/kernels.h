/*
 * The kernels of the device benchmarks: what a careful user writes, and what fills and checks
 * buffers. Sizes and strides are in bytes. All return the launch's error.
 */
#ifndef TOWPATH_BENCHMARKS_DEVICE_KERNELS_H
#define TOWPATH_BENCHMARKS_DEVICE_KERNELS_H

#include <cuda_runtime_api.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `count` blocks, of which the first begins `first` bytes behind the base. */
struct blocks {
    size_t first, block, stride, count;
};

cudaError_t launch_nothing(cudaStream_t stream);

/* Copies blocks between two strides: packs, unpacks, or copies from strided to strided. One thread
 * per word, the widest word that divides everything. */
cudaError_t launch_copy_blocks(void *to, size_t to_stride, const void *from, size_t from_stride,
                               size_t block, size_t count, cudaStream_t stream);

/* to[i] = from[indices[i]], and to[indices[i]] = from[i], of doubles. */
cudaError_t launch_gather(double *to, const double *from, const unsigned *indices, size_t number,
                          cudaStream_t stream);
cudaError_t launch_scatter(double *to, const double *from, const unsigned *indices, size_t number,
                           cudaStream_t stream);

/* Writes the whole extent: random words of this seed in the blocks, poison between them. */
cudaError_t launch_fill(void *base, size_t extent, struct blocks blocks, unsigned long long seed,
                        cudaStream_t stream);
/* Adds the number of words that are not as `launch_fill` writes them to *wrong (device memory). */
cudaError_t launch_check(const void *base, size_t extent, struct blocks blocks,
                         unsigned long long seed, unsigned long long *wrong, cudaStream_t stream);

/* Random numbers in [-1, 1), and a check that each element is the sum of two such arrays'. */
cudaError_t launch_fill_floats(float *to, size_t number, unsigned long long seed,
                               cudaStream_t stream);
cudaError_t launch_check_sums(const float *sums, size_t number, unsigned long long left,
                              unsigned long long right, unsigned long long *wrong,
                              cudaStream_t stream);
/* Writes left[i] + right[i] into both results. */
cudaError_t launch_sum_into_both(const float *left, const float *right, float *result,
                                 float *other_result, size_t number, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
