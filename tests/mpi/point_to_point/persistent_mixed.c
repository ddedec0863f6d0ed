/*
 * Persistent sends and receives among everything else that can take their messages: receives with MPI_ANY_SOURCE and MPI_ANY_TAG
 * posted before and after them, probes, matched probes and cancelling, on one communicator. Messages of one sender are matched in the
 * order in which they were sent, by the receives in the order in which they were started. MPI 5.0, 3.5, 3.8, 3.9
 */
#include "check.h"

#include <unistd.h>

enum { ROUNDS = 300, TAG = 3, OTHER = 4, MOST = 8 };

static unsigned state = 77;
static int left, right, sent, received;
static MPI_Request send, receive;
static int out, in;

static unsigned draw(unsigned bound)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 10) % bound;
}

/* The k-th message with TAG carries k. */
static void start_send(void)
{
    out = sent++;
    CALL(MPI_Start(&send));
}

static void expect(int value, const MPI_Status *status, const char *how)
{
    CHECK(value == received, "%s got message %d instead of %d", how, value, received);
    CHECK(status->MPI_SOURCE == left && status->MPI_TAG == TAG, "%s got a message from %d with tag %d", how, status->MPI_SOURCE, status->MPI_TAG);
    received++;
}

/* Waits until the neighbour's message is here, so that the receive finds it waiting, or does not. */
static void sometimes_late(void)
{
    if (draw(3) == (unsigned)check_rank % 3)
        usleep(100);
}

static void by_request(void)
{
    MPI_Status status;
    in = -1;
    if (draw(2)) {
        CALL(MPI_Start(&receive));
        start_send();
    } else {
        start_send();
        sometimes_late();
        CALL(MPI_Start(&receive));
    }
    CALL(MPI_Wait(&receive, &status));
    expect(in, &status, "the persistent receive");
    CALL(MPI_Wait(&send, MPI_STATUS_IGNORE));
}

/* A receive for anything was posted before: it takes the first message, the persistent one the second. */
static void wildcard_before(void)
{
    int any = -1, other = draw(2) ? MPI_ANY_SOURCE : left;
    MPI_Request wildcard;
    MPI_Status status;
    in = -1;
    CALL(MPI_Irecv(&any, 1, MPI_INT, other, other == left || draw(2) ? MPI_ANY_TAG : TAG, MPI_COMM_WORLD, &wildcard));
    CALL(MPI_Start(&receive));
    for (int i = 0; i < 2; i++) {
        start_send();
        CALL(MPI_Wait(&send, MPI_STATUS_IGNORE));
        sometimes_late();
    }
    CALL(MPI_Wait(&receive, &status));
    received++;
    expect(in, &status, "the persistent receive behind a wildcard");
    received -= 2;
    CALL(MPI_Wait(&wildcard, &status));
    expect(any, &status, "the wildcard before a persistent receive");
    received++;
}

/* It was posted after: it takes the second one. */
static void wildcard_after(void)
{
    int any = -1;
    MPI_Request wildcard;
    MPI_Status status;
    in = -1;
    CALL(MPI_Start(&receive));
    CALL(MPI_Irecv(&any, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &wildcard));
    for (int i = 0; i < 2; i++) {
        start_send();
        CALL(MPI_Wait(&send, MPI_STATUS_IGNORE));
    }
    CALL(MPI_Wait(&receive, &status));
    expect(in, &status, "the persistent receive before a wildcard");
    CALL(MPI_Wait(&wildcard, &status));
    expect(any, &status, "the wildcard behind a persistent receive");
}

/* A message with another tag stands before the one that is wanted, and is received last. */
static void other_tag_first(void)
{
    int other = 1000 + sent, arrived = -1;
    MPI_Status status;
    in = -1;
    CALL(MPI_Start(&receive));
    CALL(MPI_Send(&other, 1, MPI_INT, right, OTHER, MPI_COMM_WORLD));
    start_send();
    CALL(MPI_Wait(&receive, &status));
    expect(in, &status, "the persistent receive of the second message");
    CALL(MPI_Wait(&send, MPI_STATUS_IGNORE));
    CALL(MPI_Recv(&arrived, 1, MPI_INT, MPI_ANY_SOURCE, OTHER, MPI_COMM_WORLD, &status));
    CHECK(arrived == other, "%d instead of %d", arrived, other);
}

