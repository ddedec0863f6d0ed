/* MPI_ERRORS_ABORT ends the job like MPI_Abort on the communicator. MPI 5.0, 9.3 */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int value = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ABORT);
    if (check_rank == 0)
        MPI_Send(&value, 1, MPI_INT, -77, 1, MPI_COMM_WORLD);
    else
        MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return finish();
}
