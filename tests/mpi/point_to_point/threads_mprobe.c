/* Threads race with matched probes for the same messages: each message is received exactly once and whole. MPI 5.0, 3.8.2 */
#include "pattern.h"
#include <pthread.h>

enum { THREADS = 4, EACH = 150, LARGEST = 9000 };

static int taken[THREADS * EACH];

static void *receive(void *argument)
{
    int me = (int)(long)argument;
    char *data = malloc(LARGEST);
    for (int i = 0; i < EACH; i++) {
        MPI_Message message;
        MPI_Status status;
        int count, flag = 0, number;
        if ((me + i) % 2)
            CALL(MPI_Mprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status));
        else
            while (!flag)
                CALL(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status));
        CALL(MPI_Get_count(&status, MPI_BYTE, &count));
        CALL(MPI_Mrecv(data, count, MPI_BYTE, &message, &status));
        memcpy(&number, data, sizeof number);
        REQUIRE(number >= 0 && number < THREADS * EACH, "message number %d", number);
        CHECK(status.MPI_TAG == number, "tag %d of message %d", status.MPI_TAG, number);
        CHECK_PATTERN(data + sizeof number, (size_t)count - sizeof number, (unsigned)number);
        __atomic_add_fetch(&taken[number], 1, __ATOMIC_RELAXED);
    }
    free(data);
    return NULL;
}

static void *send(void *argument)
{
    int me = (int)(long)argument;
    char *data = malloc(LARGEST);
    for (int i = 0; i < EACH; i++) {
        int number = me * EACH + i;
        size_t bytes = sizeof number + (size_t)(number * 37) % (LARGEST - 8);
        memcpy(data, &number, sizeof number);
        pattern_fill(data + sizeof number, bytes - sizeof number, (unsigned)number);
        CALL(MPI_Send(data, (int)bytes, MPI_BYTE, 1, number, MPI_COMM_WORLD));
    }
    free(data);
    return NULL;
}

int main(int argc, char **argv)
{
    start_threads(&argc, &argv);
    pthread_t threads[THREADS];
    if (check_rank < 2) {
        for (long i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, check_rank == 0 ? send : receive, (void *)i);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    }
    if (check_rank == 1)
        for (int i = 0; i < THREADS * EACH; i++)
            CHECK(taken[i] == 1, "message %d was received %d times", i, taken[i]);
    return finish();
}
