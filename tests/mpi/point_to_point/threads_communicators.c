/* Eight threads, each with a communicator of its own, exchange at the same time. */
#include "pattern.h"
#include "threads.h"

enum { THREADS = 8, ROUNDS = 40, LARGEST = 20000 };

static MPI_Comm comms[THREADS];

static void *exchange(void *argument)
{
    int me = (int)(long)argument;
    int next = (check_rank + 1) % check_size, previous = (check_rank + check_size - 1) % check_size;
    char *out = malloc(LARGEST), *in = malloc(LARGEST);
    for (int round = 0; round < ROUNDS; round++) {
        size_t bytes = (size_t)(round * 997 + me * 31) % LARGEST;
        MPI_Request requests[2];
        pattern_fill(out, bytes, (unsigned)(check_rank * 10000 + me * 100 + round));
        memset(in, 0, bytes);
        CALL(MPI_Irecv(in, LARGEST, MPI_BYTE, previous, MPI_ANY_TAG, comms[me], &requests[0]));
        CALL(MPI_Isend(out, (int)bytes, MPI_BYTE, next, round, comms[me], &requests[1]));
        if (round % 2)
            CALL(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        else
            for (int flag = 0; !flag;)
                CALL(MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE));
        CHECK_PATTERN(in, bytes, (unsigned)(previous * 10000 + me * 100 + round));
        if (round % 10 == 0) {
            int sum = 0, one = 1;
            CALL(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comms[me]));
            CHECK(sum == check_size, "sum %d", sum);
        }
    }
    free(out);
    free(in);
    return NULL;
}

int main(int argc, char **argv)
{
    start_threads(&argc, &argv);
    run_threads(THREADS, comms, exchange);
    return finish();
}
