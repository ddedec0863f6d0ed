/* Error handlers of a communicator: return, user functions, inheritance by dup, get, call, free. MPI 5.0, 9.3 */
#include "check.h"

static int called, last_class;
static MPI_Comm last_comm;

static void remember(MPI_Comm *comm, int *code, ...)
{
    called++;
    last_class = class_of(*code);
    last_comm = *comm;
}

static void user_handler(void)
{
    MPI_Errhandler handler, got;
    MPI_Comm comm, copy;
    int value = 0;
    CALL(MPI_Comm_create_errhandler(remember, &handler));
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CALL(MPI_Comm_set_errhandler(comm, handler));
    CALL(MPI_Comm_get_errhandler(comm, &got));
    CHECK(got == handler, "another handler came back");
    CALL(MPI_Errhandler_free(&got));
    CHECK(got == MPI_ERRHANDLER_NULL, "not null after its free");
    CALL(MPI_Errhandler_free(&handler)); /* the communicator keeps it */
    called = 0;
    MPI_Send(&value, 1, MPI_INT, check_size, 1, comm);
    CHECK(called == 1 && last_class == MPI_ERR_RANK && last_comm == comm, "called %d times, class %d", called, last_class);
    CALL(MPI_Comm_dup(comm, &copy));
    MPI_Send(&value, 1, MPI_INT, 0, -5, copy);
    CHECK(called == 2 && last_class == MPI_ERR_TAG && last_comm == copy, "the duplicate: called %d times, class %d", called, last_class);
    CALL(MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER));
    CHECK(called == 3 && last_class == MPI_ERR_OTHER, "MPI_Comm_call_errhandler: called %d times, class %d", called, last_class);
    CALL(MPI_Comm_free(&copy));
    CALL(MPI_Comm_free(&comm));
}

static void predefined(void)
{
    MPI_Errhandler got;
    MPI_Comm comm;
    int value = 0;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CALL(MPI_Comm_get_errhandler(comm, &got));
    CHECK(got == MPI_ERRORS_ARE_FATAL, "the default is not MPI_ERRORS_ARE_FATAL");
    CALL(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    CALL(MPI_Comm_get_errhandler(comm, &got));
    CHECK(got == MPI_ERRORS_RETURN, "MPI_ERRORS_RETURN did not come back");
    FAILS(MPI_Send(&value, -1, MPI_INT, 0, 1, comm), MPI_ERR_COUNT);
    CALL(MPI_Comm_set_errhandler(comm, MPI_ERRORS_ABORT));
    CALL(MPI_Comm_get_errhandler(comm, &got));
    CHECK(got == MPI_ERRORS_ABORT, "MPI_ERRORS_ABORT did not come back");
    CALL(MPI_Comm_free(&comm));
}

/* Calls without a communicator raise on MPI_COMM_SELF; requests raise on the communicator they were made on. */
static void where_errors_go(void)
{
    MPI_Errhandler handler;
    MPI_Comm comm;
    MPI_Request request;
    int small = 0, large[100] = {0};
    CALL(MPI_Comm_create_errhandler(remember, &handler));
    CALL(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    CALL(MPI_Comm_set_errhandler(comm, handler));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    called = 0;
    CALL(MPI_Irecv(&small, 1, MPI_INT, 0, 1, comm, &request));
    CALL(MPI_Send(large, 100, MPI_INT, 0, 1, comm));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(called == 1 && last_class == MPI_ERR_TRUNCATE, "the request's error: called %d times, class %d", called, last_class);
    CALL(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
    called = 0;
    MPI_Type_free(&(MPI_Datatype){MPI_INT});
    CHECK(called == 1, "an error without communicator did not go to MPI_COMM_SELF: called %d times", called);
    CALL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
    CALL(MPI_Errhandler_free(&handler));
    CALL(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    user_handler();
    predefined();
    where_errors_go();
    return finish();
}
