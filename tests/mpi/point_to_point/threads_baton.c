/*
 * One thread tests once, without success, and then only waits for the other thread, which receives: whoever looked at the network for
 * a moment must hand that duty on. MPI 5.0, 11.6.1 and 3.7.4
 */
#include "check.h"
#include <pthread.h>
#include <unistd.h>

enum { ROUNDS = 300 };

static void *receive(void *argument)
{
    int got = -1;
    CALL(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(got == (int)(long)argument, "received %d", got);
    return NULL;
}

int main(int argc, char **argv)
{
    start_threads(&argc, &argv);
    int partner = check_rank ^ 1;
    for (int round = 0; round < ROUNDS; round++) {
        if (check_rank % 2 == 0) {
            usleep((useconds_t)(round % 5 * 200));
            CALL(MPI_Send(&round, 1, MPI_INT, partner, 1, MPI_COMM_WORLD));
        } else {
            pthread_t thread;
            int never = 0, flag = 1;
            MPI_Request request;
            CALL(MPI_Irecv(&never, 1, MPI_INT, partner, 2, MPI_COMM_WORLD, &request));
            pthread_create(&thread, NULL, receive, (void *)(long)round);
            for (int tests = 0; tests < 1 + round % 50; tests++)
                CALL(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
            CHECK(!flag, "round %d: nobody has sent", round);
            pthread_join(thread, NULL);
            CALL(MPI_Cancel(&request));
            CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
        CALL(MPI_Barrier(MPI_COMM_WORLD));
    }
    return finish();
}
