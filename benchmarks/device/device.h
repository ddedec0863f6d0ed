/*
 * What the device benchmarks share: checked calls, rows, seeds, and the ping-pong of two ranks.
 *
 * Rank 0 prints rows "row NAME BYTES METHOD VALUE UNIT". A result that is wrong prints
 * "wrong NAME BYTES METHOD WORDS" instead, and the program ends with 1 after its other rows. An
 * error of CUDA or MPI ends the program.
 */
#ifndef TOWPATH_BENCHMARKS_DEVICE_H
#define TOWPATH_BENCHMARKS_DEVICE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <cuda_runtime_api.h>
#include <mpi.h>
#include <stddef.h>

typedef unsigned long long word;

void check_cuda(cudaError_t result, const char *call, const char *file, int line);
void check_mpi(int result, const char *call, const char *file, int line);
#define CUDA(call) check_cuda(call, #call, __FILE__, __LINE__)
#define MPI(call) check_mpi(call, #call, __FILE__, __LINE__)

extern int rank;
/* The stream of the program's own kernels and copies, which waits for no other stream. */
extern cudaStream_t stream;

/* Starts MPI, with two ranks, and the GPU. */
void start(int *argc, char ***argv);
/* Ends MPI; the program's exit status. */
int end(void);

void row(const char *name, size_t bytes, const char *method, double value, const char *unit);
/* Counts wrong words of all ranks; prints if there are any. Collective. Whether all is right. */
int right(const char *name, size_t bytes, const char *method, word wrong_here);

/* A new seed, the same in both ranks, and another for every call and run. Collective. */
word new_seed(void);
double seconds_now(void);
double median(double *values, int number);

/* Device and pinned memory, which ends the program where there is none. */
void *device_memory(size_t bytes);
void *pinned_memory(size_t bytes);
/* What a kernel counted into the program's counter since the last call. */
word *counter(void);
word counted(void);

/* One direction of a ping-pong: both calls return when the data may be used. */
struct exchange {
    void (*send)(void *self);
    void (*receive)(void *self);
    void *self;
};
/* Half a round trip in microseconds: the median of batches that take about `seconds` in all, after
 * two round trips that are not counted. Collective; the value is the same in both ranks. */
double half_round_trip(const struct exchange *exchange, double seconds);
void round_trip(const struct exchange *exchange);

/* Microseconds of one call in this rank alone: the median of batches of about `seconds` in all. */
double time_alone(void (*call)(void *), void *self, double seconds);

#endif
