/* A matched message belongs to who probed it: MPI_Mprobe, Improbe, Mrecv, Imrecv, MPI_MESSAGE_NO_PROC. MPI 5.0, 3.8.2 */
#include "pattern.h"

enum { LARGEST = 100000 };

static void take_in_other_order(void)
{
    static const int sizes[] = {8, LARGEST, 0, 3000};
    char *data = malloc(4 * LARGEST);
    if (check_rank == 0) {
        MPI_Request requests[4];
        for (int i = 0; i < 4; i++) {
            pattern_fill(data + i * LARGEST, (size_t)sizes[i], (unsigned)i);
            CALL(MPI_Isend(data + i * LARGEST, sizes[i], MPI_BYTE, 1, 5, MPI_COMM_WORLD, &requests[i]));
        }
        CALL(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    } else if (check_rank == 1) {
        MPI_Message messages[4];
        MPI_Status status;
        int count, flag;
        for (int i = 0; i < 4; i++) {
            if (i % 2)
                for (flag = 0; !flag;)
                    CALL(MPI_Improbe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &flag, &messages[i], &status));
            else
                CALL(MPI_Mprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &messages[i], &status));
            CALL(MPI_Get_count(&status, MPI_BYTE, &count));
            CHECK(count == sizes[i], "message %d has %d bytes, expected %d", i, count, sizes[i]);
            CHECK(messages[i] != MPI_MESSAGE_NULL && messages[i] != MPI_MESSAGE_NO_PROC, "message %d is no message", i);
        }
        CALL(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag, "a matched message was probed again");
        for (int i = 3; i >= 0; i--) {
            MPI_Request request;
            memset(data, 0, LARGEST);
            if (i % 2) {
                CALL(MPI_Imrecv(data, LARGEST, MPI_BYTE, &messages[i], &request));
                CALL(MPI_Wait(&request, &status));
            } else
                CALL(MPI_Mrecv(data, LARGEST, MPI_BYTE, &messages[i], &status));
            CALL(MPI_Get_count(&status, MPI_BYTE, &count));
            CHECK(count == sizes[i] && status.MPI_SOURCE == 0 && status.MPI_TAG == 5, "message %d: %d bytes, source %d, tag %d", i, count,
                  status.MPI_SOURCE, status.MPI_TAG);
            CHECK(messages[i] == MPI_MESSAGE_NULL, "the message handle is not null after its receive");
            CHECK_PATTERN(data, (size_t)count, (unsigned)i);
        }
    }
    free(data);
}

/* Messages that follow a matched one can be received while it is held. */
static void later_messages_pass(void)
{
    int value = 0;
    if (check_rank == 0)
        for (value = 1; value <= 3; value++)
            CALL(MPI_Send(&value, 1, MPI_INT, 1, 6, MPI_COMM_WORLD));
    else if (check_rank == 1) {
        MPI_Message held;
        CALL(MPI_Mprobe(0, 6, MPI_COMM_WORLD, &held, MPI_STATUS_IGNORE));
        for (int i = 2; i <= 3; i++) {
            CALL(MPI_Recv(&value, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(value == i, "value %d, expected %d", value, i);
        }
        CALL(MPI_Mrecv(&value, 1, MPI_INT, &held, MPI_STATUS_IGNORE));
        CHECK(value == 1, "held value %d", value);
    }
}

static void no_process(void)
{
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    MPI_Request request;
    int value = 77, flag = 0, count = -1;
    CALL(MPI_Mprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &message, &status));
    CHECK(message == MPI_MESSAGE_NO_PROC && status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG, "Mprobe of MPI_PROC_NULL");
    CALL(MPI_Mrecv(&value, 1, MPI_INT, &message, &status));
    CALL(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(message == MPI_MESSAGE_NULL && value == 77 && count == 0 && status.MPI_SOURCE == MPI_PROC_NULL, "Mrecv of no process: value %d", value);
    CALL(MPI_Improbe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &flag, &message, &status));
    CHECK(flag && message == MPI_MESSAGE_NO_PROC, "Improbe of MPI_PROC_NULL");
    CALL(MPI_Imrecv(&value, 1, MPI_INT, &message, &request));
    CALL(MPI_Wait(&request, &status));
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL, "Imrecv of no process: source %d", status.MPI_SOURCE);
    CALL(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, &message, &status));
    CHECK(!flag, "Improbe found a message that nobody sent");
}

/* A matched message can be received after its communicator is freed: it is pending, and ends as usual (7.4.3). */
static void communicator_freed(void)
{
    MPI_Comm comm;
    MPI_Request send;
    MPI_Message messages[2];
    int out[2] = {5, 6}, in[2] = {0, 0};
    CALL(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    for (int i = 0; i < 2; i++) {
        CALL(MPI_Isend(&out[i], 1, MPI_INT, 0, 1, comm, &send));
        CALL(MPI_Mprobe(0, 1, comm, &messages[i], MPI_STATUS_IGNORE));
        CALL(MPI_Request_free(&send));
    }
    CALL(MPI_Comm_free(&comm));
    CALL(MPI_Mrecv(&in[0], 1, MPI_INT, &messages[0], MPI_STATUS_IGNORE));
    CALL(MPI_Imrecv(&in[1], 1, MPI_INT, &messages[1], &send));
    CALL(MPI_Wait(&send, MPI_STATUS_IGNORE));
    CHECK(in[0] == 5 && in[1] == 6, "received %d and %d", in[0], in[1]);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    take_in_other_order();
    MPI_Barrier(MPI_COMM_WORLD);
    later_messages_pass();
    no_process();
    communicator_freed();
    return finish();
}
