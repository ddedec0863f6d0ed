/* MPI_Request_get_status leaves a persistent collective active: a completion call still completes it. MPI 5.0, 3.8 and 6.13 */
#include "../check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Request request;
    int in = check_rank, out = -1;
    CALL(MPI_Allreduce_init(&in, &out, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    for (int round = 0; round < 3; round++) {
        int flag = 0, index = -1;
        CALL(MPI_Start(&request));
        while (!flag)
            CALL(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
        CHECK(out == check_size - 1, "the maximum is %d", out);
        CALL(MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE));
        CHECK(index == 0, "MPI_Waitany says %d", index);
    }
    CALL(MPI_Request_free(&request));
    return finish();
}
