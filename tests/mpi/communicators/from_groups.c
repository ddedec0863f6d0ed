/* MPI 4.0's creation without a parent: MPI_Comm_create_from_group and MPI_Intercomm_create_from_groups. MPI 5.0, 7.4.2 and 7.6.2 */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Group world, mine, other;
    MPI_Comm comm, inter;
    int size, sum, one = 1, half = check_size / 2, low = check_rank < half;
    CALL(MPI_Comm_group(MPI_COMM_WORLD, &world));
    CALL(MPI_Comm_create_from_group(world, "all", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    CALL(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == check_size, "sum %d", sum);
    int low_range[1][3] = {{0, half - 1, 1}}, high_range[1][3] = {{half, check_size - 1, 1}};
    CALL(MPI_Group_range_incl(world, 1, low ? low_range : high_range, &mine));
    CALL(MPI_Group_range_incl(world, 1, low ? high_range : low_range, &other));
    CALL(MPI_Intercomm_create_from_groups(mine, 0, other, 0, "halves", MPI_INFO_NULL, MPI_ERRORS_RETURN, &inter));
    CALL(MPI_Comm_remote_size(inter, &size));
    CHECK(size == (low ? check_size - half : half), "remote size %d", size);
    CALL(MPI_Barrier(inter));
    CALL(MPI_Comm_free(&inter));
    CALL(MPI_Comm_free(&comm));
    CALL(MPI_Group_free(&mine));
    CALL(MPI_Group_free(&other));
    CALL(MPI_Group_free(&world));
    return finish();
}
