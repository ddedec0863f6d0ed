/*
 * All ranks send many small messages to rank 0, which receives none of them until it has passed a barrier or has computed for a
 * while. All arrive in order, and the memory they took at rank 0 is given back.
 *
 * Arguments: messages of each sender; bytes of each; how they are sent (send, or isend with one MPI_Waitall at the end); what rank 0
 * does first (barrier, or the seconds it computes); megabytes by which rank 0 may have grown when all is received (0: not looked at).
 */
#include "check.h"
#include "resident.h"

static int messages, bytes;

static void send_all(int nonblocking)
{
    char *data = calloc((size_t)messages, (size_t)bytes);
    MPI_Request *requests = malloc((size_t)messages * sizeof *requests);
    REQUIRE(data && requests, "no memory for %d messages", messages);
    for (int i = 0; i < messages; i++) {
        char *one = data + (nonblocking ? (size_t)i * (size_t)bytes : 0);
        memcpy(one, &i, sizeof i);
        if (nonblocking)
            MPI_Isend(one, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Send(one, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
    if (nonblocking)
        MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
    free(requests);
    free(data);
}

static void receive_all(void)
{
    char *data = malloc((size_t)bytes);
    for (int from = 1; from < check_size; from++)
        for (int i = 0; i < messages; i++) {
            MPI_Status status;
            int number, count;
            MPI_Recv(data, bytes, MPI_BYTE, from, 1, MPI_COMM_WORLD, &status);
            memcpy(&number, data, sizeof number);
            MPI_Get_count(&status, MPI_BYTE, &count);
            REQUIRE(number == i && count == bytes, "message %d of rank %d has number %d and %d bytes", i, from, number, count);
        }
    free(data);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    REQUIRE(argc == 6, "five arguments are needed");
    messages = atoi(argv[1]);
    bytes = atoi(argv[2]);
    int nonblocking = !strcmp(argv[3], "isend"), barrier = !strcmp(argv[4], "barrier");
    long bound = atol(argv[5]) * 1024;
    long before = resident_kilobytes("RssAnon");
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank != 0)
        send_all(nonblocking);
    else if (!barrier)
        for (double ends = MPI_Wtime() + atof(argv[4]); MPI_Wtime() < ends;)
            ;
    if (barrier)
        MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) {
        long kept = resident_kilobytes("RssAnon");
        receive_all();
        long after = resident_kilobytes("RssAnon");
        printf("the receiver's memory: %ld kB, then %ld, at the end %ld\n", before, kept, after);
        CHECK(!bound || after - before < bound, "the receiver's memory went from %ld kB to %ld and only back to %ld", before, kept, after);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return finish();
}
