/* MPI_Abort on one rank ends the whole job with its code; the others wait for ever. MPI 5.0, 9.7 */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    if (check_rank == check_size - 1)
        MPI_Abort(MPI_COMM_WORLD, atoi(argv[1]));
    MPI_Recv(NULL, 0, MPI_INT, check_rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return finish();
}
