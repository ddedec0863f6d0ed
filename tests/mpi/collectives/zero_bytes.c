/*
 * Collectives without data, between others with data: they move nothing and leave every buffer as it is. MPI 5.0, 6.2 to 6.11
 */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    for (int i = 0; i < 200; i++) {
        int root = i % check_size, one = 1, sum = 0, kept = 77, none = 5;
        MPI_Comm comm = MPI_COMM_WORLD;
        CALL(MPI_Bcast(&kept, 0, MPI_INT, root, comm));
        CALL(MPI_Reduce(&none, &kept, 0, MPI_INT, MPI_SUM, root, comm));
        CALL(MPI_Allreduce(&none, &kept, 0, MPI_INT, MPI_SUM, comm));
        CALL(MPI_Gather(&none, 0, MPI_INT, &kept, 0, MPI_INT, root, comm));
        CALL(MPI_Scatter(&none, 0, MPI_INT, &kept, 0, MPI_INT, root, comm));
        CALL(MPI_Allgather(&none, 0, MPI_INT, &kept, 0, MPI_INT, comm));
        CALL(MPI_Alltoall(&none, 0, MPI_INT, &kept, 0, MPI_INT, comm));
        CALL(MPI_Scan(&none, &kept, 0, MPI_INT, MPI_SUM, comm));
        CALL(MPI_Exscan(&none, &kept, 0, MPI_INT, MPI_SUM, comm));
        CALL(MPI_Reduce_scatter_block(&none, &kept, 0, MPI_INT, MPI_SUM, comm));
        CHECK(kept == 77 && none == 5, "kept %d, none %d", kept, none);
        CALL(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
        CHECK(sum == check_size, "round %d: sum %d", i, sum);
    }
    return finish();
}
