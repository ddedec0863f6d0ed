/* What the device benchmarks share; device.h says what each function does. */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

enum { BATCHES = 7, FEW_BATCHES = 3, MOST_CALLS = 20000 };

int rank;
cudaStream_t stream;
static int wrong_rows;
static word *device_counter;

void check_cuda(cudaError_t result, const char *call, const char *file, int line)
{
    if (result == cudaSuccess)
        return;
    fprintf(stderr, "%s:%d: rank %d: %s: %s (%s)\n", file, line, rank, call,
            cudaGetErrorName(result), cudaGetErrorString(result));
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

void check_mpi(int result, const char *call, const char *file, int line)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    if (result == MPI_SUCCESS)
        return;
    MPI_Error_string(result, text, &length);
    fprintf(stderr, "%s:%d: rank %d: %s: %s\n", file, line, rank, call, text);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

void start(int *argc, char ***argv)
{
    int size, devices = 0;
    MPI(MPI_Init(argc, argv));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI(MPI_Comm_size(MPI_COMM_WORLD, &size));
    if (size != 2) {
        if (rank == 0)
            fprintf(stderr, "this program needs two ranks, not %d: mpiexec -n 2\n", size);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    CUDA(cudaGetDeviceCount(&devices));
    CUDA(cudaSetDevice(0));
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    device_counter = device_memory(sizeof *device_counter);
    CUDA(cudaMemset(device_counter, 0, sizeof *device_counter));
    CUDA(cudaDeviceSynchronize());
}

int end(void)
{
    CUDA(cudaDeviceSynchronize());
    MPI(MPI_Finalize());
    return wrong_rows > 0;
}

void row(const char *name, size_t bytes, const char *method, double value, const char *unit)
{
    if (rank)
        return;
    printf("row %s %zu %s %.6g %s\n", name, bytes, method, value, unit);
    fflush(stdout);
}

int right(const char *name, size_t bytes, const char *method, word wrong_here)
{
    word wrong = 0;
    MPI(MPI_Allreduce(&wrong_here, &wrong, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
    if (!wrong)
        return 1;
    wrong_rows++;
    if (rank == 0) {
        printf("wrong %s %zu %s %llu words\n", name, bytes, method, wrong);
        fflush(stdout);
    }
    return 0;
}

word new_seed(void)
{
    word seed = 0;
    if (rank == 0 && getrandom(&seed, sizeof seed, 0) != sizeof seed)
        seed = (word)(seconds_now() * 1e9);
    MPI(MPI_Bcast(&seed, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD));
    return seed >> 1;
}

double seconds_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int ascending(const void *a, const void *b)
{
    double left = *(const double *)a, right_value = *(const double *)b;
    return (left > right_value) - (left < right_value);
}

double median(double *values, int number)
{
    qsort(values, (size_t)number, sizeof *values, ascending);
    return values[number / 2];
}

void *device_memory(size_t bytes)
{
    void *memory = NULL;
    CUDA(cudaMalloc(&memory, bytes));
    return memory;
}

void *pinned_memory(size_t bytes)
{
    void *memory = NULL;
    CUDA(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault));
    return memory;
}

word *counter(void)
{
    return device_counter;
}

word counted(void)
{
    word value = 0, zero = 0;
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaMemcpy(&value, device_counter, sizeof value, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(device_counter, &zero, sizeof zero, cudaMemcpyHostToDevice));
    CUDA(cudaDeviceSynchronize());
    return value;
}

void round_trip(const struct exchange *exchange)
{
    if (rank == 0) {
        exchange->send(exchange->self);
        exchange->receive(exchange->self);
    } else {
        exchange->receive(exchange->self);
        exchange->send(exchange->self);
    }
}

/* How many calls of this length a batch has, and how many batches there are. */
static void plan(double each, double seconds, int *calls, int *batches)
{
    double fit = seconds / BATCHES / each;
    *calls = fit < 1 ? 1 : fit > MOST_CALLS ? MOST_CALLS : (int)fit;
    *batches = each * BATCHES > 4 * seconds ? FEW_BATCHES : BATCHES;
}

double half_round_trip(const struct exchange *exchange, double seconds)
{
    double values[BATCHES], started, result;
    int planned[2];
    round_trip(exchange);
    started = seconds_now();
    round_trip(exchange);
    plan(seconds_now() - started, seconds, &planned[0], &planned[1]);
    MPI(MPI_Bcast(planned, 2, MPI_INT, 0, MPI_COMM_WORLD));
    for (int batch = 0; batch < planned[1]; batch++) {
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        started = seconds_now();
        for (int i = 0; i < planned[0]; i++)
            round_trip(exchange);
        values[batch] = (seconds_now() - started) / planned[0] / 2 * 1e6;
    }
    result = median(values, planned[1]);
    MPI(MPI_Bcast(&result, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD));
    return result;
}

double time_alone(void (*call)(void *), void *self, double seconds)
{
    double values[BATCHES], started;
    int calls, batches;
    call(self);
    started = seconds_now();
    call(self);
    plan(seconds_now() - started, seconds, &calls, &batches);
    for (int batch = 0; batch < batches; batch++) {
        started = seconds_now();
        for (int i = 0; i < calls; i++)
            call(self);
        values[batch] = (seconds_now() - started) / calls * 1e6;
    }
    return median(values, batches);
}
