/* Thousands of messages wait unexpected and are taken in the opposite order of tags, from all senders. */
#include "check.h"

enum { MESSAGES = 3000 };

int main(int argc, char **argv)
{
    start(&argc, &argv);
    if (check_rank != 0) {
        for (int tag = 0; tag < MESSAGES; tag++) {
            int value[2] = {check_rank, tag};
            CALL(MPI_Send(value, tag % 2 + 1, MPI_INT, 0, tag, MPI_COMM_WORLD));
        }
        CALL(MPI_Send(NULL, 0, MPI_INT, 0, MESSAGES, MPI_COMM_WORLD));
    } else {
        for (int sender = 1; sender < check_size; sender++)
            CALL(MPI_Recv(NULL, 0, MPI_INT, sender, MESSAGES, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int tag = MESSAGES - 1; tag >= 0; tag--)
            for (int i = 1; i < check_size; i++) {
                int value[2] = {-1, tag}, count;
                MPI_Status status;
                CALL(MPI_Recv(value, 2, MPI_INT, tag % 3 ? i : MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status));
                CALL(MPI_Get_count(&status, MPI_INT, &count));
                CHECK(count == tag % 2 + 1 && value[0] == status.MPI_SOURCE && value[1] == tag, "tag %d: count %d value %d %d source %d", tag,
                      count, value[0], value[1], status.MPI_SOURCE);
            }
    }
    return finish();
}
