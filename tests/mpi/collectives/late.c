/*
 * A rank that is two seconds late for the first nonblocking collective on a communicator only
 * delays it: what the others have sent meanwhile is not taken for another call.
 */
#include <unistd.h>

#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    const int root = 1, late = 0;
    int own = check_rank + 1, sum = -1, all = check_size * (check_size + 1) / 2;
    MPI_Comm comm;
    MPI_Request request;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CALL(MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comm));
    if (check_rank == late) sleep(2);
    CALL(MPI_Ireduce(&own, &sum, 1, MPI_INT, MPI_SUM, root, comm, &request));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (check_rank == root) CHECK(sum == all, "sum %d, not %d", sum, all);
    CALL(MPI_Comm_free(&comm));
    return finish();
}
