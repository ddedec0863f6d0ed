/*
 * Communicators are freed although nobody has received what was sent over them, again and again: the messages go, those that come
 * after the communicator was freed too, and neither memory nor room for other messages is lost. A receive that was posted, and one
 * that a persistent request posts after the communicator was freed, get their messages all the same.
 *
 * Arguments: rounds, messages of each sender in a round, megabytes by which rank 0 may grow (0: not looked at).
 */
#include "check.h"
#include "resident.h"

enum { BYTES = 100 };

static void one_round(int round, int messages)
{
    char data[BYTES] = {0};
    int posted = -1, started = -1;
    MPI_Request requests[2];
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    if (check_rank == 0) {
        MPI_Irecv(&posted, 1, MPI_INT, 1, 2, copy, &requests[0]);
        MPI_Recv_init(&started, 1, MPI_INT, 1, 3, copy, &requests[1]);
        /* In every other round the messages find the communicator freed. */
        if (round % 2)
            MPI_Barrier(MPI_COMM_WORLD);
        MPI_Comm_free(&copy);
        if (round % 2 == 0)
            MPI_Barrier(MPI_COMM_WORLD);
        MPI_Start(&requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK(posted == round && started == -round, "round %d: received %d and %d", round, posted, started);
        MPI_Request_free(&requests[1]);
        return;
    }
    if (round % 2 == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < messages; i++)
        MPI_Send(data, BYTES, MPI_BYTE, 0, 1, copy);
    if (check_rank == 1) {
        int minus = -round;
        MPI_Send(&round, 1, MPI_INT, 0, 2, copy);
        MPI_Send(&minus, 1, MPI_INT, 0, 3, copy);
    }
    if (round % 2)
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_free(&copy);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    REQUIRE(argc == 4, "three arguments are needed");
    int rounds = atoi(argv[1]), messages = atoi(argv[2]);
    long bound = atol(argv[3]) * 1024, before = resident_kilobytes("RssAnon");
    for (int round = 0; round < rounds; round++)
        one_round(round, messages);
    /* There is room for other messages. */
    for (int i = 0; i < messages; i++) {
        int number = i;
        if (check_rank != 0)
            MPI_Send(&number, 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
        for (int from = 1; check_rank == 0 && from < check_size; from++) {
            MPI_Recv(&number, 1, MPI_INT, from, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(number == i, "message %d of rank %d is %d", i, from, number);
        }
    }
    long after = resident_kilobytes("RssAnon");
    CHECK(check_rank || !bound || after - before < bound, "the memory of rank 0 went from %ld to %ld kB", before, after);
    return finish();
}
