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
        int data[4] = {0}, class = MPI_SUCCESS, is_cut;
        MPI_Request request = MPI_REQUEST_NULL, together;
        memset(&request, 0x55, sizeof request);
        /* In every second call the root has written before the others begin. */
        if (check_rank > 0 && i % 2)
            CALL(MPI_Recv(NULL, 0, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        int count = check_rank == 0 ? 4 : 2;
        int code = MPI_Ibcast(data, count, MPI_INT, 0, MPI_COMM_WORLD, &request);
        for (int to = 1; check_rank == 0 && i % 2 && to < check_size; to++)
            CALL(MPI_Send(NULL, 0, MPI_INT, to, i, MPI_COMM_WORLD));
        CHECK(code == MPI_SUCCESS || request == MPI_REQUEST_NULL, "call %d leaves a request", i);
        int completed = MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(request == MPI_REQUEST_NULL, "call %d: a request is left", i);
        CALL(MPI_Error_class(code ? code : completed, &class));
        /* What one rank has cut off it does not pass on to others. */
        is_cut = class == MPI_ERR_TRUNCATE;
        CHECK(class == MPI_SUCCESS || (is_cut && check_rank > 0), "call %d: class %d", i, class);
        CALL(MPI_Iallreduce(MPI_IN_PLACE, &is_cut, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD, &together));
        CALL(MPI_Wait(&together, MPI_STATUS_IGNORE));
        CHECK(is_cut || check_size == 1, "call %d fails nowhere", i);
    }
    return finish();
}
