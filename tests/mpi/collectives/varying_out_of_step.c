/*
 * One rank calls MPI_Barrier where the others call MPI_Gatherv or MPI_Scatterv with a long block
 * for it or of it: it gets an error, and so does the rank that waits for the block, which is sent
 * apart from what they say in shared memory. Right calls on another communicator follow.
 */
#include "check.h"

enum { LONG = 300000 };

static char from[LONG], into[LONG];

/* Rank 1 has or gets the long block, rank 0 is the root. */
static int call(int scatters, int barrier, MPI_Comm comm)
{
    int counts[16] = {0, LONG}, places[16] = {0}, own = check_rank == 1 ? LONG : 0;
    if (barrier)
        return MPI_Barrier(comm);
    if (scatters)
        return MPI_Scatterv(from, counts, places, MPI_BYTE, into, own, MPI_BYTE, 0, comm);
    return MPI_Gatherv(from, own, MPI_BYTE, into, counts, places, MPI_BYTE, 0, comm);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    memset(from, 1, LONG);
    for (int scatters = 0; scatters < 2; scatters++) {
        int waits = !scatters, odd = !waits;
        MPI_Comm comm;
        CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        CALL(call(scatters, 0, comm));
        int class = class_of(call(scatters, check_rank == odd, comm));
        int expected = check_rank == waits || check_rank == odd;
        CHECK(!expected || class == MPI_ERR_OTHER, "scatters %d: class %d", scatters, class);
        CALL(MPI_Barrier(MPI_COMM_WORLD));
    }
    memset(into, 0, LONG);
    CALL(call(0, 0, MPI_COMM_WORLD));
    CHECK(check_rank || into[LONG - 1] == 1, "the last byte is %d", into[LONG - 1]);
    return finish();
}
