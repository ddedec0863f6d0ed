/*
 * Ranks whose counts do not fit together: the job ends with a sentence, or the call with an error; no later call gets wrong data.
 * One rank broadcasts several chunks, the others expect a few bytes; then it broadcasts again.
 */
#include "check.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    static char buffer[300000];
    int chunks = check_size == 2 ? 30000 : 300000;
    MPI_Bcast(buffer, 5000, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Bcast(buffer, check_rank == 0 ? chunks : 100, MPI_BYTE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) {
        int value = check_rank == 0 ? i + 7 : -1;
        int code = MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
        CHECK(code != MPI_SUCCESS || value == i + 7, "value %d", value);
    }
    return finish();
}
