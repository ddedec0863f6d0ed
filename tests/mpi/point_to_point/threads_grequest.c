/* One thread frees a generalized request while another completes it: the free function is called once, whoever comes first. MPI 5.0, 13.2 */
#include "check.h"
#include <pthread.h>

enum { ROUNDS = 100000 };

static MPI_Request current;
static int round_of_both, released;

static int query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int release(void *state)
{
    (void)state;
    __atomic_add_fetch(&released, 1, __ATOMIC_SEQ_CST);
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

/* Both threads leave here at the same time. */
static void meet(int number)
{
    __atomic_add_fetch(&round_of_both, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&round_of_both, __ATOMIC_SEQ_CST) < number)
        ;
}

static void *completer(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        meet(4 * i + 2);
        for (volatile int wait = i % 64; wait > 0; wait--)
            ;
        CALL(MPI_Grequest_complete(current));
        meet(4 * i + 4);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    start_threads(&argc, &argv);
    pthread_create(&thread, NULL, completer, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        CALL(MPI_Grequest_start(query, release, cancel, NULL, &current));
        MPI_Request mine = current;
        meet(4 * i + 2);
        CALL(MPI_Request_free(&mine));
        meet(4 * i + 4);
    }
    pthread_join(thread, NULL);
    CHECK(released == ROUNDS, "%d of %d free functions were called", released, ROUNDS);
    return finish();
}
