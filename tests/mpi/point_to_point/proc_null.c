/* Communication with MPI_PROC_NULL ends at once and leaves the buffer alone. MPI 5.0, 3.10 */
#include "check.h"

static void null_status(const MPI_Status *status, const char *call)
{
    int count = -1;
    MPI_Get_count(status, MPI_INT, &count);
    CHECK(status->MPI_SOURCE == MPI_PROC_NULL && status->MPI_TAG == MPI_ANY_TAG && count == 0, "%s: source %d tag %d count %d", call,
          status->MPI_SOURCE, status->MPI_TAG, count);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int value = 42, flag = 0;
    MPI_Status status;
    MPI_Request request;
    MPI_Comm comm = MPI_COMM_WORLD;
    CALL(MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 1, comm));
    CALL(MPI_Ssend(&value, 1, MPI_INT, MPI_PROC_NULL, 1, comm));
    CALL(MPI_Rsend(&value, 1, MPI_INT, MPI_PROC_NULL, 1, comm));
    CALL(MPI_Bsend(&value, 1, MPI_INT, MPI_PROC_NULL, 1, comm));
    CALL(MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, comm, &status));
    null_status(&status, "MPI_Recv");
    CALL(MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 7, comm, &request));
    CALL(MPI_Wait(&request, &status));
    null_status(&status, "MPI_Irecv");
    CALL(MPI_Isend(&value, 1, MPI_INT, MPI_PROC_NULL, 7, comm, &request));
    CALL(MPI_Test(&request, &flag, &status));
    CHECK(flag, "a send to MPI_PROC_NULL is not complete");
    CALL(MPI_Issend(&value, 1, MPI_INT, MPI_PROC_NULL, 7, comm, &request));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CALL(MPI_Probe(MPI_PROC_NULL, 7, comm, &status));
    null_status(&status, "MPI_Probe");
    CALL(MPI_Iprobe(MPI_PROC_NULL, 7, comm, &flag, &status));
    CHECK(flag, "MPI_Iprobe of MPI_PROC_NULL");
    null_status(&status, "MPI_Iprobe");
    CALL(MPI_Send_init(&value, 1, MPI_INT, MPI_PROC_NULL, 7, comm, &request));
    for (int i = 0; i < 3; i++) {
        CALL(MPI_Start(&request));
        CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(request != MPI_REQUEST_NULL, "a persistent request to MPI_PROC_NULL became null");
    }
    CALL(MPI_Request_free(&request));
    CALL(MPI_Sendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, &value, 1, MPI_INT, MPI_PROC_NULL, 1, comm, &status));
    null_status(&status, "MPI_Sendrecv");
    CHECK(value == 42, "the buffer was written: %d", value);
    return finish();
}
