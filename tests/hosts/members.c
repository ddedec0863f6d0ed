/*
 * Rank 0 receives from any source, with MPI_ERRORS_RETURN, while another member goes:
 *
 *     members killed      rank 1 is killed: the receive ends with MPI_ERR_PROC_ABORTED, and so does
 *                         one that begins later
 *     members left        rank 1 leaves, which in MPI_Finalize waits for the others: the receive
 *                         goes on waiting, and gets what rank 2 sends a second later
 *
 * Rank 0 says what has become of the receive.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *name_of(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class == MPI_SUCCESS ? "MPI_SUCCESS" : class == MPI_ERR_PROC_ABORTED ? "MPI_ERR_PROC_ABORTED" : "another error";
}

static void receive(const char *which)
{
    int value = -1;
    MPI_Status status;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length, code = MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    if (code == MPI_SUCCESS)
        sprintf(text, "%d from rank %d", value, status.MPI_SOURCE);
    else
        MPI_Error_string(code, text, &length);
    printf("the %s receive: %s: %s\n", which, name_of(code), text);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    enum { LARGE = 1 << 18 };
    int rank, size, value = 7, killed = argc > 1 && strcmp(argv[1], "killed") == 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    /* Between all are connections, where large messages go by such. */
    char *all = calloc(size, LARGE);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_BYTE, all, LARGE, MPI_BYTE, MPI_COMM_WORLD);
    if (rank == 0) {
        puts("done");
        fflush(stdout);
        receive("first");
        if (killed)
            receive("second");
    } else if (killed) {
        usleep(300000);
        raise(SIGKILL);
    } else if (rank == 2) {
        sleep(1);
        MPI_Send(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    puts("ok");
    return 0;
}
