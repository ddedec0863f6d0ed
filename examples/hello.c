/* Every rank says who it is. Build with mpicc, run with mpiexec -n 4. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size, length;
    char processor[MPI_MAX_PROCESSOR_NAME], library[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(processor, &length);
    MPI_Get_library_version(library, &length);
    printf("rank %d of %d on %s with %.40s\n", rank, size, processor, library);
    MPI_Finalize();
    return 0;
}
