/* Threads share one communicator and tell their messages apart by tags; one of them waits for all with MPI_Waitany. */
#include "pattern.h"
#include <pthread.h>

enum { THREADS = 6, ROUNDS = 100, BYTES = 5000 };

static void *work(void *argument)
{
    int tag = (int)(long)argument, peer = check_size - 1 - check_rank;
    char out[BYTES], in[BYTES];
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request requests[2];
        int bytes = round * 47 % BYTES, index;
        pattern_fill(out, (size_t)bytes, (unsigned)(check_rank * 1000 + tag * 100 + round));
        CALL(MPI_Irecv(in, BYTES, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &requests[0]));
        CALL(MPI_Issend(out, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &requests[1]));
        CALL(MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE));
        CALL(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        CHECK_PATTERN(in, (size_t)bytes, (unsigned)(peer * 1000 + tag * 100 + round));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    start_threads(&argc, &argv);
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return finish();
}
