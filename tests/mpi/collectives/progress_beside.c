/*
 * A rank whose partners always come first to a collective never waits in it, but still moves the
 * messages that it has under way: blocking, nonblocking and persistent calls. MPI 5.0, 3.5
 */
#include <unistd.h>

#include "../check.h"

enum { MESSAGES = 1000, LENGTH = 2500 };

static int data[MESSAGES][LENGTH];
static MPI_Request messages[MESSAGES];

static void sum(int form, int *mine, int *all, MPI_Request *persistent)
{
    MPI_Request request;
    if (form == 0) {
        CALL(MPI_Allreduce(mine, all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    } else if (form == 1) {
        CALL(MPI_Iallreduce(mine, all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &request));
        CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        CALL(MPI_Start(persistent));
        CALL(MPI_Wait(persistent, MPI_STATUS_IGNORE));
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    for (int form = 0; form < 3; form++) {
        int done = 1, all = 0, rounds = 0;
        int sends = check_size > 1 && check_rank == 0, receives = check_rank == 1;
        MPI_Comm comm = MPI_COMM_WORLD;
        MPI_Request again = MPI_REQUEST_NULL;
        if (form == 2)
            CALL(MPI_Allreduce_init(&done, &all, 1, MPI_INT, MPI_MIN, comm, MPI_INFO_NULL, &again));
        for (int i = 0; i < MESSAGES; i++) {
            for (int j = 0; sends && j < LENGTH; j++)
                data[i][j] = i + j + form;
            messages[i] = MPI_REQUEST_NULL;
            if (sends)
                CALL(MPI_Isend(data[i], LENGTH, MPI_INT, 1, form, comm, &messages[i]));
            if (receives)
                CALL(MPI_Irecv(data[i], LENGTH, MPI_INT, 0, form, comm, &messages[i]));
        }
        /* Rank 1 comes late each time, and asks for its own messages at the end only. */
        while (!all) {
            if (check_rank == 0)
                CALL(MPI_Testall(MESSAGES, messages, &done, MPI_STATUSES_IGNORE));
            if (check_rank == 1)
                usleep(200);
            sum(form, &done, &all, &again);
            REQUIRE(++rounds < 20000, "form %d: the messages do not arrive", form);
        }
        CALL(MPI_Waitall(MESSAGES, messages, MPI_STATUSES_IGNORE));
        for (int i = 0; receives && i < MESSAGES; i++)
            CHECK(data[i][0] == i + form && data[i][LENGTH - 1] == i + LENGTH - 1 + form,
                  "form %d, message %d: %d", form, i, data[i][0]);
        if (form == 2)
            CALL(MPI_Request_free(&again));
    }
    return finish();
}
