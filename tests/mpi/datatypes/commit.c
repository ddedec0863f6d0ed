/* A type that is not committed may describe, but not move, data; predefined types cannot be freed. MPI 5.0, 5.1.9 */
#include "../check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Datatype type, predefined = MPI_INT;
    int data[4] = {0};
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    CALL(MPI_Type_contiguous(2, MPI_INT, &type));
    FAILS(MPI_Send(data, 1, type, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    FAILS(MPI_Bcast(data, 1, type, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    FAILS(MPI_Send(data, 1, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    CALL(MPI_Type_commit(&type));
    CALL(MPI_Send(data, 1, type, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    CALL(MPI_Type_free(&type));
    CALL(MPI_Type_commit(&predefined));
    CHECK(MPI_Type_free(&predefined) != MPI_SUCCESS, "MPI_INT was freed");
    CHECK(MPI_Type_contiguous(-1, MPI_INT, &type) != MPI_SUCCESS, "a negative count is accepted");
    CHECK(MPI_Type_vector(2, -1, 1, MPI_INT, &type) != MPI_SUCCESS, "a negative block length is accepted");
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    return finish();
}
