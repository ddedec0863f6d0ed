/* An error under MPI_ERRORS_ARE_FATAL, the default, ends the job and says which call it was. MPI 5.0, 9.3 */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int value = 1;
    if (check_rank == 0)
        MPI_Send(&value, 1, MPI_INT, check_size + 5, 1, MPI_COMM_WORLD);
    else
        MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return finish();
}
