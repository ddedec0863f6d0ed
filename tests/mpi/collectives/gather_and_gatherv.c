/*
 * One rank calls MPI_Gather and the others MPI_Gatherv, with equal blocks: that is no collective
 * call, and every rank that waits for it says what the others have called. The first argument is
 * the root, the second the number of right calls before, or "barrier" for another one, or
 * "nonblocking".
 */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int counts[16], places[16], all[16], own = check_rank;
    int root = atoi(argv[1]) % check_size;
    const char *before = argc > 2 ? argv[2] : "";
    int nonblocking = strcmp(before, "nonblocking") == 0;
    for (int i = 0; i < check_size; i++)
        counts[i] = 1, places[i] = i;
    for (int i = 0; i < atoi(before); i++)
        CALL(MPI_Gatherv(&own, 1, MPI_INT, all, counts, places, MPI_INT, root, MPI_COMM_WORLD));
    if (strcmp(before, "barrier") == 0)
        CALL(MPI_Barrier(MPI_COMM_WORLD));
    MPI_Request request = MPI_REQUEST_NULL;
    if (check_rank == 0 && nonblocking)
        MPI_Igather(&own, 1, MPI_INT, all, 1, MPI_INT, root, MPI_COMM_WORLD, &request);
    else if (check_rank == 0)
        MPI_Gather(&own, 1, MPI_INT, all, 1, MPI_INT, root, MPI_COMM_WORLD);
    else if (nonblocking)
        MPI_Igatherv(&own, 1, MPI_INT, all, counts, places, MPI_INT, root, MPI_COMM_WORLD,
                     &request);
    else
        MPI_Gatherv(&own, 1, MPI_INT, all, counts, places, MPI_INT, root, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    return finish();
}
