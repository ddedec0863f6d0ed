/* A rank that waits for long sleeps: it uses under 5 % of a core, and answers when the message comes. */
#include "check.h"
#include <sys/resource.h>
#include <unistd.h>

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int value = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) {
        usleep(2000000);
        for (int peer = 1; peer < check_size; peer++)
            CALL(MPI_Send(&peer, 1, MPI_INT, peer, 1, MPI_COMM_WORLD));
    } else {
        double before = cpu_seconds();
        CALL(MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        double used = cpu_seconds() - before;
        printf("waiting for 2 s used %.1f ms of a core\n", used * 1e3);
        CHECK(value == check_rank, "value %d", value);
        CHECK(used < 0.1, "waiting for 2 s used %.3f s of a core", used);
    }
    return finish();
}
