/*
 * A completion call whose request failed says which: flag, index, outcount, indices, statuses and
 * null handles. MPI 5.0, 3.7.3, 3.7.5. With an argument: which errors the statuses show, 3.2.5.
 */
#include "check.h"

enum { ROOM = 4, TAG = 5 };

static char inbox[ROOM];

/* Rank 0 sends three ints, rank 1 has room for one. */
static MPI_Request too_long(int tag)
{
    MPI_Request request = MPI_REQUEST_NULL;
    static const int data[3] = {1, 2, 3};
    if (check_rank == 1)
        CALL(MPI_Irecv(inbox, ROOM, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &request));
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0)
        CALL(MPI_Send(data, 3, MPI_INT, 1, tag, MPI_COMM_WORLD));
    return request;
}

static void unset(MPI_Status *status)
{
    status->MPI_SOURCE = -77;
    status->MPI_TAG = -77;
    status->MPI_ERROR = MPI_SUCCESS;
    MPI_Status_set_elements(status, MPI_BYTE, 99);
}

static void describes(const MPI_Status *status, const char *call)
{
    int count = -1;
    CALL(MPI_Get_count(status, MPI_BYTE, &count));
    CHECK(status->MPI_SOURCE == 0, "%s: source %d", call, status->MPI_SOURCE);
    CHECK(status->MPI_TAG == TAG, "%s: tag %d", call, status->MPI_TAG);
    CHECK(count == ROOM, "%s: %d bytes", call, count);
}

