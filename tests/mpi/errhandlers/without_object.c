/*
 * Errors that belong to no object: the handler of MPI_COMM_SELF decides once the program has chosen one, before that the
 * handler of MPI_COMM_WORLD. An argument says which part runs; "fatal" must end the job.
 */
#include "check.h"

static int called;
static MPI_Comm called_with;

static void note(MPI_Comm *comm, int *code, ...)
{
    (void)code;
    called++;
    called_with = *comm;
}

/* Fails without any object that has an error handler. */
static int fail(void)
{
    MPI_Datatype type;
    return MPI_Type_contiguous(-1, MPI_INT, &type);
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    start(&argc, &argv);
    CALL(MPI_Comm_create_errhandler(note, &handler));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS_EITHER(fail(), MPI_ERR_COUNT, MPI_ERR_ARG);
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
    fail();
    CHECK(called == 1 && called_with == MPI_COMM_WORLD, "the handler of MPI_COMM_WORLD was called %d times", called);
    CALL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    FAILS_EITHER(fail(), MPI_ERR_COUNT, MPI_ERR_ARG);
    CHECK(called == 1, "MPI_COMM_SELF has a handler, but that of MPI_COMM_WORLD was called");
    CALL(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
    fail();
    CHECK(called == 2 && called_with == MPI_COMM_SELF, "the handler of MPI_COMM_SELF was called %d times", called - 1);
    if (argc > 1) {
        /* MPI_ERRORS_ARE_FATAL is what both communicators begin with, but here the program chooses it. */
        CALL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
        CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
        fail();
    }
    CALL(MPI_Errhandler_free(&handler));
    return finish();
}
