/* A rank that leaves without MPI_Finalize ends the job with an error. */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0)
        exit(0);
    MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return finish();
}
