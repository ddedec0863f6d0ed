/*
 * Six threads, each with a communicator of its own, call blocking collectives at the same time, and send to each other between them:
 * a thread that waits for other processes must be woken while another thread of its process polls. MPI 5.0, 11.6.2 and 6.14
 */
#include "pattern.h"
#include "threads.h"

enum { THREADS = 6, ROUNDS = 150, LARGEST = 20000 };

static MPI_Comm comms[THREADS];

static void *work(void *argument)
{
    int me = (int)(long)argument, next = (check_rank + 1) % check_size, previous = (check_rank + check_size - 1) % check_size;
    MPI_Comm comm = comms[me];
    char *out = malloc(LARGEST), *in = malloc((size_t)LARGEST * (size_t)check_size);
    for (int round = 0; round < ROUNDS; round++) {
        int bytes = round % 7 == 6 ? LARGEST : (round * 13 + me) % 100, root = round % check_size;
        unsigned stream = (unsigned)(me * 100000 + round * 100);
        long mine = check_rank + round, sum = 0;
        CALL(MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, comm));
        CHECK(sum == (long)check_size * round + (long)check_size * (check_size - 1) / 2, "thread %d round %d: %ld", me, round, sum);
        pattern_fill(out, (size_t)bytes, stream + (unsigned)check_rank);
        CALL(MPI_Allgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, comm));
        for (int r = 0; r < check_size; r++)
            CHECK_PATTERN(in + (size_t)r * (size_t)bytes, (size_t)bytes, stream + (unsigned)r);
        CALL(MPI_Sendrecv(out, bytes, MPI_BYTE, next, me, in, bytes, MPI_BYTE, previous, me, comm, MPI_STATUS_IGNORE));
        CHECK_PATTERN(in, (size_t)bytes, stream + (unsigned)previous);
        if (check_rank == root)
            pattern_fill(in, (size_t)bytes, stream + 99);
        CALL(MPI_Bcast(in, bytes, MPI_BYTE, root, comm));
        CHECK_PATTERN(in, (size_t)bytes, stream + 99);
        CALL(MPI_Barrier(comm));
    }
    free(out);
    free(in);
    return NULL;
}

int main(int argc, char **argv)
{
    start_threads(&argc, &argv);
    run_threads(THREADS, comms, work);
    return finish();
}
