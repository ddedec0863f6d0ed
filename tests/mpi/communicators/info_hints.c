/*
 * Hints of a communicator: what was set comes back if it is known, what is unknown does not, and
 * MPI_Comm_dup hands no hints on (since MPI 4.0). MPI 5.0, 7.4.2 and 7.4.4
 */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm comm, copy;
    MPI_Info info, used;
    char value[100];
    int flag = -1, length = sizeof value;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CALL(MPI_Info_create(&info));
    CALL(MPI_Info_set(info, "mpi_assert_no_any_source", "true"));
    CALL(MPI_Info_set(info, "nobody_knows_this", "x"));
    CALL(MPI_Comm_set_info(comm, info));
    CALL(MPI_Comm_get_info(comm, &used));
    CHECK(used != MPI_INFO_NULL, "MPI_Comm_get_info gave no object");
    CALL(MPI_Info_get_string(used, "mpi_assert_no_any_source", &length, value, &flag));
    CHECK(flag && strcmp(value, "true") == 0, "the hint came back as '%s'",
          flag ? value : "nothing");
    length = sizeof value;
    CALL(MPI_Info_get_string(used, "nobody_knows_this", &length, value, &flag));
    CHECK(!flag, "a hint that nobody knows came back as '%s'", value);
    CALL(MPI_Info_free(&used));
    CALL(MPI_Comm_dup(comm, &copy));
    CALL(MPI_Comm_get_info(copy, &used));
    length = sizeof value;
    CALL(MPI_Info_get_string(used, "mpi_assert_no_any_source", &length, value, &flag));
    CHECK(!flag || strcmp(value, "false") == 0, "MPI_Comm_dup hands the hint on as '%s'", value);
    CALL(MPI_Info_free(&used));
    CALL(MPI_Comm_free(&copy));
    CALL(MPI_Comm_dup_with_info(comm, info, &copy));
    CALL(MPI_Comm_get_info(copy, &used));
    CALL(MPI_Info_free(&used));
    int sum, one = 1;
    CALL(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, copy));
    CHECK(sum == check_size, "sum %d", sum);
    CALL(MPI_Comm_free(&copy));
    CALL(MPI_Comm_free(&comm));
    CALL(MPI_Info_free(&info));
    return finish();
}
