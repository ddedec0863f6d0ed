/* A message longer than its receive is MPI_ERR_TRUNCATE at the receiver only; nothing is written behind the buffer; the next one is fine. MPI 5.0, 3.2.4 */
#include "pattern.h"

enum { LARGEST = 300000 };

static void one(int bytes, int room, int way, char *data)
{
    MPI_Status status;
    MPI_Request requests[2];
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 1 && way == 1) {
        CALL(MPI_Irecv(data, room, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[0]));
    }
    if (way == 1)
        MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) {
        pattern_fill(data, (size_t)bytes, 3);
        CALL(MPI_Send(data, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
        CALL(MPI_Send(&bytes, 1, MPI_INT, 1, 2, MPI_COMM_WORLD));
    } else if (check_rank == 1) {
        int follower = 0;
        if (way != 1)
            memset(data, 0x11, LARGEST);
        if (way == 0)
            FAILS(MPI_Recv(data, room, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &status), MPI_ERR_TRUNCATE);
        else if (way == 1)
            FAILS(MPI_Wait(&requests[0], &status), MPI_ERR_TRUNCATE);
        else {
            MPI_Status statuses[2];
            int other;
            CALL(MPI_Irecv(data, room, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[0]));
            CALL(MPI_Irecv(&other, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &requests[1]));
            FAILS(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
            CHECK(class_of(statuses[0].MPI_ERROR) == MPI_ERR_TRUNCATE, "error of the truncated receive: %d", statuses[0].MPI_ERROR);
            CHECK(statuses[1].MPI_ERROR == MPI_SUCCESS || class_of(statuses[1].MPI_ERROR) == MPI_ERR_PENDING, "error of the other: %d",
                  statuses[1].MPI_ERROR);
            if (requests[1] != MPI_REQUEST_NULL)
                CALL(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
            follower = other;
        }
        for (int i = room; i < LARGEST; i++)
            if (!CHECK(data[i] == 0x11, "byte %d behind the receive of %d bytes was written (way %d)", i, room, way))
                break;
        if (way != 2)
            CALL(MPI_Recv(&follower, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(follower == bytes, "next message: %d", follower);
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    char *data = malloc(LARGEST);
    static const int sizes[][2] = {{1, 0}, {40, 39}, {100, 10}, {5000, 4000}, {100000, 100}, {LARGEST, 299999}};
    for (int way = 0; way < 3; way++)
        for (int i = 0; i < 6; i++) {
            if (check_rank == 1)
                memset(data, 0x11, LARGEST);
            one(sizes[i][0], sizes[i][1], way, data);
        }
    free(data);
    return finish();
}
