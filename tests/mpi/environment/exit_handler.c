/*
 * A program that calls MPI_Finalize in a handler of atexit, as destructors of static objects do: when
 * MPI_Abort ends the job, the call does nothing and the handler runs to its end.
 *
 * Argument: the code.
 */
#include "check.h"

static void at_exit(void)
{
    int finalized = 0;
    MPI_Finalized(&finalized);
    MPI_Finalize();
    fprintf(stderr, "the handler is through, finalized %d\n", finalized);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    REQUIRE(argc == 2, "an argument is needed");
    atexit(at_exit);
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0)
        MPI_Abort(MPI_COMM_WORLD, atoi(argv[1]));
    MPI_Barrier(MPI_COMM_WORLD);
    return 0;
}
