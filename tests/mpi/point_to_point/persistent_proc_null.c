/* A persistent receive from MPI_PROC_NULL tells so in its status each time. MPI 5.0, 3.10 */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int value = 42;
    MPI_Request request;
    CALL(MPI_Recv_init(&value, 1, MPI_INT, MPI_PROC_NULL, 7, MPI_COMM_WORLD, &request));
    for (int i = 0; i < 3; i++) {
        MPI_Status status;
        int count = -1;
        CALL(MPI_Start(&request));
        CALL(MPI_Wait(&request, &status));
        CALL(MPI_Get_count(&status, MPI_INT, &count));
        CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && count == 0 && value == 42,
              "source %d tag %d count %d value %d", status.MPI_SOURCE, status.MPI_TAG, count, value);
    }
    CALL(MPI_Request_free(&request));
    return finish();
}
