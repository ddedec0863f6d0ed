/*
 * All ranks flood a receiver that sleeps, and then looks for another message only: nothing is lost, order is kept, and the receiver's
 * memory stays bounded.
 *
 * Arguments: messages of each sender, megabytes that the receiver may grow by.
 */
#include "check.h"
#include <unistd.h>

/* The most that this process ever had in memory, shared pages included. */
static long peak_kilobytes(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long value = 0;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %ld", &value) == 1)
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
        long before = peak_kilobytes();
        usleep(300000); /* the floods gather before the library */
        for (double ends = MPI_Wtime() + 0.3; MPI_Wtime() < ends;) { /* and in it: every message is unexpected */
            int flag;
            MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            CHECK(!flag, "a message that nobody sent");
        }
        for (long i = 0; i < (long)messages * (check_size - 1); i++) {
            MPI_Status status;
            int number, count;
            MPI_Recv(data, sizeof data, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
            memcpy(&number, data, sizeof number);
            MPI_Get_count(&status, MPI_BYTE, &count);
            REQUIRE(number == next[status.MPI_SOURCE], "message %d of rank %d, expected %d", number, status.MPI_SOURCE, next[status.MPI_SOURCE]);
            CHECK(count == (int)sizeof number + number % 190, "message %d has %d bytes", number, count);
            next[status.MPI_SOURCE]++;
        }
        long most = peak_kilobytes();
        printf("the receiver's memory went from %ld to %ld kB\n", before, most);
        CHECK(before > 0 && most - before < bound, "the receiver's memory went from %ld to %ld kB", before, most);
        free(next);
    }
    return finish();
}
