/*
 * All ranks flood a receiver that sleeps: nothing is lost, order is kept, and the receiver's memory stays bounded.
 *
 * Arguments: messages of each sender, megabytes that the receiver may grow by.
 */
#include "check.h"
#include <unistd.h>

static long resident_kilobytes(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long value = 0;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "RssAnon: %ld", &value) == 1)
            break;
    if (file)
        fclose(file);
    return value;
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int messages = atoi(argv[1]);
    long bound = atol(argv[2]) * 1024;
    char data[200] = {0};
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank != 0)
        for (int i = 0; i < messages; i++) {
            memcpy(data, &i, sizeof i);
            MPI_Send(data, (int)sizeof i + i % 190, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        }
    else {
        int *next = calloc((size_t)check_size, sizeof *next);
        usleep(300000); /* the floods gather */
        long before = resident_kilobytes(), most = before;
        for (long i = 0; i < (long)messages * (check_size - 1); i++) {
            MPI_Status status;
            int number, count;
            MPI_Recv(data, sizeof data, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
            memcpy(&number, data, sizeof number);
            MPI_Get_count(&status, MPI_BYTE, &count);
            REQUIRE(number == next[status.MPI_SOURCE], "message %d of rank %d, expected %d", number, status.MPI_SOURCE, next[status.MPI_SOURCE]);
            CHECK(count == (int)sizeof number + number % 190, "message %d has %d bytes", number, count);
            next[status.MPI_SOURCE]++;
            if (i % 10000 == 0) {
                long now = resident_kilobytes();
                most = now > most ? now : most;
            }
        }
        CHECK(most - before < bound && most < 2 * bound, "the receiver's memory went from %ld to %ld kB", before, most);
        free(next);
    }
    return finish();
}
