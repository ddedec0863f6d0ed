/* Hundreds of nonblocking collectives on one communicator, all begun before the first is completed. MPI 5.0, 6.12 */
#include "../check.h"

enum { MANY = 600, LENGTH = 5 };

static int in[MANY][LENGTH], out[MANY][LENGTH];
static MPI_Request requests[MANY];

/* Completes from the last to the first, by Waitall, or by tests alone. */
static void complete(int way)
{
    int flag = 0;
    for (int i = MANY - 1; way == 0 && i >= 0; i--)
        CALL(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    if (way == 1)
        CALL(MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE));
    while (way == 2 && !flag)
        CALL(MPI_Testall(MANY, requests, &flag, MPI_STATUSES_IGNORE));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    for (int way = 0; way < 3; way++) {
        for (int i = 0; i < MANY; i++) {
            for (int j = 0; j < LENGTH; j++) {
                in[i][j] = i * 10 + j + check_rank;
                out[i][j] = i % 3 == 1 && check_rank == i % check_size ? in[i][j] : -1;
            }
            if (i % 3 == 0)
                CALL(MPI_Iallreduce(in[i], out[i], LENGTH, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]));
            else if (i % 3 == 1)
                CALL(MPI_Ibcast(out[i], LENGTH, MPI_INT, i % check_size, MPI_COMM_WORLD, &requests[i]));
            else
                CALL(MPI_Iscan(in[i], out[i], LENGTH, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &requests[i]));
        }
        complete(way);
        for (int i = 0; i < MANY; i++)
            for (int j = 0; j < LENGTH; j++) {
                int base = i * 10 + j, n = check_size;
                int expected = i % 3 == 0 ? n * base + n * (n - 1) / 2 : i % 3 == 1 ? base + i % n : base + check_rank;
                CHECK(out[i][j] == expected, "way %d, collective %d: %d instead of %d", way, i, out[i][j], expected);
            }
    }
    return finish();
}
