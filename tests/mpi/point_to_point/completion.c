/* All forms of completion, with active, inactive and null requests in one array, and the empty status. MPI 5.0, 3.7.3 and 3.7.5 */
#include "check.h"

enum { N = 12 };

static void check_empty(const MPI_Status *status, const char *call)
{
    int count = -1, cancelled = -1;
    MPI_Get_count(status, MPI_INT, &count);
    MPI_Test_cancelled(status, &cancelled);
    CHECK(status->MPI_SOURCE == MPI_ANY_SOURCE && status->MPI_TAG == MPI_ANY_TAG && count == 0 && !cancelled,
          "%s: not the empty status: source %d tag %d count %d cancelled %d", call, status->MPI_SOURCE, status->MPI_TAG, count, cancelled);
}

static void null_requests(void)
{
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[3];
    int flag = 0, index = 7, outcount = 7, indices[3];
    memset(statuses, 0x33, sizeof statuses);
    CALL(MPI_Wait(&requests[0], &statuses[0]));
    check_empty(&statuses[0], "MPI_Wait");
    memset(statuses, 0x33, sizeof statuses);
    CALL(MPI_Test(&requests[0], &flag, &statuses[0]));
    CHECK(flag, "MPI_Test of a null request");
    check_empty(&statuses[0], "MPI_Test");
    CALL(MPI_Waitany(3, requests, &index, &statuses[0]));
    CHECK(index == MPI_UNDEFINED, "MPI_Waitany of null requests: index %d", index);
    check_empty(&statuses[0], "MPI_Waitany");
    index = 7, flag = 0;
    CALL(MPI_Testany(3, requests, &index, &flag, &statuses[0]));
    CHECK(flag && index == MPI_UNDEFINED, "MPI_Testany of null requests: flag %d index %d", flag, index);
    memset(statuses, 0x33, sizeof statuses);
    CALL(MPI_Waitall(3, requests, statuses));
    check_empty(&statuses[2], "MPI_Waitall");
    flag = 0;
    CALL(MPI_Testall(3, requests, &flag, statuses));
    CHECK(flag, "MPI_Testall of null requests");
    CALL(MPI_Waitsome(3, requests, &outcount, indices, statuses));
    CHECK(outcount == MPI_UNDEFINED, "MPI_Waitsome of null requests: %d", outcount);
    outcount = 7;
    CALL(MPI_Testsome(3, requests, &outcount, indices, statuses));
    CHECK(outcount == MPI_UNDEFINED, "MPI_Testsome of null requests: %d", outcount);
    CALL(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE));
    index = 7;
    CALL(MPI_Waitany(0, NULL, &index, MPI_STATUS_IGNORE));
    CHECK(index == MPI_UNDEFINED, "MPI_Waitany of nothing: %d", index);
}

static void post(int *values, MPI_Request *requests)
{
    for (int i = 0; i < N; i++) {
        values[i] = -1;
        requests[i] = MPI_REQUEST_NULL;
        if (i % 4 != 3)
            CALL(MPI_Irecv(&values[i], 1, MPI_INT, 0, i, MPI_COMM_WORLD, &requests[i]));
    }
    CALL(MPI_Send(NULL, 0, MPI_INT, 0, 500, MPI_COMM_WORLD));
}

static int completed(int index, const int *values, const MPI_Status *status, const MPI_Request *requests)
{
    CHECK(index >= 0 && index < N && index % 4 != 3, "index %d", index);
    CHECK(values[index] == 1000 + index, "value %d at index %d", values[index], index);
    CHECK(status->MPI_SOURCE == 0 && status->MPI_TAG == index, "source %d tag %d at index %d", status->MPI_SOURCE, status->MPI_TAG, index);
    CHECK(requests[index] == MPI_REQUEST_NULL, "request %d is not null", index);
    return 1;
}

