/* A call before MPI_Init or after MPI_Finalize ends the program with a sentence, not with a signal. */
#include "check.h"

int main(int argc, char **argv)
{
    if (!strcmp(argv[1], "before"))
        MPI_Barrier(MPI_COMM_WORLD);
    start(&argc, &argv);
    MPI_Finalize();
    if (!strcmp(argv[1], "after"))
        MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(argv[1], "twice"))
        MPI_Init(&argc, &argv);
    return verdict();
}
