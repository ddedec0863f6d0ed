/* MPI_Request_get_status looks without completing; MPI 4.1 adds the forms for any, all and some. MPI 5.0, 3.7.6 */
#include "check.h"

enum { N = 4 };

static void single(void)
{
    int value = -1, flag = 1, count;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    CALL(MPI_Request_get_status(request, &flag, &status));
    CHECK(flag && status.MPI_SOURCE == MPI_ANY_SOURCE, "null request: flag %d source %d", flag, status.MPI_SOURCE);
    CALL(MPI_Irecv(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request));
    CALL(MPI_Request_get_status(request, &flag, &status));
    CHECK(!flag, "complete before the send");
    int sent = 6;
    CALL(MPI_Send(&sent, 1, MPI_INT, 0, 1, MPI_COMM_SELF));
    for (int round = 0; round < 3; round++) {
        for (flag = 0; !flag;)
            CALL(MPI_Request_get_status(request, &flag, &status));
        CALL(MPI_Get_count(&status, MPI_INT, &count));
        CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == 1 && count == 1, "source %d tag %d count %d", status.MPI_SOURCE, status.MPI_TAG, count);
        CHECK(request != MPI_REQUEST_NULL, "the request became null");
    }
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(request == MPI_REQUEST_NULL && value == 6, "value %d", value);
}

static void several(void)
{
    int values[N], flag, index, outcount, indices[N];
    MPI_Request requests[N];
    MPI_Status statuses[N];
    for (int i = 0; i < N; i++)
        CALL(MPI_Irecv(&values[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[i]));
    CALL(MPI_Request_get_status_any(N, requests, &index, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag, "any: one is complete before all sends");
    CALL(MPI_Request_get_status_some(N, requests, &outcount, indices, statuses));
    CHECK(outcount == 0, "some: %d are complete before all sends", outcount);
    int sent = 8;
    CALL(MPI_Send(&sent, 1, MPI_INT, 0, 2, MPI_COMM_SELF));
    for (flag = 0; !flag;)
        CALL(MPI_Request_get_status_any(N, requests, &index, &flag, &statuses[0]));
    CHECK(index == 2 && statuses[0].MPI_TAG == 2, "any: index %d tag %d", index, statuses[0].MPI_TAG);
    CALL(MPI_Request_get_status_some(N, requests, &outcount, indices, statuses));
    CHECK(outcount == 1 && indices[0] == 2 && statuses[0].MPI_TAG == 2, "some: %d, index %d", outcount, indices[0]);
    CALL(MPI_Request_get_status_all(N, requests, &flag, statuses));
    CHECK(!flag, "all: complete with one of %d messages", N);
    for (int i = 0; i < N; i++)
        if (i != 2)
            CALL(MPI_Send(&sent, 1, MPI_INT, 0, i, MPI_COMM_SELF));
    for (flag = 0; !flag;)
        CALL(MPI_Request_get_status_all(N, requests, &flag, statuses));
    for (int i = 0; i < N; i++)
        CHECK(statuses[i].MPI_TAG == i && requests[i] != MPI_REQUEST_NULL, "all: tag %d at %d", statuses[i].MPI_TAG, i);
    CALL(MPI_Waitall(N, requests, statuses));
    CALL(MPI_Request_get_status_some(N, requests, &outcount, indices, MPI_STATUSES_IGNORE));
    CHECK(outcount == MPI_UNDEFINED, "some: %d of null requests", outcount);
    CALL(MPI_Request_get_status_all(N, requests, &flag, MPI_STATUSES_IGNORE));
    CHECK(flag, "all: null requests are complete");
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    single();
    several();
    return finish();
}
