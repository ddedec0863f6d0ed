/* The parts of a status: setters and getters of MPI 4.1, elements, cancelled, and the Fortran form. MPI 5.0, 3.2.5 and 12.3 */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Status status, copy;
    int value, flag, count;
    MPI_Count large;
    memset(&status, 0, sizeof status);
    CALL(MPI_Status_set_source(&status, 3));
    CALL(MPI_Status_set_tag(&status, 44));
    CALL(MPI_Status_set_error(&status, MPI_ERR_OTHER));
    CHECK(status.MPI_SOURCE == 3 && status.MPI_TAG == 44 && status.MPI_ERROR == MPI_ERR_OTHER, "set: %d %d %d", status.MPI_SOURCE,
          status.MPI_TAG, status.MPI_ERROR);
    CALL(MPI_Status_get_source(&status, &value));
    CHECK(value == 3, "source %d", value);
    CALL(MPI_Status_get_tag(&status, &value));
    CHECK(value == 44, "tag %d", value);
    CALL(MPI_Status_get_error(&status, &value));
    CHECK(value == MPI_ERR_OTHER, "error %d", value);

    CALL(MPI_Status_set_cancelled(&status, 1));
    CALL(MPI_Test_cancelled(&status, &flag));
    CHECK(flag, "cancelled was not kept");
    CALL(MPI_Status_set_elements(&status, MPI_DOUBLE, 7));
    CALL(MPI_Get_count(&status, MPI_DOUBLE, &count));
    CHECK(count == 7, "count %d", count);
    CALL(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(count == 56, "bytes %d", count);
    CALL(MPI_Test_cancelled(&status, &flag));
    CHECK(flag, "setting elements changed cancelled");
    CALL(MPI_Status_set_cancelled(&status, 0));
    CALL(MPI_Status_set_elements_c(&status, MPI_BYTE, (MPI_Count)5000000000));
    CALL(MPI_Get_elements_c(&status, MPI_BYTE, &large));
    CHECK(large == 5000000000, "elements %lld", (long long)large);
    CALL(MPI_Get_elements(&status, MPI_BYTE, &count));
    CHECK(count == MPI_UNDEFINED, "int elements of 5e9: %d", count);
    CALL(MPI_Get_count(&status, MPI_DOUBLE, &count));
    CHECK(count == 625000000, "doubles %d", count);
    CALL(MPI_Test_cancelled(&status, &flag));
    CHECK(!flag, "setting elements changed cancelled");
    copy = status; /* a status is a value */
    CALL(MPI_Get_elements_c(&copy, MPI_BYTE, &large));
    CHECK(large == 5000000000 && copy.MPI_SOURCE == 3, "copy: %lld from %d", (long long)large, copy.MPI_SOURCE);
    return finish();
}