static void receiver(void)
{
    int values[N], index, flag, outcount, indices[N], done;
    MPI_Request requests[N];
    MPI_Status statuses[N];

    post(values, requests);
    for (done = 0; done < N - 3; done++) {
        CALL(MPI_Waitany(N, requests, &index, &statuses[0]));
        completed(index, values, &statuses[0], requests);
    }
    CALL(MPI_Waitany(N, requests, &index, &statuses[0]));
    CHECK(index == MPI_UNDEFINED, "index %d when all are done", index);

    post(values, requests);
    for (done = 0; done < N - 3;) {
        CALL(MPI_Testany(N, requests, &index, &flag, &statuses[0]));
        done += flag && completed(index, values, &statuses[0], requests);
    }
    post(values, requests);
    for (done = 0; done < N - 3;) {
        CALL(MPI_Waitsome(N, requests, &outcount, indices, statuses));
        REQUIRE(outcount > 0 && outcount <= N - 3, "outcount %d", outcount);
        for (int i = 0; i < outcount; i++)
            done += completed(indices[i], values, &statuses[i], requests);
    }
    post(values, requests);
    for (done = 0; done < N - 3;) {
        CALL(MPI_Testsome(N, requests, &outcount, indices, statuses));
        for (int i = 0; i < outcount; i++)
            done += completed(indices[i], values, &statuses[i], requests);
    }
    post(values, requests);
    CALL(MPI_Waitall(N, requests, statuses));
    for (int i = 0; i < N; i++)
        if (i % 4 != 3)
            completed(i, values, &statuses[i], requests);
        else
            check_empty(&statuses[i], "MPI_Waitall");

    post(values, requests);
    for (flag = 0; !flag;)
        CALL(MPI_Testall(N, requests, &flag, statuses));
    for (int i = 0; i < N; i++)
        if (i % 4 != 3)
            completed(i, values, &statuses[i], requests);
    post(values, requests);
    for (int i = N - 1; i >= 0; i--) {
        if (i % 4 == 3)
            continue;
        for (flag = 0; !flag;)
            CALL(MPI_Test(&requests[i], &flag, &statuses[0]));
        completed(i, values, &statuses[0], requests);
    }
}

static void sender(void)
{
    for (int round = 0; round < 7; round++) {
        CALL(MPI_Recv(NULL, 0, MPI_INT, 1, 500, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = N - 1; i >= 0; i--)
            if (i % 4 != 3) {
                int value = 1000 + i;
                CALL(MPI_Send(&value, 1, MPI_INT, 1, i, MPI_COMM_WORLD));
            }
    }
}

/* A test that must fail: nothing was sent yet, so nothing is completed and no request is lost. */
static void nothing_completed(void)
{
    int value[2], flag = 1, index, outcount = 5, indices[2];
    MPI_Request requests[2];
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 1) {
        for (int i = 0; i < 2; i++)
            CALL(MPI_Irecv(&value[i], 1, MPI_INT, 0, 600 + i, MPI_COMM_WORLD, &requests[i]));
        CALL(MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE));
        CHECK(!flag, "MPI_Test before the send");
        CALL(MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE));
        CHECK(!flag, "MPI_Testall before the send");
        CALL(MPI_Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag && index == MPI_UNDEFINED, "MPI_Testany before the send: flag %d index %d", flag, index);
        CALL(MPI_Testsome(2, requests, &outcount, indices, MPI_STATUSES_IGNORE));
        CHECK(outcount == 0, "MPI_Testsome before the send: %d", outcount);
        CHECK(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL, "a request became null");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0)
        for (int i = 0; i < 2; i++)
            CALL(MPI_Send(&i, 1, MPI_INT, 1, 600 + i, MPI_COMM_WORLD));
    if (check_rank == 1)
        CALL(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    null_requests();
    if (check_rank == 0)
        sender();
    else if (check_rank == 1)
        receiver();
    nothing_completed();
    return finish();
}
