/* No rank leaves a barrier before the last has entered it, in all three forms. MPI 5.0, 6.3 */
#include "../check.h"
#include <time.h>

/* Everyone but `late` enters first and tells it; `late` enters only then. Nobody may have left before. */
static void late_one(MPI_Comm comm, int late, int persistent)
{
    int rank, size, flag = 0;
    MPI_Request request;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (persistent)
        CALL(MPI_Barrier_init(comm, MPI_INFO_NULL, &request));
    for (int round = 0; round < 3; round++) {
        if (rank == late)
            for (int i = 1; i < size; i++)
                CALL(MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, 9, comm, MPI_STATUS_IGNORE));
        if (persistent)
            CALL(MPI_Start(&request));
        else
            CALL(MPI_Ibarrier(comm, &request));
        if (rank != late) {
            for (int i = 0; i < 50; i++) {
                CALL(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
                CHECK(!flag, "left the barrier before rank %d of %d entered it", late, size);
            }
            CALL(MPI_Send(NULL, 0, MPI_INT, late, 9, comm));
        }
        CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    if (persistent)
        CALL(MPI_Request_free(&request));
}

/* Seconds of the machine's clock, which all ranks share: MPI_Wtime may differ from rank to rank. */
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Many in a row, then some that one rank enters late. */
static void timed(void)
{
    for (int round = 0; round < 300; round++)
        CALL(MPI_Barrier(MPI_COMM_WORLD));
    for (int round = 0; round < 5; round++) {
        double entered, left, latest;
        if (check_rank == round % check_size)
            for (double until = now() + 0.003; now() < until;)
                ;
        entered = now();
        CALL(MPI_Barrier(MPI_COMM_WORLD));
        left = now();
        CALL(MPI_Allreduce(&entered, &latest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
        CHECK(left >= latest, "left at %f, but a rank entered at %f", left, latest);
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm reversed;
    CALL(MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &reversed));
    for (int late = 0; late < check_size; late++)
        for (int persistent = 0; persistent < 2; persistent++) {
            late_one(MPI_COMM_WORLD, late, persistent);
            late_one(reversed, late, persistent);
        }
    timed();
    CALL(MPI_Barrier(MPI_COMM_SELF));
    CALL(MPI_Comm_free(&reversed));
    return finish();
}
