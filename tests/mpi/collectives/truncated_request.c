/*
 * A nonblocking broadcast of more than a rank expects fails in the call or in its completion. In
 * both cases the request is one that can be completed: MPI_REQUEST_NULL after an error in the call.
 */
#include "check.h"

int main(int argc, char **argv)
{
    enum { CALLS = 20 };
    start(&argc, &argv);
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (int i = 0; i < CALLS; i++) {
        int data[4] = {0}, class = MPI_SUCCESS;
        MPI_Request request = MPI_REQUEST_NULL, barrier;
        memset(&request, 0x55, sizeof request);
        /* In every second call the root has written before the others begin. */
        if (check_rank > 0 && i % 2)
            CALL(MPI_Recv(NULL, 0, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        int code = MPI_Ibcast(data, check_rank == 0 ? 4 : 2, MPI_INT, 0, MPI_COMM_WORLD, &request);
        for (int to = 1; check_rank == 0 && i % 2 && to < check_size; to++)
            CALL(MPI_Send(NULL, 0, MPI_INT, to, i, MPI_COMM_WORLD));
        CHECK(code == MPI_SUCCESS || request == MPI_REQUEST_NULL, "call %d fails and leaves a request", i);
        int completed = MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(request == MPI_REQUEST_NULL, "call %d: a request is left", i);
        CALL(MPI_Error_class(code ? code : completed, &class));
        CHECK(class == (check_rank ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "call %d ends with class %d", i, class);
        CALL(MPI_Ibarrier(MPI_COMM_WORLD, &barrier));
        CALL(MPI_Wait(&barrier, MPI_STATUS_IGNORE));
    }
    return finish();
}
