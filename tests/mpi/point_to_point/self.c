/* A rank sends to itself: every mode, any size, posted before and after, probed, on MPI_COMM_WORLD and MPI_COMM_SELF. */
#include "pattern.h"

enum { LARGEST = 3000000 };

static void both(MPI_Comm comm, int me, int bytes, char *out, char *in)
{
    MPI_Request requests[2];
    MPI_Status status;
    int count;
    pattern_fill(out, (size_t)bytes, 1);
    for (int receive_first = 0; receive_first < 2; receive_first++)
        for (int synchronous = 0; synchronous < 2; synchronous++) {
            memset(in, 0, (size_t)bytes);
            if (receive_first)
                CALL(MPI_Irecv(in, LARGEST, MPI_BYTE, MPI_ANY_SOURCE, 3, comm, &requests[0]));
            if (synchronous)
                CALL(MPI_Issend(out, bytes, MPI_BYTE, me, 3, comm, &requests[1]));
            else
                CALL(MPI_Isend(out, bytes, MPI_BYTE, me, 3, comm, &requests[1]));
            if (!receive_first) {
                CALL(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status));
                CALL(MPI_Get_count(&status, MPI_BYTE, &count));
                CHECK(count == bytes && status.MPI_SOURCE == me, "probe: %d of %d from %d", count, bytes, status.MPI_SOURCE);
                CALL(MPI_Irecv(in, LARGEST, MPI_BYTE, me, 3, comm, &requests[0]));
            }
            CALL(MPI_Wait(&requests[0], &status));
            CALL(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
            CALL(MPI_Get_count(&status, MPI_BYTE, &count));
            CHECK(count == bytes && status.MPI_SOURCE == me && status.MPI_TAG == 3, "%d of %d from %d", count, bytes, status.MPI_SOURCE);
            CHECK_PATTERN(in, (size_t)bytes, 1);
        }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    static const int sizes[] = {0, 1, 63, 4096, 66000, LARGEST};
    char *out = malloc(LARGEST), *in = malloc(LARGEST);
    for (int i = 0; i < 6; i++) {
        both(MPI_COMM_WORLD, check_rank, sizes[i], out, in);
        both(MPI_COMM_SELF, 0, sizes[i], out, in);
    }
    /* Order of messages to oneself. */
    MPI_Request requests[100];
    int values[100];
    for (int i = 0; i < 100; i++) {
        values[i] = i;
        CALL(MPI_Isend(&values[i], 1, MPI_INT, check_rank, i % 2, MPI_COMM_WORLD, &requests[i]));
    }
    for (int i = 0; i < 100; i++) {
        int value = -1;
        CALL(MPI_Recv(&value, 1, MPI_INT, check_rank, i < 50 ? 1 : 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(value == (i < 50 ? 2 * i + 1 : 2 * (i - 50)), "value %d at %d", value, i);
    }
    CALL(MPI_Waitall(100, requests, MPI_STATUSES_IGNORE));
    free(out);
    free(in);
    return finish();
}
