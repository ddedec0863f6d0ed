/* MPI_Finalize that has something left to wait for sleeps instead of spinning. The program is wrong (nobody receives), so the wait has no
   end; an alarm looks at the time of the processor and ends it. */
#include "check.h"
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

static void look(int number)
{
    struct rusage used;
    (void)number;
    getrusage(RUSAGE_SELF, &used);
    double seconds = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    dprintf(1, seconds < 1 ? "idle\n" : "busy for %.2f s\n", seconds);
    _exit(1);
}

int main(int argc, char **argv)
{
    MPI_Request request;
    int data = 0;
    start(&argc, &argv);
    if (check_rank == 0) {
        CALL(MPI_Issend(&data, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request));
        CALL(MPI_Request_free(&request));
        signal(SIGALRM, look);
        alarm(3);
    }
    return finish();
}
