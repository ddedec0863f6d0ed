/* The frame of tests in which every thread has a communicator of its own. */
#ifndef TOWPATH_TESTS_THREADS_H
#define TOWPATH_TESTS_THREADS_H

#include "check.h"
#include <pthread.h>

/* Runs `work` in `count` threads at the same time, each with a duplicate of MPI_COMM_WORLD in `comms`; it is given its number. */
static void run_threads(int count, MPI_Comm *comms, void *(*work)(void *))
{
    pthread_t threads[64];
    REQUIRE(count <= 64, "%d threads", count);
    for (int i = 0; i < count; i++)
        CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    for (long i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < count; i++)
        CALL(MPI_Comm_free(&comms[i]));
}

#endif
