/* A freed send goes on and arrives, even when the sender goes to MPI_Finalize right away. MPI 5.0, 3.7.3 */
#include "pattern.h"

enum { BYTES = 200000 };

int main(int argc, char **argv)
{
    start(&argc, &argv);
    static char data[BYTES];
    if (check_rank == 0) {
        MPI_Request request;
        pattern_fill(data, BYTES, 2);
        for (int i = 0; i < 5; i++) {
            CALL(MPI_Isend(data, i * BYTES / 4, MPI_BYTE, 1, i, MPI_COMM_WORLD, &request));
            CALL(MPI_Request_free(&request));
            CHECK(request == MPI_REQUEST_NULL, "not null after MPI_Request_free");
        }
    } else if (check_rank == 1)
        for (int i = 4; i >= 0; i--) {
            memset(data, 0, BYTES);
            CALL(MPI_Recv(data, BYTES, MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_PATTERN(data, (size_t)(i * BYTES / 4), 2);
        }
    return finish();
}
