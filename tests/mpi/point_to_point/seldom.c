/* A process that computes and looks only now and then sees a message soon, though nothing has come from that sender before.
 * MPI 5.0, 3.5 (progress): a send must not wait for as many looks as the receiver's patience is long. */
#include "pattern.h"

#include <time.h>

enum { LENGTH = 1000000, LOOKS = 50 };

static void compute(long milliseconds)
{
    struct timespec time = {0, milliseconds * 1000000};
    nanosleep(&time, NULL);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int last = check_size - 1;
    char *data = malloc(LENGTH);
    if (check_rank == last) {
        pattern_fill(data, LENGTH, 1);
        CALL(MPI_Send(data, LENGTH, MPI_BYTE, 0, 7, MPI_COMM_WORLD));
    } else if (check_rank == 0) {
        int looks = 0;
        for (int flag = 0; !flag && looks < LOOKS; looks++) {
            compute(20);
            CALL(MPI_Iprobe(last, 7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        }
        CHECK(looks < LOOKS, "a message was not seen in %d looks", looks);
        CALL(MPI_Recv(data, LENGTH, MPI_BYTE, last, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_PATTERN(data, LENGTH, 1);
    }
    free(data);
    return finish();
}
