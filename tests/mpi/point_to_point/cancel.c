/* A receive that has not matched can be cancelled; one that has matched ends as usual. MPI 5.0, 3.8.4 */
#include "check.h"

static void cancel_receive(int persistent)
{
    int value = 5, flag = 0;
    MPI_Request request;
    MPI_Status status;
    if (persistent) {
        CALL(MPI_Recv_init(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_SELF, &request));
        CALL(MPI_Start(&request));
    } else
        CALL(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_SELF, &request));
    CALL(MPI_Cancel(&request));
    CALL(MPI_Wait(&request, &status));
    CALL(MPI_Test_cancelled(&status, &flag));
    CHECK(flag, "the receive was not cancelled");
    CHECK(value == 5, "a cancelled receive wrote %d", value);
    /* A message sent afterwards does not find the cancelled receive. */
    MPI_Request send;
    int sent = 9, received = 0;
    CALL(MPI_Isend(&sent, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &send));
    CHECK(value == 5, "a cancelled receive took a message");
    CALL(MPI_Recv(&received, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &status));
    CALL(MPI_Wait(&send, MPI_STATUS_IGNORE));
    CALL(MPI_Test_cancelled(&status, &flag));
    CHECK(received == 9 && !flag, "received %d, cancelled %d", received, flag);
    if (persistent) {
        /* After a cancelled round it can be started again. */
        CALL(MPI_Start(&request));
        CALL(MPI_Send(&sent, 1, MPI_INT, 0, 1, MPI_COMM_SELF));
        CALL(MPI_Wait(&request, &status));
        CALL(MPI_Test_cancelled(&status, &flag));
        CHECK(value == 9 && !flag, "second round: value %d, cancelled %d", value, flag);
        CALL(MPI_Request_free(&request));
    }
}

/* Too late: the message is there before the cancel. */
static void cancel_matched(void)
{
    int value = 0, sent = 3, flag = 1;
    MPI_Request request;
    MPI_Status status;
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 1)
        CALL(MPI_Irecv(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &request));
    if (check_rank == 0)
        CALL(MPI_Ssend(&sent, 1, MPI_INT, 1, 2, MPI_COMM_WORLD));
    if (check_rank == 1) {
        CALL(MPI_Request_get_status(request, &flag, &status));
        while (!flag)
            CALL(MPI_Request_get_status(request, &flag, &status));
        CALL(MPI_Cancel(&request));
        CALL(MPI_Wait(&request, &status));
        CALL(MPI_Test_cancelled(&status, &flag));
        CHECK(!flag && value == 3, "cancelled %d value %d", flag, value);
    }
}

/* Cancelled receives in the middle of a queue leave the others in order. */
static void cancel_some(void)
{
    enum { N = 20 };
    int values[N];
    MPI_Request requests[N];
    MPI_Status status;
    int flag;
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 1)
        for (int i = 0; i < N; i++) {
            values[i] = -1;
            CALL(MPI_Irecv(&values[i], 1, MPI_INT, i % 2 ? 0 : MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &requests[i]));
        }
    if (check_rank == 1)
        for (int i = 0; i < N; i += 3) {
            CALL(MPI_Cancel(&requests[i]));
            CALL(MPI_Wait(&requests[i], &status));
            CALL(MPI_Test_cancelled(&status, &flag));
            CHECK(flag, "receive %d was not cancelled", i);
        }
    MPI_Barrier(MPI_COMM_WORLD);
    int next = 0;
    for (int i = 0; i < N; i++)
        if (i % 3) {
            if (check_rank == 0)
                CALL(MPI_Send(&next, 1, MPI_INT, 1, 4, MPI_COMM_WORLD));
            if (check_rank == 1) {
                CALL(MPI_Wait(&requests[i], &status));
                CHECK(values[i] == next, "receive %d got %d, expected %d", i, values[i], next);
            }
            next++;
        }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    cancel_receive(0);
    cancel_receive(1);
    if (check_size > 1) {
        cancel_matched();
        cancel_some();
    }
    return finish();
}