static void probed(void)
{
    MPI_Status status;
    int found = 0;
    start_send();
    CALL(MPI_Wait(&send, MPI_STATUS_IGNORE));
    if (draw(2)) {
        MPI_Message message;
        int value = -1;
        CALL(MPI_Mprobe(draw(2) ? MPI_ANY_SOURCE : left, TAG, MPI_COMM_WORLD, &message, &status));
        /* The message is out: a receive that is started now gets the next one. */
        in = -1;
        CALL(MPI_Start(&receive));
        start_send();
        CALL(MPI_Mrecv(&value, 1, MPI_INT, &message, &status));
        expect(value, &status, "the matched receive");
        CALL(MPI_Wait(&receive, &status));
        expect(in, &status, "the persistent receive behind a matched probe");
        CALL(MPI_Wait(&send, MPI_STATUS_IGNORE));
        return;
    }
    int source = draw(2) ? MPI_ANY_SOURCE : left, tag = draw(2) ? MPI_ANY_TAG : TAG;
    while (!found)
        CALL(MPI_Iprobe(source, tag, MPI_COMM_WORLD, &found, &status));
    in = -1;
    CALL(MPI_Start(&receive));
    CALL(MPI_Wait(&receive, &status));
    expect(in, &status, "the persistent receive of a probed message");
}

/* A cancelled receive takes nothing: the next one gets the message. */
static void cancelled(void)
{
    MPI_Status status;
    int was = 0;
    CALL(MPI_Start(&receive));
    CALL(MPI_Cancel(&receive));
    CALL(MPI_Wait(&receive, &status));
    CALL(MPI_Test_cancelled(&status, &was));
    CHECK(was, "nothing was sent, but the receive was not cancelled");
    MPI_Barrier(MPI_COMM_WORLD);
    by_request();
}

/* While it is posted a probe sees only what it does not take. */
static void not_probed(void)
{
    MPI_Status status;
    int found = 0;
    in = -1;
    CALL(MPI_Start(&receive));
    MPI_Barrier(MPI_COMM_WORLD);
    start_send();
    for (int i = 0; i < 20; i++) {
        CALL(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &status));
        CHECK(!found, "a probe sees message %d although a receive for it is posted", received);
    }
    CALL(MPI_Wait(&receive, &status));
    expect(in, &status, "the persistent receive");
    CALL(MPI_Wait(&send, MPI_STATUS_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Several persistent receives of one sender and one tag, started in any order: they take the messages in that order. */
static void several(void)
{
    MPI_Request many[MOST];
    int values[MOST], order[MOST];
    for (int i = 0; i < MOST; i++) {
        CALL(MPI_Recv_init(&values[i], 1, MPI_INT, i % 3 == 1 ? MPI_ANY_SOURCE : left, i % 3 == 2 ? MPI_ANY_TAG : TAG, MPI_COMM_WORLD, &many[i]));
        order[i] = i;
    }
    for (int i = MOST - 1; i > 0; i--) {
        int j = (int)draw((unsigned)i + 1), other = order[i];
        order[i] = order[j], order[j] = other;
    }
    for (int i = 0; i < MOST; i++)
        CALL(MPI_Start(&many[order[i]]));
    for (int i = 0; i < MOST; i++) {
        start_send();
        CALL(MPI_Wait(&send, MPI_STATUS_IGNORE));
    }
    CALL(MPI_Waitall(MOST, many, MPI_STATUSES_IGNORE));
    for (int i = 0; i < MOST; i++)
        CHECK(values[order[i]] == received + i, "receive %d of those started got message %d instead of %d", i, values[order[i]], received + i);
    received += MOST;
    for (int i = 0; i < MOST; i++)
        CALL(MPI_Request_free(&many[i]));
}

int main(int argc, char **argv)
{
    static void (*const ways[])(void) = {by_request,  by_request, wildcard_before, wildcard_after, other_tag_first,
                                         probed, cancelled,  not_probed,      several};
    start(&argc, &argv);
    left = (check_rank + check_size - 1) % check_size;
    right = (check_rank + 1) % check_size;
    CALL(MPI_Send_init(&out, 1, MPI_INT, right, TAG, MPI_COMM_WORLD, &send));
    CALL(MPI_Recv_init(&in, 1, MPI_INT, left, TAG, MPI_COMM_WORLD, &receive));
    for (int round = 0; round < ROUNDS; round++) {
        ways[draw(sizeof ways / sizeof *ways)]();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CALL(MPI_Request_free(&send));
    CALL(MPI_Request_free(&receive));
    return finish();
}
