/* One thread frees the datatype of a receive in which another thread waits, and makes others in its place: the receive ends as it began.
   The other rank tells when the call has started. MPI 5.0, 5.1.9 and 11.6 */
#include "check.h"
#include <pthread.h>

enum { ROUNDS = 400, LARGE = 20000 };

static MPI_Datatype type;
static MPI_Comm waiting;
static pthread_barrier_t meeting;

static MPI_Datatype every_second(int count)
{
    MPI_Datatype made;
    CALL(MPI_Type_vector(count, 1, 2, MPI_INT, &made));
    CALL(MPI_Type_commit(&made));
    return made;
}

/* Rank 0: says that it has come, and waits for elements of the type. */
static void *receiver(void *unused)
{
    static int into[2 * LARGE];
    for (int i = 0; i < ROUNDS; i++) {
        int count = i % 2 ? LARGE : 10;
        memset(into, 0, sizeof into);
        pthread_barrier_wait(&meeting);
        CALL(MPI_Sendrecv(&i, 1, MPI_INT, 1, 0, into, 1, type, 1, 1, waiting, MPI_STATUS_IGNORE));
        for (int j = 0; j < 2 * count; j++)
            if (!CHECK(into[j] == (j % 2 ? 0 : i + j), "round %d: element %d is %d", i, j, into[j]))
                break;
        pthread_barrier_wait(&meeting);
    }
    return unused;
}

/* Rank 0 beside it: frees the type as soon as rank 1 knows that the call has started. */
static void freer(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        int token;
        MPI_Datatype others[4];
        type = every_second(i % 2 ? LARGE : 10);
        pthread_barrier_wait(&meeting);
        CALL(MPI_Recv(&token, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CALL(MPI_Type_free(&type));
        for (int j = 0; j < 4; j++)
            others[j] = every_second(3 + j);
        CALL(MPI_Send(&token, 1, MPI_INT, 1, 3, MPI_COMM_WORLD));
        for (int j = 0; j < 4; j++)
            CALL(MPI_Type_free(&others[j]));
        pthread_barrier_wait(&meeting);
    }
}

static void partner(void)
{
    static int data[LARGE];
    for (int i = 0; i < ROUNDS; i++) {
        int token, count = i % 2 ? LARGE : 10;
        for (int j = 0; j < count; j++)
            data[j] = i + 2 * j;
        CALL(MPI_Recv(&token, 1, MPI_INT, 0, 0, waiting, MPI_STATUS_IGNORE));
        CALL(MPI_Send(&token, 1, MPI_INT, 0, 2, MPI_COMM_WORLD));
        CALL(MPI_Recv(&token, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CALL(MPI_Send(data, count, MPI_INT, 0, 1, waiting));
    }
}

int main(int argc, char **argv)
{
    start_threads(&argc, &argv);
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &waiting));
    if (check_rank == 0) {
        pthread_t thread;
        pthread_barrier_init(&meeting, NULL, 2);
        pthread_create(&thread, NULL, receiver, NULL);
        freer();
        pthread_join(thread, NULL);
    } else {
        partner();
    }
    CALL(MPI_Comm_free(&waiting));
    return finish();
}
