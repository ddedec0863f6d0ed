/* A synchronous send, of any size, is not complete before its receive was started. MPI 5.0, 3.4 */
#include "pattern.h"

static void one(int bytes, int persistent)
{
    char *data = malloc((size_t)bytes + 1);
    MPI_Request request;
    int flag = 0;
    if (check_rank == 0) {
        pattern_fill(data, (size_t)bytes, (unsigned)bytes);
        if (persistent) {
            CALL(MPI_Ssend_init(data, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request));
            CALL(MPI_Start(&request));
        } else
            CALL(MPI_Issend(data, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request));
        for (int i = 0; i < 200; i++) {
            CALL(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
            if (!CHECK(!flag, "a synchronous send of %d bytes ended before its receive", bytes))
                break;
        }
        CALL(MPI_Send(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD));
        CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (persistent)
            CALL(MPI_Request_free(&request));
    } else if (check_rank == 1) {
        MPI_Status status;
        /* The synchronous message is here, probed even, but no receive was started. */
        CALL(MPI_Recv(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CALL(MPI_Probe(0, 1, MPI_COMM_WORLD, &status));
        CALL(MPI_Recv(data, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &status));
        CHECK_PATTERN(data, (size_t)bytes, (unsigned)bytes);
    }
    free(data);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    static const int sizes[] = {0, 8, 1000, 30000, 500000};
    for (int i = 0; i < 5; i++) {
        one(sizes[i], 0);
        one(sizes[i], 1);
    }
    return finish();
}
