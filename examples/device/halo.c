/*
 * Two ranks exchange the columns at their common border, in GPU memory: a datatype describes the
 * column, and the buffer is the address that cudaMalloc returns.
 *
 *     mpicc -I$CUDA_HOME/include halo.c -o halo -L$CUDA_HOME/lib64 -lcudart && mpiexec -n 2 ./halo
 */
#include <cuda_runtime_api.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 2048, COLUMNS = 1024 };

static void need(cudaError_t error, const char *what)
{
    if (error == cudaSuccess) return;
    fprintf(stderr, "This example needs an NVIDIA GPU, but %s fails: %s.\n", what,
            cudaGetErrorString(error));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
    static double field[ROWS * COLUMNS];
    int rank, size, devices;
    double *on_device;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2) {
        fprintf(stderr, "This example needs two ranks: mpiexec -n 2 ./halo\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    need(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    need(cudaSetDevice(rank % devices), "cudaSetDevice");
    need(cudaMalloc((void **)&on_device, sizeof field), "cudaMalloc");
    for (int i = 0; i < ROWS * COLUMNS; i++) field[i] = rank;
    need(cudaMemcpy(on_device, field, sizeof field, cudaMemcpyHostToDevice), "cudaMemcpy");

    MPI_Datatype column;
    MPI_Type_vector(ROWS, 1, COLUMNS, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    /* Rank 0 is on the left: its last two columns and the first two of rank 1 are the border. */
    int inner = rank == 0 ? COLUMNS - 2 : 1, outer = rank == 0 ? COLUMNS - 1 : 0;
    MPI_Sendrecv(on_device + inner, 1, column, 1 - rank, 0, on_device + outer, 1, column,
                 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&column);

    need(cudaMemcpy(field, on_device, sizeof field, cudaMemcpyDeviceToHost), "cudaMemcpy");
    int right = 0;
    for (int row = 0; row < ROWS; row++) right += field[row * COLUMNS + outer] == 1 - rank;
    printf("rank %d: %d of %d values of its border are the other rank's\n", rank, right, ROWS);
    cudaFree(on_device);
    MPI_Finalize();
    return right == ROWS ? 0 : 1;
}