static void blocking(void)
{
    MPI_Status status;
    MPI_Message message;
    int dummy = 0;
    for (int way = 0; way < 4; way++) {
        unset(&status);
        if (check_rank == 0) {
            too_long(TAG);
            continue;
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (way == 0) {
            FAILS(MPI_Recv(inbox, ROOM, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &status), MPI_ERR_TRUNCATE);
        } else if (way == 1) {
            CALL(MPI_Mprobe(0, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
            FAILS(MPI_Mrecv(inbox, ROOM, MPI_BYTE, &message, &status), MPI_ERR_TRUNCATE);
        } else if (way == 2) {
            FAILS(MPI_Sendrecv(&dummy, 1, MPI_INT, MPI_PROC_NULL, 0, inbox, ROOM, MPI_BYTE, 0, TAG, MPI_COMM_WORLD,
                               &status),
                  MPI_ERR_TRUNCATE);
        } else {
            FAILS(MPI_Sendrecv_replace(inbox, ROOM, MPI_BYTE, MPI_PROC_NULL, 0, 0, TAG, MPI_COMM_WORLD, &status),
                  MPI_ERR_TRUNCATE);
        }
        describes(&status, way == 0 ? "MPI_Recv" : way == 1 ? "MPI_Mrecv" : "MPI_Sendrecv");
    }
}

static void one_request(void)
{
    for (int test = 0; test < 2; test++) {
        MPI_Status status;
        unset(&status);
        MPI_Request request = too_long(TAG);
        if (check_rank == 0)
            continue;
        int flag = 0, code = MPI_SUCCESS;
        if (!test)
            FAILS(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE);
        while (test && code == MPI_SUCCESS && request != MPI_REQUEST_NULL)
            code = MPI_Test(&request, &flag, &status);
        CHECK(!test || flag, "MPI_Test failed with flag %d", flag);
        CHECK(!test || class_of(code) == MPI_ERR_TRUNCATE, "MPI_Test: class %d", class_of(code));
        CHECK(request == MPI_REQUEST_NULL, "the request is not null");
        describes(&status, test ? "MPI_Test" : "MPI_Wait");
    }
}

static void any_request(void)
{
    for (int test = 0; test < 2; test++) {
        MPI_Status status;
        unset(&status);
        MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, too_long(TAG)};
        if (check_rank == 0)
            continue;
        int flag = 0, index = -7, code = MPI_SUCCESS;
        if (!test)
            code = MPI_Waitany(3, requests, &index, &status);
        while (test && code == MPI_SUCCESS && requests[2] != MPI_REQUEST_NULL)
            code = MPI_Testany(3, requests, &index, &flag, &status);
        CHECK(class_of(code) == MPI_ERR_TRUNCATE, "class %d", class_of(code));
        CHECK(!test || flag, "MPI_Testany failed with flag %d", flag);
        CHECK(index == 2, "index %d", index);
        CHECK(requests[2] == MPI_REQUEST_NULL, "the request is not null");
        describes(&status, test ? "MPI_Testany" : "MPI_Waitany");
    }
}

static void some_requests(void)
{
    for (int test = 0; test < 2; test++) {
        MPI_Status statuses[3];
        for (int i = 0; i < 3; i++)
            unset(&statuses[i]);
        MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, too_long(TAG)};
        if (check_rank == 0)
            continue;
        int outcount = -7, indices[3] = {-7, -7, -7}, code = MPI_SUCCESS;
        if (!test)
            code = MPI_Waitsome(3, requests, &outcount, indices, statuses);
        while (test && code == MPI_SUCCESS && requests[2] != MPI_REQUEST_NULL)
            code = MPI_Testsome(3, requests, &outcount, indices, statuses);
        CHECK(class_of(code) == MPI_ERR_IN_STATUS, "class %d", class_of(code));
        CHECK(outcount == 1, "outcount %d", outcount);
        CHECK(indices[0] == 2, "index %d", indices[0]);
        CHECK(class_of(statuses[0].MPI_ERROR) == MPI_ERR_TRUNCATE, "class %d in the status", class_of(statuses[0].MPI_ERROR));
        CHECK(requests[2] == MPI_REQUEST_NULL, "the request is not null");
        describes(&statuses[0], test ? "MPI_Testsome" : "MPI_Waitsome");
    }
}

/* Without an error MPI_ERROR stays as it is, whatever the call; with one it says success elsewhere. */
static void errors_of_statuses(void)
{
    static const char *const calls[] = {"MPI_Waitall", "MPI_Testall", "MPI_Waitsome", "MPI_Testsome"};
    for (int way = 0; way < 8; way++) {
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Status statuses[2];
        int fails = way >= 4, flag = 0, count = 0, indices[2], code = MPI_SUCCESS, byte = 0;
        for (int i = 0; i < 2; i++)
            statuses[i].MPI_ERROR = 77;
        if (check_rank == 1) {
            CALL(MPI_Irecv(&byte, 1, MPI_BYTE, 0, TAG + 1, MPI_COMM_WORLD, &requests[0]));
            CALL(MPI_Irecv(inbox, fails ? 1 : ROOM, MPI_BYTE, 0, TAG + 2, MPI_COMM_WORLD, &requests[1]));
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (check_rank == 0) {
            CALL(MPI_Send(&byte, 1, MPI_BYTE, 1, TAG + 1, MPI_COMM_WORLD));
            CALL(MPI_Send(inbox, ROOM, MPI_BYTE, 1, TAG + 2, MPI_COMM_WORLD));
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (check_rank != 1)
            continue;
        /* Both are here: the one call ends both requests. */
        for (int here = 0; here < 2; here++)
            for (int done = 0; !done;)
                if (MPI_Request_get_status(requests[here], &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
                    break;
        if (way % 4 == 0)
            code = MPI_Waitall(2, requests, statuses);
        else if (way % 4 == 1)
            code = MPI_Testall(2, requests, &flag, statuses);
        else if (way % 4 == 2)
            code = MPI_Waitsome(2, requests, &count, indices, statuses);
        else
            code = MPI_Testsome(2, requests, &count, indices, statuses);
        CHECK(class_of(code) == (fails ? MPI_ERR_IN_STATUS : MPI_SUCCESS), "%s: class %d", calls[way % 4], class_of(code));
        for (int i = 0; i < 2; i++) {
            int expected = !fails ? 77 : i == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
            int found = fails ? class_of(statuses[i].MPI_ERROR) : statuses[i].MPI_ERROR;
            CHECK(found == expected, "%s: error %d in status %d, expected %d", calls[way % 4], found, i, expected);
        }
    }
}

static void all_requests(void)
{
    MPI_Status statuses[2];
    for (int i = 0; i < 2; i++)
        unset(&statuses[i]);
    MPI_Request requests[2] = {too_long(TAG), MPI_REQUEST_NULL};
    if (check_rank == 0)
        return;
    int flag = 0, code = MPI_SUCCESS;
    while (code == MPI_SUCCESS && requests[0] != MPI_REQUEST_NULL)
        code = MPI_Testall(2, requests, &flag, statuses);
    CHECK(class_of(code) == MPI_ERR_IN_STATUS, "class %d", class_of(code));
    CHECK(flag, "MPI_Testall failed with flag %d", flag);
    CHECK(class_of(statuses[0].MPI_ERROR) == MPI_ERR_TRUNCATE, "class %d in the status", class_of(statuses[0].MPI_ERROR));
    CHECK(requests[0] == MPI_REQUEST_NULL, "the request is not null");
    describes(&statuses[0], "MPI_Testall");
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    if (argc > 1) {
        errors_of_statuses();
        return finish();
    }
    blocking();
    one_request();
    any_request();
    some_requests();
    all_requests();
    return finish();
}
