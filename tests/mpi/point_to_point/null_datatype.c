/* No elements of MPI_DATATYPE_NULL or of a datatype that is not committed: programs pass them beside MPI_PROC_NULL above all,
   and MPICH and Intel MPI take them. */
#include "check.h"

/* Calls that take no elements of a datatype that does not communicate. */
static void collectives(MPI_Datatype type)
{
    MPI_Comm ring;
    MPI_Request request;
    int zeros[2] = {0}, periods[1] = {1};
    char room[2]; /* MPICH refuses equal buffers */
    MPI_Datatype types[2] = {type, type};
    CALL(MPI_Bcast(NULL, 0, type, 0, MPI_COMM_WORLD));
    CALL(MPI_Alltoallw(room, zeros, zeros, types, room + 1, zeros, zeros, types, MPI_COMM_WORLD));
    CALL(MPI_Ialltoallw(room, zeros, zeros, types, room + 1, zeros, zeros, types, MPI_COMM_WORLD, &request));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CALL(MPI_Cart_create(MPI_COMM_WORLD, 1, &check_size, periods, 0, &ring));
    CALL(MPI_Neighbor_allgather(NULL, 0, type, NULL, 0, type, ring));
    CALL(MPI_Neighbor_alltoall(NULL, 0, type, NULL, 0, type, ring));
    CALL(MPI_Neighbor_alltoallw(NULL, zeros, (MPI_Aint[2]){0}, types, NULL, zeros, (MPI_Aint[2]){0}, types, ring));
    CALL(MPI_Comm_free(&ring));
}

/* No elements of a datatype that is not committed, which has gaps and so is no row of bytes. */
static void uncommitted(void)
{
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Datatype type;
    int data[8] = {0}, count;
    CALL(MPI_Type_vector(2, 1, 3, MPI_INT, &type));
    CALL(MPI_Send(data, 0, type, MPI_PROC_NULL, 1, MPI_COMM_WORLD));
    CALL(MPI_Irecv(data, 0, type, check_rank, 1, MPI_COMM_WORLD, requests));
    CALL(MPI_Send(data, 0, type, check_rank, 1, MPI_COMM_WORLD));
    CALL(MPI_Wait(requests, &status));
    CALL(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(status.MPI_SOURCE == check_rank && count == 0, "source %d, %d elements", status.MPI_SOURCE, count);
    CALL(MPI_Recv_init(data, 0, type, check_rank, 2, MPI_COMM_WORLD, &requests[0]));
    CALL(MPI_Ssend_init(data, 0, type, check_rank, 2, MPI_COMM_WORLD, &requests[1]));
    CALL(MPI_Startall(2, requests));
    CALL(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CALL(MPI_Request_free(&requests[0]));
    CALL(MPI_Request_free(&requests[1]));
    CALL(MPI_Sendrecv(data, 0, type, check_rank, 3, data, 0, type, check_rank, 3, MPI_COMM_WORLD, &status));
    collectives(type);
    /* One element of it is an error, and so is a message that is longer than nothing. */
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS(MPI_Send(data, 1, type, check_rank, 1, MPI_COMM_WORLD), MPI_ERR_TYPE);
    FAILS(MPI_Bcast(data, 1, type, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    CALL(MPI_Irecv(data, 0, type, check_rank, 4, MPI_COMM_WORLD, requests));
    CALL(MPI_Send(data, 1, MPI_INT, check_rank, 4, MPI_COMM_WORLD));
    FAILS(MPI_Wait(requests, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    CHECK(data[0] == 0, "a receive of nothing has written %d", data[0]);
    CALL(MPI_Type_free(&type));
}

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
    collectives(MPI_DATATYPE_NULL);
    uncommitted();
    /* One element of it is an error. */
    FAILS(MPI_Send(&request, 1, MPI_DATATYPE_NULL, check_rank, 1, MPI_COMM_WORLD), MPI_ERR_TYPE);
    FAILS(MPI_Irecv(&status, 1, MPI_DATATYPE_NULL, check_rank, 1, MPI_COMM_WORLD, &request), MPI_ERR_TYPE);
    FAILS(MPI_Send(&request, 1, MPI_DATATYPE_NULL, MPI_PROC_NULL, 1, MPI_COMM_WORLD), MPI_ERR_TYPE);
    return finish();
}
