/* Attributes that MPI_COMM_WORLD has from the start. MPI 5.0, 9.1.2 */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int flag, *value;
    CALL(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
    CHECK(flag && *value >= 32767, "MPI_TAG_UB");
    int top = *value, sent = 3, received = 0;
    CALL(MPI_Sendrecv(&sent, 1, MPI_INT, check_rank, top, &received, 1, MPI_INT, check_rank, top, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(received == 3, "a message with the highest tag");
    CALL(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_HOST, &value, &flag));
    CHECK(flag && *value == MPI_PROC_NULL, "MPI_HOST");
    CALL(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &value, &flag));
    CHECK(!flag || *value == MPI_ANY_SOURCE || *value == MPI_PROC_NULL || (*value >= 0 && *value < check_size), "MPI_IO");
    CALL(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag));
    CHECK(!flag || *value == 0 || *value == 1, "MPI_WTIME_IS_GLOBAL");
    CALL(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag));
    CHECK(!flag || *value >= check_size, "MPI_UNIVERSE_SIZE");
    CALL(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag));
    CHECK(!flag || *value == 0, "MPI_APPNUM");
    CALL(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag));
    CHECK(flag && *value >= MPI_ERR_LASTCODE, "MPI_LASTUSEDCODE");
    MPI_Comm copy;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    CALL(MPI_Comm_get_attr(copy, MPI_TAG_UB, &value, &flag));
    CHECK(flag && *value == top, "MPI_TAG_UB of a duplicate");
    CALL(MPI_Comm_free(&copy));
    return finish();
}
