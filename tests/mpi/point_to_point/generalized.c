/* Generalized requests: query fills the status, free and cancel are called once, errors of callbacks come back. MPI 5.0, 12.2 */
#include "check.h"

struct state {
    int queried, freed, cancelled, complete_at_cancel, result;
};

static int query(void *extra, MPI_Status *status)
{
    struct state *state = extra;
    state->queried++;
    MPI_Status_set_elements(status, MPI_INT, state->result);
    MPI_Status_set_cancelled(status, state->cancelled && !state->complete_at_cancel);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = 17;
    return MPI_SUCCESS;
}

static int release(void *extra)
{
    ((struct state *)extra)->freed++;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    struct state *state = extra;
    state->cancelled++;
    state->complete_at_cancel = complete;
    return MPI_SUCCESS;
}

static void complete_and_wait(void)
{
    struct state state = {.result = 5};
    MPI_Request request;
    MPI_Status status;
    int flag = 1, count;
    CALL(MPI_Grequest_start(query, release, cancel, &state, &request));
    CALL(MPI_Test(&request, &flag, &status));
    CHECK(!flag && state.queried == 0, "complete too early: flag %d, queried %d", flag, state.queried);
    CALL(MPI_Grequest_complete(request));
    CALL(MPI_Wait(&request, &status));
    CALL(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(request == MPI_REQUEST_NULL && count == 5 && status.MPI_TAG == 17, "count %d tag %d", count, status.MPI_TAG);
    CHECK(state.queried == 1 && state.freed == 1, "queried %d freed %d", state.queried, state.freed);
}

static void cancelled(void)
{
    struct state state = {.result = 0};
    MPI_Request request;
    MPI_Status status;
    int flag = 0;
    CALL(MPI_Grequest_start(query, release, cancel, &state, &request));
    CALL(MPI_Cancel(&request));
    CHECK(state.cancelled == 1 && !state.complete_at_cancel, "cancel called %d times, complete %d", state.cancelled, state.complete_at_cancel);
    CALL(MPI_Grequest_complete(request));
    CALL(MPI_Wait(&request, &status));
    CALL(MPI_Test_cancelled(&status, &flag));
    CHECK(flag && state.freed == 1, "cancelled %d freed %d", flag, state.freed);
}

/* In one array with a receive, and freed by the user before completion. */
static void mixed(void)
{
    struct state state = {.result = 1}, other = {.result = 2};
    MPI_Request requests[2], freed;
    MPI_Status statuses[2];
    int value = 0, sent = 4, count;
    CALL(MPI_Grequest_start(query, release, cancel, &state, &requests[0]));
    CALL(MPI_Irecv(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[1]));
    CALL(MPI_Grequest_complete(requests[0]));
    CALL(MPI_Send(&sent, 1, MPI_INT, 0, 1, MPI_COMM_SELF));
    CALL(MPI_Waitall(2, requests, statuses));
    CALL(MPI_Get_count(&statuses[0], MPI_INT, &count));
    CHECK(value == 4 && count == 1 && state.freed == 1, "value %d count %d freed %d", value, count, state.freed);
    CALL(MPI_Grequest_start(query, release, cancel, &other, &freed));
    MPI_Request copy = freed;
    CALL(MPI_Request_free(&freed));
    CHECK(freed == MPI_REQUEST_NULL, "not null after MPI_Request_free");
    CALL(MPI_Grequest_complete(copy));
    CHECK(other.freed == 1, "freed %d times", other.freed);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    complete_and_wait();
    cancelled();
    mixed();
    return finish();
}
