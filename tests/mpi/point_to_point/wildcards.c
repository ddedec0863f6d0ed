/* MPI_ANY_SOURCE and MPI_ANY_TAG take what comes, say what it was, and never take a message of another communicator. MPI 5.0, 3.2.4 */
#include "check.h"

enum { EACH = 200 };

static void senders(MPI_Comm other)
{
    for (int i = 0; i < EACH; i++) {
        int value[2] = {check_rank, i};
        CALL(MPI_Send(value, 2, MPI_INT, 0, i % 7, MPI_COMM_WORLD));
        if (i % 10 == 0)
            CALL(MPI_Send(&i, 1, MPI_INT, 0, i % 7, other));
    }
}

static void receiver(MPI_Comm other)
{
    int *next = calloc((size_t)check_size, sizeof *next);
    for (int i = 0; i < EACH * (check_size - 1); i++) {
        int value[2] = {-1, -1}, count;
        MPI_Status status;
        CALL(MPI_Recv(value, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        CALL(MPI_Get_count(&status, MPI_INT, &count));
        REQUIRE(value[0] > 0 && value[0] < check_size, "sender %d", value[0]);
        CHECK(count == 2 && status.MPI_SOURCE == value[0] && status.MPI_TAG == value[1] % 7, "count %d source %d tag %d value %d %d",
              count, status.MPI_SOURCE, status.MPI_TAG, value[0], value[1]);
        CHECK(value[1] == next[value[0]], "message %d of rank %d, expected %d", value[1], value[0], next[value[0]]);
        next[value[0]]++;
    }
    for (int sender = 1; sender < check_size; sender++)
        for (int i = 0; i < EACH; i += 10) {
            int value = -1;
            CALL(MPI_Recv(&value, 1, MPI_INT, sender, MPI_ANY_TAG, other, MPI_STATUS_IGNORE));
            CHECK(value == i, "value %d from %d on the other communicator, expected %d", value, sender, i);
        }
    free(next);
}

/* One tag from any source, then any tag from one source, with messages that must be left alone in between. */
static void half_wildcards(void)
{
    int value = check_rank;
    if (check_rank != 0) {
        CALL(MPI_Send(&value, 1, MPI_INT, 0, 100, MPI_COMM_WORLD));
        CALL(MPI_Send(&value, 1, MPI_INT, 0, 101, MPI_COMM_WORLD));
        return;
    }
    int sum = 0;
    MPI_Status status;
    for (int i = 1; i < check_size; i++) {
        CALL(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 101, MPI_COMM_WORLD, &status));
        CHECK(status.MPI_TAG == 101 && status.MPI_SOURCE == value, "tag %d source %d value %d", status.MPI_TAG, status.MPI_SOURCE, value);
        sum += value;
    }
    CHECK(sum == check_size * (check_size - 1) / 2, "sum %d", sum);
    for (int sender = check_size - 1; sender > 0; sender--) {
        CALL(MPI_Recv(&value, 1, MPI_INT, sender, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        CHECK(status.MPI_TAG == 100 && value == sender, "tag %d value %d from %d", status.MPI_TAG, value, sender);
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm other;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &other));
    if (check_rank == 0)
        receiver(other);
    else
        senders(other);
    MPI_Barrier(MPI_COMM_WORLD);
    half_wildcards();
    CALL(MPI_Comm_free(&other));
    return finish();
}
