/* The error handler of a session gets the errors of its calls. MPI 5.0, 9.3.4 */
#include "check.h"

static int called;

static void remember(MPI_Session *session, int *code, ...)
{
    (void)session, (void)code;
    called++;
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Errhandler handler, got;
    MPI_Session session;
    MPI_Info info;
    CALL(MPI_Session_create_errhandler(remember, &handler));
    CALL(MPI_Session_init(MPI_INFO_NULL, handler, &session));
    CALL(MPI_Session_get_errhandler(session, &got));
    CHECK(got == handler, "another handler came back");
    CALL(MPI_Errhandler_free(&got));
    MPI_Session_get_pset_info(session, "mpi://NOBODY", &info);
    CHECK(called == 1, "called %d times", called);
    CALL(MPI_Session_call_errhandler(session, MPI_ERR_OTHER));
    CHECK(called == 2, "called %d times", called);
    CALL(MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN));
    CALL(MPI_Errhandler_free(&handler));
    CALL(MPI_Session_finalize(&session));
    return finish();
}
