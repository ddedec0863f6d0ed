/* No elements of MPI_DATATYPE_NULL: programs pass them beside MPI_PROC_NULL above all, and MPICH and Intel MPI take them. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    start(&argc, &argv);
    CALL(MPI_Send(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 1, MPI_COMM_WORLD));
    CALL(MPI_Recv(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status));
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG, "source %d, tag %d", status.MPI_SOURCE, status.MPI_TAG);
    CALL(MPI_Isend(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request));
    CALL(MPI_Wait(&request, &status));
    CALL(MPI_Irecv(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request));
    CALL(MPI_Wait(&request, &status));
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG, "source %d, tag %d", status.MPI_SOURCE, status.MPI_TAG);
    CALL(MPI_Recv_init(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request));
    CALL(MPI_Start(&request));
    CALL(MPI_Wait(&request, &status));
    CALL(MPI_Request_free(&request));
    /* Also between processes. */
    CALL(MPI_Irecv(NULL, 0, MPI_DATATYPE_NULL, check_rank, 1, MPI_COMM_WORLD, &request));
    CALL(MPI_Send(NULL, 0, MPI_DATATYPE_NULL, check_rank, 1, MPI_COMM_WORLD));
    CALL(MPI_Wait(&request, &status));
    CHECK(status.MPI_SOURCE == check_rank && status.MPI_TAG == 1, "source %d, tag %d", status.MPI_SOURCE, status.MPI_TAG);
    CALL(MPI_Bcast(NULL, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD));
    /* One element of it is an error. */
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS(MPI_Send(&request, 1, MPI_DATATYPE_NULL, check_rank, 1, MPI_COMM_WORLD), MPI_ERR_TYPE);
    FAILS(MPI_Irecv(&status, 1, MPI_DATATYPE_NULL, check_rank, 1, MPI_COMM_WORLD, &request), MPI_ERR_TYPE);
    FAILS(MPI_Send(&request, 1, MPI_DATATYPE_NULL, MPI_PROC_NULL, 1, MPI_COMM_WORLD), MPI_ERR_TYPE);
    return finish();
}
