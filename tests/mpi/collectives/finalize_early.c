/*
 * Rank 0 calls MPI_Finalize while the others call MPI_Allreduce: the job ends, and the sentence names both calls.
 */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int one = 1, sum = 0;
    MPI_Bcast(&one, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (check_rank > 0) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
