/* After a user's handler the call returns the code that the handler was given. MPI 5.0, 9.3 */
#include "check.h"

static int given;

static void remember(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    given = *code;
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Errhandler handler;
    int value = 0;
    CALL(MPI_Comm_create_errhandler(remember, &handler));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
    int code = MPI_Send(&value, 1, MPI_INT, check_size, 1, MPI_COMM_WORLD);
    CHECK(code == given && class_of(code) == MPI_ERR_RANK, "code %d, the handler was given %d", code, given);
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    CALL(MPI_Errhandler_free(&handler));
    return finish();
}
