/* MPI_Probe and MPI_Iprobe tell source, tag and size without taking the message. MPI 5.0, 3.8.1 */
#include "pattern.h"

enum { LARGEST = 100000 };

static void sizes_by_probe(void)
{
    static const int sizes[] = {0, 4, 40, 4000, LARGEST};
    char *data = malloc(LARGEST);
    for (int i = 0; i < 5; i++) {
        MPI_Status status;
        int count, flag = 0;
        if (check_rank == 0) {
            pattern_fill(data, (size_t)sizes[i], (unsigned)i);
            CALL(MPI_Send(data, sizes[i], MPI_BYTE, 1, 10 + i, MPI_COMM_WORLD));
        } else if (check_rank == 1) {
            if (i % 2)
                CALL(MPI_Probe(MPI_ANY_SOURCE, 10 + i, MPI_COMM_WORLD, &status));
            else
                while (!flag)
                    CALL(MPI_Iprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status));
            CALL(MPI_Get_count(&status, MPI_BYTE, &count));
            CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == 10 + i && count == sizes[i], "source %d tag %d count %d", status.MPI_SOURCE,
                  status.MPI_TAG, count);
            flag = 0;
            CALL(MPI_Iprobe(0, 10 + i, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
            CHECK(flag, "the message has gone after a probe");
            CALL(MPI_Iprobe(0, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
            CHECK(!flag, "a probe found a tag that nobody sent");
            CALL(MPI_Iprobe(0, 10 + i, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
            CHECK(!flag, "a probe found the message of another communicator");
            CALL(MPI_Recv(data, count, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_PATTERN(data, (size_t)count, (unsigned)i);
            CALL(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
            CHECK(!flag, "a probe found a message that was received");
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    free(data);
}

/* Counts in units that do not divide the message, and by elements. */
static void counts(void)
{
    if (check_rank == 0) {
        char data[10] = {0};
        CALL(MPI_Send(data, 10, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
    } else if (check_rank == 1) {
        MPI_Status status;
        int count;
        char data[10];
        CALL(MPI_Probe(0, 1, MPI_COMM_WORLD, &status));
        CALL(MPI_Get_count(&status, MPI_INT, &count));
        CHECK(count == MPI_UNDEFINED, "10 bytes are %d ints", count);
        CALL(MPI_Get_count(&status, MPI_SHORT, &count));
        CHECK(count == 5, "10 bytes are %d shorts", count);
        CALL(MPI_Recv(data, 10, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
}

/* A posted receive takes its message before any probe can see it. */
static void posted_first(void)
{
    int value = 5, flag = 1;
    MPI_Request request;
    MPI_Status status;
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 1)
        CALL(MPI_Irecv(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &request));
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) {
        CALL(MPI_Send(&value, 1, MPI_INT, 1, 3, MPI_COMM_WORLD));
        CALL(MPI_Send(&value, 1, MPI_INT, 1, 4, MPI_COMM_WORLD));
    } else if (check_rank == 1) {
        CALL(MPI_Probe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        CHECK(status.MPI_TAG == 4, "the probe saw tag %d", status.MPI_TAG);
        CALL(MPI_Iprobe(0, 3, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag, "the probe saw a message that a posted receive has");
        CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CALL(MPI_Recv(&value, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    sizes_by_probe();
    counts();
    posted_first();
    return finish();
}
