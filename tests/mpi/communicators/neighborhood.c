/* MPIX_COMM_TYPE_NEIGHBORHOOD, an extension of MPICH: the processes that share the directory of the info key. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Comm part = MPI_COMM_SELF;
    MPI_Info info;
    int size = -1, rank = -1;
    start(&argc, &argv);
    CALL(MPI_Comm_split_type(MPI_COMM_WORLD, MPIX_COMM_TYPE_NEIGHBORHOOD, 0, MPI_INFO_NULL, &part));
    CHECK(part == MPI_COMM_NULL, "a neighbourhood without a directory");
    CALL(MPI_Info_create(&info));
    CALL(MPI_Info_set(info, "nbhd_common_dirname", "/tmp"));
    CALL(MPI_Comm_split_type(MPI_COMM_WORLD, MPIX_COMM_TYPE_NEIGHBORHOOD, -check_rank, info, &part));
    REQUIRE(part != MPI_COMM_NULL, "no neighbourhood");
    CALL(MPI_Comm_size(part, &size));
    CALL(MPI_Comm_rank(part, &rank));
    CHECK(size == check_size && rank == size - 1 - check_rank, "rank %d of %d", rank, size);
    CALL(MPI_Comm_free(&part));
    CALL(MPI_Info_free(&info));
    return finish();
}
