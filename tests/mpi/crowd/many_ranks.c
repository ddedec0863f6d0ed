/* Far more ranks than cores start, pass barriers, sum up, and end. */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    for (int round = 0; round < 3; round++) {
        int sum = -1;
        CALL(MPI_Barrier(MPI_COMM_WORLD));
        CALL(MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CHECK(sum == check_size * (check_size - 1) / 2, "sum %d of %d ranks", sum, check_size);
    }
    return finish();
}
