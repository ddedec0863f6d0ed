/* MPI_Testall completes persistent collectives beside nonblocking ones. MPI 5.0, 3.7.5 and 6.13 */
#include "../check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Request requests[2];
    int in = check_rank, first = -1, second = -1;
    CALL(MPI_Allreduce_init(&in, &first, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    for (int round = 0; round < 10; round++) {
        int flag = 0;
        in = check_rank + round;
        CALL(MPI_Iallreduce(&in, &second, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]));
        CALL(MPI_Start(&requests[0]));
        while (!flag)
            CALL(MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE));
        CHECK(first == check_size - 1 + round, "round %d: the maximum is %d", round, first);
        CHECK(second == check_size * (check_size - 1) / 2 + check_size * round, "round %d: the sum is %d", round, second);
        CHECK(requests[0] != MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL, "round %d: the wrong request is freed", round);
    }
    CALL(MPI_Request_free(&requests[0]));
    return finish();
}
