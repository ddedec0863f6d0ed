/*
 * A program that calls MPI_Finalize in a handler of atexit, as destructors of static objects do:
 * when MPI_Abort ends it, the call does nothing and the handler runs to its end.
 */
#include "alone.h"

enum { CODE = 7 };

static void at_exit(void)
{
    int finalized = 0;
    MPI_Finalized(&finalized);
    MPI_Finalize();
    fprintf(stderr, "the handler is through, finalized %d\n", finalized);
}

static void abort_alone(void)
{
    MPI_Init(NULL, NULL);
    atexit(at_exit);
    MPI_Abort(MPI_COMM_WORLD, CODE);
}

int main(int argc, char **argv)
{
    char alone[] = "alone";

    if (argc == 2)
        abort_alone();
    struct ended ended = run_alone(alone);
    start(&argc, &argv);
    REQUIRE(ended_with(&ended, CODE), "the process ended with status %#x: %s", ended.status, ended.said);
    REQUIRE(strstr(ended.said, "the handler is through, finalized 1"), "the process said: %s", ended.said);
    return finish();
}
