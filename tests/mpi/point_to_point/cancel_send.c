/*
 * A send whose message has not been matched can be cancelled, and then it never arrives. MPI 5.0, 3.8.4
 *
 * A library may answer that it was too late (the user must then receive the message), so the receiver learns from the sender.
 * With an argument every cancel must succeed, for large messages as well.
 */
#include "pattern.h"

static int cancelled_here;

static void one(int bytes, int tag)
{
    char *data = calloc(1, (size_t)bytes + 1);
    MPI_Request request;
    MPI_Status status;
    int cancelled = -1, flag;
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) {
        CALL(MPI_Isend(data, bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &request));
        CALL(MPI_Cancel(&request));
        CALL(MPI_Wait(&request, &status));
        CALL(MPI_Test_cancelled(&status, &cancelled));
        cancelled_here += cancelled;
        CALL(MPI_Send(&cancelled, 1, MPI_INT, 1, 1000, MPI_COMM_WORLD));
        CALL(MPI_Send(&tag, 1, MPI_INT, 1, tag, MPI_COMM_WORLD)); /* what follows must not be hurt */
    } else if (check_rank == 1) {
        int follower = -1;
        CALL(MPI_Recv(&cancelled, 1, MPI_INT, 0, 1000, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (!cancelled)
            CALL(MPI_Recv(data, bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CALL(MPI_Recv(&follower, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(follower == tag, "%d instead of the message after the cancelled one", follower);
        CALL(MPI_Iprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag, "a cancelled message can still be probed");
    }
    free(data);
}

/* A message to the own process that waits to be received is taken back before MPI_Cancel returns. */
static void own(int bytes)
{
    char *data = calloc(1, (size_t)bytes + 1);
    MPI_Request request;
    MPI_Status status;
    int flag = 0, cancelled = 0;
    CALL(MPI_Issend(data, bytes, MPI_BYTE, 0, 3, MPI_COMM_SELF, &request));
    CALL(MPI_Probe(0, 3, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    CALL(MPI_Cancel(&request));
    CALL(MPI_Request_get_status(request, &flag, &status));
    REQUIRE(flag, "the cancelled send of %d bytes is not complete", bytes);
    CALL(MPI_Test_cancelled(&status, &cancelled));
    CHECK(cancelled, "the send of %d bytes was not cancelled", bytes);
    CALL(MPI_Request_free(&request));
    CALL(MPI_Iprobe(0, 3, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag, "a cancelled message can still be probed");
    free(data);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    static const int sizes[] = {0, 8, 1000, 20000, 1000000};
    for (int round = 0; round < 10; round++)
        for (int i = 0; i < (argc > 1 ? 5 : 3); i++)
            one(sizes[i], round * 5 + i);
    for (int i = 0; argc > 1 && i < 5; i++)
        own(sizes[i]);
    if (argc > 1 && check_rank == 0) /* our own promise: unmatched sends are cancelled */
        CHECK(cancelled_here == 50, "only %d of 50 unmatched sends were cancelled", cancelled_here);
    return finish();
}
