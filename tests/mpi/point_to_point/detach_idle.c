/* MPI_Buffer_detach that waits for a receiver sleeps instead of spinning. MPI 5.0, 3.6 */
#include "check.h"
#include <sys/resource.h>
#include <unistd.h>

enum { BYTES = 4 << 20 };

static double used(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
    int size = BYTES + MPI_BSEND_OVERHEAD;
    char *data = calloc(1, BYTES), *buffer = malloc((size_t)size);
    start(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) {
        CALL(MPI_Buffer_attach(buffer, size));
        CALL(MPI_Bsend(data, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
        double before = used();
        CALL(MPI_Buffer_detach(&buffer, &size));
        CHECK(used() - before < 1, "the wait took %.2f s of the processor", used() - before);
    } else {
        sleep(3);
        CALL(MPI_Recv(data, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    free(data);
    free(buffer);
    return finish();
}
