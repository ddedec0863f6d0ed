/* Threads with a stack of 256 KiB can make every kind of call. */
#include "pattern.h"
#include <pthread.h>

enum { BYTES = 300000 };

static void *work(void *unused)
{
    (void)unused;
    int peer = check_size - 1 - check_rank, sum;
    char *out = malloc(BYTES), *in = malloc(BYTES);
    MPI_Comm comm, grid;
    MPI_Datatype type;
    pattern_fill(out, BYTES, (unsigned)check_rank);
    CALL(MPI_Sendrecv(out, BYTES, MPI_BYTE, peer, 1, in, BYTES, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_PATTERN(in, BYTES, (unsigned)peer);
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CALL(MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    CALL(MPI_Cart_create(comm, 1, &check_size, (int[]){1}, 0, &grid));
    CALL(MPI_Type_vector(100, 3, 7, MPI_INT, &type));
    CALL(MPI_Type_commit(&type));
    CALL(MPI_Sendrecv_replace(in, 1, type, peer, 2, peer, 2, grid, MPI_STATUS_IGNORE));
    CALL(MPI_Type_free(&type));
    CALL(MPI_Comm_free(&grid));
    CALL(MPI_Comm_free(&comm));
    free(out);
    free(in);
    return NULL;
}

int main(int argc, char **argv)
{
    start_threads(&argc, &argv);
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 * 1024);
    pthread_create(&thread, &attributes, work, NULL);
    pthread_join(thread, NULL);
    return finish();
}
