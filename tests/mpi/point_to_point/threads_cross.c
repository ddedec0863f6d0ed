/* Two threads of each rank block on a message that only the other thread's message brings. MPI 5.0, 11.6 */
#include "pattern.h"
#include <pthread.h>

enum { ROUNDS = 200 };

static int peer;

/* Receives first, then answers. */
static void *answer(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        int value = -1;
        CALL(MPI_Recv(&value, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(value == i, "question %d, expected %d", value, i);
        value += 1000;
        CALL(MPI_Ssend(&value, 1, MPI_INT, peer, 2, MPI_COMM_WORLD));
    }
    return NULL;
}

static void *ask(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        int value = -1;
        CALL(MPI_Ssend(&i, 1, MPI_INT, peer, 1, MPI_COMM_WORLD));
        CALL(MPI_Recv(&value, 1, MPI_INT, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(value == i + 1000, "answer %d, expected %d", value, i + 1000);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    start_threads(&argc, &argv);
    peer = check_size - 1 - check_rank; /* with one rank: itself */
    pthread_t first, second;
    pthread_create(&first, NULL, answer, NULL);
    pthread_create(&second, NULL, ask, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return finish();
}
