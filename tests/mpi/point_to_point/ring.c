/* A token passes all ranks in turn, many times; each rank adds its own number. */
#include "check.h"

enum { ROUNDS = 100 };

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int next = (check_rank + 1) % check_size, previous = (check_rank + check_size - 1) % check_size;
    long token = 0;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Status status;
        if (check_rank == 0)
            CALL(MPI_Send(&token, 1, MPI_LONG, next, round, MPI_COMM_WORLD));
        CALL(MPI_Recv(&token, 1, MPI_LONG, previous, round, MPI_COMM_WORLD, &status));
        CHECK(status.MPI_SOURCE == previous && status.MPI_TAG == round, "source %d tag %d", status.MPI_SOURCE, status.MPI_TAG);
        if (check_rank != 0) {
            token += check_rank;
            CALL(MPI_Send(&token, 1, MPI_LONG, next, round, MPI_COMM_WORLD));
        }
    }
    if (check_rank == 0)
        CHECK(token == (long)ROUNDS * check_size * (check_size - 1) / 2, "token %ld at the end", token);
    return finish();
}
